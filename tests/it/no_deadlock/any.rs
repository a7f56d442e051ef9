//! Deciding is total: any event, on any state, in any context, is judged; never a panic, twice the same word,
//! and no refusal without a next step.

use super::world::World;
use super::{CONFIGS, make, moves};
use aops_core::config::policy::check::Moment;
use aops_core::gate::{self, Context, Found, SettingsContext};
use aops_core::hook;
use aops_core::host::claude::wire::read;
use aops_core::model::call::{CallKey, CallState, Effect, ToolCall};
use aops_core::model::event::{EVENTS, Event, What};
use aops_core::model::named::Stored;
use aops_core::model::phase::Phase;
use aops_core::model::phase::Sandbox;
use aops_core::model::verdict::Ruling;
use aops_core::model::worktree::{Asked, Worktree};
use aops_core::observe;
use aops_core::session::agent_report::AgentReport;
use aops_core::session::fact::{Checked, Step};
use aops_core::session::fold::Session;
use aops_core::session::memory::{OpenCall, Started};
use aops_core::session::state::Task;
use aops_core::system::env::Env;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

const FIELDS: &[&str] = &[
    "prompt", "tool_name", "tool_input", "tool_use_id", "agent_id", "agent_type", "permission_mode",
    "source", "reason", "last_assistant_message", "background_tasks", "file_path", "new_cwd", "cwd",
    "prompt_id", "error", "transcript_path", "tool_response", "stop_hook_active", "tool_calls", "command",
    "content", "todos",
];

