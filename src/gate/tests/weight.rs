//! The weight of a task: what a small one may do and owes, and what needs a plan.

use super::*;
use crate::config::policy::ModeLevel;
use crate::gate::{facts, reflection};
use crate::session::fact::Fact;
use crate::session::growth::{ChangedFile, Growth};

/// A task of mode `loop` that changed something and has no plan.
fn small(change: impl FnOnce(&mut Session)) -> Session {
    let mut session = with_policy(|policy| {
        policy.mode.set_level(ModeLevel::Loop);
        policy.gates.push = Some(Level::Off);
    });
    session.state.hydration.hydrated_intent = None;
    session.memory.progress.unplanned = true;
    session.memory.progress.reflected = false;
    change(&mut session);
    session
}

fn edit(path: &str, lines: u64) -> Context {
    let (is, path) = ("new".to_owned(), path.to_owned());
    let grows = Some(ChangedFile { is, lines, path, was: String::new() });
    calls(CallContext { effect: Effect::Write, grows, ..CallContext::default() })
}

fn outgrown() -> Session {
    small(|session| {
        session.memory.progress.outgrown = Some("5 files, 140 lines; small is 3 and 60".to_owned());
        session.state.sandbox = Sandbox::Shut;
    })
}

#[test]
fn a_small_edit_passes_and_a_larger_one_does_not() {
    let session = small(|_| {});
    passes(&session, &call("Edit"), &edit("a", 60));
    refused(&session, &call("Edit"), &edit("a", 61), "sandbox", "outgrown.md");
    refused(&session, &call("Edit"), &edit("Cargo.lock", 1), "sandbox", "outgrown.md");
    refused(&session, &call("Edit"), &edit("/elsewhere/credentials", 1), "sandbox", "outgrown.md");
    passes(&session, &call("Bash"), &writes());
    let outside = || CallContext { effect: Effect::Write, outside: Some("gh pr".into()), ..CallContext::default() };
    refused(&session, &call("Bash"), &calls(outside()), "sandbox", "outgrown.md");
    let pushes = CallContext { effect: Effect::Close, ..outside() };
    refused(&session, &call("Bash"), &calls(pushes), "sandbox", "outgrown.md");
    let planned = small(|session| session.memory.progress.unplanned = false);
    passes(&planned, &call("Edit"), &edit("a", 61));
    passes(&planned, &call("Bash"), &calls(outside()));
}

#[test]
fn an_outgrown_task_is_tested_and_closed_but_not_changed() {
    refused(&outgrown(), &call("Edit"), &edit("a", 1), "sandbox", "outgrown.md");
    refused(&outgrown(), &call("Bash"), &writes(), "sandbox", "outgrown.md");
    passes(&outgrown(), &call("Bash"), &does(Effect::Close));
    let tests = |tests| calls(CallContext { effect: Effect::Write, tests, ..CallContext::default() });
    passes(&outgrown(), &call("Bash"), &tests(Evidence::Is));
    refused(&outgrown(), &call("Bash"), &tests(Evidence::Contains), "sandbox", "outgrown.md");
    let context = edit("a", 1);
    let verdict = judge(&outgrown(), &call("Edit"), &context);
    let facts = facts::facts(&outgrown(), &call("Edit"), &verdict, &context);
    let Some(Fact::Call(last)) = facts.last() else { panic!("{facts:?}") };
    assert_eq!(last.outgrown.as_deref(), Some("5 files, 140 lines; small is 3 and 60"));
}

fn debts(session: &Session) -> Vec<&'static str> {
    let tree = Worktree { uncommitted: vec!["a".into()], push: Some(<_>::default()), ..Worktree::default() };
    owed::debts(session, &Context { tree, ..Context::default() }).iter().map(|debt| debt.name).collect()
}

#[test]
fn who_owes_what() {
    assert_eq!(debts(&small(|_| {})), [""; 0]);
    assert_eq!(debts(&outgrown()), ["qa-verifier", "commit"]);
    let planned = |friction| {
        small(|session| {
            session.memory.progress.unplanned = false;
            session.memory.progress.friction = friction;
            session.memory.progress.gates = vec!["qa".to_owned()];
            session.state.hydration.hydrated_intent = Some("i".to_owned());
        })
    };
    assert_eq!(debts(&planned(false)), ["qa-verifier", "commit"]);
    assert_eq!(debts(&planned(true)), ["qa-verifier", "framework", "commit"]);
    let tested = |tested| {
        small(|session| {
            session.memory.progress.tested = tested;
            session.memory.policy.as_mut().unwrap().evidence.test = Some("make".to_owned());
        })
    };
    assert_eq!(debts(&tested(false)), ["evidence"]);
    assert_eq!(debts(&tested(true)), [""; 0]);
}

/// No repository is no news where nothing has to be committed.
#[test]
fn a_small_task_is_not_told_of_git() {
    let context = || Context { tree: Worktree { unknown: true, ..Worktree::default() }, ..Context::default() };
    passes(&small(|_| {}), &event("Stop"), &context());
    told(&working(), &event("Stop"), &context(), "owed", "no git repository");
}

#[test]
fn a_reflection_is_written_once_and_only_where_no_agent_gives_one() {
    let context = Context::default();
    let written = |session: &Session| reflection::written(session, &context, &[]);
    let smooth = written(&small(|_| {})).unwrap();
    assert_eq!((smooth["followed"].as_str(), smooth["guidance_received"].as_str()), ("Yes", "none: a small edit"));
    assert!(smooth["accomplishment"].contains("1 change"), "{smooth:?}");
    let rough = written(&small(|session| {
        let file = ChangedFile { is: "n".into(), lines: 7, path: "a".into(), was: String::new() };
        let progress = &mut session.memory.progress;
        (progress.friction, progress.tested, progress.verified) = (true, true, true);
        progress.grown = Growth::of(vec![file]);
    }))
    .unwrap();
    assert!(rough["followed"].starts_with("Partial"));
    assert!(rough["accomplishment"].contains("1 file, 7 lines; verified; the tests"), "{rough:?}");
    for done in [
        small(|session| session.memory.progress.reflected = true),
        small(|session| session.state.phase = Phase::Done),
        small(|session| session.memory.policy.as_mut().unwrap().gates.reflect = Level::Off),
        small(|session| session.state.task = None),
        working(),
    ] {
        assert_eq!(written(&done), None);
    }
    assert_eq!(reflection::written(&small(|_| {}), &context, &["commit".to_owned()]), None);
}

#[test]
fn a_plan_is_shown_to_a_person() {
    let asked = |attended, event: &Event| {
        let context = Context { attended, ..Context::default() };
        let facts = facts::facts(&working(), event, &Verdict::pass(), &context);
        matches!(facts.last(), Some(Fact::Event(seen)) if seen.asks_plan)
    };
    let plan = renamed("PermissionRequest", call("ExitPlanMode"));
    assert!(asked(true, &plan) && !asked(false, &plan));
    assert!(!asked(true, &renamed("PermissionRequest", call("Bash"))));
    assert!(!asked(true, &Event { agent_id: Some("a".into()), ..plan }));
}
