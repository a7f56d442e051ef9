//! Tests corner cases of a stop: a prompt in between, and a check without output.

use super::*;
use crate::model::named::Stored;
use crate::model::outcome::CheckEnding;

/// A new prompt came, and we do not know yet whether it continues the task: a question may be answered
/// freely.
#[test]
fn a_question_after_the_work_is_answered_freely() {
    let asked = |writes_at_prompt, pending| {
        with(|session| {
            session.state.state.hydration_pending = pending;
            session.memory.progress.prompts.count = 2;
            session.memory.progress.prompts.first_of_task = 1;
            session.memory.progress.prompts.writes_before = writes_at_prompt;
            session.memory.progress.proven.reflected = false;
        })
    };
    passes(&asked(1, true), &event("Stop"), &Context::default());
    refused(&asked(0, true), &event("Stop"), &Context::default(), "owed", "stop-owed.md");
    refused(&asked(1, false), &event("Stop"), &Context::default(), "owed", "stop-owed.md");
}

#[test]
fn a_check_is_owed_with_its_last_words_if_it_had_any() {
    let owed = |output: &str| {
        let run = Checked {
            id: "c".into(),
            on: Moment::Stop,
            outcome: Stored::of("INTERVENTION_REQUIRED"),
            ending: CheckEnding::Exit(1),
            output: output.into(),
            run: "make".into(),
            ..Checked::default()
        };
        let context = Context { checks: vec![run], ..Context::default() };
        let said = super::super::checks::owed(&context).unwrap().values;
        said.into_iter().map(|(_, value)| value).collect::<String>()
    };
    assert_eq!(owed("first\nlast\n\n"), "`c` (exit 1: last), run as `make`");
    assert_eq!(owed("\n"), "`c` (exit 1), run as `make`");
}

/// If we missed the start of an audit, its BLOCK counts, but nothing else of its report.
#[test]
fn a_block_stands_without_a_start() {
    let stop =
        Event { agent_id: Some("a".into()), agent_type: Some("custodiet".into()), ..event("SubagentStop") };
    let said = |verdict: &str| {
        let report = AgentReport {
            problems: vec!["p".into()],
            verdict: Some(Stored::of(verdict)),
            ..AgentReport::default()
        };
        Context {
            found: Found::AgentStop(Box::new(AgentStopContext {
                report: Some(Ok(report)),
                ..AgentStopContext::default()
            })),
            ..Context::default()
        }
    };
    let kinds = |session: &Session, context: &Context| -> Vec<&'static str> {
        facts::facts(session, &stop, &Verdict::pass(), context).iter().map(|fact| fact.stored().0).collect()
    };
    assert_eq!(kinds(&working(), &said("BLOCK")), ["event", "block"]);
    assert_eq!(kinds(&working(), &said("OK")), ["event"]);
    let foreign = Context {
        agents: AgentNames { renamed: vec!["custodiet".into()], ..AgentNames::default() },
        ..said("BLOCK")
    };
    assert_eq!(kinds(&working(), &foreign), ["event"]);
    assert_eq!(kinds(&with(|s| s.state.state.custodiet_blocked = true), &said("BLOCK")), ["event"]);
}

#[test]
fn owed() {
    let stop = event("Stop");
    let push = || Some(("git push".into(), "x".into()));
    let tree = Worktree { uncommitted: vec!["a".into()], push: push(), ..Worktree::default() };
    let full = Context { tree, ..Context::default() };
    let owing = |refusals, rounds| {
        with(|session| {
            session.memory.progress.plan.gates = vec![Stored::of("qa")];
            session.memory.progress.proven.reflected = false;
            session.memory.progress.proven.rounds = rounds;
            session.memory.progress.plan.problems = vec!["p".into()];
            session.state.stop.refusals = refusals;
        })
    };
    refused(&owing(0, 0), &stop, &full, "owed", "stop-owed.md");
    let names: Vec<_> = judge(&owing(0, 1), &stop, &full).debts.iter().map(|debt| debt.id.name()).collect();
    assert_eq!(names, ["qa-verifier", "framework", "commit", "push"]);
    told(&owing(3, 0), &stop, &full, "owed", "stop-let-go.md");
    told(&owing(0, 3), &stop, &full, "owed", "stop-unverified.md");
    passes(&working(), &stop, &Context::default());
    passes(&owing(0, 0), &busy(), &full);
    passes(&with(|s| s.state.task = None), &stop, &full);
    passes(&with(|s| s.state.phase = Phase::Halted), &stop, &full);
    passes(
        &with(|s| {
            s.state.task = Some(Task { waiver: Some(Stored::of("prompt")), writes: 1, ..Task::default() });
        }),
        &stop,
        &full,
    );
    told(
        &with_policy(|policy| {
            policy.gates.commit = Some(Level::Warn);
            policy.gates.push = Some(Level::Warn);
        }),
        &stop,
        &full,
        "owed",
        "stop-owed.md",
    );
    passes(
        &with_policy(|policy| {
            policy.gates.commit = Some(Level::Off);
            policy.gates.push = Some(Level::Off);
        }),
        &stop,
        &full,
    );
    let no_git = Context {
        tree: Worktree { asked: Asked::NoRepository, ..Worktree::default() },
        ..Context::default()
    };
    told(&working(), &stop, &no_git, "owed", "not a git repository");
    passes(&with(|s| s.memory.progress.told.no_git = true), &stop, &no_git);
}
