//! The queue in the database: order, labels, leases, fencing, questions.

use super::postgres::Postgres;
use aops_fleet::approval::{Answer, token_digest};
use aops_fleet::queue::{Lease, Leave, NewRun, Progress, Snapshot, TakenRun, Taker};
use aops_fleet::session::{Machine, SessionHead};
use aops_fleet::{Error, Fleet};
use std::collections::BTreeSet;
use std::thread;

pub(super) fn enqueue(fleet: &mut Fleet, id: &str, repository: &str, labels: &[&str], priority: i32) {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    let run = NewRun { id, repository, commit: "c", request: "{}", labels: &labels, priority, only_on: None };
    fleet.enqueue(&run, 100).unwrap();
}

pub(super) fn take(
    fleet: &mut Fleet,
    machine: &str,
    labels: &[&str],
    per_repository: i64,
) -> Option<TakenRun> {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    fleet.take(&Taker { machine, labels: &labels, lease_s: 60.0, per_repository }).unwrap()
}

fn lease(run: &TakenRun) -> Lease<'_> {
    Lease { run: &run.id, fence: run.fence, lease_s: 60.0 }
}

pub(super) fn leave(fleet: &mut Fleet, run: &TakenRun, how: &Leave) -> Result<(), Error> {
    fleet.leave(lease(run), "m", (0, &Progress::default()), false, how)
}

#[test]
fn runs_are_taken_by_priority_then_age_by_who_has_the_labels() {
    let postgres = Postgres::with_tables();
    let mut fleet = postgres.fleet();
    enqueue(&mut fleet, "old", "r", &[], 0);
    enqueue(&mut fleet, "gpu", "r", &["gpu", "big"], 9);
    enqueue(&mut fleet, "new", "r", &[], 0);
    enqueue(&mut fleet, "urgent", "r", &[], 5);
    let mut taken = |labels: &[&str]| take(&mut fleet, "m", labels, 0).map(|run| run.id);
    assert_eq!(taken(&["gpu"]).as_deref(), Some("urgent"));
    assert_eq!(taken(&["gpu", "big", "more"]).as_deref(), Some("gpu"));
    assert_eq!(taken(&[]).as_deref(), Some("old"));
    assert_eq!(taken(&[]).as_deref(), Some("new"));
    assert_eq!(taken(&["gpu", "big"]), None);
}

/// The number of runs of a repository is held also against workers that look at the same time.
#[test]
fn a_repository_has_so_many_runs_at_a_time() {
    let postgres = Postgres::with_tables();
    let mut fleet = postgres.fleet();
    for n in 0..12 {
        enqueue(&mut fleet, &format!("a{n}"), "a", &[], 0);
    }
    enqueue(&mut fleet, "b", "b", &[], 0);
    let workers = (0..6).map(|_| {
        let mut fleet = postgres.fleet();
        thread::spawn(move || {
            (0..3).filter_map(|_| take(&mut fleet, "m", &[], 2)).map(|run| run.id).collect::<Vec<_>>()
        })
    });
    let workers: Vec<_> = workers.collect();
    let taken: Vec<String> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
    let different: BTreeSet<&String> = taken.iter().collect();
    assert_eq!((taken.len(), different.len()), (3, 3), "two of `a` and one of `b`: {taken:?}");
    assert!(taken.iter().any(|id| id == "b"));
}

