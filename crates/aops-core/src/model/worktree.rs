//! What a working tree owes: uncommitted files, commits to push.
//!
//! Reads nothing, writes nothing.

/// What is not yet committed or pushed of what this session changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// Commits of the upstream that are not here, as far as the last fetch knows.
    pub behind: u64,
    /// Files that somebody else changed meanwhile.
    pub foreign: Vec<String>,
    /// Changes that are not this session's stand uncommitted, too.
    pub others: bool,
    pub uncommitted: Vec<String>,
    /// How to push, and what is ahead; nothing where there is nowhere to push to.
    pub push: Option<(String, String)>,
    pub asked: Asked,
}

/// What became of the question what is owed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// All of it is known.
    #[default]
    Answered,
    /// There is none to close the work in.
    NoRepository,
    /// There is one, or may be, and git could not be asked: why. What is owed may be more than what is known.
    Unasked(String),
}
