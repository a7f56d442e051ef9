//! Finds the folder of a session, or creates it.
//!
//! Reads and creates folders below a project's folder; touches no file in them. Invariants: a name from
//! outside is used only as a single component of a path; the session's own folder is never a symlink; a
//! session is found by its ID on later days too, and wherever its working directory and its transcript are.

use crate::ledger::heads::{self, Head};
use crate::model::client::Ability;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::{make, make_all};
use crate::system::{folder, lock};
use crate::text::sha256::{sha256, trace_id};
use crate::text::time::day;
use rustix::fs::CWD;
use std::collections::VecDeque;
use std::fs::File;
use std::io::ErrorKind::{self, InvalidFilename, InvalidInput, NotADirectory, NotFound, PermissionDenied};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Together with the wait for the session's lock this is below the client's timeout.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct SessionFolder {
    pub dir: OwnedFd,
    pub path: PathBuf,
}

/// The fields of an event that determine the folder.
#[derive(Clone, Copy, Debug)]
pub struct SessionKey<'a> {
    pub session_id: &'a str,
    pub transcript_path: &'a str,
    pub cwd: &'a str,
}

const DAY_MS: i64 = 86_400_000;
const NONE: [ErrorKind; 5] = [NotFound, NotADirectory, PermissionDenied, InvalidFilename, InvalidInput];
/// How many digits of the hash a folder's name contains: more if two IDs share the first ones.
pub const WIDTHS: [usize; 2] = [8, 16];

impl SessionKey<'_> {
    /// The project folders that may contain it: that of a well-formed transcript path, then that of the
    /// working directory.
    pub fn projects(&self, env: &Env) -> Vec<PathBuf> {
        let by_cwd = env.projects().join(dashed(self.cwd));
        if !env.host.can(Ability::HoldsRecords) {
            return vec![by_cwd];
        }
        match well_formed(self.transcript_path, self.session_id) {
            Some(by_transcript) if by_transcript == by_cwd => vec![by_cwd],
            Some(by_transcript) => vec![by_transcript, by_cwd],
            None => vec![by_cwd],
        }
    }

    pub fn search<'a>(&self, env: &'a Env) -> Search<'a> {
        Search::new(env, self.session_id, self.projects(env))
    }
}

/// The project folder that contains the transcript, if it neither contains the session nor follows from the
/// working directory: in a worktree, and when a session is resumed elsewhere, the client stores the
/// transcript by that folder.
pub fn elsewhere(env: &Env, key: SessionKey, held_in: &Path) -> Option<PathBuf> {
    let named =
        well_formed(key.transcript_path, key.session_id).filter(|_| env.host.can(Ability::HoldsRecords));
    let named = named.filter(|named| Some(named.as_path()) != held_in.parent())?;
    let follows = |folder: &Path| named.file_name() == Some(dashed(&folder.to_string_lossy()).as_ref());
    if Path::new(key.cwd).ancestors().any(follows) { None } else { Some(named) }
}

/// How a folder was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In one of the given projects, or in the one that the exported head names.
    Near,
    /// Only by searching every project, which is expensive and must not be needed next time.
    Far,
}

/// The folders that may contain a session, the likeliest first. It is searched by its ID, since working
/// directory and transcript can change within a session: to a worktree and back, or when it is resumed
/// elsewhere.
#[derive(Debug)]
pub struct Search<'a> {
    env: &'a Env,
    trace: String,
    hash: String,
    /// Projects to search first.
    near: Vec<PathBuf>,
    /// All projects.
    every: fn(&Env) -> Vec<PathBuf>,
    step: Step,
    ready: VecDeque<(SessionFolder, Found)>,
}

/// What is searched next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Today's or yesterday's folder of a given project, without listing perhaps thousands of entries.
    Recent(usize),
    Older,
    ByHead,
    Everywhere,
    Over,
}

impl<'a> Search<'a> {
    pub fn new(env: &'a Env, session_id: &str, near: Vec<PathBuf>) -> Self {
        let trace = trace_id(session_id);
        let hash = sha256(&[session_id.as_bytes()]);
        Self {
            env,
            trace,
            hash,
            near,
            every: Env::own_projects,
            step: Step::Recent(0),
            ready: VecDeque::new(),
        }
    }

    /// The same among the sessions of all clients.
    #[must_use]
    pub fn of_any_client(self) -> Self {
        Self { every: Env::all_projects, ..self }
    }

