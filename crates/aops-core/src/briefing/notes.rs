//! Finds markdown notes in the data folder that answer a question: ranked, with the matching lines.
//!
//! Reads `*.md` below `Env::data` and the index at `<config>/aops/notes/`, which only `refresh` writes.
//! Without an index the notes are read one by one, as far as the deadline allows. Invariants: symlinks are
//! never followed, hidden folders and `sessions/` never read; a damaged index counts as missing; all output
//! is redacted.

pub(super) mod words;
mod rank;
mod scan;
mod index;

use crate::model::error::Failure;
use crate::system::env::Env;
use crate::text::sha256::sha256;
use index::Index;
use rank::{Candidate, Question};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundNotes {
    /// The best first.
    pub hits: Vec<Hit>,
    /// False if the deadline cut the search short.
    pub complete: bool,
    /// When the index was made, in milliseconds since 1970; `None` if the notes themselves were read.
    pub indexed_ms: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Relative to the data folder.
    pub path: PathBuf,
    pub title: String,
    pub score: f64,
    /// The lines that match best, in the note's order.
    pub lines: Vec<NoteLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteLine {
    /// Counted from 1.
    pub number: usize,
    pub text: String,
}

/// The best notes, at most this many.
pub fn search(env: &Env, query: &str, most: usize, deadline: Instant) -> FoundNotes {
    let question = Question::of(query);
    if question.words.is_empty() || most == 0 {
        return FoundNotes { complete: true, ..FoundNotes::default() };
    }
    let index = Index::open(&index_path(env));
    let ranked = index.as_ref().and_then(|index| index.candidates(&question, most));
    let indexed_ms = ranked.as_ref().and(index.as_ref()).map(|index| index.built_ms);
    let (candidates, whole) =
        ranked.map_or_else(|| scan::candidates(&env.data, &question, most, deadline), |found| (found, true));
    let mut hits = Vec::new();
    for candidate in &candidates {
        if hits.len() == most {
            break;
        }
        if Instant::now() >= deadline {
            return FoundNotes { hits, complete: false, indexed_ms };
        }
        hits.extend(hit(env, &question, candidate));
    }
    FoundNotes { hits, complete: whole, indexed_ms }
}

/// The note's present content; `None` if it was deleted or no longer matches.
fn hit(env: &Env, question: &Question, candidate: &Candidate) -> Option<Hit> {
    let text = scan::read(&env.data, &candidate.path).ok()?;
    let title = words::title(&candidate.path, &text);
    let lines = rank::best_lines(question, &candidate.weights, &text);
    let named = || question.is_in(&title) || question.is_in(&candidate.path.to_string_lossy());
    (!lines.is_empty() || named()).then(|| Hit {
        path: candidate.path.clone(),
        title: rank::clean(&title),
        score: candidate.score,
        lines,
    })
}

/// Updates the index, reading only new and changed notes. Returns how many; 0 if another process is already
/// doing it. Meant for a background process.
pub fn refresh(env: &Env) -> Result<usize, Failure> {
    index::refresh(&env.data, &index_path(env), env.now_ms)
}

fn index_path(env: &Env) -> PathBuf {
    let name = sha256(&[env.data.as_os_str().as_bytes()]);
    env.config.join("aops/notes").join(format!("{}.index", &name[..16]))
}
