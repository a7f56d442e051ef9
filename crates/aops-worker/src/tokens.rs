//! Who may do what at the gateway, and with which runs, by a file of tokens.
//!
//! Reads one file, which only its owner may read. Invariants: the file holds the digest of a token, never the
//! token, and only digests are compared; a line that limits is never read as one that does not.

use aops_core::config::policy::glob;
use aops_core::text::sha256::sha256;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who vouches for a name in the file of tokens.
pub const ISSUER: &str = "tokens";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Read,
    Submit,
    Approve,
    Operate,
    /// Serve the steps of the machine with this name.
    Work,
}

/// What a run has that a role may be limited to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope<'a> {
    pub repository: &'a str,
    pub labels: &'a [String],
}

/// Roles, for all runs or for those of some repositories or labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    roles: Vec<Role>,
    /// Globs; none means any.
    repositories: Vec<String>,
    /// A run must ask for one of these; none means any run.
    labels: Vec<String>,
}

impl Grant {
    /// A role that may do anything may also read.
    fn has(&self, role: Role) -> bool {
        self.roles.contains(&role) || role == Role::Read && !self.roles.is_empty()
    }

    fn is_limited(&self) -> bool {
        !self.repositories.is_empty() || !self.labels.is_empty()
    }

    fn covers(&self, scope: &Scope) -> bool {
        // A repository has one name here: with a detour it could be another one than it looks like.
        let is_plain =
            !scope.repository.contains('%') && !scope.repository.split('/').any(|part| part == "..");
        let is_in = is_plain && self.repositories.iter().any(|pattern| glob::name(pattern, scope.repository));
        (self.repositories.is_empty() || is_in)
            && (self.labels.is_empty() || self.labels.iter().any(|label| scope.labels.contains(label)))
    }
}

/// Somebody who is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    /// Who vouches for the name.
    pub issuer: String,
    grants: Vec<Grant>,
}

impl Person {
    pub fn new(name: &str, issuer: &str, grants: Vec<Grant>) -> Self {
        Self { name: name.to_owned(), issuer: issuer.to_owned(), grants }
    }

    /// Whether a run of this repository and with these labels is within this role.
    pub fn may(&self, role: Role, scope: &Scope) -> bool {
        self.grants.iter().any(|grant| grant.has(role) && grant.covers(scope))
    }

    /// Whether there could be such a run.
    pub fn may_at_all(&self, role: Role) -> bool {
        self.grants.iter().any(|grant| grant.has(role))
    }

    /// Whether every run is within this role.
    pub fn may_always(&self, role: Role) -> bool {
        self.grants.iter().any(|grant| grant.has(role) && !grant.is_limited())
    }
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    name: String,
    digest: String,
    grant: Grant,
}

#[derive(Clone, Debug, Default)]
pub struct Tokens(Vec<Line>);

impl Tokens {
    /// Reads lines of a name, roles separated by commas, the SHA-256 of a token in hex, and limits.
    pub fn read(file: &Path) -> Result<Self, String> {
        let at = |what: String| format!("`{}`: {what}", file.display());
        let about = fs::metadata(file).map_err(|error| at(error.to_string()))?;
        if about.mode() & 0o077 != 0 {
            return Err(at("others can read it\nhint: `chmod 600` it".to_owned()));
        }
        let text = fs::read_to_string(file).map_err(|error| at(error.to_string()))?;
        let mut all: Vec<Line> = Vec::new();
        for (n, line) in
            text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        {
            let wrong = |what: &str| at(format!("line {}: {what}", n + 1));
            let line = line_of(line)
                .ok_or_else(|| wrong("not `NAME ROLES DIGEST [repository=GLOB,…] [label=NAME,…]`"))?;
            if all.iter().any(|known| known.digest == line.digest && known.name != line.name) {
                return Err(wrong("this token has another name already"));
            }
            all.push(line);
        }
        Ok(Self(all))
    }

