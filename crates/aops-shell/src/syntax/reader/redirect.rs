//! Redirections and here-documents. The body of a document is read ahead, where its redirection stands.

use super::{Documents, Kind, Raw, Reader, Redirect};
use crate::syntax::tree::Document;

impl<'a> Reader<'a> {
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
        if self.peek().kind == Kind::Descriptor {
            let descriptor = std::mem::take(&mut self.token).word.text;
            is_standard_input = descriptor.bytes().all(|byte| byte == b'0');
            if descriptor.len() > 9 && !descriptor.starts_with('{') || self.next_text().starts_with('&') {
                return None;
            }
        }
        let sign = self.next_text();
        self.pass(sign);
        let strips_tabs = sign == "<<-";
        if strips_tabs || sign == "<<" {
            return self.document(strips_tabs, is_standard_input).map(Redirect::Document);
        }
        let word = self.word()?;
        Some(match sign {
            "<" => Redirect::Input(word),
            "<&" => Redirect::CopyInput(word),
            ">&" => Redirect::CopyOutput(word),
            "<<<" => Redirect::Text(word, is_standard_input),
            _ => Redirect::Output(word),
        })
    }

    fn document(&mut self, strips_tabs: bool, is_standard_input: bool) -> Option<Document<'a>> {
        let word = self.word()?;
        let is_literal = word.text.contains(['\'', '"', '\\']);
        let delimiter = unquoted(word.text)?;
        let line_end = self.documents.map_or_else(|| self.find(b'\n'), |documents| Some(documents.line_end))?;
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
                    reader.quoted_piece()?;
                }
                (reader.at == body_end).then_some(())
            })?
        };
        self.at = resume;
        self.documents = Some(Documents { line_end, end, level: self.level });
        Some(Document { body, is_literal, strips_tabs, is_standard_input })
    }

    /// Where the body ends that begins here, and where the line behind its delimiter begins.
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
            // Joined with the next line, which then cannot be the delimiter; or both together are.
            let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
            if !is_literal && backslashes % 2 == 1 {
                let next = self.text.get(self.at..self.find(b'\n').unwrap_or(self.text.len()))?;
                if delimiter.starts_with(&own[..own.len() - 1]) || next.trim_start_matches('\t') == delimiter {
                    return None;
                }
            }
        }
    }
}

/// The text of a delimiter. One that is expanded anywhere else is refused.
fn unquoted(word: &str) -> Option<String> {
    if word.contains(['$', '`', '<', '>', '(']) {
        return None;
    }
    let (mut text, mut quote, mut letters) = (String::new(), None, word.chars());
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
