//! What each command does with the files it is given.
//!
//! Invariant: a name not in these tables may write every argument it has.

use super::operand::sort;
use super::{Act, Hidden, code, git, inner, moved, reader};
use crate::shell::syntax::{Simple, Word, found};

/// Commands that run what arrives on standard input in ways of their own.
#[rustfmt::skip]
const SCRIPTED: [&str; 32] = [
    "at", "batch", "crontab", "make", "gmake", "just", "ssh", "gdb", "ed", "red", "ex", "vi", "vim", "nvim", "view",
    "emacs", "m4", "dc", "bc", "psql", "mysql", "duckdb", "gnuplot", "ftp", "sftp", "lftp", "tmux", "screen", "irb",
    "ghci", "jshell", "octave",
];

/// Commands whose arguments are no lines.
#[rustfmt::skip]
const KNOWN: [&str; 40] = [
    "cp", "gcp", "scp", "install", "ditto", "mv", "gmv", "rsync", "ln", "link", "gln", "rm", "rmdir", "unlink", "shred",
    "chmod", "chown", "chgrp", "truncate", "touch", "mkdir", "mkfifo", "mknod", "tee", "sponge", "dd", "sed", "gsed",
    "uniq", "xxd", "yq", "find", "gfind", "patch", "apply_patch", "tar", "gtar", "bsdtar", "unzip", "vim",
];

/// What a simple command touches; `None` if it only reads. Program text it carries goes to `hidden`.
pub(super) fn touched(simple: &Simple, hidden: &mut Vec<Hidden>) -> Option<Vec<(Word, Act)>> {
    let arguments = &simple.words[1..];
    let Some(name) = simple.name().filter(|_| !simple.function) else { return Some(anything(arguments)) };
    let lower = name.to_ascii_lowercase();
    if let Some(outputs) = reader::outputs(&lower, arguments) {
        return Some(outputs);
    }
    if reader::is_reader(&lower) {
        return None;
    }
    if let Some(files) = code::interpreted(&lower, simple, hidden) {
        return Some(files.into_iter().map(|file| (file, Act::Write)).collect());
    }
    if SCRIPTED.contains(&lower.as_str()) {
        hidden.extend(simple.script.clone().map(Hidden::Program));
    }
    by_name(&lower, simple, hidden)
}

/// What each command does. Values of options count as operands wherever that is harmless: which options take one
/// differs between systems.
fn by_name(name: &str, simple: &Simple, hidden: &mut Vec<Hidden>) -> Option<Vec<(Word, Act)>> {
    let arguments = &simple.words[1..];
    let operands = || sort(arguments, &[]).operands;
    Some(match name {
        "cp" | "gcp" | "scp" | "install" | "ditto" | "rsync" => moved::copied(name, arguments, Act::Copy),
        "mv" | "gmv" => moved::copied(name, arguments, Act::Whole),
        "ln" | "link" | "gln" => moved::linked(arguments),
        "chmod" | "gchmod" if opens_up(arguments) => Vec::new(),
        "rm" | "rmdir" | "unlink" | "shred" | "srm" | "trash" | "trash-put" | "grm" | "rimraf" | "mount"
        | "umount" | "bindfs" | "chown" | "chgrp" | "chattr" | "setfacl" | "xattr" | "chflags" | "chmod"
        | "gchmod" => all(&operands(), Act::Whole),
        "truncate" | "touch" | "mkdir" | "mkfifo" | "mknod" | "tee" | "sponge" => {
            all(&operands(), Act::Write)
        }
        "docker" | "podman" | "nerdctl" => moved::mounted(arguments),
        "tar" | "gtar" | "bsdtar" | "unzip" | "cpio" => moved::unpacked(name, arguments),
        "7z" | "7za" | "7zr" | "7zz" => moved::unpacked_by_7z(arguments),
        "dd" => arguments.iter().filter(|w| w.starts_with("of=")).map(|w| (w.after(3), Act::Write)).collect(),
        "sed" | "gsed" => edited(simple, hidden),
        "vi" | "vim" | "nvim" | "view" | "ex" | "ed" | "red" => opened(name, arguments, hidden),
        // What runs there reaches nothing here; what may run here is cut on its own.
        "ssh" => all(&sort(arguments, &["-E"]).given(&["-E"]), Act::Write),
        "uniq" => second(arguments, &["-f", "-s", "-w"]),
        "xxd" => second(arguments, &["-c", "-g", "-l", "-o", "-s", "-n"]),
        "yq" if !sort(arguments, &[]).has(&["-i", "--inplace", "--in-place"]) => Vec::new(),
        "find" | "gfind" => return swept(simple),
        "git" => git::touched(simple).into_iter().chain(git::patched(simple)).collect(),
        "patch" | "apply_patch" => anything(arguments).into_iter().chain(git::patched(simple)).collect(),
        _ => {
            hidden.extend(simple.script.clone().filter(|text| code::writes(text)).map(Hidden::Program));
            let prose = |word: &&Word| inner::goes_elsewhere(name) && inner::has_blanks(word);
            anything(&arguments.iter().filter(|word| !prose(word)).cloned().collect::<Vec<_>>())
        }
    })
}

