//! Prints and writes the insights of one session or many.
//!
//! Reads ledgers and transcripts; writes the insights files, and an entry for the state of a session with a ledger.
//! Invariant: an analysis that cannot be used changes nothing.

mod analyse;

use super::range::{self, Found, since, since_argument};
use super::table::{Tone, clean};
use super::{Command, Io, Who, refused};
use crate::briefing::reflections;
use crate::insight::collect;
use crate::insight::document::Insights;
use crate::ledger::open::Ledger;
use crate::text::time;
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "insights",
    about: "Show the outcome of a session: verdicts, refusals, calls, tokens and cost",
    examples: &[
        ("aops-hook insights", "the newest session of this project"),
        ("aops-hook insights 3f2a --json", "the session whose id begins with 3f2a, for a program"),
        ("aops-hook insights batch --since 7d", "write them for every session of the last week"),
        ("aops-hook insights --analyse", "also ask a model for learnings, gaps and mood"),
    ],
    who: Who::Anyone,
    arguments: |command| {
        let help = "A session's id, the beginning of one, `batch` for all, or nothing for the newest in this project";
        let analyse = Arg::new("analyse").long("analyse").alias("analyze").action(ArgAction::SetTrue);
        since_argument(
            command
                .arg(Arg::new("session").value_name("SESSION").help(help))
                .arg(analyse.help("Ask the configured model (`insights.command`) for learnings, gaps and mood")),
        )
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = given.get_one::<String>("session").map(String::as_str);
    let analyse = given.get_flag("analyse");
    if name == Some("batch") {
        return batch(given, io, analyse);
    }
    if given.contains_id("since") {
        return refused("`--since` is for many sessions\nhint: `aops-hook insights batch --since 7d`");
    }
    let found = range::pick(io.env, name)?;
    let insights = written(io, &found, analyse)?;
    if io.json {
        writeln!(io.out, "{}", serde_json::to_value(&insights)?)?;
    } else {
        show(io, &insights)?;
    }
    Ok(0)
}

/// Made, analysed if wanted, written and recorded.
fn written(io: &Io, found: &Found, analyse: bool) -> anyhow::Result<Insights> {
    let env = io.env;
    let Some(shelved) = &found.shelved else {
        let mut insights = collect::of_transcript(env, &found.transcript, &found.session_id)?;
        if analyse {
            let answer = analyse::analyse(io, found, &insights)?;
            insights.keep_rich(&answer);
        }
        collect::write(env, &insights)?;
        return Ok(insights);
    };
    let tally = || collect::tally(&shelved.path, &found.session_id);
    let gather = || collect::finish(env, tally()?, &found.transcript, None);
    let mut insights = gather()?;
    if analyse {
        let answer = analyse::analyse(io, found, &insights)?;
        // The session may have gone on while the model was reading.
        insights = gather()?;
        insights.keep_rich(&answer);
    }
    let current = collect::concluded_head(&shelved.path);
    collect::write(env, &insights)?;
    let root = crate::ledger::sessions::session(shelved).map(|session| session.memory.root).unwrap_or_default();
    if analyse && !root.is_empty() {
        reflections::queue_learnings(env, Path::new(&root), &found.session_id, &insights.learning_observations)?;
    }
    if analyse || current != insights.ledger_head {
        let mut ledger = Ledger::at(env, &shelved.path, &shelved.session_id)?;
        collect::record(env, &mut ledger, &insights)?;
    }
    Ok(insights)
}