const WORDS: &[&str] = &[
    "",
    "Bash",
    "Write",
    "Edit",
    "Agent",
    "mcp__memory__store",
    "critic",
    "aops:custodiet",
    "prompt-hydrator",
    "qa-verifier",
    "framework",
    "git commit -am x && git push",
    "rm -rf ~/.claude; eval \"$x\"",
    "aops-hook clear-block",
    "do it",
    ". do",
    "/x",
    "t1",
    "a1",
    "default",
    "bypassPermissions",
    "fork",
    "/",
    "../..",
    "```aops\n{\"verdict\":\"OK\"}\n```",
    "\u{202e}\u{0}\u{feff}é𝄞",
    "git push --force",
    "/p/.aops/config.toml",
    "1",
    "save",
    "HALT",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => select(WORDS).prop_map(str::to_owned), 1 => any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => word().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((select(FIELDS), inner), 0..4).prop_map(|all| all
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

/// An event as the wire reads any JSON under any name; one it does not take is made by hand.
fn event() -> impl Strategy<Value = Event> {
    let name = prop_oneof![9 => (0..EVENTS.len()).prop_map(|n| EVENTS[n].name.to_owned()), 1 => word()];
    let tool = (word(), word(), value());
    (name, vec((select(FIELDS), value()), 0..10), tool).prop_map(|(name, fields, (tool, id, input))| {
        let mut payload = json!({"session_id": "no-deadlock", "cwd": "/p", "hook_event_name": name,
            "tool_name": tool, "tool_use_id": id, "tool_input": input});
        payload.as_object_mut().unwrap().extend(fields.into_iter().map(|(k, v)| (k.to_owned(), v)));
        let input = payload["tool_input"].to_string();
        let call = ToolCall { key: CallKey::of(&tool, &id), input, ..ToolCall::default() };
        let by_hand =
            Event { agent_id: Some(id), agent_type: Some(tool), ..Event::named(&name) }.with_call(call);
        read::read(&name, payload.to_string().as_bytes()).unwrap_or(by_hand)
    })
}

const EFFECTS: [Effect; 6] =
    [Effect::Read, Effect::Write, Effect::Close, Effect::Spawn, Effect::Tracker, Effect::Control];

/// Numbers at both ends and in between.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..6_u64, Just(u64::MAX)]
}

/// Whatever a ledger could and could not lead to.
#[derive(Clone, Debug)]
struct Odd {
    phase: Phase,
    open: bool,
    blocked: Option<String>,
    pending: bool,
    verdict: Option<String>,
    audit: (bool, bool, u64),
    stop: (u64, Vec<String>),
    rounds: u64,
    flags: (bool, bool),
    texts: Vec<String>,
    task: Option<(u64, Option<String>)>,
    started: Vec<(String, String, u64)>,
    call: Option<(String, String, Option<String>)>,
}

fn odd() -> impl Strategy<Value = Odd> {
    let flow = (
        select(&Phase::ALL[..]),
        any::<bool>(),
        proptest::option::of(word()),
        any::<bool>(),
        proptest::option::of(select(&["PROCEED", "REVISE", "HALT", "?"][..]).prop_map(str::to_owned)),
        (any::<bool>(), any::<bool>(), number()),
    );
    let rest = (
        (number(), vec(word(), 0..4)),
        number(),
        (any::<bool>(), any::<bool>()),
        vec(word(), 0..4),
        proptest::option::of((number(), proptest::option::of(word()))),
        vec((word(), word(), number()), 0..3),
        proptest::option::of((word(), word(), proptest::option::of(word()))),
    );
    (flow, rest).prop_map(|(flow, rest)| {
        let (phase, open, blocked, pending, verdict, audit) = flow;
        let (stop, rounds, flags, texts, task, started, call) = rest;
        Odd { phase, open, blocked, pending, verdict, audit, stop, rounds, flags, texts, task, started, call }
    })
}

fn set(session: &mut Session, odd: Odd) {
    let (state, course) = (&mut session.state, &mut session.memory.progress);
    state.phase = odd.phase;
    state.sandbox = if odd.open { Sandbox::Open } else { Sandbox::Shut };
    state.state.custodiet_blocked = odd.blocked.is_some();
    // The words of a state that was cut.
    state.state.custodiet_block_reason = odd.blocked.filter(|words| words != "1");
    state.state.hydration_pending = odd.pending;
    state.hydration.critic_verdict = odd.verdict.as_deref().map(Stored::of);
    (state.audit.due, course.audit.under_way, state.audit.writes_since) = odd.audit;
    state.stop.refusals = odd.stop.0;
    state.stop.owed = odd.stop.1.iter().map(|name| Stored::of(name)).collect();
    course.proven.rounds = odd.rounds;
    (course.proven.verified, course.proven.reflected) = odd.flags;
    course.plan.gates = ["qa", "critic"].map(Stored::of).into_iter().take(odd.texts.len()).collect();
    course.plan.problems = odd.texts;
    state.task = odd.task.map(|(writes, waiver)| Task {
        intent: None,
        n: 1,
        waiver: waiver.as_deref().map(Stored::of),
        writes,
    });
    let agents = odd.started.into_iter().map(|(agent_id, name, sent_on)| Started {
        agent_id,
        name: Stored::of(&name),
        sent_on,
        task: 1,
        ..Started::default()
    });
    course.agents = agents.collect();
    session.memory.calls.extend(odd.call.map(|(tool, id, reason)| OpenCall {
        agent_id: None,
        call: CallKey::of(&tool, &id),
        input_sha256: String::new(),
        prompt_id: None,
        reason,
        state: CallState::Pending,
        ..OpenCall::default()
    }));
}

#[derive(Clone, Debug)]
struct Seen {
    texts: Vec<String>,
    flags: (bool, bool, bool, bool),
    effect: Option<Effect>,
    numbers: (u64, u64),
    report: Option<Result<(), String>>,
    push: bool,
    checks: Vec<(String, String, Index)>,
    prefix: bool,
    past: Option<String>,
    moved: bool,
}

fn seen() -> impl Strategy<Value = Seen> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let outcomes = select(&["PASS", "HALT", "ASK_USER", "INTERVENTION_REQUIRED"][..]).prop_map(str::to_owned);
    let endings = prop_oneof![Just("cut off".to_owned()), Just("exit 1".to_owned()), word()];
    (
        vec(word(), 0..4),
        flags,
        proptest::option::of(select(&EFFECTS[..])),
        (number(), number()),
        proptest::option::of(prop_oneof![Just(Ok(())), word().prop_map(Err)]),
        any::<bool>(),
        vec((outcomes, endings, any::<Index>()), 0..3),
        (any::<bool>(), proptest::option::of(word()), any::<bool>()),
    )
        .prop_map(|(texts, flags, effect, numbers, report, push, checks, (prefix, past, moved))| Seen {
            texts,
            flags,
            effect,
            numbers,
            report,
            push,
            checks,
            prefix,
            past,
            moved,
        })
}

