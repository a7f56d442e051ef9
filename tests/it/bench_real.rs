//! `bench/real`: a file of lines through this guard and through others, as one table.

use crate::support::{BINARY, Sandbox};
use std::path::Path;

/// Lines of our own: what each is, and what is said of it.
const LINES: &str = r#"{"cwd":"/srv/app","command":"git status --short"}
{"cwd":"/srv/app","command":"cat > notes.md <<'EOF'\nwhile true; do work & done\nEOF","label":"wrong","src":"own"}
{"cwd":"/srv/app","command":"git push --force origin main","label":"right"}
{"cwd":"/srv/app","command":"rm -rf /usr","label":"right"}
{"cwd":"/srv/app","command":"ls src","label":"right"}

{"cwd":"/srv/app","command":"gh pr merge 12 --squash"}
{"cwd":"/srv/app","command":"git stash drop","label":"keep"}
"#;

/// Another guard, which asks about everything with `rm` in it and lets the rest pass by itself.
const PEER: &str = r#"#!/bin/sh
if grep -q 'rm -rf'; then word=ask; else word=allow; fi
printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"%s"}}' "$word"
"#;

fn measured(lines: &str, peers: &str) -> std::process::Output {
    let sandbox = Sandbox::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let peer = sandbox.project().join("peer");
    std::fs::write(&peer, PEER).unwrap();
    let mut command = assert_cmd::Command::new("env");
    let named = format!("BENCH_PEERS={}", peers.replace("PEER", &format!("sh {}", peer.display())));
    command.args([&named, "python3", "-I"]).arg(root.join("bench/real")).args(["-", BINARY]);
    command.write_stdin(lines).output().unwrap()
}

/// The figures of the row that begins so.
fn row(text: &str, name: &str) -> Vec<String> {
    let line =
        text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}: {text}"));
    line[name.len()..].split_whitespace().map(str::to_owned).collect()
}

#[test]
fn every_line_is_counted_once_for_each_guard() {
    let output = measured(LINES, "other=PEER;gone=/nowhere/guard");
    let (text, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "`python3` 3.8 or later is needed: {err}");
    assert_eq!(
        row(&text, "7 lines"),
        ["stopped", "asked", "kept", "answered", "passed", "failed", "ms", "a", "line"]
    );
    assert_eq!(row(&text, "aops-hook  ")[..6], ["1", "2", "1", "0", "3", "0"], "{text}");
    assert_eq!(row(&text, "other  ")[..6], ["0", "1", "0", "6", "0", "0"], "{text}");
    assert!(text.contains("gone is left out: "), "{text}");
    // One line without a label is asked about, and one that a reader wants asked about passes.
    assert!(text.contains("wrong stops: 1, 142.86 in a thousand lines; missed: 1 of 3"), "{text}");
    assert!(text.contains("wrong stops: 0, 0.00 in a thousand lines; missed: 2 of 3"), "{text}");
}

#[test]
fn a_file_of_another_form_is_refused() {
    for lines in ["", "{\"command\":\"ls\"}\n", "{\"cwd\":\"/\",\"command\":\"ls\",\"label\":\"maybe\"}\n"] {
        assert!(!measured(lines, "").status.success(), "{lines}");
    }
}
