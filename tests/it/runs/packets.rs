//! Fails closed: dirty trees, damaged packets and ledgers, other people's drivers.

use super::world::{World, until};
use std::fs;

const TIMED: &str = "  - {id: one, name: One, description: first, run: echo one >> effects}
  - {id: slow, name: Slow, description: second, run: echo slow >> effects; sleep 600}
";

/// A run that used up its time in the second step.
fn timed_out() -> World {
    let world = World::new(&[("timed", TIMED)]);
    let answer = world.person(&["run", "make it so", "--workflow", "timed", "--step-timeout", "5s"]);
    assert_eq!(answer.code, Some(3), "{answer:?}");
    assert!(answer.err.contains("ESCALATION_REQUESTED") && answer.err.contains("resolve"), "{answer:?}");
    world
}

#[test]
fn a_dirty_repository_is_left_alone() {
    let world = World::new(&[("timed", TIMED)]);
    world.sandbox.put("stray", "x");
    world.run("timed").refused(2, "not clean: stray");
    assert!(!world.there("artifacts") && world.effects().is_empty());
    world.git(&["add", "-A"]);
    world.run("timed").refused(2, "not clean: stray");
    assert!(!world.there("artifacts"));
    assert_eq!(world.runs().as_array().unwrap().len(), 0);
    let plain = crate::support::Sandbox::new();
    plain.person(&["run", "x"]).failed_with_line(2, "git repository");
}

#[test]
fn an_edited_packet_is_refused_with_its_code() {
    let world = timed_out();
    let (id, file, whole) = (world.checkpoint(), world.artifacts("checkpoints")[0].clone(), world.packet());
    world.person(&["resolve", &id, "--approve", "--yes"]).said(&["APPROVED"]);
    let decided = world.packet();
    for (from, to) in [
        ("step_index: 1", "step_index: 0"),
        ("make it so", "make it all"),
        ("trigger: STEP_TIMEOUT", "trigger: INTERRUPTED"),
        ("run_id:", "run:"),
    ] {
        fs::write(&file, decided.replace(from, to)).unwrap();
        world.resume(&id).refused_without_hint(4, "STATE_CHECKSUM_MISMATCH");
        world.person(&["resolve", &id, "--reject", "--yes"]).failed(4, &["STATE_CHECKSUM_MISMATCH"]);
    }
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    world.resume(&id).refused_without_hint(4, "STATE_CHECKSUM_MISMATCH");
    fs::remove_file(&file).unwrap();
    world.resume(&id).refused_without_hint(4, "STATE_RECOVERY_FAILED");
    assert_eq!(world.effects(), ["one", "slow"]);
    fs::write(&file, decided).unwrap();
    fs::write(world.sandbox.project().join(".aops/workflows/timed.md"), "").unwrap();
    world.resume(&id).refused(2, "working tree");
}

#[test]
fn a_damaged_attempt_ledger_is_refused_and_a_torn_one_goes_on() {
    let world = timed_out();
    let id = world.checkpoint();
    world.person(&["resolve", &id, "--reject", "--yes"]).said(&["REJECTED"]);
    let path = world.sandbox.project().join("artifacts/loop_state/attempt_ledger.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.replacen("\"step\":\"one\"", "\"step\":\"two\"", 1)).unwrap();
    world.resume(&id).refused_without_hint(4, "STATE_CHECKSUM_MISMATCH");
    world.person(&["runs"]).failed(4, &["STATE_CHECKSUM_MISMATCH"]);
    fs::write(&path, format!("{whole}{{\"digest\":\"torn")).unwrap();
    world.resume(&id).blocked("rejected");
    assert!(fs::read_to_string(&path).unwrap().starts_with(&whole));
}

#[test]
fn one_driver_at_a_time() {
    let world = World::new(&[("timed", TIMED)]);
    let mut driver = world.start(&["run", "make it so", "--workflow", "timed"]);
    until("the second step", || world.effects() == ["one", "slow"]);
    assert_ne!(world.git(&["status", "--porcelain"]), "", "the driver at work leaves the tree dirty");
    world.run("timed").refused(2, "STATE_CONCURRENT_EXECUTION");
    world.commit();
    world.run("timed").refused(2, "STATE_CONCURRENT_EXECUTION");
    let run = world.runs()[0]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(world.runs()[0]["state"], "RUNNING");
    world.resume(&run).refused(2, "STATE_CONCURRENT_EXECUTION");
    driver.kill().unwrap();
    driver.wait().unwrap();
    rustix::process::kill_process_group(
        rustix::process::Pid::from_raw(i32::try_from(world.program().unwrap()).unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[test]
fn no_tool_call_decides_or_drives() {
    let world = timed_out();
    let session = world.sandbox.session();
    let _ = session.start("startup");
    session.prompt(". go").silent();
    let packet = world.artifacts("checkpoints")[0].clone();
    let write = session.call("Write", serde_json::json!({"file_path": packet, "content": "resolved: true"}));
    session.pre(&write).refused(&["a run's record or packet", "hint:"]);
    for line in [
        "aops-hook resume x",
        "aops-hook __step x",
        "sed -i s/false/true/ artifacts/checkpoints/CP_x_y.yaml",
        "rm artifacts/loop_state/attempt_ledger.jsonl",
    ] {
        let call = session.call("Bash", serde_json::json!({"command": line}));
        session.pre(&call).refused(&["hint:"]);
    }
    let other = session.call("Write", serde_json::json!({"file_path": world.sandbox.project().join("artifacts/checkpoints/model.bin"), "content": "x"}));
    session.pre(&other).silent();
}
