//! `sed`: reads its program letter by letter; one that writes a file, runs a program or is not known is a write.

use super::command::{Act, Class, Invocation, Touched, all};
use super::options::Sorted;
use crate::effect::Effect;
use crate::syntax::{Bit, Line, Word};
use std::iter::Peekable;
use std::str::Chars;

pub(super) const OPTIONS: &str = "-nErsuz -e= --quiet --silent --regexp-extended --null-data --separate --unbuffered \
    --debug --posix --sandbox --expression= --version --help";
/// What takes a program. `-l` is on neither list: whether it takes a value differs between systems.
const PROGRAMS: &str = "-e= -f= --expression= --file=";

pub(super) fn class(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    let (scripts, _) = scripts(&sorted);
    let shown = sorted.has(&["--version", "--help"]);
    let texts: Option<Vec<String>> = scripts.iter().map(|word| text(word, command.line)).collect();
    match texts {
        _ if shown => Ok(Effect::Read),
        Some(texts) if !texts.is_empty() && only_reads(&texts.join("\n")) => Ok(Effect::Read),
        _ => Err("the `sed` program is not known to only read".to_owned()),
    }
}

/// The programs, and the files: without `-e` or `-f` the first operand is the program.
fn scripts<'s>(sorted: &'s Sorted) -> (Vec<&'s Word>, &'s [&'s Word]) {
    let mut scripts: Vec<&Word> = sorted.values(&["-e", "--expression"]).collect();
    let mut files = &sorted.operands[..];
    if scripts.is_empty() && !sorted.has(&["-f", "--file"]) {
        scripts.extend(files.first());
        files = files.get(1..).unwrap_or_default();
    }
    (scripts, files)
}

/// Files it edits in place, and what its `w` commands name.
pub(super) fn touched(command: &Invocation) -> Touched {
    let sorted = command.sort_by(&[PROGRAMS]);
    let (scripts, files) = scripts(&sorted);
    let read = command.simple.script.iter().filter(|_| sorted.has(&["-f", "--file"]));
    let mut programs: Vec<String> = read.cloned().collect();
    programs.extend(sorted.values(&["-f", "--file"]).filter_map(|word| word.said.clone()));
    for script in scripts {
        let text = script.lossy();
        let mut words = text.split([' ', ';', '\n', '}']).peekable();
        while let Some(word) = words.next() {
            let file = words.peek().filter(|_| word.ends_with(['w', 'W', 'e']));
            programs.extend(file.map(|file| (*file).to_owned()));
        }
    }
    let in_place = sorted.options.iter().any(|(name, _)| name == "-i" || name.starts_with("--i"));
    let files = if in_place { all(files.iter().copied(), Act::Write) } else { Vec::new() };
    Touched { files, programs, ..Touched::default() }
}

/// A program's text; numbers stand in for what is only known to be one.
pub(super) fn text(word: &Word, line: &Line) -> Option<String> {
    let number = |name: &String| line.variables.get(name).is_some_and(|held| held.number);
    if !word.filled.iter().chain(&word.unknown).all(number) || word.shifts.is_some() && word.splits {
        return None;
    }
    let unknown = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
    // A variable that holds a sum is as unknown as the sum itself, and a number all the same.
    let numbers = word.sums + word.filled.len();
    if unknown > numbers {
        return None;
    }
    let letter = |bit: &Bit| match bit {
        Bit::Char(c) => Some(*c),
        Bit::Any => Some('1'),
        Bit::One | Bit::Star => None,
    };
    word.bits.iter().map(letter).collect()
}

fn only_reads(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}')).is_some() {}
        if rest.peek().is_none() {
            return true;
        }
        if !address(&mut rest) || !function(&mut rest) {
            return false;
        }
    }
}

/// None, one or two addresses, and `!`.
fn address(rest: &mut Peekable<Chars>) -> bool {
    while let Some(&c) = rest.peek() {
        match c {
            '0'..='9' | '$' | ',' | '+' | '~' | ' ' | '\t' | '!' => {
                rest.next();
            }
            '/' => {
                rest.next();
                if !delimited(rest, '/', true) {
                    return false;
                }
                while rest.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            '\\' => {
                rest.next();
                let Some(sign) = rest.next() else { return false };
                if !delimited(rest, sign, true) {
                    return false;
                }
            }
            _ => return true,
        }
    }
    false
}

/// Text up to an unescaped sign. In brackets the sign may or may not count, so that is not known.
fn delimited(rest: &mut Peekable<Chars>, sign: char, is_pattern: bool) -> bool {
    let (mut bracket, mut odd) = (false, false);
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                rest.next();
            }
            '[' => bracket = is_pattern,
            ']' => bracket = false,
            '\n' if sign != '\n' => odd = true,
            _ if c == sign => return !bracket && !odd,
            _ => {}
        }
    }
    false
}

/// One function with its arguments.
fn function(rest: &mut Peekable<Chars>) -> bool {
    match rest.next() {
        Some('{' | '}') => true,
        Some('p' | 'P' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'x' | 'n' | 'N' | '=' | 'z' | 'F') => ended(rest),
        Some('q' | 'Q' | 'l') => {
            while rest.next_if(|c| c.is_ascii_digit() || *c == ' ').is_some() {}
            ended(rest)
        }
        Some(sign @ ('s' | 'y')) => {
            let Some(mark) = rest.next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && *c != '\\') else {
                return false;
            };
            if !delimited(rest, mark, sign == 's') || !delimited(rest, mark, false) {
                return false;
            }
            while rest.next_if(|c| sign == 's' && matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9')).is_some()
            {
            }
            ended(rest)
        }
        Some('#' | 'r') => {
            while rest.next_if(|c| *c != '\n').is_some() {}
            true
        }
        Some(':' | 'b' | 't' | 'T') => {
            while rest.next_if(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '.' | '-')).is_some() {}
            ended(rest)
        }
        // Text to the end of the line; a backslash takes the next line along.
        Some('a' | 'i' | 'c') => {
            while let Some(c) = rest.next_if(|c| *c != '\n') {
                if c == '\\' {
                    rest.next();
                }
            }
            true
        }
        _ => false,
    }
}

/// A function without arguments ends here.
fn ended(rest: &mut Peekable<Chars>) -> bool {
    while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    matches!(rest.peek(), None | Some(';' | '\n' | '}' | '#'))
}
