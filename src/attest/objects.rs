//! What git's objects say about a commit, and the content of blobs.
//!
//! Starts `git` without the user's configuration, with replaced objects and hooks off. Invariant: the results
//! depend only on the objects of the repository and, for its address, the repository's own configuration.

use aops_attest::statement::Side;
use aops_core::model::error::{Code, Failure};
use aops_core::system::env::Env;
use aops_core::system::git::acting::Place;
use aops_core::system::git::{Remotes, git_folder};
use aops_core::system::process::variable;
use aops_core::text::redact::redact;
use aops_core::text::sha256::sha256;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What was asked once is kept as long as this is.
pub struct Repository<'a> {
    place: Place<'a>,
    remotes: OnceCell<Option<Remotes>>,
    /// Names that are asked with the next question for objects, and what they are.
    expected: RefCell<Vec<String>>,
    known: RefCell<BTreeMap<String, Option<Object>>>,
}

/// The repositories of a session's commits, each opened once.
pub struct Repositories<'a> {
    pub env: &'a Env,
    known: RefCell<BTreeMap<PathBuf, Option<Rc<Repository<'a>>>>>,
}

impl<'a> Repositories<'a> {
    pub fn new(env: &'a Env) -> Self {
        Self { env, known: RefCell::default() }
    }

    pub fn at(&self, root: &Path) -> Option<Rc<Repository<'a>>> {
        let mut known = self.known.borrow_mut();
        known.entry(root.to_owned()).or_insert_with(|| Repository::at(self.env, root).map(Rc::new)).clone()
    }
}

/// A commit compared with its first parent.
#[derive(Debug)]
pub struct CommitObject {
    pub id: String,
    /// `None` for a root commit.
    pub parent: Option<String>,
    pub tree: String,
    /// When it was made, in seconds since 1970.
    pub made: i64,
    /// SHA-256 of what `git diff-tree` prints for it.
    pub change: String,
    pub records: Vec<Record>,
}

/// Any object that a name leads to.
#[derive(Debug)]
pub struct Object {
    pub id: String,
    pub kind: String,
    pub content: Vec<u8>,
}

/// One path of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub path: Vec<u8>,
    pub before: Side,
    pub after: Side,
}

/// Variables that make git ignore all settings but the repository's own.
fn alone() -> [(String, OsString); 4] {
    [
        variable("GIT_CONFIG_GLOBAL", "/dev/null"),
        variable("GIT_CONFIG_NOSYSTEM", "1"),
        variable("GIT_NO_REPLACE_OBJECTS", "1"),
        variable("GIT_TERMINAL_PROMPT", "0"),
    ]
}

fn odd(what: &str) -> Failure {
    Failure::new(Code::StorageFailed, what.to_owned())
}

impl<'a> Repository<'a> {
    /// The repository of this working tree.
    pub fn at(env: &'a Env, root: &Path) -> Option<Self> {
        Some(Self {
            place: Place { env, git: git_folder(root)?, root: root.to_owned() },
            remotes: OnceCell::new(),
            expected: RefCell::default(),
            known: RefCell::default(),
        })
    }

