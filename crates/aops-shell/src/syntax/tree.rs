//! The syntax tree of a shell program. Its words are slices of the text, with their substitutions parsed in place.

/// Statements in order.
pub(super) type List<'a> = Vec<Statement<'a>>;
/// The commands of a pipe.
pub(super) type Pipeline<'a> = Vec<Command<'a>>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) first: Pipeline<'a>,
    pub(super) rest: Vec<(Join, Pipeline<'a>)>,
    /// It ends with `&`.
    pub(super) background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

#[derive(Debug)]
pub(super) enum Command<'a> {
    Simple(SimpleCommand<'a>),
    Compound(Box<Compound<'a>>, Vec<Redirect<'a>>),
    Function(&'a str, Box<Compound<'a>>, Vec<Redirect<'a>>),
    Coprocess(Box<Command<'a>>),
}

#[derive(Debug, Default)]
pub(super) struct SimpleCommand<'a> {
    pub(super) assignments: Vec<Assignment<'a>>,
    pub(super) words: Vec<Raw<'a>>,
    pub(super) redirects: Vec<Redirect<'a>>,
}

#[derive(Debug)]
pub(super) enum Compound<'a> {
    /// `{ … }`, and the parts of `if`, `while` and `until` in their order.
    Lists(Vec<List<'a>>),
    Subshell(List<'a>),
    For {
        name: &'a str,
        values: Vec<Raw<'a>>,
        body: List<'a>,
    },
    /// Like `for`, but the variable may also be empty.
    Select {
        name: &'a str,
        values: Vec<Raw<'a>>,
        body: List<'a>,
    },
    /// `for ((…; …; …))`
    Count(Raw<'a>, List<'a>),
    Case(Raw<'a>, Vec<(Vec<Raw<'a>>, List<'a>)>),
    /// `((…))`
    Sum(Raw<'a>),
    /// `[[ … ]]`: its operands, and whether the shell computes with them.
    Test(Vec<(Raw<'a>, bool)>),
}

/// `name=value`, `name+=value`, `name[index]=value`, `name=(value …)`
#[derive(Debug)]
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    pub(super) index: Option<Raw<'a>>,
    pub(super) appends: bool,
    pub(super) value: Value<'a>,
}

#[derive(Debug)]
pub(super) enum Value<'a> {
    Scalar(Raw<'a>),
    /// Elements, each with its index if it has one.
    Array(Vec<(Option<Raw<'a>>, Raw<'a>)>),
}

#[derive(Debug)]
pub(super) enum Redirect<'a> {
    /// `<`
    Input(Raw<'a>),
    /// `>`, `>>`, `>|`, `<>`, `&>`, `&>>`
    Output(Raw<'a>),
    /// `<&`
    CopyInput(Raw<'a>),
    /// `>&`
    CopyOutput(Raw<'a>),
    /// `<<`, `<<-`
    Document(Document<'a>),
    /// `<<<`; whether it is the standard input.
    Text(Raw<'a>, bool),
}

#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) body: Raw<'a>,
    /// The delimiter is quoted: nothing in the body is expanded.
    pub(super) is_literal: bool,
    /// `<<-`: tabs at the beginning of lines are not part of it.
    pub(super) strips_tabs: bool,
    pub(super) is_standard_input: bool,
}

impl Document<'_> {
    /// What the command reads.
    pub(super) fn text(&self) -> String {
        if !self.strips_tabs {
            return self.body.text.to_owned();
        }
        self.body.text.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect()
    }
}

/// A word, or another text with expansions, as it stands in the program.
#[derive(Debug, Default)]
pub(super) struct Raw<'a> {
    pub(super) text: &'a str,
    /// Where it begins in the program.
    at: usize,
    /// Its bracketed parts, by their beginning in the program; none is inside a substitution.
    parts: Vec<Part<'a>>,
}

/// `$(…)`, `<(…)`, `${…}`, `$((…))`, `$[…]` or the brackets of `@(…)`.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) at: usize,
    /// The place after it.
    pub(super) end: usize,
    /// The program of a substitution.
    pub(super) list: Option<List<'a>>,
}

impl<'a> Raw<'a> {
    pub(super) fn new(text: &'a str, at: usize, parts: Vec<Part<'a>>) -> Self {
        Self { text, at, parts }
    }

    /// Text without expansions.
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

    /// Cut in two at this byte. A part that begins before it stays in the first half.
    pub(super) fn split(mut self, at: usize) -> (Self, Self) {
        let later = self.parts.partition_point(|part| part.at < self.at + at);
        let parts = self.parts.split_off(later);
        let (first, second) = self.text.split_at(at);
        (Self::new(first, self.at, self.parts), Self::new(second, self.at + at, parts))
    }
}
