//! Parses shell text into a syntax tree: bash's grammar, in one pass.
//!
//! A recursive descent without backtracking. Invariants: every byte is looked at a bounded number of times,
//! nothing nests deeper than `DEEPEST`, and everything it accepts is accepted by `bash -n`. Rare constructs
//! that are hard to tell apart (such as a subshell that begins like an arithmetic command) are refused.

use super::tree::{
    Command, Compound, Function, List, Part, Pipeline, Raw, Redirect, SimpleCommand, Statement, is_name_byte,
};

mod word;
mod simple;
mod compound;
#[cfg(test)]
mod tests;

use simple::is_reserved;

/// Twice what a system accepts as one argument, and so as one command.
const LONGEST: usize = 256 * 1024;
/// How deeply commands, substitutions and quotes may nest.
const DEEPEST: usize = 32;
/// How deeply programs may nest: `$( $( … ) )`. The walk goes no deeper.
pub(super) const PROGRAMS: usize = 12;

/// Operators; one that is a prefix of another comes after it.
const SIGNS: [&str; 23] = [
    "&&", "&>>", "&>", "&", "||", "|&", "|", ";;&", ";;", ";&", ";", "<<<", "<<-", "<<", "<&", "<>", "<",
    ">>", ">&", ">|", ">", "(", ")",
];

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'&' | b';' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// Why a text has no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is too long or too deeply nested, or has a NUL.
    Beyond,
    /// It is not a program, or not one that we understand.
    NoProgram,
}

/// The tree of a program.
pub(super) fn parse(text: &str) -> Result<List<'_>, Unread> {
    // Where a NUL ends a text, and where it is left out, depends on who reads it.
    if text.len() > LONGEST || text.contains('\0') {
        return Err(Unread::Beyond);
    }
    #[cfg(any(test, debug_assertions))]
    TEXTS.with(|texts| texts.set(texts.get() + 1));
    let token = Token::default();
    let mut reader =
        Reader { text, at: 0, token, depth: 0, parts: Vec::new(), level: 0, documents: None, beyond: false };
    let list = reader.list().filter(|_| reader.peek().kind == Kind::End);
    list.ok_or(if reader.beyond { Unread::Beyond } else { Unread::NoProgram })
}

#[cfg(any(test, debug_assertions))]
thread_local! {
    /// How many texts this thread has begun to parse.
    pub(super) static TEXTS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    /// How many bytes were looked at.
    static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The next token. A word never has the same text as an operator, so the text alone tells them apart.
#[derive(Default)]
struct Token<'a> {
    kind: Kind,
    word: Raw<'a>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Unread,
    Word,
    Sign,
    /// The number or `{name}` before a redirection.
    Descriptor,
    End,
    /// No token, or one that we do not understand.
    Refused,
}

struct Reader<'a> {
    text: &'a str,
    /// The end of `token`.
    at: usize,
    token: Token<'a>,
    depth: usize,
    /// Parts of the word being read.
    parts: Vec<Part<'a>>,
    /// How many substitutions surround this position.
    level: usize,
    documents: Option<Documents>,
    /// It nests too deeply.
    beyond: bool,
}

/// Here-documents of the current line, read ahead.
#[derive(Clone, Copy)]
struct Documents {
    /// The line feed before their bodies.
    line_end: usize,
    /// The position after the last of them.
    end: usize,
    level: usize,
}

impl<'a> Reader<'a> {
    fn byte(&self, at: usize) -> Option<u8> {
        #[cfg(any(test, debug_assertions))]
        LOOKS.with(|looks| looks.set(looks.get() + 1));
        self.text.as_bytes().get(at).copied()
    }

