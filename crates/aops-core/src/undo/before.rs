//! The path from a line to its keeping: parsed, looked at, kept. The hook goes through it to decide, and the
//! program that starts the command does it again.
//!
//! Invariant: if a rule allowed a command because its losses would be kept, they are kept, or the line does
//! not run.

use super::form::{Content, Keeping, KeptFile, KeptRepository, Left, SCHEMA};
use super::keep::{Cause, keep, part};
use super::look::{Bounds, CONTAINED, Found, Place, Unkept, look};
use super::shelf;
use super::words::{count_files, size};
use crate::checkpoint::store::{Store, blob};
use crate::checkpoint::tree::name;
use crate::model::error::Failure;
use crate::session::fact::{Kept, KeptBounds};
use crate::system::disk::DISK;
use crate::system::env::Env;
use crate::system::process::Sharing;
use crate::system::{files, git};
use crate::text::plain::count;
use crate::text::sha256::Sum;
use crate::text::stored::digest_of;
use crate::tool::danger::{self, dangers};
use aops_shell::loss::{GitLoss, Loss, Losses, Target, is_read, losses};
use aops_shell::syntax::{Ground, Line, Word, cut};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For one git command.
const PATIENCE: Duration = Duration::from_secs(4);

/// What a line destroys, if its text shows everything that these rules found; otherwise `None`. A line
/// without a rule passes anyway, and what its text shows is kept.
pub fn told(line: &Line, place: &danger::Place, rules: &[&str]) -> Option<Losses> {
    if !rules.is_empty() && !is_read(line) {
        return None;
    }
    let losses = losses(line)?;
    let is_told =
        rules.is_empty() || !dangers(&losses.rest, place).iter().any(|left| rules.contains(&left.rule.id()));
    is_told.then_some(losses)
}

/// The rules that search for all uncommitted changes.
const ALL_CHANGES: [&str; 3] = [CONTAINED, "git-discard", "git-clean"];

/// Everything uncommitted in this repository, without files that tools make again, and in addition what the
/// line itself shows.
fn all_changes(line: &Line, root: &Path) -> Losses {
    let folder = Word::of(&root.to_string_lossy());
    let of = |what| Loss::Git { folder: folder.clone(), what };
    let changes = of(GitLoss::Changes { paths: Vec::new(), target: Target::Same });
    let new = of(GitLoss::Untracked { paths: Vec::new(), ignored: true });
    let told = losses(line).map(|losses| losses.all).unwrap_or_default();
    Losses { all: [vec![changes, new], told].concat(), ..Losses::default() }
}

/// What a command may lose that nobody was asked about: only file contents, since its jail does not let it
/// write to the repository.
pub fn look_at_all(place: Place, line: &Line, bounds: Bounds) -> Result<Found, Unkept> {
    let mut found = look(Place { rules: &ALL_CHANGES, ..place }, &all_changes(line, place.root), bounds)?;
    found.repositories.clear();
    Ok(found)
}

/// One command that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    pub env: &'a Env,
    /// The root of the session's tree.
    pub root: &'a Path,
    pub line: &'a str,
    pub cwd: &'a str,
    /// The rules of the call that was judged.
    pub rules: &'a [String],
    pub call_id: &'a str,
    pub session_id: &'a str,
    pub bounds: Bounds,
}

impl Command<'_> {
    /// Keeps what the command would lose; `None` if there is nothing to lose any more.
    pub fn keep(&self) -> Result<Option<Keeping>, String> {
        let _sharing = Sharing::begin();
        let found = self.look()?;
        if found.is_empty() {
            return Ok(None);
        }
        let rule = self.rules.first().map(String::as_str);
        let cause = Cause {
            call_id: self.call_id,
            cwd: self.cwd,
            line: self.line,
            rule,
            session_id: self.session_id,
        };
        keep(self.env, self.root, &found, cause).map(Some).map_err(|failure| failure.to_string())
    }

    fn look(&self) -> Result<Found, String> {
        let home = self.env.home.to_string_lossy();
        let project = self.root.to_string_lossy();
        let variables = variables(self.env, &project);
        let ground = Ground { cwd: self.cwd, home: &home, variables: &variables };
        let place = danger::Place { cwd: self.cwd, home: &home, project: Some(&project), disk: Some(DISK) };
        let rules: Vec<&str> = self.rules.iter().map(String::as_str).collect();
        let line = cut(self.line, &ground);
        if self.rules.iter().any(|rule| rule == CONTAINED) {
            let place =
                Place { env: self.env, root: self.root, cwd: Path::new(self.cwd), rules: &[], quick: false };
            return look_at_all(place, &line, self.bounds).map_err(|unkept: Unkept| unkept.to_string());
        }
        let losses = told(&line, &place, &rules).ok_or("the line no longer shows what it would lose")?;
        let place =
            Place { env: self.env, root: self.root, cwd: Path::new(self.cwd), rules: &rules, quick: false };
        look(place, &losses, self.bounds).map_err(|unkept: Unkept| unkept.to_string())
    }
}

