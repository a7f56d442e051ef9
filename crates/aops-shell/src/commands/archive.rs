//! Archives and compressed files: listing and printing them reads; what they hold is hidden, where it goes is not.

use super::command::{Act, Class, Invocation, Touched, all, every};
use crate::syntax::{Bit, Word};

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

/// `unzip` reads if it lists, tests or prints.
pub(super) fn unzip(command: &Invocation) -> Class {
    let reads = command.sorted_by(&["-lptvzZqch12C -x="])?.has(&["-l", "-p", "-t", "-v", "-z", "-Z", "-c"]);
    command.reads_if(reads, "")
}

/// `gzip` reads if it prints, lists or tests; else it replaces the file. Without a file it is a filter.
pub(super) fn gzip(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    let prints = sorted.has(&["-c", "-l", "-t", "--stdout", "--to-stdout", "--list", "--test"]);
    command.reads_if(prints || sorted.operands.is_empty(), "")
}

/// What an archive is unpacked into; for `tar` also what it is packed into.
pub(super) fn unpacked(command: &Invocation) -> Touched {
    let name = command.name;
    let is_tar = name.ends_with("tar");
    let mut arguments = command.arguments.to_vec();
    if let Some(first) = arguments.first_mut().filter(|first| is_tar && !first.starts_with("-")) {
        // `tar xf a.tar`: the old way to write options.
        first.bits.insert(0, Bit::Char('-'));
    }
    let options = match name {
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
