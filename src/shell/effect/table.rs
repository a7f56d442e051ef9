//! Finds what is known of a command: nothing, that it reads however it is called, or how to tell.

use super::line::{Said, unknown};
use super::options::{self, Sorted};
use super::{awk, builtin, fetch, files, find, git, reader, sed, verb};
use crate::model::call::Effect;
use crate::shell::syntax::{Line, SYSTEM_FOLDERS, Simple, Word};

/// One command with its arguments, as its judge sees it.
#[derive(Clone, Copy)]
pub(super) struct Command<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a [Word],
    pub(super) line: &'a Line,
}

impl<'a> Command<'a> {
    /// The arguments, if every option is on the list.
    pub(super) fn sorted(&self, lists: &[&str]) -> Result<Sorted<'a>, String> {
        options::sort(self.arguments, lists, self.line).map_err(|option| self.refused(&option))
    }

    /// Why it is a write: this argument.
    pub(super) fn refused(&self, argument: &str) -> String {
        unknown(format!("{} {argument}", self.name).trim_end())
    }

    /// The same command without its first words: `git` and `log`, `npm` and `config`.
    pub(super) fn rest(&self, name: &'a str, from: usize) -> Self {
        Self { name, arguments: self.arguments.get(from..).unwrap_or_default(), ..*self }
    }
}

/// How to tell what a command does.
pub(super) enum Rule {
    /// It reads, whatever its arguments.
    Free,
    /// It reads with these options.
    Listed(&'static [&'static str]),
    /// Ask.
    Own(fn(&Command) -> Said),
}

/// What one command does, by its own rule.
type Own = fn(&Command) -> Said;

/// Commands with a judge of their own. Sorted.
static OWN: &[(&str, Own)] = &[
    ("[", builtin::test),
    ("alias", builtin::alias),
    ("aops-hook", verb::ours),
    ("awk", awk::judge),
    ("bd", verb::tracker),
    ("crontab", files::no_operand),
    ("curl", fetch::curl),
    ("date", files::date),
    ("dd", files::dd),
    ("declare", builtin::declare),
    ("export", builtin::export),
    ("fd", find::fd),
    ("fdfind", find::fd),
    ("find", find::find),
    ("gawk", awk::judge),
    ("git", git::judge),
    ("gunzip", files::gzip),
    ("gzip", files::gzip),
    ("hostname", files::no_operand),
    ("ifconfig", files::no_operand),
    ("kill", files::kill),
    ("less", files::less),
    ("let", builtin::test),
    ("local", builtin::declare),
    ("mapfile", builtin::mapfile),
    ("mawk", awk::judge),
    ("nawk", awk::judge),
    ("printf", builtin::printf),
    ("read", builtin::read),
    ("readarray", builtin::mapfile),
    ("readonly", builtin::declare),
    ("rpm", files::rpm),
    ("sed", sed::judge),
    ("set", builtin::set),
    ("tar", files::tar),
    ("tee", files::tee),
    ("test", builtin::test),
    ("trap", builtin::trap),
    ("typeset", builtin::declare),
    ("uniq", files::one_operand),
    ("unset", builtin::unset),
    ("unzip", files::unzip),
    ("wget", fetch::wget),
    ("xxd", files::one_operand),
];

/// The program's name, if it is looked up on the path or stands where the system's programs are.
pub(super) fn program<'a>(word: &'a str, home: &str) -> Option<&'a str> {
    let Some((folder, name)) = word.rsplit_once('/') else { return Some(word) };
    let own = || folder.strip_prefix(home).is_some_and(|rest| matches!(rest, "/.local/bin" | "/.cargo/bin"));
    (SYSTEM_FOLDERS.contains(&folder) || name == "aops-hook" && own()).then_some(name)
}

/// What a command does.
pub(super) fn effect(name: &str, simple: &Simple, line: &Line) -> Said {
    let command = Command { name, arguments: &simple.words[1..], line };
    let own = OWN.binary_search_by_key(&name, |(known, _)| known).ok().map(|at| Rule::Own(OWN[at].1));
    match own.or_else(|| reader::rule(name)) {
        Some(Rule::Free) => Ok(Effect::Read),
        Some(Rule::Listed(lists)) => command.sorted(lists).map(|_| Effect::Read),
        Some(Rule::Own(judge)) => judge(&command),
        None => verb::judge(&command),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn judges_are_sorted_so_that_they_are_found() {
        assert!(super::OWN.is_sorted_by_key(|(name, _)| *name));
    }
}
