//! `docs/fleet.md`: every command that it shows is run, and says what the page says; `…` is anything.

use super::attended::{Fleet, silent};
use std::fs;
use std::path::Path;

#[test]
fn the_pages_commands_work() {
    let fleet = Fleet::new(silent(), "true");
    let (_worker, world) = (fleet.worker(), &fleet.world);
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fleet.md")).unwrap();
    let workflow = page.split("```markdown\n").nth(1).unwrap().split("```").next().unwrap();
    world.sandbox.put(".aops/workflows/tidy.md", workflow);
    world.sandbox.put("README.md", "# A project  \n");
    world.commit();
    world.git(&["push", "-q"]);
    world.configure(&format!("[fleet]\nengine = \"http://127.0.0.1:{}\"\n", fleet.door().port));
    let keys = world.sandbox.config().join("aops/keys");
    fs::create_dir_all(&keys).unwrap();
    fs::write(keys.join("engine.token"), "annann\n").unwrap();
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut run = 0;
    for shown in blocks.flat_map(|block| block.split("$ ").skip(1)) {
        let (line, wanted) = shown.split_once('\n').unwrap();
        let line = line.strip_prefix("aops-hook ").unwrap();
        let said = world.sandbox.on_terminal(&format!("{line} --color=never"), "");
        assert_eq!(said.code, Some(0), "{line}: {said:?}");
        let parts = wanted.lines().flat_map(|line| line.split('…')).map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            assert!(said.out.contains(part), "{line}: no `{part}` in {}", said.out);
        }
        run += 1;
    }
    assert!(run > 2, "the commands were found");
    let there = world.git(&["ls-remote", "origin", "refs/heads/aops/*"]);
    assert_eq!(there.lines().count(), 1, "its branch is at the remote: {there}");
}
