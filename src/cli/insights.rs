//! Prints and writes the insights of one session or many.
//!
//! Reads ledgers and transcripts; writes the insights files, and an entry for the state of a session with a
//! ledger.
//! For an analysis it starts the configured command in an empty folder with the prompt on its input.
//! Invariant: an answer that is late, broken or does not match the schema is refused with the reason, and
//! changes nothing.

use super::danger::describe_rule;
use super::past::tell_damage;
use super::range::{self, FoundSession, since_option};
use super::table::{NamedFact, Tone, clean};
use super::transcript::abridged;
use super::{Command, Io, Refused, allowed, flag, operand, option, refused, text, who_may};
use anyhow::Context;
use aops_core::briefing::reflections;
use aops_core::config::in_force;
use aops_core::config::texts::{self, Reading};
use aops_core::insight::collect;
use aops_core::insight::document::{HostCounts, Insights, RuleCounts, check_rich, describe_counts};
use aops_core::ledger::open::Ledger;
use aops_core::ledger::sessions;
use aops_core::model::named::Stored;
use aops_core::model::outcome::{AgentVerdict, SessionOutcome};
use aops_core::model::phase::Phase;
use aops_core::proof::health::Health;
use aops_core::session::reflection::to_markdown;
use aops_core::system::files::Scratch;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Ending, Task};
use aops_core::text::json::cut;
use aops_core::text::plain::{count, plain};
use aops_core::text::template::{Phrase, one_line, quote};
use aops_core::text::time;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

pub const COMMAND: Command = Command {
    name: "insights",
    about: "Show the outcome of a session: verdicts, refusals, calls, tokens and cost",
    examples: &[
        ("aops-hook insights", "the newest session of this project"),
        ("aops-hook insights 3f2a --json", "the session whose id begins with 3f2a, for a program"),
        ("aops-hook insights batch --since 7d", "write them for every session of the last week"),
        ("aops-hook insights --analyse", "also ask a model for learnings, gaps and mood"),
        (
            "aops-hook insights current --fill '{…}'",
            "the same fields by the agent that read the session (`/session-insights`)",
        ),
    ],
    arguments: |row| {
        let help = "A session's id, the beginning of one, `current`, `batch` for all, or nothing for the \
            newest in this project";
        let analyse = "Ask the configured model (`insights.command`) for learnings, gaps and mood";
        let fill = "The fields of an analysis as one JSON object, by whoever read the conversation";
        row.args([
            operand("session", "SESSION", help),
            flag("analyse", analyse).alias("analyze"),
            option("fill", "JSON", fill).conflicts_with("analyse"),
            since_option(),
        ])
    },
    run,
};

const ANALYSE: &str = "insights --analyse";
const PATIENCE: Duration = Duration::from_mins(10);
/// Maximum bytes of the conversation that are sent, and of the answer that are read.
const LONGEST: usize = 200 << 10;
const ANSWER: usize = 1 << 20;

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = text(given, "session");
    let analysis = match (text(given, "fill"), given.get_flag("analyse")) {
        (Some(fields), _) => Analysis::Given(read_fields(fields)?),
        (None, true) => Analysis::Asked,
        (None, false) => Analysis::None,
    };
    if analysis == Analysis::Asked {
        allowed(ANALYSE, who_may(ANALYSE), io)?;
    }
    if name == Some("batch") {
        if matches!(analysis, Analysis::Given(_)) {
            return refused("`--fill` is about one session\nhint: `aops-hook insights SESSION --fill JSON`");
        }
        return batch(given, io, &analysis);
    }
    if given.contains_id("since") {
        return refused("`--since` is for many sessions\nhint: `aops-hook insights batch --since 7d`");
    }
    // In a tool call or a slash command, the client names its session; otherwise it is the newest one of the
    // project.
    let current = io.env.client.session.as_deref();
    let found = range::pick(io.env, if name == Some("current") { current } else { name })?;
    let insights = write_insights(io, &found, &analysis)?;
    let damage = found.shelved.as_ref().and_then(|shelved| Health::new(io.env, u64::MAX).damage(shelved));
    if io.json {
        let mut value = serde_json::to_value(&insights)?;
        if let Some(damage) = &damage {
            value["damage"] = json!(damage);
        }
        io.print(value)?;
    } else {
        show(io, &insights, describe_halt(&found))?;
    }
    Ok(damage.map_or(0, |damage| tell_damage(&damage, &found.session_id)))
}

