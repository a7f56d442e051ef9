mod authority;
mod bounds;
mod checks;
mod closing;
mod danger;
mod jail;
mod missing;
mod observed;
mod questions;
mod recorded;
mod run;
mod speech;
mod stop;
mod unasked;
mod weight;

use super::*;
use crate::config::policy::check::Moment;
use crate::config::policy::rule::Action;
use crate::config::policy::{Check, Rule};
use crate::model::agent::AgentId;
use crate::model::call::{CallKey, CallState, Effect, ToolCall, ToolResult};
use crate::model::debt::{Debt, DebtId};
use crate::model::event::{EventKind, PromptSent, SessionStart, SettingsChanged, TurnStopped, What};
use crate::model::named::Stored;
use crate::model::permission_mode::PermissionMode;
use crate::model::phase::{Phase, Sandbox};
use crate::model::worktree::{Asked, Worktree};
use crate::session::agent_report::AgentReport;
use crate::session::fact::{CallEnded, CallMeans, Checked};
use crate::session::memory::{LastRun, OpenCall, RunStep, Started};
use crate::session::names_taken::NamesTaken;
use crate::session::prompt::Prompt;
use crate::session::state::Task;
use crate::text::template::Phrase;
use crate::tool::targets::{Hidden, Targets};
use std::collections::BTreeMap;

/// A task that has changed something and has a plan.
fn working() -> Session {
    let mut session = Session { seq: 1, ..Session::default() };
    session.state.task = Some(Task { n: 1, writes: 1, ..Task::default() });
    session.state.phase = Phase::Execute;
    session.state.sandbox = Sandbox::Open;
    session.state.hydration.hydrated_intent = Some("i".to_owned());
    session.memory.progress.proven.reflected = true;
    session
}

fn taken_by(path: &str) -> NamesTaken {
    NamesTaken { names: Vec::new(), path: path.to_owned() }
}

fn with(change: impl FnOnce(&mut Session)) -> Session {
    let mut session = working();
    change(&mut session);
    session
}

fn with_policy(change: impl FnOnce(&mut Policy)) -> Session {
    let mut policy = Policy::default();
    change(&mut policy);
    with(|session| session.memory.configured.policy = Some(Box::new(policy)))
}

fn event(name: &str) -> Event {
    Event::named(name)
}

fn deferred() -> CallMeans {
    CallMeans { deferred: true, ..CallMeans::default() }
}

/// The same event with another kind.
fn renamed(name: &str, event: Event) -> Event {
    let call = event.call().cloned();
    let event = Event { what: Event::named(name).what, name: name.to_owned(), ..event };
    match call {
        Some(call) => event.with_call(call),
        None => event,
    }
}

fn busy() -> Event {
    stops(TurnStopped { busy_with: vec![String::new()], ..TurnStopped::default() })
}

fn stops(stop: TurnStopped) -> Event {
    Event { what: What::Stopped(stop), ..event("Stop") }
}

fn call(tool: &str) -> Event {
    let call = ToolCall { key: CallKey::of(tool, "t"), input: "{}".to_owned(), ..ToolCall::default() };
    event("PreToolUse").with_call(call)
}

fn calls(call: CallContext) -> Context {
    Context { found: Found::Call(Box::new(call)), ..Context::default() }
}

fn does(effect: Effect) -> Context {
    calls(CallContext { does: CallEffect { effect, ..CallEffect::default() }, ..CallContext::default() })
}

fn writes() -> Context {
    does(Effect::Write)
}

/// The gate that decided, its ruling, and its text.
fn said(session: &Session, event: &Event, context: &Context) -> (&'static str, Ruling, String) {
    let verdict = judge(session, event, context);
    let words = verdict.phrase.map(|phrase| phrase.template.to_owned());
    (verdict.gate.map_or("", GateId::name), verdict.ruling, words.unwrap_or(verdict.reason + &verdict.notice))
}

#[track_caller]
fn passes(session: &Session, event: &Event, context: &Context) {
    assert_eq!(judge(session, event, context), Verdict::pass());
}

#[track_caller]
fn refused(session: &Session, event: &Event, context: &Context, gate: &str, words: &str) {
    let (by, ruling, text) = said(session, event, context);
    assert_eq!((by, ruling), (gate, Ruling::Deny), "{text}");
    assert!(text.contains(words), "{text}");
}

