//! Simple commands: assignments, words and redirections; and functions, which begin like them. The body of a
//! here-document is read ahead, at its redirection.

use super::{Command, Documents, Function, Kind, Raw, Reader, Redirect, ends_word, is_name_byte};
use crate::syntax::tree::{Assignment, SimpleCommand};

/// Words that begin, separate or end something in the place of a command.
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while", "{", "}",
];

/// Commands whose arguments may be arrays.
const DECLARING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

pub(super) fn is_reserved(word: &str) -> bool {
    word.len() < 9 && RESERVED.binary_search(&word).is_ok()
}

pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit()) && name_length(text) == text.len() && !text.is_empty()
}

fn name_length(text: &str) -> usize {
    text.bytes().take_while(|byte| is_name_byte(*byte)).count()
}

impl<'a> Reader<'a> {
    /// A simple command whose first word may have been read.
    pub(super) fn simple(&mut self, first: Option<Raw<'a>>) -> Option<Command<'a>> {
        let mut command = SimpleCommand::default();
        let mut first = first;
        loop {
            if first.is_none() && self.at_redirect() {
                command.redirects.push(self.redirect()?);
                continue;
            }
            let Some(word) = first.take().or_else(|| self.word()) else { break };
            if !command.words.is_empty() {
                let word = self.with_array(word, &command)?;
                command.words.push(word);
            } else if is_reserved(word.text) {
                return None;
            } else if let Some((name_end, value)) = assigned(&word)? {
                command.assignments.push(self.assignment(word, name_end, value)?);
            } else if command.assignments.is_empty() && command.redirects.is_empty() && self.pass("(") {
                self.expect(")")?;
                return self.function(word.text);
            } else {
                command.words.push(word);
            }
        }
        let is_empty =
            command.words.is_empty() && command.assignments.is_empty() && command.redirects.is_empty();
        (!is_empty).then_some(Command::Simple(command))
    }

    /// `declare name=(…)` is one word.
    fn with_array(&mut self, word: Raw<'a>, command: &SimpleCommand) -> Option<Raw<'a>> {
        if self.byte(self.at) != Some(b'(') {
            return Some(word);
        }
        let declares = command.words.first().is_some_and(|first| DECLARING.contains(&first.text));
        let (name, _) = word.text.split_once('=').filter(|(_, value)| value.is_empty() && declares)?;
        if !is_name(name.trim_end_matches('+')) {
            return None;
        }
        let begin = self.at - word.text.len();
        self.gather(begin, |reader| {
            reader.at += 1;
            reader.until(b'(', b')')?;
            reader.skip(1)
        })
    }

    /// `value` is the position of the value in this word, and `name_end` the end of the name.
    fn assignment(&mut self, word: Raw<'a>, name_end: usize, value: usize) -> Option<Assignment<'a>> {
        let name = &word.text[..name_end];
        let appends = word.text[..value].ends_with("+=");
        let index_end = value - 1 - usize::from(appends);
        let (head, scalar) = word.split(value);
        let index = (index_end > name_end).then(|| head.split(index_end - 1).0.split(name_end + 1).1);
        let keeps = appends || index.is_some();
        let is_array = scalar.text.is_empty() && self.byte(self.at) == Some(b'(');
        let mut all =
            Assignment { name, indexes: Vec::from_iter(index), values: Vec::new(), is_array, keeps };
        match is_array {
            true if !all.indexes.is_empty() => return None,
            true => self.array(&mut all)?,
            false => all.values.push(scalar),
        }
        Some(all)
    }

    fn array(&mut self, all: &mut Assignment<'a>) -> Option<()> {
        self.expect("(")?;
        loop {
            self.linebreaks();
            let Some(word) = self.word() else { break };
            let end = if word.text.starts_with('[') { Some(closing(&word, 1)?) } else { None };
            match end.filter(|end| word.text[*end..].starts_with("]=")) {
                Some(end) => {
                    let (head, value) = word.split(end + 2);
                    all.indexes.push(head.split(end).0.split(1).1);
                    all.values.push(value);
                }
                None => all.values.push(word),
            }
        }
        self.expect(")")?;
        // `a=(b)c` is not a word.
        self.byte(self.at).is_none_or(ends_word).then_some(())
    }

    /// Reads the function after `name ()`.
    pub(super) fn function(&mut self, name: &'a str) -> Option<Command<'a>> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:+@%/,^".contains(&byte) || byte > 127;
        if is_reserved(name) || name.is_empty() || !name.bytes().all(is_plain) {
            return None;
        }
        self.linebreaks();
        let begin = self.token_begin();
        let body = Box::new(self.compound()?);
        let end = self.token_begin();
        let redirects = self.redirects()?;
        let text = self.text.get(begin..end).unwrap_or_default();
        Some(Command::Function(Function { name, body, redirects, text }))
    }

    pub(super) fn redirects(&mut self) -> Option<Vec<Redirect<'a>>> {
        let mut all = Vec::new();
        while self.at_redirect() {
            all.push(self.redirect()?);
        }
        Some(all)
    }

    pub(super) fn at_redirect(&mut self) -> bool {
        let redirects = |text: &str| text.starts_with(['<', '>']) || text.starts_with("&>");
        match self.peek().kind {
            Kind::Descriptor => true,
            Kind::Sign => redirects(self.token.word.text),
            _ => false,
        }
    }

    pub(super) fn redirect(&mut self) -> Option<Redirect<'a>> {
        let mut is_standard_input = true;
        let mut is_standard_output = true;
        if self.peek().kind == Kind::Descriptor {
            let descriptor = std::mem::take(&mut self.token).word.text;
            is_standard_input = descriptor.bytes().all(|byte| byte == b'0');
            is_standard_output = descriptor == "1";
            if descriptor.len() > 9 && !descriptor.starts_with('{') || self.next_text().starts_with('&') {
                return None;
            }
        }
        let sign = self.next_text();
        self.pass(sign);
        let strips_tabs = sign == "<<-";
        if strips_tabs || sign == "<<" {
            return self.document(strips_tabs, is_standard_input);
        }
        let word = self.word()?;
        Some(match sign {
            "<<<" => Redirect::Text(word, is_standard_input),
            _ => Redirect::File(sign, word, is_standard_output),
        })
    }

    fn document(&mut self, strips_tabs: bool, is_standard_input: bool) -> Option<Redirect<'a>> {
        let word = self.word()?;
        let is_literal = word.text.contains(['\'', '"', '\\']);
        let delimiter = unquoted(word.text)?;
        let line_end =
            self.documents.map_or_else(|| self.find(b'\n'), |documents| Some(documents.line_end))?;
        if self.documents.is_some_and(|documents| documents.level != self.level) {
            return None;
        }
        let begin = self.documents.take().map_or(line_end + 1, |documents| documents.end);
        let resume = std::mem::replace(&mut self.at, begin);
        let (body_end, end) = self.body_end(&delimiter, strips_tabs, is_literal)?;
        let body = if is_literal {
            Raw::new(self.text.get(begin..body_end)?, begin, Vec::new())
        } else {
            self.at = begin;
            self.gather(begin, |reader| {
                while reader.at < body_end {
                    reader.piece(true)?;
                }
                (reader.at == body_end).then_some(())
            })?
        };
        self.at = resume;
        self.documents = Some(Documents { line_end, end, level: self.level });
        Some(Redirect::Document { body, is_literal, strips_tabs, is_standard_input })
    }

