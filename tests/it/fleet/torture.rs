//! Many workers on several machines, killed at random, and the database too: each effect once, no run lost.
//!
//! `AOPS_FLEET_RUNS`, `AOPS_FLEET_WORKERS`, `AOPS_FLEET_KILLS` and `AOPS_FLEET_SEED` make it longer
//! (`tests/long-run.d/fleet`).

#![expect(clippy::disallowed_methods, reason = "workers that are killed, and how long the long run is")]

use super::work::{EFFECT, Farm, STEP, kill, start_worker};
use crate::support::Sandbox;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

fn number(name: &str, usual: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A generator that is the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[test]
fn every_effect_once_whoever_is_killed() {
    let (runs, workers) = (number("AOPS_FLEET_RUNS", 6), number("AOPS_FLEET_WORKERS", 3));
    let mut dice = Dice(number("AOPS_FLEET_SEED", 1));
    // Every fourth run asks a person once.
    let asks = r#"case $AOPS_RUN in *[048c]) test -e "$EFFECTS/asked-$AOPS_RUN" || { : > "$EFFECTS/asked-$AOPS_RUN"; kill -9 $$; };; esac; "#;
    let (one, two) =
        (format!("{STEP}{EFFECT}echo 1 > made"), format!("{STEP}{asks}test -e made && {{ {EFFECT}}}"));
    let mut farm = Farm::new(&[("one", &one), ("two", &two)]);
    farm.postgres.configure(&farm.person, "fleet.per_repository = 1000\n");
    let ids: BTreeSet<String> = (0..runs).map(|_| farm.enqueue(&[])).collect();
    let machines: Vec<Sandbox> = (0..2).map(|_| farm.machine()).collect();
    for machine in &machines {
        farm.postgres.configure(machine, "fleet.per_repository = 1000\n");
    }
    let start = |n: u64| start_worker(&machines[usize::try_from(n % 2).unwrap()], &["--lease", "2s"]);
    let mut crew: Vec<Option<Child>> = (0..workers).map(|n| Some(start(n))).collect();
    let (mut kills, most_kills) = (0, number("AOPS_FLEET_KILLS", workers * 2 + runs / 10));
    let end = Instant::now() + Duration::from_secs(60 + 10 * runs);
    loop {
        assert!(
            Instant::now() < end,
            "{}",
            farm.postgres.sql("select id, state, reason, fence, lease from aops.runs where state <> 'done'")
        );
        thread::sleep(Duration::from_millis(100 + dice.below(400)));
        if kills < most_kills {
            kills += 1;
            if kills % 5 == 0 {
                farm.postgres.kill();
                thread::sleep(Duration::from_millis(dice.below(300)));
                farm.postgres.start_again();
            } else {
                let n = dice.below(workers);
                let place = &mut crew[usize::try_from(n).unwrap()];
                kill(place.take().unwrap());
                *place = Some(start(n));
            }
        }
        let mut fleet = farm.postgres.fleet();
        for question in fleet.approvals(1000).unwrap() {
            assert!(question.question.contains("was killed"), "{question:?}");
            fleet.answer(&question.id, aops_fleet::approval::Answer::Approve, "test", None).unwrap();
        }
        let seen = fleet.overview(1).unwrap();
        if seen.done == i64::try_from(runs).unwrap() && kills == most_kills {
            break;
        }
    }
    crew.into_iter().flatten().for_each(kill);
    assert_eq!(farm.postgres.sql("select id, outcome, reason from aops.runs where outcome <> 'PASS'"), "");
    let mut effects: BTreeMap<String, u64> = BTreeMap::new();
    farm.lines("log").into_iter().for_each(|line| *effects.entry(line).or_default() += 1);
    let wanted = ids.iter().flat_map(|id| [format!("{id} one"), format!("{id} two")]).map(|line| (line, 1));
    assert_eq!(effects, wanted.collect(), "every step of every run had its effect once");
    let asked = fs::read_dir(&farm.effects).unwrap().flatten();
    let asked = asked.filter(|item| item.file_name().to_string_lossy().starts_with("asked-")).count();
    let answered =
        farm.postgres.sql("select count(distinct about) from aops.approvals where decision = 'approve'");
    assert_eq!(answered, asked.to_string(), "every question was answered once");
    let ledgers =
        farm.postgres.sql("select count(*) from aops.steps where line like '%\"kind\":\"TERMINAL\"%'");
    assert_eq!(ledgers, runs.to_string());
}
