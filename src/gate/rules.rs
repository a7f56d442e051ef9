//! Says what the user's own rules say about a call.
//!
//! Reads the rules of the policy in force and the call as the context describes it; writes nothing. Invariant: of several
//! rules that match the strictest speaks; a rule that asks where nobody can answer refuses. Way out: the rule's own
//! reason, or a person who does it or changes the rule.

use super::Context;
use crate::config::policy::rule::{Action, Called};
use crate::model::event::Event;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::text::template::{Phrase, one_line};

const GATE: &str = "rules";

/// The call of this event as rules see it.
pub fn called<'a>(session: &'a Session, event: &'a Event, context: &'a Context) -> Option<Called<'a>> {
    let call = event.call.as_ref().filter(|_| event.name == "PreToolUse")?;
    Some(Called {
        tool: &call.key.tool,
        effect: context.effect?,
        paths: &context.paths,
        commands: &context.commands,
        project: &session.memory.root,
        home: &context.home,
    })
}

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let Some(called) = called(session, event, context) else { return Verdict::pass() };
    let policy = session.policy();
    let matching = policy.rules.iter().filter(|rule| rule.matches(&called));
    matching.fold(Verdict::pass(), |verdict, rule| {
        let values = vec![
            ("rule", one_line(&rule.id, 64)),
            ("file", "the configuration".to_owned()),
            ("reason", one_line(&rule.reason, 600)),
        ];
        let phrase = Phrase::new("refusals/rule.md", values);
        let ruling = match rule.action {
            Action::Warn => Ruling::Pass,
            Action::Ask if context.attended || context.defers => Ruling::Ask,
            Action::Ask | Action::Deny => Ruling::Deny,
        };
        let said = Verdict { ruling, gate: GATE, phrase: Some(phrase), ..Verdict::pass() };
        if verdict.phrase.is_none() || ruling > verdict.ruling { said } else { verdict }
    })
}
