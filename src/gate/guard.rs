//! Refuses calls that would write to what guards them, or use a person's verbs.
//!
//! Reads the call's [`Targets`]; writes nothing. Invariant: reading is never refused, and a refusal names the path or verb.
//! Way out: none for a tool call; a person edits the file or runs the verb in a terminal of their own.

use crate::model::verdict::Verdict;
use crate::shell::targets::{Act, Targets};

mod place;
mod path;
mod verb;
mod hidden;
#[cfg(test)]
mod tests;

pub use place::{Place, Protected};

/// Quoted text in a refusal is cut here.
const SHOWN: usize = 200;

/// The guard's word on one call.
pub fn judge(protected: &Protected, reach: &Targets) -> Verdict {
    if reach.over {
        return refuse_over();
    }
    // Most calls touch nothing; the map is drawn only for those that do.
    let map = (!reach.paths.is_empty()).then(|| path::Map::new(protected));
    for (target, map) in reach.paths.iter().zip(std::iter::repeat(map.as_ref())) {
        let Some(map) = map else { break };
        let given = path::parts(&target.path.bits);
        let act = match target.act {
            Act::Become if map.stands(target, &given) => continue,
            Act::Become => Act::Merge,
            act => act,
        };
        let real = target.real.as_ref().map(|real| path::parts(&real.bits));
        let what = map.covered(&given, act).or_else(|| real.as_ref().and_then(|real| map.covered(real, act)));
        let exported = |name: &String| matches!(name.as_str(), "AOPS" | "AOPS_SESSION");
        let what = what.or_else(|| target.path.unknown.iter().any(exported).then_some(place::SESSIONS));
        if let Some(what) = what {
            return refuse_path(&target.path.lossy(), what, target.act);
        }
    }
    for run in &reach.runs {
        if let Some(said) = verb::refused(protected, run) {
            return refuse_verb(&said);
        }
    }
    for text in &reach.hidden {
        if let Some(mark) = hidden::mark(protected, text) {
            return refuse_hidden(&mark);
        }
    }
    Verdict::pass()
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

fn refuse_verb(said: &str) -> Verdict {
    let said = clip(said);
    Verdict::deny(
        "guard",
        format!(
            "`{said}` is for a person, not for a tool call\n\
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

/// Cut to what a message can carry, without control characters.
fn clip(text: &str) -> String {
    let clean: String =
        text.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        format!("{}…", clean.chars().take(SHOWN - 1).collect::<String>())
    } else {
        clean
    }
}
