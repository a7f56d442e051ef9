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
    let mut names = word.unknown.iter().chain(&word.filled);
    names.any(|name| VARIABLES.iter().any(|ours| name.eq_ignore_ascii_case(ours)))
}

/// Prints the id of a parent or of the client: a word for it (`ppid=`, `/PPid/{print $2}`, `CLAUDE_PID`), or
/// a file of the kernel's that holds a parent's beside other numbers (`/proc/$$/stat`).
fn tells_id(word: &Word) -> bool {
    let text = word.lossy().to_lowercase();
    let of_kernel = text.starts_with("/proc/") && (text.ends_with("/stat") || text.ends_with("/status"));
    of_kernel || parts(&text).any(is_parent)
}

/// Every process that there is, by the names in `/proc`: the client's is one of them.
fn is_any_process(word: &Word) -> bool {
    let text = word.lossy();
    let number = text.strip_prefix("/proc/").map_or("", |rest| rest.trim_end_matches('/'));
    number.contains(['*', '?', '[']) && !number.contains(|c: char| c.is_ascii_alphabetic() || c == '/')
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|part| !part.is_empty())
}

/// A name of the client's process or of a parent, in lower case, as shells and other languages have it.
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

/// Calls of other languages that end, stop or limit a process, in lower case.
#[rustfmt::skip]
const CALLS: [&str; 17] = [
    "kill", "killpg", "kill_process", "pkill", "killall", "taskkill", "pskill", "posix_kill", "tgkill", "tkill", "sigqueue",
    "send_signal", "pidfd_send_signal", "terminate", "suspend", "prlimit", "signal-process",
];
/// Words of programs that run a line.
const RUNS: [&str; 6] = ["system", "exec", "spawn", "popen", "subprocess", "`"];
/// Words of programs that go through the processes there are.
const LISTS: [&str; 8] = ["psutil", "pgrep", "pidof", "/proc", "cmdline", "tasklist", "ps -", "ps a"];

/// A program for an interpreter, in lower case, that ends or limits the client, a parent or every process:
/// `os.kill(os.getppid(), 9)`, `system("kill " ENVIRON["CLAUDE_PID"])`. Asking whether one is there is none.
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

/// Each call has the signal 0, which only asks.
fn only_asks(plain: &str) -> bool {
    let mut calls = plain.match_indices("kill(").map(|(at, _)| &plain[at..]).peekable();
    calls.peek().is_some() && calls.all(|call| call.split(';').next().is_some_and(|one| one.contains(",0)")))
}

/// What a listing of `/proc` names is ended, whichever it is.
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
