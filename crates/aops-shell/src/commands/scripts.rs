//! `sed` and `awk`: their programs are read character by character; a program that writes a file, runs a
//! program or is unknown is a write.

use super::command::{Act, Class, Invocation, Touched, all};
use super::options::Sorted;
use super::programs::writes as program_writes;
use crate::effect::Effect;
use crate::syntax::{Bit, Line, Word};
use std::iter::Peekable;
use std::str::Chars;

pub(super) const SED: &str = "-nErsuz -e= --quiet --silent --regexp-extended --null-data --separate --unbuffered \
    --debug --posix --sandbox --expression= --version --help";
/// Options that take a program. `-l` is on neither list: whether it takes a value differs between systems.
const PROGRAMS: &str = "-e= -f= --expression= --file=";

pub(super) fn sed(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    let (scripts, _) = scripts(&sorted);
    let shown = matches!(command.arguments, [only] if only.is("--version") || only.is("--help"));
    let texts: Option<Vec<String>> = scripts.iter().map(|word| text(word, command.line)).collect();
    match texts {
        _ if shown => Ok(Effect::Read),
        Some(texts) if !texts.is_empty() && sed_only_reads(&texts.join("\n"), true) => Ok(Effect::Read),
        _ => Err("the `sed` program may do more than read".to_owned()),
    }
}

/// Whether a program that only reads may open files that it names itself.
pub(super) fn sed_opens(command: &Invocation) -> bool {
    let sorted = command.sort();
    let texts: Option<Vec<String>> = scripts(&sorted).0.iter().map(|word| text(word, command.line)).collect();
    !texts.is_some_and(|texts| sed_only_reads(&texts.join("\n"), false))
}

/// The programs and the files: without `-e` or `-f`, the first operand is the program.
fn scripts<'s>(sorted: &'s Sorted) -> (Vec<&'s Word>, &'s [&'s Word]) {
    let mut scripts: Vec<&Word> = sorted.values(&["-e", "--expression"]).collect();
    let mut files = &sorted.operands[..];
    if scripts.is_empty() && !sorted.has(&["-f", "--file"]) {
        scripts.extend(files.first());
        files = files.get(1..).unwrap_or_default();
    }
    (scripts, files)
}

/// Files that `sed` edits in place, and files that its `w` commands name.
pub(super) fn sed_touched(command: &Invocation) -> Touched {
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

/// A program's text; a digit stands for an unknown value that is certainly a number.
fn text(word: &Word, line: &Line) -> Option<String> {
    let number = |name: &String| line.variables.get(name).is_some_and(|held| held.number);
    if !word.filled.iter().chain(&word.unknown).all(number) || word.shifts.is_some() && word.splits {
        return None;
    }
    let unknown = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
    // A variable that holds a sum is an unknown value, but certainly a number.
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

/// `opens`: the script may read other files (`r`).
fn sed_only_reads(script: &str, opens: bool) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}')).is_some() {}
        if rest.peek().is_none() {
            return true;
        }
        if !address(&mut rest) || !opens && rest.peek() == Some(&'r') || !function(&mut rest) {
            return false;
        }
    }
}

/// The lines that a script of `sed` runs: `e line`, `s/a/line/e`; what arrives is unknown.
pub fn lines_of_sed(script: &str) -> Vec<String> {
    const UNKNOWN: &str = "${_unknown}";
    let mut lines = Vec::new();
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}')).is_some() {}
        if rest.peek().is_none() || !address(&mut rest) {
            return lines;
        }
        while rest.next_if(|c| c.is_whitespace() || matches!(c, '{')).is_some() {}
        match rest.peek().copied() {
            Some('e') => {
                let line: String = rest.by_ref().skip(1).take_while(|c| *c != '\n').collect();
                lines.push(if line.trim().is_empty() { UNKNOWN.to_owned() } else { line.trim().to_owned() });
            }
            Some('s') => {
                rest.next();
                let Some(sign) = rest.next() else { return lines };
                if !delimited(&mut rest, sign, true) {
                    return lines;
                }
                let mut new: String = rest.clone().collect();
                if !delimited(&mut rest, sign, false) {
                    return lines;
                }
                new.truncate(new.len() - rest.clone().map(char::len_utf8).sum::<usize>() - sign.len_utf8());
                let mut flags = String::new();
                while let Some(flag) = rest.next_if(char::is_ascii_alphanumeric) {
                    flags.push(flag);
                }
                if flags.contains('e') {
                    let line = (1..10).fold(new, |new, n| new.replace(&format!("\\{n}"), UNKNOWN));
                    let line = line.replace('&', UNKNOWN);
                    // What the pattern does not take follows.
                    lines.push(format!("{line}{UNKNOWN}"));
                    lines.push(line);
                }
            }
            _ if !function(&mut rest) => return lines,
            _ => {}
        }
    }
}

