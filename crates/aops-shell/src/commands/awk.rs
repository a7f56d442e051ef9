//! `awk`: reads its program token by token; one that prints to a file or a command, or runs one, is a write.

use super::command::{Act, Class, Invocation, Touched, all};
use super::interpreter;
use super::sed::text;
use crate::effect::Effect;
use crate::syntax::Word;

pub(super) const OPTIONS: &str = "-F= -v= --posix --re-interval --field-separator= --assign= --version";

pub(super) fn class(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    if sorted.has(&["--version"]) {
        return Ok(Effect::Read);
    }
    match sorted.operands.first().and_then(|word| text(word, command.line)) {
        Some(program) if only_reads(&program) => Ok(Effect::Read),
        _ => Err(format!("the `{}` program is not known to only read", command.name)),
    }
}

/// Files it edits in place; its program, if that shows a sign of writing.
pub(super) fn touched(command: &Invocation) -> Touched {
    let sorted = command.sort();
    let in_place = command.arguments.windows(2).any(|pair| pair[0].is("-i") && pair[1].is("inplace"));
    let values = sorted.values(&["-F", "-v", "--field-separator", "--assign"]);
    let mut programs: Vec<String> = values.map(Word::lossy).chain(command.simple.script.clone()).collect();
    programs.extend(sorted.operands.first().map(|word| word.lossy()));
    programs = vec![programs.join("\n")];
    programs.retain(|program| interpreter::writes(program));
    let files = if in_place { all(sorted.operands, Act::Write) } else { Vec::new() };
    Touched { files, programs, ..Touched::default() }
}

/// What the last token was, as far as it decides what comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastToken {
    /// A `/` would divide it.
    Value,
    /// A `/` after a bracket may divide, or begin a pattern.
    Bracket,
    Other,
}

/// A program being read.
struct AwkReader {
    chars: Vec<char>,
    at: usize,
    before: LastToken,
    /// Inside `print` or `printf`: brackets open since.
    printing: Option<usize>,
    /// The last sign lets the statement go on in the next line.
    goes_on: bool,
    /// After this, nothing could be hidden by reading a `/` wrongly.
    tame_from: usize,
}

fn only_reads(program: &str) -> bool {
    let chars: Vec<char> = program.chars().collect();
    let signs = chars.iter().rposition(|c| matches!(c, '|' | '"' | '@' | '>'));
    let tame_from = signs.max(program.rfind("system").map(|_| chars.len())).map_or(0, |at| at + 1);
    let mut reading = AwkReader { chars, at: 0, before: LastToken::Other, printing: None, goes_on: false, tame_from };
    while let Some(&c) = reading.chars.get(reading.at) {
        if !reading.token(c) {
            return false;
        }
    }
    true
}

impl AwkReader {
    fn next(&self) -> Option<char> {
        self.chars.get(self.at + 1).copied()
    }

    /// Read one token; `false` if it may write or run something.
    fn token(&mut self, c: char) -> bool {
        let went_on = self.goes_on;
        if !c.is_whitespace() && c != '#' {
            self.goes_on = matches!(c, ',' | '|' | '&' | '?' | ':');
        }
        match c {
            '"' => return self.quoted('"'),
            '#' => self.at = self.find(|c| c == '\n'),
            _ if c.is_alphanumeric() || c == '_' => return self.word(),
            '/' if self.before == LastToken::Other => return self.quoted('/'),
            '/' if self.before == LastToken::Bracket && self.at < self.tame_from => return false,
            '@' | '\\' => return false,
            '|' if self.next() != Some('|') => return false,
            '|' | '&' => self.pass(2),
            '>' if self.printing == Some(0) && self.next() != Some('=') => return self.redirected(),
            '\n' if went_on => self.pass(1),
            ';' | '\n' | '{' | '}' => {
                self.printing = None;
                self.pass(1);
            }
            '(' | '[' => {
                self.printing = self.printing.map(|open| open + 1);
                self.pass(1);
            }
            ')' | ']' => {
                self.printing = self.printing.map(|open| open.saturating_sub(1));
                self.at += 1;
                self.before = LastToken::Bracket;
            }
            ' ' | '\t' | '\r' => self.at += 1,
            _ => self.pass(1),
        }
        true
    }

    fn pass(&mut self, count: usize) {
        self.at += count;
        self.before = LastToken::Other;
    }

    fn find(&self, wanted: impl Fn(char) -> bool) -> usize {
        (self.at..self.chars.len()).find(|&at| wanted(self.chars[at])).unwrap_or(self.chars.len())
    }

    fn word(&mut self) -> bool {
        let end = self.find(|c| !c.is_alphanumeric() && c != '_');
        let word: String = self.chars[self.at..end].iter().collect();
        self.at = end;
        self.before = LastToken::Value;
        match word.as_str() {
            "system" | "extension" => return false,
            "print" | "printf" => (self.printing, self.before) = (Some(0), LastToken::Other),
            "return" | "in" | "case" | "else" | "do" | "if" | "while" => self.before = LastToken::Other,
            _ => {}
        }
        true
    }

    /// A string or a pattern; one that does not end is not awk.
    fn quoted(&mut self, sign: char) -> bool {
        self.at += 1;
        let mut bracket = false;
        while let Some(&c) = self.chars.get(self.at) {
            self.at += 1;
            match c {
                '\\' => self.at += 1,
                '\n' => return false,
                '[' => bracket = sign == '/',
                ']' => bracket = false,
                _ if c == sign => {
                    self.before = LastToken::Value;
                    // Whether a `/` in brackets ends the pattern differs between awks.
                    return !bracket;
                }
                _ => {}
            }
        }
        false
    }

    /// `print > "/dev/stderr"` leaves nothing behind.
    fn redirected(&mut self) -> bool {
        let rest: String = self.chars[self.at + 1..].iter().collect();
        let target = ["\"/dev/stderr\"", "\"/dev/stdout\"", "\"/dev/null\""];
        let rest = rest.trim_start();
        let Some(after) = target.iter().find_map(|target| rest.strip_prefix(target)) else { return false };
        let ends = after.trim_start_matches([' ', '\t']);
        self.at = self.chars.len() - after.chars().count();
        self.before = LastToken::Value;
        ends.is_empty() || ends.starts_with([';', '}', '\n'])
    }
}