/// A lease that ran out is another worker's, and nothing that the first one writes counts any more.
#[test]
fn a_worker_that_lost_its_lease_cannot_write() {
    let postgres = Postgres::with_tables();
    let mut fleet = postgres.fleet();
    enqueue(&mut fleet, "r", "a", &[], 0);
    let first = take(&mut fleet, "one", &[], 0).unwrap();
    let line = |text: &str| Progress { lines: vec![text.to_owned()], ..Progress::default() };
    fleet.record(lease(&first), "one", 0, &line("first")).unwrap();
    assert!(take(&mut fleet, "two", &[], 0).is_none(), "the lease holds");
    postgres.sql("update aops.runs set lease = now() - interval '1 second'");
    assert!(
        take(&mut fleet, "two", &[], 0).is_none(),
        "the machine on which the step may still run comes first"
    );
    postgres.sql("update aops.runs set lease = now() - interval '61 seconds'");
    let second = take(&mut fleet, "two", &[], 0).unwrap();
    assert!(second.fence > first.fence);
    assert_eq!(fleet.heartbeat(lease(&first)), Err(Error::Fenced));
    assert_eq!(fleet.record(lease(&first), "one", 0, &line("forged")), Err(Error::Fenced));
    for how in [
        Leave::GiveBack,
        Leave::Pause { question: "?", about: "", token: "t" },
        Leave::Finish { outcome: "PASS", reason: "" },
    ] {
        assert_eq!(leave(&mut fleet, &first, &how), Err(Error::Fenced));
    }
    assert_eq!(fleet.progress("r").unwrap().lines, ["first"]);
    // A lease that ran out and that no other worker took is renewed: nothing was lost.
    postgres.sql("update aops.runs set lease = now() - interval '1 second'");
    fleet.heartbeat(lease(&second)).unwrap();
    fleet.block("r", "a person", None).unwrap();
    assert_eq!(fleet.heartbeat(lease(&second)), Err(Error::Fenced), "a blocked run has no worker");
}

/// What was recorded comes back as it was; the same call once more changes nothing.
#[test]
fn progress_comes_back_and_a_repeated_call_changes_nothing() {
    let postgres = Postgres::with_tables();
    let mut fleet = postgres.fleet();
    enqueue(&mut fleet, "r", "a", &[], 0);
    enqueue(&mut fleet, "r", "a", &[], 0);
    let run = take(&mut fleet, "m", &[], 0).unwrap();
    assert!(take(&mut fleet, "m", &[], 0).is_none(), "it was put in once");
    let mut progress = Progress {
        lines: vec!["1".to_owned(), "2 ä\"".to_owned()],
        files: vec![("checkpoints/x.yaml".to_owned(), "a: 1\n".to_owned())],
        tree: Some(Snapshot { head: "h".to_owned(), tree: "t".to_owned(), bundle: Some(vec![0, 1, 255]) }),
    };
    for known in [0, 0, 2] {
        fleet.record(lease(&run), "m", known, &progress).unwrap();
        assert_eq!(fleet.progress("r").unwrap(), progress);
    }
    progress.lines.push("3".to_owned());
    let finish = Leave::Finish { outcome: "PASS", reason: "all" };
    for _ in 0..2 {
        fleet.leave(lease(&run), "m", (2, &progress), false, &finish).unwrap();
    }
    assert_eq!(fleet.progress("r").unwrap().lines, ["1", "2 ä\"", "3"]);
    let shown = fleet.runs(10).unwrap().remove(0);
    assert_eq!((shown.state.as_str(), shown.outcome.as_deref(), shown.steps), ("done", Some("PASS"), 3));
    assert_eq!(leave(&mut fleet, &run, &Leave::GiveBack), Err(Error::Fenced), "it is over");
}

/// A question waits without a worker, and of many answers at the same time one counts.
#[test]
fn a_question_is_answered_once() {
    let postgres = Postgres::with_tables();
    let mut fleet = postgres.fleet();
    enqueue(&mut fleet, "r", "a", &[], 0);
    let run = take(&mut fleet, "m", &[], 0).unwrap();
    let pause = Leave::Pause { question: "may it?", about: "d", token: &token_digest("secret") };
    for _ in 0..2 {
        leave(&mut fleet, &run, &pause).unwrap();
    }
    assert!(take(&mut fleet, "m", &[], 0).is_none(), "it waits for a person");
    let open = fleet.approvals(10).unwrap();
    assert_eq!((open.len(), open[0].question.as_str(), open[0].run.as_str()), (1, "may it?", "r"));
    assert_eq!(fleet.approval_of_token("secret").unwrap().as_deref(), Some(open[0].id.as_str()));
    assert_eq!(fleet.approval_of_token("other").unwrap(), None);
    assert!(!postgres.sql("select token from aops.approvals").contains("secret"));
    let answers = (0..6).map(|n| {
        let (mut fleet, id) = (postgres.fleet(), open[0].id.clone());
        let answer = if n % 2 == 0 { Answer::Approve } else { Answer::Reject };
        thread::spawn(move || fleet.answer(&id, answer, &format!("p{n}"), Some("fine")).unwrap())
    });
    let answers: Vec<_> = answers.collect();
    let counted = answers.into_iter().map(|one| one.join().unwrap()).filter(|done| *done).count();
    assert_eq!(counted, 1);
    let answered = fleet.answered("r").unwrap().unwrap();
    assert_eq!(answered.about, "d");
    assert!(
        answered.who.starts_with('p')
            && answered.note.as_deref() == Some("fine")
            && answered.at.ends_with('Z')
    );
    assert_eq!(fleet.approval_of_token("secret").unwrap(), None, "its token is used up");
    assert_eq!(take(&mut fleet, "m", &[], 0).unwrap().id, "r", "it goes on");
}

