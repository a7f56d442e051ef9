//! Runs use the profiles of the jail for their steps: only a step that works or closes changes the tree.

use super::world::{World, bash};
use crate::model::{Model, Turn};
use serde_json::Value;
use std::fs;

const STEPS: &str = "  - {id: look, name: Look, description: l, phase: review, run: 'rm README.md; echo look >> effects; mkdir -p target; echo x > target/x; cat effects'}
  - {id: build, name: Build, description: b, run: echo built >> effects}
  - {id: qa, name: Qa, description: q, phase: verify, run: 'echo qa >> effects; grep -q built effects'}
  - {id: close, name: Close, description: c, phase: close, run: git add -A && git commit -qm built}
";

#[test]
fn a_command_that_reviews_or_verifies_cannot_change_the_tree() {
    let world = World::new(&[("steps", STEPS)]);
    let answer = world.person(&["run", "make it so", "--workflow", "steps"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(world.effects(), ["built"]);
    assert!(world.there("README.md") && !world.there("target"));
    assert_eq!(world.git(&["log", "-1", "--format=%s"]), "built\n");
    let told = "not saved, because it ran in a throwaway layer: effects and target/x are gone. README.md is still there.";
    let said = answer.out.lines().find(|line| line.contains("thrown away")).unwrap_or_default();
    assert!(said.contains("\"step\":\"look\"") && said.contains(told), "{answer:?}");
}

#[test]
fn no_step_writes_to_what_guards_the_run() {
    let steps = "  - {id: one, name: One, description: o, run: 'echo one >> effects; echo x >> \"$HOME/.config/aops/config.toml\"'}\n";
    let world = World::new(&[("one", steps)]);
    let before = fs::read(world.sandbox.home().join(".config/aops/config.toml")).unwrap();
    world.run("one").blocked("Read-only file system");
    assert_eq!(fs::read(world.sandbox.home().join(".config/aops/config.toml")).unwrap(), before);
    assert_eq!(world.effects(), ["one"]);
}

/// Its own record, a packet with a forged answer: only the driver writes there.
#[test]
fn no_step_writes_what_its_run_recorded() {
    for path in ["loop_state/attempt_ledger.jsonl", "checkpoints/x", "terminal/x", "steps/x"] {
        let steps =
            format!("  - {{id: one, name: One, description: o, run: 'echo x >> artifacts/{path}'}}\n");
        let world = World::new(&[("one", &steps)]);
        world.run("one").blocked("Read-only file system");
        let moved = "  - {id: one, name: One, description: o, run: 'mv artifacts away || mv artifacts/loop_state away'}\n";
        let world = World::new(&[("one", moved)]);
        world.run("one").blocked("");
        assert!(world.there("artifacts/loop_state/attempt_ledger.jsonl"));
    }
}

/// The program of a filter that a step left in the repository's configuration: it says that it ran, and tries
/// to change what guards the run.
pub(crate) const PLANT: &str = r#"printf '%s\n' '#!/bin/sh' 'echo ran >> "$HOME/ran"' 'echo x > "$HOME/.config/aops/planted"' cat > .git/evil; chmod +x .git/evil; git config filter.x.clean .git/evil; git config core.fsmonitor .git/evil; echo '* filter=x' > .gitattributes; echo more >> README.md"#;

/// The driver's own git runs what a repository's configuration names, so it is held as the step was.
#[test]
fn what_a_step_left_in_the_configuration_of_git_is_held_too() {
    let quoted = PLANT.replace('\'', "''");
    let steps = format!(
        "  - {{id: plant, name: Plant, description: p, run: '{quoted}'}}\n  - {{id: two, name: Two, description: t, run: echo two >> effects}}\n"
    );
    let world = World::new(&[("steps", &steps)]);
    world.run("steps").passed();
    assert_eq!(world.effects(), ["two"]);
    let home = world.sandbox.home();
    assert!(home.join("ran").exists(), "no filter was run, so this shows nothing");
    assert!(!home.join(".config/aops/planted").exists());
}

/// Without a jail the driver writes packets and summaries where steps work: it follows no link that one of
/// them left.
#[test]
fn a_link_that_a_step_left_leads_the_driver_nowhere() {
    let file = "ln -s \"$HOME/.config/aops/config.toml\" \"artifacts/steps/${AOPS_RUN}_file.json\"";
    let folder = "rm -r artifacts/steps; ln -s \"$HOME/.config/aops\" artifacts/steps";
    let steps = |line: &str| format!("  - {{id: file, name: F, description: f, run: '{line}'}}\n");
    let world = World::new(&[("file", &steps(file)), ("folder", &steps(folder))]);
    world.configure("[jail]\nlevel = \"off\"\n");
    let config = world.sandbox.home().join(".config/aops");
    let (before, count) =
        (fs::read(config.join("config.toml")).unwrap(), fs::read_dir(&config).unwrap().count());
    world.run("file").passed();
    assert_eq!(fs::read(config.join("config.toml")).unwrap(), before);
    let said = world.person(&["run", "x", "--workflow", "folder"]);
    assert!(said.code == Some(1) && said.err.contains("contains a link"), "{said:?}");
    assert_eq!(fs::read_dir(&config).unwrap().count(), count);
}

/// Our own commands write where no other may.
#[test]
fn a_step_can_be_a_command_of_ours() {
    let steps = "  - {id: keep, name: Keep, description: k, run: aops-hook checkpoint create}\n";
    let world = World::new(&[("keep", steps)]);
    world.run("keep").passed();
    assert!(world.person(&["checkpoint", "list"]).out.lines().count() > 1);
}

/// The client of a run is jailed without any installation, and a program that the user's settings name goes
/// on being called.
#[test]
fn a_step_of_the_real_client_cannot_change_the_tree_while_it_reviews() {
    let steps = "  - {id: look, name: Look, description: l, phase: review}\n  - {id: build, name: Build, description: b}\n";
    let line = "python3 -c \"open('effects','a').write('tried\\\\n'); print('ran')\"";
    let model = Model::new([bash(line), Turn::text("Looked."), bash(line), Turn::text("Built.")]);
    let world = World::real(&model, &[("steps", steps)]);
    let log = world.sandbox.tmp().join("log");
    let logger = world.sandbox.tmp().join("logger.sh");
    fs::write(&logger, format!("#!/bin/sh\necho called >> '{}'\nexec /bin/bash -c \"$1\"\n", log.display()))
        .unwrap();
    fs::set_permissions(&logger, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::create_dir_all(world.sandbox.config()).unwrap();
    let settings = serde_json::json!({"env": {"CLAUDE_CODE_SHELL_PREFIX": logger}});
    fs::write(world.sandbox.config().join("settings.json"), settings.to_string()).unwrap();
    world.run("steps").passed();
    assert_eq!(world.effects(), ["tried"], "the second time");
    let profiles: Vec<String> = world.session().entries().iter().filter_map(profile).collect();
    assert_eq!(profiles, ["trial", "work"]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "called\n", "what was thrown away is not in it");
}

fn profile(entry: &Value) -> Option<String> {
    entry["with"]["end"]["under"]["jailed"]["profile"].as_str().map(str::to_owned)
}