    /// The next folder whose name is derived from this ID; its ledger says whether it belongs to the session.
    pub fn next_place(&mut self) -> Result<Option<(SessionFolder, Found)>, Failure> {
        loop {
            if let Some(found) = self.ready.pop_front() {
                return Ok(Some(found));
            }
            self.step = match self.step {
                Step::Recent(n) if n < self.near.len() => {
                    let found = recent(self.env, &self.near[n], &self.hash[..WIDTHS[0]])?;
                    self.ready.extend(found.map(|place| (place, Found::Near)));
                    Step::Recent(n + 1)
                }
                Step::Recent(_) => Step::Older,
                Step::Older => self.look(&self.near.clone(), Found::Near, Step::ByHead)?,
                Step::ByHead => {
                    self.look_by_head()?;
                    Step::Everywhere
                }
                Step::Everywhere => {
                    let rest =
                        (self.every)(self.env).into_iter().filter(|project| !self.near.contains(project));
                    self.look(&rest.collect::<Vec<_>>(), Found::Far, Step::Over)?
                }
                Step::Over => return Ok(None),
            };
        }
    }

    /// Searches the project that the exported head names.
    fn look_by_head(&mut self) -> Result<(), Failure> {
        let head = heads::at(self.env).newest(&self.trace).ok().flatten();
        let project =
            head.and_then(|head| of_head(self.env, &head)).filter(|project| !self.near.contains(project));
        if let Some(project) = project {
            let found = in_project(self.env, &project, &self.hash)?;
            self.ready.extend(found.into_iter().map(|place| (place, Found::Near)));
        }
        Ok(())
    }

    fn look(&mut self, projects: &[PathBuf], found: Found, next: Step) -> Result<Step, Failure> {
        for project in projects {
            for place in all_in(project, &self.hash)? {
                self.ready.push_back((place, found));
            }
        }
        Ok(next)
    }
}

/// The folder of the project that this head names, which must be a single path component.
pub fn of_head(env: &Env, head: &Head) -> Option<PathBuf> {
    let is_part = Path::new(&head.project).file_name() == Some(head.project.as_ref());
    is_part.then(|| env.projects().join(&head.project))
}

/// The folders that may contain this session in one project.
pub fn find_in(env: &Env, project: &Path, session_id: &str) -> Result<Vec<SessionFolder>, Failure> {
    in_project(env, project, &sha256(&[session_id.as_bytes()]))
}

fn in_project(env: &Env, project: &Path, hash: &str) -> Result<Vec<SessionFolder>, Failure> {
    match recent(env, project, &hash[..WIDTHS[0]])? {
        Some(found) => Ok(vec![found]),
        None => all_in(project, hash),
    }
}

