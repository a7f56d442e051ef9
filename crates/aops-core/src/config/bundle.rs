//! The bundle: one signed file with the configuration and texts that an administrator wants on every machine.
//!
//! Reads the administrator's folder, writes nothing. The file is a signed note (C2SP `signed-note`) whose
//! text is our line and a canonical JSON document. Invariants: a bundle counts only with a signature by a key
//! that this machine trusts, and is checked at each reading; if there is a bundle that does not count, that
//! is a problem and there is no policy at all, never a weaker one.

use super::problem::Problem;
use crate::system::env::Env;
use crate::system::files;
use crate::text::sha256::sha256;
use crate::text::stored::canonical;
use crate::text::time;
use aops_proof::key::{PublicKey, Use};
use aops_proof::note::Note;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// In the administrator's folder: the bundle in force, and the trusted keys, one per line.
pub const FILE: &str = "bundle";
pub const KEYS: &str = "keys";
/// In the same folder: digests of bundles that must no longer be used, one per line.
pub const REVOKED: &str = "revoked";
/// Distinguishes it from everything else that the same key signs.
const HEAD: &str = "aops-hook/bundle/v1\n";
/// Leaves room for signatures in a note.
const LONGEST: usize = 1_000_000;

/// Stored type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    pub created: String,
    /// By path, relative to the user's configuration folder.
    pub files: BTreeMap<String, Packed>,
    /// The owner's name, which never changes.
    pub name: String,
    /// RFC 3339: after this time there should be a newer bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
    /// Increases with each bundle of this name.
    pub version: u64,
}

/// Stored type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packed {
    pub sha256: String,
    pub text: String,
}

impl Packed {
    pub fn new(text: String) -> Self {
        Self { sha256: sha256(&[text.as_bytes()]), text }
    }
}

impl Bundle {
    /// The signed text.
    pub fn text(&self) -> String {
        format!("{HEAD}{}\n", canonical(self))
    }

    pub fn digest(&self) -> String {
        sha256(&[self.text().as_bytes()])
    }

    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.not_after.as_deref().and_then(time::parse).is_some_and(|at| now_ms > at)
    }

    /// Why it should be replaced, according to this folder's list; its content is in force anyway.
    pub fn outdated(&self, folder: &Path, now_ms: i64) -> Option<String> {
        match revoked(folder) {
            Ok(all) if all.contains(&self.digest()) => return Some("it was revoked".to_owned()),
            Ok(_) => {}
            Err(why) => return Some(why),
        }
        let at = self.not_after.as_ref().filter(|_| self.is_expired(now_ms))?;
        Some(format!("it expired at {at}"))
    }

    /// The name of one of its files in messages.
    pub fn file(&self, path: &str) -> String {
        format!("{}@{}/{path}", self.name, self.version)
    }

    /// Its identity, for programs.
    pub fn identity(&self) -> Value {
        json!({"name": self.name, "version": self.version, "digest": self.digest()})
    }

    /// The bundle in `text`, if nothing is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let line =
            text.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix('\n')).ok_or("it is not a bundle")?;
        let bundle: Self =
            serde_json::from_str(line).map_err(|error| format!("it is not a bundle: {error}"))?;
        if bundle.text() != text {
            return Err("it is not a bundle: its JSON is not in canonical form".to_owned());
        }
        bundle.check()?;
        Ok(bundle)
    }

    pub fn check(&self) -> Result<(), String> {
        let odd = |c: char| c.is_whitespace() || c.is_control() || c == '+';
        if self.name.is_empty() || self.name.contains(odd) {
            return Err(format!("`{}` cannot name a bundle: blanks and `+` are not allowed", self.name));
        }
        if self.version == 0 {
            return Err("the first version is 1".to_owned());
        }
        if let Some(odd) = self.not_after.as_ref().filter(|at| time::parse(at).is_none()) {
            return Err(format!("`not_after` must be a time like `2027-01-31T00:00:00Z`, not `{odd}`"));
        }
        if let Some(path) = self.files.keys().find(|path| !is_place(path)) {
            return Err(format!("`{path}` is not a file of a bundle"));
        }
        if let Some((path, _)) =
            self.files.iter().find(|(_, file)| sha256(&[file.text.as_bytes()]) != file.sha256)
        {
            return Err(format!("the digest of `{path}` is wrong"));
        }
        let long = self.text().len();
        if long > LONGEST {
            Err(format!("it has {long} bytes; at most {LONGEST} are allowed"))
        } else {
            Ok(())
        }
    }
}

