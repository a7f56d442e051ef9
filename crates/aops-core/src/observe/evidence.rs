//! Whether a shell line runs the command of `evidence.test`, so that its success is evidence; and whether a
//! verifier's own tests support its verdict.
//!
//! Reads the call, and for a VERIFIED the end of the ledger. Invariants: the line succeeds only if the
//! command does (`cargo test || true`, `cargo test | tail` and a background command do not count); the
//! command is run, not merely named (`echo cargo test`).

use crate::gate::Evidence;
use crate::ledger::open::{Ledger, Recent};
use crate::model::agent::AgentId;
use crate::model::call::{CallState, ToolCall};
use crate::model::event::{Event, EventKind};
use crate::model::outcome::AgentVerdict;
use crate::session::agent_report::AgentReport;
use crate::session::fact::{Fact, NO_EFFECT, Step};
use crate::text::json::{self, Json};
use crate::text::template::one_line;
use crate::tool::targets::Targets;
use aops_shell::leftovers::only_checks;
use aops_shell::syntax::Word;

/// `roots`: the folders that the session works on; a test that passes elsewhere proves nothing about them.
pub(super) fn of(test: &str, call: &ToolCall, reach: &Targets, roots: &[&str]) -> Evidence {
    let input = json::read(&call.input).ok().filter(|_| call.key.tool == "Bash");
    let Some(input) = input else { return Evidence::Other };
    let background = matches!(input.get("run_in_background"), Some(Json::Bool(true)));
    let line = input.text_of("command").unwrap_or_default();
    let line = line.trim();
    let test = test.trim();
    if background || test.is_empty() {
        return Evidence::Other;
    }
    if line == test {
        return Evidence::Is;
    }
    let decides =
        line.match_indices(test).any(|(at, _)| leads(&line[..at]) && follows(&line[at + test.len()..]));
    if decides && is_run(test, reach, roots) { Evidence::Contains } else { Evidence::Other }
}

/// Start of the reason why a VERIFIED does not count.
pub const FAILED_LAST: &str = "VERIFIED does not count, since the last test that you ran failed";

/// The verifier's report, unless it says VERIFIED although its own last test or check failed.
pub(super) fn borne_out(ledger: &Ledger, event: &Event, report: AgentReport) -> Result<AgentReport, String> {
    let verifies = event.by_our_agent().is_some_and(|agent| agent.id == AgentId::QaVerifier);
    let agent_id = event.agent_id.as_deref().filter(|_| verifies && report.says(AgentVerdict::Verified));
    match agent_id.and_then(|id| failed_last(&ledger.recent(), id)) {
        Some(line) => {
            let line = one_line(&line, 120).replace('`', "'");
            Err(format!("{FAILED_LAST}: `{line}`; run it again and see it pass, or report ISSUES"))
        }
        None => Ok(report),
    }
}

/// The last failed test or check of this agent, if none passed after it. One that nobody permitted did not
/// run.
fn failed_last(recent: &[Recent], agent_id: &str) -> Option<String> {
    let mut asked = Vec::new();
    let mut failed = None;
    // Permission was asked for, or refused, since its last call began.
    let mut permission = false;
    for entry in recent {
        let step = match &entry.fact {
            Fact::Call(step) if step.agent_id.as_deref() == Some(agent_id) => step,
            Fact::Event(seen) if seen.agent_id.as_deref() == Some(agent_id) => {
                let kinds = [EventKind::PermissionRequest, EventKind::PermissionDenied];
                permission |= kinds.contains(&seen.kind());
                continue;
            }
            _ => continue,
        };
        permission &= step.to != CallState::Pending;
        if let Some(line) = check_of(step) {
            asked.push((&step.call, line));
        }
        let line = asked.iter().find(|(call, _)| *call == &step.call).map(|(_, line)| line.clone());
        let ran = !permission || step.reason.as_deref() != Some(NO_EFFECT);
        match (step.to, line) {
            (CallState::Failed, Some(line)) if ran => failed = Some(line),
            (CallState::Completed, Some(_)) => failed = None,
            _ => {}
        }
    }
    failed
}

