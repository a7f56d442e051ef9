//! Drivers and clients killed at every answer of the model and during calls: `resume` completes, each effect
//! once.

use super::world::{World, bash, is_gone, until};
use crate::model::{Model, Request, Turn};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::Child;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// The first step ends when it may, however late its driver is killed.
const COMMANDS: &str =
    "  - {id: one, name: One, description: o, run: 'echo one >> effects; until test -e ../go; do sleep 0.02; done'}
  - {id: two, name: Two, description: t, run: echo two >> effects}
  - {id: three, name: Three, description: t, run: echo three >> effects}
";

pub(super) fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = kill_process(pid, Signal::KILL);
}

/// A program that is killed is not taken for one that failed.
#[test]
fn a_command_that_is_killed() {
    let steps = "  - {id: one, name: One, description: o, run: echo one >> effects}
  - {id: two, name: Two, description: t, run: '[ -e .git/again ] || { touch .git/again; sleep 600; }; echo two >> effects'}\n";
    let world = World::new(&[("commands", steps)]);
    let mut driver = world.start(&["run", "x", "--workflow", "commands"]);
    until("the second step", || world.there(".git/again"));
    kill(world.program().unwrap());
    assert_eq!(driver.wait().unwrap().code(), Some(3));
    assert!(world.packet().contains("trigger: KILLED"), "{}", world.packet());
    let key = |world: &World| {
        let deeds = world.deeds();
        let steps = deeds.iter().filter(|deed| deed["kind"] == "STEP" && deed["with"]["step"] == "two");
        steps.map(|deed| deed["with"]["call"].clone()).collect::<Vec<_>>()
    };
    world.resume(&world.checkpoint()).passed();
    assert_eq!(world.effects(), ["one", "two"]);
    let keys = key(&world);
    assert!(keys.len() == 2 && keys[0] == keys[1], "handed out again under its old id: {keys:?}");
}

const CLIENT: &str = "  - {id: first, name: First, description: f}
  - {id: second, name: Second, description: s}
";

/// What a step does in the shell.
pub(super) type Work = fn(&str) -> String;

const PLAIN: Work = |step| format!("echo {step} >> effects");

/// The next answer of a model that has read the conversation and nothing else. A step whose call has its
/// result, or is said to be done in the prompt, is done; one whose call was cut off is looked at first, as
/// both ask.
fn next(request: &Request, work: Work) -> Turn {
    let prompts = request.pieces();
    let prompt = prompts.iter().rev().find(|text| text.starts_with("Step ")).unwrap();
    let step = prompt.split_once("run: ").unwrap().1.split('.').next().unwrap().to_ascii_lowercase();
    let (line, look) = (work(&step), format!("cat effects # {step}"));
    let results = request.tool_results();
    let result_of = |line: &str| {
        let calls = request.calls();
        let (id, _) = calls.iter().rev().find(|(_, input)| input["command"] == line)?;
        results.iter().find(|result| result.id == *id).cloned()
    };
    let seen = result_of(&look);
    match result_of(&line) {
        _ if prompt.contains(&format!("- done: `Bash: {line}`")) => Turn::text("It is done already."),
        Some(result) if !result.is_error => Turn::text("Done."),
        Some(result) if !result.text.contains("outcome is unknown") => panic!("{result:?}"),
        Some(_) if seen.as_ref().is_some_and(|seen| seen.text.contains(&step)) => Turn::text("It was done."),
        Some(_) if seen.is_none() => {
            assert!(
                prompt.contains(&format!("- cut off, so look whether it took effect: `Bash: {line}`")),
                "{prompt}"
            );
            bash(&look)
        }
        _ => bash(&line),
    }
}

/// Victim is killed.
pub(super) type Victim = fn(&World, &mut Child);

/// `World::with` or `World::real`.
pub(super) type MakeWorld = fn(&Model, &[(&str, &str)]) -> World;

/// Two steps of the client. The victim is killed at the model's answer number `turn`: while the model thinks,
/// or when half of the answer is sent. Answers 0 and 2 are the call of a step, 1 and 3 its last words.
pub(super) fn killed_at_an_answer(make: MakeWorld, turn: usize, halfway: bool, victim: Victim) {
    let case = format!("answer {turn}, halfway: {halfway}");
    let (send, deed) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
    let deed = Arc::new(Mutex::new(deed));
    let mut answers = 0;
    let model = Model::minded(move |request| {
        let (said, deed) = (next(request, PLAIN), Arc::clone(&deed));
        let strike = move || deed.lock().unwrap().recv().unwrap()();
        answers += 1;
        match (answers == turn + 1, halfway) {
            (false, _) => said,
            (true, false) => said.after(strike),
            (true, true) => said.halfway(strike),
        }
    });
    let world = Arc::new(make(&model, &[("client", CLIENT)]));
    let mut driver = world.start(&["run", "x", "--workflow", "client"]);
    let (struck, ended) = mpsc::channel();
    let inside = Arc::clone(&world);
    let strike = move || {
        victim(&inside, &mut driver);
        struck.send(driver).unwrap();
    };
    send.send(Box::new(strike)).unwrap();
    let mut driver = ended.recv_timeout(Duration::from_mins(1)).unwrap();
    driver.wait().unwrap();
    let run = world.runs()[0].clone();
    let state = run["state"].as_str().unwrap();
    assert!(["TERMINATED", "CHECKPOINT"].contains(&state), "{case}: {run}");
    world.resume(run["checkpoint_id"].as_str().unwrap()).passed();
    assert_eq!(world.effects(), ["first", "second"], "{case}");
    assert_eq!(world.person(&["verify", &world.session().id, "--json"]).json()["ok"], true, "{case}");
    assert_eq!(model.astray(), [""; 0], "{case}");
}

