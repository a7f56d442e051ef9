//! Loops, branches, groups, sums and tests; functions and coprocesses with a keyword.

use super::simple::{is_name, is_reserved};
use super::{Command, List, Raw, Reader, Redirect};
use crate::syntax::tree::Compound;

impl<'a> Reader<'a> {
    pub(super) fn compound(&mut self) -> Option<Compound<'a>> {
        let opening = self.next_text();
        self.expect(opening)?;
        self.nested(|reader| match opening {
            "(" if reader.byte(reader.at) == Some(b'(') => reader.sum().map(Compound::Sum),
            "(" => {
                let list = reader.statements()?;
                reader.expect(")")?;
                Some(Compound::Subshell(list))
            }
            "{" => {
                let list = reader.statements()?;
                reader.expect("}")?;
                Some(Compound::Lists(vec![list]))
            }
            "if" => reader.branches(),
            "while" | "until" => {
                let condition = reader.statements()?;
                Some(Compound::Lists(vec![condition, reader.body()?]))
            }
            "for" => reader.each(false),
            "select" => reader.each(true),
            "case" => reader.case(),
            "[[" => reader.test().map(Compound::Test),
            _ => None,
        })
    }

    /// `((…))` behind its first bracket. A subshell that begins like it is not told apart.
    fn sum(&mut self) -> Option<Raw<'a>> {
        self.at += 1;
        let begin = self.at;
        let raw = self.gather(begin, |reader| reader.until(b'(', b')'))?;
        (self.byte(self.at + 1)? == b')').then(|| self.at += 2)?;
        Some(raw)
    }

    fn body(&mut self) -> Option<List<'a>> {
        self.expect("do")?;
        let list = self.statements()?;
        self.expect("done")?;
        Some(list)
    }

    fn branches(&mut self) -> Option<Compound<'a>> {
        let mut lists = Vec::new();
        loop {
            lists.push(self.statements()?);
            self.expect("then")?;
            lists.push(self.statements()?);
            if !self.pass("elif") {
                break;
            }
        }
        if self.pass("else") {
            lists.push(self.statements()?);
        }
        self.expect("fi")?;
        Some(Compound::Lists(lists))
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
        Some(if selects { Compound::Select { name, values, body } } else { Compound::For { name, values, body } })
    }

    fn count(&mut self) -> Option<Compound<'a>> {
        let sum = self.sum()?;
        if sum.text.bytes().filter(|byte| *byte == b';').count() != 2 {
            return None;
        }
        self.pass(";");
        self.linebreaks();
        if self.pass("{") {
            let body = self.statements()?;
            self.expect("}")?;
            return Some(Compound::Count(sum, body));
        }
        Some(Compound::Count(sum, self.body()?))
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
            items.push((patterns, self.list()?));
            if !(self.pass(";;") || self.pass(";&") || self.pass(";;&")) {
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

    pub(super) fn coprocess(&mut self) -> Option<Command<'a>> {
        self.expect("coproc")?;
        let command = self.nested(|reader| {
            if begins(reader.next_text()) {
                return reader.command();
            }
            let word = reader.word().filter(|word| !is_reserved(word.text))?;
            match reader.next_text() {
                text if begins(text) && is_name(word.text) => reader.command(),
                // Behind `coproc word` bash still looks for keywords.
                text if begins(text) || is_reserved(text) => None,
                _ => reader.simple(Some(word)),
            }
        })?;
        Some(Command::Coprocess(Box::new(command)))
    }
}

/// A compound command begins with this.
fn begins(text: &str) -> bool {
    matches!(text, "(" | "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[")
}

impl<'a> Command<'a> {
    pub(super) fn redirects_mut(&mut self) -> Option<&mut Vec<Redirect<'a>>> {
        match self {
            Command::Simple(simple) => Some(&mut simple.redirects),
            Command::Compound(_, redirects) | Command::Function(_, _, redirects) => Some(redirects),
            Command::Coprocess(_) => None,
        }
    }
}
