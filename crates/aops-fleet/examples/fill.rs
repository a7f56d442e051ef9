//! Measures one database with machines that report and runs that are queued, taken, recorded and finished.
//! `bench/fleet` starts it.
//!
//! usage: fill URL MACHINES RUNS WORKERS

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods, reason = "a measurement")]

use aops_fleet::queue::{Lease, Leave, NewRun, Progress, Snapshot, Taker};
use aops_fleet::session::{Machine, SessionHead};
use aops_fleet::{Access, Error, Fleet};
use std::thread;
use std::time::{Duration, Instant};

fn open(url: &str) -> Fleet {
    Fleet::open(&Access { url, password: None, trust: &|| Err("no TLS".to_owned()) }).unwrap()
}

/// Prints the median, the 99th percentile and the largest.
fn tell(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    println!(
        "{what:28} {:>7} calls, median {:>7.2} ms, 99 % {:>7.2} ms, most {:>7.2} ms",
        times.len(),
        at(50),
        at(99),
        at(100)
    );
}

fn timed<T>(times: &mut Vec<Duration>, call: impl FnOnce() -> Result<T, Error>) -> T {
    let began = Instant::now();
    let said = call().unwrap();
    times.push(began.elapsed());
    said
}

fn work(url: &str, n: usize) -> [Vec<Duration>; 3] {
    let mut fleet = open(url);
    let machine = format!("worker-{n}");
    let [mut takes, mut records, mut leaves] = [const { Vec::new() }; 3];
    let who = Taker { machine: &machine, labels: &[], lease_s: 120.0, per_repository: 1000 };
    let mut progress = Progress {
        tree: Some(Snapshot { head: "h".repeat(40), tree: "t".repeat(40), bundle: Some(vec![7; 20_000]) }),
        ..Progress::default()
    };
    while let Some(run) = timed(&mut takes, || fleet.take(&who)) {
        progress.lines.clear();
        let lease = Lease { run: &run.id, fence: run.fence, lease_s: 120.0 };
        for step in 0..6 {
            progress.lines.push("x".repeat(400));
            timed(&mut records, || fleet.record(lease, &machine, step, &progress));
        }
        let how = Leave::Finish { outcome: "PASS", reason: "" };
        timed(&mut leaves, || fleet.leave(lease, &machine, (6, &progress), false, &how));
    }
    [takes, records, leaves]
}

fn work_together(url: &str, workers: usize) -> [Vec<Duration>; 3] {
    let start = |n: usize| {
        let url = url.to_owned();
        thread::spawn(move || work(&url, n))
    };
    let crew: Vec<_> = (0..workers).map(start).collect();
    let mut done: [Vec<Duration>; 3] = Default::default();
    for one in crew {
        for (all, own) in done.iter_mut().zip(one.join().unwrap()) {
            all.extend(own);
        }
    }
    done
}

/// Each machine registers and reports ten sessions.
fn report(fleet: &mut Fleet, machines: usize) -> [Vec<Duration>; 2] {
    let mut registers = Vec::new();
    let mut reports = Vec::new();
    for n in 0..machines {
        let name = format!("machine-{n}");
        timed(&mut registers, || {
            fleet.register(&Machine { name: &name, version: "0", labels: None, policy: "p", bundle: "" })
        });
        let heads =
            (0..10).map(|s| SessionHead { id: format!("{n}-{s}"), entries: 5, ..SessionHead::default() });
        let heads: Vec<SessionHead> = heads.collect();
        timed(&mut reports, || fleet.report(&name, &heads));
    }
    [registers, reports]
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| given[at].parse::<usize>().unwrap();
    let url = given[0].as_str();
    let machines = number(1);
    let runs = number(2);
    let workers = number(3);
    let mut fleet =
        Fleet::open_any(&Access { url, password: None, trust: &|| Err("no TLS".to_owned()) }).unwrap();
    fleet.migrate().unwrap();
    let [registers, reports] = report(&mut fleet, machines);
    let mut puts = Vec::new();
    for n in 0..runs {
        let id = format!("run-{n}");
        let repository = format!("repository-{}", n % 200);
        let run = NewRun {
            id: &id,
            repository: &repository,
            commit: "c",
            request: "{}",
            labels: &[],
            priority: 0,
            only_on: None,
        };
        timed(&mut puts, || fleet.enqueue(&run, i64::MAX));
    }
    let began = Instant::now();
    let [takes, records, leaves] = work_together(url, workers);
    let took = began.elapsed().as_secs_f64();
    tell("a machine registers", registers);
    tell("it reports ten heads", reports);
    tell("a run is put in", puts);
    tell("a run is taken", takes);
    tell("a line and a tree recorded", records);
    tell("a run is finished", leaves);
    let mut looks = Vec::new();
    (0..20).for_each(|_| drop(timed(&mut looks, || fleet.overview(1000))));
    tell("fleet status", looks);
    #[allow(clippy::cast_precision_loss)]
    let rate = runs as f64 / took;
    println!("{runs} runs by {workers} workers in {took:.1} s: {rate:.0} runs a second");
}
