//! Tests gates inside a run: the step replaces the loop, and a question pauses the run because no person is
//! there.

use super::*;
use crate::model::named::Stored;
use crate::model::outcome::CheckEnding;
use crate::session::memory::RunStep;

fn step(change: impl FnOnce(&mut RunStep)) -> Context {
    let mut stage = RunStep { sandbox: Sandbox::Open, step: "s".into(), ..RunStep::default() };
    change(&mut stage);
    Context { attended: true, defers: true, stage: Some(stage), ..writes() }
}

fn by(agent: &str, event: Event) -> Event {
    Event { agent_id: Some("a".into()), agent_type: Some(agent.into()), ..event }
}

#[test]
fn a_question_pauses_the_run() {
    let rule = Rule { action: Action::Ask, id: "r".into(), tool: vec!["Bash".into()], ..Rule::default() };
    let asked = with_policy(|policy| policy.rules = vec![rule]);
    let ruling = |event: &Event, context: &Context| judge(&asked, event, context).ruling;
    assert_eq!(ruling(&call("Bash"), &step(|_| {})), Ruling::Defer);
    assert_eq!(ruling(&call("Bash"), &Context { stage: None, ..step(|_| {}) }), Ruling::Defer);
    assert_eq!(ruling(&call("Bash"), &step(|step| step.approved = Some("other".into()))), Ruling::Defer);
    assert_eq!(ruling(&by("Explore", call("Bash")), &step(|_| {})), Ruling::Deny, "an agent cannot pause it");
    passes(&asked, &call("Read"), &step(|_| {}));
}

/// The approval is valid for exactly the call that was asked about, not for any later call with its ID.
#[test]
fn an_approval_is_for_the_call_that_waits() {
    let rule = Rule { action: Action::Ask, id: "r".into(), tool: vec!["Bash".into()], ..Rule::default() };
    let mut asked = with_policy(|policy| policy.rules = vec![rule]);
    let approved = step(|step| step.approved = Some("t".into()));
    assert_eq!(judge(&asked, &call("Bash"), &approved).ruling, Ruling::Defer, "nothing was asked");
    asked.memory.calls.push(OpenCall {
        call: CallKey::of("Bash", "t"),
        means: deferred(),
        ..OpenCall::default()
    });
    passes(&asked, &call("Bash"), &approved);
    let ruling = |change: &dyn Fn(&mut OpenCall)| {
        let mut other = asked.clone();
        change(&mut other.memory.calls[0]);
        judge(&other, &call("Bash"), &approved).ruling
    };
    assert_ne!(ruling(&|open| open.input_sha256 = "other".into()), Ruling::Pass);
    assert_ne!(ruling(&|open| open.state = CallState::Executing), Ruling::Pass);
    assert_ne!(ruling(&|open| open.means.deferred = false), Ruling::Pass);
}

#[test]
fn a_step_has_a_sandbox_of_its_own() {
    let shut = || step(|step| step.sandbox = Sandbox::Shut);
    refused(&working(), &call("Write"), &shut(), "sandbox", "sandbox-step.md");
    let closing = |effect| Context {
        found: does(effect).found,
        ..step(|step| (step.sandbox, step.closes) = (Sandbox::Shut, true))
    };
    passes(&working(), &call("Bash"), &closing(Effect::Close));
    refused(&working(), &call("Bash"), &closing(Effect::Write), "sandbox", "sandbox-step.md");
    let closed = with(|session| session.state.sandbox = Sandbox::Shut);
    passes(&closed, &call("Write"), &step(|_| {}));
}

/// Before the plan gate opens, only an agent whose start we saw may do what its name allows.
#[test]
fn a_name_alone_gives_no_right() {
    let verifies = by("qa-verifier", call("Bash"));
    let started = Started { agent_id: "a".into(), name: AgentId::QaVerifier.into(), ..Started::default() };
    let shut = |agents: Vec<Started>| {
        with(|session| {
            session.state.sandbox = Sandbox::Shut;
            session.memory.progress.agents = agents;
        })
    };
    passes(&shut(vec![started]), &verifies, &writes());
    refused(&shut(Vec::new()), &verifies, &writes(), "sandbox", "agent-write.md");
}

