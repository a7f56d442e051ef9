//! How quiet mode would treat a line, by its text alone: proven to read, proven to read over the network, or
//! unknown but not known to act outside the project.
//!
//! Reads the line, but no file. Invariants: what is not proven is not reading; a line that changes the
//! repository, pushes, publishes, installs, or acts on containers, processes or other machines is never
//! contained. The text alone does not answer a line: the caller also checks the person's rules, the danger
//! rules and the jail.

mod places;
mod secrets;
mod table;

pub use places::{Places, places};

use crate::class::{LineSetting, class};
use crate::commands;
use crate::danger::is_secret;
use crate::effect::Effect;
use crate::lasting::lasts;
use crate::outside::outside;
use crate::syntax::{Line, Simple, Word};
use crate::targets::Targets;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quiet {
    /// Every command reads, and needs only files.
    Reading,
    /// Like `Reading`, but this one program asks another machine or a daemon; the line contains all its words
    /// literally.
    ReadingOver(String),
    /// Unknown, but not known to act outside the project.
    Contained,
    /// The client asks the person as usual; holds the reason.
    Left(Left),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It cannot be parsed.
    Unclear,
    /// It changes the repository, or uses the tracker.
    Repository,
    /// It asks another machine or a daemon, with several programs or with words that the line does not
    /// contain literally.
    Network,
    /// It publishes, deploys, sends or pushes.
    Outside,
    Installs,
    Superuser,
    Containers,
    /// It ends processes, or starts some that keep running.
    Processes,
    /// It names a path outside the project.
    Elsewhere,
    /// It may show a secret of the environment, or of a file that it names.
    Secret,
}

/// How much is answered, in rising order. The values of `[quiet] allow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answers {
    Nothing,
    Reading,
    Contained,
}

impl Quiet {
    /// Whether the text allows an answer at this level, if these programs may use the network.
    pub fn is_answered(&self, level: Answers, network: &[impl AsRef<str>]) -> bool {
        match self {
            Self::Reading => level >= Answers::Reading,
            Self::ReadingOver(program) => {
                level >= Answers::Reading && network.iter().any(|known| known.as_ref() == program)
            }
            Self::Contained => level >= Answers::Contained,
            Self::Left(_) => false,
        }
    }
}

/// How quiet mode would treat this line.
pub fn of(line: &Line, around: &LineSetting) -> Quiet {
    if line.unclear || line.beyond {
        return Quiet::Left(Left::Unclear);
    }
    // A redirection with which the shell itself reaches another machine.
    if line.text.contains("/dev/tcp/") || line.text.contains("/dev/udp/") {
        return Quiet::Left(Left::Network);
    }
    let (said, strictly) = match class(line, around).effect {
        Effect::Read => (reading(line), true),
        Effect::Write => (contained(line, around), false),
        Effect::Close | Effect::Tracker | Effect::Control | Effect::Spawn => {
            return Quiet::Left(Left::Repository);
        }
    };
    let is_left = matches!(said, Quiet::Left(_));
    if !is_left && secrets::shows(line, strictly) { Quiet::Left(Left::Secret) } else { said }
}

fn reading(line: &Line) -> Quiet {
    if table::needs_superuser(&line.text) {
        return Quiet::Left(Left::Superuser);
    }
    if line.background {
        return Quiet::Left(Left::Processes);
    }
    let mut far = programs(line).filter(|simple| table::reaches(simple));
    let Some(first) = far.next() else { return Quiet::Reading };
    // A word produced by another program may carry data that this program read.
    let plain = |simple: &Simple| {
        let given = simple
            .words
            .iter()
            .all(|word| word.is_firm() && word.filled.is_empty() && word.literal().is_some());
        given && simple.script.is_none() && simple.fed.is_empty() && simple.arriving.is_empty()
    };
    match first.name() {
        Some(name) if plain(first) && far.next().is_none() && !table::sends_more(first) => {
            Quiet::ReadingOver(name.to_owned())
        }
        _ => Quiet::Left(Left::Network),
    }
}

/// Each command of the line, with its entry in the table of commands.
pub fn proof(line: &Line) -> Vec<(String, &'static str)> {
    let shown = |simple: &Simple| simple.words.iter().map(Word::lossy).collect::<Vec<_>>().join(" ");
    let by = |simple: &Simple| simple.name().map_or("no program", commands::entry);
    programs(line).map(|simple| (shown(simple), by(simple))).collect()
}

/// The programs that the line runs; a function of the line counts by the programs in its body.
fn programs(line: &Line) -> impl Iterator<Item = &Simple> {
    line.commands.iter().map(AsRef::as_ref).filter(|simple| !simple.function)
}

fn contained(line: &Line, around: &LineSetting) -> Quiet {
    if table::needs_superuser(&line.text) {
        return Quiet::Left(Left::Superuser);
    }
    if outside(line) {
        return Quiet::Left(Left::Outside);
    }
    if lasts(line).is_some() {
        return Quiet::Left(Left::Processes);
    }
    let known = programs(line).find_map(|simple| left_by_name(line, simple));
    match known.or_else(|| leaves(line, around).then_some(Left::Elsewhere)) {
        Some(why) => Quiet::Left(why),
        None => Quiet::Contained,
    }
}

fn left_by_name(line: &Line, simple: &Simple) -> Option<Left> {
    let name = simple.name()?;
    let reads = commands::class(name, simple, line);
    match reads {
        Ok(Effect::Read) if table::reaches(simple) => Some(Left::Network),
        Ok(Effect::Read) => None,
        Ok(Effect::Close | Effect::Tracker | Effect::Control | Effect::Spawn) => Some(Left::Repository),
        _ if matches!(name, "git" | "jj" | "hg" | "svn") => Some(Left::Repository),
        _ => table::left(simple),
    }
}

/// Whether a path that the line may touch, or a folder it runs in, is neither in the project nor temporary.
fn leaves(line: &Line, around: &LineSetting) -> bool {
    let roots = [Some(around.ground.cwd), around.project];
    let inside = |path: &str| {
        let below = |root: &str| {
            let rest = path.strip_prefix(root).filter(|_| root.len() > 1);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        roots.into_iter().flatten().chain(table::FREE.iter().copied()).any(below)
    };
    // Settings of the client and of git, and secrets. The project itself may be below `.claude/worktrees`.
    let is_guarded = |path: &str| {
        let here = roots.into_iter().flatten().filter_map(|root| path.strip_prefix(root));
        let inside = here.min_by_key(|rest| rest.len()).unwrap_or(path);
        inside.split('/').any(|part| part == ".claude" || part == ".git") || is_secret(path)
    };
    // The jail holds back a path that is known only at run time; a path named in the line is for the person
    // to allow.
    let is_away = |word: &Word| {
        word.tidied()
            .literal()
            .is_some_and(|path| path.starts_with('/') && !inside(&path) || is_guarded(&path))
    };
    let mut reach = Targets::default();
    reach.cut(line, &around.ground);
    let moved = |simple: &Simple| simple.folders.iter().any(is_away);
    reach.over || reach.paths.iter().any(|target| is_away(&target.path)) || programs(line).any(moved)
}

#[cfg(test)]
mod tests;
