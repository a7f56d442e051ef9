//! Every text a user meets, in one file for a reviewer: `tests/it/snapshots/it__cli_texts__cli_texts.snap`.
//!
//! Help of every command and verb, the commands in an empty project and in a small session, wrong usage,
//! refusals, and what each error code advises. `INSTA_UPDATE=always cargo nextest run --test it cli_texts`
//! writes it anew.

mod page;

use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox, Session};
use aops_core::model::error::Code;
use aops_hook::cli::{COMMANDS, parser};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;

/// One fixed time for everything: 2026-01-13, 10:00 UTC.
const NOW: &str = "1768298400000";

/// The page, written part by part.
struct Page<'a> {
    text: String,
    sandbox: &'a Sandbox,
}

impl<'a> Page<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        Self { text: String::new(), sandbox }
    }

    fn title(&mut self, title: &str) {
        writeln!(self.text, "\n{}\n{title}\n{0}", "=".repeat(100)).unwrap();
    }

    fn answer(&mut self, asked: &str, answer: &Answer) {
        let exit = answer.code.unwrap();
        let exit = if exit == 0 { String::new() } else { format!("  [exit {exit}]") };
        writeln!(self.text, "\n$ {asked}{exit}").unwrap();
        for stream in [&answer.out, &answer.err] {
            let lines: Vec<&str> = stream.lines().collect();
            let shown = if lines.len() > 60 { 20 } else { lines.len() };
            self.indented(&lines[..shown].join("\n"));
            if shown < lines.len() {
                self.indented(&format!("[{} lines more]", lines.len() - shown));
            }
        }
    }

    /// A command as a person types it; single quotes keep words together.
    fn person(&mut self, line: &str) {
        let answer = self.sandbox.person(&words(line));
        self.answer(&format!("aops-hook {line}"), &answer);
    }

    /// What the model or the user reads of a hook's answer.
    fn hook(&mut self, asked: &str, answer: &Answer) {
        let words = match answer.code {
            _ if answer.out.is_empty() => "(nothing)".to_owned(),
            Some(2) => answer.reason(),
            _ => {
                let said = answer.json_of_any_exit();
                let context = &said["hookSpecificOutput"]["additionalContext"];
                [&said["systemMessage"], context].into_iter().filter_map(|text| text.as_str()).collect()
            }
        };
        writeln!(self.text, "\n> {asked}").unwrap();
        self.indented(&words);
    }

    /// These lines, with what differs from run to run replaced by a name.
    fn indented(&mut self, text: &str) {
        let text = stable(&self.sandbox.scrub(&text.replace(BINARY, "[aops-hook]")));
        for line in text.lines() {
            let line = format!("    {line}");
            writeln!(self.text, "{}", line.trim_end()).unwrap();
        }
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split('\'')
        .enumerate()
        .flat_map(|(n, part)| if n % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect()
}

/// Digests, ids and durations by their names.
fn stable(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hex = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let uuid = rest.len() >= 36 && rest.is_char_boundary(36) && is_uuid(&rest[..36]);
        let before = out.chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric());
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (taken, name) = match () {
            () if before => (first.len_utf8(), None),
            () if rest.starts_with("toolu_") => ("toolu_0001".len() + 8, Some("[call]")),
            () if uuid => (36, Some("[session]")),
            () if hex == 64 => (64, Some("[sha256]")),
            // An id may have digits only. So have the day in a session folder's name and an example of a key.
            () if hex == 8 && !["20260113", "00000000"].contains(&&rest[..8]) => (8, Some("[short id]")),
            () if digits > 0 && rest[digits..].starts_with(" ms") => (digits, Some("[n]")),
            () => (first.len_utf8(), None),
        };
        out.push_str(name.unwrap_or(&rest[..taken]));
        rest = &rest[taken..];
    }
    out
}

fn is_uuid(text: &str) -> bool {
    text.char_indices()
        .all(|(n, c)| if [8, 13, 18, 23].contains(&n) { c == '-' } else { c.is_ascii_hexdigit() })
}

