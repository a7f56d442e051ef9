//! `docs/messages.md`: what a session can say, made from the templates and from the program itself.

mod source;

use crate::pages::read;
use aops_core::config::texts::ASSETS;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A template below `templates/`, who reads it, when, and what its placeholders stand for in the example.
struct Message {
    file: &'static str,
    reader: &'static str,
    when: &'static str,
}

const fn message(file: &'static str, reader: &'static str, when: &'static str) -> Message {
    Message { file, reader, when }
}

const AGENT: &str = "agent";
const PERSON: &str = "you";

const GROUPS: &[(&str, &[Message])] = &[
    (
        "Before the plan",
        &[
            message("refusals/sandbox", AGENT, "it changes something before the task has a plan"),
            message("refusals/outgrown", AGENT, "mode `loop`: a small task has become large"),
            message("refusals/sandbox-review", AGENT, "the plan has to be reviewed first"),
            message("refusals/sandbox-revise", AGENT, "the critic answered REVISE"),
            message(
                "refusals/sandbox-planning",
                AGENT,
                "it is in plan mode, and you have not approved the plan",
            ),
            message("refusals/sandbox-question", AGENT, "the plan says that the prompt is only a question"),
            message("refusals/sandbox-step", AGENT, "this step of an unattended run only reads"),
            message("refusals/sandbox-brought", AGENT, "a skill or an agent file brings hooks of its own"),
            message("refusals/agent-at-work", AGENT, "an agent of ours is still working"),
            message("refusals/agent-missing", AGENT, "the agent that it needs is not installed"),
            message("refusals/agent-shadowed", AGENT, "another file defines an agent of the same name"),
            message("refusals/agentless", AGENT, "the client cannot start agents at all"),
            message("refusals/agent-write", AGENT, "a reviewer tries to change something"),
        ],
    ),
    (
        "Dangerous commands and rules of your own",
        &[
            message("refusals/danger-ask", PERSON, "a dangerous command needs your approval"),
            message("refusals/danger", AGENT, "a dangerous command, and nobody is there to approve it"),
            message("refusals/danger-guard", AGENT, "a dangerous command that could also change the guard"),
            message("refusals/danger-keys", AGENT, "a command could show the signing keys"),
            message("refusals/rule-ask", PERSON, "your own rule says `ask`"),
            message("refusals/rule-warn", PERSON, "your own rule says `warn`"),
            message("refusals/rule", AGENT, "your own rule says `deny`"),
        ],
    ),
    (
        "Checks and audits",
        &[
            message("refusals/check-ask", PERSON, "your check failed, and its outcome is `ASK_USER`"),
            message("refusals/check-failed", AGENT, "a check has to pass before a commit, a save or a stop"),
            message("refusals/check-save", AGENT, "a check has to pass before a file is saved"),
            message("refusals/check-sandbox", AGENT, "a check has to pass before the first change"),
            message("refusals/check-late", AGENT, "a check did not finish in time"),
            message("refusals/check-halt", AGENT, "a check failed, and its outcome is `HALT`"),
            message("refusals/check-prompt", PERSON, "a check has to pass before a prompt is answered"),
            message("refusals/audit-due", AGENT, "a drawn audit is overdue"),
            message("refusals/halted", AGENT, "the task was halted"),
        ],
    ),
    (
        "At the end of a turn",
        &[
            message("refusals/stop-owed", AGENT, "the turn ends, and the task still owes something"),
            message("refusals/stop-let-go", PERSON, "the task was let go unfinished"),
            message("refusals/stop-unverified", PERSON, "the verifier found issues too often"),
            message("refusals/verdict-form", AGENT, "a reviewer's report has no valid verdict"),
            message("refusals/verdict-given-up", AGENT, "a reviewer never gave a valid verdict"),
        ],
    ),
    (
        "What a task can owe: the lines of that list",
        &[
            message("owed/plan", AGENT, "a plan that is not in force yet"),
            message("owed/checks", AGENT, "checks that fail"),
            message("owed/format", AGENT, "the formatter"),
            message("owed/evidence", AGENT, "a test that has to pass after the last change"),
            message("owed/custodiet", AGENT, "a drawn audit"),
            message("owed/qa-verifier", AGENT, "verification"),
            message("owed/qa-verifier-again", AGENT, "verification, after issues were found"),
            message(
                "owed/qa-verifier-outdated",
                AGENT,
                "verification, after a background command changed more",
            ),
            message("owed/framework", AGENT, "a reflection"),
            message("owed/pull", AGENT, "commits of others"),
            message("owed/commit", AGENT, "a commit"),
            message("owed/push", AGENT, "a push"),
            message("owed/sync", AGENT, "the tracker's own sync"),
            message("owed/tracker", AGENT, "issues that the task has in hand"),
            message("owed/step-agent", AGENT, "the verdict that a step of a run ends with"),
            message("owed/unasked", AGENT, "something that git could not be asked about"),
        ],
    ),
];

