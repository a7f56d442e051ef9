//! How long keepings stay.

use super::hand::{self, Hand};
use super::repository;
use crate::support::Sandbox;
use aops_core::checkpoint::store::Store;
use aops_core::config::policy::Policy;
use aops_core::undo::retain::{Full, Retained, is_full, retain};
use aops_core::undo::shelf;

fn policy(keep_days: u64, keep_mb: u64) -> Policy {
    let mut policy = Policy::default();
    (policy.undo.keep_days, policy.undo.keep_mb) = (keep_days, keep_mb);
    policy
}

fn keep(sandbox: &Sandbox, days: i64, mb: usize) -> u64 {
    let file = sandbox.put("large.log", &format!("{days} {}", "x".repeat(mb << 20)));
    Hand::of(sandbox).aged(days).overwriting("rm large.log", &[&file])
}

fn numbers(sandbox: &Sandbox) -> Vec<u64> {
    shelf::numbers(&Store::look(&sandbox.project()).unwrap().unwrap()).unwrap()
}

#[test]
fn the_oldest_go_first_with_their_refs_and_contents() {
    let sandbox = repository();
    let env = hand::env(&sandbox);
    keep(&sandbox, 20, 1);
    let topic = Hand::of(&sandbox).aged(15).refs("git branch -D other", &["refs/heads/other"]);
    keep(&sandbox, 3, 2);
    keep(&sandbox, 2, 2);
    keep(&sandbox, 0, 2);
    let store = Store::open(&env, &sandbox.project()).unwrap();
    let blobs = store.blobs().unwrap().len();
    assert!(sandbox.git(&["for-each-ref"]).contains(&format!("refs/aops/kept/{topic}/0")));
    let gone = retain(&env, &store, &policy(14, 2_048)).unwrap();
    assert_eq!(gone, Retained { removed: 2, bytes: (1 << 20) + 3 });
    assert_eq!(numbers(&sandbox), [3, 4, 5]);
    assert!(!sandbox.git(&["for-each-ref"]).contains("refs/aops/kept"));
    assert_eq!(store.blobs().unwrap().len(), blobs - 1);
    // Too much: the oldest goes, and no more than needed.
    assert_eq!(retain(&env, &store, &policy(14, 5)).unwrap().removed, 1);
    assert_eq!(numbers(&sandbox), [4, 5]);
    // What is younger than a day stays, however much it is.
    assert_eq!(retain(&env, &store, &policy(1, 1)).unwrap().removed, 1);
    assert_eq!(numbers(&sandbox), [5]);
    assert_eq!(retain(&env, &store, &policy(1, 1)).unwrap(), Retained::default());
    assert_eq!(
        is_full(&env, &store, &policy(1, 1), 1).unwrap(),
        Some(Full { keepings: 1, kept_mb: 3, most_mb: 1 })
    );
    assert_eq!(is_full(&env, &store, &policy(1, 3), 1).unwrap(), None);
}

/// What is listed can be read after the others went.
#[test]
fn shared_contents_stay_with_those_that_need_them() {
    let sandbox = repository();
    let env = hand::env(&sandbox);
    let file = sandbox.put("same.log", "the same\n");
    let _old = Hand::of(&sandbox).aged(30).overwriting("rm same.log", &[&file]);
    let young = Hand::of(&sandbox).overwriting("rm same.log", &[&file]);
    std::fs::remove_file(&file).unwrap();
    let store = Store::open(&env, &sandbox.project()).unwrap();
    assert_eq!(retain(&env, &store, &policy(14, 2_048)).unwrap().removed, 1);
    drop(store);
    super::brought(&sandbox, young);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "the same\n");
}

/// What goes does not go quietly.
#[test]
fn who_starts_a_session_reads_that_something_went() {
    let sandbox = repository();
    keep(&sandbox, 20, 1);
    let session = sandbox.session();
    let told = session.start("startup");
    assert!(told.out.contains("what was kept before 1 command cannot be brought back any more"), "{told:?}");
    assert_eq!(numbers(&sandbox), [0; 0]);
    let again = sandbox.session().start("startup");
    assert!(!again.out.contains("cannot be brought back"), "{again:?}");
}