#[test]
fn a_step_owes_the_verdict_of_its_agent_and_the_last_one_the_rest() {
    let stop = event("Stop");
    let tree = Worktree {
        uncommitted: vec!["a".into()],
        push: Some(("git push".into(), "x".into())),
        ..Worktree::default()
    };
    let owes = |session: &Session, context: &Context| {
        judge(session, &stop, context).debts.iter().map(|debt| debt.id.name()).collect::<Vec<_>>()
    };
    let closing = |change: fn(&mut RunStep)| Context {
        tree: tree.clone(),
        ..step(|step| {
            step.agent = Some(AgentId::QaVerifier.into());
            step.closes = true;
            change(step);
        })
    };
    assert_eq!(owes(&working(), &closing(|_| {})), ["qa-verifier", "commit", "push"]);
    assert_eq!(owes(&working(), &closing(|step| step.said = Some("VERIFIED".into()))), ["commit", "push"]);
    assert_eq!(owes(&working(), &closing(|step| step.closes = false)), ["qa-verifier"]);
    passes(&working(), &stop, &closing(|step| (step.agent, step.closes) = (None, false)));
    let free =
        with_policy(|policy| (policy.gates.commit, policy.gates.push) = (Some(Level::Off), Some(Level::Off)));
    assert_eq!(owes(&free, &closing(|_| {})), ["qa-verifier"]);
    let close = Waiver { gate: GateId::Close.into(), until_ms: 1, ..Waiver::default() };
    let waived = with(|session| session.memory.progress.waivers = vec![close]);
    assert_eq!(owes(&waived, &closing(|_| {})), ["qa-verifier"]);
}

/// A run paused for the call: we decide again whether it still needs a question.
#[test]
fn a_deferred_call_is_judged_again() {
    let open = OpenCall {
        call: CallKey::of("Read", "t"),
        means: deferred(),
        reason: Some("why".into()),
        state: CallState::Executing,
        ..OpenCall::default()
    };
    let session = with(|session| session.memory.calls.push(open));
    assert_eq!(super::super::repeat::same_answer(&session, &call("Read")), None);
}

/// Outside of a run: an answer that a person gave from anywhere is valid for exactly one call, and for a
/// limited time.
#[test]
fn an_approved_call_of_a_session_is_allowed() {
    let rule = Rule { action: Action::Ask, id: "r".into(), tool: vec!["Bash".into()], ..Rule::default() };
    let mut asked = with_policy(|policy| policy.rules = vec![rule]);
    asked.memory.calls.push(OpenCall {
        call: CallKey::of("Bash", "t"),
        means: deferred(),
        ..OpenCall::default()
    });
    let waiver = Waiver { gate: Waived::Call("t".to_owned()), reason: "eve at noon".into(), until_ms: 10 };
    asked.memory.progress.waivers.push(waiver);
    let at = |now_ms| Context { attended: false, defers: true, now_ms, ..writes() };
    let alone = at(9);
    let said = judge(&asked, &call("Bash"), &alone);
    assert_eq!((said.ruling, said.reason.as_str()), (Ruling::Allow, "approved by eve at noon"));
    let ruling = |change: &dyn Fn(&mut Session), context: &Context| {
        let mut other = asked.clone();
        change(&mut other);
        judge(&other, &call("Bash"), context).ruling
    };
    assert_eq!(ruling(&|_| (), &at(10)), Ruling::Defer, "its time is over");
    assert_eq!(
        ruling(&|other| other.memory.progress.waivers[0].gate = Waived::Call("u".to_owned()), &alone),
        Ruling::Defer
    );
    assert_eq!(ruling(&|other| other.memory.calls[0].input_sha256 = "other".into(), &alone), Ruling::Deny);
    assert_eq!(ruling(&|other| other.memory.calls[0].means.deferred = false, &alone), Ruling::Defer);
    passes(&asked, &event("Stop"), &alone);
}

