//! Whether a shell line runs the command of `evidence.test`, so that its success is evidence.
//!
//! Reads the call alone. Invariants: the line succeeds only if the command does (`cargo test || true`, `cargo test | tail`
//! and one in the background do not count); the command is run, not merely named (`echo cargo test`).

use crate::gate::Evidence;
use crate::model::call::ToolCall;
use crate::text::json::{self, Json};
use crate::tool::targets::Targets;
use aops_shell::syntax::Word;

pub(super) fn of(test: &str, call: &ToolCall, reach: &Targets) -> Evidence {
    let input = json::read(&call.input).ok().filter(|_| call.key.tool == "Bash");
    let Some(input) = input else { return Evidence::Other };
    let background = matches!(input.get("run_in_background"), Some(Json::Bool(true)));
    let line = input.text_of("command").unwrap_or_default();
    let (line, test) = (line.trim(), test.trim());
    if background || test.is_empty() {
        return Evidence::Other;
    }
    if line == test {
        return Evidence::Is;
    }
    let decides = line.match_indices(test).any(|(at, _)| leads(&line[..at]) && follows(&line[at + test.len()..]));
    if decides && is_run(test, reach) { Evidence::Contains } else { Evidence::Other }
}

/// What came out of a push says that the remote has commits which are not here.
pub(super) fn is_rejected(call: &ToolCall) -> bool {
    let result = call.result.iter().flat_map(|result| [result.head.as_str(), &result.tail]);
    let mut texts = result.chain([call.error.as_str()]).filter(|_| call.key.tool == "Bash");
    texts.any(|text| text.contains("[rejected]") && (text.contains("fetch first") || text.contains("non-fast-forward")))
}

/// What may stand before the command: other commands, variables, a program that ends as it does (`timeout -k 5 2m`), but no
/// other branch.
fn leads(before: &str) -> bool {
    let own = before.rsplit(['&', ';', '\n']).next().unwrap_or_default();
    // Of their options only those that still run the command: `timeout --version cargo test` does not.
    let wraps = |word: &str| matches!(word, "env" | "time" | "nice" | "timeout" | "-k" | "-n" | "-p");
    let sets =
        |word: &str| word.contains('=') && !word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit());
    let apart = own.is_empty() || own.starts_with(char::is_whitespace) || own.len() == before.len();
    apart
        && own.split_whitespace().all(|word| wraps(word) || sets(word))
        && !before.contains("||")
        && !before.ends_with(|c: char| c.is_alphanumeric())
}

/// What may stand after it: its arguments, redirections, and commands that run only after its success.
fn follows(after: &str) -> bool {
    let plain = after.replace("&&", " ").replace(">&", " ").replace("&>", " ");
    (after.is_empty() || after.starts_with(char::is_whitespace)) && !plain.contains(['|', ';', '&', '\n'])
}

/// One of the line's simple commands begins with the words of the test; a test of several commands is known by its text.
fn is_run(test: &str, reach: &Targets) -> bool {
    if test.contains(['|', ';', '&', '\n', '\'', '"', '$', '`', '(', '>', '<']) {
        return true;
    }
    let wanted: Vec<&str> = test.split_whitespace().skip_while(|word| word.contains('=')).collect();
    reach.runs.iter().any(|run| {
        let words: Vec<String> = run.command.words.iter().map(Word::lossy).collect();
        words.windows(wanted.len().max(1)).any(|some| some == wanted.as_slice())
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
        of(test, &ToolCall { key: CallKey::of("Bash", "t1"), input, ..ToolCall::default() }, &reach)
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
        assert_eq!(of("cargo test", &call, &Targets::default()), Evidence::Other);
        let edit = ToolCall { key: CallKey::of("Edit", "t1"), input: "{}".to_owned(), ..ToolCall::default() };
        assert_eq!(of("cargo test", &edit, &Targets::default()), Evidence::Other);
    }
}
