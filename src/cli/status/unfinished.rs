//! The task that a later prompt left unfinished. The end of that turn does not mention it, so these views
//! show it.

use crate::cli::table::{NamedFact, Tone};
use aops_core::session::fold::Session;
use aops_core::text::plain::{count, title};
use aops_core::text::template::one_line;

/// The newest prompt, while it waits for its plan, and the current task. If a later prompt left the task
/// unfinished, its row says how to continue it.
pub(super) fn describe_tasks(session: &Session) -> Vec<NamedFact> {
    let prompt = session.state.hydration.original_prompt.as_ref().filter(|_| is_awaiting_plan(session));
    let prompt =
        prompt.map(|prompt| ("prompt", format!("{} (no plan yet)", tell(Some(prompt), 200)), Tone::Plain));
    prompt.into_iter().chain(describe_task(session)).collect()
}

/// A prompt came that has no plan yet.
fn is_awaiting_plan(session: &Session) -> bool {
    session.state.state.hydration_pending && session.memory.progress.before.is_some()
}

/// The task before the newest prompt is over, and the next one has no plan yet.
pub(super) fn is_between(session: &Session) -> bool {
    is_awaiting_plan(session) && !session.is_unfinished()
}

fn describe_task(session: &Session) -> Option<NamedFact> {
    let task = session.state.task.as_ref().filter(|_| !is_between(session))?;
    let words = format!("{}: {} ({})", task.n, tell(task.intent.as_ref(), 200), count(task.writes, "change"));
    if !is_left(session) {
        return Some(("task", words, Tone::Plain));
    }
    let next = "`aops-hook task` shows it; ask to continue it, or drop it with `aops-hook task drop`";
    Some(("unfinished", format!("{words}; {next}"), Tone::Warn))
}

/// The unfinished task for the status line; also a task that was set aside by a mere question.
pub(super) fn describe_left(session: &Session) -> Option<String> {
    let in_hand = session.state.task.as_ref().filter(|_| is_left(session)).map(|task| &task.intent);
    let newest = session.memory.parked.last().filter(|parked| parked.asked && session.is_mere_question());
    let intent = in_hand.or(newest.map(|parked| &parked.intent))?;
    Some(format!("unfinished: {} (`aops-hook task`)", tell(intent.as_ref(), 40)))
}

fn tell(intent: Option<&String>, most: usize) -> String {
    one_line(title(intent.map_or("no intent", String::as_str)), most)
}

/// Whether it changed something, is not finished, and a newer prompt has no plan yet.
fn is_left(session: &Session) -> bool {
    let worked = session.state.task.as_ref().is_some_and(|task| task.writes > 0);
    worked && session.memory.progress.before.is_some() && session.is_unfinished()
}
