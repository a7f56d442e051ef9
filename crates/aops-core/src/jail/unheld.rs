//! Programs that leave the jail, since they need rights or ids which it does not have: `sudo`, `podman`.
//!
//! Looks at the program's file, writes nothing. Invariants: one leaves only as the superuser's own file,
//! which we start by its path and with the very words that were judged: no shell looks a name up, no function
//! or alias takes its place, and what it starts itself is not found in a folder that others can write. For a
//! superuser nothing leaves.

use super::own::plain_words;
use crate::system::env::Env;
use crate::system::superusers;
use aops_shell::commands::program;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PROGRAMS: [&str; 7] = ["buildah", "doas", "fusermount", "newuidmap", "podman", "su", "sudo"];
/// Variables that bring code into a program, by how they begin.
const BRINGING: [&str; 6] = ["BASH", "LD_", "NODE_", "PERL5", "PYTHON", "RUBY"];
/// Files of the user's own that tell these programs which others to start.
const CONFIGURED: [&str; 3] = ["containers.conf", "containers.conf.d", "storage.conf"];

/// Such a program, and its words.
#[derive(Debug)]
pub struct Unheld {
    pub program: PathBuf,
    pub words: Vec<String>,
}

/// Where programs are found.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    pub env: &'a Env,
    pub cwd: &'a Path,
    /// `[jail] without`.
    pub without: &'a [String],
}

impl Search<'_> {
    /// The file that this word starts, if it leaves the jail.
    pub fn leaving(&self, word: &str) -> Option<PathBuf> {
        // A script of such a name elsewhere is held as any other.
        let name = program(word, "\0").unwrap_or_default();
        let listed =
            PROGRAMS.contains(&name) || self.without.iter().any(|known| known == name || known == word);
        if listed { superusers::program(word, &self.env.search_path(), self.cwd) } else { None }
    }

    /// The program, if this command is one call of it, in words that no shell would change.
    pub fn of_command(&self, command: &str) -> Option<Unheld> {
        let words = plain_words(command)?;
        let program = self.leaving(words.first()?)?;
        Some(Unheld { program, words })
    }
}

impl Unheld {
    /// The user's own configuration that says what this program starts: any command may have written it.
    pub fn configured(&self, env: &Env) -> Option<PathBuf> {
        let name = self.words.first()?.rsplit('/').next()?;
        let folder = env.user_config.parent()?.join("containers");
        let files =
            CONFIGURED.iter().filter(|_| matches!(name, "buildah" | "podman")).map(|file| folder.join(file));
        files.into_iter().find(|file| file.symlink_metadata().is_ok())
    }
}

/// Takes what brings code out of a program's variables, and leaves it the folders of `PATH` that only the
/// superuser can write.
pub(super) fn restrain(variables: &mut BTreeMap<String, OsString>) {
    variables.retain(|name, _| name != "ENV" && !BRINGING.iter().any(|known| name.starts_with(known)));
    if let Some(path) = variables.get_mut("PATH") {
        *path = superusers::search_path(path);
    }
}