fn killed_at_every_answer(halfway: bool, victim: Victim) {
    (0..4).for_each(|turn| killed_at_an_answer(World::with, turn, halfway, victim));
}

pub(super) const DRIVER: Victim = |_, driver| {
    driver.kill().unwrap();
    driver.wait().unwrap();
};
pub(super) const PROGRAM: Victim = |world, _| kill(world.program().unwrap());

#[test]
fn a_driver_killed_while_the_model_thinks() {
    killed_at_every_answer(false, DRIVER);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn a_driver_killed_halfway_through_an_answer() {
    killed_at_every_answer(true, DRIVER);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn a_client_killed_while_the_model_thinks() {
    killed_at_every_answer(false, PROGRAM);
}

#[test]
fn a_client_killed_halfway_through_an_answer() {
    killed_at_every_answer(true, PROGRAM);
}

/// One step of the client, killed during its call; the model looks before it makes the call again. The call
/// writes its process id into `begun`. Returns that too.
pub(super) fn killed_during_a_call(make: MakeWorld, work: Work, victim: Victim) -> (World, u32) {
    let model = Model::minded(move |request| next(request, work));
    let world = make(&model, &[("client", "  - {id: only, name: Only, description: o}\n")]);
    let mut driver = world.start(&["run", "x", "--workflow", "client"]);
    let pid = || fs::read_to_string(world.sandbox.project().join("begun")).ok()?.trim().parse().ok();
    until("the call", || pid().is_some());
    let call = pid().unwrap();
    victim(&world, &mut driver);
    driver.wait().unwrap();
    world.resume(world.runs()[0]["run_id"].as_str().unwrap()).passed();
    assert_eq!(model.astray(), [""; 0]);
    (world, call)
}

/// The first attempt never comes to its effect by itself.
pub(super) const SLOW: Work =
    |step| format!("[ -e begun ] || {{ echo $$ > begun; sleep 600; }}; echo {step} >> effects");

/// The call has had no effect yet: it is ended with its client, so that it cannot have one later.
#[test]
fn a_client_killed_before_a_calls_effect() {
    let (world, call) = killed_during_a_call(World::with, SLOW, PROGRAM);
    assert!(is_gone(call), "the call {call} still runs");
    assert_eq!(world.effects(), ["only"]);
}

/// The call goes on under its client, and `resume` waits for both.
#[test]
fn a_driver_killed_during_a_call() {
    let line = |step: &str| format!("echo $$ > begun; sleep 1.5; echo {step} >> effects");
    let (world, _) = killed_during_a_call(World::with, line, DRIVER);
    assert_eq!(world.effects(), ["only"]);
    assert_eq!(world.session().calls().len(), 1);
}

pub(super) fn parent(pid: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_new_run_marks_the_old_one_and_says_how_to_resume() {
    let world = World::new(&[("commands", COMMANDS)]);
    let mut driver = world.start(&["run", "x", "--workflow", "commands"]);
    until("a step", || !world.effects().is_empty());
    driver.kill().unwrap();
    driver.wait().unwrap();
    fs::write(world.sandbox.project().join("../go"), "").unwrap();
    until("its end", || world.has_ended());
    world.commit();
    world.run("commands").passed();
    let runs = world.runs();
    assert_eq!((&runs[0]["state"], &runs[1]["state"]), (&"TERMINATED".into(), &"TERMINAL".into()), "{runs}");
    let list = world.person(&["runs"]);
    assert!(list.out.contains("aops-hook resume CP_"), "{list:?}");
    // Of the old one nothing was tried again: a step was handed out once, and after its mark there is
    // nothing.
    let (old, deeds) = (&runs[0]["run_id"], world.deeds());
    let kinds: Vec<&str> = deeds
        .iter()
        .filter(|deed| deed["run_id"] == *old)
        .map(|deed| deed["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "STEP").count(), 1, "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"CHECKPOINT"));
}
