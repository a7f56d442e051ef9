//! Simple commands of a plain line: their assignments, words and redirections.

use super::token::Token;
use super::{Item, Reader};
use brush_parser::ast::{self, IoFileRedirectKind as Kind, IoFileRedirectTarget as Target};

impl Reader<'_> {
    pub(super) fn simple(&mut self) -> Option<ast::SimpleCommand> {
        let mut prefix = Vec::new();
        loop {
            if let Some(redirect) = self.redirect()? {
                prefix.push(Item::IoRedirect(redirect));
            } else if let Some(assignment) = self.peek_word().map_or(Some(None), assignment)? {
                prefix.push(assignment);
                self.at += 1;
            } else {
                break;
            }
        }
        // After assignments alone the command may end; a word that is reserved there does not end it.
        let name = if self.peek_word().is_some() { Some(self.word()?) } else { None };
        if name == Some("time") || name.is_none() && prefix.is_empty() {
            return None;
        }
        let mut suffix = Vec::new();
        while name.is_some() {
            if let Some(redirect) = self.redirect()? {
                suffix.push(Item::IoRedirect(redirect));
            } else if self.peek_word().is_some() {
                let word = self.word()?;
                suffix.push(assignment(word)?.unwrap_or_else(|| Item::Word(ast::Word::new(word))));
            } else {
                break;
            }
        }
        Some(ast::SimpleCommand {
            prefix: (!prefix.is_empty()).then_some(ast::CommandPrefix(prefix)),
            word_or_name: name.map(ast::Word::new),
            suffix: (!suffix.is_empty()).then_some(ast::CommandSuffix(suffix)),
        })
    }

    /// The redirection that stands here; `Some(None)` if there is none.
    pub(super) fn redirect(&mut self) -> Option<Option<ast::IoRedirect>> {
        let Some(mut token) = self.peek() else { return Some(None) };
        let mut number = None;
        if token.is_word {
            if !token.text.bytes().all(|byte| byte.is_ascii_digit()) {
                return Some(None);
            }
            let next = self.tokens.get(self.at + 1);
            let joined = |next: &&Token| {
                token.at + token.text.len() == next.at && !next.is_word && next.text.starts_with(['<', '>'])
            };
            let Some(next) = next.filter(joined) else { return Some(None) };
            (number, token) = (Some(token.text.parse().ok()?), *next);
        }
        let kind = match token.text {
            "<" => Kind::Read,
            "<&" => Kind::DuplicateInput,
            ">" | "&>" | "&>>" => Kind::Write,
            ">&" => Kind::DuplicateOutput,
            ">>" => Kind::Append,
            "<>" => Kind::ReadAndWrite,
            ">|" => Kind::Clobber,
            _ => return Some(None),
        };
        self.at += 1 + usize::from(number.is_some());
        let word = ast::Word::new(self.word()?);
        Some(Some(match token.text {
            "&>" | "&>>" => ast::IoRedirect::OutputAndError(word, token.text == "&>>"),
            "<&" | ">&" => ast::IoRedirect::File(number, kind, Target::Duplicate(word)),
            _ => ast::IoRedirect::File(number, kind, Target::Filename(word)),
        }))
    }
}

/// A word that assigns; `Some(None)` if it does not. What may be the element of an array is not plain.
fn assignment(word: &str) -> Option<Option<Item>> {
    let bytes = word.as_bytes();
    let name = bytes.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    let Some(end) = name.filter(|end| *end > 0 && !bytes[0].is_ascii_digit()) else { return Some(None) };
    let append = bytes[end] == b'+';
    match bytes.get(end + usize::from(append)) {
        Some(b'[') if !append => None,
        Some(b'=') => {
            let value = word.get(end + usize::from(append) + 1..)?;
            let assignment = ast::Assignment {
                name: ast::AssignmentName::VariableName(word.get(..end)?.to_owned()),
                value: ast::AssignmentValue::Scalar(ast::Word::new(value)),
                append,
                loc: brush_parser::SourceSpan::default(),
            };
            Some(Some(Item::AssignmentWord(assignment, ast::Word::new(word))))
        }
        _ => Some(None),
    }
}
