//! Five workers on three machines, the gateway and the server killed at random: each keyed effect once, no
//! run lost, never two copies, agents' steps among them.
//!
//! Minutes, so `tests/long-run.d/fleet` runs it; `AOPS_FLEET_RUNS`, `AOPS_FLEET_KILLS` and `AOPS_FLEET_SEED`
//! change it.

use crate::agent::Agents;
use crate::machines::Machine;
use crate::world::{AGENT, World, within};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{env, thread};

/// The workers of three machines; a machine that is lost loses all of its workers at once.
const NAMES: [&str; 5] = ["m1-a", "m1-b", "m2-a", "m2-b", "m3-a"];
const MACHINES: [&[usize]; 3] = [&[0, 1], &[2, 3], &[4]];
/// Two copies of a step of one run at a time are told; an effect has the key of its step.
const STEP: &str = r#"echo "$AOPS_RUN $AOPS_STEP" >> "$EFFECTS/begun"; flock -n -E 99 "$EFFECTS/lock-$AOPS_RUN" sh -c 'sleep 0.5; echo "$AOPS_STEP" >> work; (set -C; : > "$EFFECTS/key-$AOPS_IDEMPOTENCY_KEY") 2>/dev/null; true'; code=$?; test $code = 99 && echo "$AOPS_RUN" >> "$EFFECTS/overlap"; exit $code"#;

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

/// How many servers, gateways, workers and whole machines were killed.
fn kill_at_random(
    world: &mut World,
    machines: &mut [Machine; NAMES.len()],
    dice: &mut Dice,
    kills: u64,
) -> [u64; 4] {
    let mut killed = [0; 4];
    for kill in 1..=kills {
        thread::sleep(Duration::from_millis(200 + dice.below(800)));
        if kill % 8 == 0 {
            world.kill_server();
            world.start_server();
            killed[0] += 1;
        } else if kill % 8 == 4 {
            world.kill_gateway();
            world.start_gateway();
            killed[1] += 1;
        } else {
            let whole = kill % 8 == 6;
            let one = [usize::try_from(dice.below(5)).unwrap()];
            let lost = if whole { MACHINES[usize::try_from(dice.below(3)).unwrap()] } else { &one };
            for n in lost {
                machines[*n].worker.take().unwrap().kill();
            }
            for n in lost {
                world.start_worker(&mut machines[*n], &[]);
            }
            killed[if whole { 3 } else { 2 }] += 1;
        }
    }
    killed
}

#[test]
#[ignore = "minutes"]
fn every_keyed_effect_once_whoever_is_killed() {
    let runs = number("AOPS_FLEET_RUNS", 40);
    let kills = number("AOPS_FLEET_KILLS", 40);
    let mut dice = Dice(number("AOPS_FLEET_SEED", 1));
    let mut world = World::new(&[STEP, AGENT, STEP], &["--lost-after", "8", "--per-repository", "8"]);
    let agents = Agents::new();
    std::fs::write(world.at("model"), &agents.url).unwrap();
    let mut machines = NAMES.map(|name| world.machine(name, &[]));
    let copies = Copies::watch(&world);
    let ids: Vec<String> = (0..runs).map(|n| format!("c{n}")).collect();
    for run in &ids {
        world.send(run, &[]);
    }
    let began = Instant::now();
    let [servers, gateways, workers, whole] = kill_at_random(&mut world, &mut machines, &mut dice, kills);
    let all_over = || {
        let list = world.post("annann", "POST", "/v1/list/runs", &json!(null)).1;
        let list = list.as_array().cloned().unwrap_or_default();
        // A machine that is killed while it clones leaves a question.
        for run in list.iter().filter(|run| run["state"] == "asks") {
            let id = run["run_id"].as_str().unwrap();
            world.act(id, "answer", &json!({"about": run["about"], "approve": true}));
        }
        list.len() == ids.len() && list.iter().all(|run| run["state"] == "over")
    };
    within(Duration::from_mins(40), "all runs are over", all_over);
    let took = began.elapsed();
    for run in &ids {
        world.passed(run);
        assert_eq!(world.remote(&["show", &format!("aops/{run}:work")]), "s0\ns1\ns2", "{run}");
    }
    let keys = std::fs::read_dir(world.at("effects")).unwrap().flatten();
    let keys = keys.filter(|item| item.file_name().to_string_lossy().starts_with("key-")).count();
    assert_eq!(keys, ids.len() * 2, "keyed effects of two of three steps");
    assert_eq!(world.effects("overlap"), [""; 0], "two copies at a time");
    assert_eq!(copies.seen(), [""; 0], "on two workers at a time");
    assert_eq!(machines.iter().map(|machine| world.held(machine)).sum::<usize>(), 0, "processes are left");
    let begun = world.effects("begun").len();
    let agents = agents.begun.load(Ordering::SeqCst);
    println!(
        "{runs} runs passed; killed: {workers} workers, {whole} machines, {servers} servers, {gateways} gateways; \
         {begun} beginnings of {keys} command steps, {agents} of {runs} agents' steps; {took:.0?}"
    );
}

/// The runs that were seen on two workers at a time.
struct Copies {
    is_over: Arc<AtomicBool>,
    looking: JoinHandle<Vec<String>>,
}

impl Copies {
    fn watch(world: &World) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (stop, root) = (Arc::clone(&is_over), world.at(""));
        let looking = thread::spawn(move || {
            let mut twice = Vec::new();
            while !stop.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(100));
                twice.extend(in_two_places(&root));
            }
            twice
        });
        Self { is_over, looking }
    }

    fn seen(self) -> Vec<String> {
        self.is_over.store(true, Ordering::SeqCst);
        self.looking.join().unwrap()
    }
}

fn in_two_places(root: &Path) -> Vec<String> {
    let mut at: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for item in std::fs::read_dir("/proc").unwrap().flatten() {
        let variables = std::fs::read(item.path().join("environ")).unwrap_or_default();
        let variables = String::from_utf8_lossy(&variables).into_owned();
        let of = |name: &str| variables.split('\0').find_map(|one| one.strip_prefix(name)).map(str::to_owned);
        if let (Some(run), Some(worker)) = (of("AOPS_RUN="), of("AOPS_HOLD="))
            && Path::new(&worker).starts_with(root)
        {
            at.entry(run).or_default().insert(worker);
        }
    }
    let twice = at.into_iter().filter(|(_, at)| at.len() > 1);
    twice.map(|(run, at)| format!("{run}: {at:?}")).collect()
}