    pub fn place(&self) -> &Place<'a> {
        &self.place
    }

    pub fn remotes(&self) -> Option<&Remotes> {
        self.remotes.get_or_init(|| Remotes::ask(self.place.env, &self.place.root).ok()).as_ref()
    }

    /// These objects will be asked for.
    pub fn expect(&self, names: Vec<String>) {
        *self.expected.borrow_mut() = names;
    }

    pub fn ask(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, Failure> {
        self.place.run(args, &alone(), input)
    }

    /// Git's output without the final line feed.
    pub fn line(&self, args: &[&str], input: &[u8]) -> Result<String, Failure> {
        let said = String::from_utf8(self.ask(args, input)?).map_err(|_| odd("git said no text"))?;
        Ok(said.trim_end_matches('\n').to_owned())
    }

    /// The id of the commit with this name.
    pub fn resolve(&self, name: &str) -> Option<String> {
        let object = format!("{name}^{{commit}}");
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &object], b"").ok()
    }

    /// The commit and its change, in a single git call. If the history is cut here, its parent is
    /// missing, and we say nothing about it.
    pub fn commit(&self, id: &str) -> Result<CommitObject, Failure> {
        let words = ["diff-tree", "-r", "-z", "--no-renames", "--full-index", "--ignore-submodules=none"];
        let more = ["--root", "--always", "--diff-merges=first-parent", "--format=%T %ct %P", id];
        let whole = [variable("GIT_SHALLOW_FILE", ""), variable("GIT_GRAFT_FILE", "/dev/null/none")];
        let variables = [&alone()[..], &whole].concat();
        let said = self.place.run(&[&words[..], &more].concat(), &variables, b"")?;
        let parsed = || {
            let end = said.iter().position(|byte| *byte == 0)?;
            let head = std::str::from_utf8(&said[..end]).ok()?;
            let mut words = head.split_whitespace();
            let tree = words.next()?.to_owned();
            let made = words.next()?.parse().ok()?;
            let parent = words.next().map(str::to_owned);
            let rest = said[end + 1..].strip_prefix(b"\n").unwrap_or(&said[end + 1..]);
            let change = sha256(&[rest]);
            Some(CommitObject { id: id.to_owned(), parent, tree, made, change, records: read_records(rest)? })
        };
        parsed().ok_or_else(|| odd("`git diff-tree` gave an unexpected answer"))
    }

    /// The oldest root of its history. In a shallow clone it is the commit where the history is cut; a full
    /// clone has that commit too, and can find the root behind it.
    pub fn root_commit(&self, id: &str) -> Result<String, Failure> {
        let roots = self.line(&["rev-list", "--max-parents=0", id], b"")?;
        roots.lines().last().map(str::to_owned).ok_or_else(|| odd("a commit has no root"))
    }

    /// The contents of these blobs, without those that are missing or not blobs.
    pub fn blobs(&self, ids: &[&str]) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let found = self.objects(ids)?.into_iter().flatten().filter(|object| object.kind == "blob");
        Ok(found.map(|object| (object.id, object.content)).collect())
    }

    /// What each of these names is, in order; `None` if it is missing. Starts git once for all of them, or
    /// not at all if they were expected; this answer is given once, since names may mean something else
    /// later.
    pub fn objects(&self, names: &[&str]) -> Result<Vec<Option<Object>>, Failure> {
        let known = self.known.take();
        if !names.is_empty() && names.iter().all(|name| known.contains_key(*name)) {
            let mut known = known;
            return Ok(names.iter().map(|name| known.remove(*name).flatten()).collect());
        }
        let expected = self.expected.take();
        let more: Vec<&str> = expected.iter().map(String::as_str).collect();
        let mut found = self.ask_objects(&[names, &more].concat())?;
        *self.known.borrow_mut() = expected.iter().cloned().zip(found.split_off(names.len())).collect();
        Ok(found)
    }

    fn ask_objects(&self, names: &[&str]) -> Result<Vec<Option<Object>>, Failure> {
        let said = self.ask(&["cat-file", "--batch"], (names.join("\n") + "\n").as_bytes())?;
        let mut found = Vec::new();
        let mut rest = &said[..];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let after = &rest[end + 1..];
            let words: Vec<&str> = head.split(' ').collect();
            rest = after;
            let [id, kind, long] = words[..] else {
                found.push(None);
                continue;
            };
            let long = long.parse().ok().filter(|long| *long < after.len());
            let (content, more) = after.split_at(long.ok_or_else(|| odd("an object is cut"))?);
            rest = &more[1..];
            found.push(Some(Object { id: id.to_owned(), kind: kind.to_owned(), content: content.to_vec() }));
        }
        if found.len() == names.len() {
            Ok(found)
        } else {
            Err(odd("git answered only part of the question"))
        }
    }

    /// The address of the remote, without user and password; `None` for one on this machine.
    pub fn address(&self, branch: Option<&str>) -> Option<String> {
        let own = &self.remotes()?.own;
        let entries: Vec<(&str, &str)> =
            own.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let mut remotes: Vec<(&str, &str)> = entries
            .iter()
            .filter_map(|(key, url)| Some((key.strip_prefix("remote.")?.strip_suffix(".url")?, *url)))
            .collect();
        // If a remote has several addresses, the first counts.
        remotes.sort_by_key(|(name, _)| *name);
        let known = |name: &str| remotes.iter().find(|(known, _)| *known == name);
        let of_branch = branch.and_then(|branch| {
            let key = format!("branch.{}.remote", branch.strip_prefix("refs/heads/")?);
            entries.iter().rfind(|(known, _)| *known == key).and_then(|(_, name)| known(name))
        });
        let found = of_branch.or_else(|| known("origin")).or_else(|| remotes.first());
        let (name, url) = found?;
        // Only git itself can resolve these URL rewrites.
        let url = if entries.iter().any(|(key, _)| key.starts_with("url.") && key.ends_with(".insteadof")) {
            self.line(&["remote", "get-url", name], b"").ok()?
        } else {
            (*url).to_owned()
        };
        let address = public_address(&url)?;
        (redact(&address) == address).then_some(address)
    }
}

