//! Tests how a command is jailed, and what the jail refuses.

use super::*;
use crate::config::policy::ModeLevel;
use crate::config::policy::jail::JailLevel;
use crate::gate::{Unheld, jail, profile};
use crate::model::named::Stored;
use crate::model::profile::{Hold, JailState, Loss, Losses, LostFile, Profile, Proof};
use crate::session::fact::Under;

fn jailed(hold: Hold, trial: bool, change: impl FnOnce(&mut Session)) -> Session {
    with(|session| {
        session.memory.client.jail = Some(JailState {
            hold,
            trial,
            why: "w".to_owned(),
            project: "/p".to_owned(),
            ..JailState::default()
        });
        change(session);
    })
}

fn shut(session: &mut Session) {
    session.state.sandbox = Sandbox::Shut;
}

fn line(effect: Effect, unknown: bool) -> Context {
    calls(CallContext {
        does: CallEffect { effect, ..CallEffect::default() },
        jail: JailFacts { unknown, ..JailFacts::default() },
        ..CallContext::default()
    })
}

fn sudo(hands: Option<&str>) -> Unheld {
    Unheld::Alone { program: "sudo".to_owned(), hands: hands.map(str::to_owned) }
}

fn by(agent: &str) -> Event {
    Event { agent_id: Some("a".to_owned()), agent_type: Some(agent.to_owned()), ..call("Bash") }
}

#[test]
fn a_profile_follows_from_the_sandbox_and_the_line() {
    let open = |_: &mut Session| {};
    let held = shut as fn(&mut Session);
    let namespaces = |change: fn(&mut Session)| jailed(Hold::Namespaces, true, change);
    let rows = vec![
        (namespaces(open), call("Bash"), line(Effect::Write, true), Some(Profile::Work)),
        (namespaces(open), call("Bash"), line(Effect::Read, false), Some(Profile::Work)),
        (namespaces(held), call("Bash"), line(Effect::Write, true), Some(Profile::Trial)),
        (namespaces(held), call("Bash"), line(Effect::Read, false), Some(Profile::Read)),
        (namespaces(held), call("Bash"), line(Effect::Tracker, false), Some(Profile::Work)),
        (namespaces(open), by("critic"), line(Effect::Write, false), Some(Profile::Trial)),
        (namespaces(open), by("qa-verifier"), line(Effect::Read, false), Some(Profile::Read)),
        (jailed(Hold::Landlock, false, held), call("Bash"), line(Effect::Write, true), Some(Profile::Work)),
        (jailed(Hold::Words, false, held), call("Bash"), line(Effect::Write, true), None),
        (namespaces(open), call("Write"), line(Effect::Write, true), None),
        (working(), call("Bash"), line(Effect::Write, true), None),
    ];
    for (n, (session, event, context, want)) in rows.iter().enumerate() {
        assert_eq!(profile::of_call(session, event, context), *want, "row {n}");
    }
    let alone = |effect| {
        calls(CallContext {
            does: CallEffect { effect, ..CallEffect::default() },
            jail: JailFacts { unheld: sudo(None), ..JailFacts::default() },
            ..CallContext::default()
        })
    };
    assert_eq!(profile::of_call(&namespaces(held), &call("Bash"), &alone(Effect::Read)), Some(Profile::None));
    assert_eq!(
        profile::of_call(&namespaces(open), &call("Bash"), &alone(Effect::Write)),
        Some(Profile::None)
    );
    // A reviewer must not change anything, whatever it runs.
    assert_eq!(
        profile::of_call(&namespaces(open), &by("critic"), &alone(Effect::Write)),
        Some(Profile::Trial)
    );
    assert_eq!(profile::of_call(&namespaces(held), &event("Stop"), &Context::default()), None);
}

#[test]
fn what_is_thrown_away_passes_and_is_no_change() {
    let session = jailed(Hold::Namespaces, true, |session| {
        shut(session);
        session.state.audit.due = true;
        session.state.audit.writes_since = 99;
    });
    assert_eq!(judge(&session, &call("Bash"), &line(Effect::Write, true)), Verdict::pass());
    assert_eq!(judge(&session, &call("Bash"), &line(Effect::Write, false)).ruling, Ruling::Deny);
    assert_eq!(judge(&session, &by("critic"), &line(Effect::Write, true)), Verdict::pass());
    let without = jailed(Hold::Namespaces, false, shut);
    assert_eq!(judge(&without, &call("Bash"), &line(Effect::Write, true)).ruling, Ruling::Deny);
}

