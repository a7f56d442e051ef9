//! Finds settings in a file that have no effect because another setting overrides them.
//!
//! Reads a policy and its origins, writes nothing. Invariant: a default is never reported, only what a file
//! sets.

use super::jail::JailLevel;
use super::key::KEYS;
use super::network::NetworkMode;
use super::{Level, ModeLevel, Origins, Policy, QuietLevel, SourceLine};
use crate::model::gate_id::GateId;
use std::borrow::Cow;
use std::fmt;

/// A setting without effect, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Idle<'a> {
    pub key: String,
    pub at: &'a SourceLine,
    pub why: Cow<'static, str>,
}

impl fmt::Display for Idle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "`{}` ({}) has no effect: {}", self.key, self.at, self.why)
    }
}

pub fn find<'a>(policy: &Policy, origins: &'a Origins) -> Vec<Idle<'a>> {
    let mut all = Vec::new();
    let mut name = |key: &str, why: Option<&'static str>| {
        if let Some((why, at)) = why.zip(origins.of(key).last()) {
            all.push(Idle { key: key.to_owned(), at, why: why.into() });
        }
    };
    for key in KEYS.iter() {
        name(key.name, why_key(key.name, policy, origins));
    }
    for check in &policy.checks {
        let is_off = !is_held(policy, GateId::Checks, policy.gates.checks);
        name(&format!("check.{}", check.id), is_off.then_some("`gates.checks` is off"));
    }
    let why = "the administrator's bundle is stricter";
    all.extend(origins.overruled().iter().map(|(key, at)| Idle { key: key.clone(), at, why: why.into() }));
    all
}

/// The gate has this level, or any level in the mode that mode `observe` rehearses.
fn is_held(policy: &Policy, gate: GateId, level: Level) -> bool {
    let rehearsed = || policy.mode.rehearse.level().default_for(gate) != Level::Off;
    level != Level::Off || policy.mode.level() == ModeLevel::Observe && rehearsed()
}

fn why_key(key: &str, policy: &Policy, origins: &Origins) -> Option<&'static str> {
    let mode = policy.mode.level();
    let gates = &policy.gates;
    let looped = mode == ModeLevel::Loop
        || mode == ModeLevel::Observe && policy.mode.rehearse.level() == ModeLevel::Loop;
    let audits = is_held(policy, GateId::Audit, gates.audit);
    match key {
        "mode.rehearse" if mode != ModeLevel::Observe => {
            Some("only mode `observe` can rehearse another mode")
        }
        "small.files" | "small.lines" | "small.never" if !looped => Some("only mode `loop` has small tasks"),
        "small.files" | "small.lines" | "small.never" if !is_held(policy, GateId::Sandbox, gates.sandbox) => {
            Some("`gates.sandbox` is off, so no task needs a plan")
        }
        "audit.rate" | "audit.at_least_every" | "audit.grace" if !audits => Some("`gates.audit` is off"),
        "audit.at_least_every" | "audit.grace" if policy.audit.rate.in_millionths() == 0 => {
            Some("`audit.rate` is 0, so no audit is drawn")
        }
        "gates.critic" if gates.critic != Level::Off && !is_held(policy, GateId::Sandbox, gates.sandbox) => {
            Some("`gates.sandbox` is off, so nothing waits for a review")
        }
        "gates.audit" if gates.audit != Level::Off && policy.audit.rate.in_millionths() == 0 => {
            Some("`audit.rate` is 0, so no audit is drawn")
        }
        "jail.harness" | "jail.layer_mb" | "jail.messaging" | "jail.test_network" | "jail.without"
            if policy.jail.level == JailLevel::Off =>
        {
            Some("`jail.level` is off")
        }
        key if key.starts_with("network.")
            && key != "network.mode"
            && policy.network.mode == NetworkMode::Off =>
        {
            Some("`network.mode` is off")
        }
        "network.mode" if policy.network.mode != NetworkMode::Off && policy.jail.level == JailLevel::Off => {
            Some("`jail.level` is off")
        }
        "quiet.network" | "quiet.unattended" if policy.quiet.allow == QuietLevel::Off => {
            Some("`quiet.allow` is off")
        }
        "checkpoint.intervene" if !is_held(policy, GateId::Qa, gates.qa) => Some("`gates.qa` is off"),
        "close.format"
            if !is_held(policy, GateId::Commit, gates.commit()) && !is_held(policy, GateId::Qa, gates.qa) =>
        {
            Some("`gates.commit` and `gates.qa` are off")
        }
        "stop.refusals" if !owes(policy) => Some("no gate can keep a turn from ending"),
        "gates.close" if is_split(origins) => {
            Some("`gates.commit` and `gates.push` are both set and take precedence")
        }
        "effects.read" if policy.effects.read.iter().all(|name| policy.effects.write.contains(name)) => {
            Some("`effects.write` has the same names and takes precedence")
        }
        _ => None,
    }
}

