//! Tests the danger gate: when it asks, when it refuses, and which of several rules it names.

use super::*;
use crate::config::policy::{DangerLevel, ModeLevel};
use crate::tool::danger::{self, Danger};

#[test]
fn danger() {
    let found = |ids: &[&str]| {
        let danger = |id: &&str| Danger { rule: danger::rule(id).unwrap(), what: format!("`{id}`") };
        calls(CallContext {
            danger: DangerFacts { dangers: ids.iter().map(danger).collect(), ..DangerFacts::default() },
            ..CallContext::default()
        })
    };
    let attended = |ids: &[&str]| Context { attended: true, ..found(ids) };
    let set = |id: &str, level| with_policy(|policy| policy.danger.extend([(id.to_owned(), level)]));
    refused(&working(), &call("Bash"), &found(&["git-discard"]), "danger", "danger.md");
    assert_eq!(said(&working(), &call("Bash"), &attended(&["git-discard"])).1, Ruling::Ask);
    refused(&working(), &call("Bash"), &attended(&["rm-system"]), "danger", "danger.md");
    refused(
        &set("git-discard", DangerLevel::Deny),
        &call("Bash"),
        &attended(&["git-discard"]),
        "danger",
        "danger.md",
    );
    assert_eq!(
        said(&set("rm-system", DangerLevel::Ask), &call("Bash"), &attended(&["rm-system"])).1,
        Ruling::Ask
    );
    passes(&set("git-discard", DangerLevel::Off), &call("Bash"), &found(&["git-discard"]));
    // Among several rules, it names the strictest, then the gravest.
    let spoken = |ids: &[&str]| {
        let verdict = judge(&working(), &call("Bash"), &attended(ids));
        verdict.phrase.unwrap().values.into_iter().find(|(name, _)| *name == "rule").unwrap().1
    };
    assert_eq!(spoken(&["git-discard", "rm-system", "git-clean"]), "rm-system");
    assert_eq!(spoken(&["startup-write", "git-force-push"]), "git-force-push");
    assert_eq!(spoken(&["git-force-push", "startup-write"]), "git-force-push");
    // In a run a person is asked later; in mode `observe` it is only recorded.
    let run = Context { defers: true, ..found(&["git-discard"]) };
    assert_eq!(said(&working(), &call("Bash"), &run).1, Ruling::Defer);
    let observed = with_policy(|policy| policy.mode.set_level(ModeLevel::Observe));
    passes(&observed, &call("Read"), &found(&["secret-file"]));
    let stage = rehearsal::session(&observed, &call("Read"), &found(&["secret-file"])).unwrap();
    refused(&stage, &call("Read"), &found(&["secret-file"]), "danger", "danger.md");
    // If another gate refuses too, its refusal uses the rule's words.
    let guarded = |ids: &[&str]| {
        let mut context = found(ids);
        context.call_mut().unwrap().reach.over = true;
        context
    };
    for rule in ["rm-system", "kill-all", "system-write"] {
        refused(&working(), &call("Bash"), &guarded(&[rule]), "guard", "danger-guard.md");
    }
    // If the guard asks a person, the question uses the guard's words.
    let mut asked = attended(&["system-write"]);
    asked.call_mut().unwrap().guard.executable = Some(("it starts something".to_owned(), false));
    let words = said(&set("system-write", DangerLevel::Ask), &call("Bash"), &asked);
    assert_eq!(words, ("guard", Ruling::Ask, "refusals/danger-ask.md".to_owned()));
    assert!(said(&working(), &call("Bash"), &guarded(&["rm-source"])).2.contains("smaller calls"));
    assert!(said(&observed, &call("Bash"), &guarded(&["rm-system"])).2.contains("smaller calls"));
    passes(&working(), &call("Bash"), &Context::default());
    passes(&working(), &event("PostToolUse"), &found(&["rm-system"]));
}
