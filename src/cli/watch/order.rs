//! What a key does to a session: it runs the command that a person would type, with the same function.
//!
//! Runs one command of the table in the folder of its project; its rules are the command's own. Invariants:
//! permissions are checked as for the command, including the terminal it needs; only the question `are you
//! sure` is not repeated, since the cockpit asked it.

use crate::cli::table::clean;
use crate::cli::{COMMANDS, Command, Io, allowed, parser, who_may};
use aops_core::system::env::Env;
use aops_core::text::plain::shell_word;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) folder: PathBuf,
    /// The words after `aops-hook`.
    pub(super) words: Vec<String>,
}

impl Order {
    pub(super) fn new(folder: PathBuf, words: &[&str]) -> Self {
        Self { folder, words: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    /// The command line as a person would type it.
    pub(super) fn line(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| shell_word(word)).collect();
        clean(&format!("aops-hook {}", words.join(" "))).into_owned()
    }

    /// The same command as a dry run.
    #[must_use]
    pub(super) fn tried(&self) -> Self {
        let words = self.words.iter().cloned().chain(["--dry-run".to_owned()]).collect();
        Self { words, folder: self.folder.clone() }
    }

    /// Runs it. Returns its output, or why it was refused. `asked`: a person confirmed exactly this command.
    pub(super) fn carry_out(&self, env: &Env, asked: bool) -> Result<String, String> {
        let given = std::iter::once("aops-hook").chain(self.words.iter().map(String::as_str));
        let given = parser().try_get_matches_from(given).map_err(|error| error.to_string())?;
        let Some((command, given)) = Command::find(COMMANDS, &given) else {
            return Err("no such command".to_owned());
        };
        let env = Env { cwd: self.folder.clone(), ..env.later() };
        let mut out = Vec::new();
        let mut io = Io {
            env: &env,
            out: &mut out,
            json: false,
            terminal: false,
            width: None,
            color: false,
            yes: false,
            gone: false,
        };
        let done = allowed(command.name, who_may(command.name), &io).and_then(|()| {
            io.yes = asked;
            (command.run)(given, &mut io)
        });
        let said = String::from_utf8_lossy(&out).into_owned();
        match done {
            Ok(_) => Ok(said),
            Err(error) => Err(format!("{said}{error:#}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_shown_as_it_is_typed() {
        let order = Order::new(PathBuf::new(), &["block", "3f2a", "--reason", "it's late"]);
        assert_eq!(order.line(), r"aops-hook block 3f2a --reason 'it'\''s late'");
        assert!(order.tried().line().ends_with(" --dry-run"));
    }
}
