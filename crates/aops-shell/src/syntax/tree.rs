//! The syntax tree of a shell program. Its words are slices of the text, with their substitutions parsed in
//! place.

pub(super) type List<'a> = Vec<Statement<'a>>;
pub(super) type Pipeline<'a> = Vec<Command<'a>>;

#[derive(Debug)]
pub(super) struct Statement<'a> {
    /// Pipelines joined by `&&` and `||`; `true` for one that follows `||`.
    pub(super) pipelines: Vec<(bool, Pipeline<'a>)>,
    pub(super) background: bool,
}

#[derive(Debug)]
pub(super) enum Command<'a> {
    Simple(SimpleCommand<'a>),
    Compound(Box<Compound<'a>>, Vec<Redirect<'a>>),
    Function(Function<'a>),
}

#[derive(Debug)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) body: Box<Compound<'a>>,
    pub(super) redirects: Vec<Redirect<'a>>,
    /// The body as text: each call parses it again, with its arguments.
    pub(super) text: &'a str,
}

#[derive(Debug, Default)]
pub(super) struct SimpleCommand<'a> {
    pub(super) assignments: Vec<Assignment<'a>>,
    pub(super) words: Vec<Raw<'a>>,
    pub(super) redirects: Vec<Redirect<'a>>,
}

#[derive(Debug)]
pub(super) enum Compound<'a> {
    /// `{ … }`
    Group(List<'a>),
    /// The conditions of `if` and `elif`, each with its body, and the body of `else`.
    If {
        arms: Vec<(List<'a>, List<'a>)>,
        otherwise: Option<List<'a>>,
    },
    /// `while` and `until`.
    While(List<'a>, List<'a>),
    /// `( … )`
    Subshell(List<'a>),
    /// `for`, or `select`, whose variable may also be empty.
    Each {
        selects: bool,
        name: &'a str,
        values: Vec<Raw<'a>>,
        body: List<'a>,
    },
    Case(Raw<'a>, Vec<Arm<'a>>),
    /// `((…))`, and `for ((…; …; …))` with its body.
    Sum(Raw<'a>, List<'a>),
    /// `[[ … ]]`: its operands, and whether the shell evaluates them as arithmetic.
    Test(Vec<(Raw<'a>, bool)>),
}

/// One branch of a `case`: its patterns and its body.
#[derive(Debug)]
pub(super) struct Arm<'a> {
    pub(super) patterns: Vec<Raw<'a>>,
    pub(super) list: List<'a>,
    /// It ends with `;&` or `;;&`: the next branch may run too.
    pub(super) falls: bool,
}

/// `name=value`, `name+=value`, `name[index]=value`, `name=(value …)`
#[derive(Debug)]
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    /// Indexes of the variable, or of elements in its array.
    pub(super) indexes: Vec<Raw<'a>>,
    /// One value, except for an array.
    pub(super) values: Vec<Raw<'a>>,
    pub(super) is_array: bool,
    /// The old content is kept.
    pub(super) keeps: bool,
}

#[derive(Debug)]
pub(super) enum Redirect<'a> {
    /// All other redirections: the operator, the file or descriptor, and whether it redirects standard
    /// output.
    File(&'a str, Raw<'a>, bool),
    /// `<<<`; whether it is standard input.
    Text(Raw<'a>, bool),
    /// `<<`, `<<-`
    Document {
        body: Raw<'a>,
        /// The delimiter is quoted: nothing in the body is expanded.
        is_literal: bool,
        /// `<<-`: leading tabs are not part of the body.
        strips_tabs: bool,
        is_standard_input: bool,
    },
}

impl Redirect<'_> {
    /// Whether a file loses what it contains, in whole or in part.
    pub(super) fn empties(&self) -> bool {
        matches!(self, Self::File(">" | ">|" | "&>" | ">&" | "<>", ..))
    }
}

/// A word, or another text with expansions, as it appears in the program.
#[derive(Debug, Default)]
pub(super) struct Raw<'a> {
    pub(super) text: &'a str,
    /// Where it begins in the program.
    at: usize,
    /// Its bracketed parts, by their start in the program; parts inside a substitution are not included.
    parts: Vec<Part<'a>>,
}

/// `$(…)`, `<(…)`, `${…}`, `$((…))`, `$[…]` or the brackets of `@(…)`.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) at: usize,
    pub(super) end: usize,
    /// The program of a substitution.
    pub(super) list: Option<List<'a>>,
}

impl<'a> Raw<'a> {
    pub(super) fn new(text: &'a str, at: usize, parts: Vec<Part<'a>>) -> Self {
        Self { text, at, parts }
    }

    pub(super) fn plain(text: &'a str) -> Self {
        Self { text, ..Self::default() }
    }

    /// The part that begins at this byte of the text, and the byte after it.
    pub(super) fn part(&self, at: usize) -> Option<(&Part<'a>, usize)> {
        let found = self.parts.binary_search_by_key(&(at + self.at), |part| part.at).ok()?;
        let part = &self.parts[found];
        Some((part, part.end - self.at))
    }

    /// The program of a word that is one process substitution and nothing else.
    pub(super) fn process(&self) -> Option<&List<'a>> {
        let (part, end) = self.part(0).filter(|_| self.text.starts_with(['<', '>']))?;
        part.list.as_ref().filter(|_| end == self.text.len())
    }

    /// The position of the closing bracket; quotes, expansions and nested brackets are skipped.
    pub(super) fn closing(&self, from: usize, to: usize, open: u8, close: u8) -> Option<usize> {
        let bytes = &self.text.as_bytes()[..to];
        let mut at = from;
        let mut depth = 0usize;
        let mut quoted = false;
        while let Some(&byte) = bytes.get(at) {
            at = match byte {
                b'$' | b'<' | b'>' | b'(' if self.part(at).is_some() => self.part(at)?.1,
                b'\\' => at + 2,
                b'\'' if !quoted => at + 2 + memchr::memchr(b'\'', &bytes[at + 1..])?,
                _ if byte == close && depth == 0 && !quoted => return Some(at),
                _ => {
                    quoted ^= byte == b'"';
                    let counts = |sign: u8| usize::from(byte == sign && !quoted);
                    depth = depth + counts(open) - counts(close);
                    at + 1
                }
            };
        }
        None
    }

    /// Splits the word at this byte. A part that begins before it stays in the first half.
    pub(super) fn split(mut self, at: usize) -> (Self, Self) {
        let later = self.parts.partition_point(|part| part.at < self.at + at);
        let parts = self.parts.split_off(later);
        let (first, second) = self.text.split_at(at);
        (Self::new(first, self.at, self.parts), Self::new(second, self.at + at, parts))
    }
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
