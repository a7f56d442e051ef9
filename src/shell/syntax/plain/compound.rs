//! Loops, branches and groups of a plain line.

use super::Reader;
use super::token::Token;
use brush_parser::SourceSpan;
use brush_parser::ast::{self, CompoundCommand};

/// Fewer than the grammar is ever given, of all kinds and of subshells: a function's brackets count there, too.
const DEEPEST: usize = 16;
const BRACKETS: usize = 7;

impl Reader<'_> {
    /// What begins here; `Some(None)` if nothing does.
    pub(super) fn compound(&mut self) -> Option<Option<CompoundCommand>> {
        if self.sign("(") {
            return self.subshell().map(|group| Some(CompoundCommand::Subshell(group)));
        }
        let Some(kind @ ("for" | "while" | "until" | "if" | "{")) = self.peek_word() else {
            return Some(None);
        };
        if self.depth >= DEEPEST {
            return None;
        }
        self.at += 1;
        self.depth += 1;
        let compound = match kind {
            "for" => CompoundCommand::ForClause(self.each()?),
            "while" => CompoundCommand::WhileClause(self.repeated()?),
            "until" => CompoundCommand::UntilClause(self.repeated()?),
            "{" => CompoundCommand::BraceGroup(self.group()?),
            _ => CompoundCommand::IfClause(self.branch()?),
        };
        self.depth -= 1;
        Some(Some(compound))
    }

    fn subshell(&mut self) -> Option<ast::SubshellCommand> {
        // Two at once may be a sum.
        if self.brackets >= BRACKETS || self.peek()?.text == "(" {
            return None;
        }
        self.brackets += 1;
        let list = self.list()?;
        self.brackets -= 1;
        self.sign(")").then(|| ast::SubshellCommand { list, loc: SourceSpan::default() })
    }

    fn group(&mut self) -> Option<ast::BraceGroupCommand> {
        let list = self.list()?;
        self.close("}")?;
        Some(ast::BraceGroupCommand { list, loc: SourceSpan::default() })
    }

    fn each(&mut self) -> Option<ast::ForClauseCommand> {
        let variable_name = self.word()?.to_owned();
        self.linebreak();
        self.expect("in")?;
        let mut values = Vec::new();
        while self.peek_word().is_some() {
            values.push(ast::Word::new(self.word()?));
        }
        let ends = self.sign(";");
        if !self.linebreak() && !ends {
            return None;
        }
        let values = (!values.is_empty()).then_some(values);
        let body = self.body()?;
        Some(ast::ForClauseCommand { variable_name, values, body, loc: SourceSpan::default() })
    }

    fn repeated(&mut self) -> Option<ast::WhileOrUntilClauseCommand> {
        let condition = self.list()?;
        let body = self.body()?;
        Some(ast::WhileOrUntilClauseCommand(condition, body, SourceSpan::default()))
    }

    fn body(&mut self) -> Option<ast::DoGroupCommand> {
        self.expect("do")?;
        let list = self.list()?;
        self.close("done")?;
        Some(ast::DoGroupCommand { list, loc: SourceSpan::default() })
    }

    fn branch(&mut self) -> Option<ast::IfClauseCommand> {
        let condition = self.list()?;
        self.expect("then")?;
        let then = self.list()?;
        let mut elses = Vec::new();
        while self.peek_word()? == "elif" {
            self.at += 1;
            let condition = Some(self.list()?);
            self.expect("then")?;
            elses.push(ast::ElseClause { condition, body: self.list()? });
        }
        if self.peek_word()? == "else" {
            self.at += 1;
            elses.push(ast::ElseClause { condition: None, body: self.list()? });
        }
        self.close("fi")?;
        let elses = (!elses.is_empty()).then_some(elses);
        Some(ast::IfClauseCommand { condition, then, elses, loc: SourceSpan::default() })
    }

    /// The last word. Behind an argument the bounds of the grammar count it as one more, so that is left to them.
    fn close(&mut self, word: &str) -> Option<()> {
        let before = self.tokens.get(self.at.checked_sub(1)?)?;
        if before.is_word && !matches!(before.text, "done" | "fi" | "}") {
            return None;
        }
        self.expect(word)
    }

    /// Chains up to the word that parts or ends what they stand in.
    fn list(&mut self) -> Option<ast::CompoundList> {
        let mut items = Vec::new();
        self.linebreak();
        loop {
            let chain = self.chain()?;
            let separator = self.separator();
            let broken = self.linebreak();
            let over = separator.is_none() && !broken || self.peek().is_some_and(parts);
            let separator = separator.unwrap_or(ast::SeparatorOperator::Sequence);
            items.push(ast::CompoundListItem(chain, separator));
            if over {
                return Some(ast::CompoundList(items));
            }
        }
    }
}

fn parts(token: Token) -> bool {
    matches!(token.text, "do" | "done" | "then" | "elif" | "else" | "fi" | "}" | ")")
}
