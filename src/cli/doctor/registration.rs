//! Checks that every event calls us, once, and that nothing switches hooks off.
//!
//! Reads the scene; writes nothing.

use super::scene::{Kind, Scene};
use super::{Finding, shell_word};
use crate::model::event::EVENTS;
use std::collections::BTreeSet;

/// Every settings file can be read: the client drops one that cannot, and all hooks in it.
pub(super) fn settings(scene: &Scene) -> Vec<Finding> {
    let broken = scene.places.iter().filter_map(|place| Some((place, place.error.as_ref()?)));
    let findings: Vec<_> = broken
        .map(|(place, error)| {
            let path = place.path.display();
            let words = error.lines().next().unwrap_or_default();
            let finding = format!("`{path}` cannot be read: {words}");
            Finding::bad("settings", finding, format!("make `{path}` plain JSON, without comments and trailing commas"))
        })
        .collect();
    or_well(findings, "settings", "every settings file can be read")
}

/// Every event of the table is registered, as we would register it today.
pub(super) fn registered(scene: &Scene) -> Vec<Finding> {
    let wanted = || EVENTS.iter().filter(|kind| kind.timeout > 0).map(|kind| kind.name);
    let missing: Vec<_> = wanted().filter(|name| scene.ours().all(|(_, one)| one.event != *name)).collect();
    let outdated: BTreeSet<_> =
        scene.ours().filter(|(_, one)| !one.current).map(|(place, one)| (&place.path, &one.event)).collect();
    if scene.ours().next().is_none() {
        return vec![Finding::bad("registered", "not registered for any event", "run `aops-hook install`")];
    }
    let mut findings = Vec::new();
    if !missing.is_empty() {
        let finding = format!("not registered for {}", several(&missing));
        findings.push(Finding::bad("registered", finding, format!("run `aops-hook install{}`", level(scene))));
    }
    if let Some((path, _)) = outdated.first() {
        let events: Vec<_> = outdated.iter().map(|(_, event)| event.as_str()).collect();
        let finding = format!("not as this version registers, in `{}`: {}", path.display(), several(&events));
        findings.push(Finding::bad("registered", finding, format!("run `aops-hook install{}`", level(scene))));
    }
    let files: BTreeSet<_> = scene.ours().map(|(place, _)| format!("`{}`", place.path.display())).collect();
    let files: Vec<_> = files.iter().map(String::as_str).collect();
    or_well(findings, "registered", &format!("{} events in {}", wanted().count(), files.join(", ")))
}

/// The option for the settings that already name us, so that a fix does not register us twice.
pub(super) fn level(scene: &Scene) -> String {
    let there = scene.ours().find_map(|(place, _)| match place.kind {
        Kind::Settings(level) => Some(level),
        _ => None,
    });
    there.map_or(String::new(), |level| format!(" --{}", level.name()))
}

/// `disableAllHooks` in any file switches off all hooks of all files.
pub(super) fn switched_on(scene: &Scene) -> Vec<Finding> {
    let off = scene.places.iter().filter(|place| place.survey.disabled);
    let findings: Vec<_> = off
        .map(|place| {
            let path = place.path.display();
            let finding = format!("`disableAllHooks` in `{path}` switches every hook off");
            Finding::bad("switched on", finding, format!("remove `disableAllHooks` from `{path}`"))
        })
        .collect();
    or_well(findings, "switched on", "no settings file disables hooks")
}

/// Under `allowManagedHooksOnly` only an administrator can register us.
pub(super) fn managed(scene: &Scene) -> Vec<Finding> {
    let only = scene.places.iter().find(|place| place.kind == Kind::Managed && place.survey.managed_only);
    let there = scene.ours().any(|(place, _)| place.kind == Kind::Managed);
    let Some(place) = only.filter(|_| !there) else {
        return vec![Finding::well("managed", "no managed setting keeps the hooks out")];
    };
    let path = place.path.display();
    vec![Finding::bad(
        "managed",
        format!("`allowManagedHooksOnly` in `{path}` keeps the hooks out"),
        format!("ask the administrator to register `aops-hook` in `{path}`, or to remove `allowManagedHooksOnly`"),
    )]
}

/// No event is registered in two places: the client would run us twice.
pub(super) fn once(scene: &Scene) -> Vec<Finding> {
    let mut places: Vec<_> = scene.places.iter().filter(|place| !place.survey.ours.is_empty()).collect();
    let mut findings = Vec::new();
    for place in &places {
        let mut seen = BTreeSet::new();
        let twice: Vec<_> =
            place.survey.ours.iter().map(|one| one.event.as_str()).filter(|e| !seen.insert(*e)).collect();
        if !twice.is_empty() {
            let finding = format!("registered twice in `{}`: {}", place.path.display(), several(&twice));
            findings.push(Finding::bad("once", finding, format!("run `aops-hook install{}`", level(scene))));
        }
    }
    // The widest settings stay; a plugin gives way to them.
    let first = (!places.is_empty()).then(|| places.remove(0));
    for place in places {
        let wide = first.map(|place| place.path.display().to_string()).unwrap_or_default();
        let finding = format!("registered in `{wide}` and again in `{}`", place.path.display());
        let fix = match place.kind {
            Kind::Settings(level) => format!("run `aops-hook uninstall --{}`", level.name()),
            Kind::Plugin => format!("run `claude plugin disable {}`", place.plugin),
            Kind::Managed => format!("remove our entries from {}", shell_word(&place.path)),
        };
        findings.push(Finding::bad("once", finding, fix));
    }
    or_well(findings, "once", "no event is registered twice")
}

/// `A`, `B` and 28 more.
pub(super) fn several(names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(4).map(|name| format!("`{name}`")).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

pub(super) fn or_well(findings: Vec<Finding>, check: &'static str, well: &str) -> Vec<Finding> {
    if findings.is_empty() { vec![Finding::well(check, well)] } else { findings }
}
