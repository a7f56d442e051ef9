//! Commands that read or write files by their operands: copies, links, modes, mounts, editors; archives, where what they
//! hold is hidden but where it goes is not; `tee`, `dd`, `date` and others.

use super::command::{Act, Class, Files, Invocation, Touched, all, every, is_nowhere};
use super::options::shown;
use super::programs;
use crate::effect::Effect;
use crate::syntax::{Bit, Word};

pub(super) const COPY: &str = "-rRaTsn -t= --target-directory= --recursive --archive --no-target-directory --symbolic \
    --no-dereference --del --delete";

/// The same for commands that know no `-t FOLDER`: `rsync -rt a b` keeps times.
pub(super) const NO_TARGET: &str = "-rRaTsn --recursive --archive --del --delete";

pub(super) fn copied(command: &Invocation) -> Touched {
    let moves = matches!(command.name, "mv" | "gmv");
    Touched::files(put(command, if moves { Act::Whole } else { Act::Copy }))
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

/// `tar` reads if it only lists.
pub(super) fn tar(command: &Invocation) -> Class {
    let first = command.arguments.first().filter(|word| word.is_firm()).map(Word::lossy);
    let letters = first.as_deref().map(|text| text.trim_start_matches('-')).unwrap_or_default();
    let lists = letters.contains('t') && letters.chars().all(|c| "tvzjJaf".contains(c));
    // `host:archive` is fetched by a program of its own.
    let remote = command.arguments.iter().any(|word| word.lossy().contains(':'));
    let rest = Invocation { arguments: command.arguments.get(1..).unwrap_or_default(), ..*command };
    command.reads_if(lists && !remote, letters)?;
    rest.sorted_by(&["-tvzjJa -f= -C= --file= --verbose --gzip --wildcards --strip-components= --exclude="])?;
    command.reads_if(true, "")
}

/// `gzip` reads if it prints, lists or tests; else it replaces the file. Without a file it is a filter.
pub(super) fn gzip(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    let prints = sorted.has(&["-c", "-l", "-t", "--stdout", "--to-stdout", "--list", "--test"]);
    command.reads_if(prints || sorted.operands.is_empty(), "")
}

/// What an archive is unpacked into; for `tar` also what it is packed into.
pub(super) fn unpacked(command: &Invocation) -> Touched {
    let is_tar = command.name.ends_with("tar");
    let mut arguments = command.arguments.to_vec();
    if let Some(first) = arguments.first_mut().filter(|first| is_tar && !first.starts_with("-")) {
        // `tar xf a.tar`: the old way to write options.
        first.bits.insert(0, Bit::Char('-'));
    }
    let options = match command.name {
        "unzip" => "-C= --directory= -d= --file=",
        "cpio" => "-C= --directory= -f= --file= -x= -o= -D=",
        _ => "-C= --directory= -f= --file= -x --extract --get --remove-files",
    };
    let sorted = Invocation { arguments: &arguments, ..*command }.sort_by(&[options]);
    let bundle = arguments.first().map(Word::lossy).unwrap_or_default();
    let bundled = is_tar && !bundle.starts_with("--") && bundle.contains('x');
    let extracts = !is_tar || bundled || sorted.has(&["-x", "--extract", "--get"]);
    if !extracts {
        let removed = sorted.operands.iter().copied().filter(|_| sorted.has(&["--remove-files"]));
        let mut files = all(removed, Act::Whole);
        files.extend(all(sorted.values(&["-f", "--file"]), Act::Write));
        return Touched::files(files);
    }
    let folder = sorted.values(&["-C", "--directory", "-d", "-D"]).next();
    into(sorted.operands.iter().copied(), folder.cloned())
}

/// `7z x -oFOLDER archive members`
pub(super) fn unpacked_by_7z(command: &Invocation) -> Touched {
    if !command.arguments.iter().any(|word| word.is("x") || word.is("e")) {
        return Touched::files(every(command.arguments));
    }
    let folder = command.arguments.iter().find(|word| word.starts_with("-o")).map(|word| word.after(2));
    into(command.arguments.iter().filter(|word| !word.is_option()), folder)
}

fn into<'w>(members: impl Iterator<Item = &'w Word>, folder: Option<Word>) -> Touched {
    let folder = folder.unwrap_or_else(|| Word::of("."));
    let mut files: Vec<_> = members.map(|member| (member.from_folder(&folder), Act::Write)).collect();
    files.push((folder, Act::Into));
    Touched::files(files)
}

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

/// A `+` begins a command of its own.
pub(super) fn less(command: &Invocation) -> Class {
    command.unless(command.sorted()?.operands.into_iter().find(|word| word.starts_with("+")))
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
    Touched { files, lines: programs::lines(&command.simple.words), ..Touched::default() }
}