/// Whether the user's configuration folder could contain a file at this path.
fn is_place(path: &str) -> bool {
    let plain = |part: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.is_empty() && !part.starts_with('.') && part.chars().all(known)
    };
    let folder = path.split_once('/').map(|(folder, _)| folder);
    let known = match folder {
        None => matches!(path, "config.toml" | "AXIOMS.md" | "WORKFLOWS.md"),
        Some("templates") => path.strip_suffix(".md").is_some(),
        Some("agents" | "workflows") => path.strip_suffix(".md").is_some() && path.matches('/').count() == 1,
        Some(_) => false,
    };
    known && path.split('/').all(plain)
}

/// A bundle and its signatures; there are none if it was never signed.
pub fn open(file: &str) -> Result<(Bundle, Note), String> {
    if !file.starts_with(HEAD) {
        return Err("it is not a bundle".to_owned());
    }
    let note = if file.contains("\n\n") {
        Note::parse(file)?
    } else {
        Note { text: file.to_owned(), signatures: Vec::new() }
    };
    Ok((Bundle::parse(&note.text)?, note))
}

/// The bundle, and the name of one of these keys that signed it.
pub fn verify(file: &str, keys: &[PublicKey]) -> Result<(Bundle, String), String> {
    let (bundle, note) = open(file)?;
    if note.signatures.is_empty() {
        return Err("it is not signed".to_owned());
    }
    let signers = note.signers(keys)?;
    match signers.first() {
        Some((key, _)) => Ok((bundle, key.name.clone())),
        None => Err("it is not signed by a key that is trusted here".to_owned()),
    }
}

/// The keys of a list, one per line; a line that begins with `#` is a comment.
pub fn keys(list: &str) -> Result<Vec<PublicKey>, String> {
    let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(key).collect()
}

/// A key that can sign bundles.
pub fn key(text: &str) -> Result<PublicKey, String> {
    match PublicKey::parse(text)? {
        key if key.used == Use::Note => Ok(key),
        key => Err(format!("`{}` is the key of a witness; witnesses do not sign bundles", key.name)),
    }
}

/// The keys that this folder trusts; empty if it has no list.
pub fn trusted(folder: &Path) -> Result<Vec<PublicKey>, String> {
    let path = folder.join(KEYS);
    match files::read_text(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("`{}` cannot be read: {error}", path.display())),
        Ok(list) => keys(&list).map_err(|why| format!("`{}`: {why}", path.display())),
    }
}

/// The digests in this folder's list; empty if it has no list.
pub fn revoked(folder: &Path) -> Result<Vec<String>, String> {
    let path = folder.join(REVOKED);
    let list = match files::read_text(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("`{}` cannot be read: {error}", path.display())),
        Ok(list) => list,
    };
    digests(&list).map_err(|why| format!("`{}`: {why}", path.display()))
}

/// The digests in such a list.
pub fn digests(list: &str) -> Result<Vec<String>, String> {
    let lines = list.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let digests: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_lowercase).collect();
    let is_digest = |text: &String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    match digests.iter().find(|text| !is_digest(text)) {
        Some(odd) => Err(format!("`{odd}` is not the digest of a bundle")),
        None => Ok(digests),
    }
}

/// The bundle in force on this machine, and who signed it; `None` if there is none.
pub fn installed(env: &Env) -> Result<Option<(Bundle, String)>, Problem> {
    if !env.administered.is_absolute() {
        return Ok(None);
    }
    in_folder(&env.administered).map_err(|why| {
        let hint = "ask your administrator to run `aops-hook install --managed BUNDLE` again";
        Problem::new(place(&env.administered).display().to_string(), 0, format!("{why}; {hint}"))
    })
}

/// Its description for others: its identity, or why it does not count; empty if there is none.
pub fn in_words(env: &Env) -> String {
    match installed(env) {
        Ok(None) => String::new(),
        Ok(Some((bundle, _))) => bundle.identity().to_string(),
        Err(problem) => json!({"problem": problem.to_string()}).to_string(),
    }
}

