//! `[[ … ]]`

use super::{Kind, Raw, Reader};

type Operands<'a> = Vec<(Raw<'a>, bool)>;

impl<'a> Reader<'a> {
    /// The operands of a test behind its `[[`.
    pub(super) fn test(&mut self) -> Option<Operands<'a>> {
        let mut all = Vec::new();
        self.terms(&mut all)?;
        self.expect("]]")?;
        Some(all)
    }

    /// Terms joined by `&&` and `||`.
    fn terms(&mut self, all: &mut Operands<'a>) -> Option<()> {
        loop {
            self.linebreaks();
            while self.pass("!") {}
            if self.pass("(") {
                self.nested(|reader| reader.terms(all))?;
                self.expect(")")?;
            } else {
                self.term(all)?;
            }
            self.linebreaks();
            if self.join().is_none() {
                return Some(());
            }
        }
    }

    fn term(&mut self, all: &mut Operands<'a>) -> Option<()> {
        let left = self.operand()?;
        let is_unary = matches!(left.text.as_bytes(), [b'-', letter] if b"abcdefghknoprstuvwxzGLNORS".contains(letter));
        if is_unary {
            let word = self.operand()?;
            all.push((word, false));
            return Some(());
        }
        let operator = self.next_text();
        let computes = matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
        let compares = matches!(operator, "=" | "==" | "!=" | "=~" | "<" | ">" | "-nt" | "-ot" | "-ef");
        all.push((left, computes));
        if !computes && !compares {
            return Some(());
        }
        self.pass(operator);
        let right = if operator == "=~" { self.regex()? } else { self.operand()? };
        all.push((right, computes));
        Some(())
    }

    fn operand(&mut self) -> Option<Raw<'a>> {
        // bash takes a number before `<` for a descriptor nowhere but here.
        if self.peek().kind == Kind::Descriptor {
            return Some(std::mem::take(&mut self.token).word);
        }
        if matches!(self.next_text(), "]]" | "!") { None } else { self.word() }
    }

    /// A regular expression may hold brackets and `|`.
    fn regex(&mut self) -> Option<Raw<'a>> {
        self.skip_blanks();
        let begin = self.at;
        let raw = self.gather(begin, |reader| {
            while let Some(byte) = reader.byte(reader.at) {
                match byte {
                    b' ' | b'\t' | b'\n' | b'&' | b';' | b'<' | b'>' | b')' => break,
                    b'(' => {
                        reader.at += 1;
                        reader.nested(|reader| reader.until(b'(', b')'))?;
                        reader.at += 1;
                    }
                    b'\\' if reader.byte(reader.at + 1) == Some(b'\n') => return None,
                    _ => reader.piece(byte)?,
                }
            }
            Some(())
        })?;
        (!raw.text.is_empty() && raw.text != "]]").then_some(raw)
    }
}
