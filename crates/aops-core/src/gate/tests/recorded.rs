//! Tests the facts of an event: every call that was asked about is settled, and the answer is recorded with
//! the question.

use super::*;
use crate::gate::facts::{abandoned, facts, rejected};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::profile::{Hold, JailState, Profile};
use crate::session::fact::{Fact, NO_EFFECT, Step};

fn open(id: &str, state: CallState) -> OpenCall {
    OpenCall { call: CallKey::of("Bash", id), input_sha256: "x".into(), state, ..OpenCall::default() }
}

fn in_flight(state: CallState) -> Session {
    with(|session| session.memory.calls = vec![open("t", state)])
}

/// The old and new state of every step of a call.
fn steps(facts: &[Fact]) -> Vec<(Option<CallState>, CallState)> {
    facts
        .iter()
        .filter_map(|fact| if let Fact::Call(step) = fact { Some((step.from, step.to)) } else { None })
        .collect()
}

fn first(facts: &[Fact]) -> &Step {
    let found = facts.iter().find_map(|fact| if let Fact::Call(step) = fact { Some(step) } else { None });
    found.expect("a step")
}

fn kinds(facts: &[Fact]) -> Vec<&'static str> {
    facts.iter().map(|fact| fact.stored().0).collect()
}

fn ends(name: &str, change: impl FnOnce(&mut ToolCall)) -> Event {
    let mut made = ToolCall { key: CallKey::of("Bash", "t"), input: "{}".to_owned(), ..ToolCall::default() };
    change(&mut made);
    event(name).with_call(made)
}

#[test]
fn a_call_is_asked_and_answered() {
    use CallState::{Authorized, Denied, Executing, Pending};
    let asked =
        |session: &Session, event: &Event, verdict: &Verdict| facts(session, event, verdict, &writes());
    let passed = asked(&working(), &call("Bash"), &Verdict::pass());
    let all = [(None, Pending), (Some(Pending), Authorized), (Some(Authorized), Executing)];
    assert_eq!(steps(&passed), all);
    let denied = asked(&working(), &call("Bash"), &Verdict::deny(GateId::Rules, "no"));
    assert_eq!(steps(&denied), [(None, Pending), (Some(Pending), Denied)]);
    for ruling in [Ruling::Ask, Ruling::Defer] {
        let waits =
            asked(&working(), &call("Bash"), &Verdict { ruling, ..Verdict::deny(GateId::Rules, "may it?") });
        assert_eq!((steps(&waits).len(), first(&waits).reason.as_deref()), (1, Some("may it?")));
        assert_eq!(first(&waits).means().deferred, ruling == Ruling::Defer);
    }
    // The same ID again: another call, or the one for which a run paused.
    let second = asked(&in_flight(Executing), &call("Bash"), &Verdict::pass());
    assert_eq!(kinds(&second), ["violation"]);
    let mut waiting = in_flight(Pending);
    waiting.memory.calls[0].means.deferred = true;
    assert_eq!(kinds(&asked(&waiting, &call("Bash"), &Verdict::pass())), ["violation"], "with another input");
    waiting.memory.calls[0].input_sha256 = String::new();
    assert_eq!(steps(&asked(&waiting, &call("Bash"), &Verdict::pass())), all[1..]);
    let many = with(|session| {
        session.memory.calls = (0..256).map(|n| open(&n.to_string(), CallState::Executing)).collect();
    });
    let settled = asked(&many, &call("Bash"), &Verdict::pass());
    assert_eq!(steps(&settled)[0], (Some(Executing), CallState::Failed), "the oldest makes room");
}

