//! Commands in the arguments of unknown commands (`tmux new "cp a b"`, `ssh host rm a`), and interpreters: a
//! program in the line may write the files it names once it shows a sign of writing.

use super::command::{Act, Invocation, Touched, all};
use crate::syntax::{Bit, Word, is_text};

/// Options whose value is a message.
static MESSAGES: &[&str] = &[
    "--body", "--comment", "--description", "--header", "--message", "--notes", "--prompt", "--query",
    "--reason", "--subject", "--text", "--title", "-H", "-m",
];

/// Commands worth looking for inside the arguments of others.
static BEHIND: &[&str] = &[
    "awk", "bash", "bun", "chmod", "chown", "cp", "dash", "dd", "deno", "env", "find", "ln", "mv", "node",
    "perl", "php", "python", "python3", "rm", "rmdir", "rsync", "ruby", "sed", "sh", "shred", "sudo", "tar",
    "tee", "truncate", "tsx", "unlink", "xargs", "zsh",
];

/// Lines that may run when this command does.
pub(super) fn lines(words: &[Word]) -> Vec<String> {
    let arguments = words.get(1..).unwrap_or_default();
    let mut all = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        if has_blanks(word) && !is_message(arguments, at) {
            let glued = (word.is_option() && !word.starts_with("--")).then(|| word.after(2));
            let parts = [word.past('=').filter(has_blanks), glued, Some(word.clone())];
            all.extend(parts.iter().flatten().map(code));
        }
    }
    let behind = |word: &Word| BEHIND.iter().any(|known| is_text(word.last_bits(), known));
    if let Some(at) = (1..words.len()).find(|at| behind(&words[*at])) {
        all.push(words[at..].iter().map(Word::quoted).collect::<Vec<_>>().join(" "));
    }
    all
}

pub(super) const SSH: &str = "-b= -c= -D= -E> -F= -i= -J= -l= -L= -m= -o= -p= -R= -S= -w= -W=";

/// `ssh`: the other machine may as well be this one, and `-o` may hold a local command.
pub(super) fn ssh(command: &Invocation) -> Touched {
    let sorted = command.sort();
    let remote = sorted.operands.iter().skip(1).map(|word| code(word)).collect::<Vec<_>>().join(" ");
    let options = sorted.values(&["-o"]).filter_map(|word| word.past('=')).map(|word| code(&word));
    let lines = options.chain([remote]).filter(|line| !line.is_empty()).collect();
    let programs = command.simple.script.iter().cloned().collect();
    Touched { files: all(&sorted.written, Act::Write), programs, lines, reads: false }
}

/// Whether this is the value of an option that takes text for people.
fn is_message(arguments: &[Word], at: usize) -> bool {
    let glued = |option: &&str| {
        arguments[at].starts_with(option) && arguments[at].bits.get(option.len()) == Some(&Bit::Char('='))
    };
    MESSAGES.iter().any(|option| at > 0 && arguments[at - 1].is(option) || glued(option))
}

pub(super) fn has_blanks(word: &Word) -> bool {
    word.bits.iter().any(|bit| matches!(bit, Bit::Char(c) if c.is_whitespace()))
}

/// A word as a line of its own; in git's aliases, `!` begins one.
pub(super) fn code(word: &Word) -> String {
    word.code().trim_start_matches(['!', '|', ' ']).to_owned()
}

/// Words that a program needs in order to write or to end a process. A program can hide better than this; the
/// later check for tampering covers that.
const SIGNS: [&str; 50] = [
    "put_contents", "| \"", "|\"", "shell script", "write", "o_trunc", "o_wronly", "o_rdwr", "o_creat", "+<",
    ".once", ".output", ".backup", "mode=", "unlink", "remove", "rename", "rmtree", "rmsync", "fs.rm",
    "truncate", "copy", "move", "chmod", "chown", "symlink", "link(", "touch", "mkdir", "subprocess",
    "system", "exec", "spawn", "popen", "dump(", "replace(", "delete", "base64", "import(", "getattr",
    "append", "save", ">", "install", "fileutils", "kill", "terminate", "suspend", "signal", "prlimit",
];

/// Everything that may be program text: the rest of a bundle after a letter that takes a program, and the
/// next word. `-pe` may mean `-p` with the program `e`, or `-p -e`, so both readings are kept.
fn texts(command: &Invocation) -> Vec<Word> {
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

/// An interpreter may write its operands; program text with a sign of writing may write what it names.
pub(super) fn interpreted(command: &Invocation) -> Touched {
    let name = command.name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let sorted = command.sort();
    let mut operands = sorted.operands.clone();
    let code = texts(command);
    let mut programs: Vec<String> =
        code.iter().map(Word::lossy).chain(command.simple.script.clone()).collect();
    if name == "deno" && operands.first().is_some_and(|word| word.is("eval")) {
        programs.extend(operands.iter().map(|word| word.lossy()));
    }
    if name == "sqlite" {
        programs.extend(operands.iter().map(|word| word.lossy()).filter(|text| text.contains(' ')));
    }
    let opens = |text: &str| name == "sqlite" && [".shell", "attach"].iter().any(|sign| text.contains(sign));
    programs.retain(|program| writes(program) || opens(&program.to_ascii_lowercase()));
    let module = command.arguments.windows(2).find(|pair| pair[0].is("-m")).map(|pair| pair[1].lossy());
    if let Some(module) = module {
        // People use `python -m json.tool in [out]` to look at settings.
        let reading = matches!(module.as_str(), "json.tool" | "tokenize" | "ast" | "py_compile" | "dis");
        operands.retain(|word| !word.is(&module));
        if matches!(module.as_str(), "zipfile" | "tarfile" | "venv" | "virtualenv") {
            let files = all(operands.iter().copied(), Act::Into)
                .into_iter()
                .chain(all(operands.iter().copied(), Act::Write));
            return Touched { files: files.collect(), programs, ..Touched::default() };
        }
        operands.drain(..usize::from(reading).min(operands.len()));
    } else if matches!(name, "perl" | "ruby") && !code.is_empty() && !sorted.has(&["-i"]) {
        // `perl -ne '…' file` reads its files; the arguments of a script may be written.
        operands.clear();
    }
    // The interpreter runs this file but does not write it.
    let scripted =
        matches!(name, "python" | "pypy" | "node" | "nodejs" | "ruby" | "perl" | "php" | "lua" | "tsx");
    if scripted
        && code.is_empty()
        && !command.arguments.iter().any(|word| word.is("-m"))
        && !operands.is_empty()
    {
        operands.remove(0);
    }
    Touched { files: all(operands, Act::Write), programs, ..Touched::default() }
}

pub fn writes(program: &str) -> bool {
    let program = program.to_ascii_lowercase();
    SIGNS.iter().any(|sign| program.contains(sign)) || has_mode(&program)
}

/// Whether the program contains a file mode that is not just for reading: `'w'`, `"r+b"`, `'at'`.
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