/// Skips zero, one or two addresses, and `!`.
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

/// Skips text up to an unescaped delimiter. Systems differ on whether a delimiter inside brackets ends it.
fn delimited(rest: &mut impl Iterator<Item = char>, sign: char, is_pattern: bool) -> bool {
    // Inside brackets: the number of characters since they opened, and whether a class such as `[:alpha:]` is
    // open.
    let mut bracket: Option<usize> = None;
    let mut class = false;
    let mut before = ' ';
    let mut odd = false;
    while let Some(c) = rest.next() {
        match (c, bracket) {
            ('\\', _) => {
                rest.next();
                bracket = bracket.map(|count| count + 1);
            }
            _ if c == sign => return bracket.is_none() && !odd,
            ('[', None) => bracket = is_pattern.then_some(0),
            ('^', Some(0)) if before == '[' => {}
            ('[', Some(count)) => (class, bracket) = (true, Some(count + 1)),
            (']', Some(_)) if class && matches!(before, ':' | '.' | '=') => class = false,
            (']', Some(1..)) => (bracket, class) = (None, false),
            (_, Some(count)) => bracket = Some(count + 1),
            ('\n', None) if sign != '\n' => odd = true,
            _ => {}
        }
        before = c;
    }
    false
}

fn function(rest: &mut Peekable<Chars>) -> bool {
    match rest.next() {
        Some('{' | '}') => true,
        Some('p' | 'P' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'x' | 'n' | 'N' | '=' | 'z' | 'F') => {
            ended(rest)
        }
        Some('q' | 'Q' | 'l') => {
            while rest.next_if(|c| c.is_ascii_digit() || *c == ' ').is_some() {}
            ended(rest)
        }
        Some(sign @ ('s' | 'y')) => {
            let Some(mark) = rest.next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && *c != '\\')
            else {
                return false;
            };
            if !delimited(rest, mark, sign == 's') || !delimited(rest, mark, false) {
                return false;
            }
            while rest
                .next_if(|c| sign == 's' && matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9'))
                .is_some()
            {}
            ended(rest)
        }
        Some('#' | 'r') => {
            while rest.next_if(|c| *c != '\n').is_some() {}
            true
        }
        Some(':' | 'b' | 't' | 'T') => {
            while rest.next_if_eq(&' ').is_some() {}
            while rest.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-')).is_some() {}
            ended(rest)
        }
        // Skips text to the end of the line; a backslash continues it on the next line.
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

/// Whether a function without arguments ends here.
fn ended(rest: &mut Peekable<Chars>) -> bool {
    while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    matches!(rest.peek(), None | Some(';' | '\n' | '}' | '#'))
}

pub(super) const AWK: &str = "-F= -v= --posix --re-interval --field-separator= --assign= --version";

pub(super) fn awk(command: &Invocation) -> Class {
    // Everything after the program is an argument, even if it looks like an option.
    let mut end = 0;
    let words = command.arguments;
    while words.get(end).is_some_and(Word::is_option) {
        end += 1 + usize::from(words[end].is("-v") || words[end].is("-F"));
    }
    let own = &words[..words.len().min(end + 1)];
    let sorted = Invocation { arguments: own, ..*command }.sorted()?;
    if matches!(command.arguments, [only] if only.is("--version")) {
        return Ok(Effect::Read);
    }
    match sorted.operands.first().and_then(|word| text(word, command.line)) {
        Some(program) if awk_only_reads(&program) => Ok(Effect::Read),
        _ => Err(format!("the `{}` program may do more than read", command.name)),
    }
}

/// Files that `awk` edits in place, and its program if that shows a sign of writing.
pub(super) fn awk_touched(command: &Invocation) -> Touched {
    let sorted = command.sort();
    let in_place = command.arguments.windows(2).any(|pair| pair[0].is("-i") && pair[1].is("inplace"));
    let values = sorted.values(&["-F", "-v", "--field-separator", "--assign"]);
    let mut programs: Vec<String> = values.map(Word::lossy).chain(command.simple.script.clone()).collect();
    programs.extend(sorted.operands.first().map(|word| word.lossy()));
    programs = vec![programs.join("\n")];
    programs.retain(|program| program_writes(program));
    let files = if in_place { all(sorted.operands, Act::Write) } else { Vec::new() };
    Touched { files, programs, ..Touched::default() }
}

/// What the last token says about how the next one must be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastToken {
    /// A `/` after it is a division.
    Value,
    /// A `/` after a closing bracket may be a division or begin a pattern.
    Bracket,
    Other,
}

struct AwkReader<'a> {
    rest: &'a str,
    before: LastToken,
    /// Inside `print` or `printf`: how many brackets have opened since.
    printing: Option<usize>,
    /// The statement continues in the next line after this token.
    goes_on: bool,
    /// In the last `tame` characters, misreading a `/` could hide nothing: no sign of writing is left.
    tame: usize,
}

