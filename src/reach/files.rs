//! What each command does with the files it is given.
//!
//! Invariant: a name not in these tables may write every argument it has.

use super::operand::sort;
use super::{Act, code, git};
use crate::command_line::{Bit, Simple, Word, found};

/// Commands that write no file named by their arguments, however they are called.
static READERS: &[&str] = &[
    "[",
    "ack",
    "ag",
    "alias",
    "apropos",
    "arch",
    "aspell",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "bat",
    "batcat",
    "bc",
    "bg",
    "break",
    "cal",
    "cat",
    "cd",
    "chdir",
    "cksum",
    "clear",
    "cloc",
    "cmp",
    "colordiff",
    "column",
    "comm",
    "continue",
    "cut",
    "date",
    "declare",
    "delta",
    "df",
    "diff",
    "diff3",
    "dig",
    "dirname",
    "dirs",
    "disown",
    "du",
    "echo",
    "egrep",
    "exa",
    "exit",
    "expand",
    "export",
    "expr",
    "eza",
    "factor",
    "false",
    "fg",
    "fgrep",
    "file",
    "fmt",
    "fold",
    "free",
    "getconf",
    "getent",
    "getopts",
    "glow",
    "grep",
    "groups",
    "hash",
    "hd",
    "head",
    "help",
    "hexdump",
    "history",
    "host",
    "hostname",
    "id",
    "iconv",
    "jobs",
    "join",
    "jq",
    "kill",
    "killall",
    "ldd",
    "less",
    "let",
    "local",
    "locate",
    "logname",
    "look",
    "ls",
    "lsb_release",
    "lsof",
    "man",
    "md5",
    "md5sum",
    "mdfind",
    "more",
    "most",
    "nl",
    "nm",
    "nproc",
    "numfmt",
    "objdump",
    "od",
    "paste",
    "pgrep",
    "pidof",
    "ping",
    "pkill",
    "popd",
    "pr",
    "printenv",
    "printf",
    "ps",
    "pstree",
    "pushd",
    "pwd",
    "read",
    "readelf",
    "readlink",
    "readonly",
    "realpath",
    "return",
    "rev",
    "rg",
    "sdiff",
    "seq",
    "set",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shasum",
    "shellcheck",
    "shift",
    "shopt",
    "size",
    "sleep",
    "sort",
    "source",
    ".",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "times",
    "tldr",
    "tokei",
    "top",
    "tput",
    "tr",
    "tree",
    "true",
    ":",
    "tsort",
    "tty",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "uname",
    "unexpand",
    "unset",
    "uptime",
    "users",
    "view",
    "vmstat",
    "w",
    "wait",
    "wc",
    "whatis",
    "whereis",
    "which",
    "who",
    "whoami",
    "yes",
    "zcat",
    "zgrep",
    "zless",
    "ug",
    "ugrep",
    "diffstat",
    "bd",
    "pbcopy",
    "xclip",
    "wl-copy",
    "test-path",
    "trap",
    "env",
    "command",
];

/// Options by which a reader writes after all.
static OUTPUTS: &[(&str, &[&str])] = &[
    ("sort", &["-o", "--output"]),
    ("tree", &["-o", "--output"]),
    ("less", &["-o", "-O", "--log-file", "--LOG-FILE"]),
    ("diff", &["--output"]),
    ("sdiff", &["-o", "--output"]),
    ("base64", &["-o", "--output"]),
    ("iconv", &["-o", "--output"]),
    ("time", &["-o", "--output"]),
    ("rg", &["--pre"]),
    (
        "curl",
        &[
            "-o",
            "--output",
            "-D",
            "--dump-header",
            "-c",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
        ],
    ),
    ("wget", &["-O", "--output-document", "-o", "--output-file", "-a", "--append-output"]),
    ("strace", &["-o", "--output"]),
];

