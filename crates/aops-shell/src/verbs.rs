//! The verbs of `aops-hook`: who may use each, and the effect of a call. The command line, the guard and the
//! classes of shell commands all read this list. Invariant: it equals the table of the command line; a test
//! checks that.

use crate::effect::Effect;

/// Who may use a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Anyone,
    /// A person or their script; blocked inside a tool call.
    OutsideClient,
    /// Changes permissions: needs a terminal or `--yes`; blocked inside a tool call.
    AtTerminal,
}

impl Who {
    #[must_use]
    pub fn without_terminal(self) -> Self {
        if self == Self::AtTerminal { Self::OutsideClient } else { self }
    }
}

/// One verb; `checkpoint gc` and `verify --quarantine` are verbs of their own.
#[derive(Debug, PartialEq, Eq)]
pub struct Verb {
    pub name: &'static str,
    pub who: Who,
    pub effect: Effect,
}

const fn reads(name: &'static str) -> Verb {
    Verb { name, who: Who::Anyone, effect: Effect::Read }
}

const fn writes(name: &'static str, who: Who) -> Verb {
    Verb { name, who, effect: Effect::Write }
}

/// Every verb, in the order of `--help`; at the end those that clap and our own child processes use.
#[rustfmt::skip]
pub static VERBS: &[Verb] = &[
    reads("status"), reads("sessions"),
    // Its keys do what `block`, `clear-block`, `waive`, `resolve` and `checkpoint rollback` do.
    writes("watch", Who::OutsideClient),
    writes("sessions gc", Who::OutsideClient),
    reads("log"), reads("verify"), reads("verify-commit"),
    writes("verify --quarantine", Who::AtTerminal),
    reads("prove"),
    // It signs with the key of the log.
    writes("attest", Who::OutsideClient),
    reads("why"), reads("simulate"),
    // It shows other sessions, and writes the user's file after a person agrees.
    writes("tryout", Who::OutsideClient),
    reads("test"), reads("replay"),
    Verb { name: "block", who: Who::Anyone, effect: Effect::Control },
    writes("clear-block", Who::AtTerminal),
    writes("waive", Who::AtTerminal),
    reads("task"), reads("task list"),
    writes("task drop", Who::AtTerminal),
    // An agent may say that a task of its own session continues, which allows nothing new.
    Verb { name: "task resume", who: Who::Anyone, effect: Effect::Control },
    reads("insights"),
    // An agent adds what it saw in a conversation; what the ledger says is not changed.
    Verb { name: "insights --fill", who: Who::Anyone, effect: Effect::Control },
    // It starts the client and pays for it.
    writes("insights --analyse", Who::OutsideClient),
    reads("transcript"), reads("report"), reads("usage"),
    writes("export", Who::Anyone),
    // It sends the record to another machine.
    writes("export --endpoint", Who::OutsideClient),
    reads("workflow"), reads("policy"),
    writes("mode", Who::OutsideClient),
    writes("danger", Who::Anyone),
    reads("danger list"),
    // They loosen or tighten the guard, which is for a person to decide.
    writes("danger off", Who::AtTerminal),
    writes("danger on", Who::AtTerminal),
    writes("danger keep", Who::AtTerminal),
    writes("danger ask", Who::AtTerminal),
    writes("danger deny", Who::AtTerminal),
    writes("quiet", Who::Anyone),
    // They change what a person is asked about.
    writes("quiet off", Who::AtTerminal),
    writes("quiet reading", Who::AtTerminal),
    writes("quiet contained", Who::AtTerminal),
    writes("network", Who::Anyone),
    reads("network list"),
    // They change which hosts commands may reach.
    writes("network allow", Who::AtTerminal),
    writes("network deny", Who::AtTerminal),
    writes("network hold", Who::AtTerminal),
    // It runs until a person ends it.
    writes("network watch", Who::OutsideClient),
    writes("checkpoint", Who::Anyone),
    writes("checkpoint create", Who::Anyone),
    reads("checkpoint list"), reads("checkpoint show"), reads("checkpoint diff"),
    writes("checkpoint rollback", Who::OutsideClient),
    reads("checkpoint verify"),
    writes("checkpoint gc", Who::OutsideClient),
    writes("checkpoint export", Who::OutsideClient),
    // The saved data belongs to a person: an agent neither lists nor reads it.
    writes("undo", Who::OutsideClient),
    writes("undo list", Who::OutsideClient),
    writes("undo show", Who::OutsideClient),
    writes("run", Who::OutsideClient),
    writes("resume", Who::OutsideClient),
    writes("resolve", Who::AtTerminal),
    reads("runs"),
    writes("runs gc", Who::OutsideClient),
    // What machines share is for people and their workers, not for an agent.
    writes("fleet", Who::OutsideClient),
    writes("fleet init", Who::OutsideClient),
    writes("fleet status", Who::OutsideClient),
    writes("fleet doctor", Who::OutsideClient),
    writes("fleet sessions", Who::OutsideClient),
    writes("fleet approvals", Who::OutsideClient),
    writes("fleet approve", Who::AtTerminal),
    writes("fleet reject", Who::AtTerminal),
    writes("fleet block", Who::AtTerminal),
    writes("fleet release", Who::AtTerminal),
    writes("fleet login", Who::OutsideClient),
    writes("fleet wait", Who::OutsideClient),
    writes("key", Who::Anyone),
    writes("key init", Who::OutsideClient),
    reads("key show"),
    writes("key rotate", Who::AtTerminal),
    writes("key export", Who::AtTerminal),
    writes("witness", Who::OutsideClient),
    writes("witness serve", Who::OutsideClient),
    writes("bundle", Who::Anyone),
    // Whoever signs a bundle decides for everybody.
    writes("bundle make", Who::OutsideClient),
    writes("bundle sign", Who::AtTerminal),
    reads("bundle verify"), reads("bundle diff"), reads("bundle status"),
    writes("install", Who::OutsideClient),
    writes("uninstall", Who::AtTerminal),
    reads("doctor"), reads("demo"), reads("statusline"), reads("completions"), reads("man"), reads("help"),
    reads("__complete"),
    // They run whatever program they are given.
    writes("__attest", Who::OutsideClient),
    writes("__refresh", Who::OutsideClient),
    writes("__refresh-work", Who::OutsideClient),
    writes("__refresh-start", Who::OutsideClient),
    writes("__step", Who::OutsideClient),
    writes("__leg", Who::OutsideClient),
    writes("__retain", Who::OutsideClient),
    writes("__network", Who::OutsideClient),
    writes("__confined", Who::OutsideClient),
    writes("__held", Who::OutsideClient),
    // The client runs it instead of a shell, and a run uses it for its command steps.
    writes("shell", Who::OutsideClient),
    writes("__line", Who::OutsideClient),
];

