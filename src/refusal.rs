//! A command that is refused: its exit code and the message for the person who typed it.
//!
//! Reads nothing, writes nothing. A refusal is not a `Failure`: aops-hook itself works.

use std::fmt;

/// An error that ends a command with a code of its own.
#[derive(Debug)]
pub struct Refused {
    pub code: u8,
    pub words: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Refused {}

/// `Err` with exit code 2: refused, or used wrongly.
pub fn refused<T>(words: impl Into<String>) -> anyhow::Result<T> {
    Err(Refused { code: 2, words: words.into() }.into())
}
