//! What a call does to the world: read, write, close, spawn, tracker, control.
//!
//! Reads the call, its line and the tables of commands and tools; writes nothing. Invariant: a call that is
//! not known to be harmless is a write.

pub use aops_shell::class::CallClass;

use super::input::{command, file_path};
use super::statement::changing;
use super::table::{self, ToolTouches};
use crate::model::call::Effect;
use aops_shell::class::{LineSetting, class};
use aops_shell::commands::powershell_class;
use aops_shell::syntax::Line;

#[derive(Clone, Copy)]
pub struct CallSetting<'a> {
    /// The client is in plan mode.
    pub is_planning: bool,
    /// Where plan mode may write; empty if a link there leads out of it.
    pub plans: &'a str,
    /// What the user's `[effects]` say about a tool.
    pub listed: Option<Effect>,
    /// The settings for its line, if it runs one.
    pub line: LineSetting<'a>,
}

/// The class of a call of this tool; `line` is the shell line that it runs, if any.
pub fn of(tool: &str, input: &str, line: Option<&Line>, around: &CallSetting) -> CallClass {
    let known = table::tool(tool);
    let runs_line = matches!(known.touches, ToolTouches::Line | ToolTouches::PowerShell);
    match (around.listed, known.touches, line) {
        (Some(Effect::Read), ..) if !runs_line => CallClass::of(Ok(Effect::Read), false),
        (Some(Effect::Write), ..) => {
            CallClass::of(Err("your `[effects]` list it under `write`".to_owned()), true)
        }
        (_, ToolTouches::Line, Some(line)) => class(line, &around.line),
        (_, ToolTouches::PowerShell, _) => {
            let class = command(input).map(|line| powershell_class(&line));
            CallClass::of(class.unwrap_or(known.class), true)
        }
        _ if tool == "Write" && is_plan(input, around) => CallClass::of(Ok(Effect::Control), false),
        _ if known.class == Ok(Effect::Spawn) && is_isolated(input) => {
            CallClass::of(Err("it makes a worktree".to_owned()), true)
        }
        _ if tool.starts_with("mcp__") && known.class == Ok(Effect::Read) && changing(input).is_some() => {
            CallClass::of(Err("its statement may change data".to_owned()), true)
        }
        _ => CallClass::of(known.class, true),
    }
}

/// The agent gets its own working tree.
fn is_isolated(input: &str) -> bool {
    let fields: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(input);
    fields.is_ok_and(|fields| fields.get("isolation").is_some_and(|value| !value.is_null()))
}

fn is_plan(input: &str, around: &CallSetting) -> bool {
    let below = |path: &str| {
        let plain = !path.split('/').any(|part| part == "..");
        plain && path.strip_prefix(around.plans).is_some_and(|rest| rest.starts_with('/'))
    };
    let planning = around.is_planning && !around.plans.is_empty();
    planning && file_path(input).is_some_and(|path| below(&path))
}