/// Our program under the name by which it knows that its one argument is a shell line: the same file, by a
/// path that nobody writes. The client starts its servers by the whole value of its variable, so no option
/// can stand there.
pub const STARTER: &str = "/./aops-hook";

/// The value of the client's variable that makes it start commands through this program.
pub fn starter(program: &str) -> String {
    match program.strip_suffix("/aops-hook") {
        // The client takes what follows ` -` for an option.
        Some(folder) if !program.contains(" -") => format!("{folder}{STARTER}"),
        _ => format!("{program} --shell"),
    }
}

/// The verb that is called with these arguments.
pub fn called(arguments: &[String]) -> Option<&'static Verb> {
    let mut operands = arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    // The client's own spelling: it splits its variable before the last ` -`.
    let is_shell = arguments.first().is_some_and(|word| word == "--shell");
    let verb = if is_shell { "shell" } else { operands.next()? };
    let has = |begins: &str| arguments.iter().any(|word| word.starts_with(begins));
    let second = match verb {
        "verify" if has("--q") => "--quarantine",
        "insights" if has("--an") => "--analyse",
        "insights" if has("--f") => "--fill",
        "export" if has("--e") || arguments.iter().any(|word| word.contains("otlp")) => "--endpoint",
        // The value of an option may come first: `checkpoint --color never rollback`.
        _ => operands.find(|word| is_second(verb, word)).unwrap_or_default(),
    };
    let both = VERBS.iter().find(|row| row.name.split_once(' ') == Some((verb, second)));
    both.or_else(|| VERBS.iter().find(|row| row.name == verb))
}