/// Who reads the conversation and adds what the ledger cannot say.
#[derive(Debug, PartialEq)]
enum Analysis {
    None,
    /// The model of `insights.command` is asked now.
    Asked,
    /// The caller provides it.
    Given(Value),
}

fn read_fields(fields: &str) -> anyhow::Result<Value> {
    let found = object(fields).and_then(|found| check_rich(&found).map(|()| found));
    found.or_else(|why| {
        refused(format!(
            "`--fill` is no analysis: {why}\nhint: it takes one JSON object with the keys \
            learning_observations, skill_compliance, context_gaps, user_mood and conversation_flow"
        ))
    })
}

/// Makes the insights, with an analysis if wanted, then writes and records them.
fn write_insights(io: &Io, found: &FoundSession, analysis: &Analysis) -> anyhow::Result<Insights> {
    let env = io.env;
    let mut insights = found.insights(env)?;
    match analysis {
        Analysis::None => {}
        Analysis::Asked => {
            let answer = ask_model(io, found, &insights)?;
            // The session may have continued while the model was reading.
            insights = found.insights(env)?;
            insights.keep_rich(&answer);
        }
        Analysis::Given(fields) => insights.keep_rich(fields),
    }
    let analyse = *analysis != Analysis::None;
    let current = found.shelved.as_ref().and_then(|shelved| collect::concluded_head(&shelved.path));
    collect::write(env, &insights)?;
    let Some(shelved) = &found.shelved else { return Ok(insights) };
    let root = sessions::session(shelved).map(|session| session.memory.place.root).unwrap_or_default();
    if analyse && !root.is_empty() {
        reflections::queue_learnings(
            env,
            Path::new(&root),
            &found.session_id,
            &insights.learning_observations,
        )?;
    }
    if analyse || current != insights.ledger_head {
        let mut ledger = Ledger::at(env, &shelved.path, &shelved.session_id)?;
        collect::record(env, &mut ledger, &insights)?;
    }
    Ok(insights)
}

fn batch(given: &ArgMatches, io: &mut Io, analysis: &Analysis) -> anyhow::Result<u8> {
    let all = range::all(io.env, range::since(given, io)?);
    let mut failed: Vec<(String, String)> = Vec::new();
    for (n, found) in all.iter().enumerate() {
        draw_bar(n, all.len(), &found.session_id);
        if let Err(error) = write_insights(io, found, analysis) {
            failed.push((found.session_id.clone(), format!("{error:#}")));
        }
    }
    if std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let written = all.len() - failed.len();
    let folder = collect::folder(io.env);
    if io.json {
        let failed: Vec<_> =
            failed.iter().map(|(id, why)| json!({"session_id": id, "reason": why})).collect();
        io.print(json!({"written": written, "failed": failed, "folder": folder}))?;
    } else {
        writeln!(io.out, "wrote insights of {} to {}", count(written, "session"), folder.display())?;
        for (id, why) in &failed {
            writeln!(io.out, "failed for {id}: {}", clean(why))?;
        }
    }
    Ok(u8::from(!failed.is_empty()))
}

/// Draws the progress, only on a terminal.
fn draw_bar(n: usize, all: usize, session_id: &str) {
    const WIDTH: usize = 24;
    if std::io::stderr().is_terminal() {
        let full = n * WIDTH / all.max(1);
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(WIDTH - full));
        let _ = write!(std::io::stderr(), "\r{bar} {n}/{all} {:.8}\x1b[K", clean(session_id));
    }
}

/// Why a session is blocked or halted, if it is.
fn describe_halt(found: &FoundSession) -> Option<NamedFact> {
    let session = sessions::session(found.shelved.as_ref()?)?;
    let (word, why) = match (session.blocked(), session.state.phase) {
        (Some(why), _) => ("blocked", why.to_owned()),
        (None, Phase::Halted) => ("halted", session.memory.progress.plan.problems.join("; ")),
        _ => return None,
    };
    let hint = format!("  (`aops-hook status {}` has the way out)", found.session_id);
    Some((word, one_line(&why, 600) + &hint, Tone::Bad))
}

