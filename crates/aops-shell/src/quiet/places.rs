//! The places that a line which only reads may look at, as far as its words name them.
//!
//! Reads the line, looks at no file. Invariant: where a word may be any path, the answer is none.

use super::programs;
use crate::syntax::{Bit, Line, Word};

/// Their words are no names of files.
const WORDS_ONLY: &[&str] = &[
    ":", "[", "[[", "basename", "break", "builtin", "command", "continue", "date", "declare", "dirname", "echo",
    "exit", "export", "expr", "false", "hash", "id", "let", "local", "printf", "pwd", "read", "readonly", "return",
    "seq", "set", "shift", "sleep", "test", "tr", "true", "type", "typeset", "uname", "unset", "wait", "whereis",
    "which", "whoami",
];

/// What a line names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Absolute paths, each once; those of a pattern or of an unknown name by the folder they lie in.
    pub named: Vec<String>,
    /// A word of it may be any path.
    pub is_open: bool,
}

/// The paths that the line names.
pub fn places(line: &Line) -> Places {
    let mut places = Places::default();
    for simple in programs(line) {
        for folder in simple.folders.iter() {
            match folder.tidied().literal() {
                Some(folder) => places.named.push(folder),
                None => places.is_open = true,
            }
        }
        let prints = simple.name().is_some_and(|name| WORDS_ONLY.contains(&name));
        let words = simple.words.iter().filter(|_| !prints).chain(&simple.arriving);
        for word in words {
            for folder in simple.folders.iter() {
                places.add(word, folder);
            }
        }
    }
    places.named.sort();
    places.named.dedup();
    places
}

impl Places {
    /// The paths that this word may be, in this folder.
    fn add(&mut self, word: &Word, folder: &Word) {
        for part in parts(word) {
            let known: Vec<Bit> = part.bits.iter().copied().take_while(|bit| matches!(bit, Bit::Char(_))).collect();
            let is_whole = known.len() == part.bits.len();
            self.is_open |= !is_whole && part.bits.contains(&Bit::Any) && !stays(&part);
            let text: String =
                known.iter().filter_map(|bit| if let Bit::Char(c) = bit { Some(*c) } else { None }).collect();
            // What is not known lies in the folder that the known part names.
            let text = if is_whole { text.as_str() } else { text.rsplit_once('/').map_or("", |(above, _)| above) };
            if !is_whole && part.bits.first() == Some(&Bit::Char('/')) && text.is_empty() {
                self.named.push("/".to_owned());
                continue;
            }
            match Word::of(text).from_folder(folder).tidied().literal() {
                Some(path) => self.named.push(path),
                None => self.is_open = true,
            }
        }
    }
}

/// What is unknown in it holds no slash, or is a path of the working tree.
fn stays(word: &Word) -> bool {
    let unknown = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
    let at_home = word.names + word.sums + word.commits + word.places;
    word.lists_files || at_home >= unknown
}

/// The word, and what may be a path in it: behind the sign of an option, or in a list.
fn parts(word: &Word) -> Vec<Word> {
    let mut parts = vec![word.clone()];
    if !word.starts_with("-") {
        return parts;
    }
    parts.extend(word.past('='));
    if word.bits.len() > 2 && !word.starts_with("--") {
        parts.push(word.after(2));
    }
    parts
}
