//! A turn without a Stop: whether the person interrupted it, and what it left in the working tree.
//!
//! Reads the end of the client's transcript, and the working tree. Both only if a prompt, start or end of the
//! session follows such a turn; the tree also at a Stop and when a question replaces a task. Invariant: it
//! counts as an interrupt only if the client says so.

use crate::gate::{Context, Found, LastRefusal, StopContext, Unstopped, is_waiting};
use crate::host::claude::transcript::is_interrupted;
use crate::ledger::open::Ledger;
use crate::model::call::Effect;
use crate::model::client::Ability;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::worktree::Worktree;
use crate::observe::{authority, evidence, parked, unfinished, verified};
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::session::prompt::Prompt;
use crate::system::env::Env;
use crate::text::json;
use std::path::Path;

pub(super) fn look(env: &Env, ledger: &Ledger, event: &Event, context: &mut Context) -> Result<(), Failure> {
    let session = ledger.session();
    let shows = match event.kind() {
        EventKind::UserPromptSubmit => context.prompt() != Prompt::Machine,
        EventKind::SessionStart => {
            event.source() != "compact" && !context.start().is_some_and(|start| start.beside)
        }
        EventKind::SessionEnd => true,
        _ => false,
    };
    let Some(turn) = session.memory.prompted.as_ref().filter(|turn| shows && turn.open) else {
        return Ok(());
    };
    let same = event.kind() == EventKind::UserPromptSubmit && event.prompt_id.as_ref() == Some(&turn.id);
    let in_run = context.stage.is_some() || session.memory.run.is_some() || context.defers;
    let waits = session.memory.calls.iter().any(is_waiting);
    if same || in_run || waits || session.blocked().is_some() || !env.host.can(Ability::RecordsPersons) {
        return Ok(());
    }
    // A second client on the session knows nothing about the first one's turn.
    if authority::is_beside(env, session) {
        return Ok(());
    }
    let changes = |open: &OpenCall| open.means.effect.is_some_and(Effect::is_write);
    let may_have = session.state.task.as_ref().is_some_and(|task| task.writes > 0);
    if may_have || session.memory.calls.iter().any(changes) {
        context.tree = left_in_tree(env, ledger, event)?;
    }
    let next = event.prompt_id.as_deref().filter(|_| event.kind() == EventKind::UserPromptSubmit);
    let interrupted = is_interrupted(&event.transcript_path, &turn.id, &turn.sha256, next);
    let (paths, files) =
        if interrupted { parked::left_of_task(env, session, event, context) } else { <_>::default() };
    context.earlier.unstopped = Some(Unstopped { interrupted, files, paths });
    Ok(())
}

/// One of our agents reports a plan for a question: finds what is left of the unfinished task that it
/// replaces.
pub(super) fn look_at_plan(
    env: &Env,
    ledger: &Ledger,
    event: &Event,
    context: &mut Context,
) -> Result<(), Failure> {
    let session = ledger.session();
    let report = context.agent_stop().and_then(|stop| stop.report.as_ref());
    if matches!(report, Some(Ok(plan)) if session.is_left_by(plan)) {
        context.tree = left_in_tree(env, ledger, event)?;
        let left = parked::left_by_question(env, session, event, context);
        if let Found::AgentStop(stop) = &mut context.found {
            stop.left = left;
        }
    }
    Ok(())
}

/// What the end of a turn leaves in the working tree if its task may still owe something, and what was
/// refused in the turn and not done since.
pub(super) fn look_at_stop(
    env: &Env,
    ledger: &Ledger,
    event: &Event,
    context: &mut Context,
) -> Result<(), Failure> {
    let mut stop = StopContext::default();
    if may_owe(ledger.session(), context) {
        context.tree = left_in_tree(env, ledger, event)?;
        stop.asks = asks(event);
        stop.outdated = verified::is_outdated(env, ledger.session(), event);
        stop.push_failed = context.tree.push.is_some() && evidence::is_push_failed(&ledger.recent());
    }
    // An agent that asks the person something has told them what is waiting.
    if context.attended && context.stage.is_none() && ledger.session().is_shut() && !asks(event) {
        let by_loop = |last: &LastRefusal| last.gate == GateId::Sandbox;
        stop.refused = unfinished::refusal(&ledger.recent()).filter(by_loop);
    }
    context.found = Found::Stop(stop);
    Ok(())
}

/// The working tree may contain unfinished work.
fn may_owe(session: &Session, context: &Context) -> bool {
    let wrote = session.state.task.as_ref().is_some_and(|task| task.writes > 0);
    wrote && !session.is_small() || context.stage.as_ref().is_some_and(|stage| stage.closes)
}

/// What the session left in the working tree.
pub(super) fn left_in_tree(env: &Env, ledger: &Ledger, event: &Event) -> Result<Worktree, Failure> {
    ledger.owed(env, Path::new(&event.cwd))
}

/// The turn's last message is a question.
pub(super) fn asks(event: &Event) -> bool {
    let words = json::read(&event.about).ok().and_then(|about| about.text_of("last_assistant_message"));
    words.is_some_and(|words| words.trim_end().ends_with('?'))
}
