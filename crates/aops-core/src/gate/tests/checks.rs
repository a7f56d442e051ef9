//! Tests the user's checks: when each is wanted, and what its failure means.

use super::*;
use crate::model::named::Stored;
use crate::model::outcome::CheckEnding;

#[test]
fn checks() {
    let check = |on| Check { id: "c".into(), on, ..Check::default() };
    let asked = with_policy(|policy| {
        policy.checks = vec![check(Moment::Save), check(Moment::Commit), check(Moment::Stop)];
    });
    let wanted = |session: &Session, event: &Event, context: &Context| {
        let wanted = crate::gate::checks::wanted(session, event, context, &judge(session, event, context));
        wanted.iter().map(|check| check.on.name()).collect::<Vec<_>>()
    };
    let saving = || CallContext {
        does: CallEffect { effect: Effect::Write, ..CallEffect::default() },
        checks: CheckFacts { saves: Some("/a".into()), ..CheckFacts::default() },
        ..CallContext::default()
    };
    let commits = CallContext {
        does: CallEffect { effect: Effect::Write, ..CallEffect::default() },
        checks: CheckFacts { commits: true, ..CheckFacts::default() },
        ..CallContext::default()
    };
    let saves = calls(saving());
    assert_eq!(wanted(&asked, &call("Write"), &saves), ["save"]);
    assert_eq!(wanted(&asked, &call("Bash"), &calls(commits)), ["commit"]);
    assert_eq!(wanted(&asked, &event("Stop"), &Context::default()), ["stop"]);
    assert!(wanted(&asked, &busy(), &Context::default()).is_empty());
    assert!(wanted(&asked, &call("Bash"), &writes()).is_empty());
    assert!(wanted(&asked, &event("SessionEnd"), &Context::default()).is_empty());
    assert!(wanted(&working(), &call("Write"), &saves).is_empty());
    let off = Session {
        state: working().state,
        ..with_policy(|policy| {
            policy.checks = vec![check(Moment::Save)];
            policy.gates.checks = Level::Off;
        })
    };
    assert!(wanted(&off, &call("Write"), &saves).is_empty());
    let ran = |on, outcome: &str, ending: &str| {
        let run = Checked {
            id: "c".into(),
            on,
            outcome: Stored::of(outcome),
            ending: ending.to_owned().into(),
            output: "o\n\n".into(),
            ..Checked::default()
        };
        Context { checks: vec![run], ..calls(saving()) }
    };
    assert!(wanted(&asked, &call("Write"), &ran(Moment::Save, "PASS", "exit 0")).is_empty());
    for (on, outcome, ending, words) in [
        (Moment::Save, "INTERVENTION_REQUIRED", "exit 1", "check-save.md"),
        (Moment::Commit, "INTERVENTION_REQUIRED", "exit 1", "check-failed.md"),
        (Moment::Commit, "INTERVENTION_REQUIRED", "cut off", "check-late.md"),
        (Moment::Commit, "HALT", "cut off", "check-halt.md"),
        (Moment::Commit, "ASK_USER", "exit 1", "check-failed.md"),
    ] {
        refused(&asked, &call("Write"), &ran(on, outcome, ending), "checks", words);
    }
    for ending in ["exit 1", "cut off"] {
        let attended = Context { attended: true, ..ran(Moment::Commit, "ASK_USER", ending) };
        let words = said(&asked, &call("Write"), &attended);
        assert_eq!((words.1, words.2.as_str()), (Ruling::Ask, "refusals/check-ask.md"));
    }
    passes(&asked, &call("Write"), &ran(Moment::Save, "PASS", "exit 0"));
    let stop = event("Stop");
    refused(&asked, &stop, &ran(Moment::Stop, "INTERVENTION_REQUIRED", "exit 1"), "owed", "stop-owed.md");
    told(&asked, &stop, &ran(Moment::Stop, "HALT", "exit 1"), "checks", "check-halt.md");
    let attended = Context { attended: true, ..ran(Moment::Stop, "ASK_USER", "exit 1") };
    told(&asked, &stop, &attended, "checks", "check-halt.md");
    passes(&asked, &stop, &ran(Moment::Stop, "PASS", "exit 0"));
    passes(&asked, &event("SessionEnd"), &ran(Moment::Stop, "HALT", "exit 1"));
}

