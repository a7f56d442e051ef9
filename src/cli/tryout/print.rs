//! The text and the JSON of a tryout.

use super::Tried;
use super::judge::MODES;
use super::tally::{Answerable, ByRule, Stopped};
use crate::cli::Io;
use crate::cli::table::{Cell, Tone, clean};
use aops_core::config::policy::ModeLevel;
use aops_core::text::plain::count;
use aops_core::text::time;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// `2026-01-13`
fn date(ms: i64) -> String {
    time::timestamp(ms).chars().take(10).collect()
}

/// Everything, in the order in which a person would ask for it.
pub(super) fn words(io: &mut Io, tried: &Tried) -> anyhow::Result<()> {
    let tally = &tried.tally;
    let since = date(tried.since_ms);
    if tally.calls == 0 {
        writeln!(io.out, "no calls since {since}")?;
        return limits(io, tried);
    }
    let clients: Vec<String> =
        tally.clients.iter().map(|(client, calls)| format!("{client} {calls}")).collect();
    writeln!(
        io.out,
        "{} in {} on {} since {since} ({})",
        count(tally.calls, "call"),
        count(tally.sessions.len(), "session"),
        if tally.days.len() == 1 { "1 day".to_owned() } else { format!("{} days", tally.days.len()) },
        clients.join(", ")
    )?;
    writeln!(io.out, "judged here and now, each call by itself; nothing was written or sent\n")?;
    let row = |(mode, stopped): (&ModeLevel, &Stopped)| {
        [mode.name().into(), Cell::from(stopped.asked.to_string()), Cell::from(stopped.refused.to_string())]
    };
    let rows = MODES.iter().zip(&tally.modes).map(row).collect();
    io.table(["mode", "would ask", "would refuse"], rows)?;
    stops(io, tried)?;
    prompts(io, tried)?;
    let (changed, unverified) = tally.changed_and_unverified();
    let ended = count(unverified, "session");
    writeln!(io.out, "{ended} of {changed} that changed files ended without a check after the last change")?;
    limits(io, tried)
}

fn stops(io: &mut Io, tried: &Tried) -> anyhow::Result<()> {
    let rules = tried.tally.by_frequency();
    if rules.is_empty() {
        writeln!(io.out, "\nmode `guard` would have stopped nothing\n")?;
        return Ok(());
    }
    writeln!(io.out, "\nwhat mode `guard` would have stopped, or kept before it was lost")?;
    for (name, rule) in rules {
        let name = Tone::Strong.paint(name, io).into_owned();
        writeln!(io.out, "{name}: {}", describe(rule.counts))?;
        for (at_ms, line) in &rule.lines {
            writeln!(io.out, "  {}  {}", date(*at_ms), clean(line))?;
        }
    }
    let kept = tried.tally.kept();
    if kept > 0 {
        let lines = count(kept, "line");
        writeln!(
            io.out,
            "{lines} of these would pass: what they lose is kept, and `aops-hook undo` brings it back"
        )?;
    }
    writeln!(io.out)?;
    Ok(())
}

fn describe(stopped: Stopped) -> String {
    let counts = [(stopped.kept, "kept"), (stopped.asked, "asked"), (stopped.refused, "refused")];
    let told =
        counts.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}"));
    told.collect::<Vec<_>>().join(", ")
}

fn prompts(io: &mut Io, tried: &Tried) -> anyhow::Result<()> {
    let prompts = &tried.tally.prompts;
    let approved = prompts.approved;
    let rejected = prompts.rejected;
    writeln!(
        io.out,
        "prompts you answered: {} ({approved} approved, {rejected} rejected)",
        approved + rejected
    )?;
    if prompts.shell.lines > 0 {
        writeln!(io.out, "  {}", describe_answerable(prompts.shell))?;
    }
    if prompts.untold.lines > 0 {
        let about = prompts.untold.estimated();
        writeln!(io.out, "and an estimated {} more, in older records that do not say it", about.lines)?;
        writeln!(io.out, "  {} (estimate)", describe_answerable(about))?;
    }
    Ok(())
}

