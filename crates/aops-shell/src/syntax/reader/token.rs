//! Cuts the text into words and signs.

use super::{Kind, Raw, Reader, Token};

/// Signs, longest first where one begins another.
const SIGNS: [&str; 23] = [
    "&&", "&>>", "&>", "&", "||", "|&", "|", ";;&", ";;", ";&", ";", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&",
    ">|", ">", "(", ")",
];

pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'&' | b';' | b'|' | b'<' | b'>' | b'(' | b')')
}

impl<'a> Reader<'a> {
    /// The token that begins here.
    pub(super) fn lex(&mut self) -> Option<Token<'a>> {
        self.skip_blanks();
        let begin = self.at;
        let Some(byte) = self.byte(begin) else {
            return Some(Token { kind: Kind::End, word: Raw::default() });
        };
        if byte == b'\n' {
            self.end_line()?;
            return Some(Token { kind: Kind::Sign, word: Raw::plain("\n") });
        }
        if ends_word(byte) && !self.at_process() {
            let rest = self.text.as_bytes().get(begin..)?;
            let sign = SIGNS.iter().find(|sign| rest.starts_with(sign.as_bytes()))?;
            self.at += sign.len();
            return Some(Token { kind: Kind::Sign, word: Raw::plain(sign) });
        }
        let word = self.lex_word()?;
        let redirects = matches!(self.byte(self.at), Some(b'<' | b'>'));
        let kind = if redirects && is_descriptor(word.text) { Kind::Descriptor } else { Kind::Word };
        Some(Token { kind, word })
    }

    /// Blanks, line continuations and a comment.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.byte(self.at) {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.byte(self.at + 1) == Some(b'\n') => self.at += 2,
                Some(b'#') => self.at = self.find(b'\n').unwrap_or(self.text.len()),
                _ => return,
            }
        }
    }

    /// Where this byte stands next.
    pub(super) fn find(&self, byte: u8) -> Option<usize> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let found = memchr::memchr(byte, rest);
        #[cfg(test)]
        super::LOOKS.with(|looks| looks.set(looks.get() + found.unwrap_or(rest.len()) + 1));
        found.map(|found| self.at + found)
    }

    /// Pass a line feed, and the here-documents that follow it.
    fn end_line(&mut self) -> Option<()> {
        let line_feed = self.at;
        self.at += 1;
        if let Some(documents) = self.documents.take() {
            // Another one stands inside quotes, or between the brackets of a substitution.
            if documents.line_end != line_feed || documents.level != self.level {
                return None;
            }
            self.at = documents.end;
        }
        Some(())
    }
}

/// `2` or `{name}`, as they stand before `>`.
fn is_descriptor(word: &str) -> bool {
    let name = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    word.bytes().all(|byte| byte.is_ascii_digit())
        || word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(name)
}