#[test]
fn the_jail_refuses_what_it_cannot_hold() {
    let within = calls(CallContext {
        jail: JailFacts { unheld: Unheld::Within("sudo".to_owned()), ..JailFacts::default() },
        ..CallContext::default()
    });
    let on = jailed(Hold::Namespaces, true, |_| {});
    let (gate, ruling, words) = said(&on, &call("Bash"), &within);
    assert_eq!((gate, ruling), ("jail", Ruling::Deny));
    assert!(words.contains("`sudo` cannot run inside the jail"), "{words}");
    let mut policy = Policy::default();
    policy.jail.level = JailLevel::Require;
    for state in [None, Some(JailState { why: "no".to_owned(), ..JailState::default() })] {
        let session = with(|session| {
            session.memory.configured.policy = Some(Box::new(policy.clone()));
            session.memory.client.jail = state;
        });
        assert_eq!(judge(&session, &call("Bash"), &line(Effect::Read, false)).gate, Some(GateId::Jail));
        assert_eq!(judge(&session, &call("Read"), &line(Effect::Read, false)), Verdict::pass());
    }
}

#[test]
fn what_an_unheld_program_is_told_to_run_is_known_or_a_persons_to_allow() {
    let on = jailed(Hold::Namespaces, true, |_| {});
    let line = |attended, hands| Context {
        attended,
        ..calls(CallContext {
            jail: JailFacts { unheld: sudo(hands), ..JailFacts::default() },
            ..CallContext::default()
        })
    };
    assert_eq!(jail::judge(&on, &call("Bash"), &line(false, None)), Verdict::pass());
    for (attended, ruling, hint) in
        [(true, Ruling::Ask, "Approve only"), (false, Ruling::Deny, "ask the user")]
    {
        let said = jail::judge(&on, &call("Bash"), &line(attended, Some("./x.sh")));
        assert_eq!((said.gate, said.ruling), (Some(GateId::Jail), ruling));
        assert!(
            said.reason.contains("`sudo` runs outside of the jail, and `./x.sh` is not known"),
            "{said:?}"
        );
        assert!(said.reason.contains(hint), "{said:?}");
    }
}

fn end_of(context: &mut Context) -> &mut EndContext {
    if let Found::End(end) = &mut context.found { end } else { panic!("no call has ended") }
}

fn jailed_as(jailed: Option<Proof>) -> EndContext {
    let under = Under { jailed, ..Under::default() };
    EndContext { recorded: CallEnded { under, ..CallEnded::default() }, ..EndContext::default() }
}

#[test]
fn a_command_without_proof_is_told_and_blocks_in_strict() {
    let after = |ended: EndContext| Context { found: Found::End(Box::new(ended)), ..Context::default() };
    let ended = renamed("PostToolUse", call("Bash"));
    let proof = Proof::of(Hold::Namespaces, Profile::Trial);
    let strict = jailed(Hold::Namespaces, true, |_| {});
    let with_proof = after(jailed_as(Some(proof)));
    assert_eq!(judge(&strict, &ended, &with_proof), Verdict::pass());
    assert_eq!(jail::judge(&strict, &ended, &after(EndContext::default())), Verdict::pass());
    assert_eq!(jail::judge(&strict, &event("Stop"), &Context::default()), Verdict::pass());
    let unproven = || after(EndContext { unproven: true, ..EndContext::default() });
    assert!(jail::judge(&strict, &ended, &unproven()).notice.contains("blocked"));
    let mut policy = Policy::default();
    policy.mode.set_level(ModeLevel::Loop);
    let free =
        jailed(Hold::Namespaces, true, |session| session.memory.configured.policy = Some(Box::new(policy)));
    let told = jail::judge(&free, &ended, &unproven()).notice;
    assert!(told.contains("outside this session's jail") && !told.contains("blocked"), "{told}");
}

/// The end of a command whose result was lost.
fn unsaved() -> (Event, Context) {
    let files = vec![LostFile { loss: Loss::Made, path: "out/app".to_owned() }];
    let lost = Losses { files, ..Losses::default() };
    let jailed = Some(Proof { lost, ..Proof::of(Hold::Namespaces, Profile::Trial) });
    let mut ended = renamed("PostToolUse", call("Bash"));
    ended.call_mut().unwrap().input = r#"{"command":"make build"}"#.to_owned();
    (ended, Context { found: Found::End(Box::new(jailed_as(jailed))), ..Context::default() })
}

