//! `test`: says what would happen to a command or an edit in this folder, and why.
//!
//! Reads the configuration and, for the jail, the newest session of this project; writes nothing. Invariant:
//! the answer comes from the hook's own code, on a session that has just had its first prompt.

use super::simulate::kept_first;
use super::table::{Tone, clean};
use super::{Command, Io, flag, operand, option, policy_here, refused, text};
use anyhow::Context as _;
use aops_core::config::in_force::InForce;
use aops_core::config::policy::jail::JailLevel;
use aops_core::gate::{Context, danger, profile, rehearsal};
use aops_core::hook;
use aops_core::host;
use aops_core::host::claude::settings::prefix;
use aops_core::jail::enter::what_holds;
use aops_core::jail::plan::Ground;
use aops_core::ledger::sessions;
use aops_core::model::client::Client;
use aops_core::model::event::Event;
use aops_core::model::event::EventKind;
use aops_core::model::gate_id::GateId;
use aops_core::model::named::Stored;
use aops_core::model::profile::{JailState, Profile};
use aops_core::model::start_source::StartSource;
use aops_core::model::verdict::{KeptFirst, Ruling, Verdict};
use aops_core::observe::{call, tampering};
use aops_core::session::fact::{Fact, Happened, PromptHeard, Seen, SessionStarted};
use aops_core::session::fold::Session;
use aops_core::session::prompt::Prompt;
use aops_core::session::watched::Watched;
use aops_core::system::env::{Env, starts_through_us};
use aops_core::text::time;
use clap::{ArgAction, ArgMatches};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "test",
    about: "Say what would happen to a command or an edit in this folder, and why; runs nothing",
    examples: &[
        (
            "aops-hook test 'git reset --hard'",
            "passes, needs approval, is tried out, or is blocked: and by which rule",
        ),
        ("aops-hook test - < lines.txt", "every line of a file, one after the other"),
        ("aops-hook test --tool Write --path .env", "an edit instead of a command"),
        ("aops-hook test 'npm publish' --unattended --json", "as if nobody sat at the client, for a program"),
    ],
    arguments: |row| {
        let line = "A shell command; several are judged one by one; `-` reads one from each line of stdin";
        row.arg(operand("line", "LINE", line).action(ArgAction::Append).num_args(0..))
            .arg(option("tool", "NAME", "Another tool than `Bash`"))
            .arg(option("path", "FILE", "The file that this tool reads or changes").requires("tool"))
            .arg(flag("unattended", "Judge as if nobody sat at the client, as in `claude -p`"))
    },
    run,
};

/// Longer input is not a list of commands.
const LARGEST_INPUT: u64 = 4 << 20;

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let now = policy_here(io)?;
    let attended = !given.get_flag("unattended");
    let env = io.env.trying(attended);
    let session = begun(&env, &now)?;
    let tool = text(given, "tool").unwrap_or("Bash");
    let calls: Vec<(String, Value)> = match text(given, "path") {
        Some(path) => vec![(path.to_owned(), edit(tool, &env.from_here(Path::new(path)).to_string_lossy()))],
        None => lines(given)?.into_iter().map(|line| (line.clone(), json!({"command": line}))).collect(),
    };
    if calls.is_empty() {
        return refused("nothing to test\nhint: `aops-hook test 'git reset --hard'`");
    }
    for (line, input) in calls {
        let judged = judge(&env, &session, &line, tool, &input, attended)?;
        if io.json {
            io.print(judged.to_json(&session))?;
        } else {
            judged.print(io, &session)?;
        }
    }
    Ok(0)
}

