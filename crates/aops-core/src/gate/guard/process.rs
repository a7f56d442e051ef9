//! Commands that end, stop, limit or enter the client or a hook of ours: one table of acts, by the process
//! that each is given.
//!
//! A process is named by its id (`$PPID`, `$CLAUDE_PID`, what `pgrep claude` prints) or by a pattern that its
//! command line meets. Invariant: what is given such an id and is not known to only read is one of these
//! acts, whatever its name.

use super::path::{Protected, pattern};
use crate::model::event::EVENTS;
use crate::tool::targets::CommandRun;
use aops_shell::syntax::{Bit, Word};

/// How a program is told which process it acts on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// Every operand is an id.
    Ids,
    /// One of these options has an id.
    Option(&'static [&'static str]),
    /// Operands are names or patterns of command lines.
    Pattern,
}

/// Programs that act on a process.
#[rustfmt::skip]
static ACTS: &[(&[&str], Given)] = &[
    (&["kill", "reptyr", "gcore", "pstack", "gstack", "jcmd", "jstack", "jmap", "memleax"], Given::Ids),
    (&["pkill", "killall", "skill", "snice", "killall5", "xkill", "taskkill", "slay"], Given::Pattern),
    (&["prlimit", "renice", "ionice", "chrt", "taskset", "uclampset", "schedtool", "gdb", "lldb", "strace", "ltrace", "perf", "bpftrace", "cpulimit", "numactl", "migratepages", "py-spy", "rbspy", "criu", "choom", "dtrace", "dtruss", "gdbserver", "dlv", "cgclassify", "runcon", "nsenter", "setpriv", "coredumpctl", "fuser"],
        Given::Option(&["-p", "--pid", "-t", "--target", "--attach", "--attach-pid", "-g", "-P", "--tree", "attach"])),
];

/// Variables that hold the client's process or a parent of the command's.
const VARIABLES: [&str; 2] = ["PPID", "CLAUDE_PID"];

/// Whether this command acts on the client or on a hook of ours.
pub(super) fn acts_on_us(protected: &Protected, run: &CommandRun) -> bool {
    let words = &run.command.words;
    let asks = words.first().is_some_and(|word| called(word) == "kill")
        && words.iter().any(|word| word.is("-0") || word.is("-l") || word.is("-L"));
    if asks {
        return false;
    }
    // A carrier that is not known may stand before it: `systemd-run --user kill …`.
    let reached = if run.reads { 1 } else { words.len() };
    (0..reached.min(words.len())).any(|at| {
        let name = called(&words[at]);
        ACTS.iter().any(|(names, given)| {
            names.contains(&name.as_str()) && meets(protected, run, &words[at + 1..], (&name, *given))
        })
    }) || !run.reads && words.iter().any(holds_id)
}

