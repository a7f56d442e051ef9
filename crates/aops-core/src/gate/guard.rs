//! Refuses calls that would change the files that guard them, or use a verb that only a person may use.
//!
//! Reads the call's [`Targets`]; writes nothing. Invariant: reading is never refused, and a refusal names the
//! path or verb. Way out: none for a tool call; a person edits the file or runs the verb in their own
//! terminal.

use crate::model::client::{Ability, Client};
use crate::model::gate_id::GateId;
use crate::model::verdict::Verdict;
use crate::text::template::one_line;
use crate::tool::targets::{Act, CommandRun, Target, Targets};

pub mod page;
mod place;
mod path;
mod unguarded;
mod process;
mod verb;
mod started;
pub mod executable;
mod hidden;
mod interactive;
pub mod keys;
#[cfg(test)]
mod tests;

pub use path::{Beside, Protected, system_folders};
pub use place::{PlacesOnDisk, ProtectedPlace};

/// The longest quoted text in a refusal, in characters.
const SHOWN: usize = 200;

pub fn judge(protected: &Protected, targets: &Targets) -> Verdict {
    let path = || refused_path(protected, targets);
    let verb =
        || targets.runs.iter().find_map(|run| verb::refused(protected, run)).map(|line| refuse_verb(&line));
    let hidden =
        || targets.hidden.iter().find_map(|text| hidden::named(protected, text)).map(|it| refuse_hidden(&it));
    let over = targets.over.then(|| {
        "this call has more paths or commands than we can check\n\
         hint: split it into smaller calls, or put long content into a file first"
            .to_owned()
    });
    let typed = || interactive::refused(targets).or_else(|| interactive::patches(targets));
    let typed = || typed().filter(|_| protected.host.can(Ability::TypesUnasked) && !protected.own_alone);
    let refusal = over.or_else(path).or_else(verb).or_else(hidden).or_else(typed);
    refusal.map_or_else(Verdict::pass, |words| Verdict::deny(GateId::Guard, words))
}

/// The call edits one settings file of the client, and nothing else.
pub fn edits_settings(protected: &Protected, targets: &Targets) -> bool {
    path::is_settings_alone(protected, &targets.paths)
}

/// One of these targets may be one of these places, or contain it, or lie in it.
pub fn may_touch(places: impl Iterator<Item = String>, targets: &[Target]) -> bool {
    !targets.is_empty() && path::may_touch(places, targets)
}

/// Why one of these commands needs a person's approval, and what else they can do.
pub fn asked(protected: &Protected, targets: &Targets) -> Option<(String, Option<String>)> {
    targets.runs.iter().find_map(|run| verb::asked(protected, run))
}

/// The clients known to us that these commands start.
pub fn starts(targets: &Targets) -> impl Iterator<Item = Client> {
    targets.runs.iter().filter(|run| !run.reads).filter_map(|run| unguarded::started(run)?.client)
}

fn refused_path(protected: &Protected, targets: &Targets) -> Option<String> {
    if targets.paths.is_empty() {
        return None;
    }
    let map = path::PlaceMap::new(protected);
    let (target, what) = targets.paths.iter().find_map(|target| Some((target, map.refused(target)?)))?;
    let path = clip(&target.path.lossy());
    let unsaid = target.path.literal().is_none();
    let (is, does) = match target.act {
        Act::Write if unsaid => ("may be", "write"),
        Act::Write => ("is", "write"),
        Act::Whole | Act::Sweep | Act::Spare | Act::SpareBoth => ("is or holds", "change or remove"),
        Act::Into => ("is", "unpack into"),
        Act::Merge | Act::Become => ("is or holds", "put a whole folder into"),
        Act::Copy => ("is", "copy"),
    };
    if cleans(targets) && matches!(target.act, Act::Whole | Act::Sweep) && path::is_in_claude(what) {
        return Some(format!(
            "`{path}` holds `.claude`, {what}: no tool call may remove it\n\
             hint: add `-e .claude` to `git clean`, which keeps that folder; without it the checkpoints are deleted for good, in a terminal too"
        ));
    }
    let visible = match what {
        _ if unsaid => "write the whole name in the line, or ",
        path::SETTINGS => "show the whole change with Edit or Write, or ",
        _ => "",
    };
    Some(format!(
        "`{path}` {is} {what}: no tool call may {does} it; reading is allowed\n\
         hint: {visible}ask the user to make this change in an editor or terminal of their own"
    ))
}

/// One of the commands is `git clean`.
fn cleans(targets: &Targets) -> bool {
    let is_clean = |run: &CommandRun| {
        let words = &run.command.words;
        words.first().is_some_and(|word| word.is("git")) && words.iter().any(|word| word.is("clean"))
    };
    targets.runs.iter().any(is_clean)
}

fn refuse_verb(line: &str) -> String {
    let typed = if line.contains("task drop") { "type `/aops-task drop`, or to " } else { "" };
    format!(
        "`{}` is for a person, not for a tool call\n\
         hint: ask the user to {typed}run it in a terminal of their own; `aops-hook status` and `log` are free",
        clip(line)
    )
}

fn refuse_hidden(mark: &str) -> String {
    format!(
        "this line may write `{}`, which guards the session, and we cannot tell what it would write\n\
         hint: to read it use Read or a plain `cat`; to change it ask the user",
        clip(mark)
    )
}

/// Shortened for a message, without control characters.
fn clip(text: &str) -> String {
    one_line(&text.replace('`', " "), SHOWN - 1)
}