/// What a simple command touches; `None` if it only reads. Program text it carries goes to `hidden`.
pub(super) fn touched(simple: &Simple, hidden: &mut Vec<String>) -> Option<Vec<(Word, Act)>> {
    let arguments = &simple.words[1..];
    let Some(name) = simple.name().filter(|_| !simple.function) else { return Some(anything(arguments)) };
    let lower = name.to_ascii_lowercase();
    if let Some(outputs) = outputs(&lower, arguments) {
        return Some(outputs);
    }
    if READERS.contains(&lower.as_str()) {
        return None;
    }
    if let Some(files) = code::interpreted(&lower, simple, hidden) {
        return Some(files.into_iter().map(|file| (file, Act::Write)).collect());
    }
    Some(match lower.as_str() {
        "cp" | "gcp" | "scp" | "install" | "ditto" => copied(arguments, Act::Copy, false),
        "mv" | "gmv" => copied(arguments, Act::Whole, false),
        "rsync" => copied(arguments, Act::Copy, true),
        "ln" | "link" | "gln" => linked(arguments),
        "rm" | "rmdir" | "unlink" | "shred" | "srm" | "trash" | "trash-put" | "grm" | "rimraf" => {
            all(&sort(arguments, &["-n", "-s"]).operands, Act::Whole)
        }
        "truncate" | "touch" | "mkdir" | "mkfifo" | "mknod" | "tee" | "sponge" => {
            all(&sort(arguments, &["-s", "-r", "-d", "-t", "-m", "--size", "--mode"]).operands, Act::Write)
        }
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "xattr" | "chflags" | "gchmod" => {
            all(&sort(arguments, &["--reference"]).operands, Act::Whole)
        }
        "dd" => arguments.iter().filter(|w| w.starts_with("of=")).map(|w| (w.after(3), Act::Write)).collect(),
        "sed" | "gsed" => edited(arguments, hidden),
        "uniq" | "xxd" => all(
            sort(arguments, &["-f", "-s", "-w", "-l", "-c", "-o"]).operands.get(1..).unwrap_or(&[]),
            Act::Write,
        ),
        "yq" => {
            let sorted = sort(arguments, &[]);
            if sorted.has(&["-i", "--inplace", "--in-place"]) {
                all(&sorted.operands, Act::Write)
            } else {
                Vec::new()
            }
        }
        "tar" | "gtar" | "bsdtar" | "unzip" | "7z" | "cpio" => unpacked(&lower, arguments),
        "find" | "gfind" => return swept(simple),
        "git" => git::touched(arguments).into_iter().chain(patch(simple)).collect(),
        "patch" | "apply_patch" => {
            let sorted = sort(arguments, &["-i", "-o", "-d", "-p", "--directory"]);
            let mut files = all(&sorted.operands, Act::Write);
            files.extend(sorted.given(&["-o"]).into_iter().map(|file| (file, Act::Write)));
            files.extend(patch(simple));
            files
        }
        _ => anything(arguments),
    })
}

fn all(words: &[Word], act: Act) -> Vec<(Word, Act)> {
    words.iter().map(|word| (word.clone(), act)).collect()
}

/// Nobody knows this command: each argument, and each value after `=` or `:` in one.
fn anything(arguments: &[Word]) -> Vec<(Word, Act)> {
    let mut files = Vec::new();
    for word in arguments {
        let parts = [Some(word.clone()), word.past('='), word.past(':')];
        files.extend(parts.into_iter().flatten().map(|word| (word, Act::Write)));
    }
    files
}

/// Files a reader writes by option; `None` if it has no such option or none is given.
fn outputs(name: &str, arguments: &[Word]) -> Option<Vec<(Word, Act)>> {
    let (_, options) = OUTPUTS.iter().find(|(known, _)| *known == name)?;
    let sorted = sort(arguments, options);
    let mut files = all(&sorted.given(options), Act::Write);
    if matches!(name, "curl" | "wget") {
        let folders = sort(arguments, &["--output-dir", "-P", "--directory-prefix"]);
        let here = sorted.has(&["-O", "--remote-name"]) || name == "wget" && files.is_empty();
        let folders = folders.given(&["--output-dir", "-P", "--directory-prefix"]);
        let folder = folders.first().cloned().unwrap_or_else(|| Word::of("."));
        let names = sorted.operands.iter().filter(|_| here).map(Word::last_part);
        files.extend(names.map(|name| (name.from_folder(&folder), Act::Write)));
        return Some(files);
    }
    (!files.is_empty()).then_some(files)
}