#[track_caller]
fn told(session: &Session, event: &Event, context: &Context, gate: &str, words: &str) {
    let (by, ruling, text) = said(session, event, context);
    assert_eq!((by, ruling), (gate, Ruling::Pass), "{text}");
    assert!(text.contains(words), "{text}");
}

#[test]
fn being_moved() {
    let home = |path: &str| BTreeMap::from([("HOME".to_owned(), path.to_owned())]);
    let session = with(|session| session.memory.watched.folders = home("/a"));
    let moved = Context { folders: home("/b"), ..Context::default() };
    refused(&session, &call("Read"), &moved, "guard", "`HOME` is now `/b`");
    refused(&session, &call("Read"), &Context::default(), "guard", "unset");
    passes(&session, &event("Stop"), &moved);
    passes(&session, &call("Read"), &Context { folders: home("/a"), ..Context::default() });
    passes(&working(), &call("Read"), &moved);
    passes(&Session::default(), &call("Read"), &moved);
}

#[test]
fn watch() {
    let changed = SettingsChanged { file_path: "/s.json".to_owned() };
    let change = Event { what: What::Configured(changed), ..event("ConfigChange") };
    let text = |text: &str| Context {
        found: Found::Settings(SettingsContext { text: text.to_owned(), ..SettingsContext::default() }),
        ..Context::default()
    };
    let held =
        with(|session| drop(session.memory.watched.held.insert("/s.json".into(), vec!["Stop".into()])));
    refused(&held, &change, &text("{}"), "guard", "`Stop`");
    refused(&working(), &change, &text("{\"disableAllHooks\":true}"), "guard", "disableAllHooks");
    passes(&working(), &change, &text("{}"));
    passes(&working(), &change, &Context::default());
    let after = |ended| Context { found: Found::End(Box::new(ended)), ..Context::default() };
    let changed = after(EndContext { changed: vec!["/s.json".into()], ..EndContext::default() });
    told(&working(), &event("PostToolUse"), &changed, "guard", "/s.json");
    let disarmed = after(EndContext { disarmed: Some("gone".into()), ..EndContext::default() });
    told(&working(), &event("PostToolUseFailure"), &disarmed, "guard", "is blocked: gone");
    passes(&working(), &event("PostToolUse"), &Context::default());
    let mut reach = Targets::default();
    reach.hidden.push(Hidden::Program("clear-block".into()));
    let reached = calls(CallContext { reach, ..CallContext::default() });
    refused(&working(), &call("Bash"), &reached, "guard", "clear-block");
}

/// Starting an agent that no hook sees needs a person's approval.
#[test]
fn watch_over_commands() {
    let ground = aops_shell::syntax::Ground { cwd: "/p", home: "/h", variables: &[] };
    let input = r#"{"command": "codex exec x"}"#;
    let line = crate::tool::targets::line("Bash", input, &ground);
    let reach = crate::tool::targets::of("Bash", input, line.as_ref(), &ground);
    let context = calls(CallContext {
        reach,
        does: CallEffect { effect: Effect::Write, ..CallEffect::default() },
        ..CallContext::default()
    });
    refused(&working(), &call("Bash"), &context, "guard", "starts another agent");
    let attended = Context { attended: true, ..context };
    assert_eq!(said(&working(), &call("Bash"), &attended).1, Ruling::Ask);
}

