//! An event name is hot, anything else is cold.

use aops_hook::{command, env::Env, event::EventKind, hook, refresh};
use std::path::Path;

fn main() -> std::process::ExitCode {
    let env = Env::read();
    let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let called = arguments.next().unwrap_or_default();
    let first = arguments.next();
    let code = match first.as_deref().filter(|word| EventKind::is_event_name(word)).or(by_name(&called)) {
        Some(event) => hook::run(event, &env),
        None if first.as_deref().is_some_and(refresh::is_verb) => {
            refresh::run(&first.into_iter().chain(arguments).collect::<Vec<_>>(), &env)
        }
        None => {
            command::run([called].into_iter().chain(first).chain(arguments).collect(), &env.standing_here())
        }
    };
    code.into()
}

/// A symlink named `PreToolUse` or `aops-hook-PreToolUse` says the event by itself.
fn by_name(called: &str) -> Option<&str> {
    let name = Path::new(called).file_name()?.to_str()?;
    let name = name.strip_prefix("aops-hook-").unwrap_or(name);
    EventKind::is_event_name(name).then_some(name)
}
