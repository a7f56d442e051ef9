//! Programs that leave the jail because they need rights or IDs that it lacks: `sudo`, `podman`.
//!
//! Looks at the program's file, writes nothing. Invariants: a program leaves only if its file belongs to the
//! superuser, and we start it by its path with exactly the words that were judged: no shell looks the name
//! up, no function or alias takes its place, and it finds no program of its own in a folder that others can
//! write. For a superuser, no program leaves.

use super::own::plain_words;
use crate::system::env::Env;
use crate::system::superusers;
use aops_shell::commands::program;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PROGRAMS: [&str; 7] = ["buildah", "doas", "fusermount", "newuidmap", "podman", "su", "sudo"];
/// Prefixes of variables that load code into a program.
const BRINGING: [&str; 6] = ["BASH", "LD_", "NODE_", "PERL5", "PYTHON", "RUBY"];
/// The user's own files that tell these programs which other programs to start.
const CONFIGURED: [&str; 3] = ["containers.conf", "containers.conf.d", "storage.conf"];

/// A program that leaves the jail, and its words.
#[derive(Debug)]
pub struct Unheld {
    pub program: PathBuf,
    pub words: Vec<String>,
}

/// Where programs are searched for.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    pub env: &'a Env,
    pub cwd: &'a Path,
    /// The configured `[jail] without`.
    pub without: &'a [String],
}

impl Search<'_> {
    /// The file that this word starts, if that program leaves the jail.
    pub fn leaving(&self, word: &str) -> Option<PathBuf> {
        // A script of the same name elsewhere is confined like any other program.
        let name = program(word, "\0").unwrap_or_default();
        let listed =
            PROGRAMS.contains(&name) || self.without.iter().any(|known| known == name || known == word);
        if listed { superusers::program(word, &self.env.path_of_commands(), self.cwd) } else { None }
    }

    /// The program, if this command is a single call of it, in words that no shell would change.
    pub fn of_command(&self, command: &str) -> Option<Unheld> {
        let words = plain_words(command)?;
        let program = self.leaving(words.first()?)?;
        Some(Unheld { program, words })
    }
}

impl Unheld {
    /// The user's configuration that says what this program starts. Any command may have written it.
    pub fn configured(&self, env: &Env) -> Option<PathBuf> {
        let name = self.words.first()?.rsplit('/').next()?;
        let folder = env.user_config.parent()?.join("containers");
        let files =
            CONFIGURED.iter().filter(|_| matches!(name, "buildah" | "podman")).map(|file| folder.join(file));
        files.into_iter().find(|file| file.symlink_metadata().is_ok())
    }
}

/// Removes the variables that load code into a program, and the folders of `PATH` that others than the
/// superuser can write.
pub(super) fn restrain(variables: &mut BTreeMap<String, OsString>) {
    variables.retain(|name, _| name != "ENV" && !BRINGING.iter().any(|known| name.starts_with(known)));
    if let Some(path) = variables.get_mut("PATH") {
        *path = superusers::search_path(path);
    }
}
