//! A problem in a configuration file, a workflow or another text: what is wrong, where, and what was probably
//! meant.
//!
//! Pure. Invariant: every problem names its file; the line is 0 only if it concerns the file as a whole.

use serde::Serialize;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    pub file: String,
    /// Counted from 1; 0 if it concerns the whole file.
    pub line: usize,
    /// Counted from 1; 0 if the line is precise enough.
    #[serde(skip)]
    pub column: usize,
    /// The full key; empty if it does not concern a key.
    #[serde(skip)]
    pub key: String,
    pub what: String,
}

impl Problem {
    pub fn new(file: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.into(), line, column: 0, key: String::new(), what: what.into() }
    }
}

/// `file:line:column: key: what`, in the style of compilers.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.file)?;
        for place in [self.line, self.column].into_iter().filter(|place| *place > 0) {
            write!(f, ":{place}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": `{}`", self.key)?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Line and column of a byte, both counted from 1; columns are characters.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// The known name that was probably meant: one or two typos away and at most a third of the word, otherwise
/// one with the same beginning.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let long = given.chars().count();
    let far = (long / 3).clamp(1, 3).min(long.saturating_sub(1));
    let slips = known.iter().map(|name| (strsim::damerau_levenshtein(given, name), *name));
    let alike = || {
        known.iter().map(|name| (strsim::jaro_winkler(given, name), *name)).filter(|(near, _)| *near > 0.8)
    };
    let slip = slips.filter(|(steps, _)| *steps <= far).min().map(|(_, name)| name);
    slip.or_else(|| alike().max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name))
}

/// `; did you mean …?`, if a known name is close.
pub fn meant<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, known).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
