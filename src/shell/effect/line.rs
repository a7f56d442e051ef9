//! The effect of a shell line: the gravest of its simple commands.
//!
//! Reads the line as cut; writes nothing. Invariant: a part that is unknown, guessed or unreadable makes it a write, and
//! so does a file a redirection writes or a variable that changes what other programs do.

use super::{Around, Classed, builtin, table, tree};
use crate::model::call::Effect;
use crate::shell::syntax::{Line, Simple, Word};

/// Variables that may be set for a command alone: they change how it prints, not what it does.
const PRINTING: [&str; 4] = ["LC_ALL", "LANG", "TZ", "NO_COLOR"];

/// Where a redirection may write.
const NOWHERE: [&str; 3] = ["/dev/null", "/dev/stderr", "/dev/stdout"];

/// What a command does, or why it counts as a write.
pub(super) type Said = Result<Effect, String>;

/// The effect of a line.
pub fn of(line: &Line, around: &Around) -> Classed {
    match gravest(line, around) {
        Ok(effect) if effect.is_write() => {
            let why = "it changes the repository".to_owned();
            Classed { effect, why, touches_tree: tree::touches(line, around) }
        }
        Ok(effect) => Classed::free(effect),
        Err(why) => Classed { effect: Effect::Write, why, touches_tree: tree::touches(line, around) },
    }
}

fn gravest(line: &Line, around: &Around) -> Said {
    if line.unclear {
        return Err("the line cannot be read".to_owned());
    }
    if let Some(what) = &line.guessed {
        return Err(format!("it runs {what}"));
    }
    builtin::variables(line)?;
    let mut worst = Effect::Read;
    for simple in &line.commands {
        let effect = one(line, simple, around)?;
        if rank(effect) > rank(worst) {
            worst = effect;
        }
    }
    Ok(worst)
}

/// Close is a write to the sandbox; tracker and control are free, but more than reading.
fn rank(effect: Effect) -> usize {
    match effect {
        Effect::Read => 0,
        Effect::Control => 1,
        Effect::Tracker => 2,
        Effect::Close => 3,
        Effect::Write | Effect::Spawn => 4,
    }
}

fn one(line: &Line, simple: &Simple, around: &Around) -> Said {
    if let Some(word) = simple.writes.iter().find(|word| !is_nowhere(word)) {
        return Err(format!("it writes to `{}`", shown(word)));
    }
    let Some(program) = simple.words.first() else { return assigned(simple, "") };
    let Some(name) = program.literal().filter(|_| program.is_firm()) else {
        return Err("it runs a program whose name is not in the line".to_owned());
    };
    assigned(simple, &name)?;
    if simple.function {
        let sure = line.functions.contains(&name);
        return if sure { Ok(Effect::Read) } else { Err(format!("`{name}` may or may not be a function")) };
    }
    let known = table::program(&name, around.ground.home);
    match (around.told)(known.unwrap_or(&name)) {
        Some(Effect::Write) => Err(format!("your `[effects]` list `{name}` under `write`")),
        Some(Effect::Read) => Ok(Effect::Read),
        _ => known.map_or_else(|| Err(unknown(&name)), |name| table::effect(name, simple, line)),
    }
}

/// Variables set for this command alone.
fn assigned(simple: &Simple, name: &str) -> Said {
    // `IFS= read` is heard by the shell alone.
    let free = |set: &String| PRINTING.contains(&set.as_str()) || set == "IFS" && name == "read";
    match simple.assigned.iter().find(|set| !free(set)) {
        Some(set) => Err(format!("it sets `{set}`")),
        None => Ok(Effect::Read),
    }
}

/// This redirection leaves nothing behind.
pub(super) fn is_nowhere(word: &Word) -> bool {
    word.is_firm() && NOWHERE.iter().any(|path| word.is(path))
}

/// A word in a refusal.
pub(super) fn shown(word: &Word) -> String {
    let text: String = word.lossy().chars().take(60).collect();
    text.replace(|c: char| c.is_control() || c == '`', " ")
}

/// Why a command nobody knows is a write.
pub(super) fn unknown(what: &str) -> String {
    let what: String = what.chars().take(60).collect();
    format!("`{}` is not known to only read", what.replace(|c: char| c.is_control() || c == '`', " "))
}
