//! How a command is jailed, and what the jail refuses.

use super::*;
use crate::config::policy::ModeLevel;
use crate::config::policy::jail::JailLevel;
use crate::gate::{Unheld, jail, profile};
use crate::model::profile::{Hold, JailState, Profile, Proof};

fn jailed(hold: Hold, trial: bool, change: impl FnOnce(&mut Session)) -> Session {
    with(|session| {
        session.memory.jail = Some(JailState { hold, trial, project: "/p".to_owned(), why: "w".to_owned() });
        change(session);
    })
}

fn shut(session: &mut Session) {
    session.state.sandbox = Sandbox::Shut;
}

fn line(effect: Effect, unknown: bool) -> Context {
    calls(CallContext { effect, unknown, ..CallContext::default() })
}

fn sudo(hands: Option<&str>) -> Unheld {
    Unheld::Alone { program: "sudo".to_owned(), hands: hands.map(str::to_owned) }
}

fn by(agent: &str) -> Event {
    Event { agent_id: Some("a".to_owned()), agent_type: Some(agent.to_owned()), ..call("Bash") }
}

#[test]
fn a_profile_follows_from_the_sandbox_and_the_line() {
    let (open, held) = (|_: &mut Session| {}, shut as fn(&mut Session));
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
    let alone = |effect| calls(CallContext { effect, unheld: sudo(None), ..CallContext::default() });
    assert_eq!(profile::of_call(&namespaces(held), &call("Bash"), &alone(Effect::Read)), Some(Profile::None));
    assert_eq!(profile::of_call(&namespaces(open), &call("Bash"), &alone(Effect::Write)), Some(Profile::None));
    // A reviewer changes nothing, whatever it runs.
    assert_eq!(profile::of_call(&namespaces(open), &by("critic"), &alone(Effect::Write)), Some(Profile::Trial));
    assert_eq!(profile::of_call(&namespaces(held), &event("Stop"), &Context::default()), None);
}

#[test]
fn what_is_thrown_away_passes_and_is_no_change() {
    let session = jailed(Hold::Namespaces, true, |session| {
        shut(session);
        (session.state.audit.due, session.state.audit.writes_since) = (true, 99);
    });
    assert_eq!(judge(&session, &call("Bash"), &line(Effect::Write, true)), Verdict::pass());
    assert_eq!(judge(&session, &call("Bash"), &line(Effect::Write, false)).ruling, Ruling::Deny);
    assert_eq!(judge(&session, &by("critic"), &line(Effect::Write, true)), Verdict::pass());
    let without = jailed(Hold::Namespaces, false, shut);
    assert_eq!(judge(&without, &call("Bash"), &line(Effect::Write, true)).ruling, Ruling::Deny);
}

#[test]
fn the_jail_refuses_what_it_cannot_hold() {
    let within = calls(CallContext { unheld: Unheld::Within("sudo".to_owned()), ..CallContext::default() });
    let on = jailed(Hold::Namespaces, true, |_| {});
    let (gate, ruling, words) = said(&on, &call("Bash"), &within);
    assert_eq!((gate, ruling), ("jail", Ruling::Deny));
    assert!(words.contains("`sudo` cannot run inside the jail"), "{words}");
    let mut policy = Policy::default();
    policy.jail.level = JailLevel::Require;
    for state in [None, Some(JailState { why: "no".to_owned(), ..JailState::default() })] {
        let session = with(|session| {
            (session.memory.policy, session.memory.jail) = (Some(Box::new(policy.clone())), state);
        });
        assert_eq!(judge(&session, &call("Bash"), &line(Effect::Read, false)).gate, "jail");
        assert_eq!(judge(&session, &call("Read"), &line(Effect::Read, false)), Verdict::pass());
    }
}

#[test]
fn what_an_unheld_program_is_told_to_run_is_known_or_a_persons_to_allow() {
    let on = jailed(Hold::Namespaces, true, |_| {});
    let line =
        |attended, hands| Context { attended, ..calls(CallContext { unheld: sudo(hands), ..CallContext::default() }) };
    assert_eq!(jail::judge(&on, &call("Bash"), &line(false, None)), Verdict::pass());
    for (attended, ruling, hint) in [(true, Ruling::Ask, "allow it only"), (false, Ruling::Deny, "ask the user")] {
        let said = jail::judge(&on, &call("Bash"), &line(attended, Some("./x.sh")));
        assert_eq!((said.gate, said.ruling), ("jail", ruling));
        assert!(said.reason.contains("`sudo` runs outside of the jail, and `./x.sh` is not known"), "{said:?}");
        assert!(said.reason.contains(hint), "{said:?}");
    }
}

#[test]
fn a_command_without_proof_is_told_and_blocks_in_strict() {
    let after = |ended: EndContext| Context { ended, ..Context::default() };
    let ended = renamed("PostToolUse", call("Bash"));
    let proof = Proof { hold: Hold::Namespaces, profile: Profile::Trial, vanished: "1 file".to_owned() };
    let strict = jailed(Hold::Namespaces, true, |_| {});
    let with_proof = after(EndContext { jailed: Some(proof), ..EndContext::default() });
    assert_eq!(jail::judge(&strict, &ended, &with_proof).context, "1 file");
    assert_eq!(jail::judge(&strict, &ended, &after(EndContext::default())), Verdict::pass());
    assert_eq!(jail::judge(&strict, &event("Stop"), &Context::default()), Verdict::pass());
    let unproven = || after(EndContext { unproven: true, ..EndContext::default() });
    assert!(jail::judge(&strict, &ended, &unproven()).notice.contains("blocked"));
    let mut policy = Policy::default();
    policy.mode.set_level(ModeLevel::Loop);
    let free = jailed(Hold::Namespaces, true, |session| session.memory.policy = Some(Box::new(policy)));
    let told = jail::judge(&free, &ended, &unproven()).notice;
    assert!(told.contains("without the jail") && !told.contains("blocked"), "{told}");
}