fn describe_answerable(lines: Answerable) -> String {
    let Answerable { lines, reading, with_gh, contained } = lines;
    format!(
        "{}; quiet could have answered at most {reading} at `reading`, {} with `gh`, {} at `contained`",
        count(lines, "shell line"),
        reading + with_gh,
        reading + contained,
    )
}

/// What was not examined, and what cannot be known.
fn limits(io: &mut Io, tried: &Tried) -> anyhow::Result<()> {
    let tally = &tried.tally;
    let mut limits = Vec::new();
    if !tried.is_whole() {
        let back = tried.back_ms.map(|ms| format!(", back to {}", date(ms))).unwrap_or_default();
        limits.push(format!(
            "the time was up: {} of {} files were read, newest first{back}",
            tally.files, tried.all
        ));
    }
    let mut say = |number: u64, words: &str| {
        if number > 0 {
            limits.push(words.replace("{}", &number.to_string()));
        }
    };
    say(
        tally.gone,
        "calls in folders that no longer exist: {}; they are judged as if nothing had been there",
    );
    say(tally.unjudged, "calls that could not be judged: {}");
    say(tally.counts.unknown, "records that are not known: {}");
    say(tally.counts.too_long, "lines that are too long to be read: {}");
    say(tally.unreadable, "files that could not be read: {}");
    say(tried.links, "links that were not followed: {}");
    for (client, files) in &tried.unknown {
        limits.push(format!("files of {client} in a format that is not read: {files}"));
    }
    if tally.calls > 0 {
        limits.push("files are judged as they are today, not as they were then".to_owned());
    }
    limits.iter().try_for_each(|limit| writeln!(io.out, "note: {limit}"))?;
    Ok(())
}

pub(super) fn to_json(tried: &Tried) -> Value {
    let tally = &tried.tally;
    let stopped = |stopped: &Stopped| json!({"asked": stopped.asked, "refused": stopped.refused});
    let modes =
        MODES.iter().zip(&tally.modes).map(|(mode, counts)| (mode.name().to_owned(), stopped(counts)));
    let rule = |(name, rule): (&str, &ByRule)| {
        let lines =
            rule.lines.iter().map(|(at, line)| json!({"at": time::timestamp(*at), "line": clean(line)}));
        json!({"rule": name, "asked": rule.counts.asked, "refused": rule.counts.refused,
        "kept": rule.counts.kept, "lines": lines.collect::<Vec<_>>()})
    };
    let answerable = |lines: Answerable| {
        json!({
            "lines": lines.lines, "reading": lines.reading, "reading_with_gh": lines.reading + lines.with_gh,
            "contained": lines.reading + lines.contained,
        })
    };
    let (changed, unverified) = tally.changed_and_unverified();
    let prompts = &tally.prompts;
    json!({
        "since": time::timestamp(tried.since_ms),
        "calls": tally.calls, "clients": tally.clients, "sessions": tally.sessions.len(),
        "days": tally.days.len(),
        "modes": modes.collect::<serde_json::Map<_, _>>(),
        "rules": tally.by_frequency().into_iter().map(rule).collect::<Vec<_>>(),
        "kept": tally.kept(),
        "prompts": {
            "approved": prompts.approved, "rejected": prompts.rejected, "quiet": answerable(prompts.shell),
            "estimated": (prompts.untold.lines > 0).then(|| answerable(prompts.untold.estimated())),
        },
        "changed_sessions": changed, "unverified_sessions": unverified,
        "limits": {
            "whole": tried.is_whole(), "files": tally.files, "all_files": tried.all,
            "back_to": tried.back_ms.map(time::timestamp), "folders_gone": tally.gone,
            "unjudged": tally.unjudged,
            "records": tally.counts.records, "unknown_records": tally.counts.unknown,
            "too_long": tally.counts.too_long, "unreadable": tally.unreadable, "links": tried.links,
            "unknown_files": tried.unknown.iter().copied().collect::<BTreeMap<_, _>>(),
        },
    })
}
