//! Interpreters: what a program in the line names counts once it shows a sign of writing.

use super::command::{Act, Invocation, Touched, all};
use crate::syntax::Word;

/// Words without which a program hardly writes. A program can hide better than this; looking for tampering afterwards
/// covers that.
#[rustfmt::skip]
const SIGNS: [&str; 45] = [
    "put_contents", "| \"", "|\"", "shell script", "write", "o_trunc", "o_wronly", "o_rdwr", "o_creat", "+<",
    ".once", ".output", ".backup", "mode=", "unlink", "remove", "rename", "rmtree", "rmsync", "fs.rm", "truncate",
    "copy", "move", "chmod", "chown", "symlink", "link(", "touch", "mkdir", "subprocess", "system", "exec",
    "spawn", "popen", "dump(", "replace(", "delete", "base64", "import(", "getattr", "append", "save", ">",
    "install", "fileutils",
];

/// Everything that may be program text: the rest of a bundle behind a letter that takes some, and the next word. `-pe`
/// is both `-p` with `e` and `-p -e`, and only one of them is the program.
fn code(command: &Invocation) -> Vec<Word> {
    let rows = || command.options.split(' ').filter_map(|row| row.strip_suffix('='));
    let given = command.sort().options.into_iter().filter(|(name, _)| rows().any(|row| row == name));
    let mut all: Vec<Word> = given.filter_map(|(_, value)| value).collect();
    for pair in command.arguments.windows(2).filter(|pair| pair[0].is_option()) {
        let text = pair[0].lossy();
        let mut letters = rows().filter(|row| row.len() == 2).map(|row| &row[1..]);
        if !text.starts_with("--") && letters.any(|letter| text.contains(letter)) {
            all.push(pair[1].clone());
        }
    }
    all
}

/// An interpreter's files are its operands; program text with a sign of writing may write what it names.
pub(super) fn touched(command: &Invocation) -> Touched {
    let name = command.name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let sorted = command.sort();
    let mut operands = sorted.operands.clone();
    let code = code(command);
    let mut programs: Vec<String> = code.iter().map(Word::lossy).chain(command.simple.script.clone()).collect();
    if name == "deno" && operands.first().is_some_and(|word| word.is("eval")) {
        programs.extend(operands.iter().map(|word| word.lossy()));
    }
    programs.retain(|program| writes(program));
    let module = command.arguments.windows(2).find(|pair| pair[0].is("-m")).map(|pair| pair[1].lossy());
    if let Some(module) = module {
        // `python -m json.tool in [out]` is how people look at settings.
        let reading = matches!(module.as_str(), "json.tool" | "tokenize" | "ast" | "py_compile" | "dis");
        operands.retain(|word| !word.is(&module));
        operands.drain(..usize::from(reading).min(operands.len()));
    } else if matches!(name, "perl" | "ruby") && !code.is_empty() && !sorted.has(&["-i"]) {
        // `perl -ne '…' file` reads its files; a script's arguments may be written.
        operands.clear();
    }
    Touched { files: all(operands, Act::Write), programs, ..Touched::default() }
}

/// This program shows a sign of writing.
pub fn writes(program: &str) -> bool {
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
            length > 0 && mode.get(length) == Some(&bytes[at]) && mode[..length].iter().any(|b| b"wax+".contains(b))
        })
}
