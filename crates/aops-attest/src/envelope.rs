//! A signed statement (DSSE), and the lines of a note: envelopes, proofs from the log, approvals.
//!
//! Each line is self-contained, so that a union of two notes loses nothing. Invariants: the signed text is
//! one line that begins with `DSSEv1 `, so it is never the text of a signed note, which ends with a line feed
//! and begins with an origin without a blank; no note is read beyond its limits.

use crate::statement::Statement;
use crate::strict::{self, Malformed};
use aops_ledger::sha256::{hex, sha256};
use aops_proof::key::{PublicKey, SecretKey, Signature, Use};
use aops_proof::text::{base64, from_base64};
use serde::{Deserialize, Serialize};

pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
pub const NOTES: &str = "refs/notes/aops-attest";
/// The namespace of a person's signature (`ssh-keygen -Y sign -n`).
pub const APPROVE: &str = "aops-approve";
pub const LARGEST_NOTE: usize = 4 << 20;
const MOST_LINES: usize = 1000;
const MOST_SIGNATURES: usize = 16;

/// The bytes that DSSE signs (PAE).
pub fn pre_authentication(kind: &str, payload: &str) -> String {
    format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len())
}

/// The form of this key's name in an envelope: `name+id`.
pub fn keyid(key: &PublicKey) -> String {
    format!("{}+{}", key.name, hex(&key.id()))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// Base64 of the statement.
    pub payload: String,
    pub payload_type: String,
    pub signatures: Vec<EnvelopeSignature>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeSignature {
    pub keyid: String,
    /// Base64.
    pub sig: String,
}

impl Envelope {
    /// The message to sign, if another program keeps the log's key.
    pub fn message(statement: &Statement) -> String {
        pre_authentication(PAYLOAD_TYPE, &statement.to_json())
    }

    /// Signs with a key in memory. `None`: the key is not the log's own kind, Ed25519.
    pub fn sign(statement: &Statement, key: &SecretKey) -> Option<Self> {
        if key.public().used != Use::Note {
            return None;
        }
        Some(Self::with(statement, key.public(), &key.sign(&Self::message(statement), 0)?))
    }

    /// Builds the envelope from this key's signature of `message`.
    pub fn with(statement: &Statement, key: &PublicKey, signature: &Signature) -> Self {
        let signature = EnvelopeSignature { keyid: keyid(key), sig: base64(signature.bytes()) };
        let payload = base64(statement.to_json().as_bytes());
        Self { payload, payload_type: PAYLOAD_TYPE.to_owned(), signatures: vec![signature] }
    }

    /// One line of a note.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() // only maps with other keys than texts could fail
    }

    /// The text that was signed.
    pub fn text(&self) -> Result<String, Malformed> {
        let bytes =
            from_base64(&self.payload).ok_or_else(|| Malformed("the payload is not base64".to_owned()))?;
        String::from_utf8(bytes).map_err(|_| Malformed("the payload is not text".to_owned()))
    }

    /// Who signed it: checks the signature of each key in `keys` that the envelope names. A wrong signature
    /// by such a key is worse than none.
    pub fn signer<'k>(&self, text: &str, keys: &'k [PublicKey]) -> Signed<'k> {
        let message = pre_authentication(&self.payload_type, text);
        let mut signer = Signed::Unknown;
        for one in &self.signatures {
            let named = keys.iter().find(|key| key.used == Use::Note && keyid(key) == one.keyid);
            let Some(key) = named else { continue };
            let right = from_base64(&one.sig).and_then(|bytes| key.accept(&message, &bytes)).is_some();
            if !right {
                return Signed::Wrong(key);
            }
            signer = Signed::By(key);
        }
        signer
    }
}

/// Who signed an envelope, among the keys that a reader trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed<'k> {
    By(&'k PublicKey),
    /// The envelope names this key, but the signature does not match it.
    Wrong(&'k PublicKey),
    Unknown,
}

/// The path of the `attest` entry to a signed checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofLine {
    /// SHA-256 of the payload to which it belongs.
    #[serde(rename = "for")]
    pub payload: String,
    /// A `tlog-proof`.
    pub proof: String,
}

