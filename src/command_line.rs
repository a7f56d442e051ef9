//! Cuts a shell line into the simple commands it would run.
//!
//! Reads only the text and the ground it stands on; `brush-parser` knows the grammar, the words are expanded here. Sees
//! through lists, loops, functions, substitutions, here-documents, `sh -c`, `eval`, `xargs`, `find -exec`, `sudo` and kin.
//! Invariant: total and bounded. What is too long, too deep or no shell at all makes the line `unclear`, never a guess.

mod found;
mod grammar;
mod scope;
mod simple;
mod walk;
mod word;
mod wrap;
mod wrapper;

use std::rc::Rc;

pub use found::found;
pub use word::{Bit, Word};

/// Where a line would run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ground<'a> {
    /// Absolute.
    pub cwd: &'a str,
    /// Absolute.
    pub home: &'a str,
    /// Variables whose values we know, such as `CLAUDE_CONFIG_DIR`.
    pub variables: &'a [(String, String)],
}

/// One line, cut.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub commands: Vec<Simple>,
    /// Some part could not be read: it may do anything with whatever its text names.
    pub unclear: bool,
}

/// One simple command, seen from inside: `sudo`, `env` and their kind are taken off.
#[derive(Clone, Debug, Default)]
pub struct Simple {
    /// The program and its arguments. Empty for a bare redirection.
    pub words: Vec<Word>,
    /// Files a redirection writes.
    pub writes: Vec<Word>,
    /// Folders it may run in. More than one when a `cd` may have failed.
    pub folders: Rc<Vec<Word>>,
    /// What earlier stages of the pipe name: it may arrive on standard input.
    pub arriving: Vec<Word>,
    /// The text on standard input, where the line itself holds it.
    pub script: Option<String>,
    /// The name is a function of this line, whatever it looks like.
    pub function: bool,
}

impl Simple {
    /// The program's name without its folder; `None` if the line does not say it.
    pub fn name(&self) -> Option<String> {
        let whole = self.words.first()?.literal()?;
        whole.rsplit('/').next().map(str::to_owned)
    }
}

/// All simple commands of a line.
pub fn cut(line: &str, ground: &Ground) -> Line {
    let mut walk = walk::Walk::default();
    let mut scope = scope::Scope::new(ground);
    walk.program(line, &mut scope);
    Line { commands: walk.found, unclear: walk.unclear }
}
