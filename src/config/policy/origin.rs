//! Where each effective value came from.
//!
//! Reads nothing, writes nothing. Invariant: what no file set has no place, and is a default.

use std::collections::BTreeMap;
use std::fmt;

/// Whose file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    User,
    Project,
}

impl Layer {
    pub fn name(self) -> &'static str {
        match self {
            Layer::User => "user",
            Layer::Project => "project",
        }
    }
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    pub layer: Layer,
    pub file: String,
    pub line: usize,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// By key, `rule.<id>` and `check.<id>`; more than one place where lists were joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, Vec<SourceLine>>);

impl Origins {
    pub fn of(&self, key: &str) -> &[SourceLine] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// This place alone decides the value.
    pub(super) fn set(&mut self, key: &str, place: SourceLine) {
        self.0.insert(key.to_owned(), vec![place]);
    }

    /// This place adds to the value.
    pub(super) fn add(&mut self, key: &str, place: SourceLine) {
        self.0.entry(key.to_owned()).or_default().push(place);
    }
}