fn laid_out(mut context: Context, event: &Event, seen: Seen) -> Context {
    let text = |n: usize| seen.texts.get(n).cloned();
    context.attended = seen.flags.0;
    if let (What::Configured(_), Some(text)) = (&event.what, text(1)) {
        context.found = Found::Settings(SettingsContext { text, ..SettingsContext::default() });
    } else if seen.effect.is_some() && matches!(context.found, Found::Nothing) {
        context.found = Found::Call(Box::default());
    }
    match &mut context.found {
        Found::Call(call) => {
            call.does.effect = seen.effect.unwrap_or(call.does.effect);
            (_, _, call.checks.commits, call.does.touches_tree) = seen.flags;
            call.checks.saves = text(0);
        }
        Found::AgentStop(stop) => {
            stop.report = seen.report.map(|report| report.map(|()| AgentReport::default()));
        }
        Found::Start(start) => {
            start.shadowed = text(0);
            start.blocked_beside = seen.texts.iter().map(|text| (text.clone(), text.clone())).collect();
        }
        Found::End(end) => {
            end.disarmed = text(2);
            end.changed.clone_from(&seen.texts);
        }
        _ => {}
    }
    context.tree = Worktree {
        behind: u64::from(seen.prefix),
        foreign: seen.texts.clone(),
        others: seen.push,
        uncommitted: seen.texts.clone(),
        push: seen.push.then(|| (String::new(), String::new())),
        unpushed: u64::from(seen.prefix),
        asked: if seen.prefix { Asked::NoRepository } else { Asked::Unasked("killed".to_owned()) },
    };
    context.agents.prefix = if seen.prefix { "aops:" } else { "" };
    if seen.moved {
        context.folders.insert("HOME".to_owned(), text(0).unwrap_or_default());
    }
    let moments = [Moment::Save, Moment::Commit, Moment::Stop];
    context.checks = seen
        .checks
        .into_iter()
        .map(|(outcome, ending, on)| Checked {
            outcome: Stored::of(&outcome),
            ending: ending.into(),
            on: moments[on.index(3)],
            ..Checked::default()
        })
        .collect();
    context.earlier.past = seen.past.zip(event.call()).map(|(reason, call)| Step {
        call: call.key.clone(),
        input_sha256: call.input_sha256.clone(),
        prompt_id: event.prompt_id.clone(),
        reason: Some(reason).filter(|reason| !reason.is_empty()),
        to: CallState::Denied,
        ..Step::default()
    });
    context
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything_is_judged(
        config in 0..CONFIGS.len(),
        before in vec(moves(), 0..6),
        odd in odd(),
        event in event(),
        seen in seen(),
    ) {
        // Quoted text may look like a gap in one of our templates.
        let theirs = format!("{before:?} {odd:?} {event:?} {seen:?}").contains("{{");
        let mut world = World::new(CONFIGS[config]);
        for move_ in before {
            make(&mut world, move_);
        }
        let mut session = world.session;
        set(&mut session, odd);
        let mut event = event;
        if let What::Stopped(stop) = &mut event.what {
            stop.busy_with = if seen.flags.1 { vec![String::new()] } else { Vec::new() };
        }
        let policy = session.memory.configured.policy.get_or_insert_default();
        (policy.audit.grace, policy.stop.refusals) = seen.numbers;
        session.memory.watched.folders.insert("HOME".to_owned(), "/home".to_owned());
        // No folder of anybody's: nothing is read but what is shipped.
        let env = Env { user_config: "/nowhere".into(), home: "/home".into(), config: "/nowhere/c".into(), ..Env::default() };
        let context = laid_out(observe::call::again(&env, &session, &event, 0), &event, seen);
        let verdict = gate::judge(&session, &event, &context);
        prop_assert_eq!(&verdict, &gate::judge(&session, &event, &context));
        let _ = gate::checks::wanted(&session, &event, &context, &verdict);
        let said = hook::judge(&env, &session, &event, &context).unwrap();
        prop_assert_eq!(said.ruling, verdict.ruling);
        if said.ruling > Ruling::Allow {
            // A dialog speaks to the person, who approves or not; anything else to the model.
            let next = if said.ruling == Ruling::Ask && context.attended { "\nApprove only if " } else { "\nhint: " };
            prop_assert!(said.reason.contains(next), "no next step: {:?}", said);
            prop_assert!(theirs || !said.reason.contains("{{"), "not filled in: {:?}", said);
            prop_assert!(event.name != "Stop" || said.reason.chars().count() < 1500, "too long: {:?}", said);
        } else {
            prop_assert!(said.reason.is_empty(), "{:?}", said);
        }
    }
}
