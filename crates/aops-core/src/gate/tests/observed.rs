//! Tests mode `observe`, which rehearses a stricter one; clients that cannot start agents; and agents whose
//! names are taken.

use super::*;
use crate::config::policy::{ModeLevel, Rehearse};
use crate::gate::rehearsal;
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::session::growth::Growth;
use crate::session::memory::AtWork;

/// A task that began at its prompt, in mode `observe`.
fn observing(rehearse: Rehearse) -> Session {
    let mut session = with_policy(|policy| {
        policy.mode.set_level(ModeLevel::Observe);
        policy.mode.rehearse = rehearse;
        policy.gates.sandbox = Level::Off;
        policy.rehearsed = Some(crate::config::policy::Gates::default());
    });
    session.state.hydration.hydrated_intent = None;
    session.memory.progress.weight.unplanned = true;
    session
}

#[test]
fn only_what_could_be_refused_is_judged_again() {
    let observed = observing(Rehearse::Strict);
    let stage =
        |session: &Session, event: &Event, context: &Context| rehearsal::session(session, event, context);
    assert!(stage(&observed, &call("Write"), &writes()).is_some());
    assert!(stage(&observed, &call("Read"), &does(Effect::Read)).is_none());
    let ruled = with_policy(|policy| {
        policy.mode.set_level(ModeLevel::Observe);
        policy.rules = vec![Rule { id: "r".into(), ..Rule::default() }];
    });
    assert!(stage(&ruled, &call("Read"), &does(Effect::Read)).is_some());
    for name in ["Stop", "SubagentStop"] {
        assert!(stage(&observed, &event(name), &Context::default()).is_some(), "{name}");
    }
    assert!(stage(&observed, &event("UserPromptSubmit"), &Context::default()).is_none());
    assert!(stage(&working(), &call("Write"), &writes()).is_none(), "another mode");
    let mut blocked = observed.clone();
    blocked.state.state.custodiet_blocked = true;
    assert!(stage(&blocked, &call("Write"), &writes()).is_none());
    let in_run = Context { stage: Some(RunStep::default()), ..writes() };
    assert!(stage(&observed, &call("Write"), &in_run).is_none());
}

#[test]
fn the_rehearsed_mode_says_what_it_would_refuse() {
    let would = |session: &Session, said: &Verdict| {
        let stage = rehearsal::session(session, &call("Write"), &writes()).unwrap();
        rehearsal::verdict(&stage, &call("Write"), &writes(), said)
    };
    let strict = observing(Rehearse::Strict);
    assert_eq!(would(&strict, &Verdict::pass()).and_then(|verdict| verdict.gate), Some(GateId::Sandbox));
    assert_eq!(would(&strict, &Verdict::deny(GateId::Guard, "no")), None, "it was refused anyway");
    let mut planned = strict.clone();
    planned.state.hydration.hydrated_intent = Some("i".into());
    assert_eq!(would(&planned, &Verdict::pass()), None);
    let mut waived = strict;
    waived.state.task.as_mut().unwrap().waiver = Some(Stored::of("prompt"));
    assert_eq!(would(&waived, &Verdict::pass()), None);
    let small = observing(Rehearse::Loop);
    assert_eq!(would(&small, &Verdict::pass()), None);
    let mut grown = small;
    grown.memory.progress.weight.grown = (0..5).fold(Growth::default(), |growth, n| {
        growth.with(crate::session::growth::ChangedFile {
            path: format!("f{n}"),
            is: "new".into(),
            lines: 20,
            ..Default::default()
        })
    });
    let stage = rehearsal::session(&grown, &call("Write"), &writes()).unwrap();
    assert!(stage.memory.progress.weight.outgrown.is_some());
    grown.memory.progress.weight.outgrown = Some("known".into());
    let stage = rehearsal::session(&grown, &call("Write"), &writes()).unwrap();
    assert_eq!(stage.memory.progress.weight.outgrown.as_deref(), Some("known"));
}

