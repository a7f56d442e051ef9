//! A thousand machines and the runs of a day: how many a second one engine and one gateway carry.
//!
//! Minutes, so `tests/long-run.d/fleet` runs it; `AOPS_FLEET_MANY` changes how many.

use crate::world::{World, within};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const MACHINES: usize = 1000;
/// So many people submit and wait at a time.
const AT_ONCE: usize = 16;
/// Each machine asks this often whether the engine lives, with a usual `reattach`.
const BEAT: Duration = Duration::from_secs(3);

#[test]
#[ignore = "minutes"]
fn a_thousand_machines_and_ten_thousand_runs_a_day() {
    let runs = env::var("AOPS_FLEET_MANY").ok().and_then(|text| text.parse().ok()).unwrap_or(400);
    let world = Arc::new(World::new(&["true"], &["--per-repository", "0"]));
    for n in 0..MACHINES {
        let machine = json!({"name": format!("m{n}"), "labels": ["linux"], "grace_s": 2, "reattach_s": 30});
        assert_eq!(world.ask("ingress", "POST", "/Machines/all/hello", Some(&machine)).0, 200);
    }
    let script = world.at("at-once");
    let end = json!({"kind": "finished", "outcome": "PASS", "reason": "nothing changed", "account": null});
    fs::write(&script, format!("#!/bin/sh\nprintf '%s' '{end}' > \"$3\"\n")).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let _machine = world.finishing("real", &script);
    // What the other machines ask meanwhile.
    let (is_over, beats) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let asking: Vec<_> = (0..8)
        .map(|_| {
            let (world, is_over, beats) = (Arc::clone(&world), Arc::clone(&is_over), Arc::clone(&beats));
            thread::spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    let began = Instant::now();
                    assert_eq!(world.post("farfar", "POST", "/v1/machines/far/lives", &Value::Null).0, 200);
                    beats.fetch_add(1, Ordering::SeqCst);
                    thread::sleep((BEAT * 8 / 1000).saturating_sub(began.elapsed()));
                }
            })
        })
        .collect();
    let began = Instant::now();
    let people: Vec<_> = (0..AT_ONCE)
        .map(|person| {
            let world = Arc::clone(&world);
            thread::spawn(move || (person..runs).step_by(AT_ONCE).map(|n| one(&world, n)).collect::<Vec<_>>())
        })
        .collect();
    let mut took: Vec<Duration> = people.into_iter().flat_map(|person| person.join().unwrap()).collect();
    let whole = began.elapsed();
    is_over.store(true, Ordering::SeqCst);
    for thread in asking {
        thread.join().unwrap();
    }
    took.sort();
    let rate = f64::from(u32::try_from(runs).unwrap()) / whole.as_secs_f64();
    let beats = f64::from(u32::try_from(beats.load(Ordering::SeqCst)).unwrap()) / whole.as_secs_f64();
    println!(
        "{runs} runs with {MACHINES} machines: {rate:.1} a second ({:.0} a day), median {:.0?}, longest {:.0?}; {beats:.0} signs of life a second beside them",
        rate * 86_400.0,
        took[took.len() / 2],
        took[took.len() - 1]
    );
    assert!(rate * 86_400.0 > 10_000.0, "{rate} a second");
}

/// How long one run took, from submitting to its end.
fn one(world: &World, n: usize) -> Duration {
    let began = Instant::now();
    let run = format!("d{n}");
    world.send(&run, &["real"]);
    let mut end = (202, Value::Null);
    within(Duration::from_mins(5), "it is over", || {
        end = world.post("annann", "POST", &format!("/v1/runs/{run}/wait"), &Value::Null);
        ![0, 202, 503].contains(&end.0)
    });
    assert_eq!((end.0, &end.1["outcome"]), (200, &json!("PASS")), "{end:?}");
    began.elapsed()
}
