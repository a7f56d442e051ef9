//! `policy show --test`: tries every rule, and `[effects]`, on their examples.
//!
//! Reads what is in force, writes nothing. Invariant: an example is described to a rule exactly as a real
//! call would be.

use crate::cli::Io;
use crate::cli::table::{Tone, clean};
use aops_core::config::in_force::InForce;
use aops_core::config::policy::SourceLine;
use aops_core::config::policy::idle::Idle;
use aops_core::config::policy::rule::Example;
use aops_core::gate::{CallContext, Found};
use aops_core::gate::{never, rules};
use aops_core::host::claude::wire::read;
use aops_core::model::call::Effect;
use aops_core::model::event::Event;
use aops_core::observe;
use aops_core::session::fold::Session;
use aops_core::text::plain::count;
use serde_json::{Value, json};

struct Tried {
    /// `rule.ID`, or the list of `[effects]`.
    of: String,
    example: String,
    meant: bool,
    matched: bool,
}

impl Tried {
    fn holds(&self) -> bool {
        self.meant == self.matched
    }

    /// A rule by its id, a list of `[effects]` by its key.
    fn name(&self) -> &str {
        self.of.strip_prefix("rule.").unwrap_or(&self.of)
    }

    fn words(&self, now: &InForce) -> String {
        let (does, meant) = match (self.of.starts_with("rule."), self.meant) {
            (true, true) => ("does not match", "is meant to"),
            (true, false) => ("matches", "is meant not to"),
            (false, true) => ("has no effect on", "is meant to"),
            (false, false) => ("makes a read of", "is meant not to"),
        };
        let what = if self.of.starts_with("rule.") { "rule " } else { "" };
        let place = place(&self.of, now).map(ToString::to_string).unwrap_or_default();
        format!(
            "{what}`{}` ({place}) {does} `{}`, and {meant}",
            self.name(),
            self.example.trim_start_matches('!')
        )
    }
}

pub(super) fn try_all(io: &mut Io, now: &InForce) -> anyhow::Result<u8> {
    let tried = all(io, now);
    let failed = tried.iter().filter(|tried| !tried.holds()).count();
    let never = never::find(&now.policy, &now.origins);
    let code = u8::from(failed > 0 || !never.is_empty());
    let silent: Vec<&str> = now
        .policy
        .rules
        .iter()
        .filter(|rule| rule.examples.is_empty())
        .map(|rule| rule.id.as_str())
        .collect();
    if io.json {
        let examples: Vec<Value> = tried.iter().map(|tried| to_json(tried, now)).collect();
        let odd =
            |one: &Idle| json!({"key": one.key, "why": one.why, "file": one.at.file, "line": one.at.line});
        let never: Vec<Value> = never.iter().map(odd).collect();
        io.print(
            json!({"ok": code == 0, "examples": examples, "without_examples": silent, "never_match": never}),
        )?;
        return Ok(code);
    }
    for one in tried.iter().filter(|tried| !tried.holds()) {
        writeln!(io.out, "{} {}", Tone::Bad.paint("✗", io), clean(&one.words(now)))?;
    }
    for one in &never {
        writeln!(io.out, "{} {}", Tone::Bad.paint("✗", io), clean(&one.to_string()))?;
    }
    let rules = now.policy.rules.len();
    writeln!(io.out, "{}, {}, {failed} of them fail", count(rules, "rule"), count(tried.len(), "example"))?;
    if !silent.is_empty() {
        writeln!(io.out, "without examples: {}", silent.join(", "))?;
    }
    Ok(code)
}

fn place<'a>(of: &str, now: &'a InForce) -> Option<&'a SourceLine> {
    now.origins.of(of).first()
}

fn to_json(tried: &Tried, now: &InForce) -> Value {
    let at = place(&tried.of, now);
    json!({
        "rule": tried.name(), "example": tried.example, "meant": tried.meant, "matched": tried.matched,
        "ok": tried.holds(), "file": at.map(|at| &at.file), "line": at.map(|at| at.line),
    })
}

fn all(io: &Io, now: &InForce) -> Vec<Tried> {
    let mut session = Session::default();
    session.memory.configured.policy = Some(Box::new(now.policy.clone()));
    session.memory.place.root = now.project.display().to_string();
    let mut tried = Vec::new();
    for rule in &now.policy.rules {
        for text in &rule.examples {
            let Some(example) = Example::of(text) else { continue };
            let Some(event) = event(&example, &session.memory.place.root) else { continue };
            let context = observe::call::again(io.env, &session, &event, io.env.now_ms);
            let matched = rules::called(&session, &event, &context).is_some_and(|call| rule.matches(&call));
            tried.push(Tried {
                of: format!("rule.{}", rule.id),
                example: text.clone(),
                meant: example.meant,
                matched,
            });
        }
    }
    tried.extend(try_effects(io, now, &session));
    tried
}

/// Tries each shell pattern on the shortest command it covers, then the examples that should read, or should
/// not.
fn try_effects(io: &Io, now: &InForce, session: &Session) -> Vec<Tried> {
    let call = |text: &str| -> Option<(bool, Box<CallContext>)> {
        let example = Example::of(text)?;
        let event = event(&example, &session.memory.place.root)?;
        match observe::call::again(io.env, session, &event, io.env.now_ms).found {
            Found::Call(call) => Some((example.meant, call)),
            _ => None,
        }
    };
    let effects = &now.policy.effects;
    let patterns = effects.line_patterns().filter_map(|(key, text)| {
        let example = text.replace(" *", "").replace(['*', '?'], "");
        let (_, call) = call(&example)?;
        let matched = match key {
            "effects.read" => call.does.effect == Effect::Read,
            _ => call.does.why.contains("`[effects]`"),
        };
        Some(Tried { of: key.to_owned(), example, meant: true, matched })
    });
    let examples = effects.examples.iter().filter_map(|text| {
        let (meant, call) = call(text)?;
        let matched = call.does.effect == Effect::Read;
        Some(Tried { of: "effects.examples".to_owned(), example: text.clone(), meant, matched })
    });
    patterns.chain(examples).collect()
}

/// The call that an example means: its argument is the command, the file, or the tool's main argument.
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
    let payload = json!({"session_id": "examples", "cwd": cwd, "hook_event_name": "PreToolUse",
    "tool_use_id": "example",
        "tool_name": example.tool, "tool_input": input});
    read::read("PreToolUse", payload.to_string().as_bytes()).ok()
}
