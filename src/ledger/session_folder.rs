//! Finds the folder of a session, or makes it.
//!
//! Reads and makes folders below a project's folder; touches no file in them. Invariants: a name that comes from outside
//! is used only as one part of a path; the session's own folder is never a symlink; a session is found on later days too.

use crate::model::client::Client;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::{make, make_all};
use crate::system::{folder, lock};
use crate::text::sha256::sha256;
use crate::text::time::day;
use rustix::fs::CWD;
use std::fs::File;
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

impl SessionKey<'_> {
    /// The project folders it can be in: that of a well-formed transcript path, then that of the working directory.
    pub fn projects(&self, env: &Env) -> Vec<PathBuf> {
        let by_cwd = env.projects().join(dashed(self.cwd));
        if env.host != Client::Claude {
            return vec![by_cwd];
        }
        match well_formed(self.transcript_path, self.session_id) {
            Some(by_transcript) if by_transcript == by_cwd => vec![by_cwd],
            Some(by_transcript) => vec![by_transcript, by_cwd],
            None => vec![by_cwd],
        }
    }
}

/// The project folder that the transcript is in, where the session is held in another one.
pub fn elsewhere(env: &Env, key: SessionKey, held_in: &Path) -> Option<PathBuf> {
    let named = well_formed(key.transcript_path, key.session_id).filter(|_| env.host == Client::Claude);
    named.filter(|named| Some(named.as_path()) != held_in.parent())
}

/// The folder that exists for this session, its name made with `width` digits of the hash.
pub fn find(env: &Env, key: SessionKey, width: usize) -> Result<Option<SessionFolder>, Failure> {
    let hash = &sha256(&[key.session_id.as_bytes()])[..width];
    let projects = key.projects(env);
    for project in &projects {
        if let Some(place) = recent(env, project, hash)? {
            return Ok(Some(place));
        }
    }
    // The transcript of another client says nothing of the project, and its working directory may move within a session.
    let others = if env.host == Client::Claude { Vec::new() } else { env.own_projects() };
    for project in projects.iter().chain(&others) {
        if let Some(place) = older(project, hash)? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// The folder of this session in one project.
pub fn find_in(env: &Env, project: &Path, session_id: &str, width: usize) -> Result<Option<SessionFolder>, Failure> {
    let hash = &sha256(&[session_id.as_bytes()])[..width];
    match recent(env, project, hash)? {
        None => older(project, hash),
        found => Ok(found),
    }
}

/// Today's or yesterday's folder: they need no listing of a project with perhaps thousands of entries.
fn recent(env: &Env, project: &Path, hash: &str) -> Result<Option<SessionFolder>, Failure> {
    for ago in [0, DAY_MS] {
        if let Some(place) = open(project.join(format!("{}-{hash}", day(env.now_ms - ago))))? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// A new folder for this session. Two processes get the same one.
pub fn create(env: &Env, key: SessionKey, width: usize) -> Result<SessionFolder, Failure> {
    make_all(&key.projects(env).swap_remove(0))?;
    let _guard = guard(env)?;
    if let Some(place) = find(env, key, width)? {
        return Ok(place);
    }
    let path = new_path(env, key, width);
    make(&path)?;
    existing(&path)
}

/// In its place for a dry run: a folder that always exists and holds no session. Nothing is made.
pub fn imagine(env: &Env, key: SessionKey, width: usize) -> Result<SessionFolder, Failure> {
    Ok(SessionFolder { path: new_path(env, key, width), ..existing(Path::new("/"))? })
}

fn new_path(env: &Env, key: SessionKey, width: usize) -> PathBuf {
    let hash = &sha256(&[key.session_id.as_bytes()])[..width];
    key.projects(env).swap_remove(0).join(format!("{}-{hash}", day(env.now_ms)))
}

const GUARD: &str = "folders.lock";

/// While this lock is held, no other process makes a session folder.
pub fn guard(env: &Env) -> Result<File, Failure> {
    let path = env.config.join("aops");
    make_all(&path)?;
    let dir = folder::enter(CWD, &path, true)?.ok_or_else(|| Failure::storage(path.display(), "is gone"))?;
    Ok(lock::take(lock::open_or_make(&dir, GUARD)?, GUARD, PATIENCE)?)
}

/// An existing folder, never through a symlink.
pub fn open(path: PathBuf) -> Result<Option<SessionFolder>, Failure> {
    Ok(folder::enter(CWD, &path, false)?.map(|dir| SessionFolder { dir, path }))
}

pub fn existing(path: &Path) -> Result<SessionFolder, Failure> {
    open(path.to_owned())?.ok_or_else(|| Failure::storage(path.display(), "is gone"))
}

fn older(project: &Path, hash: &str) -> Result<Option<SessionFolder>, Failure> {
    let Ok(names) = std::fs::read_dir(project) else { return Ok(None) };
    let ours = |name: &str| is_session_folder(name) && name[9..] == *hash;
    let mut found: Vec<_> =
        names.flatten().filter_map(|n| n.file_name().into_string().ok()).filter(|n| ours(n)).collect();
    found.sort();
    found.first().map_or(Ok(None), |name| open(project.join(name)))
}

/// `{YYYYMMDD}-{8 or 16 hex}`
pub fn is_session_folder(name: &str) -> bool {
    let Some((day, hash)) = name.split_once('-') else { return false };
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    day.len() == 8 && day.bytes().all(|b| b.is_ascii_digit()) && matches!(hash.len(), 8 | 16) && hash.bytes().all(hex)
}

/// `/…/projects/<name>/<session_id>.jsonl`, absolute and plain: its folder.
fn well_formed(transcript: &str, session_id: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = transcript.strip_prefix('/')?.split('/').collect();
    let plain = |part: &&str| !matches!(*part, "" | "." | "..") && !part.contains('\0');
    let [.., projects, _, file] = parts.as_slice() else { return None };
    let named = *projects == "projects" && file.strip_suffix(".jsonl") == Some(session_id);
    (named && parts.iter().all(plain)).then(|| Path::new(transcript).parent().map(Path::to_path_buf))?
}

/// The client's name for a project: every character but letters and digits is a dash.
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
        assert_eq!(well_formed("/h/.claude/projects/-p/abc.jsonl", id), Some("/h/.claude/projects/-p".into()));
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
        for bad in ["20260113-0123abc", "2026011-0123abcd", "20260113-0123ABCD", "20260113-0123abcd.broken-1", "x", ""]
        {
            assert!(!is_session_folder(bad), "{bad}");
        }
        assert_eq!(dashed("/home/ü/a b"), "-home---a-b");
        assert!(dashed(&"/x".repeat(3000)).len() < 255);
    }
}