/// Lines in the arguments of a command that nobody knows, or that is known to run some.
pub(super) fn inner(simple: &Simple) -> Vec<String> {
    let name = simple.name().filter(|_| !simple.function).map(str::to_ascii_lowercase);
    match name.as_deref() {
        Some("git") => git::programs(&simple.words[1..]),
        Some(known) if KNOWN.contains(&known) || reader::is_reader(known) || code::is_interpreter(known) => {
            Vec::new()
        }
        other => inner::lines(other, &simple.words),
    }
}

/// Files this command copies into the file it writes.
pub(super) fn carried_off(simple: &Simple) -> impl Iterator<Item = &Word> {
    let copies = matches!(simple.name(), Some("cat" | "head" | "tail" | "tac" | "pv" | "tee"));
    let copies = copies && (!simple.writes.is_empty() || simple.name() == Some("tee"));
    simple.words.iter().skip(1).chain(&simple.arriving).filter(move |_| copies)
}

/// Editors: they write the files they open, and what their commands name.
fn opened(name: &str, arguments: &[Word], hidden: &mut Vec<Hidden>) -> Vec<(Word, Act)> {
    let sorted = sort(arguments, &["-c", "--cmd", "-u", "-w", "-W"]);
    let mut commands = sorted.given(&["-c", "--cmd", "-w", "-W"]);
    commands.extend(sorted.operands.iter().filter(|word| word.starts_with("+")).cloned());
    hidden.extend(commands.iter().map(|word| Hidden::Program(word.lossy())));
    let looks = (name == "view" || sorted.has(&["-R"])) && commands.is_empty();
    if looks { Vec::new() } else { all(&sorted.operands, Act::Write) }
}

/// A mode that takes nothing from the owner: `u+w`, `755`.
fn opens_up(arguments: &[Word]) -> bool {
    let mode = arguments.iter().find(|word| !word.is_option()).and_then(Word::literal).unwrap_or_default();
    let octal = mode.trim_start_matches('0');
    octal.len() == 3 && octal.starts_with('7') && octal.bytes().all(|b| b.is_ascii_digit())
        || mode.contains('+') && !mode.contains(['-', '='])
}

/// The second operand is the output.
fn second(arguments: &[Word], valued: &[&str]) -> Vec<(Word, Act)> {
    all(sort(arguments, valued).operands.get(1..).unwrap_or(&[]), Act::Write)
}

pub(super) fn all(words: &[Word], act: Act) -> Vec<(Word, Act)> {
    words.iter().map(|word| (word.clone(), act)).collect()
}

/// Nobody knows this command: each argument, and each value after `=`, `:` or an option's letter.
pub(super) fn anything(arguments: &[Word]) -> Vec<(Word, Act)> {
    let mut files = Vec::new();
    for word in arguments {
        let glued = (word.is_option() && !word.starts_with("--")).then(|| word.after(2));
        let parts = [Some(word.clone()), word.past('='), word.past(':'), glued];
        files.extend(parts.into_iter().flatten().map(|word| (word, Act::Write)));
    }
    files
}

/// `sed`: in place, or by its `w` command.
fn edited(simple: &Simple, hidden: &mut Vec<Hidden>) -> Vec<(Word, Act)> {
    let arguments = &simple.words[1..];
    let sorted = sort(arguments, &["-e", "-f", "--expression", "--file"]);
    let mut scripts = sorted.given(&["-e", "--expression"]);
    let mut files = sorted.operands.clone();
    if sorted.given(&["-e", "-f", "--expression", "--file"]).is_empty() && !files.is_empty() {
        scripts.push(files.remove(0));
    }
    let programs = sorted.given(&["-f", "--file"]);
    let read = simple.script.clone().filter(|_| !programs.is_empty());
    hidden.extend(
        read.into_iter().chain(programs.into_iter().filter_map(|word| word.said)).map(Hidden::Program),
    );
    for script in &scripts {
        let text = script.lossy();
        let mut words = text.split([' ', ';', '\n', '}']).peekable();
        while let Some(word) = words.next() {
            if word.ends_with(['w', 'W', 'e']) && words.peek().is_some() {
                hidden.extend(words.peek().map(|file| Hidden::Program((*file).to_owned())));
            }
        }
    }
    let in_place =
        sorted.options.iter().any(|o| o.starts_with("--i") || (!o.starts_with("--") && o.contains('i')));
    if in_place { all(&files, Act::Write) } else { Vec::new() }
}

/// `find`: what `-delete` takes, and what `-fprint` writes. Its `-exec` is walked on its own.
fn swept(simple: &Simple) -> Option<Vec<(Word, Act)>> {
    let arguments = &simple.words[1..];
    let mut files = Vec::new();
    if arguments.iter().any(|word| word.is("-delete")) {
        files.extend(found(simple).unwrap_or_default().into_iter().map(|path| (path, Act::Whole)));
    }
    for pair in arguments.windows(2) {
        if ["-fprint", "-fprint0", "-fprintf", "-fls"].iter().any(|option| pair[0].is(option)) {
            files.push((pair[1].clone(), Act::Write));
        }
    }
    (!files.is_empty()).then_some(files)
}
