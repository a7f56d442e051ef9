//! Who may do what at the gateway, by a file of tokens.
//!
//! Reads one file, which only its owner may read. Invariant: the file holds the digest of a token, never the
//! token, and only digests are compared.

use aops_core::text::sha256::sha256;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Read,
    Submit,
    Approve,
    Operate,
    /// Serve the steps of the machine with this name.
    Work,
}

/// Somebody with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    roles: Vec<Role>,
    digest: String,
}

impl Person {
    /// A role that may do anything may also read.
    pub fn may(&self, role: Role) -> bool {
        self.roles.contains(&role) || role == Role::Read && !self.roles.is_empty()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Tokens(Vec<Person>);

impl Tokens {
    /// Reads lines of a name, roles separated by commas, and the SHA-256 of a token in hex.
    pub fn read(file: &Path) -> Result<Self, String> {
        let at = |what: String| format!("`{}`: {what}", file.display());
        let about = fs::metadata(file).map_err(|error| at(error.to_string()))?;
        if about.mode() & 0o077 != 0 {
            return Err(at("others can read it\nhint: `chmod 600` it".to_owned()));
        }
        let text = fs::read_to_string(file).map_err(|error| at(error.to_string()))?;
        let lines =
            text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        lines
            .map(|(n, line)| {
                line_of(line).ok_or_else(|| at(format!("line {} is not `NAME ROLES DIGEST`", n + 1)))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub fn find(&self, token: &str) -> Option<&Person> {
        let digest = sha256(&[token.as_bytes()]);
        self.0.iter().find(|person| person.digest == digest)
    }
}

fn line_of(line: &str) -> Option<Person> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let roles = words.next()?;
    let digest = words.next()?;
    let roles: Option<Vec<Role>> = roles.split(',').map(role).collect();
    let is_digest =
        digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
    let person = Person { name: name.to_owned(), roles: roles?, digest: digest.to_owned() };
    (is_digest && words.next().is_none()).then_some(person)
}

fn role(word: &str) -> Option<Role> {
    match word {
        "read" => Some(Role::Read),
        "submit" => Some(Role::Submit),
        "approve" => Some(Role::Approve),
        "operate" => Some(Role::Operate),
        "work" => Some(Role::Work),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_of_tokens_is_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens");
        let write = |text: &str, mode: u32| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            Tokens::read(&file)
        };
        let digest = sha256(&[b"secret"]);
        let good = format!("# who\nann submit,approve {digest}\n\n");
        let tokens = write(&good, 0o600).unwrap();
        let ann = tokens.find("secret").unwrap();
        assert!(ann.name == "ann" && ann.may(Role::Submit) && ann.may(Role::Read) && !ann.may(Role::Operate));
        assert!(tokens.find("").is_none() && tokens.find(&digest).is_none());
        assert!(write(&good, 0o640).unwrap_err().contains("hint:"));
        for odd in
            ["ann", "ann read short", &format!("ann root {digest}"), &format!("ann read {digest} more")]
        {
            assert!(write(odd, 0o600).unwrap_err().contains("line 1"), "{odd}");
        }
    }
}
