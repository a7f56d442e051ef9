//! Commands that put files somewhere: copies, links, mounts, archives.

use super::Act;
use super::files::{all, anything};
use super::operand::sort;
use crate::shell::syntax::{Bit, Word};

/// Sources and where they go: the last operand or `-t`. What lands in a folder has the source's name.
pub(super) fn copied(name: &str, arguments: &[Word], source: Act) -> Vec<(Word, Act)> {
    let sorted = sort(arguments, &["-t", "--target-directory"]);
    let mut sources = sorted.operands.clone();
    let given = sorted.given(&["-t", "--target-directory"]).into_iter().next();
    let into = given.is_some();
    let Some(target) = given.or_else(|| sources.pop()) else { return Vec::new() };
    let mut files = all(&sources, source);
    let whole = matches!(name, "mv" | "gmv" | "ln" | "gln" | "ditto")
        || sorted.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    let renames = sorted.has(&["-T", "--no-target-directory"]) || name == "ditto";
    for word in &sources {
        let inside = word.last_part();
        let mirrored = inside.is(".") || (name == "rsync" && word.lossy().ends_with('/'));
        if mirrored || renames && whole && name != "mv" {
            let deletes = sorted.options.iter().any(|option| option.starts_with("--del"));
            files.push((target.clone(), if deletes { Act::Whole } else { Act::Merge }));
        }
        if whole && !mirrored {
            files.push((inside.from_folder(&target), Act::Merge));
        }
        files.push((inside.from_folder(&target), Act::Write));
    }
    if whole && !into && sources.len() == 1 {
        files.push((target.clone(), Act::Become));
    }
    files.push((target, Act::Write));
    files
}

/// Folders of ours handed to a container.
pub(super) fn mounted(arguments: &[Word]) -> Vec<(Word, Act)> {
    let mut files = anything(arguments);
    for word in arguments.iter().filter(|word| !word.lossy().ends_with(":ro")) {
        let text = word.lossy();
        let host =
            text.split_once(':').map(|(host, _)| host.rsplit('=').next().unwrap_or(host).chars().count());
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
    files
}

pub(super) fn linked(arguments: &[Word]) -> Vec<(Word, Act)> {
    let sorted = sort(arguments, &["-t", "--target-directory"]);
    if sorted.operands.len() == 1 && sorted.given(&["-t"]).is_empty() {
        let only = &sorted.operands[0];
        return vec![(only.last_part(), Act::Write), (only.clone(), Act::Copy)];
    }
    // A second hard name is a way to write unseen; a symbolic one is looked through later.
    let source = if sorted.has(&["-s", "--symbolic"]) { Act::Copy } else { Act::Write };
    let mut files = copied("ln", arguments, source);
    if sorted.has(&["-n", "-T", "--no-dereference", "--no-target-directory"]) {
        files.extend(sorted.operands.last().map(|last| (last.clone(), Act::Whole)));
    }
    files
}

/// Archives: what they hold is hidden, where it goes is not.
pub(super) fn unpacked(name: &str, arguments: &[Word]) -> Vec<(Word, Act)> {
    let mut arguments = arguments.to_vec();
    if let Some(first) =
        arguments.first_mut().filter(|first| name.ends_with("tar") && !first.starts_with("-"))
    {
        // `tar xf a.tar`: the old way to write options.
        first.bits.insert(0, Bit::Char('-'));
    }
    let arguments = &arguments[..];
    let sorted = sort(
        arguments,
        &["-C", "--directory", "-d", "-f", "--file", "-x", "-o", "-D"].map(|option| match (name, option) {
            ("unzip", "-f" | "-x" | "-o" | "-D")
            | ("cpio", "-d")
            | ("tar" | "gtar" | "bsdtar", "-x" | "-o" | "-d" | "-D") => "",
            _ => option,
        }),
    );
    let bundle = arguments.first().map(Word::lossy).unwrap_or_default();
    let bundled = name.ends_with("tar") && !bundle.starts_with("--") && bundle.contains('x');
    let extracts = !name.ends_with("tar") || bundled || sorted.has(&["-x", "--extract", "--get"]);
    let mut files = Vec::new();
    if !extracts {
        let removes = sorted.has(&["--remove-files"]);
        files.extend(sorted.operands.iter().filter(|_| removes).map(|file| (file.clone(), Act::Whole)));
        files.extend(all(&sorted.given(&["-f", "--file"]), Act::Write));
        return files;
    }
    let folders = sorted.given(&["-C", "--directory", "-d", "-D"]);
    let folder = folders.first().cloned().unwrap_or_else(|| Word::of("."));
    for member in &sorted.operands {
        files.push((member.from_folder(&folder), Act::Write));
    }
    files.push((folder, Act::Into));
    files
}

/// `7z x -oFOLDER archive members`
pub(super) fn unpacked_by_7z(arguments: &[Word]) -> Vec<(Word, Act)> {
    let extracts = arguments.iter().any(|word| word.is("x") || word.is("e"));
    if !extracts {
        return anything(arguments);
    }
    let folder = arguments.iter().find(|word| word.starts_with("-o")).map(|word| word.after(2));
    let folder = folder.unwrap_or_else(|| Word::of("."));
    let members = arguments.iter().filter(|word| !word.is_option());
    let mut files: Vec<(Word, Act)> =
        members.map(|member| (member.from_folder(&folder), Act::Write)).collect();
    files.push((folder, Act::Into));
    files
}