fn awk_only_reads(program: &str) -> bool {
    let tame = match program.rfind(['|', '"', '@', '>']) {
        _ if program.contains("system") => 0,
        Some(sign) => program.len() - sign - 1,
        None => program.len(),
    };
    let mut reader =
        AwkReader { rest: program, before: LastToken::Other, printing: None, goes_on: false, tame };
    while let Some(c) = reader.rest.chars().next() {
        if !reader.token(c) {
            return false;
        }
    }
    true
}

impl AwkReader<'_> {
    /// Reads one token; `false` if it may write or run something.
    fn token(&mut self, c: char) -> bool {
        let went_on = self.goes_on;
        if !c.is_whitespace() && c != '#' {
            self.goes_on = matches!(c, ',' | '|' | '&' | '?' | ':');
        }
        let next = self.rest.chars().nth(1);
        match c {
            '"' => return self.quoted('"'),
            '#' => self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..],
            _ if c.is_alphanumeric() || c == '_' => return self.word(),
            '/' if self.before == LastToken::Other => return self.quoted('/'),
            '/' if self.before == LastToken::Bracket && self.rest.len() > self.tame => return false,
            '@' | '\\' => return false,
            '|' if next != Some('|') => return false,
            '|' | '&' => self.pass(2),
            '>' if self.printing == Some(0) && next != Some('=') => return self.redirected(),
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
                self.pass(1);
                self.before = LastToken::Bracket;
            }
            ' ' | '\t' | '\r' => self.rest = &self.rest[1..],
            // After `x++` a `/` divides, before `++x` it does not.
            '+' | '-' if next == Some(c) => {
                self.pass(2);
                self.before = LastToken::Bracket;
            }
            _ => self.pass(1),
        }
        true
    }

    fn pass(&mut self, count: usize) {
        self.rest = &self.rest[self.rest.chars().take(count).map(char::len_utf8).sum()..];
        self.before = LastToken::Other;
    }

    fn word(&mut self) -> bool {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.before = LastToken::Value;
        match word {
            "system" | "extension" => return false,
            "print" | "printf" => (self.printing, self.before) = (Some(0), LastToken::Other),
            // Without brackets, its argument may be a pattern.
            "getline" | "length" => self.before = LastToken::Bracket,
            "return" | "in" | "case" | "else" | "do" | "if" | "while" | "exit" | "delete" | "for"
            | "function" | "func" | "next" | "nextfile" | "break" | "continue" | "default" | "switch"
            | "BEGIN" | "END" => {
                self.before = LastToken::Other;
            }
            _ => {}
        }
        true
    }

    /// Reads a string or a pattern; one that does not end is not valid awk.
    fn quoted(&mut self, sign: char) -> bool {
        let mut rest = self.rest[1..].chars();
        let ends = delimited(&mut rest, sign, sign == '/');
        self.rest = rest.as_str();
        self.before = LastToken::Value;
        ends
    }

    /// `print > "/dev/stderr"` leaves nothing behind.
    fn redirected(&mut self) -> bool {
        let target = ["\"/dev/stderr\"", "\"/dev/stdout\"", "\"/dev/null\""];
        let rest = self.rest[1..].trim_start();
        let Some(after) = target.iter().find_map(|target| rest.strip_prefix(target)) else { return false };
        let ends = after.trim_start_matches([' ', '\t']);
        self.rest = after;
        self.before = LastToken::Value;
        ends.is_empty() || ends.starts_with([';', '}', '\n'])
    }
}