/// What each placeholder stands for in the examples.
const VALUES: &[(&str, &str)] = &[
    ("age", "12 s"),
    ("agent", "prompt-hydrator"),
    ("ahead", "2 commits are"),
    ("also", ""),
    ("at_the_end", "At the end the work is verified by `qa-verifier`, then committed."),
    ("call", "Write: src/lib.rs"),
    ("cause", "this task has no plan yet"),
    ("check", "lint"),
    ("checks", "`lint`"),
    ("close", "bd close ID"),
    ("command", "cargo test"),
    ("critic", "critic"),
    ("effect", "it edits a file"),
    ("ending", "exit 1"),
    ("fault", "there is no fence with the info string `aops`"),
    ("file", ".claude/agents/critic.md"),
    ("files", "`src/lib.rs`"),
    ("first", ""),
    ("form", "{\"verdict\": \"PROCEED\" | \"REVISE\" | \"HALT\", …}"),
    ("hand_back", "bd update ID --status open"),
    ("instead", "use `git push --force-with-lease`"),
    ("issues", "the greeting is missing"),
    ("moment", "commit"),
    ("name", "plan"),
    ("others", ""),
    ("output", "error: unused variable `x`"),
    ("owed", "`qa-verifier`, `commit`"),
    ("path", "src/lib.rs"),
    ("problems", "- the plan has no test"),
    ("reason", "overwrites the history of a remote"),
    ("refusals", "3"),
    ("round", "1"),
    ("rounds", "3"),
    ("rule", "git-force-push"),
    ("severity", "critical"),
    ("step", "review"),
    ("times", "3"),
    ("timeout_ms", "10000"),
    ("what", "git push --force"),
    ("why", "5 files, 140 lines: over both limits, 3 files and 60 lines"),
    ("workflow", "feature-dev"),
    ("writes", "6"),
];

/// Where the usual value of a placeholder would be wrong.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("owed/custodiet", "agent", "custodiet"),
    ("owed/framework", "agent", "framework"),
    ("owed/pull", "command", "git pull --rebase"),
    ("owed/pull", "why", "the upstream has 2 commits that are not here"),
    ("owed/push", "command", "git push"),
    ("owed/qa-verifier", "agent", "qa-verifier"),
    ("owed/qa-verifier-again", "agent", "qa-verifier"),
    ("owed/qa-verifier-outdated", "agent", "qa-verifier"),
    ("owed/step-agent", "agent", "critic"),
    ("owed/step-agent", "name", "critic"),
    ("owed/sync", "command", "mb sync"),
    ("owed/unasked", "name", "push"),
    ("owed/unasked", "why", "`git status` did not answer"),
    ("refusals/agent-missing", "agent", "critic"),
    ("refusals/agent-missing", "cause", "the plan needs a review"),
    ("refusals/agent-missing", "why", "no agent `critic` is installed"),
    ("refusals/agent-shadowed", "agent", "critic"),
    ("refusals/agent-write", "agent", "critic"),
    ("refusals/agentless", "why", "`--tools` leaves out `Agent`"),
    ("refusals/audit-due", "agent", "custodiet"),
    ("refusals/danger", "others", ""),
    ("refusals/danger-guard", "instead", "change the file in an editor"),
    ("refusals/danger-guard", "reason", "replaces a file that starts by itself"),
    ("refusals/danger-guard", "rule", "file-wipe"),
    ("refusals/danger-guard", "what", "cp hooks.json .claude/settings.json"),
    ("refusals/danger-keys", "rule", "secret-file"),
    ("refusals/danger-keys", "what", "cat ~/.claude/aops/keys/note.key"),
    ("refusals/halted", "reason", "the critic answered HALT: the request contradicts itself"),
    ("refusals/rule", "reason", "deployments are made by CI"),
    ("refusals/rule", "rule", "no-deploy"),
    ("refusals/outgrown", "may", "tested and committed"),
    ("refusals/rule-ask", "reason", "migrations change shared data"),
    ("refusals/rule-ask", "rule", "migrations"),
    ("refusals/rule-warn", "reason", "migrations change shared data"),
    ("refusals/rule-warn", "rule", "migrations"),
    ("refusals/sandbox-brought", "what", "skill `deploy` brings hooks"),
    ("refusals/sandbox-review", "agent", "critic"),
    ("refusals/stop-owed", "owed", "1. `qa-verifier`: start the agent `qa-verifier`; it verifies the work"),
    ("refusals/verdict-form", "agent", "critic"),
    ("refusals/verdict-given-up", "agent", "critic"),
];