/// Something can be owed at the end of a turn.
fn owes(policy: &Policy) -> bool {
    let gates = &policy.gates;
    let held = [
        (GateId::Qa, gates.qa),
        (GateId::Reflect, gates.reflect),
        (GateId::Commit, gates.commit()),
        (GateId::Push, gates.push()),
    ];
    held.into_iter().any(|(gate, level)| is_held(policy, gate, level))
        || policy.evidence.test.is_some()
        || !policy.checks.is_empty()
}

fn is_split(origins: &Origins) -> bool {
    let close = origins.of("gates.close").last();
    let own = |key: &str| origins.of(key).last().is_some_and(|place| Some(place) != close);
    own("gates.commit") && own("gates.push")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::policy::{Source, read};

    #[test]
    fn what_is_written_for_nothing_is_named() {
        for (text, want) in [
            ("", &[][..]),
            ("small.files = 5", &["small.files"]),
            ("mode.level = \"loop\"\nsmall.files = 5", &[]),
            ("mode.level = \"observe\"\nsmall.files = 5\nmode.rehearse = \"loop\"", &[]),
            ("mode.level = \"loop\"\nsmall.lines = 5\ngates.sandbox = \"off\"", &["small.lines"]),
            ("mode.rehearse = \"strict\"", &["mode.rehearse"]),
            ("mode.level = \"guard\"\naudit.rate = 0.5\nstop.refusals = 2", &["audit.rate", "stop.refusals"]),
            ("mode.level = \"guard\"\ngates.audit = \"warn\"\naudit.rate = 0.5", &[]),
            ("audit.rate = 0\naudit.grace = 1", &["audit.grace"]),
            ("gates.close = \"off\"\ngates.commit = \"warn\"", &[]),
            ("gates.close = \"off\"\ngates.commit = \"warn\"\ngates.push = \"warn\"", &["gates.close"]),
            ("gates.qa = \"off\"\ncheckpoint.intervene = \"rollback\"", &["checkpoint.intervene"]),
            ("gates.critic = \"enforce\"\ngates.sandbox = \"off\"", &["gates.critic"]),
            ("mode.level = \"observe\"\ngates.critic = \"enforce\"", &[]),
            ("gates.audit = \"enforce\"\naudit.rate = 0", &["gates.audit"]),
            (
                "jail.level = \"off\"\njail.test_network = true\njail.without = [\"x\"]",
                &["jail.test_network", "jail.without"],
            ),
            ("jail.test_network = true", &[]),
            ("quiet.network = \"gh\"\nquiet.unattended = true", &["quiet.network", "quiet.unattended"]),
            ("quiet.network = \"gh\"\nquiet.allow = \"reading\"", &[]),
            ("gates.critic = \"off\"\ngates.sandbox = \"off\"", &[]),
            ("effects.read = \"a\"\neffects.write = \"a\"", &["effects.read"]),
            ("gates.checks = \"off\"\n[[check]]\nid = \"x\"\non = \"stop\"\nrun = \"true\"", &["check.x"]),
        ] {
            let (policy, origins) = read(Some(Source { file: "f", text }), None).unwrap();
            let found = find(&policy, &origins);
            assert_eq!(found.iter().map(|idle| idle.key.as_str()).collect::<Vec<_>>(), want, "{text}");
        }
    }
}
