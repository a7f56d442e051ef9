//! check NOTE KEY.pem KEYID

use base64::Engine as _;
use std::error::Error;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let [note, pem, keyid]: [String; 3] = env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "three words")?;
    let note = fs::read_to_string(note)?;
    let line = note.lines().find(|line| line.contains("\"payloadType\"")).ok_or("no envelope")?;
    let pem = fs::read_to_string(pem)?;
    let key = base64::engine::general_purpose::STANDARD.decode(pem.lines().nth(1).ok_or("no key")?)?;
    let verifier = dsse::Ed25519Verifier::from_bytes(&key[12..])?.with_key_id(&keyid);
    let mut envelope = dsse::Envelope::from_json(line.as_bytes())?;
    let verified = dsse::verify(&envelope, &[&verifier], 1)?;
    assert_eq!(verified.accepted_keys, [keyid]);
    let changed = String::from_utf8(verified.payload)?.replace("\"tampering\":0", "\"tampering\":1");
    envelope.payload = base64::engine::general_purpose::STANDARD.encode(changed);
    assert!(dsse::verify(&envelope, &[&verifier], 1).is_err());
    println!("accepted");
    Ok(())
}
