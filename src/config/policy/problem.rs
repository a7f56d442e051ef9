//! What is wrong with a configuration file, and where.
//!
//! Reads nothing, writes nothing. Invariant: every problem names its file; line and column are 0 only where the file as a
//! whole is meant.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    /// From 1; 0 where the whole file is meant.
    pub line: usize,
    pub column: usize,
    /// The key in full; empty where it is not about a key.
    pub key: String,
    pub what: String,
}

impl Problem {
    /// About the file as a whole.
    pub fn whole(file: impl Into<String>, what: impl Into<String>) -> Self {
        Self { file: file.into(), line: 0, column: 0, key: String::new(), what: what.into() }
    }
}

/// `file:line:column: key: what`, as compilers say it.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if !self.key.is_empty() {
            write!(f, ": `{}`", self.key)?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Line and column of a byte, both from 1; columns are characters.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

pub fn did_you_mean(name: Option<&str>) -> String {
    name.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// The name that was probably meant: a slip or two away, and no more than a third of the word.
pub fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = (given.chars().count() / 3).clamp(1, 3);
    let near = names.map(|name| (strsim::damerau_levenshtein(given, name), name)).filter(|(steps, _)| *steps <= far);
    near.min().map(|(_, name)| name)
}