/// Sources and where they go: the last operand or `-t`. What lands in a folder has the source's name.
fn copied(arguments: &[Word], source: Act, mirrors: bool) -> Vec<(Word, Act)> {
    let sorted = sort(
        arguments,
        &[
            "-t",
            "--target-directory",
            "-S",
            "--suffix",
            "-m",
            "-o",
            "-g",
            "--mode",
            "--owner",
            "--group",
            "-e",
            "--exclude",
            "-P",
            "-i",
            "-F",
        ],
    );
    let mut sources = sorted.operands.clone();
    let given = sorted.given(&["-t", "--target-directory"]).into_iter().next();
    let Some(target) = given.or_else(|| sources.pop()) else { return Vec::new() };
    let mut files = all(&sources, source);
    for word in &sources {
        let inside = word.last_part();
        if inside.is(".") || (mirrors && word.lossy().ends_with('/')) {
            let deletes = sorted.options.iter().any(|option| option.starts_with("--del"));
            files.push((target.clone(), if deletes { Act::Whole } else { Act::Into }));
        }
        files.push((inside.from_folder(&target), Act::Write));
    }
    files.push((target, Act::Write));
    files
}

fn linked(arguments: &[Word]) -> Vec<(Word, Act)> {
    let sorted = sort(arguments, &["-t", "--target-directory", "-S"]);
    if sorted.operands.len() == 1 && sorted.given(&["-t"]).is_empty() {
        let only = &sorted.operands[0];
        return vec![(only.last_part(), Act::Write), (only.clone(), Act::Copy)];
    }
    // A second hard name is a way to write unseen; a symbolic one is looked through later.
    let source = if sorted.has(&["-s", "--symbolic"]) { Act::Copy } else { Act::Write };
    copied(arguments, source, false)
}

/// `sed`: in place, or by its `w` command.
fn edited(arguments: &[Word], hidden: &mut Vec<String>) -> Vec<(Word, Act)> {
    let sorted = sort(arguments, &["-e", "-f", "--expression", "--file", "-l"]);
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
                hidden.extend(words.peek().map(|file| (*file).to_owned()));
            }
        }
    }
    let in_place = sorted
        .options
        .iter()
        .any(|o| o.starts_with("--in-place") || (!o.starts_with("--") && o.contains('i')));
    if in_place { all(&files, Act::Write) } else { Vec::new() }
}

/// Archives: what they hold is hidden, where it goes is not.
fn unpacked(name: &str, arguments: &[Word]) -> Vec<(Word, Act)> {
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
        &["-C", "--directory", "-d", "-f", "--file", "-x", "-o"].map(|option| match (name, option) {
            ("unzip" | "7z", "-f" | "-x" | "-o") | ("tar" | "gtar" | "bsdtar", "-x" | "-o" | "-d") => "",
            _ => option,
        }),
    );
    let bundle = arguments.first().map(Word::lossy).unwrap_or_default();
    let bundled = name.ends_with("tar") && !bundle.starts_with("--") && bundle.contains('x');
    let extracts = !name.ends_with("tar") || bundled || sorted.has(&["-x", "--extract", "--get"]);
    let mut files = Vec::new();
    if !extracts {
        return all(&sorted.given(&["-f", "--file"]), Act::Write);
    }
    let folders = sorted.given(&["-C", "--directory", "-d"]);
    let folder = folders.first().cloned().unwrap_or_else(|| Word::of("."));
    for member in &sorted.operands {
        files.push((member.from_folder(&folder), Act::Write));
    }
    files.push((folder, Act::Into));
    files
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
