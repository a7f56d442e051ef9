//! Loops, branches, groups, arithmetic and `[[ … ]]`; functions with a keyword.

use super::simple::is_name;
use super::{Command, Function, Kind, List, Raw, Reader, Redirect};
use crate::syntax::tree::{Arm, Compound};

/// The operands of a test, and whether the shell evaluates them as arithmetic.
type Operands<'a> = Vec<(Raw<'a>, bool)>;

impl<'a> Reader<'a> {
    pub(super) fn compound(&mut self) -> Option<Compound<'a>> {
        let opening = self.next_text();
        self.expect(opening)?;
        self.nested(|reader| match opening {
            "(" if reader.byte(reader.at) == Some(b'(') => Some(Compound::Sum(reader.sum()?, List::new())),
            "(" => reader.closed(")").map(Compound::Subshell),
            "{" => reader.closed("}").map(Compound::Group),
            "if" => reader.branches(),
            "while" | "until" => {
                let condition = reader.statements()?;
                Some(Compound::While(condition, reader.body()?))
            }
            "for" | "select" => reader.each(opening == "select"),
            "case" => reader.case(),
            "[[" => {
                let mut operands = Vec::new();
                reader.terms(&mut operands)?;
                reader.expect("]]")?;
                Some(Compound::Test(operands))
            }
            _ => None,
        })
    }

    /// `((…))` after its first bracket. A subshell that begins like it is not distinguished.
    fn sum(&mut self) -> Option<Raw<'a>> {
        self.at += 1;
        let begin = self.at;
        let raw = self.gather(begin, |reader| reader.until(b'(', b')'))?;
        (self.byte(self.at + 1)? == b')').then(|| self.at += 2)?;
        Some(raw)
    }

    fn closed(&mut self, closing: &str) -> Option<List<'a>> {
        let list = self.statements()?;
        self.expect(closing)?;
        Some(list)
    }

    fn body(&mut self) -> Option<List<'a>> {
        self.expect("do")?;
        self.closed("done")
    }

    fn branches(&mut self) -> Option<Compound<'a>> {
        let mut arms = Vec::new();
        loop {
            let condition = self.statements()?;
            self.expect("then")?;
            arms.push((condition, self.statements()?));
            if !self.pass("elif") {
                break;
            }
        }
        let otherwise = if self.pass("else") { Some(self.statements()?) } else { None };
        self.expect("fi")?;
        Some(Compound::If { arms, otherwise })
    }

    fn each(&mut self, selects: bool) -> Option<Compound<'a>> {
        if !selects && self.next_text() == "(" && self.byte(self.at) == Some(b'(') {
            self.pass("(");
            return self.count();
        }
        let name = self.word()?.text;
        if !is_name(name) {
            return None;
        }
        let mut values = Vec::new();
        let broken = self.linebreaks();
        if self.pass("in") {
            while let Some(word) = self.word() {
                values.push(word);
            }
            let ended = self.pass(";");
            if !self.linebreaks() && !ended {
                return None;
            }
        } else if !broken && self.pass(";") {
            self.linebreaks();
        }
        let body = self.body()?;
        Some(Compound::Each { selects, name, values, body })
    }

    fn count(&mut self) -> Option<Compound<'a>> {
        let sum = self.sum()?;
        if sum.text.bytes().filter(|byte| *byte == b';').count() != 2 {
            return None;
        }
        self.pass(";");
        self.linebreaks();
        let body = if self.pass("{") { self.closed("}")? } else { self.body()? };
        Some(Compound::Sum(sum, body))
    }

    fn case(&mut self) -> Option<Compound<'a>> {
        let value = self.word()?;
        self.linebreaks();
        self.expect("in")?;
        self.linebreaks();
        let mut items = Vec::new();
        while !self.pass("esac") {
            self.pass("(");
            let mut patterns = vec![self.word()?];
            while self.pass("|") {
                patterns.push(self.word()?);
            }
            self.expect(")")?;
            let list = self.list()?;
            let falls = self.pass(";&") || self.pass(";;&");
            items.push(Arm { patterns, list, falls });
            if !falls && !self.pass(";;") {
                self.expect("esac")?;
                break;
            }
            self.linebreaks();
        }
        Some(Compound::Case(value, items))
    }

    pub(super) fn function_keyword(&mut self) -> Option<Command<'a>> {
        self.expect("function")?;
        let name = self.word()?.text;
        if self.pass("(") {
            self.expect(")")?;
        }
        self.function(name)
    }

    /// Terms of a test joined by `&&` and `||`.
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
        let is_unary =
            matches!(left.text.as_bytes(), [b'-', letter] if b"abcdefghknoprstuvwxzGLNORS".contains(letter));
        if is_unary {
            let word = self.operand()?;
            // The shell evaluates an index in a name.
            let computes = left.text == "-t" || matches!(left.text, "-v" | "-R") && !is_name(word.text);
            all.push((word, computes));
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
        // Only here does bash read a number before `<` as a descriptor.
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
                    _ => reader.piece(false)?,
                }
            }
            Some(())
        })?;
        (!raw.text.is_empty() && raw.text != "]]").then_some(raw)
    }
}

impl<'a> Command<'a> {
    pub(super) fn redirects_mut(&mut self) -> &mut Vec<Redirect<'a>> {
        match self {
            Command::Simple(simple) => &mut simple.redirects,
            Command::Compound(_, redirects) | Command::Function(Function { redirects, .. }) => redirects,
        }
    }
}