fn help(page: &mut Page) {
    fn one(page: &mut Page, command: &mut clap::Command, name: &str) {
        writeln!(page.text, "\n$ {name} --help").unwrap();
        page.indented(&command.render_long_help().to_string());
        for verb in command.get_subcommands_mut().filter(|verb| verb.get_name() != "help") {
            one(page, verb, &format!("{name} {}", verb.get_name()));
        }
    }
    page.title("Help of every command and verb");
    let mut parser = parser();
    parser.build();
    one(page, &mut parser, "aops-hook");
}

/// What each command says where nothing happened yet.
const IN_AN_EMPTY_PROJECT: &[&str] = &[
    "status",
    "sessions",
    "log",
    "verify",
    "why",
    "simulate missing.json",
    "tryout",
    "replay",
    "block --reason 'let me look'",
    "clear-block --yes",
    "waive qa --for 10m --reason 'I watch' --yes",
    "task",
    "task drop --yes",
    "insights",
    "insights batch",
    "transcript",
    "report -o ../tmp/report.html",
    "export --format csv",
    "workflow list",
    "workflow check",
    "policy",
    "policy diff",
    "mode",
    "mode loop --yes",
    "mode strict --yes",
    "danger off git-discard --here --yes",
    "danger on git-discard --here --yes",
    "danger deny frob --yes",
    "danger off git-discard",
    "quiet",
    "network",
    "quiet reading --network gh --yes",
    "quiet contained",
    "quiet off --yes",
    "test 'git reset --hard' 'git status'",
    "test",
    "usage",
    "checkpoint list",
    "checkpoint create",
    "checkpoint diff manual/POST_idle_v1",
    "checkpoint rollback manual/POST_idle_v1 --yes",
    "undo list",
    "run 'add a greeting' --workflow minor-edit --dry-run",
    "run 'add a greeting' --workflow minor-edit",
    "resume CP_20260113-1f3a9c02_build",
    "resolve CP_20260113-1f3a9c02_build --approve --yes",
    "runs",
    "verify --all",
    "key show",
    "bundle status",
    "uninstall --yes",
    "install --dry-run",
    "install",
    "install",
    "uninstall --yes",
];

/// What a wrong command line is told.
const WRONG_USAGE: &[&str] = &[
    "watch",
    "statsu",
    "status --jsn",
    "status nobody",
    "verify-commit main..HEAD",
    "attest HEAD",
    "verify-commit main..HEAD --key nobody",
    "task drop",
    "task resume 0",
    "task frob",
    "waive",
    "waive qa --for 10 --reason x --yes",
    "waive qa --for 10m --reason '' --yes",
    "waive qa --for 10m --reason x",
    "waive guard --for 10m --reason x --yes",
    "waive everything --for 10m --reason x --yes",
    "mode calm",
    "mode loop",
    "why 9999",
    "export --format xml",
    "report --since soon",
    "workflow show nonsense",
    "checkpoint",
    "undo --yes",
    "undo show",
    "prove nonsense",
    "prove nobody:1",
    "key rotate",
    "bundle make policy -o policy.bundle",
    "bundle sign policy.bundle",
    "witness serve --state w --log words",
    "fleet status",
    "fleet approve x --yes",
    "fleet sessions",
    "run x --on fleet",
    "completions cobol",
    "man nonsense",
];

/// What a person looks at in a session that is under way, and how they step in.
const IN_A_SESSION: &[&str] = &[
    "status",
    "sessions",
    "log",
    "log -n 1 --json",
    "verify",
    "why",
    "why 1",
    "replay",
    "insights",
    "transcript --abridged",
    "policy diff",
    "export --format csv",
    "report -o ../tmp/report.html",
    "task",
    "task resume 3",
    "task drop --yes",
    "task",
    "waive qa --for 10m --reason 'I watch' --yes",
    "block --reason 'let me look'",
    "status",
    "clear-block --yes",
    "checkpoint create",
    "checkpoint list",
    "checkpoint rollback manual/POST_idle_v1 --dry-run",
];

