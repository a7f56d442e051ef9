//! Commands that read or write files by their operands: copies, links, modes, mounts and editors; archives,
//! whose content is hidden but whose target is not; `tee`, `dd`, `date` and others.

use super::command::{Act, Class, Files, Invocation, Touched, all, every, is_nowhere};
use super::options::{WordShape, shape, shown};
use super::programs;
use crate::effect::Effect;
use crate::syntax::{Bit, Word};

pub(super) const COPY: &str = "-rRaTsnl -t= --target-directory= --recursive --archive --no-target-directory --symbolic \
    --no-dereference --del --delete --parents --link";

/// Options of copying commands without `-t FOLDER`: in `rsync -rt a b`, `-t` keeps times.
pub(super) const NO_TARGET: &str = "-rRaTsn --recursive --archive --del --delete --relative --link-dest=";

pub(super) fn copied(command: &Invocation) -> Touched {
    let sorted = command.sort();
    let source = match command.name {
        "mv" | "gmv" => Act::Whole,
        "cp" | "gcp" if sorted.has(&["-l", "--link"]) => HARD_LINK,
        _ => Act::Copy,
    };
    let mut files = put(command, source);
    for folder in sorted.values(&["--link-dest"]) {
        files.push((folder.clone(), HARD_LINK));
        files.extend(held(folder, HARD_LINK));
    }
    Touched::files(files)
}

/// A hard link is a way to write to a file unnoticed.
const HARD_LINK: Act = Act::Write;