fn called(word: &Word) -> String {
    let name = word.last_part().lossy().to_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

/// The id of the client or of a parent, by a variable.
fn holds_id(word: &Word) -> bool {
    word.unknown.iter().any(|name| VARIABLES.contains(&name.as_str()))
}

fn meets(protected: &Protected, run: &CommandRun, arguments: &[Word], (name, given): (&str, Given)) -> bool {
    let arriving = &run.command.arriving;
    let found = arguments.iter().flat_map(|word| &word.named).chain(arriving);
    let by_name = |word: &Word| meant(&word.lossy()) || word.starts_with("ppid");
    if arguments.iter().chain(found.clone()).any(holds_id) {
        return true;
    }
    let is_id = |word: &Word| {
        let text = word.literal().unwrap_or_default();
        let id = text.trim_start_matches("--pid=").trim_start_matches("-p").trim_start_matches('-');
        protected.pids.iter().any(|pid| pid == id)
    };
    match given {
        Given::Pattern => arguments.iter().chain(found).filter(|word| !word.is_option()).any(by_name),
        Given::Ids => {
            let everybody = name == "kill" && arguments.iter().skip(1).any(|word| word.is("-1"));
            everybody || arguments.iter().any(is_id) || found.into_iter().any(by_name)
        }
        Given::Option(options) => {
            let named = |word: &Word| options.iter().any(|option| word.starts_with(option));
            arguments.iter().any(named) && (arguments.iter().any(is_id) || found.into_iter().any(by_name))
        }
    }
}

/// A pattern that matches the client or a command line of ours: `claude`, `^claude$`, `node.*claude`,
/// `aops-hook`, `PreToolUse`.
fn meant(given: &str) -> bool {
    let given = given.replace(['[', ']'], "");
    let pattern = given.to_lowercase();
    if pattern.contains(['.', '*', '+', '?']) && !pattern.contains([' ', '/']) && matches_any(&pattern) {
        return true;
    }
    let parts = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let words: Vec<&str> = given.split(parts).filter(|word| !word.is_empty()).collect();
    let event = |word: &str| EVENTS.iter().any(|event| event.name == word);
    let of_event = |word: &str| EVENTS.iter().any(|event| event.name.contains(word));
    let ours = |word: &str| matches!(word, "claude" | "claude-code" | "aops-hook" | "aops");
    match words.as_slice() {
        [only] => {
            let lower = only.to_lowercase();
            let part = only.len() > 2
                && (["claude", "aops-hook"].iter().any(|name| name.contains(&lower)) || of_event(only));
            part || ours(&lower) || event(only)
        }
        words => words.iter().any(|word| ours(&word.to_lowercase()) || event(word)),
    }
}

/// A regular expression, read loosely, that may match the client's name, ours or that of an event.
fn matches_any(pattern: &str) -> bool {
    let mut bits = vec![Bit::Star];
    for c in pattern.chars().filter(|c| !matches!(c, '^' | '$' | '\\' | '(' | ')')) {
        match c {
            '.' => bits.push(Bit::One),
            // Any number of what stands before it.
            '*' | '+' | '?' => *bits.last_mut().unwrap_or(&mut Bit::Star) = Bit::Star,
            c => bits.push(Bit::Char(c)),
        }
    }
    bits.push(Bit::Star);
    let said = bits.iter().filter(|bit| matches!(bit, Bit::Char(_))).count();
    let names = EVENTS.iter().map(|event| event.name.to_lowercase());
    let mut names = ["claude".to_owned(), "aops-hook".to_owned()].into_iter().chain(names);
    said > 2 && names.any(|name| pattern::fits(&bits, &name))
}

/// The same in a text that cannot be read as a line: a program that ends or limits processes, and one of ours
/// beside it.
pub(super) fn named_in(text: &str) -> bool {
    let is_part = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '$');
    let words: Vec<&str> = text.split(is_part).filter(|word| !word.is_empty()).collect();
    let acts = |word: &&str| ACTS.iter().any(|(names, _)| names.contains(word));
    let near = |at: usize| {
        let behind = &words[at + 1..(at + 9).min(words.len())];
        behind.iter().any(|word| {
            let name = word.trim_start_matches('$');
            matches!(name, "ppid" | "claude_pid" | "claude" | "claude-code" | "aops-hook" | "aops")
                || name.len() > 8 && EVENTS.iter().any(|event| event.name.eq_ignore_ascii_case(name))
        })
    };
    words.iter().enumerate().filter(|(_, word)| acts(word)).any(|(at, _)| near(at))
}

#[cfg(test)]
mod tests {
    use super::{meant, named_in};

    #[test]
    fn patterns_that_meet_our_command_lines() {
        for pattern in [
            "claude", "aops", "aops-hook", "hook", "SubagentStop", "PreToolUse", "Sub.*Stop", "ToolUse",
            "cla.de",
        ] {
            assert!(meant(pattern), "{pattern}");
        }
        for pattern in [
            "node", "next dev", "npm start", "my-server", "webhook", "stop", "my-claude-app",
            "python3 -m http.server",
        ] {
            assert!(!meant(pattern), "{pattern}");
        }
        assert!(
            named_in("if ( kill -9 $ppid")
                && named_in("pkill -f subagentstop (")
                && !named_in("kill 77; echo claude-like")
        );
    }
}