    /// All lines of one token are one person's.
    pub fn find(&self, token: &str) -> Option<Person> {
        let digest = sha256(&[token.as_bytes()]);
        let lines = self.0.iter().filter(|line| line.digest == digest);
        let grants: Vec<Grant> = lines.map(|line| line.grant.clone()).collect();
        let name = self.0.iter().find(|line| line.digest == digest)?.name.clone();
        Some(Person { name, issuer: ISSUER.to_owned(), grants })
    }
}

fn line_of(line: &str) -> Option<Line> {
    let mut words = line.split_whitespace();
    let name = words.next()?.to_owned();
    let roles = words.next()?;
    let digest = words.next()?.to_owned();
    let is_digest =
        digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
    let grant = grant_of(roles, words)?;
    is_digest.then_some(Line { name, digest, grant })
}

/// Roles and what limits them.
pub fn grant_of<'a>(roles: &str, limits: impl Iterator<Item = &'a str>) -> Option<Grant> {
    let mut grant = Grant { roles: roles.split(',').map(role).collect::<Option<_>>()?, ..Grant::default() };
    for limit in limits {
        let (kind, names) = limit.split_once('=')?;
        let names = names.split(',').map(|name| Some(name.to_owned()).filter(|name| !name.is_empty()));
        let names: Vec<String> = names.collect::<Option<_>>()?;
        match kind {
            "repository" => grant.repositories.extend(names),
            "label" => grant.labels.extend(names),
            _ => return None,
        }
    }
    Some(grant)
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

    fn read(text: &str, mode: u32) -> Result<Tokens, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        Tokens::read(&file)
    }

    #[test]
    fn a_file_of_tokens_is_read_or_refused() {
        let digest = sha256(&[b"secret"]);
        let good = format!("# who\nann submit,approve {digest}\n\n");
        let tokens = read(&good, 0o600).unwrap();
        let ann = tokens.find("secret").unwrap();
        assert!(ann.name == "ann" && ann.may_always(Role::Submit) && ann.may_always(Role::Read));
        assert!(!ann.may_at_all(Role::Operate));
        assert!(tokens.find("").is_none() && tokens.find(&digest).is_none());
        assert!(read(&good, 0o640).unwrap_err().contains("hint:"));
        for odd in [
            "ann",
            "ann read short",
            &format!("ann root {digest}"),
            &format!("ann read {digest} more"),
            &format!("ann read {digest} label="),
            &format!("ann read {digest} repository=a,,b"),
            &format!("ann read {digest} repo=a"),
        ] {
            assert!(read(odd, 0o600).unwrap_err().contains("line 1"), "{odd}");
        }
        let two = format!("ann read {digest}\nbob approve {digest}\n");
        assert!(read(&two, 0o600).unwrap_err().contains("another name"));
    }

    #[test]
    fn a_role_ends_at_its_repositories_and_labels() {
        let digest = sha256(&[b"secret"]);
        let text = format!(
            "ann submit {digest} repository=https://forge/team/*,git@forge:team/* label=linux,mac\nann approve {digest} label=gpu\n"
        );
        let ann = read(&text, 0o600).unwrap().find("secret").unwrap();
        let may = |role: Role, repository: &str, labels: &[&str]| {
            let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
            ann.may(role, &Scope { repository, labels: &labels })
        };
        assert!(may(Role::Submit, "https://forge/team/a.git", &["linux"]));
        assert!(may(Role::Submit, "git@forge:team/b", &["x", "mac"]));
        assert!(may(Role::Approve, "anything", &["gpu"]) && may(Role::Read, "anything", &["gpu"]));
        for (repository, labels) in [
            ("https://forge/other/a.git", &["linux"][..]),
            ("https://forge/team/a.git", &[]),
            ("https://forge/team/a.git", &["gpu"]),
            ("https://forge/team/../other/a.git", &["linux"]),
            ("https://forge/team/%2e%2e/other/a.git", &["linux"]),
            ("", &["linux"]),
        ] {
            assert!(!may(Role::Submit, repository, labels), "{repository} {labels:?}");
        }
        assert!(!may(Role::Operate, "anything", &["gpu"]) && !may(Role::Read, "anything", &["windows"]));
        assert!(ann.may_at_all(Role::Submit) && !ann.may_always(Role::Submit));
    }
}
