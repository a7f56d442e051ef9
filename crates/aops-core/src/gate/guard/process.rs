//! Finds commands that end, stop, limit or enter the client or one of our hooks: one table of commands, by
//! the way they are told which process to act on.
//!
//! A process is named by its ID (`$PPID`, `$CLAUDE_PID`, the output of `pgrep claude`) or by a pattern that
//! matches its command line. Invariant: a command that gets such an ID and is not known to only read counts
//! as acting on it, whatever its name.

use super::path::{Protected, pattern};
use crate::model::event::EVENTS;
use crate::tool::targets::CommandRun;
use aops_shell::syntax::{Bit, Word};

/// How a program is told on which process it acts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// Every operand is a process ID.
    Ids,
    /// One of these options takes a process ID.
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

/// Variables that contain the ID of the client or of a parent process of the command.
const VARIABLES: [&str; 2] = ["PPID", "CLAUDE_PID"];

/// Whether this command acts on the client or on a hook of ours.
pub(super) fn acts_on_us(protected: &Protected, run: &CommandRun) -> bool {
    let words = &run.command.words;
    let asks = words.first().is_some_and(|word| called(word) == "kill")
        && words.iter().any(|word| word.is("-0") || word.is("-l") || word.is("-L"));
    if asks {
        return false;
    }
    // An unknown program may start it: `systemd-run --user kill …`.
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

/// A variable with the ID of the client or of a parent.
fn holds_id(word: &Word) -> bool {
    let mut names = word.unknown.iter().chain(&word.filled);
    names.any(|name| VARIABLES.iter().any(|ours| name.eq_ignore_ascii_case(ours)))
}

/// Prints the ID of a parent or of the client: by a word for it (`ppid=`, `/PPid/{print $2}`, `CLAUDE_PID`),
/// or from a kernel file that contains a parent's ID (`/proc/$$/stat`).
fn tells_id(word: &Word) -> bool {
    let text = word.lossy().to_lowercase();
    let of_kernel = text.starts_with("/proc/") && (text.ends_with("/stat") || text.ends_with("/status"));
    of_kernel || parts(&text).any(is_parent)
}

/// A listing of `/proc` covers every process, including the client.
fn is_any_process(word: &Word) -> bool {
    let text = word.lossy();
    let number = text.strip_prefix("/proc/").map_or("", |rest| rest.trim_end_matches('/'));
    number.contains(['*', '?', '[']) && !number.contains(|c: char| c.is_ascii_alphabetic() || c == '/')
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|part| !part.is_empty())
}

/// A name for the ID of the client or of a parent, in lower case, as shells and other languages have it.
fn is_parent(part: &str) -> bool {
    matches!(part, "ppid" | "claude_pid") || part.ends_with("getppid")
}

fn meets(protected: &Protected, run: &CommandRun, arguments: &[Word], (name, given): (&str, Given)) -> bool {
    let arriving = &run.command.arriving;
    let found = arguments.iter().flat_map(|word| &word.named).chain(arriving);
    let by_name = |word: &Word| meant(&word.lossy()) || tells_id(word) || is_any_process(word);
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

/// A pattern that matches the client or one of our command lines: `claude`, `^claude$`, `node.*claude`,
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

/// A regular expression, read loosely, that may match the name of the client, of our program or of an event.
fn matches_any(pattern: &str) -> bool {
    let mut bits = vec![Bit::Star];
    for c in pattern.chars().filter(|c| !matches!(c, '^' | '$' | '\\' | '(' | ')')) {
        match c {
            '.' => bits.push(Bit::One),
            // Any number of what precedes it.
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

/// The same in a text that cannot be parsed as a line: a program that ends or limits processes, and one of
/// our processes next to it.
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

/// Calls in other languages that end, stop or limit a process, in lower case.
#[rustfmt::skip]
const CALLS: [&str; 17] = [
    "kill", "killpg", "kill_process", "pkill", "killall", "taskkill", "pskill", "posix_kill", "tgkill", "tkill", "sigqueue",
    "send_signal", "pidfd_send_signal", "terminate", "suspend", "prlimit", "signal-process",
];
/// Words with which programs run a command line.
const RUNS: [&str; 6] = ["system", "exec", "spawn", "popen", "subprocess", "`"];
/// Words with which programs list the running processes.
const LISTS: [&str; 8] = ["psutil", "pgrep", "pidof", "/proc", "cmdline", "tasklist", "ps -", "ps a"];

/// A program for an interpreter, in lower case, that ends or limits the client, a parent or every process:
/// `os.kill(os.getppid(), 9)`, `system("kill " ENVIRON["CLAUDE_PID"])`. Asking whether a process exists does
/// not count.
pub(super) fn ended_by(protected: &Protected, program: &str) -> bool {
    let plain: String = program.chars().filter(|c| !c.is_whitespace()).collect();
    let split = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !program.split(split).any(|word| CALLS.contains(&word)) || only_asks(&plain) {
        return false;
    }
    let of_parent = plain.contains("psutil") && parts(program).any(|part| part == "parent");
    let by_id = parts(program).any(|part| protected.pids.iter().any(|pid| pid == part));
    let lists = LISTS.iter().any(|sign| program.contains(sign));
    let named = program.split(split).any(|word| meant(word) && word.len() > 3);
    of_parent
        || by_id
        || parts(program).any(is_parent)
        || plain.contains("kill(-1,")
        || goes_through_all(&plain)
        || lists && named
        || RUNS.iter().any(|sign| program.contains(sign)) && named_in(program)
}

/// Every call sends signal 0, which only asks whether the process exists.
fn only_asks(plain: &str) -> bool {
    let mut calls = plain.match_indices("kill(").map(|(at, _)| &plain[at..]).peekable();
    calls.peek().is_some() && calls.all(|call| call.split(';').next().is_some_and(|one| one.contains(",0)")))
}

/// It ends every process that a listing of `/proc` names.
fn goes_through_all(plain: &str) -> bool {
    let listed = ["listdir('/proc')", "listdir(\"/proc\")", "readdirsync('/proc')", "readdirsync(\"/proc\")"];
    let found = ["</proc/[0-9]*>", "glob('/proc/[0-9]*')", "glob(\"/proc/[0-9]*\")", "</proc/*>"];
    let filtered = ["cmdline", "comm", "/exe", "status"].iter().any(|file| plain.contains(file));
    !filtered && listed.iter().chain(&found).any(|sign| plain.contains(sign))
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