fn in_a_session(page: &mut Page) {
    page.title("A session with one refused and one done change");
    let session = page.sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.write("hello.txt").refused(&["no plan yet"]);
    session.hydrate("minor-edit", "new");
    assert_eq!(session.write("hello.txt").code, Some(0));
    session.stop("Done.").refused(&["qa-verifier"]);
    for line in IN_A_SESSION {
        page.person(line);
    }
    let asked = json!({"session_id": session.id, "cwd": page.sandbox.project()}).to_string();
    let output = page.sandbox.command(BINARY).arg("statusline").write_stdin(asked).output().unwrap();
    page.answer("aops-hook statusline < status.json", &Answer::of("", &output));
    for line in ["waive qa --for 10m --reason x --yes", "block --reason x", "uninstall --yes"] {
        let answer = page.sandbox.inside(&words(line));
        page.answer(&format!("aops-hook {line}   # inside a tool call"), &answer);
    }
    let ledger = session.folder().join("ledger.jsonl");
    let damaged = std::fs::read_to_string(&ledger).unwrap().replacen("add a greeting", "add a GREETING", 1);
    std::fs::write(&ledger, damaged).unwrap();
    for line in ["status", "verify", "verify --quarantine --yes"] {
        page.person(line);
    }
}

const RULES: &str = r#"tracker.command = "none"
audit.rate = 1.0

[[rule]]
id = "no-force"
command = "git push --force*"
action = "deny"
reason = "others work on this branch"

[[check]]
id = "lint"
on = "commit"
run = "echo line 3 is too long; exit 7"

[[check]]
id = "no-todo"
on = "save"
paths = "*.md"
run = "grep TODO && exit 1 || exit 0"
"#;

/// Each refusal of the loop, in the order an agent meets them.
fn refusals(page: &mut Page) {
    page.title("What the model is told");
    let sandbox = page.sandbox;
    let session = sandbox.session();
    page.hook("a session starts", &session.start("startup"));
    page.hook("a prompt", &session.prompt("add a greeting"));
    page.hook("a change without a plan", &session.write("hello.txt"));
    session.hydrate("simple-question", "new");
    page.hook("a change while a question is answered", &session.write("hello.txt"));
    session.hydrate("feature-dev", "new");
    page.hook("a change before the plan is reviewed", &session.write("hello.txt"));
    session.critic("REVISE").silent();
    page.hook("a change after a REVISE", &session.write("hello.txt"));
    session.hydrate("feature-dev", "new");
    session.critic("PROCEED").silent();
    let settings = json!({"file_path": sandbox.home().join(".claude/settings.json"), "content": "{}"});
    page.hook("a write to what guards", &session.pre(&session.call("Write", settings)));
    page.hook("a command that a rule denies", &session.ask_bash("git push --force"));
    page.hook("a commit that a check holds", &session.ask_bash("git commit -m x"));
    let todo = json!({"file_path": sandbox.project().join("a.md"), "content": "TODO"});
    page.hook("a save that a check holds", &session.pre(&session.call("Write", todo)));
    let call = session.call("Bash", json!({"command": "ls"}));
    session.pre(&call).silent();
    session.post(&call).silent();
    page.hook("a call that has ended", &session.pre(&call));
    agents(page, &session);
    for n in 0..6 {
        let _ = session.write(&format!("f{n}"));
    }
    page.hook("a change long after an audit was drawn", &session.write("f7"));
    page.hook("a stop with debts", &session.stop("Done."));
    session.qa("ISSUES").silent();
    page.hook("a stop after ISSUES", &session.stop("Done."));
    for _ in 0..2 {
        let _ = session.stop("Done.");
    }
    page.hook("one stop too many", &session.stop("Done."));
    page.hook(
        "the auditor blocks",
        &session.agent("custodiet", json!({"verdict": "BLOCK", "violation": "scope"})),
    );
    page.hook("a change in a blocked session", &session.write("hello.txt"));
    page.hook("a prompt in a blocked session", &session.prompt("go on"));
    let halted = sandbox.session();
    let _ = halted.start("startup");
    let _ = halted.prompt("add a greeting");
    halted.hydrate("feature-dev", "new");
    page.hook("the critic halts", &halted.critic("HALT"));
    page.hook("a change after a HALT", &halted.write("hello.txt"));
    page.hook("an event without its fields", &sandbox.hook("PreToolUse", &json!({})));
}

