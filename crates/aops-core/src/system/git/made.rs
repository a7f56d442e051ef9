//! Finds untracked files that a tool made, which are nobody's work.
//!
//! Asks git what it tracks in a folder of generated files, and only if there is such a folder. Invariant:
//! tracked files are work, and so are the files next to them in the same folder; if git does not answer, any
//! file may be work.

use super::{LONGEST, PATIENCE, start};
use crate::system::env::Env;
use aops_shell::generated;
use std::collections::BTreeMap;
use std::path::Path;

/// A tool made this path below `root`: it is in a generated folder or is a generated file, and git tracks
/// neither.
pub fn is_made(env: &Env, root: &Path, path: &str) -> bool {
    Tracked { env, root, known: BTreeMap::new(), environments: BTreeMap::new() }.leaves(path)
}

/// Keeps only those untracked files that somebody wrote.
pub(super) fn leave_out(env: &Env, root: &Path, untracked: &mut Vec<String>) {
    let mut tracked = Tracked { env, root, known: BTreeMap::new(), environments: BTreeMap::new() };
    untracked.retain(|path| !generated::is_made_file(path) && !tracked.leaves_folder(path));
}

/// Answers that git has already given.
struct Tracked<'a> {
    env: &'a Env,
    root: &'a Path,
    known: BTreeMap<String, bool>,
    /// Folders, with whether each is a virtual environment.
    environments: BTreeMap<String, bool>,
}

impl Tracked<'_> {
    fn leaves(&mut self, path: &str) -> bool {
        self.leaves_folder(path) || generated::is_made_file(path) && !self.has(path)
    }

    fn leaves_folder(&mut self, path: &str) -> bool {
        generated::folders(path).any(|folder| !self.has(folder)) || self.leaves_environment(path)
    }

    /// A virtual environment of Python may have any name; its `pyvenv.cfg` shows what it is.
    fn leaves_environment(&mut self, path: &str) -> bool {
        generated::all_folders(path).any(|folder| {
            let known = self.environments.get(folder).copied();
            let is_one =
                known.unwrap_or_else(|| self.root.join(folder).join(generated::ENVIRONMENT).is_file());
            if known.is_none() {
                self.environments.insert(folder.to_owned(), is_one);
            }
            is_one && !self.has(folder)
        })
    }

    fn has(&mut self, path: &str) -> bool {
        if let Some(known) = self.known.get(path) {
            return *known;
        }
        let has = self.root.ancestors().any(|folder| folder.join(".git").exists()) && self.ask(path);
        self.known.insert(path.to_owned(), has);
        has
    }

    fn ask(&self, path: &str) -> bool {
        let args = ["--literal-pathspecs", "ls-files", "-z", "--cached", "--", path];
        start(self.env, self.root, &args, &[], (PATIENCE, LONGEST)).is_none_or(|said| {
            let mut paths = said.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
            said.cut || paths.any(|path| generated::is_work_in(&String::from_utf8_lossy(path)))
        })
    }
}