/// The variables of a line whose values are known at every place where it is parsed.
fn variables(env: &Env, project: &str) -> Vec<(String, String)> {
    let config = env.config.to_string_lossy().into_owned();
    vec![("CLAUDE_CONFIG_DIR".to_owned(), config), ("CLAUDE_PROJECT_DIR".to_owned(), project.to_owned())]
}

/// What was kept for this call: the newest of a few candidates.
pub fn kept_for(root: &Path, call_id: &str) -> Result<Option<Keeping>, Failure> {
    const RECENT: usize = 16;
    let Some(store) = Store::look(root)? else { return Ok(None) };
    for number in shelf::numbers(&store)?.into_iter().rev().take(RECENT) {
        if let Some(keeping) = shelf::look(&store, number)?.filter(|keeping| keeping.call_id == call_id) {
            return Ok(Some(keeping));
        }
    }
    Ok(None)
}

/// The same at the end of its call: nothing that still exists shares its content with the kept files.
pub fn settle(env: &Env, root: &Path, call_id: &str, bounds: Bounds) -> Result<Option<Keeping>, Failure> {
    match kept_for(root, call_id)? {
        Some(keeping) => part(env, root, keeping, bounds.bytes).map(Some),
        None if Store::look(root)?.is_some() => shelf::sweep(&Store::open(env, root)?).map(|()| None),
        None => Ok(None),
    }
}

/// The fact about a keeping, for the ledger.
pub fn fact(keeping: &Keeping, bounds: Bounds) -> Kept {
    let look_ms = u64::try_from(bounds.look.as_millis()).unwrap_or(u64::MAX);
    Kept {
        bounds: Some(KeptBounds { files: bounds.files as u64, look_ms, mb: bounds.bytes >> 20 }),
        bytes: keeping.bytes(),
        digest: digest_of(keeping),
        files: keeping.count() as u64,
        number: keeping.number,
        pins: keeping.repositories.iter().flat_map(|one| one.pins.iter().cloned()).collect(),
        rule: keeping.rule.clone(),
        what: describe(keeping),
    }
}

/// `3 files, 12 kB`, `branch topic`, `2 stashes`.
pub fn describe(keeping: &Keeping) -> String {
    let mut parts = Vec::new();
    let committed: usize = keeping.repositories.iter().map(|one| one.committed.len()).sum();
    if keeping.count() > 0 {
        parts.push(format!("{}, {}", count_files(keeping.count()), size(keeping.bytes())));
    }
    if committed > 0 {
        parts.push(format!("{} of the last commit", count_files(committed)));
    }
    for one in &keeping.repositories {
        let short = |name: &str| {
            let (kind, name) = match name.strip_prefix("refs/heads/") {
                Some(branch) => ("branch", branch),
                None => ("tag", name.strip_prefix("refs/tags/").unwrap_or(name)),
            };
            format!("{kind} `{}`", name::shown(name))
        };
        match one.refs.as_slice() {
            [] => {}
            [(only, _)] => parts.push(short(only)),
            many => parts.push(count(many.len(), "branch").replace("branchs", "branches")),
        }
        if let Some(stashes) = one.stashes.as_ref().filter(|stashes| !stashes.is_empty()) {
            parts.push(count(stashes.len(), "stash").replace("stashs", "stashes"));
        }
        if one.worktree.is_some() {
            parts.push(format!("the working tree `{}`", name::shown(&one.root)));
        } else if one.index.is_some() && keeping.count() == 0 {
            parts.push("the state of the repository".to_owned());
        }
    }
    if keeping.crontab.is_some() {
        parts.push("the table of `crontab`".to_owned());
    }
    if keeping.hollow > 0 {
        parts.push(format!(
            "not {}",
            count(keeping.hollow, "pipe or socket").replace("pipe or sockets", "pipes or sockets")
        ));
    }
    if parts.is_empty() {
        let of_folders = || count(keeping.folders.len(), "folder");
        parts.push(if keeping.files.is_empty() { of_folders() } else { count_files(keeping.files.len()) });
    }
    parts.join(", ")
}