/// The command line, if the call only tests or checks. `test -f x` only asks a question, so it is not a test.
fn check_of(step: &Step) -> Option<String> {
    let input = step.input().filter(|_| step.call.tool == "Bash")?;
    let line = json::read(input.get()).ok()?.text_of("command")?;
    (only_checks(&line) && !line.trim_start().starts_with("test ")).then_some(line)
}

/// The last push since the prompt failed, or its output says that the remote rejected it.
pub(super) fn is_push_failed(recent: &[Recent]) -> bool {
    let mut pushes = Vec::new();
    let mut failed = false;
    for entry in recent {
        match &entry.fact {
            Fact::Event(seen) if seen.kind() == EventKind::UserPromptSubmit => failed = false,
            Fact::Call(step) if step.to == CallState::Pending && is_push(step) => pushes.push(&step.call),
            Fact::Call(step) if pushes.contains(&&step.call) => {
                let said = step
                    .ended()
                    .result
                    .as_ref()
                    .is_some_and(|result| result.lines().contains("failed to push"));
                match step.to {
                    CallState::Failed => failed = true,
                    CallState::Completed => failed = said,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    failed
}

fn is_push(step: &Step) -> bool {
    let line = step.input().and_then(|input| json::read(input.get()).ok()?.text_of("command"));
    line.is_some_and(|line| line.contains("git ") && line.split_whitespace().any(|word| word == "push"))
}

/// The output of a push says that the remote has commits which we do not have.
pub(super) fn is_rejected(call: &ToolCall) -> bool {
    let result = call.result.iter().flat_map(|result| [result.head.as_str(), &result.tail]);
    let mut texts = result.chain([call.error.as_str()]).filter(|_| call.key.tool == "Bash");
    texts.any(|text| {
        text.contains("[rejected]") && (text.contains("fetch first") || text.contains("non-fast-forward"))
    })
}

/// Whether this may precede the command: other commands, variables, a program that passes on its exit code
/// (`timeout -k 5 2m`), but no alternative branch.
fn leads(before: &str) -> bool {
    let own = before.rsplit(['&', ';', '\n']).next().unwrap_or_default();
    // Only options with which they still run the command: `timeout --version cargo test` does not.
    let wraps = |word: &str| matches!(word, "env" | "time" | "nice" | "timeout" | "-k" | "-n" | "-p");
    let sets = |word: &str| {
        word.contains('=') && !word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit())
    };
    // With another `PATH` or an injected library the same words may run another program.
    let chooses = |word: &str| {
        let name = word.split('=').next().unwrap_or_default();
        let known =
            ["PATH", "BASH_ENV", "ENV", "MAKEFLAGS", "NODE_OPTIONS", "PYTEST_ADDOPTS"].contains(&name);
        word.contains('=')
            && (known || ["LD_", "DYLD_", "CARGO_ALIAS_"].iter().any(|begin| name.starts_with(begin)))
    };
    let apart = own.is_empty() || own.starts_with(char::is_whitespace) || own.len() == before.len();
    apart
        && !before.split_whitespace().any(chooses)
        && own.split_whitespace().all(|word| wraps(word) || sets(word))
        && !before.contains("||")
        && !before.ends_with(|c: char| c.is_alphanumeric())
}

/// Arguments with which a test succeeds without testing anything.
const ASKS: [&str; 13] = [
    "--co", "--collect-only", "--dry-run", "--dryrun", "--help", "--just-print", "--list", "--list-tests",
    "--listTests", "--no-run", "--recon", "--version", "-V",
];

/// Whether this may follow the command: its arguments, redirections, and commands that run only after its
/// success.
fn follows(after: &str) -> bool {
    let arguments = after.split("&&").next().unwrap_or_default();
    if arguments.split_whitespace().any(|word| ASKS.contains(&word)) {
        return false;
    }
    let plain = after.replace("&&", " ").replace(">&", " ").replace("&>", " ");
    (after.is_empty() || after.starts_with(char::is_whitespace)) && !plain.contains(['|', ';', '&', '\n'])
}

/// One of the line's simple commands begins with the words of the test. A test of several commands is
/// compared as text.
fn is_run(test: &str, reach: &Targets, roots: &[&str]) -> bool {
    let lies_in = |path: &str, root: &&str| {
        path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_here = |folder: &Word| {
        let path = folder.tidied().literal();
        path.is_some_and(|path| roots.iter().any(|root| lies_in(&path, root)))
    };
    if test.contains(['|', ';', '&', '\n', '\'', '"', '$', '`', '(', '>', '<']) {
        return reach.runs.iter().all(|run| run.command.folders.iter().all(is_here));
    }
    let wanted: Vec<&str> = test.split_whitespace().skip_while(|word| word.contains('=')).collect();
    reach.runs.iter().any(|run| {
        let words: Vec<String> = run.command.words.iter().map(Word::lossy).collect();
        words.windows(wanted.len().max(1)).any(|some| some == wanted.as_slice())
            && run.command.folders.iter().all(is_here)
            && !matches!(words.first().map(String::as_str), Some("echo" | "printf" | "grep" | "rg"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::call::CallKey;
    use crate::tool::targets;
    use aops_shell::syntax::Ground;

    fn evidence(test: &str, line: &str) -> Evidence {
        let input = serde_json::json!({ "command": line }).to_string();
        let ground = Ground { cwd: "/p", home: "/home/u", variables: &[] };
        let cut = targets::line("Bash", &input, &ground);
        let reach = targets::of("Bash", &input, cut.as_ref(), &ground);
        of(test, &ToolCall { key: CallKey::of("Bash", "t1"), input, ..ToolCall::default() }, &reach, &["/p"])
    }

    #[test]
    fn only_a_line_that_fails_with_the_test_is_evidence() {
        use Evidence::{Contains, Is, Other};
        for (line, want) in [
            ("cargo test", Is),
            ("  cargo test\n", Is),
            ("cargo test --all 2>&1", Contains),
            ("cd sub && RUST_BACKTRACE=1 cargo test", Contains),
            ("cargo build; cargo test -q", Contains),
            ("cargo test && git status", Contains),
            ("timeout -k 5 2m cargo test -q", Contains),
            ("cd sub && nice -n 5 timeout 300 cargo test", Contains),
            ("sudo cargo test", Other),
            ("cargo test --no-run", Other),
            ("cargo test -q --help && ls", Other),
            ("cargo test -- --list", Other),
            ("PATH=fake:$PATH cargo test -q", Other),
            ("export PATH=fake; cargo test -q", Other),
            ("LD_PRELOAD=./x.so cargo test", Other),
            ("cd /tmp/other && cargo test", Other),
            ("cd ../q && cargo test -q", Other),
            ("cd $somewhere && cargo test", Other),
            ("cd /p/sub && cargo test", Contains),
            ("timeout --version cargo test", Other),
            ("env --help=1 cargo test", Other),
            ("cargo test || true", Other),
            ("true || cargo test", Other),
            ("cargo test | tail", Other),
            ("cargo test; true", Other),
            ("cargo test &", Other),
            ("cargo tests", Other),
            ("echo cargo test", Other),
            ("echo 'x; cargo test'", Other),
            ("cargo testx && ls", Other),
            ("ls", Other),
        ] {
            assert_eq!(evidence("cargo test", line), want, "{line}");
        }
        assert_eq!(evidence("make a && make b", "cd x && make a && make b"), Contains);
        assert_eq!(evidence("", "ls"), Other);
    }

    #[test]
    fn a_command_in_the_background_has_not_succeeded() {
        let input = "{\"command\":\"cargo test\",\"run_in_background\":true}".to_owned();
        let call = ToolCall { key: CallKey::of("Bash", "t1"), input, ..ToolCall::default() };
        assert_eq!(of("cargo test", &call, &Targets::default(), &["/p"]), Evidence::Other);
        let edit = ToolCall { key: CallKey::of("Edit", "t1"), input: "{}".to_owned(), ..ToolCall::default() };
        assert_eq!(of("cargo test", &edit, &Targets::default(), &["/p"]), Evidence::Other);
    }
}
