//! Parses one of our own answers as the client would.
//!
//! Reads nothing but its argument. Used by commands that run the hook as the client does. Invariant: what `answer` writes as
//! a refusal is read as one, for every event.

use crate::text::json::{self, Json};

/// What the client understands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub refused: bool,
    /// A person is to decide.
    pub asks: bool,
    /// Why it was refused or asked.
    pub reason: String,
    /// For the model, beside the ruling.
    pub context: String,
    /// For the user.
    pub notice: String,
    /// The turn ends.
    pub ends_turn: bool,
}

/// The meaning of an answer: what the hook printed, and its exit code.
pub fn hear(stdout: &str, exit: i32) -> Heard {
    let mut heard = Heard { refused: exit == 2, ..Heard::default() };
    let Ok(json) = json::read(stdout) else { return heard };
    let own = json.get("hookSpecificOutput");
    let of_own = |name: &str| own.and_then(|own: &Json| own.text_of(name));
    let dialog = own.and_then(|own| own.get("decision"));
    heard.asks = matches!(of_own("permissionDecision").as_deref(), Some("ask" | "defer"));
    let reason = of_own("permissionDecisionReason").or_else(|| dialog?.text_of("message"));
    heard.reason = reason.or_else(|| json.text_of("reason")).unwrap_or_default();
    heard.context = of_own("additionalContext").unwrap_or_default();
    heard.notice = json.text_of("systemMessage").unwrap_or_default();
    heard.ends_turn = matches!(json.get("continue"), Some(Json::Bool(false)));
    heard
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::wire::answer::spell;
    use crate::model::event::{EVENTS, Refusal};
    use crate::model::verdict::{Ruling, Verdict};

    #[test]
    fn every_refusal_is_heard() {
        for kind in EVENTS.iter().filter(|kind| kind.refusal != Refusal::None) {
            let answer = spell(kind.kind, &Verdict::halt("x", "no\nhint: y").join(Verdict::notice("x", "told")));
            let heard = hear(&answer.stdout, answer.exit.into());
            let wanted = Heard {
                refused: true,
                reason: "no\nhint: y".to_owned(),
                notice: "told".to_owned(),
                ends_turn: true,
                ..Heard::default()
            };
            assert_eq!(heard, wanted, "{}", kind.name);
        }
    }

    #[test]
    fn silence_context_and_questions() {
        let pre = crate::model::event::EventKind::PreToolUse;
        assert_eq!(hear("", 0), Heard::default());
        let context = spell(pre, &Verdict::context("x", "know this"));
        assert_eq!(hear(&context.stdout, 0).context, "know this");
        let ask = Verdict { ruling: Ruling::Ask, gate: "x", reason: "may it?".to_owned(), ..Verdict::default() };
        let heard = hear(&spell(pre, &ask).stdout, 0);
        assert!(heard.asks && !heard.refused && heard.reason == "may it?", "{heard:?}");
    }
}
