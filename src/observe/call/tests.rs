//! How often a line is read while one event is judged: guard, sandbox and rules share one reading.

use super::*;
use crate::config::policy::{Policy, Rule};
use crate::gate;
use crate::model::event::Event;
use crate::shell::syntax::texts_read;

#[path = "../../../bench/shapes.rs"]
mod shapes;

/// A line judged with a rule of the user in force: texts read, and those the grammar had to read.
fn read(line: &str) -> (usize, usize) {
    let home = std::env::temp_dir();
    let env =
        Env { config: home.join(".claude"), user_config: home.join(".config/aops"), home, ..Env::default() };
    let mut session = Session::default();
    let mut policy = Policy::default();
    policy.rules.push(Rule { command: vec!["never".to_owned()], ..Rule::default() });
    session.memory.policy = Some(Box::new(policy));
    let input = serde_json::json!({ "command": line }).to_string();
    let call = ToolCall { key: crate::model::call::CallKey::of("Bash", "t"), input, ..ToolCall::default() };
    let event = Event { cwd: "/".to_owned(), call: Some(call), ..Event::named("PreToolUse") };
    texts_read();
    let context = again(&env, &session, &event, 0);
    gate::judge(&session, &event, &context);
    texts_read()
}

/// The line itself is read once, and so is each program in it; of commands that repeat only the first is looked into.
#[test]
fn every_text_is_read_once_and_plain_ones_without_the_grammar() {
    let inner = |name: &str, again: &str, line: &str| match name {
        "substitutions" | "wrappers" | "backquotes" => line.matches(again).count(),
        "unknown commands" => 2,
        _ => 0,
    };
    for shape in shapes::SHAPES {
        let (name, _, again, _) = *shape;
        let line = shapes::line(*shape);
        let by_grammar = usize::from(matches!(name, "heredoc" | "sums"));
        // Too deep to be read at all: not even begun.
        let begun = usize::from(!matches!(name, "nested substitutions" | "no shell at all"));
        assert_eq!(read(&line), (begun + inner(name, again, &line), by_grammar), "{name}");
    }
}
