//! Applies the guard to each event: calls, changed settings, and what a write turned out to have done.
//!
//! Reads what the context says the call reaches, or what the settings file says now; writes nothing.
//! Invariant: reading is free. Way out: a person edits the file or runs the verb in their own terminal.

use super::{CallContext, Context, EndContext, Found, SettingsContext, SettingsEdit, danger, guard};
use crate::config::policy::ModeLevel;
use crate::gate::guard::Protected;
use crate::host::claude::disarm;
use crate::model::agent::AgentId;
use crate::model::event::{Event, EventKind, SettingsChanged, What};
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::session::prompt::Prompt;
use crate::text::template::{Phrase, one_line};
use crate::tool::danger::{Rule, Severity};

const GATE: GateId = GateId::Guard;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    match (&event.what, &context.found) {
        (_, Found::Call(call)) => {
            let said = reaches_page(session, event).unwrap_or_else(|| judge_call(session, call, context));
            said.join(uncounted_plan(session, context))
        }
        (What::Prompted(_), _) => unproven_prompt(context),
        (What::Plain(EventKind::SubagentStart), _) => unproven_agent(event, context),
        (What::Configured(change), Found::Settings(settings)) => config_change(session, change, settings),
        (_, Found::End(end)) => after_write(end),
        _ => Verdict::pass(),
    }
}

/// Questions are answered on that page by people, so no call may reach it.
fn reaches_page(session: &Session, event: &Event) -> Option<Verdict> {
    let call = event.asked_call()?;
    let address = guard::page::named(&session.policy().fleet, &call.key.tool, &call.input)?;
    let words = format!(
        "`{address}` is where people answer runs; a tool call may not reach it\nhint: ask the user to open it in a browser, or to run `aops-hook fleet`"
    );
    Some(Verdict::deny(GATE, words))
}

/// Refuses what only a person may do; asks about calls that bring programs our hooks do not see.
fn judge_call(session: &Session, call: &CallContext, context: &Context) -> Verdict {
    let said = judge_reach(session, call, context);
    match danger::words(session, call, breaks_more).filter(|_| said.ruling != Ruling::Pass) {
        Some(words) => {
            let rule = words.iter().find(|(name, _)| *name == "rule").map(|(_, id)| id.clone());
            let asks = said.ruling == Ruling::Ask && context.attended;
            let text = if asks { "refusals/danger-ask.md" } else { "refusals/danger-guard.md" };
            let phrase = Some(Phrase::new(text, words));
            Verdict { rule, phrase, reason: String::new(), ..said }
        }
        None => said,
    }
}

fn judge_reach(session: &Session, call: &CallContext, context: &Context) -> Verdict {
    let observes = session.mode() == ModeLevel::Observe;
    match &call.guard.settings {
        Some(SettingsEdit::Loses(why)) => {
            let words = format!(
                "this edit was blocked: {why}\nhint: leave the entries of aops-hook as they are, or ask the user to make the change in an editor of their own"
            );
            return Verdict::deny(GATE, words);
        }
        Some(SettingsEdit::Keeps) if observes => return Verdict::pass(),
        Some(SettingsEdit::Keeps) => {
            let words = "this changes the client's own settings, such as hooks and permissions".to_owned();
            return ask_person(&words, None, context);
        }
        None => {}
    }
    if observes {
        return guard::judge(&Protected { own_alone: true, ..call.guard.protected.clone() }, &call.reach);
    }
    let said = guard::judge(&call.guard.protected, &call.reach);
    if said.ruling == Ruling::Deny {
        return said;
    }
    let written = call.guard.executable.clone().map(|(words, never)| (words, None, never));
    let command =
        || guard::asked(&call.guard.protected, &call.reach).map(|(words, hint)| (words, hint, false));
    let Some((words, hint, never)) = written.or_else(command) else { return said };
    if never { refuse_alone(&words, hint) } else { ask_person(&words, hint, context) }
}