fn hashed(path: &Path) -> io::Result<Sum> {
    blob::digest_of(&mut files::open(path)?)
}

fn lines(env: &Env, root: &Path, words: &[&str]) -> Vec<String> {
    let said = git::run(env, root, words, b"", PATIENCE).unwrap_or_default();
    String::from_utf8_lossy(&said).lines().map(str::to_owned).collect()
}

/// The present positions of the branches and tags that the command removed or moved.
fn refs_left(env: &Env, root: &Path, one: &KeptRepository) -> Vec<(String, String)> {
    if one.refs.is_empty() {
        return Vec::new();
    }
    let pair = |line: &String| line.split_once(' ').map(|(id, name)| (name.to_owned(), id.to_owned()));
    let is_kept = |(name, _): &(String, String)| one.refs.iter().any(|(known, _)| known == name);
    let listed =
        lines(env, root, &["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"]);
    listed.iter().filter_map(pair).filter(is_kept).collect()
}

fn stashes_left(env: &Env, root: &Path, one: &KeptRepository) -> Vec<String> {
    if one.stashes.is_some() { lines(env, root, &["stash", "list", "--format=%H"]) } else { Vec::new() }
}

/// Records what the command left, so that an undo can recognise later changes.
pub fn note_left(env: &Env, root: &Path, keeping: &Keeping) -> Result<Left, Failure> {
    let store = Store::open(env, root)?;
    let path = |text: &str| name::bytes(text).into_owned();
    let of_file = |text: &str| {
        let bytes = path(text);
        let path = Path::new(OsStr::from_bytes(&bytes));
        let is_link = path.symlink_metadata().ok()?.is_symlink();
        let target = || std::fs::read_link(path).ok().map(|target| Sum::of(target.as_os_str().as_bytes()));
        if is_link { target() } else { hashed(path).ok() }
    };
    let head = |text: &str| {
        let bytes = path(text);
        let said = git::run(env, Path::new(OsStr::from_bytes(&bytes)), &["rev-parse", "HEAD"], b"", PATIENCE);
        said.ok().map(|id| String::from_utf8_lossy(&id).trim().to_owned())
    };
    let place = |one: &KeptRepository| PathBuf::from(OsStr::from_bytes(&path(&one.root)));
    let left = Left {
        files: keeping.files.iter().map(|file| of_file(&file.path)).collect(),
        heads: keeping.repositories.iter().map(|one| head(&one.root)).collect(),
        refs: keeping.repositories.iter().map(|one| refs_left(env, &place(one), one)).collect(),
        stashes: keeping.repositories.iter().map(|one| stashes_left(env, &place(one), one)).collect(),
        schema: SCHEMA,
    };
    shelf::note_left(&store, keeping.number, &left)?;
    Ok(left)
}

/// Removes a keeping of files that the command did not change.
pub fn forget_unchanged(env: &Env, root: &Path, keeping: &Keeping, left: &Left) -> Result<bool, Failure> {
    let same = |(file, now): (&KeptFile, &Option<Sum>)| match &file.content {
        Content::Blob(_) | Content::Packed(_) => file.content.sum() == *now,
        Content::Symlink(target) => Some(Sum::of(&name::bytes(target))) == *now,
        Content::Absent => now.is_none(),
        Content::Link(_) => false,
    };
    let is_same = keeping.files.len() == left.files.len() && keeping.files.iter().zip(&left.files).all(same);
    if is_same {
        shelf::remove(&Store::open(env, root)?, keeping.number)?;
    }
    Ok(is_same)
}
