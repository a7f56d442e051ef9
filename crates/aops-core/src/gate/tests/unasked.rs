//! Tests that whatever could not be looked up counts as the strict case.

use super::*;
use crate::config::policy::ModeLevel;

/// If we cannot find out who edits a file, we assume that somebody does.
#[test]
fn a_lease_that_could_not_be_looked_at_is_taken() {
    let write = call("Write");
    let of = |held: Held| {
        calls(CallContext {
            does: CallEffect { effect: Effect::Write, ..CallEffect::default() },
            lease: LeaseFacts { held, ..LeaseFacts::default() },
            ..CallContext::default()
        })
    };
    let another = Holder { path: "a".into(), session_id: "0123456789".into(), since_ms: 0 };
    let in_mode = |level| with_policy(|policy| policy.mode.level = Some(level));
    for held in [Held::Another(another), Held::Unknown("`leases`: another process held it".into())] {
        let said = lease::judge(&in_mode(ModeLevel::Strict), &write, &of(held.clone()));
        assert_eq!(said.ruling, Ruling::Deny, "{said:?}");
        let said = lease::judge(&in_mode(ModeLevel::Loop), &write, &of(held));
        assert!(said.ruling == Ruling::Pass && !said.notice.is_empty(), "{said:?}");
    }
    assert_eq!(lease::judge(&in_mode(ModeLevel::Strict), &write, &of(Held::Nobody)), Verdict::pass());
}

/// If git cannot be asked, its debts count, as long as the task owes anything.
#[test]
fn what_git_could_not_be_asked_is_owed() {
    let stop = event("Stop");
    let unasked = |uncommitted: &[&str]| {
        let uncommitted = uncommitted.iter().map(|path| (*path).to_owned()).collect();
        let tree = Worktree { uncommitted, asked: Asked::Unasked("killed".into()), ..Worktree::default() };
        Context { tree, ..Context::default() }
    };
    let names = |session: &Session, context: &Context| -> Vec<&str> {
        judge(session, &stop, context).debts.iter().map(|debt| debt.id.name()).collect()
    };
    refused(&working(), &stop, &unasked(&[]), "owed", "stop-owed.md");
    assert_eq!(names(&working(), &unasked(&[])), ["commit"]);
    assert_eq!(names(&working(), &unasked(&["a"])), ["commit", "push"]);
    told(&with(|s| s.state.stop.refusals = 3), &stop, &unasked(&[]), "owed", "stop-let-go.md");
    let levels = |commit, push| {
        with_policy(|policy| (policy.gates.commit, policy.gates.push) = (Some(commit), Some(push)))
    };
    assert_eq!(names(&levels(Level::Off, Level::Enforce), &unasked(&[])), ["push"]);
    passes(&levels(Level::Off, Level::Off), &stop, &unasked(&[]));
    passes(&with(|s| s.state.task = None), &stop, &unasked(&[]));
}
