//! Tests missing events: an agent's end, the end of a turn, the end of a call.

use super::*;
use crate::model::event::{AgentEnd, AgentEndKind, EndedBatch};
use crate::model::gate_id::GateId;
use crate::session::fact::{Fact, GoesOn, LeftChanged, NO_EFFECT, TurnBefore, UNREPORTED};
use crate::session::growth::ChangedFile;
use crate::session::memory::{AtWork, Parked, Prompted};
use crate::text::sha256::sha256;

const BLOCK: &str = r#"{"verdict": "BLOCK", "violation": "it left the plan"}"#;

/// One of our agents is at work, started by call `t`.
fn at_work(name: &str) -> Session {
    with(|session| {
        let agent = Started { agent_id: "a".into(), name: Stored::of(name), task: 1, ..Started::default() };
        session.memory.progress.agents = vec![agent];
        let at = AtWork {
            agent_id: Some("a".into()),
            call: "t".into(),
            name: Stored::of(name),
            ..AtWork::default()
        };
        session.memory.agents.at_work = vec![at];
        let call = CallKey::of("Agent", "t");
        session.memory.calls = vec![OpenCall { call, state: CallState::Executing, ..OpenCall::default() }];
    })
}

fn ends(name: &str, agent_id: Option<&str>, how: AgentEndKind, report: &str) -> Event {
    let end =
        AgentEnd { call: "t".into(), agent_id: agent_id.map(str::to_owned), how, report: report.to_owned() };
    let ends = vec![end];
    let kind = EventKind::of(name);
    let what = match kind {
        EventKind::PostToolBatch => What::Batched(EndedBatch { ends, ..EndedBatch::default() }),
        EventKind::UserPromptSubmit => What::Prompted(PromptSent { ends, ..PromptSent::default() }),
        _ => What::of_call(kind, call("Agent").call().unwrap().clone(), ends),
    };
    Event { what, ..event(name) }
}

fn kinds(session: &Session, event: &Event, context: &Context) -> Vec<&'static str> {
    let facts = facts::facts(session, event, &Verdict::pass(), context);
    facts.iter().map(|fact| fact.stored().0).filter(|kind| !matches!(*kind, "event" | "call")).collect()
}