fn lines(given: &ArgMatches) -> anyhow::Result<Vec<String>> {
    let given: Vec<String> = given.get_many::<String>("line").into_iter().flatten().cloned().collect();
    if given != ["-"] {
        return Ok(given);
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(LARGEST_INPUT + 1)
        .read_to_string(&mut text)
        .context("stdin could not be read")?;
    if text.len() as u64 > LARGEST_INPUT {
        return refused("stdin holds more than 4 MiB\nhint: give the commands in several calls");
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

/// A tool's input for a file.
fn edit(tool: &str, path: &str) -> Value {
    match tool {
        "Write" => json!({"file_path": path, "content": "x\n"}),
        "Edit" | "MultiEdit" => json!({"file_path": path, "old_string": "x", "new_string": "y"}),
        "NotebookEdit" => json!({"notebook_path": path, "new_source": "x"}),
        "Read" => json!({"file_path": path}),
        _ => json!({"file_path": path, "path": path}),
    }
}

/// A session in this folder after its first prompt.
fn begun(env: &Env, now: &InForce) -> anyhow::Result<Session> {
    let ts = time::timestamp(env.now_ms);
    let root = now.project.display().to_string();
    let about = |words: &str| RawValue::from_string(words.to_owned()).unwrap_or_default();
    let folders = env.folders.iter().cloned().collect();
    let started = SessionStarted {
        jail: jail(env, now),
        root: root.clone(),
        source: StartSource::Startup.into(),
        watched: Watched { folders, ..Watched::default() },
        ..SessionStarted::default()
    };
    let what = Happened::SessionStarted(Box::new(started));
    let start = Seen { about: about("{\"source\":\"startup\"}"), what, ..Seen::of(EventKind::SessionStart) };
    let heard = PromptHeard { means: Prompt::Ordinary, ..PromptHeard::default() };
    let what = Happened::Prompted(Box::new(heard));
    let prompt = Seen { about: about("{\"prompt\":\"go\"}"), what, ..Seen::of(EventKind::UserPromptSubmit) };
    let mut session = Session::default();
    let opened = hook::first_entry(env, &env.cwd, root, None)?;
    for fact in [Fact::Open(opened), Fact::Event(Box::new(start)), Fact::Event(Box::new(prompt))] {
        if session.apply(Session::TRIED, &ts, &fact).is_err() {
            anyhow::bail!("a bug in aops-hook: the session to test in could not be made");
        }
    }
    Ok(session)
}

/// The jail of the newest session here; without a session, the jail that would be used.
fn jail(env: &Env, now: &InForce) -> Option<JailState> {
    if now.policy.jail.level == JailLevel::Off {
        return None;
    }
    let newest = sessions::pick(env, None).ok().and_then(|found| sessions::session(&found));
    if let Some(session) = newest {
        return session.memory.client.jail;
    }
    let settings = tampering::settings(&env.config.join("settings.json").to_string_lossy());
    let starts_us = prefix::found(&settings).is_some_and(|value| starts_through_us(&value));
    let ground = || Ground { layer_mb: now.policy.jail.layer_mb, ..Ground::here(env, &now.project) };
    if starts_us { what_holds(&ground(), Profile::Trial).ok() } else { None }
}

/// What would happen to one call.
struct Judged {
    line: String,
    tool: String,
    verdict: Verdict,
    /// In mode `observe`: what the rehearsed mode would say.
    rehearsed: Option<Verdict>,
    profile: Option<Profile>,
    /// Data that is saved before the call runs.
    kept: Option<KeptFirst>,
}

fn judge(
    env: &Env,
    session: &Session,
    line: &str,
    tool: &str,
    input: &Value,
    attended: bool,
) -> anyhow::Result<Judged> {
    let payload = json!({
        "session_id": Session::TRIED, "transcript_path": "", "cwd": env.cwd, "hook_event_name": "PreToolUse",
        "permission_mode": "default", "tool_name": tool, "tool_input": input, "tool_use_id": "test",
    });
    let event: Event = host::read(Client::default(), "PreToolUse", payload.to_string().as_bytes())?;
    let context = Context { attended, ..call::tried(env, session, &event) };
    let verdict = hook::judge(env, session, &event, &context)?;
    let stricter = rehearsal::session(session, &event, &context);
    let rehearsed = stricter.map(|stage| hook::judge(env, &stage, &event, &context)).transpose()?;
    let rehearsed = rehearsed.filter(|would| would.ruling > Ruling::Allow && would.ruling > verdict.ruling);
    let profile = profile::of_call(session, &event, &context).filter(|_| verdict.ruling != Ruling::Deny);
    let kept = context.call().and_then(|seen| danger::kept_first(session, seen));
    Ok(Judged { line: line.to_owned(), tool: tool.to_owned(), verdict, rehearsed, profile, kept })
}

impl Judged {
    /// For programs: `pass`, `keep`, `ask`, `deny` or `trial`.
    fn outcome(&self) -> &'static str {
        match (self.verdict.ruling, self.profile) {
            (Ruling::Deny, _) => "deny",
            (Ruling::Ask | Ruling::Defer, _) => "ask",
            (_, Some(Profile::Trial)) => "trial",
            _ if self.kept.is_some() => "keep",
            _ => "pass",
        }
    }

    fn to_json(&self, session: &Session) -> Value {
        let (reason, hint) = split(&self.verdict.reason);
        let would = |verdict: &Verdict| {
            let (reason, hint) = split(&verdict.reason);
            json!({"ruling": verdict.ruling.name(), "gate": verdict.gate.map(GateId::name),
            "rule": verdict.rule, "reason": reason, "hint": hint})
        };
        let stops = self.verdict.ruling > Ruling::Allow;
        json!({
            "line": self.line, "tool": self.tool, "outcome": self.outcome(),
            "mode": session.policy().mode.level(),
            "gate": self.verdict.gate.filter(|_| stops).map(GateId::name),
            "rule": self.verdict.rule.as_deref().filter(|_| stops).or(self.rule()),
            "kept": self.kept.as_ref().filter(|_| !stops).map(|kept| {
                json!({"files": kept.files, "bytes": kept.bytes})
            }),
            "reason": Some(reason).filter(|_| stops), "hint": hint.filter(|_| stops),
            "notice": Some(&self.verdict.notice).filter(|notice| !notice.is_empty()),
            "jail": self.profile, "rehearsed": self.rehearsed.as_ref().map(would),
        })
    }

    /// The danger rule that would ask if nothing were saved.
    fn rule(&self) -> Option<&str> {
        self.kept.as_ref()?.rule.as_deref()
    }

    fn kept_words(&self) -> String {
        let first = self.kept.as_ref().map(kept_first).unwrap_or_default();
        let rule = self.rule().map(|rule| format!(": danger rule `{rule}`")).unwrap_or_default();
        format!("passes; {first}{rule}")
    }

    fn print(&self, io: &mut Io, session: &Session) -> anyhow::Result<()> {
        let mode = session.policy().mode.level().name();
        let (words, tone) = match self.outcome() {
            "deny" => (format!("blocked by {}", asker(&self.verdict)), Tone::Bad),
            "ask" => (format!("needs approval: {}", asker(&self.verdict)), Tone::Warn),
            "keep" => (self.kept_words(), Tone::Good),
            "trial" => ("runs in a throwaway layer: what it changes is not kept".to_owned(), Tone::Warn),
            _ => ("passes".to_owned(), Tone::Good),
        };
        let tool = if self.tool == "Bash" { String::new() } else { format!("{} ", self.tool) };
        let words = tone.paint(&words, io).into_owned();
        writeln!(io.out, "{tool}{}: {words} (mode {mode})", clean(&self.line))?;
        let (reason, hint) = split(&self.verdict.reason);
        let would = self.rehearsed.as_ref().map(|would| {
            let rehearsed = session.policy().mode.rehearse.level().name();
            let verb = if would.ruling == Ruling::Deny { "block it" } else { "ask for approval" };
            format!("mode {rehearsed} would {verb}: {}: {}", asker(would), split(&would.reason).0)
        });
        let trial = "this task has no plan yet, and the line is not known to change nothing";
        io.beside("why", [trial].into_iter().filter(|_| self.outcome() == "trial"))?;
        io.beside("why", reason.lines().filter(|line| !line.trim().is_empty()))?;
        io.beside("hint", hint)?;
        io.beside("note", self.verdict.notice.lines())?;
        io.beside("would", would)
    }
}

/// `danger rule git-discard`, `the guard`.
fn asker(verdict: &Verdict) -> String {
    let gate = Stored::from(verdict.gate);
    match &verdict.rule {
        Some(rule) if gate == GateId::Rules => format!("your rule `{rule}`"),
        Some(rule) => format!("{gate} rule `{rule}`"),
        None => format!("gate `{gate}`"),
    }
}

/// The reason without its hint, and the hint.
fn split(reason: &str) -> (&str, Option<&str>) {
    reason.rsplit_once("\nhint: ").map_or((reason, None), |(said, next)| (said, Some(next)))
}