/// `:100644 100755 OLD NEW M` and the path after it, each followed by a zero byte.
fn read_records(said: &[u8]) -> Option<Vec<Record>> {
    let mut fields = said.split(|byte| *byte == 0);
    let mut records = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = std::str::from_utf8(head).ok()?.strip_prefix(':')?;
        let words: Vec<&str> = head.split(' ').collect();
        let [old_mode, new_mode, old, new, _] = words[..] else { return None };
        let side = |mode: &str, id: &str| Side(mode.to_owned(), id.to_owned());
        let path = fields.next()?.to_vec();
        records.push(Record { path, before: side(old_mode, old), after: side(new_mode, new) });
    }
    Some(records)
}

/// `git+https://host/path`; `None` if the address is a folder, or has a form that may contain a secret.
fn public_address(url: &str) -> Option<String> {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme @ ("https" | "http" | "ssh" | "git"), rest)) => (scheme, rest.to_owned()),
        Some(_) => return None,
        // `user@host:path`
        None => {
            let (host, path) =
                url.split_once(':').filter(|(host, path)| !host.contains('/') && !path.starts_with(':'))?;
            ("ssh", format!("{host}/{}", path.trim_start_matches('/')))
        }
    };
    let (place, path) = rest.split_once('/')?;
    let host = place.rsplit('@').next()?;
    let path = path.split(['?', '#']).next()?.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!host.is_empty() && !path.is_empty()).then(|| format!("git+{scheme}://{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_without_who_uses_it() {
        for (url, told) in [
            ("https://me:secret@forge.example/team/calc.git", Some("git+https://forge.example/team/calc")),
            ("https://token@forge.example/team/calc?key=1#x", Some("git+https://forge.example/team/calc")),
            ("git@forge.example:team/calc.git", Some("git+ssh://forge.example/team/calc")),
            ("ssh://git@forge.example:2222/team/calc", Some("git+ssh://forge.example:2222/team/calc")),
            ("/home/me/calc.git", None),
            ("../calc", None),
            ("file:///home/me/calc", None),
            ("ext::sh -c x", None),
            ("https://forge.example", None),
        ] {
            assert_eq!(public_address(url).as_deref(), told, "{url}");
        }
    }

    #[test]
    fn records_are_read_with_any_path() {
        let old = "0".repeat(40);
        let new = "a".repeat(40);
        let said = format!(":000000 100755 {old} {new} A\0a b\nc\0:100644 000000 {new} {old} D\0d\0");
        let records = read_records(said.as_bytes()).unwrap();
        assert_eq!((records.len(), &records[0].path[..]), (2, &b"a b\nc"[..]));
        assert_eq!(records[1].after, Side("000000".to_owned(), old));
        assert_eq!(read_records(b""), Some(Vec::new()));
        assert_eq!(read_records(b"words"), None);
    }
}
