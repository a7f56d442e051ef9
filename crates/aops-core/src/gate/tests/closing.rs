//! Tests what the end of a task owes apart from its reviews (format, tracker, pull, sync), and how that is
//! announced.

use super::*;
use crate::gate::owed::{announce, debts};
use crate::model::debt::DebtId;
use crate::model::named::Stored;
use crate::session::memory::IssueInHand;

fn names(session: &Session, context: &Context) -> Vec<&'static str> {
    debts(session, context).iter().map(|debt| debt.id.name()).collect()
}

#[test]
fn the_list_is_in_the_order_of_the_work() {
    let mut session = with_policy(|policy| policy.close.format = Some("./format.sh".into()));
    session.state.audit.due = true;
    let progress = &mut session.memory.progress;
    progress.closing.issues = vec![IssueInHand { id: "b-1".into(), prompt_count: 1 }];
    progress.closing.unsynced = Some("bd".into());
    let tree = |behind| Worktree {
        behind,
        others: behind > 1,
        uncommitted: vec!["a".into()],
        push: Some(("git push".into(), "1 commit".into())),
        ..Worktree::default()
    };
    let context = |behind| Context { tree: tree(behind), ..Context::default() };
    let all = ["format", "custodiet", "tracker", "commit", "pull", "sync", "push"];
    for behind in [1, 3] {
        assert_eq!(names(&session, &context(behind)), all, "{behind}");
    }
    assert!(!names(&session, &context(0)).contains(&"pull"));
    session.memory.progress.closing.rejected = true;
    assert!(names(&session, &context(0)).contains(&"pull"), "the remote refused a push");
    session.memory.progress.proven.formatted = true;
    assert!(!names(&session, &context(0)).contains(&"format"));
}

#[test]
fn each_debt_has_its_gate() {
    for (debt, gate) in [
        ("custodiet", "audit"),
        ("qa-verifier", "qa"),
        ("framework", "reflect"),
        ("evidence", "checks"),
        ("format", "format"),
        ("tracker", "commit"),
        ("pull", "push"),
        ("sync", "push"),
        ("checks", "checks"),
    ] {
        assert_eq!(DebtId::gate_name(&Stored::of(debt)), gate);
    }
}

#[test]
fn what_will_be_owed_is_said_beforehand() {
    let said = |change: &dyn Fn(&mut Policy)| {
        let mut policy = Policy::default();
        change(&mut policy);
        announce(&policy, &Context::default())
    };
    assert!(
        said(&|_| {})
            .contains("start the agent `qa-verifier`, then in one message start the agent `framework`")
    );
    let none = |policy: &mut Policy| {
        policy.gates.qa = Level::Off;
        policy.gates.reflect = Level::Off;
        policy.gates.commit = Some(Level::Off);
        policy.gates.push = Some(Level::Off);
    };
    assert_eq!(said(&none), "");
    let one = said(&|policy| {
        none(policy);
        policy.gates.commit = Some(Level::Enforce);
        policy.close.format = Some("./format.sh".into());
    });
    assert_eq!(one, "Once all changes are made, run `./format.sh`, then commit.");
}