#[test]
fn checks_before_a_model_and_before_the_first_change() {
    let check = |on: Moment| Check { id: on.name().into(), on, ..Check::default() };
    let asked = with_policy(|policy| policy.checks = vec![check(Moment::Prompt), check(Moment::Sandbox)]);
    let wanted = |session: &Session, event: &Event, context: &Context| {
        let wanted = crate::gate::checks::wanted(session, event, context, &judge(session, event, context));
        wanted.iter().map(|check| check.on.name()).collect::<Vec<_>>()
    };
    let meaning = |prompt| Context {
        found: Found::Prompt(PromptContext { meant: prompt, ..PromptContext::default() }),
        ..Context::default()
    };
    let prompt = event("UserPromptSubmit");
    for (meant, runs) in [
        (Prompt::Ordinary, true),
        (Prompt::Command, true),
        (Prompt::Waived, false),
        (Prompt::Ours, false),
        (Prompt::Machine, false),
    ] {
        assert_eq!(!wanted(&asked, &prompt, &meaning(meant)).is_empty(), runs, "{meant:?}");
    }
    let mut lifted = asked.clone();
    let waiver = Waiver { gate: GateId::Checks.into(), reason: "r".into(), until_ms: 1 };
    lifted.memory.progress.waivers.push(waiver);
    assert!(wanted(&lifted, &prompt, &meaning(Prompt::Ordinary)).is_empty());
    let saves = || {
        calls(CallContext {
            does: CallEffect { effect: Effect::Write, ..CallEffect::default() },
            checks: CheckFacts { saves: Some("/a".into()), ..CheckFacts::default() },
            ..CallContext::default()
        })
    };
    assert!(wanted(&lifted, &call("Write"), &saves()).is_empty());
    let failed = |outcome: &str, on| {
        let run = Checked {
            id: "c".into(),
            on,
            outcome: Stored::of(outcome),
            ending: CheckEnding::Exit(1),
            ..Checked::default()
        };
        Context { checks: vec![run], ..writes() }
    };
    for outcome in ["HALT", "ASK_USER"] {
        refused(&asked, &prompt, &failed(outcome, Moment::Prompt), "checks", "check-prompt.md");
    }
    let told = judge(&asked, &prompt, &failed("INTERVENTION_REQUIRED", Moment::Prompt));
    assert!(told.ruling == Ruling::Pass && told.context.contains("`c` failed (exit 1)"), "{told:?}");

    let mut fresh = asked.clone();
    fresh.state.task.as_mut().unwrap().writes = 0;
    assert_eq!(wanted(&fresh, &call("Bash"), &writes()), ["sandbox"]);
    assert!(wanted(&asked, &call("Bash"), &writes()).is_empty(), "it has changed something already");
    assert!(wanted(&fresh, &call("Read"), &Context::default()).is_empty());
    let last = |outcome: &str| {
        let mut session = fresh.clone();
        let run = LastRun { ending: CheckEnding::Exit(1), outcome: Stored::of(outcome) };
        session.memory.progress.proven.checks.insert("sandbox".into(), run);
        session
    };
    assert!(wanted(&last("PASS"), &call("Bash"), &writes()).is_empty(), "it has passed in this task");
    assert_eq!(wanted(&last("ASK_USER"), &call("Bash"), &writes()), ["sandbox"]);
    let step = |sandbox| Context { stage: Some(RunStep { sandbox, ..RunStep::default() }), ..writes() };
    assert_eq!(wanted(&fresh, &call("Bash"), &step(Sandbox::Open)), ["sandbox"]);
    assert!(
        wanted(&last("ASK_USER"), &call("Bash"), &step(Sandbox::Open)).is_empty(),
        "a person has answered"
    );
    let refusal = failed("INTERVENTION_REQUIRED", Moment::Sandbox);
    refused(&fresh, &call("Bash"), &refusal, "checks", "check-sandbox.md");
}
