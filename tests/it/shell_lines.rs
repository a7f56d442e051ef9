//! Shell lines: everyday ones that pass, what a line did past its judgement, and generated ones that are run
//! in a scratch root to see whether a line that is judged to read changes anything.

mod generate;
mod scratch;

use crate::support::{BINARY, Sandbox, Session};
use aops_shell::class::{LineSetting, class};
use aops_shell::effect::Effect;
use aops_shell::syntax::{Ground, cut};
use serde_json::json;
use std::fs::{self, File};
use std::path::Path;

/// What the library says of a line; it is run in this very folder later.
fn effect(line: &str) -> Effect {
    let ground = Ground { cwd: "/home/u/proj", home: "/home/u", variables: &[] };
    let setting = LineSetting { ground, project: None, listed: &|_, _| None };
    class(&cut(line, &ground), &setting).effect
}

/// In thousandths, of everyday lines that pass; `docs/guarantees.md` says it.
const PASSING: usize = 990;

#[test]
fn everyday_lines_that_only_look_pass() {
    let corpus = include_str!("../fixtures/effect/everyday.txt");
    let lines: Vec<&str> = corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let refused: Vec<&&str> =
        lines.iter().filter(|line| effect(&line.replace('␤', "\n")).is_write()).collect();
    assert!(lines.len() >= 500, "{} lines", lines.len());
    let share = (lines.len() - refused.len()) * 1000 / lines.len();
    assert!(share >= PASSING, "{share} of 1000 pass; refused: {refused:#?}");
}

/// Our hooks, as an installation registers them.
fn armed() -> String {
    let hook = json!([{"hooks": [{"type": "command", "command": "/x/aops-hook", "args": ["PreToolUse"]}]}]);
    json!({"hooks": {"PreToolUse": hook}}).to_string()
}

fn reading<'a>(sandbox: &'a Sandbox, settings: &Path) -> Session<'a> {
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(settings, armed()).unwrap();
    let session = sandbox.session();
    let _ = session.start("startup");
    session
}

/// B02, B04: whatever a line that was judged to read did to the settings, it is noticed when the call ends.
#[test]
fn a_line_that_was_judged_to_read_and_did_not_is_noticed() {
    let sandbox = Sandbox::new();
    let settings = sandbox.config().join("settings.json");
    let session = reading(&sandbox, &settings);
    let call = session.call("Bash", json!({"command": "ls"}));
    session.pre(&call).silent();
    session.post(&call).silent();
    let call = session.call("Bash", json!({"command": "cat README.md"}));
    session.pre(&call).silent();
    fs::write(&settings, "{}").unwrap();
    session.post(&call).said(&["blocked", "settings.json"]);
    session.pre(&session.call("Bash", json!({"command": "ls"}))).refused(&["blocked"]);
}

/// Hooks may be registered by a link to the program; another program in its place would never ask.
#[test]
fn another_program_in_the_place_of_the_link_to_ours_is_noticed() {
    let sandbox = Sandbox::new();
    let link = sandbox.home().join(".local/bin/aops-hook");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(BINARY, &link).unwrap();
    let session = reading(&sandbox, &sandbox.config().join("settings.json"));
    let call = session.call("Bash", json!({"command": "ls"}));
    session.pre(&call).silent();
    fs::remove_file(&link).unwrap();
    fs::write(&link, "#!/bin/sh\nexit 0\n").unwrap();
    session.post(&call).said(&["aops-hook"]);
}

/// E07: an edit of the same length, with the time of the last change set back.
#[test]
fn an_edit_in_place_with_the_old_time_is_noticed() {
    let sandbox = Sandbox::new();
    let settings = sandbox.config().join("settings.json");
    let session = reading(&sandbox, &settings);
    let time = fs::metadata(&settings).unwrap().modified().unwrap();
    let call = session.call("Bash", json!({"command": "ls"}));
    session.pre(&call).silent();
    fs::write(&settings, armed().replace("aops-hook", "hook-aops")).unwrap();
    File::options().write(true).open(&settings).unwrap().set_modified(time).unwrap();
    session.post(&call).said(&["blocked", "settings.json"]);
}

/// Lines that read by our judgement, and of how many.
fn judged(seed: u64, count: usize) -> Vec<String> {
    let lines = generate::lines(seed, count);
    lines.into_iter().filter(|line| effect(line) == Effect::Read && !generate::lasts(line)).collect()
}

/// A sample; the long run is below.
#[test]
fn generated_lines_that_are_judged_to_read_change_nothing() {
    let lines = judged(1, 1_500);
    assert!(lines.len() > 150, "{} of them read", lines.len());
    if scratch::is_to_be_had() {
        let holes = scratch::run(&lines);
        assert!(
            holes.is_empty(),
            "{} of {} changed something:\n{}",
            holes.len(),
            lines.len(),
            holes.join("\n")
        );
    }
}

/// A line that changes something is told from one that does not.
#[test]
fn the_scratch_root_sees_what_a_line_changes() {
    let writing =
        ["touch pwned", "echo x >> README.md", "rm a.txt", "chmod 600 b.txt", "git tag x", "mkdir /home/u/x"];
    let reading = ["ls", "cat README.md", "git log", "false", "exit 3"];
    if scratch::is_to_be_had() {
        let lines: Vec<String> =
            reading.iter().zip(writing).flat_map(|(r, w)| [(*r).to_owned(), w.to_owned()]).collect();
        assert_eq!(scratch::run(&lines), writing[..5]);
    }
}

/// 200,000 lines; minutes to half an hour. `AOPS_LINES` and `AOPS_SEED` choose other ones.
#[test]
#[ignore = "long"]
fn two_hundred_thousand_generated_lines_change_nothing() {
    #[expect(clippy::disallowed_methods, reason = "other lines than the usual ones")]
    let number = |name: &str, usual: usize| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let (count, seed) = (number("AOPS_LINES", 200_000), number("AOPS_SEED", 2));
    assert!(scratch::is_to_be_had(), "no namespaces here");
    let (mut ran, mut holes) = (0, Vec::new());
    for part in 0..count.div_ceil(10_000) {
        let lines = judged((seed * 1_000_000 + part) as u64, 10_000.min(count));
        ran += lines.len();
        holes.extend(scratch::run(&lines));
    }
    assert!(
        holes.is_empty(),
        "{} of {count} read and were run, {} changed something:\n{}",
        ran,
        holes.len(),
        holes.join("\n")
    );
}
