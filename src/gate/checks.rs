//! Refuses a save or a commit whose check failed, and says which checks are to be run.
//!
//! Invariants: no check is run for a call that another gate refuses; a shell command is not a save, so what a check complains
//! of can be repaired while it fails. Before a stop a failing check is one more debt: see `owed`.

use super::{Context, is_waived};
use crate::config::policy::check::Moment;
use crate::config::policy::{Check, Level};
use crate::model::call::CallState;
use crate::model::event::{Event, EventKind};
use crate::model::phase::Phase;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::Checked;
use crate::session::fold::Session;
use crate::session::state::{OpenCall, Sandbox};
use crate::text::template::{Phrase, one_line, quote};

pub const GATE: &str = "checks";

/// The checks this event waits for and that have not been run yet, given what the gates say without them.
pub fn wanted(session: &Session, event: &Event, context: &Context, verdict: &Verdict) -> Vec<Check> {
    let Some(policy) = session.memory.policy.as_ref().filter(|policy| !policy.checks.is_empty()) else {
        return Vec::new();
    };
    let Some(moment) = moment(session, event, context, verdict) else { return Vec::new() };
    if policy.gates.checks == Level::Off || session.blocked().is_some() || is_waived(session, context, GATE) {
        return Vec::new();
    }
    let waived = |id: &String| context.stage.as_ref().is_some_and(|stage| stage.waived.contains(id));
    let run = |id: &String| context.checks.iter().any(|run| run.id == *id);
    let new = |check: &&Check| check.on == moment && !run(&check.id) && !waived(&check.id);
    policy.checks.iter().filter(new).cloned().collect()
}

/// The save, commit or stop that this event announces.
fn moment(session: &Session, event: &Event, context: &Context, verdict: &Verdict) -> Option<Moment> {
    match (event.kind, &event.call, &context.call) {
        (EventKind::PreToolUse, Some(call), Some(seen))
            if verdict.ruling != Ruling::Deny && session.open_call(&call.key).is_none_or(waits) =>
        {
            seen.saves.as_ref().map(|_| Moment::Save).or(seen.commits.then_some(Moment::Commit))
        }
        (EventKind::Stop, ..) => {
            let worked = match &context.stage {
                // A run has no task, and a closing step answers for what earlier steps changed.
                Some(stage) => stage.sandbox == Sandbox::Open || stage.closes,
                None => session.state.task.as_ref().is_some_and(|task| task.writes > 0),
            };
            (worked && !event.busy && session.state.phase != Phase::Halted).then_some(Moment::Stop)
        }
        _ => None,
    }
}

/// A deferred question that comes up again.
fn waits(open: &OpenCall) -> bool {
    open.deferred && open.state == CallState::Pending
}

pub fn judge(_: &Session, event: &Event, context: &Context) -> Verdict {
    let failed = context.checks.iter().filter(|run| run.failed());
    match event.kind {
        EventKind::PreToolUse => failed.fold(Verdict::pass(), |verdict, run| verdict.join(refusal(run, context))),
        EventKind::Stop => failed.filter(|run| is_over(run, context)).fold(Verdict::pass(), |verdict, run| {
            let said = Phrase::new("refusals/check-halt.md", values(run));
            verdict.join(Verdict { gate: GATE, phrase: Some(said), ..Verdict::pass() })
        }),
        _ => Verdict::pass(),
    }
}

/// The agent can do nothing about it: the turn ends and the user is told; in a run, by its driver.
fn is_over(run: &Checked, context: &Context) -> bool {
    run.outcome == "HALT" || run.outcome == "ASK_USER" && (context.attended || context.stage.is_some())
}

/// A check that was run for this event ends the work.
pub fn halts(session: &Session, context: &Context) -> bool {
    let enforced = super::level(session.policy(), GATE) == Level::Enforce;
    enforced && context.checks.iter().any(|run| run.outcome == "HALT")
}

fn refusal(run: &Checked, context: &Context) -> Verdict {
    let template = match run.on {
        _ if run.ending == Checked::CUT_OFF && run.outcome != "HALT" => "refusals/check-late.md",
        _ if run.outcome == "HALT" => "refusals/check-halt.md",
        Moment::Save => "refusals/check-save.md",
        _ => "refusals/check-failed.md",
    };
    let asks = run.outcome == "ASK_USER" && (context.attended || context.defers);
    let ruling = if asks { Ruling::Ask } else { Ruling::Deny };
    let phrase = Some(Phrase::new(template, values(run)));
    Verdict { ruling, gate: GATE, phrase, halt: run.outcome == "HALT", ..Verdict::pass() }
}

fn values(run: &Checked) -> Vec<(&'static str, String)> {
    vec![
        ("check", one_line(&run.id, 64)),
        ("ending", one_line(&run.ending, 200)),
        ("moment", run.on.word().to_owned()),
        ("path", one_line(run.path.as_deref().unwrap_or_default(), 200)),
        ("output", quote(&run.output)),
        ("command", one_line(&run.run, 300)),
        ("timeout_ms", run.timeout_ms.to_string()),
    ]
}

/// Before a stop: what the failed checks ask for, on one line.
pub fn owed(context: &Context) -> Option<Phrase> {
    let failed = context.checks.iter().filter(|run| run.on == Moment::Stop && run.failed());
    let lines: Vec<String> = failed
        .filter(|run| !is_over(run, context))
        .map(|run| {
            let last = run.output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            let last = if last.is_empty() { String::new() } else { format!(": {}", one_line(last, 120)) };
            format!("`{}` ({}{last}), run as `{}`", run.id, one_line(&run.ending, 60), one_line(&run.run, 120))
        })
        .collect();
    let checks = ("checks", one_line(&lines.join("; "), 330));
    (!lines.is_empty()).then(|| Phrase::new("owed/checks.md", vec![checks]))
}
