//! Tries every rule on its own examples, through the same gates' eyes that judge a real call.
//!
//! Reads the policy in force; runs and writes nothing. Invariant: an example is described to its rule exactly as a call
//! of that tool would be.

use crate::claude::wire::read;
use crate::cli::Io;
use crate::cli::table::{Tone, clean};
use crate::config::in_force::InForce;
use crate::config::policy::Rule;
use crate::config::policy::origin::SourceLine;
use crate::config::policy::rule::Example;
use crate::gate::rules;
use crate::model::event::Event;
use crate::observe;
use crate::session::fold::Session;
use serde_json::{Value, json};

/// One example, tried.
struct Tried<'a> {
    rule: &'a Rule,
    example: &'a str,
    meant: bool,
    matched: bool,
}

impl Tried<'_> {
    fn holds(&self) -> bool {
        self.meant == self.matched
    }
}

pub(super) fn run(io: &mut Io, now: &InForce) -> anyhow::Result<u8> {
    let tried = all(io, now);
    let failed = tried.iter().filter(|tried| !tried.holds()).count();
    let silent: Vec<&str> =
        now.policy.rules.iter().filter(|rule| rule.examples.is_empty()).map(|rule| rule.id.as_str()).collect();
    if io.json {
        let examples: Vec<Value> = tried.iter().map(|tried| to_json(tried, now)).collect();
        io.print(json!({"ok": failed == 0, "examples": examples, "without_examples": silent}))?;
        return Ok(u8::from(failed > 0));
    }
    for one in tried.iter().filter(|tried| !tried.holds()) {
        let (does, meant) = if one.meant { ("does not match", "is meant to") } else { ("matches", "is meant not to") };
        let (id, example) = (&one.rule.id, one.example.trim_start_matches('!'));
        let place = place(one.rule, now).map(ToString::to_string).unwrap_or_default();
        let words = format!("rule `{id}` ({place}) {does} `{example}`, and {meant}");
        writeln!(io.out, "{} {}", Tone::Bad.paint("✗", io), clean(&words))?;
    }
    let rules = now.policy.rules.len();
    writeln!(io.out, "{rules} rules, {} examples, {failed} of them fail", tried.len())?;
    if !silent.is_empty() {
        writeln!(io.out, "without examples: {}", silent.join(", "))?;
    }
    Ok(u8::from(failed > 0))
}

fn place<'a>(rule: &Rule, now: &'a InForce) -> Option<&'a SourceLine> {
    now.origins.of(&format!("rule.{}", rule.id)).first()
}

fn to_json(tried: &Tried, now: &InForce) -> Value {
    let at = place(tried.rule, now);
    json!({
        "rule": tried.rule.id, "example": tried.example, "meant": tried.meant, "matched": tried.matched,
        "ok": tried.holds(), "file": at.map(|at| &at.file), "line": at.map(|at| at.line),
    })
}

fn all<'a>(io: &Io, now: &'a InForce) -> Vec<Tried<'a>> {
    let mut session = Session::default();
    session.memory.policy = Some(Box::new(now.policy.clone()));
    session.memory.root = now.project.display().to_string();
    let mut tried = Vec::new();
    for rule in &now.policy.rules {
        for text in &rule.examples {
            let Some(example) = Example::of(text) else { continue };
            let Some(event) = event(&example, &session.memory.root) else { continue };
            let context = observe::call::again(io.env, &session, &event, io.env.now_ms);
            let matched = rules::called(&session, &event, &context).is_some_and(|call| rule.matches(&call));
            tried.push(Tried { rule, example: text, meant: example.meant, matched });
        }
    }
    tried
}

/// The call that an example stands for: its argument is the command, the file, or whatever the tool takes first.
fn event(example: &Example, cwd: &str) -> Option<Event> {
    let field = match example.tool {
        "Bash" | "PowerShell" | "Monitor" => "command",
        "NotebookEdit" | "NotebookRead" => "notebook_path",
        "Grep" | "Glob" | "LS" => "path",
        "WebFetch" => "url",
        "Agent" | "Task" => "subagent_type",
        "Skill" => "skill",
        tool if tool.starts_with("mcp__") => "path",
        _ => "file_path",
    };
    let mut input = json!({});
    if !example.argument.is_empty() {
        input[field] = json!(example.argument);
    }
    let payload = json!({"session_id": "examples", "cwd": cwd, "hook_event_name": "PreToolUse", "tool_use_id": "example",
        "tool_name": example.tool, "tool_input": input});
    read::read("PreToolUse", payload.to_string().as_bytes()).ok()
}
