//! Tests blocks, and what is said and recorded about a prompt that is not a person's, an agent that no call
//! started, and timers.

use super::*;
use crate::config::policy::ModeLevel;
use crate::gate::facts::facts;
use crate::model::gate_id::GateId;
use crate::session::fact::{Fact, Happened, Seen, TimersHeard};
use crate::session::prompt::Prompt;
use crate::session::timer::TimerMark;

fn why(prompt: Prompt) -> Context {
    Context {
        found: Found::Prompt(PromptContext { meant: prompt, ..PromptContext::default() }),
        unproven: Some("it is a timer's".to_owned()),
        ..Context::default()
    }
}

fn recorded(session: &Session, event: &Event, context: &Context) -> Vec<Fact> {
    facts(session, event, &judge(session, event, context), context)
}

fn seen(facts: &[Fact]) -> &Seen {
    facts.iter().find_map(|fact| if let Fact::Event(seen) = fact { Some(seen) } else { None }).unwrap()
}

fn starter(facts: &[Fact]) -> Option<&str> {
    let Happened::AgentStarted(start) = &seen(facts).what else { panic!("{facts:?}") };
    start.starter.as_deref()
}

#[test]
fn the_user_is_told_why_a_prompt_or_an_agent_does_not_count() {
    let session = working();
    let prompt = event("UserPromptSubmit");
    let begins = Event { agent_type: Some("critic".to_owned()), ..event("SubagentStart") };
    for (event, context, words) in [
        (&prompt, why(Prompt::Ordinary), "this prompt waives nothing: it is a timer's"),
        (&prompt, why(Prompt::Machine), "this prompt does not lift the halt: it is a timer's"),
        (&begins, why(Prompt::Machine), "the verdict of `critic` will not count: it is a timer's"),
    ] {
        let said = judge(&session, event, &context);
        assert!(said.ruling == Ruling::Pass && said.notice.contains(words), "{said:?}");
        assert!(said.notice.contains("hint: "), "{said:?}");
        assert_eq!(seen(&recorded(&session, event, &context)).unproven.as_deref(), Some("it is a timer's"));
        let proven = Context { unproven: None, client: "7".to_owned(), ..context };
        assert_eq!(judge(&session, event, &proven), Verdict::pass());
    }
    let proven = Context { client: "7".to_owned(), ..Context::default() };
    assert_eq!(starter(&recorded(&session, &begins, &proven)), Some("7"));
    assert_eq!(starter(&recorded(&session, &event("SubagentStart"), &proven)), None, "no agent of ours");
}

