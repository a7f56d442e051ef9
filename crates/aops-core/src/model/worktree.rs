//! What a working tree owes: uncommitted files, commits to push.
//!
//! Reads nothing, writes nothing.

/// Which of this session's changes are not committed or pushed yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// Number of upstream commits that are missing here, according to the last fetch.
    pub behind: u64,
    /// Files that somebody else has changed meanwhile.
    pub foreign: Vec<String>,
    /// There are also uncommitted changes that are not this session's.
    pub others: bool,
    pub uncommitted: Vec<String>,
    /// How to push, and what is ahead; `None` if there is no remote to push to, or if commits of others would
    /// go with it.
    pub push: Option<(String, String)>,
    /// How many commits that are not this session's a push would send: they keep it from being owed.
    pub unpushed: u64,
    pub asked: Asked,
}

/// Whether we could find out what is owed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// Everything is known.
    #[default]
    Answered,
    /// There is no repository for closing the work.
    NoRepository,
    /// There is, or may be, a repository, but git could not be asked, for this reason. More may be owed than
    /// we know.
    Unasked(String),
}
