//! What a prompt or a plan means for tasks that the person interrupted, and what the person is told.
//!
//! Reads session, prompt and plan; writes nothing. Invariants: a task that left nothing is not parked; in
//! mode `strict` only a plan continues an earlier task.

use super::{Context, Found, Unstopped};
use crate::config::policy::ModeLevel;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::verdict::Verdict;
use crate::session::agent_report::AgentReport;
use crate::session::fact::{Fact, GoesOn, LeftChanged, TaskChosen, TaskMove, TurnBefore};
use crate::session::fold::Session;
use crate::session::memory::Parked;
use crate::session::prompt::Prompt;
use crate::text::plain::{count, title};
use crate::text::template::one_line;

/// Two words count as the same if this many letters agree: `refactor`, `refactoring`.
const ALIKE: usize = 5;

/// Parked tasks that left nothing are over. The newest comes first, so that the other positions stay valid.
pub(super) fn over(context: &Context) -> impl Iterator<Item = Fact> {
    let drop = |at: &u64| {
        let by = "aops-hook: everything is committed, so it".to_owned();
        Fact::Task(TaskChosen { alone: false, at: Some(*at), by, held: false, how: TaskMove::Drop })
    };
    over_of(context).iter().rev().map(drop)
}

fn over_of(context: &Context) -> &[u64] {
    if let Found::Prompt(prompt) = &context.found { &prompt.over } else { &[] }
}

/// Tells the person which task is parked, and how to continue it. A small one owes nothing anyway.
pub(super) fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let looped = matches!(session.mode(), ModeLevel::Loop | ModeLevel::Strict);
    let prompts = event.kind() == EventKind::UserPromptSubmit && session.is_unfinished();
    let turn =
        context.earlier.unstopped.as_ref().filter(|turn| turn.interrupted && turn.files > 0 && prompts);
    let Some(turn) = turn.filter(|_| looped && !session.is_small()) else { return Verdict::pass() };
    if goes_on(session, event, context) == Some(GoesOn::InHand) {
        return Verdict::pass();
    }
    let task = session.state.task.as_ref().and_then(|task| task.intent.as_deref()).unwrap_or_default();
    let words = format!(
        "parked: {} ({} changed, not committed)\n\
         hint: `aops-hook task resume` goes on with it, `aops-hook task drop` lets it go",
        one_line(title(task), 120),
        count(turn.files, "file")
    );
    Verdict::notice(GateId::Owed, words)
}

/// Which task a prompt continues: the one that was just interrupted, or a parked one.
pub(super) fn goes_on(session: &Session, event: &Event, context: &Context) -> Option<GoesOn> {
    let ordinary = context.prompt() == Prompt::Ordinary && context.stage.is_none();
    if ordinary && session.memory.progress.prompts.resumed && session.is_unfinished() {
        return Some(GoesOn::InHand);
    }
    let named = Prompt::goes_on_with(event.prompt()).filter(|_| context.prompt() == Prompt::Ordinary)?;
    let interrupted = context.earlier.unstopped.as_ref().is_some_and(|turn| turn.interrupted);
    let planned = !session.state.state.hydration_pending && context.stage.is_none();
    let clear = named.is_empty() || !session.plans_first();
    if interrupted && planned && clear && session.is_unfinished() {
        return Some(GoesOn::InHand);
    }
    let free = !interrupted && !session.plans_first() && !session.is_unfinished() && context.stage.is_none();
    let taken_up = if free { named_task(session, context, &named) } else { None };
    let parked = interrupted || !session.memory.parked.is_empty();
    taken_up.map(GoesOn::Parked).or(parked.then_some(GoesOn::Wished))
}

/// The parked task that these words name. Without words, the newest, if a person or the agent asked for it
/// before.
fn named_task(session: &Session, context: &Context, named: &[String]) -> Option<u64> {
    let living: Vec<&Parked> = (0..)
        .zip(&session.memory.parked)
        .filter(|(at, _)| !over_of(context).contains(at))
        .map(|(_, task)| task)
        .collect();
    let fits = |task: &Parked| {
        let texts = [&task.intent, &task.hydration.original_prompt].into_iter().flatten();
        let words: Vec<String> = texts.flat_map(|text| words(text)).collect();
        named.iter().any(|word| words.iter().any(|other| are_alike(word, other)))
    };
    let at = if named.is_empty() {
        living.len().checked_sub(1).filter(|at| living[*at].wanted)
    } else {
        living.iter().rposition(|task| fits(task))
    };
    at.and_then(|at| u64::try_from(at).ok())
}

fn words(text: &str) -> impl Iterator<Item = String> + use<'_> {
    text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase)
}

fn are_alike(one: &str, other: &str) -> bool {
    let begins = |text: &str| text.chars().take(ALIKE).collect::<String>();
    one.chars().count() >= ALIKE && begins(one) == begins(other) || one.len() > 2 && one == other
}

/// After the person interrupted a turn, its task is parked, or over if it left nothing. In mode `strict` the
/// next plan says whether such a task continues.
pub(super) fn left_by(session: &Session, turn: &Unstopped, goes_on: Option<GoesOn>) -> TurnBefore {
    if goes_on == Some(GoesOn::InHand) {
        return TurnBefore::Kept;
    }
    match turn.files {
        0 if session.plans_first() => TurnBefore::Kept,
        0 => TurnBefore::Left,
        files => TurnBefore::Parked(LeftChanged { files, paths: turn.paths.clone() }),
    }
}

/// The parked task that a plan continues: the one that it names, or the newest if the person asked for it and
/// the current task is over.
pub(super) fn planned(session: &Session, plan: &AgentReport) -> Option<u64> {
    let parked = &session.memory.parked;
    let wanted = parked.last().is_some_and(|task| task.wanted) && !session.is_unfinished();
    let newest = (wanted && plan.continues()).then_some(1);
    (parked.len() as u64).checked_sub(plan.parked.or(newest)?)
}