#[test]
fn the_prompts_of_timers_are_remembered_by_their_words() {
    let mut session = working();
    let stop = Event {
        what: What::Stopped(TurnStopped {
            timers: vec![". go".to_owned(), "known".to_owned()],
            ..TurnStopped::default()
        }),
        ..event("Stop")
    };
    session.memory.timers.known = vec![TimerMark::of("known")];
    let facts = recorded(&session, &stop, &Context::default());
    assert_eq!(seen(&facts).timers.new, [TimerMark::of(".  go\n")]);
    for (tool, input, digest) in [
        ("CronCreate", r#"{"prompt":". go"}"#, Some(TimerMark::of(". go"))),
        ("ScheduleWakeup", r#"{"prompt":"x"}"#, Some(TimerMark::of("x"))),
        ("CronCreate", "{}", None),
        ("Agent", r#"{"prompt":". go"}"#, None),
    ] {
        let mut asked = call(tool);
        asked.call_mut().unwrap().input = input.to_owned();
        let facts = recorded(&session, &asked, &Context::default());
        let Some(Fact::Call(first)) = facts.first() else { panic!("{facts:?}") };
        assert_eq!(first.asks.as_ref().unwrap().schedules, digest, "{tool} {input}");
    }
}

#[test]
fn block() {
    let blocked = with(|session| session.state.state.custodiet_blocked = true);
    refused(&blocked, &call("Read"), &Context::default(), "block", "no reason given");
    told(&blocked, &event("SessionStart"), &Context::default(), "block", "clear-block");
    passes(&blocked, &event("Stop"), &Context::default());
    let start =
        StartContext { blocked_beside: vec![("other".into(), "r".into())], ..StartContext::default() };
    let beside = Context { found: Found::Start(Box::new(start)), ..Context::default() };
    told(&working(), &event("SessionStart"), &beside, "block", "`other` is blocked");
    passes(&working(), &event("SessionStart"), &Context::default());
}

#[test]
fn what_brings_programs_is_asked_about_where_a_person_is() {
    let brings = |never| {
        calls(CallContext {
            guard: GuardFacts {
                executable: Some(("`x` brings hooks".to_owned(), never)),
                ..GuardFacts::default()
            },
            ..CallContext::default()
        })
    };
    refused(&working(), &call("Write"), &brings(false), "guard", "no tool call may do this without a person");
    let there = |context: Context| Context { attended: true, ..context };
    refused(&working(), &call("Write"), &there(brings(true)), "guard", "no tool call may");
    let said = judge(&working(), &call("Write"), &there(brings(false)));
    assert!(said.ruling == Ruling::Ask && said.reason.contains("brings hooks"), "{said:?}");
    let said = judge(&working(), &call("Write"), &Context { defers: true, ..brings(false) });
    assert_eq!(said.ruling, Ruling::Defer);
    let mut over = CallContext::default();
    over.reach.over = true;
    refused(&working(), &call("Bash"), &calls(over), "guard", "more paths");
}

#[test]
fn an_edit_of_settings_is_asked_about_unless_it_takes_us_out() {
    let edits = |settings| {
        calls(CallContext {
            guard: GuardFacts { settings: Some(settings), ..GuardFacts::default() },
            ..CallContext::default()
        })
    };
    let loses = || edits(SettingsEdit::Loses("it sets `disableAllHooks`".to_owned()));
    let there = |context: Context| Context { attended: true, ..context };
    refused(&working(), &call("Write"), &edits(SettingsEdit::Keeps), "guard", "without a person");
    let said = judge(&working(), &call("Write"), &there(edits(SettingsEdit::Keeps)));
    assert!(said.ruling == Ruling::Ask && said.reason.contains("Approve only"), "{said:?}");
    refused(&working(), &call("Write"), &there(loses()), "guard", "disableAllHooks");
    let observing = with_policy(|policy| policy.mode.level = Some(ModeLevel::Observe));
    passes(&observing, &call("Write"), &edits(SettingsEdit::Keeps));
    refused(&observing, &call("Write"), &loses(), "guard", "disableAllHooks");
    let brings = CallContext {
        guard: GuardFacts {
            executable: Some(("`x` brings hooks".to_owned(), false)),
            ..GuardFacts::default()
        },
        ..CallContext::default()
    };
    passes(&observing, &call("Write"), &calls(brings));
    let unread = Context {
        found: Found::Settings(SettingsContext { text: String::new(), unread: true }),
        ..Context::default()
    };
    refused(&working(), &event("ConfigChange"), &unread, "guard", "too large");
}

/// Said once, because a hook may approve the plan in the person's place.
#[test]
fn a_plan_that_a_hook_may_approve_is_no_persons() {
    let asks = renamed("PermissionRequest", call("ExitPlanMode"));
    let does = || CallEffect { effect: Effect::Control, ..CallEffect::default() };
    let plan = || PlanQuestion { hook: Some("a.json".to_owned()), ..PlanQuestion::default() };
    let shown = || calls(CallContext { does: does(), plan: plan(), ..CallContext::default() });
    let hooked = || Context { attended: true, ..shown() };
    let said = judge(&working(), &asks, &hooked());
    assert!(said.ruling == Ruling::Pass && said.notice.contains("does not count"), "{said:?}");
    let fact = recorded(&working(), &asks, &hooked());
    let Happened::PermissionAsked(asked) = &seen(&fact).what else { panic!("{fact:?}") };
    assert!(!asked.asks_plan && asked.plan_hook.is_some());
    let told = with(|session| session.memory.told.plan_hook = true);
    assert_eq!(judge(&told, &asks, &hooked()), Verdict::pass());
}

/// More timers than we can remember, and the calls that set them.
#[test]
fn a_timer_too_many_is_recorded_as_lost() {
    let full = with(|session| {
        session.memory.timers.known = (0..64).map(|n| TimerMark::of(&n.to_string())).collect();
    });
    let stop = |timers: &[&str]| Event {
        what: What::Stopped(TurnStopped {
            timers: timers.iter().map(|t| (*t).to_owned()).collect(),
            ..TurnStopped::default()
        }),
        ..event("Stop")
    };
    let said = recorded(&full, &stop(&["1", "2"]), &Context::default());
    assert_eq!(seen(&said).timers, TimersHeard::default());
    let said = recorded(&full, &stop(&["1", "new", "newer"]), &Context::default());
    assert!(seen(&said).timers.lost && seen(&said).timers.new.len() == 1);
    let set = |session: &Session, verdict: &Verdict| {
        let mut asked = call("CronCreate");
        asked.call_mut().unwrap().input = r#"{"prompt":"new"}"#.to_owned();
        let said = facts(session, &asked, verdict, &Context::default());
        let Some(Fact::Call(first)) = said.first() else { panic!("{said:?}") };
        let asks = first.asks.as_ref().unwrap();
        (asks.schedules.is_some(), asks.timers_lost)
    };
    assert_eq!(set(&full, &Verdict::pass()), (true, true));
    assert_eq!(
        set(&full, &Verdict::deny(GateId::Guard, "no")),
        (false, false),
        "a refused one pushes out none"
    );
    assert_eq!(set(&working(), &Verdict::deny(GateId::Guard, "no")), (true, false));
}

#[test]
fn what_a_skill_brings_waits_for_the_plan() {
    let brought = calls(CallContext {
        guard: GuardFacts { brought: Some("`x` brings hooks".to_owned()), ..GuardFacts::default() },
        ..CallContext::default()
    });
    passes(&working(), &call("Skill"), &brought);
    let shut = with(|session| (session.state.phase, session.state.sandbox) = (Phase::Hydrate, Sandbox::Shut));
    refused(&shut, &call("Skill"), &brought, "sandbox", "sandbox-brought.md");
    passes(&shut, &call("Skill"), &does(Effect::Control));
}

/// No call may reach the page on which people answer questions.
#[test]
fn the_page_of_questions_is_not_for_a_call() {
    let session = with_policy(|policy| policy.fleet.engine = Some("http://127.0.0.1:7390".into()));
    let mut event = call("Bash");
    let ask = |event: &Event| said(&session, event, &does(Effect::Read));
    assert_eq!(ask(&event).1, Ruling::Pass);
    event.call_mut().unwrap().input = r#"{"command":"curl localhost:7390"}"#.into();
    let (gate, ruling, words) = ask(&event);
    assert_eq!((gate, ruling), ("guard", Ruling::Deny));
    assert!(words.contains("where people answer runs"), "{words}");
}
