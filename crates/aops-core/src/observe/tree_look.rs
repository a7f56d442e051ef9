//! What changed in a working tree between two looks, for the attestation of commits.
//!
//! Walks the tree as a checkpoint does and stores the contents of changed files with the checkpoints;
//! remembers the list of files next to the session's ledger. Invariants: a file that did not change since it
//! was last read is not read again; files that git ignores are not looked at; if a look fails, it is
//! reported, and the next one does not guess.

use crate::checkpoint::capture::{Limits, capture, knows_tracked};
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::{File, name};
use crate::config::policy::Policy;
use crate::model::error::{Code, Failure};
use crate::session::observed::{Content, FileMode, FileSeen, UnseenWhy};
use crate::system::env::Env;
use crate::system::files;
use crate::text::git_object::ObjectFormat;
use crate::text::redact::redact;
use crate::text::sha256::{Sum, sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A tree that takes longer to read is not looked at this time.
const LONGEST: Duration = Duration::from_millis(1500);
/// At most this many files of one look are recorded.
const MOST_FILES: usize = 1000;

/// What changed since the previous look.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub files: Vec<FileSeen>,
    /// Why these are not all, if they are not.
    pub unseen: Option<UnseenWhy>,
}

/// The working tree of a session.
#[derive(Debug)]
pub struct TreeLook<'a> {
    pub env: &'a Env,
    pub policy: &'a Policy,
    /// The session's folder.
    pub session: &'a Path,
    pub root: &'a Path,
    pub format: ObjectFormat,
}

/// Mode and digest of each file, by its path.
type Listing = BTreeMap<String, (FileMode, String)>;

impl TreeLook<'_> {
    /// Looks, and remembers what was seen. `first`: there was no look before.
    pub fn take(&self, first: bool) -> Changed {
        let before = self.remembered();
        let now = self.list();
        let (store, now) = match now {
            Ok(seen) => seen,
            Err(why) => return self.lost(why),
        };
        // Before a call the tree is usually as the last call left it.
        if before.as_ref() != Some(&now) && self.remember(&now).is_err() {
            return self.lost(UnseenWhy::Disk);
        }
        let Some(before) = before else {
            return Changed { files: Vec::new(), unseen: (!first).then_some(UnseenWhy::Before) };
        };
        let paths = before.keys().chain(now.keys().filter(|path| !before.contains_key(*path)));
        let changed: Vec<&String> = paths.filter(|path| before.get(*path) != now.get(*path)).collect();
        let unseen = (changed.len() > MOST_FILES).then_some(UnseenWhy::Many);
        let content =
            |known: Option<&(FileMode, String)>| known.map(|(mode, sum)| self.content(&store, *mode, sum));
        let file = |path: &&String| FileSeen {
            is: content(now.get(*path)),
            path: redact(path).into_owned(),
            was: content(before.get(*path)),
        };
        let mut files: Vec<FileSeen> = changed.iter().take(MOST_FILES).map(file).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Changed { files, unseen }
    }

    /// Forgets the last look, which is useless by now.
    fn lost(&self, why: UnseenWhy) -> Changed {
        let _ = fs::remove_file(self.file());
        Changed { files: Vec::new(), unseen: Some(why) }
    }

    fn list(&self) -> Result<(Store, Listing), UnseenWhy> {
        let store = Store::open_contents(self.env, self.root).map_err(|_| UnseenWhy::Disk)?;
        let listing = self.list_in(&store).map_err(|failure| match failure.code {
            Code::TimedOut => UnseenWhy::Slow,
            _ if !knows_tracked(self.env, &store) => UnseenWhy::Index,
            _ => UnseenWhy::Disk,
        })?;
        Ok((store, listing))
    }

    fn list_in(&self, store: &Store) -> Result<Listing, Failure> {
        let until = Some(Instant::now() + self.env.at_most(LONGEST));
        let limits = Limits { sync: false, until, tracked: true, ..Limits::of(self.policy) };
        let kept = capture(self.env, store, &limits, &[], &[])?;
        for target in kept.files.iter().filter_map(|file| file.target.as_deref()) {
            // A capture lists a link's target without storing it, so store it here.
            store.keep_bytes(&name::bytes(target)).map_err(|e| Failure::storage("a link", e))?;
        }
        let row = |file: File| (file.path.clone(), (mode_of(&file), file.sha256.to_string()));
        Ok(kept.files.into_iter().map(row).collect())
    }

    /// The name of a stored content; empty if it is not stored.
    fn content(&self, store: &Store, mode: FileMode, sha256: &str) -> Content {
        let mut bytes = Vec::new();
        let kept = Sum::read(sha256).is_some_and(|sum| store.unpack(&sum.0, &mut bytes).is_ok());
        let blob = if kept { self.format.blob(&bytes) } else { String::new() };
        Content { blob, mode, sha256: sha256.to_owned() }
    }

    fn file(&self) -> PathBuf {
        self.session.join(format!("tree-{}", &sha256(&[self.root.as_os_str().as_encoded_bytes()])[..16]))
    }

    /// Parses `MODE DIGEST PATH`, each followed by a zero byte; `None` if the file is damaged.
    fn remembered(&self) -> Option<Listing> {
        let text = String::from_utf8(files::read(self.file()).ok()?).ok()?;
        let row = |row: &str| {
            let (mode, rest) = row.split_once(' ')?;
            let (sum, path) = rest.split_once(' ')?;
            Some((path.to_owned(), (FileMode::of(mode)?, sum.to_owned())))
        };
        text.strip_suffix("\0\0")?.split('\0').skip(1).map(row).collect()
    }

    fn remember(&self, listing: &Listing) -> Result<(), Failure> {
        let rows = listing.iter().map(|(path, (mode, sum))| format!("\0{mode} {sum} {path}"));
        let text = rows.collect::<String>() + "\0\0";
        let path = self.file();
        files::write_beside(&path, 0o600, |file| file.write_all(text.as_bytes()))
            .map_err(|e| Failure::storage(path.display(), e))
    }
}

fn mode_of(file: &File) -> FileMode {
    match &file.target {
        Some(_) => FileMode::Link,
        None if file.mode & 0o100 != 0 => FileMode::Executable,
        None => FileMode::Plain,
    }
}
