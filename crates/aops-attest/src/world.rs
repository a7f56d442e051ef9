//! What is asked of git and of ssh, by whoever can start them.

use crate::change::Change;
use crate::code::Trouble;

/// One commit, with its change against its first parent, or against nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    pub parents: Vec<String>,
    pub tree: String,
    /// The first parent's, or the empty one.
    pub parent_tree: String,
    pub change: Change,
    /// Of the change.
    pub digest: String,
    /// Author, with the time, and message: what a rebase keeps.
    pub origin: String,
    pub subject: String,
    /// It has a signature of ssh's.
    pub is_signed: bool,
}

impl Commit {
    pub fn is_merge(&self) -> bool {
        self.parents.len() > 1
    }
}

/// A merge of two trees, or of two commits whose base git finds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Merge {
    pub base: Option<String>,
    pub ours: String,
    pub theirs: String,
}

/// Trouble means that something could not be asked, never that the answer is no.
pub trait World {
    /// Each of these commits that is here.
    fn commits(&mut self, ids: &[String]) -> Result<Vec<Option<Commit>>, Trouble>;
    /// The tree of each of these commits that is here.
    fn trees(&mut self, ids: &[String]) -> Result<Vec<Option<String>>, Trouble>;
    /// What differs between the trees of each pair.
    fn changes(&mut self, pairs: &[(String, String)]) -> Result<Vec<Change>, Trouble>;
    /// The tree of each merge; nothing where it conflicts.
    fn merges(&mut self, wanted: &[Merge]) -> Result<Vec<Option<String>>, Trouble>;
    /// These commits and all before them that are not before those others, parents first: id and parents.
    fn history(&mut self, of: &[String], without: &[String]) -> Result<Vec<(String, Vec<String>)>, Trouble>;
    /// The signers (places in the list) whose keys made this signature of these bytes, for this purpose.
    fn approver(&mut self, bytes: &[u8], signature: &str) -> Result<Option<usize>, Trouble>;
    /// The same of a signed commit.
    fn committer(&mut self, commit: &str) -> Result<Option<usize>, Trouble>;
}
