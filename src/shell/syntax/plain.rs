//! Reads a line of plain shell into the tree that the grammar would make of it, at a tenth of the cost.
//!
//! Lists, pipes, assignments and redirections of simple commands, loops, branches, groups and functions: what most lines
//! are. Invariant: the very tree of the grammar but for places in the text, or nothing; whoever gets nothing asks it.

#![expect(clippy::option_option, reason = "nothing here, or nothing plain: only the latter ends the reading")]

use brush_parser::ast::{self, CommandPrefixOrSuffixItem as Item};
use token::Token;

mod token;
mod compound;
mod simple;
#[cfg(test)]
mod tests;

/// Words that begin, part or end something. As arguments they are the grammar's business.
#[rustfmt::skip]
const RESERVED: [&str; 21] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "until", "while", "{", "}",
];

/// The tree of a plain line.
pub(super) fn parse(text: &str) -> Option<ast::Program> {
    let mut reader = Reader { tokens: token::tokens(text)?, at: 0, depth: 0, brackets: 0 };
    let mut complete_commands = Vec::new();
    reader.linebreak();
    while reader.peek().is_some() {
        complete_commands.push(reader.line()?);
        if reader.peek().is_some() && !reader.linebreak() {
            return None;
        }
    }
    Some(ast::Program { complete_commands })
}

/// The tokens, and how far they are read.
struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    /// Loops, branches and groups around this place, and subshells.
    depth: usize,
    brackets: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    fn peek_word(&self) -> Option<&'a str> {
        self.peek().filter(|token| token.is_word).map(|token| token.text)
    }

    /// Pass this sign, if it is the next one.
    fn sign(&mut self, sign: &str) -> bool {
        let found = self.peek().is_some_and(|token| !token.is_word && token.text == sign);
        self.at += usize::from(found);
        found
    }

    /// Pass this word, or give up.
    fn expect(&mut self, word: &str) -> Option<()> {
        let found = self.peek_word()? == word;
        self.at += usize::from(found);
        found.then_some(())
    }

    /// A word that is none of the reserved ones, and cannot be the element of an array.
    fn word(&mut self) -> Option<&'a str> {
        let word = self.peek_word().filter(|word| !is_reserved(word) && !is_indexed(word))?;
        self.at += 1;
        Some(word)
    }

    /// Whether there was any.
    fn linebreak(&mut self) -> bool {
        let before = self.at;
        while self.sign("\n") {}
        self.at > before
    }

    fn separator(&mut self) -> Option<ast::SeparatorOperator> {
        if self.sign(";") {
            return Some(ast::SeparatorOperator::Sequence);
        }
        self.sign("&").then_some(ast::SeparatorOperator::Async)
    }

    /// Chains up to the end of a line.
    fn line(&mut self) -> Option<ast::CompoundList> {
        let mut items = Vec::new();
        loop {
            let chain = self.chain()?;
            let separator = self.separator();
            let over = separator.is_none() || self.peek().is_none_or(|token| token.text == "\n");
            items.push(ast::CompoundListItem(chain, separator.unwrap_or(ast::SeparatorOperator::Sequence)));
            if over {
                return Some(ast::CompoundList(items));
            }
        }
    }

    fn chain(&mut self) -> Option<ast::AndOrList> {
        let first = self.pipeline()?;
        let mut additional = Vec::new();
        loop {
            let join = if self.sign("&&") {
                ast::AndOr::And
            } else if self.sign("||") {
                ast::AndOr::Or
            } else {
                return Some(ast::AndOrList { first, additional });
            };
            self.linebreak();
            additional.push(join(self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Option<ast::Pipeline> {
        let mut seq = vec![self.command()?];
        while self.sign("|") {
            self.linebreak();
            seq.push(self.command()?);
        }
        Some(ast::Pipeline { timed: None, bang: false, seq })
    }

    fn command(&mut self) -> Option<ast::Command> {
        if let Some(fname) = self.function()? {
            self.linebreak();
            let body = ast::FunctionBody(self.compound()??, self.redirects()?);
            return Some(ast::Command::Function(ast::FunctionDefinition { fname, body }));
        }
        if let Some(compound) = self.compound()? {
            return Some(ast::Command::Compound(compound, self.redirects()?));
        }
        self.simple().map(ast::Command::Simple)
    }

    /// `name ()`; `Some(None)` if something else stands here.
    fn function(&mut self) -> Option<Option<ast::Word>> {
        let opens = self.tokens.get(self.at + 1).is_some_and(|next| next.text == "(");
        if !opens || self.peek_word().is_none_or(is_reserved) {
            return Some(None);
        }
        let name = self.word().filter(|name| !name.ends_with('='))?;
        (self.sign("(") && self.sign(")")).then(|| Some(ast::Word::new(name)))
    }

    fn redirects(&mut self) -> Option<Option<ast::RedirectList>> {
        let mut redirects = Vec::new();
        while let Some(redirect) = self.redirect()? {
            redirects.push(redirect);
        }
        Some((!redirects.is_empty()).then_some(ast::RedirectList(redirects)))
    }
}

/// `name[…`, or a pattern that begins like one. The bounds of the grammar look into those.
fn is_indexed(word: &str) -> bool {
    let end = word.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_'));
    word.len() > 1 && end.is_some_and(|end| word.as_bytes()[end] == b'[')
}

fn is_reserved(word: &str) -> bool {
    word.len() < 9 && RESERVED.binary_search(&word).is_ok()
}