#[test]
fn a_blocked_question_ends_its_run_and_a_pinned_run_stays_on_its_machine() {
    let postgres = Postgres::with_tables();
    let mut fleet = postgres.fleet();
    for id in ["blocked", "pinned"] {
        enqueue(&mut fleet, id, "a", &[], 0);
        let run = take(&mut fleet, "m", &[], 0).unwrap();
        let pause = Leave::Pause { question: "?", about: "", token: "t" };
        fleet.leave(lease(&run), "m", (0, &Progress::default()), id == "pinned", &pause).unwrap();
    }
    assert!(fleet.answer("blocked", Answer::Block, "eve", Some("no")).unwrap(), "by the run's id too");
    let shown = fleet.runs(10).unwrap();
    let blocked = shown.iter().find(|run| run.id == "blocked").unwrap();
    assert_eq!(
        (blocked.outcome.as_deref(), blocked.reason.as_str()),
        (Some("BLOCKED"), "eve blocked the run: no")
    );
    assert!(fleet.answer("pinned", Answer::Approve, "eve", None).unwrap());
    assert!(take(&mut fleet, "other", &[], 0).is_none());
    assert_eq!(take(&mut fleet, "m", &[], 0).unwrap().id, "pinned");
}

#[test]
fn a_full_queue_refuses() {
    let postgres = Postgres::with_tables();
    let mut fleet = postgres.fleet();
    let put = |fleet: &mut Fleet, id: &str| {
        fleet.enqueue(
            &NewRun {
                id,
                repository: "a",
                commit: "c",
                request: "{}",
                labels: &[],
                priority: 0,
                only_on: None,
            },
            2,
        )
    };
    put(&mut fleet, "1").unwrap();
    put(&mut fleet, "2").unwrap();
    let full = put(&mut fleet, "3").unwrap_err();
    assert!(full == Error::Full(2) && full.to_string().contains("`fleet.queue_max`"), "{full}");
    take(&mut fleet, "m", &[], 0).unwrap();
    put(&mut fleet, "3").unwrap();
}

/// Heads come in any order and twice; the newest stays.
#[test]
fn heads_never_go_back() {
    let postgres = Postgres::with_tables();
    let mut fleet = postgres.fleet();
    let head = |entries: i64| SessionHead {
        id: "s".to_owned(),
        entries,
        head: format!("h{entries}"),
        ..SessionHead::default()
    };
    for heads in [vec![head(1), head(3)], vec![head(2)], vec![head(3)]] {
        fleet.report("m", &heads).unwrap();
    }
    fleet.report("other", &[head(1)]).unwrap();
    assert_eq!(
        postgres.sql("select machine, entries, head from aops.sessions order by 1"),
        "m|3|h3\nother|1|h1"
    );
    for version in ["1", "2"] {
        fleet.register(&Machine { name: "m", version, labels: None, policy: "p", bundle: "" }).unwrap();
    }
    let seen = fleet.overview(10).unwrap();
    assert_eq!(
        (seen.machines.len(), seen.machines[0].version.as_str(), seen.sessions, seen.policies),
        (1, "2", 2, 1)
    );
}
