//! Commands that read or write by their operands: `tee`, `dd`, `date`, `kill` and others.

use super::command::{Act, Class, Invocation, Touched, all, every, is_nowhere, unknown};
use super::inner;
use super::options::shown;
use crate::effect::Effect;

/// Copies standard input to files; to nowhere it only passes it on.
pub(super) fn tee(command: &Invocation) -> Class {
    match command.sorted()?.operands.into_iter().find(|word| !is_nowhere(word)) {
        Some(word) => Err(format!("it writes to `{}`", shown(word))),
        None => Ok(Effect::Read),
    }
}

/// Without `of=` it prints.
pub(super) fn dd(command: &Invocation) -> Class {
    let reads = ["if=", "bs=", "ibs=", "count=", "skip=", "status=", "iflag="];
    command.unless(command.arguments.iter().find(|word| {
        let known = reads.iter().any(|key| word.starts_with(key)) && !word.splits;
        !(known || word.starts_with("of=") && is_nowhere(&word.after(3)))
    }))
}

pub(super) fn dd_touched(command: &Invocation) -> Touched {
    let outputs = command.arguments.iter().filter(|word| word.starts_with("of="));
    Touched::files(outputs.map(|word| (word.after(3), Act::Write)).collect())
}

/// Shows a time; an operand without `+` sets the clock.
pub(super) fn date(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    let converts = sorted.has(&["-j"]);
    command.unless(sorted.operands.into_iter().find(|word| !word.starts_with("+") && !converts))
}

/// Shows names, networks or tables; an operand sets them.
pub(super) fn no_operand(command: &Invocation) -> Class {
    command.unless(command.sorted()?.operands.first().copied())
}

/// Its second operand is the file it writes.
pub(super) fn one_operand(command: &Invocation) -> Class {
    command.unless(command.sorted()?.operands.get(1).copied())
}

/// A `+` begins a command of its own.
pub(super) fn less(command: &Invocation) -> Class {
    command.unless(command.sorted()?.operands.into_iter().find(|word| word.starts_with("+")))
}

/// Asks whether a process is there, or which signals are.
pub(super) fn kill(command: &Invocation) -> Class {
    if command.sorted()?.options.is_empty() { Err(unknown(command.name)) } else { Ok(Effect::Read) }
}

/// Asks; without `-q` it installs.
pub(super) fn rpm(command: &Invocation) -> Class {
    if command.sorted()?.has(&["-q", "--query"]) { Ok(Effect::Read) } else { Err(unknown(command.name)) }
}

/// `yq` edits with `-i`.
pub(super) fn yq(command: &Invocation) -> Touched {
    let in_place = command.sort_by(&["-i --inplace --in-place"]).has(&["-i", "--inplace", "--in-place"]);
    Touched::files(if in_place { every(command.arguments) } else { Vec::new() })
}

/// `time`, `strace`: what they write themselves; else all that the command behind them names.
pub(super) fn wrapped(command: &Invocation) -> Touched {
    let written = command.written();
    let files = if written.is_empty() { every(command.arguments) } else { all(&written, Act::Write) };
    Touched { files, lines: inner::lines(&command.simple.words), ..Touched::default() }
}