fn batch(given: &ArgMatches, io: &mut Io, analyse: bool) -> anyhow::Result<u8> {
    let all = range::all(io.env, since(given, io)?);
    let mut failed: Vec<(String, String)> = Vec::new();
    let mut bar = Bar { all: all.len(), shown: std::io::stderr().is_terminal() };
    for (n, found) in all.iter().enumerate() {
        bar.at(n, &found.session_id);
        if let Err(error) = written(io, found, analyse) {
            failed.push((found.session_id.clone(), format!("{error:#}")));
        }
    }
    bar.done();
    let written = all.len() - failed.len();
    if io.json {
        let failed: Vec<_> = failed.iter().map(|(id, why)| json!({"session_id": id, "reason": why})).collect();
        writeln!(io.out, "{}", json!({"written": written, "failed": failed, "folder": collect::folder(io.env)}))?;
    } else {
        writeln!(io.out, "wrote insights of {written} sessions to {}", collect::folder(io.env).display())?;
        for (id, why) in &failed {
            writeln!(io.out, "failed for {id}: {}", clean(why))?;
        }
    }
    Ok(u8::from(!failed.is_empty()))
}

/// A progress bar, on a terminal only.
struct Bar {
    all: usize,
    shown: bool,
}

impl Bar {
    fn at(&mut self, n: usize, session_id: &str) {
        const WIDTH: usize = 24;
        if self.shown {
            let full = n * WIDTH / self.all.max(1);
            let bar = format!("{}{}", "█".repeat(full), "░".repeat(WIDTH - full));
            let _ = write!(std::io::stderr(), "\r{bar} {n}/{} {:.8}\x1b[K", self.all, clean(session_id));
        }
    }

    fn done(&self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn show(io: &mut Io, insights: &Insights) -> anyhow::Result<()> {
    let tone = match insights.outcome.as_str() {
        "success" => Tone::Good,
        "failure" => Tone::Bad,
        _ => Tone::Warn,
    };
    let list = |items: &[String]| items.join(", ");
    let counts = |map: &std::collections::BTreeMap<String, u64>| {
        map.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
    };
    let calls = &insights.tool_calls;
    let calls = format!("{} completed, {} failed, {} denied", calls.completed, calls.failed, calls.denied);
    let verdicts: Vec<String> = [("critic", &insights.critic_verdict), ("qa-verifier", &insights.qa_verdict)]
        .iter()
        .filter_map(|(name, verdict)| Some(format!("{name} {}", verdict.as_ref()?)))
        .collect();
    let phases: Vec<String> =
        insights.phase_ms.iter().map(|(name, ms)| format!("{name} {}", time::age(ms.cast_signed()))).collect();
    let mut rows = vec![
        ("session", insights.session_id.clone(), Tone::Plain),
        ("outcome", insights.outcome.clone(), tone),
        ("summary", insights.summary.clone().unwrap_or_default(), Tone::Plain),
        ("workflows", list(&insights.workflows_used), Tone::Plain),
        ("agents", list(&insights.subagents_invoked), Tone::Plain),
        ("verdicts", verdicts.join(", "), Tone::Plain),
        ("refusals", counts(&insights.gates), Tone::Plain),
        ("audits", format!("{} drawn, {} done", insights.audits.drawn, insights.audits.done), Tone::Plain),
        ("calls", calls, Tone::Plain),
        ("files", list(&insights.files_changed), Tone::Plain),
        ("time", phases.join(", "), Tone::Plain),
    ];
    for (model, sum) in &insights.tokens.by_model {
        let cost = sum.cost_usd.map_or("no price known".to_owned(), |cost| format!("${cost:.4}"));
        let words = format!(
            "{model}: {} in, {} out, {} cache read, {} cache written, {cost}",
            sum.input, sum.output, sum.cache_read, sum.cache_write
        );
        rows.push(("tokens", words, Tone::Plain));
    }
    rows.extend(insights.cost_usd.map(|cost| ("cost", format!("${cost:.4}"), Tone::Strong)));
    rows.extend(insights.stop_reason.clone().map(|reason| ("ended", reason, Tone::Plain)));
    let path = collect::file(io.env, &insights.date, &insights.session_id);
    rows.push(("file", path.display().to_string(), Tone::Quiet));
    for (name, words, tone) in rows.into_iter().filter(|(_, words, _)| !words.is_empty()) {
        let words = clean(&words).into_owned();
        writeln!(io.out, "{name:9} {}", tone.paint(&words, io))?;
    }
    Ok(())
}