/// The bundle in any folder, or why it does not count.
pub fn in_folder(folder: &Path) -> Result<Option<(Bundle, String)>, String> {
    match files::read_text(place(folder)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(file) => verify(&file, &trusted(folder)?).map(Some),
    }
}

pub fn place(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_proof::key::SecretKey;

    fn bundle(version: u64) -> Bundle {
        let files =
            [("config.toml", "[mode]\nlevel = \"loop\"\n"), ("agents/critic.md", "a\ttab\n\nand “quotes”\n")];
        let files = files.map(|(path, text)| (path.to_owned(), Packed::new(text.to_owned())));
        Bundle {
            created: "2026-11-16T12:00:00Z".to_owned(),
            files: files.into(),
            not_after: None,
            name: "x.example/p".to_owned(),
            version,
        }
    }

    fn signed(bundle: &Bundle, key: &SecretKey) -> String {
        let text = bundle.text();
        Note { signatures: vec![key.sign(&text, 0).unwrap()], text }.to_string()
    }

    #[test]
    fn a_bundle_counts_with_a_trusted_signature_alone() {
        let key = |seed: u8| SecretKey::new("admin.example", Use::Note, &[seed; 32]).unwrap();
        let own = key(1);
        let other = key(2);
        let trusted = [own.public().clone()];
        let file = signed(&bundle(3), &own);
        assert_eq!(verify(&file, &trusted), Ok((bundle(3), "admin.example".to_owned())));
        let why = |file: &str| verify(file, &trusted).unwrap_err();
        assert_eq!(why(&bundle(3).text()), "it is not signed");
        assert_eq!(why(&signed(&bundle(3), &other)), "it is not signed by a key that is trusted here");
        assert!(
            why(&file.replace("loop", "pool")).contains("digest"),
            "{}",
            why(&file.replace("loop", "pool"))
        );
        assert!(
            why(&file.replace("\"version\":3", "\"version\":4"))
                .contains("signature of `admin.example` is wrong")
        );
        assert!(why(&file.replace("\"version\":3", "\"version\": 3")).contains("canonical"));
        assert!(why(&file.replace("\"version\":3", "\"version\":3,\"more\":1")).contains("unknown field"));
        assert!(why("").contains("not a bundle"));
    }

    /// We do not wait for a writer, and we do not work without a policy.
    #[test]
    fn a_fifo_in_the_place_of_a_bundle_is_a_problem() {
        let fifo = |path: &Path| {
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
                .unwrap();
        };
        let folder = tempfile::tempdir().unwrap();
        fifo(&folder.path().join(KEYS));
        assert!(trusted(folder.path()).unwrap_err().contains("not a regular file"));
        fifo(&place(folder.path()));
        assert!(in_folder(folder.path()).unwrap_err().contains("not a regular file"));
    }

    #[test]
    fn what_is_no_bundle() {
        let with = |path: &str| {
            let mut odd = bundle(1);
            odd.files.insert(path.to_owned(), Packed::new(String::new()));
            Bundle::parse(&odd.text())
        };
        for path in [
            "agents/../../x.md", "/etc/x.md", "agents/.x.md", "x.md", "agents/x", "bin/x.md", "agents//x.md",
            "agents/a/b.md",
        ] {
            assert!(with(path).unwrap_err().contains("not a file of a bundle"), "{path}");
        }
        assert!(with("templates/refusals/rule.md").is_ok());
        assert!(Bundle::parse(&bundle(0).text()).unwrap_err().contains("first version"));
        let mut odd = bundle(1);
        odd.name = "a b".to_owned();
        assert!(Bundle::parse(&odd.text()).unwrap_err().contains("cannot name"));
        let mut long = bundle(1);
        long.files.insert("AXIOMS.md".to_owned(), Packed::new("x".repeat(LONGEST)));
        assert!(Bundle::parse(&long.text()).unwrap_err().contains("are allowed"));
    }

    #[test]
    fn keys_are_listed_with_comments() {
        let own = SecretKey::new("admin.example", Use::Note, &[1; 32]).unwrap();
        let witness = SecretKey::new("w.example", Use::Cosignature, &[1; 32]).unwrap();
        assert_eq!(keys(&format!("# ours\n\n{}\n", own.public())).unwrap(), [own.public().clone()]);
        assert!(keys(&witness.public().to_string()).unwrap_err().contains("do not sign bundles"));
        assert!(keys("x").is_err());
    }
}
