//! Tests the weight of a task: what a small one may do and owes, and what needs a plan.

use super::*;
use crate::config::policy::ModeLevel;
use crate::gate::{facts, reflection};
use crate::model::named::Stored;
use crate::model::worktree::Asked;
use crate::session::fact::{Fact, Happened};
use crate::session::growth::{ChangedFile, Growth};

/// A task of mode `loop` that changed something and has no plan.
fn small(change: impl FnOnce(&mut Session)) -> Session {
    let mut session = with_policy(|policy| {
        policy.mode.set_level(ModeLevel::Loop);
        policy.gates.commit = Some(Level::Off);
        policy.gates.push = Some(Level::Off);
    });
    session.state.hydration.hydrated_intent = None;
    session.memory.progress.weight.unplanned = true;
    session.memory.progress.proven.reflected = false;
    change(&mut session);
    session
}

fn edit(path: &str, lines: u64) -> Context {
    let is = "new".to_owned();
    let path = path.to_owned();
    let grows = Some(ChangedFile { is, lines, path, ..ChangedFile::default() });
    calls(CallContext {
        does: CallEffect { effect: Effect::Write, grows, ..CallEffect::default() },
        ..CallContext::default()
    })
}

fn outgrown() -> Session {
    small(|session| {
        session.memory.progress.weight.outgrown =
            Some("5 files, 140 lines: over both limits, 3 files and 60 lines".to_owned());
        session.state.sandbox = Sandbox::Shut;
    })
}

#[test]
fn a_small_edit_passes_and_a_larger_one_does_not() {
    let session = small(|_| {});
    passes(&session, &call("Edit"), &edit("a", 240));
    refused(&session, &call("Edit"), &edit("a", 241), "sandbox", "outgrown.md");
    refused(&session, &call("Edit"), &edit("Cargo.lock", 1), "sandbox", "outgrown.md");
    refused(&session, &call("Edit"), &edit("/elsewhere/credentials", 1), "sandbox", "outgrown.md");
    passes(&session, &call("Bash"), &writes());
    passes(&session, &call("Bash"), &does(Effect::Close));
    let planned = small(|session| session.memory.progress.weight.unplanned = false);
    passes(&planned, &call("Edit"), &edit("a", 241));
}

/// Files and lines over their limits, or either over four times its limit.
#[test]
fn what_a_small_task_weighs() {
    let weighed = |files: u64, lines: u64| {
        let all = (0..files).map(|n| ChangedFile {
            lines: lines / files + u64::from(n < lines % files),
            path: format!("{n:03}"),
            is: "new".into(),
            ..ChangedFile::default()
        });
        small(|_| {}).weigh(&Growth::of(all.collect()))
    };
    for (files, lines) in [(1, 1), (3, 60), (4, 4), (4, 60), (12, 60), (3, 61), (1, 240), (12, 12)] {
        assert_eq!(weighed(files, lines), None, "{files} {lines}");
    }
    for (files, lines, words) in [
        (4, 61, "4 files, 61 lines: over both limits, 3 files and 60 lines"),
        (5, 140, "5 files, 140 lines: over both limits, 3 files and 60 lines"),
        (13, 13, "13 files, 13 lines; small is up to 12 files and 240 lines"),
        (1, 241, "1 file, 241 lines; small is up to 12 files and 240 lines"),
    ] {
        assert_eq!(weighed(files, lines).as_deref(), Some(words));
    }
    let none = |change: fn(&mut Policy)| {
        let session = small(|session| change(session.memory.configured.policy.as_mut().unwrap()));
        session.weigh(&Growth::default().with(ChangedFile {
            is: "n".into(),
            lines: 1,
            ..ChangedFile::default()
        }))
    };
    assert!(
        none(|policy| policy.small.files = 0).is_some() && none(|policy| policy.small.lines = 0).is_some()
    );
    assert!(none(|policy| policy.small.files = u64::MAX).is_none(), "no overflow");
}

/// Temporary and generated files are free in every mode and never count; but not after a HALT, nor for a
/// reviewer.
#[test]
fn scratch_files_are_free() {
    let scratch = || {
        calls(CallContext {
            does: CallEffect { effect: Effect::Write, scratch: true, ..CallEffect::default() },
            ..CallContext::default()
        })
    };
    let shut = with(|session| (session.state.phase, session.state.sandbox) = (Phase::Hydrate, Sandbox::Shut));
    passes(&shut, &call("Bash"), &scratch());
    passes(&outgrown(), &call("Bash"), &scratch());
    let facts = facts::facts(&shut, &call("Bash"), &Verdict::pass(), &scratch());
    let Some(Fact::Call(first)) = facts.first() else { panic!("{facts:?}") };
    assert_eq!(first.effect(), None);
    let overdue = with(|session| (session.state.audit.due, session.state.audit.writes_since) = (true, 99));
    refused(&overdue, &call("Bash"), &writes(), "audit", "audit-due.md");
    passes(&overdue, &call("Bash"), &scratch());
    let halted =
        with(|session| (session.state.phase, session.state.sandbox) = (Phase::Halted, Sandbox::Shut));
    refused(&halted, &call("Bash"), &scratch(), "sandbox", "halted.md");
}

