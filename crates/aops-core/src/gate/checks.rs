//! Refuses a prompt, a task's first change, a save or a commit whose check failed, and says which checks to
//! run.
//!
//! Invariants: no check is run for an event that another gate refuses; a shell command is not a save, so the
//! cause of a failing check can be repaired; no check is run for a prompt that waives the loop. Before a stop
//! a failing check is one more debt: see `owed`.

use super::{Context, is_busy, is_waiting, is_waived};
use crate::config::policy::check::Moment;
use crate::config::policy::{Check, Level};
use crate::model::call::Effect;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::outcome::{CheckEnding, PhaseOutcome};
use crate::model::phase::{Phase, Sandbox};
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::Checked;
use crate::session::fold::Session;
use crate::session::prompt::Prompt;
use crate::text::template::{Phrase, one_line, quote};

pub const GATE: GateId = GateId::Checks;

/// The checks that this event needs and that have not been run yet, given what the other gates say.
pub fn wanted(session: &Session, event: &Event, context: &Context, verdict: &Verdict) -> Vec<Check> {
    let Some(policy) = session.memory.configured.policy.as_ref().filter(|policy| !policy.checks.is_empty())
    else {
        return Vec::new();
    };
    let moments = moments(session, event, context, verdict);
    if moments.is_empty() || policy.gates.checks == Level::Off || session.blocked().is_some() {
        return Vec::new();
    }
    let waived = |id: &String| context.stage.as_ref().is_some_and(|stage| stage.waived.contains(id));
    let run = |id: &String| context.checks.iter().any(|run| run.id == *id);
    let due = |check: &Check| check.on != Moment::Sandbox || !has_let_out(session, context, &check.id);
    let new =
        |check: &&Check| moments.contains(&check.on) && !run(&check.id) && !waived(&check.id) && due(check);
    policy.checks.iter().filter(new).cloned().collect()
}