/// A person's signature of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalLine {
    /// SHA-256 of the change's records.
    #[serde(rename = "for")]
    pub change: String,
    /// In the format of `ssh-keygen -Y sign`.
    pub signature: String,
}

/// A line of ours that is not an envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "aops", rename_all = "kebab-case")]
enum Ours {
    TlogProof(ProofLine),
    Approval(ApprovalLine),
}

impl ProofLine {
    pub fn of(payload: &str, proof: impl Into<String>) -> Self {
        Self { payload: sha256(&[payload.as_bytes()]), proof: proof.into() }
    }

    pub fn to_line(&self) -> String {
        serde_json::to_string(&Ours::TlogProof(self.clone())).unwrap_or_default() // as above
    }
}

impl ApprovalLine {
    pub fn to_line(&self) -> String {
        serde_json::to_string(&Ours::Approval(self.clone())).unwrap_or_default() // as above
    }
}

/// The content of notes, in their order. A repeated line is read once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    pub envelopes: Vec<Envelope>,
    pub proofs: Vec<ProofLine>,
    pub approvals: Vec<ApprovalLine>,
}

impl Lines {
    /// Parses the whole note, or says why it is rejected as a whole: a reader that skips unreadable lines
    /// could be misled by whoever wrote them.
    pub fn parse(note: &[u8]) -> Result<Self, Malformed> {
        let odd = |what: String| Err(Malformed(what));
        if note.len() > LARGEST_NOTE {
            return odd(format!("a note has at most {LARGEST_NOTE} bytes"));
        }
        let Ok(note) = std::str::from_utf8(note) else { return odd("the note is not text".to_owned()) };
        let mut lines = Self::default();
        for (at, line) in note.lines().filter(|line| !line.is_empty()).enumerate() {
            if at == MOST_LINES {
                return odd(format!("a note has at most {MOST_LINES} lines"));
            }
            lines.add(line).map_err(|Malformed(why)| Malformed(format!("line {}: {why}", at + 1)))?;
        }
        Ok(lines)
    }

    fn add(&mut self, line: &str) -> Result<(), Malformed> {
        let about: serde_json::Map<String, serde_json::Value> = strict::parse(line)?;
        if about.contains_key("aops") {
            match strict::parse(line)? {
                Ours::TlogProof(proof) => push_once(&mut self.proofs, proof),
                Ours::Approval(approval) => push_once(&mut self.approvals, approval),
            }
            return Ok(());
        }
        let envelope: Envelope = strict::parse(line)?;
        if envelope.payload_type != PAYLOAD_TYPE {
            return Err(Malformed(format!("the payload is not a `{PAYLOAD_TYPE}`")));
        }
        if envelope.signatures.len() > MOST_SIGNATURES {
            return Err(Malformed(format!("an envelope has at most {MOST_SIGNATURES} signatures")));
        }
        push_once(&mut self.envelopes, envelope);
        Ok(())
    }

    /// Adds the lines of another note.
    pub fn join(&mut self, other: Self) {
        other.envelopes.into_iter().for_each(|one| push_once(&mut self.envelopes, one));
        other.proofs.into_iter().for_each(|one| push_once(&mut self.proofs, one));
        other.approvals.into_iter().for_each(|one| push_once(&mut self.approvals, one));
    }
}

