//! The key with which the engine's server signs its calls, in the form that the server reads, and its public
//! half, in the form that workers are given.
//!
//! Reads and makes it. Invariant: the secret key is in a file that only its owner reads.

use aops_core::system::files::replace_private;
use aops_core::system::random;
use aops_proof::key::{SecretKey, Use};
use aops_proof::text::{base64, from_base64};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";
/// What comes before the 32 bytes of an Ed25519 key (RFC 8410).
const BEFORE: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// The public half of the key in this file, which is made if it is missing.
pub fn open(file: &Path) -> Result<String, String> {
    let at = |what: &str| format!("`{}`: {what}", file.display());
    let seed = match fs::read_to_string(file) {
        Ok(text) => seed_of(&text).ok_or_else(|| at("this is not an Ed25519 key in PEM (PKCS#8)"))?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut seed = [0; 32];
            random::fill(&mut seed).map_err(|error| at(&error.to_string()))?;
            let inside = base64(&[&BEFORE[..], &seed].concat());
            replace_private(file, format!("{BEGIN}\n{inside}\n{END}\n").as_bytes())
                .map_err(|error| at(&error.to_string()))?;
            seed
        }
        Err(error) => return Err(at(&error.to_string())),
    };
    let key = SecretKey::new("aops-engine", Use::Note, &seed)?;
    Ok(format!("publickeyv1_{}", base58(key.public().bytes())))
}

fn seed_of(pem: &str) -> Option<[u8; 32]> {
    let inside = pem.split_once(BEGIN)?.1.split_once(END)?.0;
    let inside = from_base64(&inside.split_whitespace().collect::<String>())?;
    inside.strip_prefix(&BEFORE)?.try_into().ok()
}

fn base58(bytes: &[u8]) -> String {
    let mut digits: Vec<u32> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += *digit << 8;
            *digit = carry % 58;
            carry /= 58;
        }
        while carry > 0 {
            digits.push(carry % 58);
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).map(|_| 0);
    let digits = zeros.chain(digits.into_iter().rev());
    digits
        .filter_map(|digit| DIGITS.get(usize::try_from(digit).ok()?))
        .map(|digit| char::from(*digit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn base58_is_that_of_everybody() {
        assert_eq!(base58(b"Hello World!"), "2NEpo7TZRRrLZSi2U");
        assert_eq!(base58(&[0, 0, 0x28, 0x7f, 0xb4, 0xcd]), "11233QC4");
    }

    #[test]
    fn a_key_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("identity.pem");
        let first = open(&file).unwrap();
        assert!(first.starts_with("publickeyv1_") && open(&file).unwrap() == first, "{first}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&file, "nonsense").unwrap();
        assert!(open(&file).unwrap_err().contains("PKCS#8"));
    }
}
