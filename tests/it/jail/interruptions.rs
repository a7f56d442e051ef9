//! How often a person is interrupted: by the client's own dialogs, which the real client opens or not, and by
//! our questions.
//!
//! `AOPS_REAL_LINES` names a file of real lines in the form of `bench/real`, for the figures in the docs; the
//! table is printed. `TMPDIR` must lie outside of `/tmp` then, or every path counts as temporary.

use super::world::Jailed;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// What agents run most: looking around, builds and tests, work with git, a little of the rest.
const LINES: [&str; 30] = [
    "cd . && git log --oneline -5",
    "git -C . status --short",
    "for f in *.txt; do wc -l $f; done",
    "echo \"$(git rev-parse --abbrev-ref HEAD)\"",
    "cat a.txt | awk '{print $1}' | sort | uniq -c",
    "find . -name '*.txt' | xargs wc -l",
    "sed -n '1,20p' a.txt && tail -3 a.txt",
    "ls -la",
    "git diff --stat",
    "grep -rn one .",
    "head -20 a.txt; echo ---; git show --stat",
    "make test",
    "make build 2>&1 | tail -20",
    "npm test",
    "npx tsc --noEmit",
    "python3 -m pytest -q",
    "python3 build.py",
    "cargo test --workspace 2>&1 | tail -30",
    "go build ./...",
    "./run.sh --fast",
    "node scripts/check.js && echo ok",
    "mkdir -p out && cp a.txt out/",
    "touch made.txt",
    "git add -A && git commit -m 'a change'",
    "git checkout -- a.txt",
    "git reset --hard",
    "rm -rf out",
    "git push",
    "npm install left-pad",
    "curl -s https://example.invalid",
];

/// The rules by which something is kept instead of asked about.
const KEPT: &str = "danger.git-discard = \"ask\"\ndanger.git-drop-stash = \"ask\"\ndanger.git-delete-branch = \"ask\"\n\
    danger.git-remove-worktree = \"ask\"\ndanger.git-clean = \"ask\"\ndanger.rm-project = \"ask\"\n\
    danger.rm-source = \"ask\"\ndanger.rm-outside = \"ask\"\ndanger.find-delete = \"ask\"\ndanger.file-wipe = \"ask\"\n";

/// A project as it is in the middle of some work.
fn fill(sandbox: &Sandbox) {
    sandbox.put("a.txt", "one\n");
    sandbox.git(&["init", "-q"]);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", "x"]);
    sandbox.put("a.txt", "two\n");
    sandbox.put("build.py", "print('built')\n");
}

/// The lines, each with its folders renamed to those of this sandbox.
pub(super) fn lines_in(sandbox: &Sandbox, lines: &[(String, String)]) -> Vec<String> {
    let (project, home) = (sandbox.project().display().to_string(), sandbox.home().display().to_string());
    let renamed = |(cwd, command): &(String, String)| {
        let command = if cwd.is_empty() { command.clone() } else { command.replace(cwd, &project) };
        command.replace("/mnt/c/Users/dev", &home).replace("/home/dev", &home)
    };
    lines.iter().map(renamed).collect()
}

#[expect(clippy::disallowed_methods, reason = "whoever runs the test chooses the lines")]
fn real_lines() -> Option<OsString> {
    std::env::var_os("AOPS_REAL_LINES")
}

pub(super) fn lines() -> Vec<(String, String)> {
    let Some(path) = real_lines() else {
        return LINES.map(|line| (String::new(), line.to_owned())).into();
    };
    let mut text = String::new();
    fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
    let of = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["cwd"].as_str().unwrap().to_owned(), line["command"].as_str().unwrap().to_owned())
    };
    let all: Vec<(String, String)> = text.lines().map(of).collect();
    // A session in a subfolder is one in its project: the highest folder that some session was in.
    let root = |cwd: &str| {
        let above =
            all.iter().map(|(other, _)| other.as_str()).filter(|other| Path::new(cwd).starts_with(other));
        above.min_by_key(|other| other.len()).unwrap_or(cwd).to_owned()
    };
    all.iter().map(|(cwd, command)| (root(cwd), command.clone())).collect()
}