fn show(io: &mut Io, insights: &Insights, halt: Option<NamedFact>) -> anyhow::Result<u8> {
    let mut rows = describe(insights);
    drop(rows.splice(2..2, halt));
    rows.extend(usage(insights));
    rows.extend(insights.stop_reason.clone().map(|reason| ("last turn", reason, Tone::Plain)));
    rows.extend(insights.end_reason.clone().map(|reason| ("ended", reason, Tone::Plain)));
    rows.extend(analysis(insights));
    let path = collect::file(io.env, &insights.date, &insights.session_id);
    rows.push(("file", path.display().to_string(), Tone::Quiet));
    io.facts(rows)?;
    match &insights.reflection {
        Some(reflection) => io.print(format!("\n{}", plain(to_markdown(reflection).trim_end()))),
        None => Ok(0),
    }
}

/// `critic PROCEED, qa-verifier VERIFIED`
fn describe_verdicts(insights: &Insights) -> String {
    let blocks = match insights.custodiet_blocks {
        0 => None,
        1 => Some(AgentVerdict::Block.to_string()),
        n => Some(format!("{} {n} times", AgentVerdict::Block)),
    };
    let word = |said: &Option<Stored<AgentVerdict>>| said.as_ref().map(ToString::to_string);
    let critic = word(&insights.critic_verdict);
    let qa = word(&insights.qa_verdict);
    let all = [("critic", critic), ("custodiet", blocks), ("qa-verifier", qa)];
    let said: Vec<String> =
        all.into_iter().filter_map(|(name, said)| Some(format!("{name} {}", said?))).collect();
    said.join(", ")
}

fn describe(insights: &Insights) -> Vec<NamedFact> {
    let tone = match insights.outcome.known() {
        Some(SessionOutcome::Success) => Tone::Good,
        Some(SessionOutcome::Failure) => Tone::Bad,
        Some(SessionOutcome::Completed) => Tone::Plain,
        _ => Tone::Warn,
    };
    let list = |items: &[String]| items.join(", ");
    // Phases that took no time are left out.
    let phases = insights.phase_ms.iter().filter(|(_, ms)| **ms >= 1000);
    let phases: Vec<String> =
        phases.map(|(name, ms)| format!("{name} {}", time::age(ms.cast_signed()))).collect();
    let audits = &insights.audits;
    let audits = (audits.drawn > 0).then(|| format!("{} drawn, {} done", audits.drawn, audits.done));
    let would = Some(&insights.rehearsed).filter(|gates| gates.values().any(|n| *n > 0));
    let would = would.map(|gates| format!("would refuse: {}", describe_counts(gates)));
    let ended = insights.run_outcome.as_ref().map_or("under way", Stored::name);
    let run = insights.run_id.as_ref().map(|id| format!("{id}: {ended}"));
    let todos = (insights.todos_total > 0)
        .then(|| format!("{} of {}", insights.todos_completed, insights.todos_total));
    vec![
        ("session", insights.session_id.clone(), Tone::Plain),
        ("outcome", insights.outcome.to_string(), tone),
        ("summary", insights.summary.clone().unwrap_or_default(), Tone::Plain),
        ("workflows", list(&insights.workflows_used), Tone::Plain),
        ("run", run.unwrap_or_default(), Tone::Plain),
        ("agents", list(&insights.subagents_invoked), Tone::Plain),
        ("verdicts", describe_verdicts(insights), Tone::Plain),
        ("refusals", describe_counts(&insights.gates), Tone::Plain),
        ("questions", insights.questions.describe(), Tone::Plain),
        ("rules", describe_rules(&insights.rules), Tone::Plain),
        ("rehearsed", would.unwrap_or_default(), Tone::Warn),
        ("audits", audits.unwrap_or_default(), Tone::Plain),
        ("todos", todos.unwrap_or_default(), Tone::Plain),
        ("calls", insights.tool_calls.describe(), Tone::Plain),
        ("hosts", HostCounts::describe(&insights.hosts), Tone::Plain),
        ("files", describe_files(&insights.files_changed), Tone::Plain),
        ("time", phases.join(", "), Tone::Plain),
    ]
}