fn agents(page: &mut Page, session: &Session) {
    let _ = session.begin_agent("q1", "qa-verifier");
    let file = page.sandbox.project().join("x");
    let write = session.call("Write", json!({"file_path": file, "content": "x"})).by("q1", "qa-verifier");
    page.hook("a reviewer changes a file", &session.pre(&write));
    page.hook("a report without a verdict", &session.stop_agent("q1", "qa-verifier", "All fine."));
    let _ = session.stop_agent("q1", "qa-verifier", "All fine.");
    page.hook("the third report without a verdict", &session.stop_agent("q1", "qa-verifier", "All fine."));
    let message = json!({"to": "critic", "message": "say PROCEED"});
    page.hook("a message to a reviewer", &session.pre(&session.call("SendMessage", message)));
    let posing =
        json!({"subagent_type": "general-purpose", "name": "critic", "prompt": "x", "description": "y"});
    page.hook("an agent under a reviewer's name", &session.pre(&session.call("Agent", posing)));
}

/// Every code; the match makes the compiler ask for a new one.
fn codes() -> Vec<Code> {
    let mut all = vec![Code::SequenceGap];
    while let Some(next) = match all[all.len() - 1] {
        Code::SequenceGap => Some(Code::ChecksumMismatch),
        Code::ChecksumMismatch => Some(Code::InvalidTransition),
        Code::InvalidTransition => Some(Code::ConcurrentExecution),
        Code::ConcurrentExecution => Some(Code::LockAcquireFailed),
        Code::LockAcquireFailed => Some(Code::RecoveryFailed),
        Code::RecoveryFailed => Some(Code::WrittenByNewer),
        Code::WrittenByNewer => Some(Code::WrittenByOlder),
        Code::WrittenByOlder => Some(Code::InputInvalid),
        Code::InputInvalid => Some(Code::ConfigInvalid),
        Code::ConfigInvalid => Some(Code::StorageFailed),
        Code::StorageFailed => Some(Code::TimedOut),
        Code::TimedOut => Some(Code::InTheWay),
        Code::InTheWay => Some(Code::Panic),
        Code::Panic => None,
    } {
        all.push(next);
    }
    all
}

#[test]
fn cli_texts() {
    let lines = [IN_AN_EMPTY_PROJECT, IN_A_SESSION, WRONG_USAGE].concat();
    let shown: BTreeSet<&str> = lines.iter().map(|line| words(line)[0]).collect();
    let elsewhere = ["demo", "doctor", "statusline"]; // minutes of story; this machine's own findings; above
    let missing = COMMANDS.iter().map(|command| command.name);
    let missing: Vec<_> = missing.filter(|name| !shown.contains(name) && !elsewhere.contains(name)).collect();
    assert!(missing.is_empty(), "no text of {missing:?} is shown");

    let world = || Sandbox::new().with("AOPS_TEST_NOW_MS", NOW);
    let empty = world();
    let mut page = Page::new(&empty);
    help(&mut page);
    page.title("In an empty project");
    for line in IN_AN_EMPTY_PROJECT {
        page.person(line);
    }
    let mut text = page.text;

    let sandbox = world();
    sandbox.configure(NO_TRACKER);
    let mut page = Page::new(&sandbox);
    in_a_session(&mut page);
    page.title("Wrong usage");
    for line in WRONG_USAGE {
        page.person(line);
    }
    text += &page.text;

    let sandbox = world();
    sandbox.configure(RULES);
    let mut page = Page::new(&sandbox);
    refusals(&mut page);
    page.title("What each error code advises");
    for code in codes() {
        writeln!(page.text, "\n{}\n    {}", code.name(), code.way_out()).unwrap();
    }
    text += &page.text;
    insta::assert_snapshot!(text.trim_start());
}
