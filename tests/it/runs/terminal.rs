//! What a person sees of a run: the live line on a terminal (made by `script`), the list, and the notice.

use super::world::{World, bash};
use crate::model::{Model, Turn};
use crate::support::BINARY;
use std::fs;
use std::process::{Child, Command, Stdio};

pub(super) const STEPS: &str = "  - {id: build, name: Build, description: make it}
  - {id: count, name: Count, description: count, run: echo counted >> effects}
";

/// `aops-hook` with these arguments, on a terminal whose keys are its stdin; what it shows goes to a file.
#[expect(clippy::disallowed_methods, reason = "a program on a terminal of its own")]
pub(super) fn on_a_terminal(world: &World, arguments: &str) -> Child {
    let shown = fs::File::create(world.sandbox.tmp().join("shown")).unwrap();
    Command::new("script")
        .args(["-q", "-e", "-f", "-c", &format!("exec {BINARY} {arguments}"), "/dev/null"])
        .env_clear()
        .envs(world.sandbox.environment())
        .env("TERM", "xterm")
        .current_dir(world.sandbox.project())
        .stdin(Stdio::piped())
        .stdout(shown)
        .spawn()
        .unwrap_or_else(|error| panic!("`script` of util-linux is needed: {error}"))
}

pub(super) fn shown(world: &World) -> String {
    fs::read_to_string(world.sandbox.tmp().join("shown")).unwrap()
}

#[test]
fn a_live_line_on_a_terminal() {
    let model = Model::new([bash("sleep 1; echo built >> effects"), Turn::text("Built.")]);
    let world = World::with(&model, &[("seen", STEPS)]);
    let mut driver = on_a_terminal(&world, "run 'make it so' --workflow seen");
    assert_eq!(driver.wait().unwrap().code(), Some(0), "{}", shown(&world));
    let text = shown(&world);
    let live: Vec<&str> = text.split('\r').filter(|part| part.contains("1/2 build")).collect();
    assert!(live.len() > 2, "it is redrawn: {text:?}");
    let last = live.last().unwrap().trim_start_matches("\x1b[K");
    let words: Vec<&str> = last.split("  ").map(str::trim).collect();
    // Step, time, tokens, money, tool.
    assert_eq!((words[0], words.len()), ("1/2 build", 5), "{last:?}");
    assert!(words[1].starts_with("0:0") && words[1].len() == 4, "{last:?}");
    assert!(words[2].ends_with(" tokens") && !words[2].starts_with('0'), "{last:?}");
    assert!(words[3].starts_with("$0.0") && words[4] == "Bash", "{last:?}");
    assert!(text.contains("PASS") && text.contains("every step passed"), "{text:?}");
    assert!(!text.contains("\"event\""), "no JSON for people: {text:?}");
    assert_eq!(world.effects(), ["built", "counted"]);
}

#[test]
fn the_list_and_the_notice_say_what_waits() {
    let model = Model::new([bash("touch danger"), Turn::text("Built.")]);
    let world = World::with(&model, &[("seen", STEPS)]);
    let notify = "\n[run]\nnotify = 'echo \"$AOPS_RUN|$AOPS_OUTCOME|$AOPS_REASON|$AOPS_PACKET\" >> \"$HOME/notices\"'\n";
    world.configure(&format!("{}{notify}", super::world::CONFIG));
    world.run("seen").paused("WAIVER_REQUESTED");
    let (id, run) = (world.checkpoint(), world.runs()[0]["run_id"].as_str().unwrap().to_owned());
    let told = fs::read_to_string(world.sandbox.home().join("notices")).unwrap();
    let packet = world.artifacts("checkpoints")[0].display().to_string();
    let parts: Vec<&str> = told.trim_end().split('|').collect();
    assert_eq!((parts[0], parts[1], parts[3]), (run.as_str(), "WAIVER_REQUESTED", packet.as_str()), "{told}");
    assert!(parts[2].contains("touch danger"), "{told}");
    let list = world.person(&["runs"]).out;
    let cells: Vec<&str> = list.trim_end().split('\t').collect();
    assert_eq!(cells[..3], [&*run, "CHECKPOINT", "WAIVER_REQUESTED"], "{list}");
    assert!(cells[3].ends_with('s') && cells[4].starts_with("$0.0"), "age and cost: {list}");
    assert!(
        cells[5].starts_with("make it so") && cells[5].contains(&format!("resolve {id} --approve")),
        "{list}"
    );
    // A decision changes its two lines and no other byte; written again, it is the same file.
    let before = world.packet();
    for _ in 0..2 {
        world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
        let after = before
            .replace("resolved: false", "resolved: true")
            .replace("resolution_decision: null", "resolution_decision: APPROVED");
        assert_eq!(world.packet(), after);
    }
    world.resume(&id).passed();
    let told = fs::read_to_string(world.sandbox.home().join("notices")).unwrap();
    assert!(told.lines().last().unwrap().contains("|PASS|every step passed; "), "{told}");
}