/// Codex cannot repeat a deferred call by itself: the model is told to make it again, and that call has
/// another ID.
#[test]
fn an_approved_call_passes_once_under_another_id() {
    let rule = Rule { action: Action::Ask, id: "r".into(), tool: vec!["Bash".into()], ..Rule::default() };
    let mut asked = with_policy(|policy| policy.rules = vec![rule]);
    let waits = OpenCall { call: CallKey::of("Bash", "first"), means: deferred(), ..OpenCall::default() };
    asked.memory.calls.push(waits.clone());
    let approved = step(|step| step.approved = Some("first".into()));
    passes(&asked, &call("Bash"), &approved);
    let made = facts::facts(&asked, &call("Bash"), &Verdict::pass(), &approved);
    assert_eq!(made.len(), 4, "the one that waited is settled: {made:?}");
    assert_eq!(
        judge(&asked, &by("Explore", call("Bash")), &approved).ruling,
        Ruling::Deny,
        "an agent has its own calls"
    );
    let ruling = |change: &dyn Fn(&mut OpenCall)| {
        let mut other = asked.clone();
        change(&mut other.memory.calls[0]);
        judge(&other, &call("Bash"), &approved).ruling
    };
    assert_eq!(ruling(&|open| open.input_sha256 = "other".into()), Ruling::Defer);
    assert_eq!(ruling(&|open| open.state = CallState::Executing), Ruling::Defer);
    assert_eq!(ruling(&|open| open.means.deferred = false), Ruling::Defer);
    // The step may end while the call is undecided.
    passes(&asked, &event("Stop"), &step(|step| step.agent = Some(AgentId::Critic.into())));
}

/// Checks in a run: before the stop of any step that may change something or closes, except those a person
/// waived.
#[test]
fn checks_are_run_before_the_stop_of_a_step() {
    let checked = || {
        let check = Check { id: "c".into(), on: Moment::Stop, run: "x".into(), ..Check::default() };
        let commit = Check { id: "d".into(), on: Moment::Commit, ..check.clone() };
        with_policy(|policy| policy.checks = vec![check, commit])
    };
    let wanted = |session: &Session, event: &Event, context: &Context| {
        let verdict = judge(session, event, context);
        super::super::checks::wanted(session, event, context, &verdict).len()
    };
    let stop = event("Stop");
    assert_eq!(wanted(&checked(), &stop, &step(|_| {})), 1);
    let shut = |closes| step(|step| (step.sandbox, step.closes) = (Sandbox::Shut, closes));
    assert_eq!((wanted(&checked(), &stop, &shut(true)), wanted(&checked(), &stop, &shut(false))), (1, 0));
    assert_eq!(wanted(&checked(), &stop, &step(|step| step.waived = vec!["c".into()])), 0);
    // A call that waited for a person is checked again when it comes back.
    let asked = |deferred, state| {
        let mut session = checked();
        let call_key = CallKey::of("Bash", "t");
        session.memory.calls.push(OpenCall {
            call: call_key,
            means: CallMeans { deferred, ..CallMeans::default() },
            state,
            ..OpenCall::default()
        });
        let commits = CallContext {
            does: CallEffect { effect: Effect::Write, ..CallEffect::default() },
            checks: CheckFacts { commits: true, ..CheckFacts::default() },
            ..CallContext::default()
        };
        wanted(&session, &call("Bash"), &Context { found: calls(commits).found, ..step(|_| {}) })
    };
    assert_eq!(asked(true, CallState::Pending), 1);
    assert_eq!((asked(true, CallState::Executing), asked(false, CallState::Pending)), (0, 0));
}

#[test]
fn a_step_owes_what_its_checks_ask_for_and_a_last_verification() {
    let owes = |session: &Session, context: &Context| {
        judge(session, &event("Stop"), context).debts.iter().map(|debt| debt.id.name()).collect::<Vec<_>>()
    };
    let ran = |outcome: &str| {
        let run = Checked {
            ending: CheckEnding::Exit(1),
            id: "c".into(),
            on: Moment::Stop,
            outcome: Stored::of(outcome),
            ..Checked::default()
        };
        Context { attended: false, checks: vec![run], ..step(|_| {}) }
    };
    assert_eq!(owes(&working(), &ran("INTERVENTION_REQUIRED")), ["checks"]);
    let warned = with_policy(|policy| policy.gates.checks = Level::Warn);
    assert!(owes(&warned, &ran("INTERVENTION_REQUIRED")).is_empty(), "the gate only warns");
    assert!(owes(&working(), &ran("HALT")).is_empty(), "the work ends");
    let said = judge(&working(), &event("Stop"), &ran("ASK_USER"));
    assert!(said.debts.is_empty() && said.phrase.is_some(), "the driver asks: {said:?}");
    let verifies = || step(|step| step.verifies = true);
    assert_eq!(owes(&working(), &verifies()), ["qa-verifier"]);
    assert!(owes(&with(|session| session.memory.progress.proven.verified = true), &verifies()).is_empty());
    let qa = Waiver { gate: GateId::Qa.into(), until_ms: 1, ..Waiver::default() };
    assert!(owes(&with(|session| session.memory.progress.waivers = vec![qa]), &verifies()).is_empty());
}
