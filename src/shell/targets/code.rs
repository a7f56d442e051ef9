//! Programs for interpreters inside a line: what they name counts once they show a sign of writing.

use super::Hidden;
use super::operand::sort;
use crate::shell::syntax::{Simple, Word};

/// Interpreters, and the options after which program text follows.
static INTERPRETERS: &[(&str, &[&str])] = &[
    ("python", &["-c"]),
    ("pypy", &["-c"]),
    ("node", &["-e", "-p", "--eval", "--print"]),
    ("nodejs", &["-e", "-p", "--eval", "--print"]),
    ("bun", &["-e", "-p", "--eval", "--print"]),
    ("deno", &["eval"]),
    ("tsx", &["-e", "--eval"]),
    ("ruby", &["-e"]),
    ("perl", &["-e", "-E"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
    ("luajit", &["-e"]),
    ("osascript", &["-e"]),
    ("rscript", &["-e"]),
    ("julia", &["-e"]),
    ("tclsh", &[]),
    ("expect", &["-c"]),
    ("sqlite3", &["-cmd"]),
    ("awk", &["-v", "-F"]),
    ("gawk", &["-v", "-F"]),
    ("mawk", &["-v", "-F"]),
    ("nawk", &["-v", "-F"]),
];

/// Words without which a program hardly writes. A program may always hide better than this: the tripwire is for that.
const SIGNS: [&str; 45] = [
    "put_contents",
    "| \"",
    "|\"",
    "shell script",
    "write",
    "o_trunc",
    "o_wronly",
    "o_rdwr",
    "o_creat",
    "+<",
    ".once",
    ".output",
    ".backup",
    "mode=",
    "unlink",
    "remove",
    "rename",
    "rmtree",
    "rmsync",
    "fs.rm",
    "truncate",
    "copy",
    "move",
    "chmod",
    "chown",
    "symlink",
    "link(",
    "touch",
    "mkdir",
    "subprocess",
    "system",
    "exec",
    "spawn",
    "popen",
    "dump(",
    "replace(",
    "delete",
    "base64",
    "import(",
    "getattr",
    "append",
    "save",
    ">",
    "install",
    "fileutils",
];

pub(super) fn is_interpreter(name: &str) -> bool {
    interpreter(name).is_some()
}

/// The interpreter this name means, versions aside: `python3.12` is `python`.
fn interpreter(name: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    let bare = name.to_ascii_lowercase();
    let bare = bare.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.iter().find(|(known, _)| *known == bare || *known == name)
}

/// Whatever may be program text: the rest of a bundle behind a letter that takes some, and the next word. `-pe` is both
/// `-p` with `e` and `-p -e`, and only one of them is the program.
fn given(arguments: &[Word], flags: &[&str]) -> Vec<Word> {
    let mut all = sort(arguments, flags).given(flags);
    for (at, word) in arguments.iter().enumerate().filter(|(_, word)| word.is_option()) {
        let text = word.lossy();
        let letters = flags.iter().filter_map(|flag| flag.strip_prefix('-')).filter(|flag| flag.len() == 1);
        if !text.starts_with("--") && letters.clone().any(|letter| text.contains(letter)) {
            all.extend(arguments.get(at + 1).cloned());
        }
    }
    all
}

/// What an interpreter may write: its operands. `None` if it is none; program text with a sign goes to `hidden`.
pub(super) fn interpreted(name: &str, simple: &Simple, hidden: &mut Vec<Hidden>) -> Option<Vec<Word>> {
    let (known, flags) = interpreter(name)?;
    let arguments = &simple.words[1..];
    let sorted = sort(arguments, flags);
    let is_awk = known.ends_with("awk");
    let mut programs: Vec<String> = given(arguments, flags).iter().map(Word::lossy).collect();
    programs.extend(simple.script.clone());
    let mut operands = sorted.operands.clone();
    if is_awk {
        let in_place = arguments.windows(2).any(|pair| pair[0].is("-i") && pair[1].is("inplace"));
        programs.extend(operands.first().map(Word::lossy));
        programs = vec![programs.join("\n")];
        if !in_place {
            operands.clear();
        }
    }
    if *known == "deno" && operands.first().is_some_and(|word| word.is("eval")) {
        programs.extend(operands.iter().map(Word::lossy));
    }
    hidden.extend(programs.into_iter().filter(|program| writes(program)).map(Hidden::Program));
    let module = arguments.windows(2).find(|pair| pair[0].is("-m")).map(|pair| pair[1].lossy());
    if let Some(module) = module {
        // `python -m json.tool in [out]` is how people look at settings.
        let reading = matches!(module.as_str(), "json.tool" | "tokenize" | "ast" | "py_compile" | "dis");
        let files = operands.iter().filter(|word| !word.is(&module)).cloned();
        return Some(files.skip(usize::from(reading)).collect());
    }
    let in_place = matches!(*known, "perl" | "ruby") && sorted.has(&["-i"]);
    let has_code = !given(arguments, flags).is_empty();
    // `perl -ne '…' file` reads its files; a script's arguments may be written.
    if has_code && !in_place && matches!(*known, "perl" | "ruby") {
        operands.clear();
    }
    Some(operands)
}

pub(super) fn writes(program: &str) -> bool {
    let program = program.to_ascii_lowercase();
    SIGNS.iter().any(|sign| program.contains(sign)) || has_mode(&program)
}

/// A string that says how a file is opened, and not for reading alone: `'w'`, `"r+b"`, `'at'`.
fn has_mode(program: &str) -> bool {
    let bytes = program.as_bytes();
    let opens = program.contains("open") || program.contains(".new");
    opens
        && (0..bytes.len()).filter(|&at| matches!(bytes[at], b'\'' | b'"')).any(|at| {
            let mode = &bytes[at + 1..];
            let length = mode.iter().take(5).take_while(|b| b"rwaxbt+".contains(b)).count();
            length > 0
                && mode.get(length) == Some(&bytes[at])
                && mode[..length].iter().any(|b| b"wax+".contains(b))
        })
}
