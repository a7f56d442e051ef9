//! Refuses calls that would write what guards them, or use a verb that needs a person.
//!
//! Reads the call's [`Targets`]; writes nothing. Invariant: reading is never refused, and a refusal names the path or verb.
//! Way out: none for a tool call; a person edits the file or runs the verb in a terminal of their own.

use crate::model::verdict::Verdict;
use crate::tool::targets::{Act, Targets};

mod place;
mod path;
mod verb;
mod hidden;
#[cfg(test)]
mod tests;

pub use place::{Protected, ProtectedPlace};

/// The longest quoted text in a refusal, in characters.
const SHOWN: usize = 200;

/// What the guard says to one call.
pub fn judge(protected: &Protected, targets: &Targets) -> Verdict {
    if targets.over {
        return refuse_over();
    }
    let verb = || targets.runs.iter().find_map(|run| verb::refused(protected, run)).map(|line| refuse_verb(&line));
    let hidden = || targets.hidden.iter().find_map(|text| hidden::named(protected, text)).map(|it| refuse_hidden(&it));
    refused_path(protected, targets).or_else(verb).or_else(hidden).unwrap_or_else(Verdict::pass)
}

fn refused_path(protected: &Protected, targets: &Targets) -> Option<Verdict> {
    if targets.paths.is_empty() {
        return None;
    }
    let map = path::PlaceMap::new(protected);
    let refused = |target| Some((target, map.refused(target)?));
    let (target, what) = targets.paths.iter().find_map(refused)?;
    Some(refuse_path(&target.path.lossy(), what, target.act))
}

fn refuse_over() -> Verdict {
    Verdict::deny(
        "guard",
        "this call holds more paths or commands than can be looked at\n\
         hint: split it into smaller calls, or put long content into a file first",
    )
}

fn refuse_path(path: &str, what: &str, act: Act) -> Verdict {
    let path = clip(path);
    let (is, does) = match act {
        Act::Write => ("is", "write"),
        Act::Whole => ("is or holds", "change or remove"),
        Act::Into => ("is", "unpack into"),
        Act::Merge | Act::Become => ("is or holds", "put a whole folder into"),
        Act::Copy => ("is", "copy"),
    };
    Verdict::deny(
        "guard",
        format!(
            "`{path}` {is} {what}: no tool call may {does} it, reading it is free\n\
             hint: ask the user to make this change in an editor or terminal of their own"
        ),
    )
}

fn refuse_verb(line: &str) -> Verdict {
    let line = clip(line);
    Verdict::deny(
        "guard",
        format!(
            "`{line}` is for a person, not for a tool call\n\
             hint: ask the user to run it in a terminal of their own; `aops-hook status` and `log` are free"
        ),
    )
}

fn refuse_hidden(mark: &str) -> Verdict {
    let mark = clip(mark);
    Verdict::deny(
        "guard",
        format!(
            "this line may write `{mark}`, which guards the session, in a way that cannot be followed\n\
             hint: to read it use Read or a plain `cat`; to change it ask the user"
        ),
    )
}

/// Shortened for a message, without control characters.
fn clip(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        format!("{}…", clean.chars().take(SHOWN - 1).collect::<String>())
    } else {
        clean
    }
}
