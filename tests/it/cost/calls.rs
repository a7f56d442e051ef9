//! What a call costs in time: the client makes twenty Bash calls with our hooks and without, by turns.
//!
//! `bench/calls` runs it with the release build; here it is only looked at that all calls are made.

use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{BINARY, NO_TRACKER, Sandbox};
use serde_json::json;
use std::time::{Duration, Instant};

const CALLS: u16 = 20;

/// The time of one headless run with so many calls, in a mode or without hooks.
fn time(calls: u16, mode: Option<&str>, hook: &str) -> Duration {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"{}\"\n", mode.unwrap_or("guard")));
    if mode.is_some() {
        assert!(sandbox.command(hook).arg("install").output().unwrap().status.success());
    }
    let call = |n| Turn::call("Bash", json!({"command": format!("echo {n}")}));
    let model = Model::new((0..calls).map(call).chain([Turn::text("All made.")]));
    let began = Instant::now();
    Client::unguarded(&sandbox, &model).run("make them").ended("All made.");
    let took = began.elapsed();
    assert_eq!(model.tool_results().iter().filter(|result| !result.is_error).count(), usize::from(calls));
    took
}

/// The median of what twenty calls take more than none, so that the start of the client does not count.
fn of_twenty(rounds: usize, mode: Option<&str>, hook: &str) -> f64 {
    let mut all: Vec<f64> = (0..rounds)
        .map(|_| time(CALLS, mode, hook).as_secs_f64() - time(0, mode, hook).as_secs_f64())
        .collect();
    all.sort_by(f64::total_cmp);
    all[rounds / 2]
}

#[test]
#[ignore = "it only measures: run `bench/calls`"]
#[expect(clippy::disallowed_methods, reason = "the program and the rounds that `bench/calls` chose")]
fn what_twenty_calls_cost() {
    let chosen = |name: &str| std::env::var(name).ok();
    let hook = chosen("AOPS_BENCH_HOOK").unwrap_or_else(|| BINARY.to_owned());
    let rounds = chosen("AOPS_BENCH_ROUNDS").and_then(|rounds| rounds.parse().ok()).unwrap_or(3);
    let plain = of_twenty(rounds, None, &hook);
    println!("mode | seconds for 20 calls | more for each call");
    println!("none | {plain:.2} |");
    for mode in ["guard", "loop", "strict"] {
        let ours = of_twenty(rounds, Some(mode), &hook);
        println!("{mode} | {ours:.2} | {:.0} ms", (ours - plain) * 1000.0 / f64::from(CALLS));
    }
    println!();
}