#[test]
fn an_outgrown_task_is_tested_and_closed_but_not_changed() {
    refused(&outgrown(), &call("Edit"), &edit("a", 1), "sandbox", "outgrown.md");
    refused(&outgrown(), &call("Bash"), &writes(), "sandbox", "outgrown.md");
    passes(&outgrown(), &call("Bash"), &does(Effect::Close));
    let tests = |tests| {
        calls(CallContext {
            does: CallEffect { effect: Effect::Write, ..CallEffect::default() },
            task: TaskFacts { tests, ..TaskFacts::default() },
            ..CallContext::default()
        })
    };
    passes(&outgrown(), &call("Bash"), &tests(Evidence::Is));
    refused(&outgrown(), &call("Bash"), &tests(Evidence::Contains), "sandbox", "outgrown.md");
    let context = edit("a", 1);
    let verdict = judge(&outgrown(), &call("Edit"), &context);
    let facts = facts::facts(&outgrown(), &call("Edit"), &verdict, &context);
    let Some(Fact::Call(last)) = facts.last() else { panic!("{facts:?}") };
    assert_eq!(
        last.denied.as_ref().unwrap().outgrown.as_deref(),
        Some("5 files, 140 lines: over both limits, 3 files and 60 lines")
    );
}

fn debts(session: &Session) -> Vec<&'static str> {
    let tree = Worktree { uncommitted: vec!["a".into()], push: Some(<_>::default()), ..Worktree::default() };
    owed::debts(session, &Context { tree, ..Context::default() }).iter().map(|debt| debt.id.name()).collect()
}

#[test]
fn who_owes_what() {
    assert_eq!(debts(&small(|_| {})), [""; 0]);
    assert_eq!(debts(&outgrown()), ["qa-verifier"]);
    let planned = |friction| {
        small(|session| {
            session.memory.progress.weight.unplanned = false;
            session.memory.progress.friction = friction;
            session.memory.progress.plan.gates = vec![Stored::of("qa")];
            session.state.hydration.hydrated_intent = Some("i".to_owned());
        })
    };
    assert_eq!(debts(&planned(false)), ["qa-verifier"]);
    assert_eq!(debts(&planned(true)), ["qa-verifier", "framework"]);
    let tested = |tested| {
        small(|session| {
            session.memory.progress.proven.tested = tested;
            session.memory.configured.policy.as_mut().unwrap().evidence.test = Some("make".to_owned());
        })
    };
    assert_eq!(debts(&tested(false)), ["evidence"]);
    assert_eq!(debts(&tested(true)), [""; 0]);
}

/// If nothing has to be committed, a missing repository is not worth a message.
#[test]
fn a_small_task_is_not_told_of_git() {
    let context = || Context {
        tree: Worktree { asked: Asked::NoRepository, ..Worktree::default() },
        ..Context::default()
    };
    passes(&small(|_| {}), &event("Stop"), &context());
    told(&working(), &event("Stop"), &context(), "owed", "not a git repository");
}

#[test]
fn a_reflection_is_written_once_and_only_where_no_agent_gives_one() {
    let context = Context::default();
    let written = |session: &Session| reflection::written(session, &context, &[]);
    let smooth = written(&small(|_| {})).unwrap();
    assert_eq!(
        (smooth["followed"].as_str(), smooth["guidance_received"].as_str()),
        ("Yes", "none: a small edit")
    );
    assert!(smooth["accomplishment"].contains("1 change"), "{smooth:?}");
    let rough = written(&small(|session| {
        let file = ChangedFile { is: "n".into(), lines: 7, path: "a".into(), ..ChangedFile::default() };
        let progress = &mut session.memory.progress;
        progress.friction = true;
        progress.proven.tested = true;
        progress.proven.verified = true;
        progress.weight.grown = Growth::of(vec![file]);
    }))
    .unwrap();
    assert!(rough["followed"].starts_with("Partial"));
    assert!(rough["accomplishment"].contains("1 file, 7 lines; verified; the tests"), "{rough:?}");
    for done in [
        small(|session| session.memory.progress.proven.reflected = true),
        small(|session| session.state.phase = Phase::Done),
        small(|session| session.memory.configured.policy.as_mut().unwrap().gates.reflect = Level::Off),
        small(|session| session.state.task = None),
        working(),
    ] {
        assert_eq!(written(&done), None);
    }
    assert_eq!(reflection::written(&small(|_| {}), &context, &[DebtId::Commit.into()]), None);
}

#[test]
fn a_plan_is_shown_to_a_person() {
    let asked = |attended, event: &Event| {
        let context = Context { attended, ..Context::default() };
        let facts = facts::facts(&working(), event, &Verdict::pass(), &context);
        matches!(facts.last(), Some(Fact::Event(seen)) if matches!(&seen.what, Happened::PermissionAsked(asked) if asked.asks_plan))
    };
    let plan = renamed("PermissionRequest", call("ExitPlanMode"));
    assert!(asked(true, &plan) && !asked(false, &plan));
    assert!(!asked(true, &renamed("PermissionRequest", call("Bash"))));
    assert!(!asked(true, &Event { agent_id: Some("a".into()), ..plan }));
}