fn push_once<T: PartialEq>(to: &mut Vec<T>, one: T) {
    if !to.contains(&one) {
        to.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::example;
    use aops_proof::checkpoint::Checkpoint;
    use aops_proof::note::Note;

    fn key(seed: u8) -> SecretKey {
        SecretKey::new("aops-log.local/1", Use::Note, &[seed; 32]).unwrap()
    }

    /// The example of the DSSE specification.
    #[test]
    fn what_is_signed_is_as_the_specification_has_it() {
        let message = pre_authentication("http://example.com/HelloWorld", "hello world");
        assert_eq!(message, "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn a_signed_statement_there_and_back() {
        let envelope = Envelope::sign(&example(), &key(1)).unwrap();
        let lines = Lines::parse(envelope.to_line().as_bytes()).unwrap();
        assert_eq!(lines.envelopes, std::slice::from_ref(&envelope));
        let text = lines.envelopes[0].text().unwrap();
        assert_eq!(Statement::parse(&text).unwrap(), example());
        let keys = [key(1).public().clone(), key(2).public().clone()];
        assert_eq!(envelope.signer(&text, &keys), Signed::By(&keys[0]));
        assert_eq!(envelope.signer(&text, &keys[1..]), Signed::Unknown);
        let raised = text.replace("\"blocks\":0", "\"blocks\":9");
        assert_ne!(raised, text);
        assert_eq!(envelope.signer(&raised, &keys), Signed::Wrong(&keys[0]));
        // A known key's name on somebody else's signature.
        let mut renamed = Envelope::sign(&example(), &key(2)).unwrap();
        renamed.signatures[0].keyid = keyid(&keys[0]);
        assert_eq!(renamed.signer(&text, &keys), Signed::Wrong(&keys[0]));
        // Another payload type makes another message.
        let other = Envelope { payload_type: "application/json".to_owned(), ..envelope };
        assert_eq!(other.signer(&text, &keys), Signed::Wrong(&keys[0]));
        assert!(Lines::parse(other.to_line().as_bytes()).is_err());
        let cosigner = SecretKey::new("w", Use::Cosignature, &[1; 32]).unwrap();
        assert_eq!(Envelope::sign(&example(), &cosigner), None);
    }

    #[test]
    fn no_message_is_both_a_statement_and_a_note() {
        let message = Envelope::message(&example());
        assert!(message.starts_with("DSSEv1 ") && !message.contains('\n'));
        assert!(Checkpoint::parse(&message).is_err());
        for name in ["DSSEv1 28", "DSSEv1 ", " DSSEv1"] {
            assert!(SecretKey::new(name, Use::Note, &[1; 32]).is_err(), "an origin has no blank");
        }
        let text = Checkpoint { origin: key(1).public().name.clone(), size: 1, root: [1; 32] }.to_string();
        let note = Note { signatures: vec![key(1).sign(&text, 0).unwrap()], text };
        assert!(!note.text.starts_with("DSSEv1 ") && note.text.ends_with('\n'));
    }

    #[test]
    fn the_lines_of_two_notes_join() {
        let envelope = Envelope::sign(&example(), &key(1)).unwrap();
        let proof = ProofLine::of("{}", "c2sp.org/tlog-proof@v1\nindex 0\n\n…");
        let approval =
            ApprovalLine { change: "ab".repeat(32), signature: "-----BEGIN SSH SIGNATURE-----\n".to_owned() };
        assert!(
            proof.to_line().starts_with(r#"{"aops":"tlog-proof","for":"44136fa3"#),
            "{}",
            proof.to_line()
        );
        let note = format!("{}\n\n{}\n{}\n", proof.to_line(), envelope.to_line(), approval.to_line());
        let one = Lines::parse(note.as_bytes()).unwrap();
        assert_eq!((one.envelopes.len(), one.proofs.len(), one.approvals.len()), (1, 1, 1));
        let mut both = Lines::parse(format!("{note}{note}").as_bytes()).unwrap();
        assert_eq!(both, one);
        both.join(one.clone());
        assert_eq!(both, one);
    }

    #[test]
    fn a_note_is_bounded_and_strict() {
        let line = Envelope::sign(&example(), &key(1)).unwrap().to_line();
        for wrong in [
            line.replacen('{', r#"{"payload":"e30=","#, 1),
            r#"{"aops":"something"}"#.to_owned(),
            r#"{"aops":"tlog-proof","for":"x"}"#.to_owned(),
            "words".to_owned(),
            "7".to_owned(),
            "{}\n".repeat(MOST_LINES + 1),
            format!("{line}\n").repeat(MOST_LINES + 1),
            " ".repeat(LARGEST_NOTE + 1),
        ] {
            assert!(Lines::parse(wrong.as_bytes()).is_err(), "{wrong:.60}");
        }
        assert!(Lines::parse(b"\xff").is_err());
        assert_eq!(Lines::parse(b""), Ok(Lines::default()));
    }
}
