//! Decides which file is started, and how it is confined. A `Task` needs a `Program`, so every program that
//! we start passes here.
//!
//! Reads folders of `PATH`. Invariant: if an agent can cause the start (a hook, a verb inside a client, a
//! driver of runs), a program runs in the profile `work`, like the agent's own commands, unless it is ours,
//! the client's, or in a folder that only the superuser can write.

use crate::model::profile::Hold;
use crate::system::env::Env;
use crate::system::superusers;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Two internal verbs, followed by folders, `--`, the program and its arguments. The first is told what
/// confines the program, the second finds out. Neither gives its caller more rights than the program would.
pub const HELD: &str = "__held";
pub const VERB: &str = "__confined";
/// Among the folders: the network that confines the program, or the session whose network does.
pub const NETWORK: &str = "network";
pub const SESSION: &str = "session";
/// Separates the guarded folders from the program.
pub const PROGRAM_FOLLOWS: &str = "--";

#[derive(Clone, Copy, Debug)]
pub enum Identity<'a> {
    /// This very program, which confines the programs that it starts.
    Own,
    /// The client, by a path from a person, their configuration or `install`: it starts its commands through
    /// us.
    Client(&'a Path),
    /// A program of the system. It runs unconfined if only the superuser can write its file, and confined if
    /// it is found elsewhere.
    System(&'a str),
    /// Found on `PATH`: confined.
    OnPath(&'a str),
    /// A file with this path, whoever wrote it: confined.
    At(&'a Path),
}

/// A file that may be started.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) path: PathBuf,
    /// Arguments before its own.
    pub(super) before: Vec<String>,
}

impl Program {
    pub fn find(env: &Env, identity: Identity) -> io::Result<Self> {
        let missing =
            |name: &str| io::Error::new(io::ErrorKind::NotFound, format!("`{name}` is not on PATH"));
        match identity {
            Identity::Own => std::env::current_exe().map(Self::fixed),
            Identity::Client(path) => Ok(Self::fixed(path)),
            Identity::At(path) => Self::held(env, path),
            Identity::OnPath(name) => Self::held(env, &env.on_path(name).ok_or_else(|| missing(name))?),
            Identity::System(name) => match of_system(env, name) {
                Some(path) => Ok(Self::fixed(path)),
                None => Self::find(env, Identity::OnPath(name)),
            },
        }
    }

    /// It runs confined, like the agent's commands.
    pub fn is_held(&self) -> bool {
        !self.before.is_empty()
    }

    pub(super) fn fixed(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), before: Vec::new() }
    }

    /// Runs unconfined if no agent can cause the start, if the client does not start its commands through us
    /// either, or if the session knows that there is no jail.
    fn held(env: &Env, path: &Path) -> io::Result<Self> {
        let known = env.told.hold.get();
        if !(env.is_jailing() || env.run.is_driving) || known == Some(&Hold::Words) {
            return Ok(Self::fixed(path));
        }
        let mut before = match known {
            Some(hold) => vec![HELD.to_owned(), hold.name().to_owned()],
            None => vec![VERB.to_owned()],
        };
        before.extend(env.guarded_folders().into_iter().map(|(name, folder)| format!("{name}={folder}")));
        before.extend(match env.told.network.get() {
            Some(network) => Some(format!("{NETWORK}={}", network.to_text())),
            // A session that knows its jail has also said which network to use, unless networks are off. A
            // run without a network yet has no session: what it starts has none, unless the mode is open.
            None if known.is_none() => {
                Some(format!("{SESSION}={}", env.client.session.as_deref().unwrap_or_default()))
            }
            None => None,
        });
        before.extend([PROGRAM_FOLLOWS.to_owned(), path.to_string_lossy().into_owned()]);
        Ok(Self { path: std::env::current_exe()?, before })
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.before.last() {
            Some(path) => path.fmt(f),
            None => self.path.display().fmt(f),
        }
    }
}

/// The folders of `PATH` that only the superuser can write, for unconfined programs that search for others.
pub fn search_path_of_system(env: &Env) -> OsString {
    superusers::search_path(&env.search_path())
}

/// The first program of this name in such a folder, by a path in which no link can be replaced.
fn of_system(env: &Env, name: &str) -> Option<PathBuf> {
    superusers::program(name, &search_path_of_system(env), Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::{ClientEnv, ToldOnce};

    fn words(program: &Program) -> Vec<&str> {
        program.before.iter().map(String::as_str).collect()
    }

    /// Starts that an agent can cause, and starts that only a person can cause.
    #[test]
    fn what_an_agent_can_cause_is_held_unless_it_is_ours_or_the_client() {
        let sh = Path::new("/bin/sh");
        let shell_prefix = Some("/x/aops-hook --shell".to_owned());
        let client = ClientEnv { shell_prefix, project: PathBuf::from("/p"), ..ClientEnv::default() };
        let folders = vec![("HOME".to_owned(), "/h".to_owned())];
        let jailing = || Env { client: client.clone(), folders: folders.clone(), ..Env::default() };
        let holding =
            |hold: Hold| Env { told: ToldOnce { hold: hold.into(), ..ToldOnce::default() }, ..jailing() };
        let held = Program::find(&jailing(), Identity::At(sh)).unwrap();
        let unset = ["XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "CLAUDE_CONFIG_DIR=", "ACA_DATA="];
        let wanted =
            [&[VERB, "HOME=/h"], &unset[..], &["CLAUDE_PROJECT_DIR=/p", "session=", "--", "/bin/sh"]]
                .concat();
        assert_eq!(words(&held), wanted);
        assert_eq!(held.path, std::env::current_exe().unwrap());
        let known = holding(Hold::Landlock);
        assert_eq!(words(&Program::find(&known, Identity::At(sh)).unwrap())[..2], [HELD, "landlock"]);
        let driving = Env::default().driving();
        assert_eq!(words(&Program::find(&driving, Identity::OnPath("sh")).unwrap())[..2], [VERB, "HOME="]);
        for (env, identity) in [
            (jailing(), Identity::Own),
            (jailing(), Identity::Client(sh)),
            (Env::default(), Identity::At(sh)),
            (Env::default(), Identity::OnPath("sh")),
            (holding(Hold::Words), Identity::At(sh)),
        ] {
            assert_eq!(words(&Program::find(&env, identity).unwrap()), [""; 0], "{identity:?}");
        }
        assert!(Program::find(&jailing(), Identity::System("no-such-program")).is_err());
    }
}
