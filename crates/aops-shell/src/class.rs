//! The class of a shell line: the gravest of its simple commands.
//!
//! Reads the line as cut; writes nothing. Invariant: a part that is unknown, guessed or unreadable makes it a write, and
//! so does a file a redirection writes or a variable that changes what other programs do.

mod tree;

use crate::commands::{self, Class, PRINTING, is_nowhere};
use crate::effect::Effect;
use crate::syntax::{Ground, Line, Simple};

/// The class of a call: its effect and, for a write, why it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallClass {
    pub effect: Effect,
    pub why: String,
    /// A write into the working tree or its repository: more than running something, such as tests.
    pub touches_tree: bool,
}

impl CallClass {
    pub fn of(class: Class, touches_tree: bool) -> Self {
        match class {
            Ok(effect) => Self { effect, why: String::new(), touches_tree: false },
            Err(why) => Self { effect: Effect::Write, why, touches_tree },
        }
    }
}

/// What is known around a line.
#[derive(Clone, Copy)]
pub struct LineSetting<'a> {
    pub ground: Ground<'a>,
    /// The root of the working tree, beside the folder that the line runs in.
    pub project: Option<&'a str>,
    /// What the user's `[effects]` say of a command.
    pub listed: &'a dyn Fn(&str) -> Option<Effect>,
}

/// The class of a shell line.
pub fn class(line: &Line, around: &LineSetting) -> CallClass {
    let touches_tree = || tree::touches(line, around);
    match gravest(line, around) {
        Ok(effect) if effect.is_write() => {
            CallClass { effect, why: "it changes the repository".to_owned(), touches_tree: touches_tree() }
        }
        Ok(effect) => CallClass::of(Ok(effect), false),
        Err(why) => CallClass::of(Err(why), touches_tree()),
    }
}

fn gravest(line: &Line, around: &LineSetting) -> Class {
    if line.unclear {
        return Err("the line cannot be read".to_owned());
    }
    if let Some(what) = &line.guessed {
        return Err(format!("it runs {what}"));
    }
    commands::variables(line)?;
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

fn one(line: &Line, simple: &Simple, around: &LineSetting) -> Class {
    if let Some(word) = simple.writes.iter().find(|word| !is_nowhere(word)) {
        return Err(format!("it writes to `{}`", commands::shown(word)));
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
    let known = commands::program(&name, around.ground.home);
    match (around.listed)(known.unwrap_or(&name)) {
        Some(Effect::Write) => Err(format!("your `[effects]` list `{name}` under `write`")),
        Some(Effect::Read) => Ok(Effect::Read),
        _ => known.map_or_else(|| Err(commands::unknown(&name)), |name| commands::class(name, simple, line)),
    }
}

/// Variables set for this command alone.
fn assigned(simple: &Simple, name: &str) -> Class {
    // `IFS= read` is heard by the shell alone.
    let free = |set: &String| PRINTING.contains(&set.as_str()) || set == "IFS" && name == "read";
    match simple.assigned.iter().find(|set| !free(set)) {
        Some(set) => Err(format!("it sets `{set}`")),
        None => Ok(Effect::Read),
    }
}
