//! The client's own rule syntax: what a rule of the person's stops in the real client is never answered by us.
//!
//! The client reads each rule by itself; ours is a second reader of the same words, and may be stricter alone.
//! Rules of one round are about programs of their own (two share `git`), so that one client says which lines
//! each of them meets.

use crate::client::Client;
use crate::jail::answered::{answering, decision};
use crate::model::{Model, ToolResult, Turn};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// Programs that only read, and what comes behind them, each with a file of its own.
const PROGRAMS: [&str; 20] = [
    "cat", "head -2", "tail -n 3", "wc -l", "ls -la", "grep -n x", "sort -u", "uniq -c", "cut -c1-3", "stat",
    "file", "du -sh", "git log --oneline --", "git diff --", "md5sum", "sha256sum", "nl", "tac", "rev",
    "od -c",
];

/// Rules about one command, in every form that the client's documents or its settings know.
const RULES: [&str; 10] = [
    "Bash({line})", "Bash({name}:*)", "Bash({name} *)", "Bash({name}*)", "Bash({first}:*)",
    "Bash({name} * {file})", "Bash(*{file})", "Bash(*{file}*)", "Bash({name} *{file})",
    "Bash( {name}  {rest} )",
];

const LINES: [&str; 16] = [
    "{line}",
    "{line} {line2}",
    "cd . && {line}",
    "{line} | head -1",
    "ls; {line}",
    "X=1 {line}",
    "timeout 5 {line}",
    "nice {line}",
    "bash -c '{line}'",
    "for i in 1; do {line}; done",
    "echo \"$({line})\"",
    "{name}  {rest}",
    "{name} {dir}'{file}'",
    "\\{line}",
    "if true; then {line}; fi",
    "{line} 2>&1",
];

/// One of the words that stand for themselves in a rule or line.
fn filled(form: &str, program: &str, n: usize) -> String {
    let file = format!("only{n}.txt");
    let line = format!("{program} {file}");
    let (name, rest) = line.split_once(' ').unwrap();
    let options = program.split_once(' ').map_or(String::new(), |(_, options)| format!("{options} "));
    let first = program.split(' ').take(2).collect::<Vec<_>>().join(" ");
    [
        ("{line2}", file.as_str()),
        ("{line}", &line),
        ("{name}", name),
        ("{rest}", rest),
        ("{dir}", &options),
        ("{first}", &first),
        ("{file}", &file),
    ]
    .iter()
    .fold(form.to_owned(), |text, (word, value)| text.replace(word, value))
}

/// Rules of one round: each program's by another form, in both lists.
fn rules_of(round: usize) -> Value {
    let (mut deny, mut ask) = (Vec::new(), Vec::new());
    for (n, program) in PROGRAMS.iter().enumerate() {
        let form = RULES[(round + n) % RULES.len()];
        let list = if (round + n).is_multiple_of(2) { &mut deny } else { &mut ask };
        list.push(filled(form, program, n));
    }
    json!({"deny": deny, "ask": ask})
}

/// Which of these lines the client lets run under the rules, where everything else is allowed. None of them
/// runs: what starts them does nothing.
fn passed_by_client(rules: &Value, lines: &[String]) -> Vec<bool> {
    let sandbox = Sandbox::new().with("CLAUDE_CODE_SHELL_PREFIX", "/bin/true");
    let mut permissions = rules.clone();
    permissions["allow"] = json!(["Bash"]);
    fs::create_dir_all(sandbox.config()).unwrap();
    fs::write(sandbox.config().join("settings.json"), json!({"permissions": permissions}).to_string())
        .unwrap();
    let together = |some: &[String]| {
        some.iter().fold(Turn::default(), |turn, line| turn.and("Bash", json!({"command": line})))
    };
    let turns = lines.chunks(16).map(together).chain([Turn::text("Done.")]);
    let model = Model::new(turns.collect::<Vec<_>>());
    Client::unguarded(&sandbox, &model).asking("go on").ended("Done.");
    let results = model.tool_results();
    assert_eq!(results.len(), lines.len(), "{results:#?}");
    // A call beside one that was refused may be called off; that says nothing of its line.
    let stopped = |result: &ToolResult| result.is_error && result.text.to_lowercase().contains("permission");
    results.iter().map(|result| !stopped(result)).collect()
}

/// Which of them we answer under the same rules, or under none.
fn answered_by_us(rules: &Value, lines: &[String]) -> Vec<bool> {
    let world = answering(crate::jail::answered::READING);
    for n in 0..PROGRAMS.len() {
        world.sandbox.put(&format!("only{n}.txt"), "x\n");
    }
    world.sandbox.put(".claude/settings.json", &json!({"permissions": rules}).to_string());
    let session = world.prompted();
    let answers = |line: &String| {
        let said = session.inner.ask_bash(line);
        let _ = session.inner.prompt("go on");
        decision(&said) == "allow"
    };
    lines.iter().map(answers).collect()
}

/// Every rule of these rounds meets every `stride`th form of a line.
fn never_laxer(rounds: std::ops::Range<usize>, stride: usize) {
    let mut counts = BTreeMap::<(&str, bool), usize>::new();
    for round in rounds {
        let rules = rules_of(round);
        let forms = || LINES.iter().enumerate().filter(|(at, _)| (at + round).is_multiple_of(stride));
        let of = |(n, program): (usize, &&str)| {
            forms().map(|(_, form)| filled(form, program, n)).collect::<Vec<_>>()
        };
        let lines: Vec<String> = PROGRAMS.iter().enumerate().flat_map(of).collect();
        let passed = passed_by_client(&rules, &lines);
        let answered = answered_by_us(&rules, &lines);
        let free = answered_by_us(&json!({}), &lines);
        for (line, ((passed, answered), free)) in lines.iter().zip(passed.iter().zip(&answered).zip(&free)) {
            assert!(*passed || !answered, "the client stops {line}, and we answer it: {rules:#}");
            *counts.entry(("the client passes", *passed)).or_default() += 1;
            *counts.entry(("answered", *answered)).or_default() += 1;
            *counts.entry(("answered without rules", *free)).or_default() += 1;
        }
    }
    let count = |name, is| counts.get(&(name, is)).copied().unwrap_or_default();
    let all = count("answered", true) + count("answered", false);
    assert!(count("answered without rules", true) > all / 2, "{counts:?}");
    assert!(count("the client passes", false) > all / 4, "{counts:?}");
}

#[test]
fn what_a_rule_stops_in_the_client_is_never_answered() {
    never_laxer(0..1, 5);
}

#[test]
#[ignore = "minutes: run `tests/long-run`"]
fn a_hundred_rules_stop_at_least_what_they_stop_in_the_client() {
    never_laxer(0..5, 2);
}

#[test]
#[ignore = "minutes: run `tests/long-run`"]
fn another_hundred_rules_do_so_too() {
    never_laxer(5..10, 2);
}
