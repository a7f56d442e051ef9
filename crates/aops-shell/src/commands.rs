//! What we know about commands: one table, one option sorter, and a file for each program that is too
//! irregular for a row (`sed`, `awk`, `find`, `git`, ...). Invariants: an unknown command is a write, and may
//! write whatever its arguments name; a command classed as a read touches nothing.

mod options;
mod showing;
mod command;
mod programs;
mod builtin;
mod condition;
mod scripts;
mod unnamed;
mod find;
mod git;
mod files;
mod fetch;
mod own;
mod linters;
mod tools;
mod table;
mod powershell;

pub use builtin::{only_prints, variables};
pub use command::{Act, Class, Files, Touched, is_nowhere, unknown};
pub use git::{before_verb, lines as lines_of_git, moved_branch, named as patched};
pub use options::{given, shown};
pub use powershell::class as powershell_class;
pub use programs::writes as program_writes;
pub use scripts::lines_of_sed;
pub use showing::{Showing, showing};

use super::syntax::{Line, SYSTEM_FOLDERS, Simple, Word};
use crate::effect::Effect;
use command::{ClassRule, Invocation, Row, Touches, all, every};
use std::borrow::Cow;

/// The program's name, if it is looked up on `PATH` or is in a folder of the system's programs.
pub fn program<'a>(word: &'a str, home: &str) -> Option<&'a str> {
    let Some((folder, name)) = word.rsplit_once('/') else { return Some(word) };
    let own = || folder.strip_prefix(home).is_some_and(|rest| matches!(rest, "/.local/bin" | "/.cargo/bin"));
    (SYSTEM_FOLDERS.contains(&folder) || name == "aops-hook" && own()).then_some(name)
}

/// What the command of this name does with its arguments.
pub fn class(name: &str, simple: &Simple, line: &Line) -> Class {
    let known = table::find(name);
    class_of(known, &invocation(known, name, simple, line))
}

/// Whether a command that reads may open files that none of its words name.
pub fn opens_unnamed(name: &str, simple: &Simple, line: &Line) -> bool {
    unnamed::opens(&invocation(table::find(name), name, simple, line))
}

/// The table's entry for a command of this name, in one word.
pub fn entry(name: &str) -> &'static str {
    match table::find(name).map_or(ClassRule::Unknown, |row| row.rule) {
        ClassRule::Reads => "reads",
        ClassRule::Listed => "reads with listed options",
        ClassRule::Needs(_) => "reads with its option",
        ClassRule::AtMost(_) => "reads with few operands",
        ClassRule::Rule(_) => "read by its own rule",
        ClassRule::Unknown => "not known",
    }
}

fn invocation<'a>(known: Option<Row>, name: &'a str, simple: &'a Simple, line: &'a Line) -> Invocation<'a> {
    let options = known.map_or("", |known| known.options);
    Invocation { name, arguments: &simple.words[1..], options, simple, line }
}

fn class_of(known: Option<Row>, command: &Invocation) -> Class {
    if command.simple.name() == Some(command.name) {
        return command.simple.class.get_or_init(|| new_class(known, command)).clone();
    }
    new_class(known, command)
}

fn new_class(known: Option<Row>, command: &Invocation) -> Class {
    let versioned = || command.reads_if(table::asks_version(command), "");
    match known.map_or(ClassRule::Unknown, |known| known.rule) {
        ClassRule::Reads if command.options.is_empty() => Ok(Effect::Read),
        ClassRule::Reads => command.reads_if(command.written().is_empty(), command.options),
        ClassRule::Listed => command.sorted().map(|_| Effect::Read),
        ClassRule::Needs(options) => {
            // After an operand, an option may itself be an operand: `unzip a.zip '*' -l`.
            let sorted = command.sorted()?;
            let leads = command.arguments.first().is_some_and(Word::is_option);
            command.reads_if(leads && sorted.has(options), "")
        }
        ClassRule::AtMost(operands) => {
            let sorted = command.sorted()?;
            command.unless(sorted.operands.iter().find(|word| word.is_several()).copied())?;
            command.unless(sorted.operands.get(operands).copied())
        }
        ClassRule::Rule(class) => class(command),
        ClassRule::Unknown => versioned().or_else(|_| tools::class(command)),
    }
}