#[test]
fn a_result_that_is_gone_is_said_to_the_model_each_time_and_to_the_person_once() {
    let (ended, context) = unsaved();
    let words = "Not saved: \"make build\" ran in a throwaway layer because this task has no plan yet. out/app is gone.";
    let unplanned = |session: &mut Session| {
        session.state.phase = Phase::Hydrate;
        session.state.sandbox = Sandbox::Shut;
    };
    let first = judge(&jailed(Hold::Namespaces, true, unplanned), &ended, &context);
    assert_eq!(first.feedback, format!("{words} Start prompt-hydrator, then run it again."));
    assert!(first.notice.starts_with(words) && !first.notice.contains("prompt-hydrator"), "{first:?}");
    let again = jailed(Hold::Namespaces, true, |session| {
        unplanned(session);
        session.memory.progress.prompts.count = 2;
        session.memory.progress.told.unsaved = Some(2);
    });
    let told = judge(&again, &ended, &context);
    assert_eq!((told.feedback, told.notice), (first.feedback, String::new()));
    let stage = Some(RunStep { step: "look".to_owned(), ..RunStep::default() });
    let in_run = judge(&jailed(Hold::Namespaces, true, shut), &ended, &Context { stage, ..unsaved().1 });
    assert!(in_run.feedback.contains("because step `look` of this run changes nothing."), "{in_run:?}");
    assert_eq!(in_run.notice, "");
    let reviewer =
        Event { agent_id: Some("a".to_owned()), agent_type: Some("qa-verifier".to_owned()), ..ended };
    let said = judge(&jailed(Hold::Namespaces, true, shut), &reviewer, &context);
    assert!(said.feedback.is_empty() && said.notice.is_empty(), "{said:?}");
    assert!(said.context.contains("like every command of `qa-verifier`. out/app is gone."), "{said:?}");
}

/// The client moves a command that takes too long into the background.
#[test]
fn a_command_that_goes_on_in_a_throwaway_layer_is_said() {
    let (mut ended, mut context) = unsaved();
    end_of(&mut context).recorded.under.jailed.as_mut().unwrap().lost = Losses::default();
    let session = jailed(Hold::Namespaces, true, |session| {
        session.state.phase = Phase::Hydrate;
        session.state.sandbox = Sandbox::Shut;
    });
    assert_eq!(judge(&session, &ended, &context), Verdict::pass());
    ended.call_mut().unwrap().unended = true;
    let words = judge(&session, &ended, &context).feedback;
    let begin = "Not saved: \"make build\" has not ended, and runs in a throwaway layer because this task has no plan yet.";
    assert!(words.starts_with(begin), "{words}");
    assert!(words.ends_with("Stop it. Start prompt-hydrator, then run it again."), "{words}");
    end_of(&mut context).recorded.under.jailed.as_mut().unwrap().profile = Profile::Work;
    assert_eq!(judge(&session, &ended, &context), Verdict::pass());
}

/// In every state of the loop in which a result can be lost.
#[test]
fn a_result_that_is_gone_is_said_with_its_reason_and_the_next_step() {
    let (ended, context) = unsaved();
    let start = "Start prompt-hydrator, then run it again.";
    for (phase, sandbox, revise, outgrown, why, next) in [
        (
            Phase::Review,
            Sandbox::Shut,
            false,
            false,
            "the plan of this task is not reviewed yet",
            "Start critic, then",
        ),
        (
            Phase::Execute,
            Sandbox::Shut,
            false,
            false,
            "a question changes nothing",
            "start prompt-hydrator again",
        ),
        (
            Phase::Halted,
            Sandbox::Shut,
            false,
            false,
            "this task was halted",
            "Tell the user what they have to decide.",
        ),
        (Phase::Hydrate, Sandbox::Shut, true, false, "the review sent the plan of this task back", start),
        (
            Phase::Execute,
            Sandbox::Open,
            false,
            false,
            "this task had no plan when it started",
            "Run it again.",
        ),
        (
            Phase::Execute,
            Sandbox::Shut,
            false,
            true,
            "this task has outgrown a small edit and has no plan yet",
            start,
        ),
        (
            Phase::Execute,
            Sandbox::Open,
            false,
            true,
            "this task has outgrown a small edit and has no plan yet",
            start,
        ),
    ] {
        let session = jailed(Hold::Namespaces, true, |session| {
            session.state.phase = phase;
            session.state.sandbox = sandbox;
            session.state.hydration.critic_verdict = revise.then(|| Stored::of("REVISE"));
            session.memory.progress.weight.outgrown = outgrown.then(|| "5 files".to_owned());
            if outgrown {
                session.state.hydration.hydrated_intent = None;
            }
        });
        let words = judge(&session, &ended, &context).feedback;
        assert!(
            words.contains(&format!("because {why}. out/app is gone.")) && words.contains(next),
            "{words}"
        );
    }
}
