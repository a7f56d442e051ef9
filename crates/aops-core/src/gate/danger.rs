//! Stops dangerous calls: those that lose work or history, break the system, run foreign code, read secrets
//! or publish things.
//!
//! Invariants: if a rule allows a loss that is kept first, the call passes only if all of it can be kept; a
//! rule that asks refuses if no person can answer; among several rules the strictest counts. Way out: the
//! alternative that the rule names, a person who runs the command, or a person who switches the rule off.

use super::{CallContext, Context, Keeps, level, secrets};
use crate::config::policy::{DangerLevel, Level};
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::verdict::{KeptFirst, Ruling, Verdict};
use crate::session::fold::Session;
use crate::session::question::SecretFile;
use crate::text::template::{Phrase, one_line};
use crate::tool::danger::{Danger, Rule};

const GATE: GateId = GateId::Danger;
/// Name of the question about a loss that no rule finds, and of what is kept without a rule.
pub const ONLY_COPY: &str = "only-copy";

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let (Some(_), Some(seen)) = (event.asked_call(), context.call()) else { return Verdict::pass() };
    // The keys that sign the log are never shown to a tool, whatever the user allows.
    let ours = seen.guard.keys.as_ref().map(|danger| (DangerLevel::Deny, danger));
    let Some((level, danger)) = ours.or_else(|| worst(session, seen)) else { return unkept(seen, context) };
    let is_kept =
        level == DangerLevel::Keep && matches!(seen.danger.keeps, Keeps::All { .. } | Keeps::Nothing);
    if is_kept
        || level <= DangerLevel::Ask
            && seen.guard.keys.is_none()
            && secrets::is_approved(session, event, seen, danger)
    {
        return Verdict::pass();
    }
    let asks = level <= DangerLevel::Ask && (context.attended || context.defers);
    let ruling = if asks { Ruling::Ask } else { Ruling::Deny };
    let words = match (&seen.guard.keys, ruling) {
        (Some(_), _) => "refusals/danger-keys.md",
        (None, Ruling::Ask) if context.attended => "refusals/danger-ask.md",
        _ => "refusals/danger.md",
    };
    let mut values = values(danger);
    if let Some(way) = context.way_to_be_asked(event).filter(|_| level <= DangerLevel::Ask) {
        let others = values.iter_mut().filter(|(name, value)| *name == "others" && !value.is_empty());
        others.for_each(|(_, value)| value.push_str(&way));
    }
    if let (Keeps::Not(why), DangerLevel::Keep) = (&seen.danger.keeps, level) {
        let reason = format!("{}, and it cannot be kept: {why}", danger.rule.reason);
        values
            .iter_mut()
            .filter(|(name, _)| *name == "reason")
            .for_each(|(_, value)| value.clone_from(&reason));
    }
    let phrase = Some(Phrase::new(words, values));
    let rule = Some(danger.rule.id().to_owned());
    Verdict { ruling, gate: Some(GATE), rule, phrase, ..Verdict::pass() }
}

/// The rule that would ask if the call's losses were not kept first.
pub fn kept_by(session: &Session, seen: &CallContext) -> Option<&'static Rule> {
    let is_kept = matches!(seen.danger.keeps, Keeps::All { .. } | Keeps::Nothing)
        && level(session.policy(), GATE) == Level::Enforce;
    let (level, danger) = worst(session, seen).filter(|_| is_kept)?;
    (level == DangerLevel::Keep).then_some(danger.rule)
}

/// What is kept before this call, if it passes.
pub fn kept_first(session: &Session, seen: &CallContext) -> Option<KeptFirst> {
    let rule = kept_by(session, seen).map(|rule| rule.id().to_owned());
    match seen.danger.keeps {
        Keeps::All { files, bytes, .. } => Some(KeptFirst { rule, files, bytes }),
        _ => rule.map(|rule| KeptFirst { rule: Some(rule), ..KeptFirst::default() }),
    }
}

/// No rule matches, but what would be lost is in no commit and cannot be kept: too much, another user's, or
/// on another disk.
fn unkept(seen: &CallContext, context: &Context) -> Verdict {
    let Keeps::Not(what) = &seen.danger.keeps else { return Verdict::pass() };
    let (ruling, next) = if context.attended || context.defers {
        (
            Ruling::Ask,
            "Approve only if nobody needs it any more. `[undo]` in your configuration says how much is kept.",
        )
    } else {
        (Ruling::Deny, "hint: move it below `/tmp`, or ask the user to remove it")
    };
    let reason = format!("this loses the only copy of files that cannot be kept first: {what}\n{next}");
    Verdict { ruling, gate: Some(GATE), rule: Some(ONLY_COPY.to_owned()), reason, ..Verdict::pass() }
}

/// The file of secrets that the question to the person is about.
pub(super) fn asked_file(session: &Session, event: &Event, context: &Context) -> Option<SecretFile> {
    let seen = context.call()?;
    secrets::touched(event, seen, worst(session, seen)?.1)
}

/// Of the active rules that found something, the strictest, then the gravest.
fn worst<'c>(session: &Session, seen: &'c CallContext) -> Option<(DangerLevel, &'c Danger)> {
    let policy = session.policy();
    let mut worst: Option<(DangerLevel, &Danger)> = None;
    for danger in &seen.danger.dangers {
        let level = policy.danger_level(danger.rule);
        let graver = |(known, other): (DangerLevel, &Danger)| {
            (level, danger.rule.severity) > (known, other.rule.severity)
        };
        if level != DangerLevel::Off && worst.is_none_or(graver) {
            worst = Some((level, danger));
        }
    }
    worst
}

fn values(danger: &Danger) -> Vec<(&'static str, String)> {
    let rule = danger.rule;
    // Then the alternative does the same, and no other way is needed.
    let is_enough = rule.id() == "git-force-push" && danger.what.starts_with("git ");
    // What such a line prints in the prompt is sent to the model.
    let shows = rule.id().starts_with("secret-");
    let place = if shows { "in another terminal" } else { "(`! command` in the prompt)" };
    let off = format!("set `[danger] {} = \"off\"` in their configuration", rule.id());
    let others = if is_enough { String::new() } else { format!("; the user can run it {place}, or {off}") };
    vec![
        ("rule", rule.id().to_owned()),
        ("severity", rule.severity.word().to_owned()),
        ("what", one_line(&danger.what, 120).replace('`', "'")),
        ("reason", rule.reason.to_owned()),
        ("instead", rule.instead.to_owned()),
        ("others", others),
    ]
}

/// The rule's words for a call that another gate refuses too, if they say more than that gate's own.
pub fn words(
    session: &Session,
    seen: &CallContext,
    says_more: impl Fn(&Rule) -> bool,
) -> Option<Vec<(&'static str, String)>> {
    let (_, danger) = worst(session, seen)?;
    let held = level(session.policy(), GATE) == Level::Enforce;
    (held && says_more(danger.rule)).then(|| values(danger))
}