/// Everything this command may touch.
pub fn touched(simple: &Simple, line: &Line) -> Touched {
    let Some(name) = simple.name().filter(|_| !simple.function) else { return anything(simple) };
    let lower = name.to_ascii_lowercase();
    let known = table::find(&lower).or_else(|| {
        // `python3.12` is `python`.
        let bare = lower.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        table::find(bare).filter(|known| bare != lower && matches!(known.touches, Touches::RunsBy(_)))
    });
    let command = invocation(known, &lower, simple, line);
    let mut touched = if reads(known, &command) { Touched::nothing() } else { by_row(known, &command) };
    touched.files.extend(files::copies(&command));
    touched
}

/// Whether it is classed as a read. A program that merely has a known name is not, nor is a command that runs
/// another.
fn reads(known: Option<Row>, command: &Invocation) -> bool {
    let program = command.simple.words[0].lossy();
    let runs = |known: Row| match known.touches {
        Touches::Runs => true,
        Touches::RunsBy(_) => matches!(known.rule, ClassRule::Reads | ClassRule::Rule(_)),
        _ => false,
    };
    !known.is_some_and(runs)
        && self::program(&program, "\0").is_some()
        && class_of(known, command) == Ok(Effect::Read)
}

fn by_row(known: Option<Row>, command: &Invocation) -> Touched {
    let Some(known) = known else { return anything(command.simple) };
    match known.touches {
        Touches::Nothing => Touched::nothing(),
        Touches::Outputs => {
            let written = command.written();
            Touched { reads: written.is_empty(), ..Touched::files(all(&written, Act::Write)) }
        }
        Touches::Operands(act) => Touched::files(all(command.sort().operands, act)),
        Touches::Second => Touched::files(all(command.sort().operands.into_iter().skip(1), Act::Write)),
        Touches::Every | Touches::Runs => anything(command.simple),
        Touches::Scripted => {
            let programs = command.simple.script.iter().cloned().collect();
            Touched { programs, ..anything(command.simple) }
        }
        Touches::Remote => {
            let words = command.arguments.iter().filter(|word| !programs::has_blanks(word));
            Touched { programs: scripts(command.simple), ..Touched::files(every(words)) }
        }
        Touches::ChangesBy(touched) | Touches::RunsBy(touched) => touched(command),
    }
}

/// An unknown command may touch every argument, the lines inside them, and a program on its standard input.
fn anything(simple: &Simple) -> Touched {
    let lines = programs::lines(&simple.words);
    Touched { programs: scripts(simple), lines, ..Touched::files(every(&simple.words[1..])) }
}

/// Standard input, if it looks like a program that writes.
fn scripts(simple: &Simple) -> Vec<String> {
    simple.script.iter().filter(|text| program_writes(text)).cloned().collect()
}

/// The words that may name the files a command changes by itself; `None` if it only reads or runs something.
pub fn changed<'a>(name: &str, simple: &'a Simple, line: &Line) -> Option<Cow<'a, [Word]>> {
    use Touches::{ChangesBy, Every, Operands, Outputs, Second};
    let known = table::find(name)?;
    let command = invocation(Some(known), name, simple, line);
    match known.touches {
        _ if class_of(Some(known), &command).is_ok() => None,
        Outputs => Some(Cow::Owned(command.written())),
        Operands(_) | Second | Every | ChangesBy(_) => Some(Cow::Borrowed(&simple.words[1..])),
        _ => None,
    }
}

/// Whether it is known to act on something that is not a file, such as a process or the clock, or on
/// something remote.
pub fn acts(name: &str, simple: &Simple, line: &Line) -> bool {
    let Some(known) = table::find(name) else {
        return matches!(name, "pkill" | "killall" | "xkill" | "tmux" | "screen" | "at" | "batch");
    };
    let command = invocation(Some(known), name, simple, line);
    class_of(Some(known), &command) != Ok(Effect::Read)
        && (name == "git" || matches!(known.touches, Touches::Nothing | Touches::Remote))
}
