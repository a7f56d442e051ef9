//! How often a line is parsed while one event is judged: guard, plan gate and rules share one parse.

use super::*;
use crate::config::policy::{Policy, Rule};
use crate::gate;
use crate::model::event::Event;
use aops_shell::syntax::texts_read;

#[path = "../../../../../bench/shapes.rs"]
mod shapes;

/// Judges a line with a user's rule in force, and returns which texts were parsed.
fn read(line: &str) -> usize {
    let home = std::env::temp_dir();
    let env =
        Env { config: home.join(".claude"), user_config: home.join(".config/aops"), home, ..Env::default() };
    let mut session = Session::default();
    let mut policy = Policy::default();
    policy.rules.push(Rule { command: vec!["never".to_owned()], ..Rule::default() });
    session.memory.configured.policy = Some(Box::new(policy));
    let input = serde_json::json!({ "command": line }).to_string();
    let call = ToolCall { key: crate::model::call::CallKey::of("Bash", "t"), input, ..ToolCall::default() };
    let event = Event { cwd: "/".to_owned(), ..Event::named("PreToolUse") }.with_call(call);
    texts_read();
    let context = again(&env, &session, &event, 0);
    gate::judge(&session, &event, &context);
    texts_read()
}

/// The line itself is parsed once, and so is each program in it that is quoted text there; substitutions are
/// parsed with the line. Among repeated commands only the first is looked into. A line nested too deep is
/// parsed once more in parts.
#[test]
fn every_text_is_read_once() {
    let inner = |name: &str, again: &str, line: &str| match name {
        // A function's body is parsed with the arguments of each call.
        "wrappers" | "backquotes" | "functions" => line.matches(again).count(),
        "unknown commands" => 2,
        "nested substitutions" => 4,
        _ => 0,
    };
    for shape in shapes::SHAPES {
        let (name, _, again, _) = *shape;
        let line = shapes::line(*shape);
        assert_eq!(read(&line), 1 + inner(name, again, &line), "{name}");
    }
}
