//! Refuses commands that the jail must confine but cannot, and says which lines can be tried in it.
//!
//! Reads what the session's start found out about the kernel; writes nothing. Invariants: without a working
//! jail nothing passes that would not pass otherwise; a command in a throwaway layer is not work. Way out:
//! each refusal names it.

use super::{CallContext, Context, Unheld};
use crate::config::policy::ModeLevel;
use crate::config::policy::jail::JailLevel;
use crate::config::policy::network::NetworkMode;
use crate::model::call::ToolCall;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::profile::JailState;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::text::template::one_line;

const GATE: GateId = GateId::Jail;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    match event.kind() {
        EventKind::PreToolUse => {
            event.call().map_or_else(Verdict::pass, |call| before(session, call, context))
        }
        EventKind::PostToolUse | EventKind::PostToolUseFailure => after(session, context),
        _ => Verdict::pass(),
    }
}

/// The way out for the person.
pub const LED_PAST: &str = "take it out of the `env` of those settings, or set it in the shell that starts the client; then start it again";

/// Tools whose commands the client starts through us.
pub fn runs_shell(call: &ToolCall) -> bool {
    is_shell(&call.key.tool)
}

pub fn is_shell(tool: &str) -> bool {
    matches!(tool, "Bash" | "Monitor")
}

pub fn is_on(session: &Session) -> bool {
    session.memory.client.jail.as_ref().is_some_and(JailState::is_on)
}

fn before(session: &Session, call: &ToolCall, context: &Context) -> Verdict {
    if !runs_shell(call) {
        return Verdict::pass();
    }
    if let Some(jail) = session.memory.client.jail.as_ref().filter(|jail| jail.led_past) {
        if session.mode() == ModeLevel::Observe {
            return Verdict::pass();
        }
        return Verdict::deny(
            GATE,
            format!("{}\nhint: ask the user to {LED_PAST}", one_line(&jail.why, 400)),
        );
    }
    if !is_on(session) {
        let required = session.policy().jail.level == JailLevel::Require;
        let why = session
            .memory
            .client
            .jail
            .as_ref()
            .map_or("the client does not start commands through us", |jail| &jail.why);
        let words = format!(
            "the jail is required here and does not work: {}\nhint: ask the user to run `aops-hook doctor`, which says what to do; reading with Read and Grep is free",
            one_line(why, 200)
        );
        return if required { Verdict::deny(GATE, words) } else { Verdict::pass() };
    }
    match context.call().map(|seen| &seen.jail.unheld) {
        Some(_) if session.mode() == ModeLevel::Observe => Verdict::pass(),
        Some(Unheld::Within(program)) => Verdict::deny(
            GATE,
            format!(
                "`{program}` cannot run inside the jail, and the rest of this line must\nhint: run `{program} …` as a line of its own, with plain words: no variable, pattern or redirection"
            ),
        ),
        Some(Unheld::Alone { program, hands: Some(hands) }) => handed(session, program, hands, context),
        _ => Verdict::pass(),
    }
}

/// Outside of the jail nothing confines the programs that it starts, so a person must approve it.
fn handed(session: &Session, program: &str, hands: &str, context: &Context) -> Verdict {
    let is_judged = session.policy().network.mode >= NetworkMode::Ask;
    let online = if is_judged { " with the machine's network" } else { "" };
    let words =
        one_line(&format!("`{program}` runs outside of the jail{online}, and `{hands}` is not known"), 400);
    if !(context.attended || context.defers) {
        let hint = "ask the user to run it in a terminal of their own";
        return Verdict::deny(
            GATE,
            format!("{words}: no tool call may do this without a person\nhint: {hint}"),
        );
    }
    let reason = format!("{words}\nApprove only if you know what it does.");
    Verdict { ruling: Ruling::Ask, ..Verdict::deny(GATE, reason) }
}

/// The line is a single program that cannot run inside the jail.
pub fn leaves(seen: &CallContext) -> bool {
    matches!(seen.jail.unheld, Unheld::Alone { .. })
}

/// The notice about a command that left no proof.
fn after(session: &Session, context: &Context) -> Verdict {
    if !context.end().is_some_and(|end| end.unproven) {
        return Verdict::pass();
    }
    let then = if blocks(session) { "; the session is blocked" } else { "" };
    let words = format!(
        "a command ran outside this session's jail{then}\nhint: check whether a file sets `CLAUDE_CODE_SHELL_PREFIX` again"
    );
    Verdict::notice(GATE, words)
}

/// In mode `strict` a command without proof blocks the session.
pub fn blocks(session: &Session) -> bool {
    session.mode() == ModeLevel::Strict
}

/// This line would be refused because we do not know what it does; it can run in a throwaway layer instead.
pub fn tries(session: &Session, context: &Context) -> bool {
    let holds = session.memory.client.jail.as_ref().is_some_and(|jail| jail.is_on() && jail.trial);
    holds && context.call().is_some_and(|seen| seen.jail.unknown && !leaves(seen))
}