#[test]
fn repeat() {
    let open = |sha: &str, reason: Option<&str>| {
        with(|session| {
            session.memory.calls.push(OpenCall {
                call: CallKey::of("Read", "t"),
                input_sha256: sha.to_owned(),
                reason: reason.map(str::to_owned),
                state: CallState::Executing,
                ..OpenCall::default()
            });
        })
    };
    refused(&open("x", None), &call("Read"), &Context::default(), "repeat", "still running");
    passes(&open("", None), &call("Read"), &Context::default());
    assert_eq!(super::repeat::same_answer(&open("x", None), &call("Read")), None);
    assert_eq!(super::repeat::same_answer(&open("", None), &call("Read")), Some(Verdict::pass()));
    let again = super::repeat::same_answer(&open("", Some("why")), &call("Read")).unwrap();
    assert_eq!((again.ruling, again.reason.as_str()), (Ruling::Ask, "why"));
    assert_eq!(super::repeat::same_answer(&working(), &event("Stop")), None);
    let past = |sha: &str, reason: Option<&str>| {
        let step = serde_json::json!({"call": CallKey::of("Read", "t"), "input_sha256": sha, "reason": reason, "to": "DENIED"});
        Context {
            earlier: Earlier { past: serde_json::from_value(step).ok(), ..Earlier::default() },
            ..Context::default()
        }
    };
    refused(&working(), &call("Read"), &past("", Some("no")), "repeat", "already ended: DENIED (no)");
    refused(&working(), &call("Read"), &past("", None), "repeat", "already ended: DENIED\n");
    let mut done = past("", None);
    if let Some(step) = &mut done.earlier.past {
        let result = Some(ToolResult { bytes: 7, ..ToolResult::default() });
        step.to = CallState::Completed;
        step.end = Some(Box::new(CallEnded { result, ..CallEnded::default() }));
    }
    refused(
        &working(),
        &call("Read"),
        &done,
        "repeat",
        "COMPLETED\nits result then (7 bytes, sha256 …)\nhint",
    );
    if let Some(result) = done.earlier.past.as_mut().and_then(|step| step.end.as_mut()?.result.as_mut()) {
        result.head = "one\ntwo".to_owned();
        result.tail = "ten".to_owned();
    }
    refused(&working(), &call("Read"), &done, "repeat", "…): one | two … ten\n");
    passes(&working(), &call("Read"), &past("other", None));
    passes(&working(), &Event { prompt_id: Some("p".into()), ..call("Read") }, &past("", None));
}

#[test]
fn rules() {
    let rule = |action| Rule { action, id: "r".into(), tool: vec!["Bash".into()], ..Rule::default() };
    let of =
        |actions: &[Action]| with_policy(|policy| policy.rules = actions.iter().map(|a| rule(*a)).collect());
    let attended = Context { attended: true, ..writes() };
    refused(&of(&[Action::Deny]), &call("Bash"), &attended, "rules", "rule.md");
    refused(&of(&[Action::Ask]), &call("Bash"), &writes(), "rules", "rule.md");
    told(&of(&[Action::Warn]), &call("Bash"), &writes(), "rules", "rule-warn.md");
    assert_eq!(said(&of(&[Action::Warn, Action::Ask]), &call("Bash"), &attended).1, Ruling::Ask);
    refused(&of(&[Action::Deny, Action::Warn]), &call("Bash"), &attended, "rules", "rule.md");
    passes(&of(&[Action::Deny]), &call("Write"), &writes());
    passes(&of(&[Action::Deny]), &call("Bash"), &Context::default());
    passes(&of(&[Action::Deny]), &event("Stop"), &Context::default());
}

#[test]
fn sandbox() {
    let shut = |phase, verdict: Option<&str>| {
        with(|session| {
            session.state.phase = phase;
            session.state.sandbox = Sandbox::Shut;
            session.state.hydration.critic_verdict = verdict.map(Stored::of);
            session.memory.progress.plan.problems = vec!["p".into()];
        })
    };
    for (phase, verdict, words) in [
        (Phase::Halted, None, "halted.md"),
        (Phase::Review, None, "sandbox-review.md"),
        (Phase::Hydrate, Some("REVISE"), "sandbox-revise.md"),
        (Phase::Hydrate, None, "sandbox.md"),
        (Phase::Execute, None, "sandbox-question.md"),
        (Phase::Idle, None, "sandbox.md"),
    ] {
        refused(&shut(phase, verdict), &call("Write"), &writes(), "sandbox", words);
    }
    let planning = Event { permission_mode: Some(PermissionMode::Plan.into()), ..call("Write") };
    for phase in [Phase::Idle, Phase::Hydrate] {
        refused(&shut(phase, None), &planning, &writes(), "sandbox", "sandbox-planning.md");
    }
    refused(&shut(Phase::Review, None), &planning, &writes(), "sandbox", "sandbox-review.md");
    let request = renamed("PermissionRequest", call("Write"));
    refused(&shut(Phase::Idle, None), &request, &writes(), "sandbox", "sandbox.md");
    passes(&shut(Phase::Idle, None), &renamed("PostToolUse", call("Write")), &Context::default());
    passes(&shut(Phase::Idle, None), &call("Read"), &does(Effect::Read));
    passes(&working(), &call("Write"), &writes());
    let shadowed = with(|session| {
        session.state.sandbox = Sandbox::Shut;
        session.memory.client.names_taken = Some(taken_by("critic.md"));
    });
    assert!(judge(&shadowed, &call("Write"), &writes()).context.contains("`critic.md`"));
    let unreviewed = |verdict: Option<&str>| {
        let mut session = with_policy(|policy| policy.gates.critic = Level::Warn);
        session.memory.progress.plan.gates = vec![Stored::of("critic")];
        session.state.hydration.critic_verdict = verdict.map(Stored::of);
        session
    };
    told(&unreviewed(None), &call("Write"), &writes(), "sandbox", "sandbox-review.md");
    passes(&unreviewed(Some("PROCEED")), &call("Write"), &writes());
    let waiver = Waiver { gate: GateId::Sandbox.into(), until_ms: 1, ..Waiver::default() };
    passes(
        &with(|s| {
            s.state.sandbox = Sandbox::Shut;
            s.memory.progress.waivers = vec![waiver];
        }),
        &call("Write"),
        &writes(),
    );
}