/// The first files; the insights file has all of them.
fn describe_files(files: &[String]) -> String {
    const MOST: usize = 8;
    let more = files.len().saturating_sub(MOST);
    let shown = files.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// `danger:git-discard 2 asked, 1 stopped`
fn describe_rules(rules: &BTreeMap<String, RuleCounts>) -> String {
    let one = |(name, counts): (&String, &RuleCounts)| format!("{name} {}", describe_rule(counts));
    rules.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The tokens of each model, and the cost of all of them.
fn usage(insights: &Insights) -> Vec<NamedFact> {
    let tokens = insights.tokens.by_model.iter().map(|(model, sum)| {
        let cost = sum.cost_usd.map_or("no price known".to_owned(), |cost| format!("${cost:.4}"));
        let cache = format!("{} cache read, {} cache written", sum.cache_read, sum.cache_write);
        ("tokens", format!("{model}: {} in, {} out, {cache}, {cost}", sum.input, sum.output), Tone::Plain)
    });
    tokens.chain(insights.cost_usd.map(|cost| ("cost", format!("${cost:.4}"), Tone::Strong))).collect()
}

/// The findings of a model, if one was asked.
fn analysis(insights: &Insights) -> Vec<NamedFact> {
    let said = |remark: &Value| match remark {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields.get("lesson").and_then(Value::as_str).unwrap_or_default().to_owned(),
        other => other.to_string(),
    };
    let remarks = |all: &Value| all.as_array().into_iter().flatten().map(said).collect::<Vec<_>>();
    let lessons =
        remarks(&insights.learning_observations).into_iter().map(|lesson| ("lesson", lesson, Tone::Strong));
    let gaps = remarks(&insights.context_gaps).into_iter().map(|gap| ("gap", gap, Tone::Warn));
    let mood = Some(&insights.user_mood)
        .filter(|mood| !mood.is_null())
        .map(|mood| ("mood", said(mood), Tone::Plain));
    lessons.chain(gaps).chain(mood).collect()
}

fn ask_model(io: &Io, found: &FoundSession, insights: &Insights) -> anyhow::Result<Value> {
    let command = in_force::load(io.env, &io.env.cwd)?.policy.insights.command;
    let told = abridged(found)?;
    let values = vec![("facts", quote(&insights.text())), ("transcript", quote(cut(&told, LONGEST)))];
    let template = "insights-analysis.md";
    let prompt =
        Phrase::new(template, values).fill(&texts::template(&Reading::new(io.env, &io.env.cwd), template)?);
    let said = ask(io, &command, &prompt)?;
    let answer = object(&said).and_then(|answer| check_rich(&answer).map(|()| answer));
    Ok(answer.map_err(|why| refuse(&command, &why))?)
}

fn refuse(command: &str, why: &str) -> Refused {
    let hint = "hint: the old insights stay; try again, or set `insights.command`";
    Refused { code: 1, words: format!("the analysis of `{command}` was refused: {why}\n{hint}") }
}

fn ask(io: &Io, command: &str, prompt: &str) -> anyhow::Result<String> {
    let mut words = command.split_whitespace();
    let name = words.next().unwrap_or_default();
    let named = Path::new(name);
    let identity = if named.is_absolute() { Identity::At(named) } else { Identity::OnPath(name) };
    let program =
        Program::find(io.env, identity).map_err(|_| refuse(command, &format!("`{name}` was not found")))?;
    let args: Vec<String> = words.map(str::to_owned).collect();
    let scratch = Scratch::new("analyse").context("a folder for the model")?;
    // The model must run as a separate session, neither inside a tool call nor in this project.
    let variables =
        io.env.variables(|name| !name.starts_with("CLAUDECODE") && !name.starts_with("CLAUDE_CODE_"));
    let task = Task::new(&program, &args, &scratch.0, &variables, PATIENCE);
    let task = Task { input: prompt.as_bytes(), keep: ANSWER, ..task };
    let done = process::run(&task).with_context(|| format!("`{command}`"))?;
    match done.ending {
        Ending::Exit(0) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        Ending::TimedOut => Err(refuse(command, "it took longer than ten minutes").into()),
        other => {
            let words = String::from_utf8_lossy(&done.stderr);
            let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
            Err(refuse(command, &format!("it ended with {other:?}: {}", cut(last, 300))).into())
        }
    }
}

/// Finds the one JSON object in the answer, with or without a code fence.
fn object(said: &str) -> Result<Value, String> {
    let object = said.find('{').zip(said.rfind('}')).and_then(|(from, to)| said.get(from..=to));
    let object = object.ok_or("it holds no JSON object")?;
    serde_json::from_str(object).map_err(|e| format!("it is not JSON: {e}"))
}
