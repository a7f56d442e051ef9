//! What each command does with the files it is given.
//!
//! Invariant: a name not in these tables may write every argument it has.

use super::operand::sort;
use super::{Act, Hidden, code, git, moved, reader};
use crate::command_line::{Simple, Word, found};

/// Commands that run what arrives on standard input in ways of their own.
const SCRIPTED: [&str; 8] = ["at", "batch", "crontab", "make", "gmake", "just", "ssh", "gdb"];

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
        "rm" | "rmdir" | "unlink" | "shred" | "srm" | "trash" | "trash-put" | "grm" | "rimraf" | "mount"
        | "umount" | "bindfs" | "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "xattr" | "chflags"
        | "gchmod" => all(&operands(), Act::Whole),
        "truncate" | "touch" | "mkdir" | "mkfifo" | "mknod" | "tee" | "sponge" => {
            all(&operands(), Act::Write)
        }
        "docker" | "podman" | "nerdctl" => moved::mounted(arguments),
        "tar" | "gtar" | "bsdtar" | "unzip" | "cpio" => moved::unpacked(name, arguments),
        "dd" => arguments.iter().filter(|w| w.starts_with("of=")).map(|w| (w.after(3), Act::Write)).collect(),
        "sed" | "gsed" => edited(arguments, hidden),
        "uniq" => second(arguments, &["-f", "-s", "-w"]),
        "xxd" => second(arguments, &["-c", "-g", "-l", "-o", "-s", "-n"]),
        "yq" if !sort(arguments, &[]).has(&["-i", "--inplace", "--in-place"]) => Vec::new(),
        "find" | "gfind" => return swept(simple),
        "git" => git::touched(arguments).into_iter().chain(patch(simple)).collect(),
        "patch" | "apply_patch" => anything(arguments).into_iter().chain(patch(simple)).collect(),
        _ => anything(arguments),
    })
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
fn edited(arguments: &[Word], hidden: &mut Vec<Hidden>) -> Vec<(Word, Act)> {
    let sorted = sort(arguments, &["-e", "-f", "--expression", "--file"]);
    let mut scripts = sorted.given(&["-e", "--expression"]);
    let mut files = sorted.operands.clone();
    if sorted.given(&["-e", "-f", "--expression", "--file"]).is_empty() && !files.is_empty() {
        scripts.push(files.remove(0));
    }
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

fn patch(simple: &Simple) -> Vec<(Word, Act)> {
    let applies = simple.words.iter().any(|word| word.is("apply") || word.is("am"))
        || simple.name().is_some_and(|name| name.contains("patch"));
    let script = simple.script.as_deref().filter(|_| applies).unwrap_or_default();
    git::patched(script).into_iter().map(|file| (file, Act::Write)).collect()
}
