//! Turns text into a syntax tree, within bounds.
//!
//! Plain text is read by ourselves; the rest is for the grammar. That one backtracks without memory and recurses, so text
//! that could make it slow, deep or panic is refused before it gets there. Invariant: every tree returned was made in
//! time linear in the text.

use super::plain;
use brush_parser::ast::Program;
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

/// A line above this is data, not a command somebody reviews.
const LONGEST: usize = 128 * 1024;
/// Brackets of any kind open at once, quoted or not: the tokenizer recurses into them.
const DEEPEST: usize = 48;
/// Open parentheses between words: the grammar tries each as arithmetic and as a subshell.
const PARENTHESES: usize = 8;
/// Open compound commands.
const COMPOUNDS: usize = 32;
/// Signs that join or negate once a `[[` was seen: inside it each is a level of the tree.
const JOINED: usize = 256;
/// Signs in a word that begins like an array element; its index is parsed with backtracking.
const INDEX_SIGNS: usize = 8;

/// The tree of a program, or nothing if it is no shell or beyond our bounds.
pub(super) fn parse(text: &str) -> Option<Program> {
    if text.len() > LONGEST || text.contains('\0') || nesting(text) > DEEPEST {
        return None;
    }
    #[cfg(test)]
    READ.with(|read| read.set((read.get().0 + 1, read.get().1)));
    plain::parse(text).or_else(|| by_grammar(text))
}

#[cfg(test)]
thread_local! {
    /// Texts read in this thread, and how many of them the grammar had to read.
    pub(super) static READ: std::cell::Cell<(usize, usize)> = const { std::cell::Cell::new((0, 0)) };
}

/// The tree that the grammar makes of a text within the bounds above.
pub(super) fn by_grammar(text: &str) -> Option<Program> {
    #[cfg(test)]
    READ.with(|read| read.set((read.get().0, read.get().1 + 1)));
    let options = ParserOptions::default();
    let tokens = uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
    tame(&tokens).then(|| parse_tokens(&tokens, &options).ok()).flatten()
}

/// Brackets and backquotes open at once, read without understanding quotes.
fn nesting(text: &str) -> usize {
    let (mut open, mut most, mut ticks) = (0usize, 0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'{' => open += 1,
            b')' | b'}' => open = open.saturating_sub(1),
            b'`' => ticks += 1,
            _ => {}
        }
        most = most.max(open);
    }
    // Backquotes nest only behind backslashes, which double at each level.
    most + usize::from(ticks > 0 && text.contains("\\\\\\\\`")) * DEEPEST
}

/// Nothing in these tokens makes the grammar panic, recurse deeply or backtrack without end.
fn tame(tokens: &[Token]) -> bool {
    let (mut parentheses, mut compounds, mut cases) = (0usize, 0usize, 0usize);
    let (mut tests, mut joined) = (false, 0usize);
    for (at, token) in tokens.iter().enumerate() {
        let closes = || closes(tokens, at, cases > 0);
        match token {
            Token::Operator(sign, _) => match sign.as_str() {
                "(" => parentheses += 1,
                ")" => parentheses = parentheses.saturating_sub(1),
                "&&" | "||" => joined += usize::from(tests),
                _ => {}
            },
            Token::Word(word, _) => match word.as_str() {
                "{" | "if" | "while" | "until" | "for" | "coproc" | "function" => compounds += 1,
                "[[" => tests = true,
                "!" => joined += usize::from(tests),
                "}" | "done" | "fi" if closes() => compounds = compounds.saturating_sub(1),
                "case" => cases += 1,
                "esac" if closes() => cases = cases.saturating_sub(1),
                _ if indexed(word) || overflows(word, tokens.get(at + 1)) => return false,
                _ => {}
            },
        }
        if parentheses > PARENTHESES || compounds > COMPOUNDS || cases > 4 || joined > JOINED {
            return false;
        }
    }
    true
}

/// A word that closes a command: where one may begin, and no pattern of a `case`. An argument closes nothing.
fn closes(tokens: &[Token], at: usize, in_case: bool) -> bool {
    let begins = at.checked_sub(1).is_none_or(|before| match &tokens[before] {
        Token::Operator(..) => true,
        Token::Word(word, _) => matches!(word.as_str(), "}" | "done" | "fi" | "esac" | "]]" | "in"),
    });
    let pattern = matches!(tokens.get(at + 1), Some(Token::Operator(sign, _)) if sign == ")" || sign == "|");
    begins && !(in_case && pattern)
}

/// `name[…` with more inside than any index needs.
fn indexed(word: &str) -> bool {
    let name = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
    word[name..].starts_with('[')
        && word.bytes().filter(|b| matches!(b, b'[' | b'(' | b'{' | b'$' | b'`' | b'"')).count() > INDEX_SIGNS
}

/// `9999999999>`: a descriptor the grammar would fail to count.
fn overflows(word: &str, next: Option<&Token>) -> bool {
    word.len() > 9
        && word.bytes().all(|b| b.is_ascii_digit())
        && matches!(next, Some(Token::Operator(sign, _)) if sign.starts_with(['<', '>']))
}