/// The prompt, first change, save, commit or stop that this event announces.
fn moments(session: &Session, event: &Event, context: &Context, verdict: &Verdict) -> Vec<Moment> {
    if event.kind() == EventKind::UserPromptSubmit {
        // A prompt that waives the loop is not checked: otherwise nobody could repair a check that always
        // fails.
        let asks =
            matches!(context.prompt(), Prompt::Ordinary | Prompt::Command) && verdict.ruling != Ruling::Deny;
        let lifted = session.is_waived_by_person(GATE, context.now_ms);
        return if asks && !lifted { vec![Moment::Prompt] } else { Vec::new() };
    }
    if is_waived(session, context, GATE) {
        return Vec::new();
    }
    match (event.kind(), event.call(), context.call()) {
        (EventKind::PreToolUse, Some(call), Some(seen))
            if verdict.ruling != Ruling::Deny && session.open_call(&call.key).is_none_or(is_waiting) =>
        {
            let first = leaves_sandbox(session, event, context).then_some(Moment::Sandbox);
            let saves = seen
                .checks
                .saves
                .as_ref()
                .map(|_| Moment::Save)
                .or(seen.checks.commits.then_some(Moment::Commit));
            first.into_iter().chain(saves).collect()
        }
        (EventKind::Stop, ..) => {
            let worked = match &context.stage {
                // A run has no task, and its closing step answers for what earlier steps changed.
                Some(stage) => stage.sandbox == Sandbox::Open || stage.closes,
                None => session.state.task.as_ref().is_some_and(|task| task.writes > 0),
            };
            let asks = worked && !is_busy(session, event) && session.state.phase != Phase::Halted;
            if asks { vec![Moment::Stop] } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}

/// This call would be the task's first change. A change that is allowed while the plan gate is closed does
/// not count, since it is not kept.
fn leaves_sandbox(session: &Session, event: &Event, context: &Context) -> bool {
    let (worked, open) = match &context.stage {
        Some(stage) => (false, stage.sandbox == Sandbox::Open),
        None => (session.state.task.as_ref().is_some_and(|task| task.writes > 0), !session.is_shut()),
    };
    open && !worked && event.by_our_agent().is_none() && context.effect().is_some_and(Effect::is_write)
}

/// This check already allowed the work to begin; in a run, a person's answer counts as well.
fn has_let_out(session: &Session, context: &Context, id: &str) -> bool {
    let Some(last) = session.memory.progress.proven.checks.get(id) else { return false };
    last.outcome == PhaseOutcome::Pass || context.stage.is_some() && last.outcome == PhaseOutcome::AskUser
}

pub fn judge(_: &Session, event: &Event, context: &Context) -> Verdict {
    let failed = context.checks.iter().filter(|run| run.failed());
    match event.kind() {
        EventKind::PreToolUse => {
            failed.fold(Verdict::pass(), |verdict, run| verdict.join(refusal(run, context)))
        }
        EventKind::UserPromptSubmit => {
            failed.fold(Verdict::pass(), |verdict, run| verdict.join(before_model(run)))
        }
        EventKind::Stop => {
            failed.filter(|run| is_over(run, context)).fold(Verdict::pass(), |verdict, run| {
                let said = Phrase::new("refusals/check-halt.md", values(run));
                verdict.join(Verdict { gate: Some(GATE), phrase: Some(said), ..Verdict::pass() })
            })
        }
        _ => Verdict::pass(),
    }
}

/// The agent is told what it can repair. Anything else is up to the person, and the prompt waits.
fn before_model(run: &Checked) -> Verdict {
    if run.outcome != PhaseOutcome::InterventionRequired {
        return Verdict::refuse(GATE, Phrase::new("refusals/check-prompt.md", values(run)));
    }
    let Checked { id, ending, .. } = run;
    let ending = one_line(&ending.to_string(), 200);
    let output = quote(&run.output);
    let command = one_line(&run.run, 300);
    let words = format!(
        "Before this prompt the check `{id}` failed ({ending}).\n{output}\nRepair what it reports first; `{command}` runs it again. If you cannot, tell the user."
    );
    Verdict::context(GATE, words)
}

/// The agent cannot repair it, so the turn ends and the user is told (in a run, by its driver).
fn is_over(run: &Checked, context: &Context) -> bool {
    run.outcome == PhaseOutcome::Halt
        || run.outcome == PhaseOutcome::AskUser && (context.attended || context.stage.is_some())
}

/// A check that failed at the end of this turn asks the person, who then decides about the task.
pub fn asks(context: &Context) -> bool {
    let asks = |run: &&Checked| run.on == Moment::Stop && run.outcome == PhaseOutcome::AskUser;
    context.stage.is_none() && context.checks.iter().filter(asks).any(|run| is_over(run, context))
}

/// A check that was run for this event ends the work.
pub fn halts(session: &Session, context: &Context) -> bool {
    let enforced = super::level(session.policy(), GATE) == Level::Enforce;
    enforced && context.checks.iter().any(|run| run.outcome == PhaseOutcome::Halt)
}

fn refusal(run: &Checked, context: &Context) -> Verdict {
    let asks = run.outcome == PhaseOutcome::AskUser && (context.attended || context.defers);
    let template = match run.on {
        _ if asks && context.attended => "refusals/check-ask.md",
        _ if run.ending == CheckEnding::CutOff && run.outcome != PhaseOutcome::Halt => {
            "refusals/check-late.md"
        }
        _ if run.outcome == PhaseOutcome::Halt => "refusals/check-halt.md",
        Moment::Save => "refusals/check-save.md",
        Moment::Sandbox => "refusals/check-sandbox.md",
        _ => "refusals/check-failed.md",
    };
    let ruling = if asks { Ruling::Ask } else { Ruling::Deny };
    let phrase = Some(Phrase::new(template, values(run)));
    Verdict { ruling, gate: Some(GATE), phrase, halt: run.outcome == PhaseOutcome::Halt, ..Verdict::pass() }
}

fn values(run: &Checked) -> Vec<(&'static str, String)> {
    vec![
        ("check", one_line(&run.id, 64)),
        ("ending", one_line(&run.ending.to_string(), 200)),
        ("moment", run.on.name().to_owned()),
        ("path", one_line(run.path.as_deref().unwrap_or_default(), 200)),
        ("output", quote(&run.output)),
        ("command", one_line(&run.run, 300)),
        ("timeout_ms", run.timeout_ms.to_string()),
    ]
}

/// Before a stop: what the failed checks require, on one line.
pub fn owed(context: &Context) -> Option<Phrase> {
    let failed = context.checks.iter().filter(|run| run.on == Moment::Stop && run.failed());
    let lines: Vec<String> = failed
        .filter(|run| !is_over(run, context))
        .map(|run| {
            let last = run.output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            let last = if last.is_empty() { String::new() } else { format!(": {}", one_line(last, 120)) };
            format!(
                "`{}` ({}{last}), run as `{}`",
                run.id,
                one_line(&run.ending.to_string(), 60),
                one_line(&run.run, 120)
            )
        })
        .collect();
    let checks = ("checks", one_line(&lines.join("; "), 330));
    (!lines.is_empty()).then(|| Phrase::new("owed/checks.md", vec![checks]))
}