/// Today's or yesterday's folder.
fn recent(env: &Env, project: &Path, hash: &str) -> Result<Option<SessionFolder>, Failure> {
    for ago in [0, DAY_MS] {
        if let Some(place) = open(project.join(format!("{}-{hash}", day(env.now_ms - ago))))? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// A new folder for this session. If two processes ask, they get the same one.
pub fn create(env: &Env, key: SessionKey, width: usize) -> Result<SessionFolder, Failure> {
    let project = key.projects(env).swap_remove(0);
    make_all(&project)?;
    let _guard = guard(env)?;
    if let Some(place) = recent(env, &project, &sha256(&[key.session_id.as_bytes()])[..width])? {
        return Ok(place);
    }
    let path = new_path(env, key, width);
    make(&path)?;
    existing(&path)
}

/// For a dry run: a folder that always exists and contains no session. Nothing is created.
pub fn imagine(env: &Env, key: SessionKey, width: usize) -> Result<SessionFolder, Failure> {
    Ok(SessionFolder { path: new_path(env, key, width), ..existing(Path::new("/"))? })
}

fn new_path(env: &Env, key: SessionKey, width: usize) -> PathBuf {
    let hash = &sha256(&[key.session_id.as_bytes()])[..width];
    key.projects(env).swap_remove(0).join(format!("{}-{hash}", day(env.now_ms)))
}

const GUARD: &str = "folders.lock";

/// While this lock is held, no other process creates a session folder.
pub fn guard(env: &Env) -> Result<File, Failure> {
    let path = env.config.join("aops");
    make_all(&path)?;
    let dir = folder::enter(CWD, &path, true)?
        .ok_or_else(|| Failure::storage(path.display(), "no longer exists"))?;
    Ok(lock::take(lock::open_or_make(&dir, GUARD)?, GUARD, PATIENCE)?)
}

/// Opens an existing folder, never through a symlink.
pub fn open(path: PathBuf) -> Result<Option<SessionFolder>, Failure> {
    Ok(folder::enter(CWD, &path, false)?.map(|dir| SessionFolder { dir, path }))
}

pub fn existing(path: &Path) -> Result<SessionFolder, Failure> {
    open(path.to_owned())?.ok_or_else(|| Failure::storage(path.display(), "no longer exists"))
}

/// The folders in this project whose names are derived from this hash, the oldest first.
fn all_in(project: &Path, hash: &str) -> Result<Vec<SessionFolder>, Failure> {
    let names = match std::fs::read_dir(project) {
        Ok(names) => names,
        // The folder does not exist, cannot exist, or belongs to another user, so it contains no session of
        // ours. Other errors do not prove that.
        Err(error) if NONE.contains(&error.kind()) => return Ok(Vec::new()),
        Err(error) => return Err(Failure::storage(project.display(), error)),
    };
    let ours = |name: &String| is_session_folder(name) && hash.starts_with(&name[9..]);
    let mut names: Vec<String> =
        names.flatten().filter_map(|n| n.file_name().into_string().ok()).filter(ours).collect();
    names.sort();
    let found = names.into_iter().map(|name| open(project.join(name)));
    found.filter_map(Result::transpose).collect()
}

/// `{YYYYMMDD}-{8 or 16 hex}`
pub fn is_session_folder(name: &str) -> bool {
    let Some((day, hash)) = name.split_once('-') else { return false };
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    day.len() == 8
        && day.bytes().all(|b| b.is_ascii_digit())
        && matches!(hash.len(), 8 | 16)
        && hash.bytes().all(hex)
}

/// The folder of `/…/projects/<name>/<session_id>.jsonl`, if the path is absolute and plain.
fn well_formed(transcript: &str, session_id: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = transcript.strip_prefix('/')?.split('/').collect();
    let plain = |part: &&str| !matches!(*part, "" | "." | "..") && !part.contains('\0');
    let [.., projects, _, file] = parts.as_slice() else { return None };
    let named = *projects == "projects" && file.strip_suffix(".jsonl") == Some(session_id);
    (named && parts.iter().all(plain)).then(|| Path::new(transcript).parent().map(Path::to_path_buf))?
}

/// The client's name for a project: every character but letters and digits becomes a dash.
pub fn dashed(cwd: &str) -> String {
    const LONGEST: usize = 200;
    let name: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    match name.len() {
        0 => "-".to_owned(),
        1..=LONGEST => name,
        _ => format!("{}-{}", &name[..LONGEST], &sha256(&[cwd.as_bytes()])[..8]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_transcripts_name_a_folder() {
        let id = "abc";
        assert_eq!(
            well_formed("/h/.claude/projects/-p/abc.jsonl", id),
            Some("/h/.claude/projects/-p".into())
        );
        let bad = [
            "",
            "x/projects/p/abc.jsonl",
            "/projects/abc.jsonl",
            "/a/../projects/p/abc.jsonl",
            "/a/./projects/p/abc.jsonl",
            "/projects/../abc.jsonl",
            "/projects/p/abd.jsonl",
            "/p/p/abc.jsonl",
            "/projects//abc.jsonl",
            "/projects/a\0b/abc.jsonl",
            "/projects/p/abc",
        ];
        for bad in bad {
            assert_eq!(well_formed(bad, id), None, "{bad}");
        }
        assert_eq!(well_formed("/projects/p/../x.jsonl", "../x"), None);
    }

    #[test]
    fn folder_names() {
        assert!(is_session_folder("20260113-0123abcd") && is_session_folder("20260113-0123abcd0123abcd"));
        for bad in [
            "20260113-0123abc",
            "2026011-0123abcd",
            "20260113-0123ABCD",
            "20260113-0123abcd.broken-1",
            "x",
            "",
        ] {
            assert!(!is_session_folder(bad), "{bad}");
        }
        assert_eq!(dashed("/home/ü/a b"), "-home---a-b");
        assert!(dashed(&"/x".repeat(3000)).len() < 255);
    }
}