    /// The end of the body that begins here, and the start of the line after its delimiter.
    fn body_end(&mut self, delimiter: &str, strips_tabs: bool, is_literal: bool) -> Option<(usize, usize)> {
        loop {
            let begin = self.at;
            let feed = self.find(b'\n');
            let line = self.text.get(begin..feed.unwrap_or(self.text.len()))?;
            let own = if strips_tabs { line.trim_start_matches('\t') } else { line };
            if own == delimiter {
                return Some((begin, feed.map_or(self.text.len(), |feed| feed + 1)));
            }
            self.at = feed? + 1;
            // A backslash joins this line with the next. If a delimiter could begin here or follow, the text
            // is ambiguous and refused.
            let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
            if !is_literal && backslashes % 2 == 1 {
                let next = self.text.get(self.at..self.find(b'\n').unwrap_or(self.text.len()))?;
                if delimiter.starts_with(&own[..own.len() - 1]) || next.trim_start_matches('\t') == delimiter
                {
                    return None;
                }
            }
        }
    }
}

/// Where the name of an assignment ends and its value begins; `Some(None)` if the word assigns nothing.
#[expect(clippy::option_option, reason = "not an assignment, or one that is not understood")]
fn assigned(word: &Raw) -> Option<Option<(usize, usize)>> {
    let name_end = name_length(word.text);
    if name_end == 0 || word.text.as_bytes()[0].is_ascii_digit() {
        return Some(None);
    }
    let indexed = word.text[name_end..].starts_with('[');
    // bash reads an index to its end, even across blanks; here the word ended at the blank.
    let end = if indexed { closing(word, name_end + 1)? + 1 } else { name_end };
    let rest = &word.text[end..];
    Some(if rest.starts_with('=') {
        Some((name_end, end + 1))
    } else {
        rest.starts_with("+=").then_some((name_end, end + 2))
    })
}

/// The text of a delimiter; one that contains expansions is refused.
fn unquoted(word: &str) -> Option<String> {
    if word.contains(['$', '`', '<', '>', '(']) {
        return None;
    }
    let mut text = String::new();
    let mut quote = None;
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            ('\\', Some('"')) => return None,
            ('\\', None) => text.push(letters.next()?),
            _ => text.push(letter),
        }
    }
    (!text.contains('\n')).then_some(text)
}

/// The bracket that closes an index; an index with a backquote is refused.
fn closing(word: &Raw, from: usize) -> Option<usize> {
    word.closing(from, word.text.len(), b'[', b']').filter(|end| !word.text[from..*end].contains('`'))
}
