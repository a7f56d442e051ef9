//! Applies the user's own rules to a call.
//!
//! Invariants: among several matching rules the strictest counts; a rule that asks refuses if no person can
//! answer. Way out: the rule's own reason, or a person who makes the call or changes the rule.

use super::Context;
use crate::config::policy::rule::{Action, Called};
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::text::template::{Phrase, one_line};

const GATE: GateId = GateId::Rules;

/// The call of this event in the form that rules are compared with.
pub fn called<'a>(session: &'a Session, event: &'a Event, context: &'a Context) -> Option<Called<'a>> {
    let call = event.asked_call()?;
    let seen = context.call()?;
    Some(Called {
        tool: &call.key.tool,
        effect: seen.does.effect,
        paths: &seen.rules.paths,
        read: &seen.rules.read,
        commands: &seen.rules.commands,
        project: &session.memory.place.root,
        home: &seen.guard.protected.home,
    })
}

/// The rules that warn about this call, which passes.
pub(super) fn warned(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> Vec<String> {
    let warning = session.policy().rules.iter().filter(|rule| rule.action == Action::Warn);
    let mut warning = warning.filter(|_| verdict.ruling < Ruling::Ask).peekable();
    let called = warning.peek().and_then(|_| called(session, event, context));
    let matching = warning.filter(|rule| called.as_ref().is_some_and(|called| rule.matches(called)));
    matching.map(|rule| one_line(&rule.id, 64)).collect()
}

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let Some(called) = called(session, event, context) else { return Verdict::pass() };
    let matching = session.policy().rules.iter().filter(|rule| rule.matches(&called));
    matching.fold(Verdict::pass(), |verdict, rule| {
        let way = context.way_to_be_asked(event).filter(|_| rule.action == Action::Ask);
        let values = vec![
            ("others", way.unwrap_or_default()),
            ("rule", one_line(&rule.id, 64)),
            ("file", "the configuration".to_owned()),
            ("reason", one_line(&rule.reason, 600)),
        ];
        let ruling = match rule.action {
            Action::Warn => Ruling::Pass,
            Action::Ask if context.attended || context.defers => Ruling::Ask,
            Action::Ask | Action::Deny => Ruling::Deny,
        };
        let asks = ruling == Ruling::Ask && context.attended;
        let template = match rule.action {
            Action::Warn => "refusals/rule-warn.md",
            _ if asks => "refusals/rule-ask.md",
            _ => "refusals/rule.md",
        };
        let phrase = Phrase::new(template, values);
        let id = Some(one_line(&rule.id, 64));
        let said = Verdict { ruling, gate: Some(GATE), rule: id, phrase: Some(phrase), ..Verdict::pass() };
        if verdict.phrase.is_none() || ruling > verdict.ruling { said } else { verdict }
    })
}