/// Asks if a person is there, refuses otherwise.
fn ask_person(words: &str, hint: Option<String>, context: &Context) -> Verdict {
    if !(context.attended || context.defers) {
        return refuse_alone(words, hint);
    }
    let reason = format!("{}\nApprove only if you expected it.", one_line(words, 400));
    Verdict { ruling: Ruling::Ask, ..Verdict::deny(GATE, reason) }
}

fn refuse_alone(words: &str, hint: Option<String>) -> Verdict {
    let words = one_line(words, 400);
    let hint =
        hint.unwrap_or_else(|| "ask the user to do this in an editor or terminal of their own".to_owned());
    Verdict::deny(GATE, format!("{words}: no tool call may do this without a person\nhint: {hint}"))
}

/// What this rule finds breaks more than the files that guard the session: `rm -rf /`.
fn breaks_more(rule: &Rule) -> bool {
    rule.severity == Severity::Critical || matches!(rule.id(), "kill-all" | "system-write")
}

/// A prompt that claims what only a person may claim is treated like any other, and the user is told why.
fn unproven_prompt(context: &Context) -> Verdict {
    let Some(why) = &context.unproven else { return Verdict::pass() };
    let what = if context.prompt() == Prompt::Machine {
        "this prompt does not lift the halt"
    } else {
        "this prompt waives nothing"
    };
    let words = format!(
        "{what}: {}\nhint: type it in a client that no session started; text that a timer or a hook sends does not count",
        one_line(why, 200)
    );
    Verdict::notice(GATE, words)
}

/// A hook may approve the plan in the person's place, so the approval does not count: said once.
fn uncounted_plan(session: &Session, context: &Context) -> Verdict {
    let Some(file) =
        context.call().and_then(|call| call.plan.hook.as_ref()).filter(|_| !session.memory.told.plan_hook)
    else {
        return Verdict::pass();
    };
    let words = format!(
        "your approval of this plan does not count: a hook in `{}` can approve plans in your place\nhint: remove that hook and start the client again, or let the agent `{}` make the plan",
        one_line(file, 200),
        context.agent(AgentId::Hydrator),
    );
    Verdict::notice(GATE, words)
}

fn unproven_agent(event: &Event, context: &Context) -> Verdict {
    let Some(why) = &context.unproven else { return Verdict::pass() };
    let agent = one_line(event.agent_type.as_deref().unwrap_or_default(), 64);
    let words = format!(
        "the verdict of `{agent}` will not count: {}\nhint: start it with the tool `Agent`",
        one_line(why, 200)
    );
    Verdict::notice(GATE, words)
}

fn config_change(session: &Session, change: &SettingsChanged, settings: &SettingsContext) -> Verdict {
    let held = session.memory.watched.held.get(&change.file_path).map_or(&[][..], Vec::as_slice);
    let unread = settings.unread.then(|| "it is too large to be read".to_owned());
    let Some(why) = unread.or_else(|| disarm::disarms(&settings.text, held)) else { return Verdict::pass() };
    let path = one_line(&change.file_path, 200);
    let words = format!(
        "the change of `{path}` is not applied to this session: {why}\nhint: to remove our hooks, a person ends the session and runs `aops-hook uninstall`"
    );
    Verdict::deny(GATE, words)
}

/// It is too late to refuse, since a shell line can hide what it does: the change is reported, and disabled
/// hooks block the session.
fn after_write(ended: &EndContext) -> Verdict {
    if let Some(why) = &ended.disarmed {
        return Verdict::notice(GATE, format!("the session is blocked: {}", one_line(why, 400)));
    }
    if ended.changed.is_empty() {
        return Verdict::pass();
    }
    let paths = one_line(&ended.changed.join(", "), 400);
    let when = if ended.apart { "since the last tool call, while none ran" } else { "while a tool call ran" };
    Verdict::notice(GATE, format!("changed {when}: {paths}\nhint: check whether that was you"))
}