#[test]
fn our_own_agents() {
    let by = |agent: &str, tool: &str| Event {
        agent_id: Some("a".into()),
        agent_type: Some(agent.into()),
        ..call(tool)
    };
    let touches = CallContext {
        does: CallEffect { effect: Effect::Write, touches_tree: true, ..CallEffect::default() },
        ..CallContext::default()
    };
    for (agent, tool, context) in [
        ("framework", "Bash", does(Effect::Tracker)),
        ("aops:qa-verifier", "Bash", writes()),
        ("critic", "Read", does(Effect::Read)),
    ] {
        passes(&working(), &by(agent, tool), &context);
    }
    for (agent, tool, context) in [
        ("critic", "Write", writes()),
        ("critic", "Bash", does(Effect::Tracker)),
        ("framework", "Write", writes()),
        ("qa-verifier", "Bash", calls(touches)),
        ("qa-verifier", "Write", writes()),
    ] {
        refused(&working(), &by(agent, tool), &context, "sandbox", "agent-write.md");
    }
    assert_eq!(
        super::sandbox::shown(&ToolCall { input: "{\"command\":\"a `b`\"}".into(), ..ToolCall::default() }),
        ": a 'b'"
    );
}

#[test]
fn audit() {
    let due = |writes_since, auditing| {
        with(|session| {
            session.state.audit.due = true;
            session.state.audit.writes_since = writes_since;
            session.memory.progress.audit.under_way = auditing;
            let agent =
                Started { agent_id: "c".into(), name: AgentId::Custodiet.into(), ..Started::default() };
            session.memory.progress.agents = vec![agent];
        })
    };
    refused(&due(5, false), &call("Write"), &writes(), "audit", "audit-due.md");
    passes(&due(4, false), &call("Write"), &writes());
    passes(&due(5, true), &call("Write"), &writes());
    let mut dead = due(5, true);
    dead.memory.progress.agents[0].client = "another".into();
    refused(&dead, &call("Write"), &writes(), "audit", "audit-due.md");
    dead.memory.progress.agents[0] = Started { done: true, ..due(5, true).memory.progress.agents[0].clone() };
    refused(&dead, &call("Write"), &writes(), "audit", "audit-due.md");
    passes(&due(5, false), &call("Read"), &does(Effect::Read));
    passes(&due(5, false), &busy(), &Context::default());
    let off = with_policy(|policy| policy.gates.audit = Level::Off);
    let off = Session { state: due(5, false).state, ..off };
    passes(&off, &call("Write"), &writes());
    let warning =
        Session { state: due(5, false).state, ..with_policy(|policy| policy.gates.audit = Level::Warn) };
    assert!(judge(&warning, &call("Write"), &writes()).softened);
}

#[test]
fn report() {
    let started = |sent_on| {
        let start = Started {
            agent_id: "a".into(),
            name: AgentId::Critic.into(),
            sent_on,
            task: 1,
            ..Started::default()
        };
        with(|session| session.memory.progress.agents = vec![start])
    };
    let stop =
        Event { agent_id: Some("a".into()), agent_type: Some("critic".into()), ..event("SubagentStop") };
    let bad = Context {
        found: Found::AgentStop(Box::new(AgentStopContext {
            report: Some(Err("no block".into())),
            ..AgentStopContext::default()
        })),
        ..Context::default()
    };
    refused(&started(1), &stop, &bad, "report", "verdict-form.md");
    told(&started(2), &stop, &bad, "report", "verdict-given-up.md");
    passes(&working(), &stop, &bad);
    passes(
        &started(0),
        &stop,
        &Context {
            found: Found::AgentStop(Box::new(AgentStopContext {
                report: Some(Ok(AgentReport::default())),
                ..AgentStopContext::default()
            })),
            ..Context::default()
        },
    );
}