/// Whether an unknown next word could turn this into a verb for people: `verify $x`, but not `log $x`.
pub fn may_need_person(arguments: &[String]) -> bool {
    let Some(verb) = called(arguments) else { return true };
    let with_option = |row: &Verb| {
        row.name.split_once(' ').is_some_and(|(first, second)| {
            first == verb.name.split(' ').next().unwrap_or_default()
                && (verb.name == first || second.starts_with('-'))
        })
    };
    VERBS.iter().any(|row| row.who != Who::Anyone && with_option(row))
}

/// Whether it runs without a jail when an agent calls it: it writes the ledger, and jails what it starts.
/// `demo` writes nothing that protects anything, so it is a command like any other.
pub fn is_ours(verb: &Verb) -> bool {
    verb.who == Who::Anyone && verb.name != "demo"
}

fn is_second(verb: &str, word: &str) -> bool {
    VERBS.iter().any(|row| row.name.split_once(' ') == Some((verb, word)))
}

/// Whether it only asks about the program or one of its verbs: `--version`, `checkpoint create --help`. Any
/// other call with such an option may still be an event or a shell line, which are read before their options
/// are.
pub fn asks_help(arguments: &[String]) -> bool {
    let Some((last, verb)) = arguments.split_last() else { return false };
    let asks =
        matches!(last.as_str(), "--help" | "-h" | "--version" | "-V") || verb.is_empty() && last == "help";
    let verb = verb.join(" ");
    let is_verb = |row: &Verb| row.name == verb && !verb.starts_with("__") && verb != "shell";
    asks && (verb.is_empty() || VERBS.iter().any(is_verb))
}

/// Whether an option names a file that the call writes: `report -o page.html`.
pub fn writes_files(arguments: &[String]) -> bool {
    arguments.iter().any(|text| ["--o", "-o", "--i"].iter().any(|option| text.starts_with(option)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_one_of_the_verbs() {
        let name = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            called(&words).map(|verb| verb.name)
        };
        assert_eq!(name("--json status abc"), Some("status"));
        assert_eq!(name("checkpoint gc"), Some("checkpoint gc"));
        assert_eq!(name("checkpoint frob"), Some("checkpoint"));
        assert_eq!(name("checkpoint --color never rollback latest"), Some("checkpoint rollback"));
        assert_eq!(name("danger --color never off git-discard --yes"), Some("danger off"));
        assert_eq!(name("danger"), Some("danger"));
        assert_eq!(name("verify --quar x"), Some("verify --quarantine"));
        assert_eq!(name("checkpoint verify --quiet"), Some("checkpoint verify"));
        assert_eq!(name("frob"), None);
        assert_eq!(name("--json"), None);
        assert_eq!(name("--shell log ls"), Some("shell"));
        assert_eq!(name("export --format otlp"), Some("export --endpoint"));
        assert_eq!(name("export --format csv"), Some("export"));
        assert_eq!(name("insights batch --analyze"), Some("insights --analyse"));
        assert_eq!(name("insights current --fill {}"), Some("insights --fill"));
    }

    #[test]
    fn a_word_that_is_not_known_may_make_it_a_persons() {
        let may = |line: &str| may_need_person(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in ["verify …", "checkpoint …", "insights …", "export …", "danger …", "…", "verify abc …"]
        {
            assert!(may(line), "{line}");
        }
        for line in ["log …", "status …", "checkpoint list …", "danger list …", "why …", "prove …"]
        {
            assert!(!may(line), "{line}");
        }
    }

    #[test]
    fn help_is_a_question_alone() {
        let asks = |line: &str| asks_help(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        for line in ["--help", "-h", "--version", "help", "status --help", "checkpoint create -h"] {
            assert!(asks(line), "{line}");
        }
        for line in
            ["", "UserPromptSubmit --version", "--shell -h ls", "shell -h", "__step -h", "-h x", "frob -h"]
        {
            assert!(!asks(line), "{line}");
        }
    }
}