/// The sources and their target: the last operand or `-t`. A file that lands in a folder keeps the source's
/// name.
fn put(command: &Invocation, source: Act) -> Files {
    let name = command.name;
    let sorted = command.sort();
    let mut sources = sorted.operands.clone();
    let given = sorted.values(&["-t", "--target-directory"]).next();
    let Some(target) = given.or_else(|| sources.pop()) else { return Vec::new() };
    let mut files = all(sources.iter().copied(), source);
    let whole = matches!(name, "mv" | "gmv" | "ln" | "link" | "gln" | "ditto")
        || sorted.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    let renames = sorted.has(&["-T", "--no-target-directory"]) || name == "ditto";
    let keeps_path = sorted.has(&["--parents", "--relative"]) || name == "rsync" && sorted.has(&["-R"]);
    for word in &sources {
        if whole {
            files.extend(held(word, if source == HARD_LINK { source } else { Act::Copy }));
        }
        if keeps_path {
            let path = word.bits.iter().copied().skip_while(|bit| *bit == Bit::Char('/')).collect();
            let path = Word { bits: path, ..Word::default() }.from_folder(target);
            files.extend([(path.clone(), Act::Write), (path, Act::Merge)]);
        }
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

/// What a folder that is taken as a whole may contain, two levels deep.
fn held(folder: &Word, act: Act) -> Files {
    let below = |depth: usize| {
        let bits = [Bit::Char('/'), Bit::Star].repeat(depth);
        Word { bits: [&folder.bits[..], &bits].concat(), ..folder.clone() }
    };
    vec![(below(1), act), (below(2), act)]
}

/// Programs that print a file's content, perhaps in another form.
#[rustfmt::skip]
static DUMPING: &[&str] = &[
    "awk", "base32", "base64", "basenc", "bzip2", "cat", "curl", "cut", "dd", "fold", "gzip", "head", "hexdump", "iconv", "lz4", "nl", "od",
    "openssl", "perl", "pv", "rev", "sed", "sort", "strings", "tac", "tail", "tee", "tr", "uniq", "uuencode", "xxd", "xz", "zstd",
];

/// Programs that save a file's content in a file of their own.
static KEEPING: &[&str] = &[
    "7z", "7za", "7zr", "7zz", "ar", "bsdtar", "bzip2", "cpio", "csplit", "dd", "ditto", "gtar", "gzip",
    "llvm-objcopy", "lz4", "objcopy", "pax", "rar", "split", "strip", "tar", "tee", "upx", "xz", "zip",
    "zstd",
];

/// Files that get copied: what a program dumps into a kept output, and what an archiver packs.
pub(super) fn copies(command: &Invocation) -> Files {
    let name = command.name;
    let simple = command.simple;
    let keeps = KEEPING.contains(&name);
    let is_kept = !simple.writes.is_empty()
        || command.arguments.iter().any(|word| word.starts_with("-o") || word.starts_with("--output"));
    if !(keeps || is_kept && DUMPING.contains(&name)) {
        return Vec::new();
    }
    let folder = command.sort_by(&["-C= --directory="]).values(&["-C", "--directory"]).next().cloned();
    let links = |word: &Word| {
        word.is("--link") || word.is_option() && !word.starts_with("--") && word.lossy().contains('l')
    };
    let act = match name {
        "cpio" | "pax" if command.arguments.iter().any(links) => HARD_LINK,
        _ => Act::Copy,
    };
    let mut files = Vec::new();
    for word in command
        .arguments
        .iter()
        .chain(&simple.arriving)
        .flat_map(|word| std::iter::once(word).chain(&word.named))
    {
        let address = word.starts_with("file://").then(|| word.after(7));
        let parts = [
            Some(word.clone()),
            word.past('='),
            address,
            folder.as_ref().map(|folder| word.from_folder(folder)),
        ];
        for part in parts.into_iter().flatten() {
            files.extend(held(&part, act).into_iter().filter(|_| keeps));
            files.push((part, act));
        }
    }
    files
}

pub(super) fn linked(command: &Invocation) -> Touched {
    let sorted = command.sort();
    // A symbolic link is followed later.
    let source = if sorted.has(&["-s", "--symbolic"]) { Act::Copy } else { HARD_LINK };
    if let ([only], false) = (&sorted.operands[..], sorted.has(&["-t", "--target-directory"])) {
        return Touched::files(vec![(only.last_part(), Act::Write), ((*only).clone(), source)]);
    }
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

/// Folders that are mounted into a container.
pub(super) fn mounted(command: &Invocation) -> Touched {
    let mut files = every(command.arguments);
    for word in command.arguments.iter().filter(|word| !word.lossy().ends_with(":ro")) {
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
    Touched::files(files)
}

pub(super) const EDITOR: &str = "-R -c= --cmd= -u= -w= -W=";

/// Editors write the files they open and the files that their commands name.
pub(super) fn opened(command: &Invocation) -> Touched {
    let sorted = command.sort();
    let plus = sorted.operands.iter().copied().filter(|word| word.starts_with("+"));
    let commands = sorted.values(&["-c", "--cmd", "-w", "-W"]).chain(plus);
    let mut programs: Vec<String> = commands.map(Word::lossy).collect();
    let looks = (command.name == "view" || sorted.has(&["-R"])) && programs.is_empty();
    programs.extend(command.simple.script.clone());
    Touched {
        files: if looks { Vec::new() } else { all(sorted.operands, Act::Write) },
        programs,
        ..Touched::default()
    }
}

/// The options with which `tar` only lists.
const TAR: &str = "-tvzjJa -f= -C= --list --file= --verbose --gzip --bzip2 --xz --zstd --auto-compress --wildcards \
    --strip-components= --exclude= --full-time --numeric-owner --utc";

/// `tar` reads if it only lists.
pub(super) fn tar(command: &Invocation) -> Class {
    let mut arguments = command.arguments.to_vec();
    if let Some(first) = arguments.first_mut().filter(|first| !first.starts_with("-")) {
        // `tar tf a.tar`: the old option style, where all values follow the letters.
        let text = first.lossy();
        command.reads_if(first.is_firm() && !text.trim_end_matches('f').contains('f'), &text)?;
        first.bits.insert(0, Bit::Char('-'));
    }
    // `tar` fetches `host:archive` by starting another program.
    let remote = arguments.iter().any(|word| word.lossy().contains(':'));
    let first = arguments.first().map(Word::lossy).unwrap_or_default();
    let sorted = Invocation { arguments: &arguments, ..*command }.sort_by(&[TAR]);
    command.reads_if(sorted.odd.is_none() && sorted.has(&["-t", "--list"]) && !remote, &first)
}

/// `xxd` takes each option as a word of its own, and none after a file: `xxd a -i` writes to `-i`.
pub(super) fn xxd(command: &Invocation) -> Class {
    const ALONE: [&str; 15] = [
        "-a", "-b", "-C", "-d", "-E", "-e", "-i", "-p", "-ps", "-plain", "-r", "-u", "-v", "--version",
        "-version",
    ];
    const VALUED: [&str; 7] = ["-c", "-g", "-l", "-n", "-o", "-R", "-s"];
    let mut words = command.arguments.iter();
    let mut files = 0;
    while let Some(word) = words.next() {
        let text = word.lossy();
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'x');
        let glued = text.get(..2).is_some_and(|name| VALUED.contains(&name)) && digits(&text[2..]);
        let known = match shape(word, command.line) {
            _ if files > 0 => false,
            WordShape::Operand => {
                files += 1;
                !word.is_several()
            }
            WordShape::Option if VALUED.contains(&text.as_str()) => words.next().is_some_and(Word::is_firm),
            WordShape::Option => word.is_firm() && (glued || ALONE.contains(&text.as_str())),
            WordShape::Either => false,
        };
        command.reads_if(known, &text)?;
    }
    Ok(Effect::Read)
}

/// `ldd` may run the file it examines, so only files that came with the system are safe.
pub(super) fn ldd(command: &Invocation) -> Class {
    let folders = ["/bin/", "/usr/", "/lib/", "/lib64/", "/sbin/"];
    let known = |word: &&Word| {
        word.is_firm()
            && folders.iter().any(|folder| word.starts_with(folder))
            && !word.lossy().contains("..")
    };
    let sorted = command.sorted()?;
    command.unless(sorted.operands.into_iter().find(|word| !known(word)))
}

/// `bash -n file` only checks the syntax.
pub(super) fn checked(command: &Invocation) -> Class {
    let versioned = matches!(command.arguments, [only] if only.is_firm() && only.is("--version"))
        && matches!(command.name, "bash" | "zsh");
    let checks = matches!(command.arguments, [first, file] if first.is_firm() && first.is("-n") && shape(file, command.line) == WordShape::Operand);
    command.reads_if(versioned || checks, "")
}

/// `gzip` reads if it prints, lists or tests; otherwise it replaces the file. Without a file it is a filter.
pub(super) fn gzip(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    let prints = sorted.has(&["-c", "-l", "-t", "--stdout", "--to-stdout", "--list", "--test"]);
    command.reads_if(prints || sorted.operands.is_empty(), "")
}

/// The folder an archive is unpacked into; for `tar` also the archive that is written.
pub(super) fn unpacked(command: &Invocation) -> Touched {
    let is_tar = command.name.ends_with("tar");
    let mut arguments = command.arguments.to_vec();
    if let Some(first) = arguments.first_mut().filter(|first| is_tar && !first.starts_with("-")) {
        // `tar xf a.tar`: the old option style.
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

/// Any argument may be the folder that an archive is unpacked into.
pub(super) fn unpacked_anywhere(command: &Invocation) -> Touched {
    let mut files = every(command.arguments);
    files.extend(all(command.arguments, Act::Into));
    Touched::files(files)
}

fn into<'w>(members: impl Iterator<Item = &'w Word>, folder: Option<Word>) -> Touched {
    let folder = folder.unwrap_or_else(|| Word::of("."));
    let mut files: Vec<_> = members.map(|member| (member.from_folder(&folder), Act::Write)).collect();
    files.push((folder, Act::Into));
    Touched::files(files)
}

/// `tee` copies standard input to files; with `/dev/null` it only passes it on.
pub(super) fn tee(command: &Invocation) -> Class {
    match command.sorted()?.operands.into_iter().find(|word| !is_nowhere(word)) {
        Some(word) => Err(format!("it writes to `{}`", shown(word))),
        None => Ok(Effect::Read),
    }
}

/// `dd` without `of=` only prints.
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

/// `date` shows a time; an operand without `+` sets the clock.
pub(super) fn date(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    let converts = sorted.has(&["-j"]);
    command.unless(sorted.operands.into_iter().find(|word| !word.starts_with("+") && !converts))
}

/// In `less`, a `+` starts a command of its own, and after a `$` in a word another option may follow.
pub(super) fn less(command: &Invocation) -> Class {
    command.unless(command.arguments.iter().find(|word| word.bits.contains(&Bit::Char('$'))))?;
    command.unless(command.sorted()?.operands.into_iter().find(|word| word.starts_with("+")))
}

/// `yq -i` edits the file.
pub(super) fn yq(command: &Invocation) -> Touched {
    let in_place = command.sort_by(&["-i --inplace --in-place"]).has(&["-i", "--inplace", "--in-place"]);
    Touched::files(if in_place { every(command.arguments) } else { Vec::new() })
}

/// `time`, `strace`: the files they write themselves; otherwise everything that the wrapped command names.
pub(super) fn wrapped(command: &Invocation) -> Touched {
    let written = command.written();
    let files = if written.is_empty() { every(command.arguments) } else { all(&written, Act::Write) };
    Touched { files, lines: programs::lines(&command.simple.words), ..Touched::default() }
}