#[test]
fn a_client_without_agents_is_not_sent_to_one() {
    let agentless = |change: &dyn Fn(&mut Session)| {
        with(|session| {
            session.memory.client.agentless = Some("no Agent tool".into());
            session.state.sandbox = Sandbox::Shut;
            change(session);
        })
    };
    refused(&agentless(&|_| {}), &call("Write"), &writes(), "sandbox", "agentless.md");
    passes(&agentless(&|session| session.state.sandbox = Sandbox::Open), &call("Write"), &writes());
    let halted = agentless(&|session| session.state.phase = Phase::Halted);
    refused(&halted, &call("Write"), &writes(), "sandbox", "halted.md");
    let by = Event { agent_id: Some("a".into()), agent_type: Some("critic".into()), ..call("Write") };
    refused(&agentless(&|_| {}), &by, &writes(), "sandbox", "agent-write.md");
    let shut = Context { stage: Some(RunStep::default()), ..writes() };
    refused(&agentless(&|_| {}), &call("Write"), &shut, "sandbox", "sandbox-step.md");
    let due = agentless(&|session| {
        session.state.sandbox = Sandbox::Open;
        session.state.audit.due = true;
        session.state.audit.writes_since = 99;
    });
    passes(&due, &call("Write"), &writes());
    // At the end, no report is required that cannot come.
    let owing = agentless(&|session| {
        session.memory.progress.plan.gates = vec![Stored::of("qa")];
        session.memory.progress.proven.reflected = false;
    });
    told(&owing, &event("Stop"), &Context::default(), "owed", "stop-let-go.md");
}

#[test]
fn nobody_is_sent_to_an_agent_whose_names_are_taken() {
    let taken = |phase: Phase| {
        with(|session| {
            session.memory.client.names_taken = Some(taken_by("/p/.claude/agents/x.md"));
            session.state.phase = phase;
            session.state.sandbox = Sandbox::Shut;
        })
    };
    let missing = |name: &str| Context {
        agents: AgentNames { missing: vec![name.into()], ..AgentNames::default() },
        ..writes()
    };
    let hydrate = taken(Phase::Hydrate);
    let review = taken(Phase::Review);
    refused(&hydrate, &call("Write"), &missing("prompt-hydrator"), "sandbox", "agent-missing.md");
    refused(&review, &call("Write"), &missing("critic"), "sandbox", "agent-missing.md");
    refused(&hydrate, &call("Write"), &missing("critic"), "sandbox", "sandbox.md");
    refused(&review, &call("Write"), &writes(), "sandbox", "sandbox-review.md");
    let due = with(|session| {
        session.memory.client.names_taken = Some(taken_by("/p/.claude/agents/custodiet.md"));
        session.state.audit.due = true;
        session.state.audit.writes_since = 99;
    });
    refused(&due, &call("Write"), &missing("custodiet"), "audit", "agent-missing.md");
    refused(&due, &call("Write"), &writes(), "audit", "audit-due.md");
}

#[test]
fn an_agent_at_work_is_waited_for() {
    let at_work = |name: &str, phase: Phase| {
        with(|session| {
            let since = "2026-01-13T10:00:00.000Z".to_owned();
            let work = AtWork { call: "other".into(), name: Stored::of(name), since, ..AtWork::default() };
            session.memory.agents.at_work = vec![work];
            session.state.phase = phase;
            session.state.sandbox = Sandbox::Shut;
        })
    };
    refused(
        &at_work("prompt-hydrator", Phase::Hydrate),
        &call("Write"),
        &writes(),
        "sandbox",
        "agent-at-work.md",
    );
    refused(&at_work("critic", Phase::Review), &call("Write"), &writes(), "sandbox", "agent-at-work.md");
    refused(&at_work("prompt-hydrator", Phase::Halted), &call("Write"), &writes(), "sandbox", "halted.md");
    let again = ToolCall {
        key: CallKey::of("Agent", "t"),
        input: r#"{"subagent_type": "critic"}"#.to_owned(),
        ..ToolCall::default()
    };
    let again = event("PreToolUse").with_call(again);
    refused(&at_work("critic", Phase::Review), &again, &does(Effect::Spawn), "report", "agent-at-work.md");
    let renamed = |prefix| Context {
        agents: AgentNames { prefix, renamed: vec!["critic".into()], ..AgentNames::default() },
        ..Context::default()
    };
    assert_eq!(
        (renamed("").agent(AgentId::Critic), renamed("").agent(AgentId::Custodiet)),
        ("aops-critic".into(), "custodiet".into())
    );
    assert_eq!(renamed("aops:").agent(AgentId::Critic), "aops:critic");
    assert!(!crate::gate::sandbox::is_held(&working(), &event("Stop"), &Context::default()));
}
