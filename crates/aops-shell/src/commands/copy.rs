//! Commands that put files somewhere or change them where they are: copies, links, modes, mounts, editors.

use super::command::{Act, Files, Invocation, Touched, all, every};
use crate::syntax::{Bit, Word};

pub(super) const OPTIONS: &str = "-rRaTsn -t= --target-directory= --recursive --archive --no-target-directory --symbolic \
    --no-dereference --del --delete";

/// The same for commands that know no `-t FOLDER`: `rsync -rt a b` keeps times.
pub(super) const NO_TARGET: &str = "-rRaTsn --recursive --archive --del --delete";

/// Copies: the sources stay.
pub(super) fn copied(command: &Invocation) -> Touched {
    Touched::files(put(command, Act::Copy))
}

pub(super) fn moved(command: &Invocation) -> Touched {
    Touched::files(put(command, Act::Whole))
}

/// Sources and where they go: the last operand or `-t`. What lands in a folder has the source's name.
fn put(command: &Invocation, source: Act) -> Files {
    let (name, sorted) = (command.name, command.sort());
    let mut sources = sorted.operands.clone();
    let given = sorted.values(&["-t", "--target-directory"]).next();
    let Some(target) = given.or_else(|| sources.pop()) else { return Vec::new() };
    let mut files = all(sources.iter().copied(), source);
    let whole = matches!(name, "mv" | "gmv" | "ln" | "link" | "gln" | "ditto")
        || sorted.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    let renames = sorted.has(&["-T", "--no-target-directory"]) || name == "ditto";
    for word in &sources {
        let inside = word.last_part();
        let mirrored = inside.is(".") || (name == "rsync" && word.lossy().ends_with('/'));
        if mirrored || renames && whole && name != "mv" {
            let deletes = sorted.options.iter().any(|(option, _)| option.starts_with("--del"));
            files.push((target.clone(), if deletes { Act::Whole } else { Act::Merge }));
        }
        if whole && !mirrored {
            files.push((inside.from_folder(target), Act::Merge));
        }
        files.push((inside.from_folder(target), Act::Write));
    }
    if whole && given.is_none() && sources.len() == 1 {
        files.push((target.clone(), Act::Become));
    }
    files.push((target.clone(), Act::Write));
    files
}

pub(super) fn linked(command: &Invocation) -> Touched {
    let sorted = command.sort();
    if let ([only], false) = (&sorted.operands[..], sorted.has(&["-t", "--target-directory"])) {
        return Touched::files(vec![(only.last_part(), Act::Write), ((*only).clone(), Act::Copy)]);
    }
    // A second hard name is a way to write unseen; a symbolic one is followed later.
    let source = if sorted.has(&["-s", "--symbolic"]) { Act::Copy } else { Act::Write };
    let mut files = put(command, source);
    if sorted.has(&["-n", "-T", "--no-dereference", "--no-target-directory"]) {
        files.extend(sorted.operands.last().map(|last| ((*last).clone(), Act::Whole)));
    }
    Touched::files(files)
}

/// `chmod`: a mode that takes nothing from the owner, such as `u+w` or `755`, touches nothing.
pub(super) fn mode(command: &Invocation) -> Touched {
    let mode = command.arguments.iter().find(|word| !word.is_option()).and_then(Word::literal);
    let mode = mode.unwrap_or_default();
    let octal = mode.trim_start_matches('0');
    let opens = octal.len() == 3 && octal.starts_with('7') && octal.bytes().all(|b| b.is_ascii_digit())
        || mode.contains('+') && !mode.contains(['-', '=']);
    let operands = command.sort().operands;
    Touched::files(if opens { Vec::new() } else { all(operands, Act::Whole) })
}

/// Folders that are handed to a container.
pub(super) fn mounted(command: &Invocation) -> Touched {
    let mut files = every(command.arguments);
    for word in command.arguments.iter().filter(|word| !word.lossy().ends_with(":ro")) {
        let text = word.lossy();
        let host = text.split_once(':').map(|(host, _)| host.rsplit('=').next().unwrap_or(host).chars().count());
        let bits = host.map(|length| word.bits[..length.min(word.bits.len())].to_vec());
        files.extend(bits.map(|bits| (Word { bits, ..Word::default() }, Act::Into)));
        // `--mount type=bind,src=folder,dst=…`
        for part in word.bits.split(|bit| *bit == Bit::Char(',')) {
            let part = Word { bits: part.to_vec(), ..Word::default() };
            let part = if part.starts_with("--mount=") { part.after(8) } else { part };
            if part.starts_with("src=") || part.starts_with("source=") {
                files.extend(part.past('=').map(|host| (host, Act::Into)));
            }
        }
    }
    Touched::files(files)
}

pub(super) const EDITOR: &str = "-R -c= --cmd= -u= -w= -W=";

/// Editors write the files they open, and what their commands name.
pub(super) fn opened(command: &Invocation) -> Touched {
    let sorted = command.sort();
    let plus = sorted.operands.iter().copied().filter(|word| word.starts_with("+"));
    let commands = sorted.values(&["-c", "--cmd", "-w", "-W"]).chain(plus);
    let mut programs: Vec<String> = commands.map(Word::lossy).collect();
    let looks = (command.name == "view" || sorted.has(&["-R"])) && programs.is_empty();
    programs.extend(command.simple.script.clone());
    Touched { files: if looks { Vec::new() } else { all(sorted.operands, Act::Write) }, programs, ..Touched::default() }
}
