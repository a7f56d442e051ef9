//! What a call does to the world: read, write, close, spawn, tracker, control.
//!
//! Reads the call, its line and the tables of [`super::commands`]; writes nothing. Invariant: what is not known to be
//! harmless is a write.

mod tree;
mod line;

#[cfg(test)]
mod tests;

use super::commands::{self, Class, ToolTouches};
use super::syntax::{Ground, Line};
use super::targets::{command, file_path};
use crate::model::call::Effect;

/// The class of a call: its effect and, for a write, why it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallClass {
    pub effect: Effect,
    pub why: String,
    /// A write into the working tree or its repository: more than running something, such as tests.
    pub touches_tree: bool,
}

impl CallClass {
    fn of(class: Class, touches_tree: bool) -> Self {
        match class {
            Ok(effect) => Self { effect, why: String::new(), touches_tree: false },
            Err(why) => Self { effect: Effect::Write, why, touches_tree },
        }
    }
}

/// What is known around a call.
#[derive(Clone, Copy)]
pub struct CallSetting<'a> {
    /// The permission mode.
    pub mode: Option<&'a str>,
    /// Where plan mode may write; empty if a link there leads out of it.
    pub plans: &'a str,
    pub ground: Ground<'a>,
    /// What the user's `[effects]` say of a tool or command.
    pub listed: &'a dyn Fn(&str) -> Option<Effect>,
}

/// The class of a call of this tool; `line` is the shell line it runs, where there is one.
pub fn of(tool: &str, input: &str, line: Option<&Line>, around: &CallSetting) -> CallClass {
    let known = commands::tool(tool);
    let runs_line = matches!(known.touches, ToolTouches::Line | ToolTouches::PowerShell);
    match ((around.listed)(tool), known.touches, line) {
        (Some(Effect::Read), ..) if !runs_line => CallClass::of(Ok(Effect::Read), false),
        (Some(Effect::Write), ..) => {
            CallClass::of(Err("your `[effects]` list it under `write`".to_owned()), true)
        }
        (_, ToolTouches::Line, Some(line)) => line::class(line, around),
        (_, ToolTouches::PowerShell, _) => {
            let class = command(input).map(|line| commands::powershell_class(&line));
            CallClass::of(class.unwrap_or(known.class), true)
        }
        _ if tool == "Write" && is_plan(input, around) => CallClass::of(Ok(Effect::Control), false),
        _ => CallClass::of(known.class, true),
    }
}

/// Plan mode may write plans.
fn is_plan(input: &str, around: &CallSetting) -> bool {
    let below = |path: &str| {
        let plain = !path.split('/').any(|part| part == "..");
        plain && path.strip_prefix(around.plans).is_some_and(|rest| rest.starts_with('/'))
    };
    let planning = around.mode == Some("plan") && !around.plans.is_empty();
    planning && file_path(input).is_some_and(|path| below(&path))
}