#[test]
fn a_question_holds_what_is_needed_later() {
    let agent = |input: &str| {
        let call =
            ToolCall { key: CallKey::of("Agent", "t"), input: input.to_owned(), ..ToolCall::default() };
        let event = event("PreToolUse").with_call(call);
        first(&facts(&working(), &event, &Verdict::pass(), &writes()))
            .asks
            .clone()
            .and_then(|asks| asks.starts)
            .map(|starts| starts.name)
    };
    assert_eq!(agent(r#"{"subagent_type": "critic"}"#), Some(AgentId::Critic.into()));
    assert_eq!(agent("{}"), None);
    let jail =
        JailState { hold: Hold::Namespaces, project: "/p".into(), trial: true, ..JailState::default() };
    let jailed = |effect, input: &str| {
        let session = with(|session| {
            session.memory.client.jail = Some(jail.clone());
            session.state.sandbox = Sandbox::Shut;
        });
        let call = ToolCall { key: CallKey::of("Bash", "t"), input: input.to_owned(), ..ToolCall::default() };
        let event = event("PreToolUse").with_call(call);
        let step = first(&facts(&session, &event, &Verdict::pass(), &does(effect))).clone();
        (step.means().jailing.profile, step.effect(), step.means().jailing.line_sha256.is_some())
    };
    assert_eq!(jailed(Effect::Read, r#"{"command": "ls"}"#), (Some(Profile::Read), None, true));
    assert_eq!(
        jailed(Effect::Write, r#"{"command": "touch x"}"#),
        (Some(Profile::Work), Some(Effect::Write), true)
    );
    assert_eq!(jailed(Effect::Read, "{}"), (Some(Profile::Read), None, false));
    assert_eq!(jailed(Effect::Read, "no JSON"), (Some(Profile::Read), None, false));
    let said = |debts| {
        let would = Verdict { debts, ..Verdict::deny(GateId::Owed, "not yet") };
        let verdict = Verdict { rehearsed: Some(Box::new(would)), ..Verdict::pass() };
        let event = call("Write");
        first(&facts(&working(), &event, &verdict, &writes())).rehearsed.clone().map(|said| said.gate)
    };
    assert_eq!(said(Vec::new()), Some(GateId::Owed.into()));
    let debt = Debt { id: DebtId::QaVerifier, line: Phrase::new("owed/qa-verifier.md", Vec::new()) };
    assert_eq!(said(vec![debt]), Some(GateId::Qa.into()));
    let silent = Verdict { rehearsed: Some(Box::new(Verdict::pass())), ..Verdict::pass() };
    assert!(first(&facts(&working(), &call("Write"), &silent, &writes())).rehearsed.is_none());
}

#[test]
fn a_call_ends_once() {
    use CallState::{Authorized, Completed, Executing, Failed, Pending};
    let done = |session: &Session, event: &Event, context: &Context| {
        facts(session, event, &Verdict::pass(), context)
    };
    let plain = Context::default();
    let post = ends("PostToolUse", |_| {});
    assert_eq!(steps(&done(&in_flight(Executing), &post, &plain)), [(Some(Executing), Completed)]);
    assert_eq!(steps(&done(&in_flight(Authorized), &post, &plain)).len(), 2);
    assert_eq!(steps(&done(&in_flight(Pending), &post, &plain)).len(), 3, "a person said yes");
    let failed =
        done(&in_flight(Executing), &ends("PostToolUseFailure", |call| call.error = "exit 1".into()), &plain);
    assert_eq!(
        (steps(&failed), first(&failed).reason.as_deref()),
        (vec![(Some(Executing), Failed)], Some("exit 1"))
    );
    let todos = done(&in_flight(Executing), &ends("PostToolUse", |call| call.todos = Some((1, 2))), &plain);
    assert_eq!(first(&todos).ended().todos, Some((1, 2)));
    let launched = done(&in_flight(Executing), &ends("PostToolUse", |call| call.launched = true), &plain);
    assert!(!first(&launched).ended().launched, "it starts none of our agents");
    assert_eq!(kinds(&done(&working(), &post, &plain)), ["violation"], "it was not asked for");
    let before = Context {
        earlier: Earlier { past: Some(Step::default()), ..Earlier::default() },
        ..Context::default()
    };
    assert_eq!(kinds(&done(&working(), &post, &before)), ["event"], "it ended before");
    let refused = Context {
        earlier: Earlier {
            past: Some(Step { to: CallState::Denied, ..Step::default() }),
            ..Earlier::default()
        },
        ..Context::default()
    };
    assert_eq!(kinds(&done(&working(), &post, &refused)), ["violation"], "it was refused, and ran");
    let again = facts(&working(), &call("Read"), &Verdict::deny(GateId::Repeat, "no".to_owned()), &refused);
    assert_eq!(kinds(&again), ["violation"], "what is recorded of it stays");
    let marks = |value: &str| Some(BTreeMap::from([("f".to_owned(), value.to_owned())]));
    let marked = with(|session| {
        session.memory.calls = vec![open("t", Executing)];
        session.memory.watched.marks = marks("old").unwrap();
    });
    let ended = |marks| {
        let recorded = CallEnded { marks, ..CallEnded::default() };
        Context {
            found: Found::End(Box::new(EndContext { recorded, ..EndContext::default() })),
            ..Context::default()
        }
    };
    assert_eq!(first(&done(&marked, &post, &ended(marks("old")))).ended().marks, None);
    assert_eq!(first(&done(&marked, &post, &ended(marks("new")))).ended().marks, marks("new"));
    let unproven = Context {
        found: Found::End(Box::new(EndContext { unproven: true, ..EndContext::default() })),
        ..Context::default()
    };
    assert_eq!(kinds(&done(&in_flight(Executing), &post, &unproven)), ["call", "violation", "block"]);
    let disarmed = EndContext { disarmed: Some("hooks are off".into()), ..EndContext::default() };
    let disarmed = Context { found: Found::End(Box::new(disarmed)), ..Context::default() };
    assert_eq!(kinds(&done(&in_flight(Executing), &post, &disarmed)), ["call", "block"]);
}

#[test]
fn what_gets_no_further_event_is_settled() {
    use CallState::{Authorized, Denied, Executing, Failed, Pending};
    let of_agent = |agent: &str| OpenCall { agent_id: Some(agent.into()), ..open(agent, Executing) };
    let session =
        with(|session| session.memory.calls = vec![open("main", Executing), of_agent("a"), of_agent("b")]);
    let context = |prompt| Context {
        found: Found::Prompt(PromptContext { meant: prompt, ..PromptContext::default() }),
        ..Context::default()
    };
    let settled =
        |event: &Event, prompt| steps(&facts(&session, event, &Verdict::pass(), &context(prompt))).len();
    assert_eq!(settled(&event("SessionEnd"), Prompt::Ordinary), 3);
    assert_eq!(settled(&event("Stop"), Prompt::Ordinary), 1);
    assert_eq!(settled(&event("StopFailure"), Prompt::Ordinary), 1);
    assert_eq!(settled(&event("UserPromptSubmit"), Prompt::Ordinary), 1);
    assert_eq!(settled(&event("UserPromptSubmit"), Prompt::Machine), 0);
    let by_agent = |name| Event { agent_id: Some("a".into()), ..event(name) };
    assert_eq!(settled(&by_agent("PostToolBatch"), Prompt::Ordinary), 1);
    assert_eq!(settled(&by_agent("SubagentStop"), Prompt::Ordinary), 1);
    assert_eq!(settled(&event("Notification"), Prompt::Ordinary), 0);
    let each = |state| steps(&abandoned(&in_flight(state)));
    assert_eq!(each(Pending), [(Some(Pending), Denied)]);
    assert_eq!(each(Authorized), [(Some(Authorized), Executing), (Some(Executing), Failed)]);
    assert_eq!(each(Executing), [(Some(Executing), Failed)]);
    assert_eq!(first(&abandoned(&in_flight(Executing))).reason.as_deref(), Some(NO_EFFECT));
    let deferred = OpenCall { means: deferred(), ..open("t", Pending) };
    assert!(
        abandoned(&with(|session| session.memory.calls = vec![deferred.clone()])).is_empty(),
        "a run waits for it"
    );
    let waits = with(|session| session.memory.calls = vec![deferred.clone()]);
    let given_up = |stage| {
        let context = Context { stage, ..context(Prompt::Ordinary) };
        steps(&facts(&waits, &event("UserPromptSubmit"), &Verdict::pass(), &context)).len()
    };
    assert_eq!((given_up(None), given_up(Some(RunStep::default()))), (1, 0), "a session goes on without it");
    assert_eq!(
        steps(&facts(&waits, &event("SessionEnd"), &Verdict::pass(), &context(Prompt::Ordinary))).len(),
        0
    );
    let no = rejected(&deferred, "not so".into());
    assert_eq!((&first(&no).gate, first(&no).reason.as_deref()), (&Some(GateId::Run.into()), Some("not so")));
    assert!(rejected(&open("t", Executing), "not so".into()).is_empty());
}

#[test]
fn prompts_waive_and_stops_owe() {
    let of = |session: &Session, name: &str, verdict: &Verdict, context: &Context| {
        kinds(&facts(session, &event(name), verdict, context))
    };
    let prompt = |prompt| Context {
        found: Found::Prompt(PromptContext { meant: prompt, ..PromptContext::default() }),
        ..Context::default()
    };
    let submit = "UserPromptSubmit";
    assert_eq!(of(&working(), submit, &Verdict::pass(), &prompt(Prompt::Waived)), ["event", "waiver"]);
    assert_eq!(
        of(&Session::default(), submit, &Verdict::pass(), &prompt(Prompt::Command)),
        ["event", "waiver"]
    );
    assert_eq!(
        of(&working(), submit, &Verdict::pass(), &prompt(Prompt::Command)),
        ["event"],
        "inside the task"
    );
    assert_eq!(
        of(&working(), submit, &Verdict::deny(GateId::Block, "no"), &prompt(Prompt::Waived)),
        ["event"]
    );
    let stage = Some(RunStep { run_id: "r".into(), ..RunStep::default() });
    let in_run = Context { stage, ..prompt(Prompt::Waived) };
    assert_eq!(of(&working(), submit, &Verdict::pass(), &in_run), ["event"], "its prompt is the step's");
    let tree = Worktree { uncommitted: vec!["a".into()], ..Worktree::default() };
    let owing = facts(&working(), &event("Stop"), &Verdict::pass(), &Context { tree, ..Context::default() });
    let Some(Fact::Event(seen)) = owing.last() else { panic!("{owing:?}") };
    assert!(seen.owed().unwrap().contains(&DebtId::Commit.into()), "{seen:?}");
    let run =
        |ending: &str| Checked { id: "c".into(), ending: ending.to_owned().into(), ..Checked::default() };
    let checks = vec![run("not concerned"), run("exit 0")];
    let checked = Context { checks, ..Context::default() };
    assert_eq!(of(&working(), "Stop", &Verdict::pass(), &checked), ["check", "event"]);
}

#[test]
fn a_report_is_a_verdict_of_the_agent_that_owes_one() {
    let started = |name: &str| {
        let started = Started { agent_id: "a".into(), name: Stored::of(name), task: 1, ..Started::default() };
        with(|session| session.memory.progress.agents = vec![started])
    };
    let by = |kind: Option<&str>| Event {
        agent_id: Some("a".into()),
        agent_type: kind.map(str::to_owned),
        ..event("SubagentStop")
    };
    let found = |verdict: &str| AgentReport {
        verdict: Some(Stored::of(verdict)),
        problems: vec!["too much".into()],
        ..AgentReport::default()
    };
    let report = |report| Context {
        found: Found::AgentStop(Box::new(AgentStopContext {
            report: Some(report),
            ..AgentStopContext::default()
        })),
        ..Context::default()
    };
    let of = |session: &Session, event: &Event, verdict: &Verdict, context: &Context| {
        kinds(&facts(session, event, verdict, context))
    };
    let custodiet = by(Some("custodiet"));
    let pass = Verdict::pass();
    assert_eq!(of(&started("custodiet"), &custodiet, &pass, &report(Ok(found("OK")))), ["event", "verdict"]);
    assert_eq!(
        of(&started("custodiet"), &custodiet, &pass, &report(Ok(found("BLOCK")))),
        ["event", "verdict", "block"]
    );
    let sent_on = facts(
        &started("critic"),
        &by(Some("critic")),
        &Verdict::deny(GateId::Report, "form"),
        &report(Err("no".into())),
    );
    let Some(Fact::Verdict(said)) = sent_on.last() else { panic!("{sent_on:?}") };
    assert!(said.sent_on && said.finding.is_none() && said.problem.as_deref() == Some("no"), "{said:?}");
    assert_eq!(of(&started("custodiet"), &by(None), &pass, &report(Ok(found("OK")))), ["event"]);
    assert_eq!(
        of(&working(), &custodiet, &pass, &report(Ok(found("OK")))),
        ["event"],
        "its start was not seen"
    );
    assert_eq!(
        of(&working(), &custodiet, &pass, &report(Ok(found("BLOCK")))),
        ["event", "block"],
        "a block stands"
    );
}