/// Which of these lines the client asks a person about, without us. No line runs: what starts them does
/// nothing.
fn asked_by_client(lines: &[(String, String)]) -> Vec<bool> {
    let mut asked = Vec::new();
    for lines in lines.chunks(120) {
        let sandbox = Sandbox::new().with("CLAUDE_CODE_SHELL_PREFIX", "/bin/true");
        fill(&sandbox);
        let log = sandbox.tmp().join("asked");
        let no = r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}"#;
        let script = format!("cat >> '{}'; echo >> '{}'; echo '{no}'", log.display(), log.display());
        let hook = json!([{"hooks": [{"type": "command", "command": "/bin/sh", "args": ["-c", script], "timeout": 60}]}]);
        fs::create_dir_all(sandbox.config()).unwrap();
        fs::write(
            sandbox.config().join("settings.json"),
            json!({"hooks": {"PermissionRequest": hook}}).to_string(),
        )
        .unwrap();
        let here = lines_in(&sandbox, lines);
        let together = |some: &[String]| {
            some.iter().fold(Turn::default(), |turn, line| turn.and("Bash", json!({"command": line})))
        };
        let model =
            Model::new(here.chunks(20).map(together).chain([Turn::text("Done.")]).collect::<Vec<_>>());
        Client::unguarded(&sandbox, &model).asking("go on").ended("Done.");
        let text = fs::read_to_string(&log).unwrap_or_default();
        let seen: HashSet<String> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|event| Some(event["tool_input"]["command"].as_str()?.to_owned()))
            .collect();
        asked.extend(here.iter().map(|line| seen.contains(line)));
    }
    asked
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Allow,
    Ask,
    Deny,
    Nothing,
}

/// What we say to each line. A prompt between them takes back what was not run.
fn said_by_us(configuration: &str, lines: &[(String, String)]) -> Vec<Said> {
    let mut said = Vec::new();
    for lines in lines.chunks(200) {
        let world = Jailed::attended(configuration);
        fill(&world.sandbox);
        let session = world.prompted();
        for line in lines_in(&world.sandbox, lines) {
            let answer = session.inner.pre(&session.inner.call("Bash", json!({"command": line})));
            let answer: Value = serde_json::from_str(&answer.out).unwrap_or_default();
            said.push(match answer["hookSpecificOutput"]["permissionDecision"].as_str() {
                Some("allow") => Said::Allow,
                Some("ask") => Said::Ask,
                Some("deny") => Said::Deny,
                _ => Said::Nothing,
            });
            let _ = session.inner.prompt("go on");
        }
    }
    said
}

/// A silent pass leaves the client's own dialog; an answer opens none; our question is one.
fn interrupts(asked: bool, said: Said) -> bool {
    said == Said::Ask || said == Said::Nothing && asked
}

#[test]
fn people_are_asked_at_most_half_as_often_as_without_us() {
    let lines = lines();
    let asked = asked_by_client(&lines);
    let plain = asked.iter().filter(|asked| **asked).count();
    let guard = "tracker.command = \"none\"\nmode.level = \"guard\"\n";
    let mut rows = vec![("without us", plain, 0)];
    for (name, configuration) in [
        ("everything off", format!("{guard}{KEPT}")),
        ("keep", guard.to_owned()),
        ("keep, reading", format!("{guard}[quiet]\nallow = \"reading\"\n")),
        ("keep, contained", format!("{guard}[quiet]\nallow = \"contained\"\n")),
        ("the same with gh", format!("{guard}[quiet]\nallow = \"contained\"\nnetwork = [\"gh\"]\n")),
    ] {
        let said = said_by_us(&configuration, &lines);
        let refused = said.iter().filter(|said| **said == Said::Deny).count();
        let left = || {
            lines.iter().zip(asked.iter().zip(&said)).filter(|(_, (asked, said))| interrupts(**asked, **said))
        };
        rows.push((name, left().count(), refused));
        if real_lines().is_some() && name == "keep, contained" {
            left().for_each(|((_, line), _)| println!("left: {line:?}"));
        }
    }
    println!("of {} lines: interruptions, refused", lines.len());
    for (name, count, refused) in &rows {
        println!("{name:16} {count:5} {refused:5}");
    }
    assert!(real_lines().is_some() || rows.iter().all(|(_, _, refused)| *refused == 0), "{rows:?}");
    assert!(rows[2].1 <= rows[1].1 && rows[3].1 < rows[2].1 && rows[4].1 < rows[3].1, "{rows:?}");
    assert!(2 * rows[4].1 <= plain, "{rows:?}");
}