fn value(file: &str, name: &str) -> Option<&'static str> {
    let exception =
        EXCEPTIONS.iter().find(|(of, known, _)| *of == file && *known == name).map(|(_, _, value)| *value);
    exception.or_else(|| VALUES.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
}

fn template(file: &str) -> &'static str {
    let path = format!("templates/{file}.md");
    ASSETS.iter().find(|asset| asset.path == path).unwrap_or_else(|| panic!("{path} is not shipped")).text
}

/// The text with an example in every placeholder.
fn example(file: &str) -> String {
    let mut parts = template(file).trim_end().split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) =
            part.split_once("}}").unwrap_or_else(|| panic!("{file}: a placeholder is not closed"));
        text += value(file, name).unwrap_or_else(|| panic!("{file}: `{name}` has no example in {}", file!()));
        text += rest;
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

const BEGINNING: &str = "\
# Messages

You saw a message of `aops-hook` and want to know what it means, or you want to read all that a session can say before you install
it: that takes a quarter of an hour. A message to the agent says what happened, why, and after `hint:` the next step; a message to you
says what to decide. The reasons of danger rules are in [danger](danger.md).

The first texts are files in `templates/`, each with an example. Put one of the same name into `templates/` in your configuration folder,
and yours is used instead ([configuration](configuration.md)).
";

fn page() -> String {
    let mut page = BEGINNING.to_owned();
    for (title, messages) in GROUPS {
        write!(page, "\n## {title}\n").unwrap();
        for Message { file, reader, when } in *messages {
            write!(page, "\n**{when}** (`{file}`, read by {reader})\n\n```text\n{}\n```\n", example(file))
                .unwrap();
        }
    }
    page + &source::page()
}

/// `INSTA_UPDATE=always cargo nextest run messages::` writes the page anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "how a person asks a test to write")]
fn the_page_is_what_the_templates_say() {
    if std::env::var("INSTA_UPDATE").is_ok_and(|asked| asked == "always") {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/messages.md"), page()).unwrap();
    }
    assert_eq!(
        read("docs/messages.md"),
        page(),
        "hint: run `INSTA_UPDATE=always cargo nextest run messages::`"
    );
}

/// At 270 words a minute. What `doctor` finds is a list to look something up in.
#[test]
fn what_a_session_says_can_be_read_in_a_quarter_of_an_hour() {
    let page = page();
    let read = page.split("\n## What `doctor` finds").next().unwrap();
    let words = read.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count();
    assert!(words < 15 * 270, "{words} words");
}

#[test]
fn every_template_of_a_gate_has_its_place() {
    let placed: Vec<_> =
        GROUPS.iter().flat_map(|(_, messages)| messages.iter().map(|message| message.file)).collect();
    for asset in ASSETS {
        let file = asset
            .path
            .strip_prefix("templates/")
            .and_then(|file| file.strip_suffix(".md"))
            .unwrap_or_default();
        if file.starts_with("refusals/") || file.starts_with("owed/") {
            assert_eq!(placed.iter().filter(|known| **known == file).count(), 1, "{file}");
        }
    }
    for (file, name, _) in EXCEPTIONS {
        assert!(template(file).contains(&format!("{{{{{name}}}}}")), "{file} has no `{name}`");
    }
}

/// The next step of a refusal that the agent reads, and a decision for the person in a dialog; never both.
#[test]
fn every_message_speaks_to_its_reader() {
    for Message { file, reader, .. } in GROUPS.iter().flat_map(|(_, messages)| *messages) {
        let text = template(file);
        let is_dialog = file.ends_with("-ask");
        if file.starts_with("refusals/") && !is_dialog {
            assert_eq!(text.matches("\nhint: ").count(), 1, "{file}: one next step");
        }
        if is_dialog {
            assert_eq!(*reader, PERSON, "{file}");
            assert!(!text.contains("hint:"), "{file}: a dialog is for a person");
        }
        for foreign in ["the sandbox", "is told", "is no ", " stands "] {
            assert!(!text.contains(foreign), "{file}: `{foreign}`");
        }
    }
}