    fn lex(&mut self) -> Option<Token<'a>> {
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
        let word = self.gather(begin, Self::pass_word)?;
        let redirects = matches!(self.byte(self.at), Some(b'<' | b'>'));
        let kind = if redirects && is_descriptor(word.text) { Kind::Descriptor } else { Kind::Word };
        Some(Token { kind, word })
    }

    /// Skips blanks, line continuations and a comment.
    fn skip_blanks(&mut self) {
        loop {
            match self.byte(self.at) {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.byte(self.at + 1) == Some(b'\n') => self.at += 2,
                Some(b'#') => self.at = self.find(b'\n').unwrap_or(self.text.len()),
                _ => return,
            }
        }
    }

    fn find(&self, byte: u8) -> Option<usize> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let found = memchr::memchr(byte, rest);
        #[cfg(test)]
        LOOKS.with(|looks| looks.set(looks.get() + found.unwrap_or(rest.len()) + 1));
        found.map(|found| self.at + found)
    }

    /// Skips a line feed, and the here-documents that follow it.
    fn end_line(&mut self) -> Option<()> {
        let line_feed = self.at;
        self.at += 1;
        if let Some(documents) = self.documents.take() {
            // This line feed is inside quotes or a substitution, so the here-documents do not belong to it.
            if documents.line_end != line_feed || documents.level != self.level {
                return None;
            }
            self.at = documents.end;
        }
        Some(())
    }

    fn peek(&mut self) -> &Token<'a> {
        if self.token.kind == Kind::Unread {
            self.token = self.lex().unwrap_or(Token { kind: Kind::Refused, word: Raw::default() });
        }
        &self.token
    }

    fn next_text(&mut self) -> &'a str {
        self.peek().word.text
    }

    /// Where the next token begins, if it was already read; otherwise where the last one ended.
    fn token_begin(&self) -> usize {
        self.at.saturating_sub(if self.token.kind == Kind::Unread { 0 } else { self.token.word.text.len() })
    }

    fn is_word(&mut self) -> bool {
        self.peek().kind == Kind::Word
    }

    /// Consumes the token if it is this word or operator.
    fn pass(&mut self, text: &str) -> bool {
        let found = self.next_text() == text && matches!(self.token.kind, Kind::Word | Kind::Sign);
        if found {
            self.token = Token::default();
        }
        found
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.pass(text).then_some(())
    }

    fn word(&mut self) -> Option<Raw<'a>> {
        self.is_word().then(|| std::mem::take(&mut self.token).word)
    }

    /// Skips line feeds. Returns whether there were any.
    fn linebreaks(&mut self) -> bool {
        let mut any = false;
        while self.pass("\n") {
            any = true;
        }
        any
    }

    fn too_deep<T>(&mut self) -> Option<T> {
        self.beyond = true;
        None
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEEPEST {
            return self.too_deep();
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads statements, up to a token that cannot begin one.
    fn list(&mut self) -> Option<List<'a>> {
        let mut all = Vec::new();
        self.linebreaks();
        while !self.at_list_end() {
            let mut pipelines = vec![(false, self.pipeline()?)];
            while let Some(is_or) = self.join() {
                self.linebreaks();
                pipelines.push((is_or, self.pipeline()?));
            }
            let background = self.pass("&");
            let ended = background || self.pass(";");
            all.push(Statement { pipelines, background });
            if !self.linebreaks() && !ended {
                break;
            }
        }
        Some(all)
    }

    /// A list for which bash requires at least one statement.
    fn statements(&mut self) -> Option<List<'a>> {
        self.list().filter(|list| !list.is_empty())
    }

    fn at_list_end(&mut self) -> bool {
        let closes = |text| {
            matches!(
                text,
                ")" | ";;" | ";&" | ";;&" | "do" | "done" | "then" | "elif" | "else" | "fi" | "}" | "esac"
            )
        };
        self.peek().kind == Kind::End || closes(self.next_text())
    }

    /// `&&` or `||`, and whether it is the latter.
    fn join(&mut self) -> Option<bool> {
        let is_or = self.pass("||");
        (is_or || self.pass("&&")).then_some(is_or)
    }

    fn pipeline(&mut self) -> Option<Pipeline<'a>> {
        loop {
            if self.pass("time") {
                self.pass("-p");
                self.pass("--");
            } else if !self.pass("!") {
                break;
            }
        }
        let mut stages = vec![self.command()?];
        loop {
            if self.pass("|&") {
                stages.last_mut()?.redirects_mut().push(Redirect::File(">&", Raw::plain("1"), false));
            } else if !self.pass("|") {
                return Some(stages);
            }
            self.linebreaks();
            stages.push(self.command()?);
        }
    }

    fn command(&mut self) -> Option<Command<'a>> {
        match self.next_text() {
            "(" | "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[" => {
                let compound = self.compound()?;
                Some(Command::Compound(Box::new(compound), self.redirects()?))
            }
            "function" => self.function_keyword(),
            "coproc" => self.coprocess(),
            _ => self.simple(None),
        }
    }

    /// `coproc command`: a subshell in the background. With a name of its own it sets variables that the line
    /// does not show, so that form is not read.
    fn coprocess(&mut self) -> Option<Command<'a>> {
        self.expect("coproc")?;
        let inner = match self.next_text() {
            "function" | "coproc" => None,
            _ => self.command(),
        };
        let has_name =
            |simple: &SimpleCommand| simple.words.get(1).is_some_and(|word| is_reserved(word.text));
        let inner = inner.filter(|inner| match inner {
            Command::Function(_) => false,
            Command::Simple(simple) => !has_name(simple),
            Command::Compound(..) => true,
        })?;
        let alone = Statement { pipelines: vec![(false, vec![inner])], background: true };
        Some(Command::Compound(Box::new(Compound::Subshell(vec![alone])), Vec::new()))
    }
}

/// Whether this is `2` or `{name}` before a `>`.
fn is_descriptor(word: &str) -> bool {
    let name = |text: &str| !text.is_empty() && text.bytes().all(is_name_byte);
    word.bytes().all(|byte| byte.is_ascii_digit())
        || word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(name)
}