#[test]
fn an_agent_that_ended_without_its_end() {
    use AgentEndKind::{Completed, Failed, Stopped};
    let plain = Context::default();
    let batch = |how, report: &str| ends("PostToolBatch", None, how, report);
    let custodiet = at_work("custodiet");
    let blocked = batch(Completed, BLOCK);
    assert_eq!(kinds(&custodiet, &blocked, &plain), ["violation", "verdict", "block"]);
    told(&custodiet, &blocked, &plain, "report", "Its BLOCK was read from the call's result");
    told(&custodiet, &batch(Completed, "OK"), &plain, "report", "start `custodiet` again");
    assert_eq!(kinds(&custodiet, &batch(Failed, "x"), &plain), ["violation", "verdict"]);
    assert_eq!(kinds(&custodiet, &batch(Stopped, "x"), &plain), ["verdict"]);
    passes(&custodiet, &batch(Stopped, "x"), &plain);
    // The end of another agent, of one that already reported, or of an unknown one.
    let mut done = at_work("custodiet");
    done.memory.progress.agents[0].done = true;
    assert!(kinds(&done, &ends("PostToolBatch", Some("a"), Completed, BLOCK), &plain).is_empty());
    assert!(kinds(&working(), &blocked, &plain).is_empty());
    // Its start is missing, too.
    let mut unseen = at_work("custodiet");
    unseen.memory.progress.agents.clear();
    assert!(kinds(&unseen, &blocked, &plain).is_empty(), "a foreign file has its name");
    unseen.memory.agents.at_work[0].agent_id = None;
    assert_eq!(kinds(&unseen, &blocked, &plain), ["violation", "block"]);
    assert!(kinds(&unseen, &batch(Failed, BLOCK), &plain).is_empty(), "it never began");
    let foreign = Context {
        agents: AgentNames { renamed: vec!["custodiet".into()], ..AgentNames::default() },
        ..Context::default()
    };
    assert!(kinds(&unseen, &blocked, &foreign).is_empty());
    unseen.memory.agents.at_work[0].name = Stored::of("other");
    assert!(kinds(&unseen, &blocked, &plain).is_empty());
    // A block that already exists, and a finding about another task.
    let mut halted = at_work("custodiet");
    halted.state.state.custodiet_blocked = true;
    assert_eq!(kinds(&halted, &blocked, &plain), ["violation", "verdict"]);
    let mut old = at_work("critic");
    old.state.task.as_mut().unwrap().n = 2;
    old.memory.progress.prompts.count = 5;
    let halts = facts::facts(&old, &batch(Completed, r#"{"verdict": "HALT"}"#), &Verdict::pass(), &plain);
    assert!(halts.iter().any(|fact| matches!(fact, Fact::Verdict(report) if report.finding.is_none())));
}

#[test]
fn an_end_is_told_by_a_call_or_by_the_client() {
    let post = |how| ends("PostToolUse", Some("a"), how, "x");
    let plain = Context::default();
    let call_ends = post(AgentEndKind::Completed);
    assert!(kinds(&at_work("critic"), &call_ends, &plain).contains(&"verdict"));
    let again = Context {
        earlier: Earlier { past: Some(crate::session::fact::Step::default()), ..Earlier::default() },
        ..Context::default()
    };
    assert!(!kinds(&at_work("critic"), &call_ends, &again).contains(&"verdict"));
    let told = ends("UserPromptSubmit", Some("a"), AgentEndKind::Completed, "x");
    assert_eq!(kinds(&at_work("critic"), &told, &plain), ["violation", "verdict"]);
}

#[test]
fn an_agent_that_was_stopped_has_not_reported() {
    let plain = Context::default();
    let mut session = at_work("custodiet");
    session.memory.calls.clear();
    let over = |event: &Event, context: &Context| kinds(&session, event, context).contains(&"verdict");
    let stops = |tool: &str, input: &str| {
        let made = ToolCall { key: CallKey::of(tool, "k"), input: input.to_owned(), ..ToolCall::default() };
        event("PreToolUse").with_call(made)
    };
    assert!(over(&stops("TaskStop", r#"{"task_id": "a"}"#), &plain));
    assert!(over(&stops("close_agent", r#"{"ids": ["b", "a"]}"#), &plain));
    assert!(!over(&stops("TaskStop", r#"{"task_id": "b", "n": 1}"#), &plain));
    assert!(!over(&stops("TaskStop", "no JSON"), &plain));
    assert!(!over(&stops("Read", r#"{"file_path": "a"}"#), &plain));
    let refused = facts::facts(
        &session,
        &stops("TaskStop", r#"{"task_id": "a"}"#),
        &Verdict::deny(GateId::Rules, "no"),
        &plain,
    );
    assert!(!refused.iter().any(|fact| matches!(fact, Fact::Verdict(_))));
    let stop = |running: Option<&[&str]>| Event {
        what: What::Stopped(TurnStopped {
            running: running.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect()),
            ..TurnStopped::default()
        }),
        ..event("Stop")
    };
    assert!(
        over(&stop(Some(&[])), &plain) && !over(&stop(Some(&["a"])), &plain) && !over(&stop(None), &plain)
    );
    let open = at_work("custodiet");
    assert!(kinds(&open, &stop(None), &plain).contains(&"verdict"), "its call has no end");
    let person = |interrupted| Context {
        found: Found::Prompt(PromptContext { meant: Prompt::Ordinary, ..PromptContext::default() }),
        earlier: Earlier {
            unstopped: Some(Unstopped { interrupted, ..Unstopped::default() }),
            ..Earlier::default()
        },
        ..Context::default()
    };
    assert!(kinds(&open, &event("UserPromptSubmit"), &person(true)).contains(&"verdict"));
    assert!(
        !kinds(&open, &event("UserPromptSubmit"), &person(false)).contains(&"verdict"),
        "it is still at work"
    );
    assert!(!over(&event("UserPromptSubmit"), &person(true)), "it goes on in the background");
    let mut elsewhere = at_work("custodiet");
    elsewhere.memory.agents.at_work.clear();
    elsewhere.memory.calls.clear();
    assert_eq!(
        kinds(&elsewhere, &stop(Some(&[])), &plain),
        ["verdict"],
        "no violation: a person spoke meanwhile"
    );
    let start = |source: &str| Event {
        what: What::Started(SessionStart { source: source.to_owned() }),
        ..event("SessionStart")
    };
    assert!(over(&start("resume"), &plain) && !over(&start("compact"), &plain));
    let beside = Context {
        found: Found::Start(Box::new(StartContext { beside: true, ..StartContext::default() })),
        ..Context::default()
    };
    assert!(!over(&start("resume"), &beside) && over(&event("SessionEnd"), &plain));
    let mut foreign = at_work("custodiet");
    foreign.memory.progress.agents[0].client = "another".into();
    assert!(kinds(&foreign, &start("compact"), &plain).contains(&"verdict"));
    foreign.memory.progress.agents[0].name = Stored::of("no agent of ours");
    assert!(kinds(&foreign, &start("compact"), &plain).is_empty());
}

#[test]
fn a_turn_without_its_stop() {
    let turn = |interrupted| Context {
        found: Found::Prompt(PromptContext { meant: Prompt::Ordinary, ..PromptContext::default() }),
        earlier: Earlier {
            unstopped: Some(Unstopped { interrupted, files: 4, paths: vec!["a".into()] }),
            ..Earlier::default()
        },
        ..Context::default()
    };
    let owing = with(|session| session.memory.progress.proven.reflected = false);
    told(&owing, &event("SessionEnd"), &turn(false), "owed", "framework");
    passes(&owing, &event("SessionEnd"), &turn(true));
    assert_eq!(kinds(&owing, &event("SessionEnd"), &turn(false)), ["violation"]);
    let quiet = with(|session| session.state.task = None);
    passes(&quiet, &event("SessionEnd"), &turn(false));
    let heard = |session: &Session, context: &Context, prompt: &str| {
        let said = Event {
            prompt_id: Some("p".into()),
            what: What::Prompted(PromptSent { text: prompt.into(), ..PromptSent::default() }),
            ..event("UserPromptSubmit")
        };
        let facts = facts::facts(session, &said, &Verdict::pass(), context);
        let seen =
            facts.into_iter().find_map(|fact| if let Fact::Event(seen) = fact { Some(seen) } else { None });
        seen.unwrap().prompt().unwrap().clone()
    };
    let seen = |session: &Session, context: &Context| heard(session, context, "go on");
    let parked = heard(&owing, &turn(true), "fix the typo");
    assert_eq!(parked.goes_on, None);
    let Some(TurnBefore::Parked(left)) = parked.before else { panic!("{parked:?}") };
    assert_eq!((left.files, left.paths.len()), (4, 1));
    let named = heard(&owing, &turn(true), "go on with the parser");
    assert_eq!(named.goes_on, Some(GoesOn::Wished), "a plan says which");
    assert!(matches!(named.before, Some(TurnBefore::Parked(LeftChanged { files: 4, .. }))), "{named:?}");
    let resumed = seen(&owing, &turn(true));
    assert_eq!(resumed.goes_on, Some(GoesOn::InHand));
    assert!(matches!(resumed.before, Some(TurnBefore::Kept)), "{resumed:?}");
    let untouched = Unstopped { interrupted: true, ..Unstopped::default() };
    let untouched =
        Context { earlier: Earlier { unstopped: Some(untouched), ..Earlier::default() }, ..turn(true) };
    let untouched = heard(&owing, &untouched, "fix the typo");
    assert!(!matches!(untouched.before, Some(TurnBefore::Parked(_))), "nothing is left of it");
    let missed = seen(&quiet, &turn(false));
    assert!(matches!(missed.before, Some(TurnBefore::Owing(owed)) if owed.is_empty()));
    assert!(missed.sha256.is_some());
    let with_parked = with(|session| session.memory.parked = vec![Parked::default()]);
    assert!(
        seen(
            &with_parked,
            &Context {
                found: Found::Prompt(PromptContext { meant: Prompt::Ordinary, ..PromptContext::default() }),
                ..Context::default()
            }
        )
        .goes_on
            == Some(GoesOn::Wished)
    );
}

#[test]
fn a_prompt_that_comes_twice() {
    let session = with(|session| {
        session.memory.prompted = Some(Prompted { id: "p".into(), open: true, sha256: sha256(&[b"go"]) });
    });
    let prompt = |id: Option<&str>, text: &str| Event {
        prompt_id: id.map(str::to_owned),
        what: What::Prompted(PromptSent { text: text.into(), ..PromptSent::default() }),
        ..event("UserPromptSubmit")
    };
    assert!(repeat::is_same_prompt(&session, &prompt(Some("p"), "go")));
    for other in [
        prompt(Some("q"), "go"),
        prompt(Some("p"), "on"),
        prompt(None, "go"),
        renamed("Stop", prompt(Some("p"), "go")),
    ] {
        assert!(!repeat::is_same_prompt(&session, &other));
    }
    assert!(!repeat::is_same_prompt(&working(), &prompt(Some("p"), "go")));
}

fn drawn() -> Earlier {
    Earlier { drawn: Some(true), ..Earlier::default() }
}

#[test]
fn a_call_whose_end_is_missing() {
    let open = |grows| {
        with(|session| {
            let call = CallKey::of("Write", "t");
            let means = CallMeans { effect: Some(Effect::Write), grows, ..CallMeans::default() };
            session.memory.calls =
                vec![OpenCall { call, means, state: CallState::Executing, ..OpenCall::default() }];
        })
    };
    let settled = |session: &Session, earlier: Earlier| {
        let context = Context { earlier, ..Context::default() };
        let facts = facts::facts(session, &event("PostToolBatch"), &Verdict::pass(), &context);
        facts
            .into_iter()
            .find_map(|fact| if let Fact::Call(step) = fact { Some(step) } else { None })
            .unwrap()
    };
    let lost = settled(&open(None), drawn());
    assert_eq!(
        (lost.to, lost.reason.as_deref(), lost.ended().drawn),
        (CallState::Failed, Some(NO_EFFECT), Some(true))
    );
    let file = Some(ChangedFile::default());
    let unmade = settled(&open(file.clone()), drawn());
    assert_eq!((unmade.to, unmade.ended().drawn), (CallState::Failed, None));
    let made = settled(&open(file), Earlier { made: vec!["t".into()], ..drawn() });
    assert_eq!(
        (made.to, made.reason.as_deref(), made.ended().drawn),
        (CallState::Completed, Some(UNREPORTED), Some(true))
    );
}
