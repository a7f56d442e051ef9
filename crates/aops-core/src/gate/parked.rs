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
use crate::session::parked::MOST_PARKED;
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

/// The task that the person's slash command drops or resumes, and what it is about; or why there is none.
pub(super) fn chosen(session: &Session, context: &Context) -> Option<Result<(TaskChosen, String), String>> {
    let Found::Prompt(prompt) = &context.found else { return None };
    let (how, n) = prompt.task?;
    let of_parked = |task: &Parked| task.intent.clone().or_else(|| task.hydration.original_prompt.clone());
    let mut all: Vec<Option<String>> = (0..)
        .zip(&session.memory.parked)
        .filter(|(at, _)| !over_of(context).contains(at))
        .map(|(_, task)| of_parked(task))
        .collect();
    // The turn that was just interrupted is parked by this event.
    let left = context.earlier.unstopped.as_ref().filter(|turn| turn.interrupted && session.is_unfinished());
    let parks = left.map(|turn| left_by(session, turn, None));
    let in_hand = session.state.task.as_ref().and_then(|task| task.intent.clone());
    let over = matches!(parks, Some(TurnBefore::Left));
    if matches!(parks, Some(TurnBefore::Parked(_))) {
        all.push(in_hand.clone());
        all.drain(..all.len().saturating_sub(MOST_PARKED));
    }
    let is_unfinished = session.is_unfinished() && !over && !matches!(parks, Some(TurnBefore::Parked(_)));
    let at = usize::try_from(n.unwrap_or(1)).ok().and_then(|n| all.len().checked_sub(n));
    let task = match at {
        Some(at) => all[at].clone(),
        None if n.is_some() => return Some(Err(format!("there is no task {}", n.unwrap_or_default()))),
        None if how == TaskMove::Drop && is_unfinished => in_hand,
        None => return Some(Err("no task was interrupted".to_owned())),
    };
    let resumes = how == TaskMove::Resume;
    let chosen = TaskChosen {
        alone: resumes && !is_unfinished,
        at: at.map(|at| at as u64),
        by: "a person, by `/aops-task`,".to_owned(),
        held: resumes,
        how,
    };
    Some(Ok((chosen, one_line(title(&task.unwrap_or_default()), 60))))
}

/// What the person's choice did, for the person.
fn tell_chosen(chosen: Result<(TaskChosen, String), String>) -> Verdict {
    let words = match chosen {
        Ok((chosen, task)) => format!("{task}: {}", chosen.how.result()),
        Err(why) => format!("{why}\nhint: `/aops-task list` shows them"),
    };
    Verdict::notice(GateId::Owed, words)
}

/// Tells the person which task is parked, and how to continue it. A small one owes nothing anyway.
pub(super) fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    if let Some(chosen) = chosen(session, context) {
        return tell_chosen(chosen);
    }
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
         hint: `/aops-task resume` continues it, `/aops-task drop` drops it; in a terminal: `aops-hook task resume`, `aops-hook task drop`",
        one_line(title(task), 120),
        count(turn.files, "file")
    );
    Verdict::notice(GateId::Owed, words)
}

/// Which task a prompt continues: the one that was just interrupted, or a parked one once its files are
/// changed.
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

/// The parked task that these words name.
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
    living.iter().rposition(|task| fits(task)).and_then(|at| u64::try_from(at).ok())
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
