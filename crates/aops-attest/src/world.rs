//! Questions to git and ssh, answered by a caller that can start them.

use crate::change::Change;
use crate::code::Trouble;

/// One commit, with its change against its first parent, or for a root commit against nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    pub parents: Vec<String>,
    pub tree: String,
    /// The first parent's tree, or the empty one.
    pub parent_tree: String,
    pub change: Change,
    /// Digest of the change.
    pub digest: String,
    /// Author, with the time, and message, which a rebase keeps.
    pub origin: String,
    pub subject: String,
    /// It has an ssh signature.
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

/// An error means that something could not be asked, never that the answer is no.
pub trait World {
    /// Each of these commits, if it exists here.
    fn commits(&mut self, ids: &[String]) -> Result<Vec<Option<Commit>>, Trouble>;
    /// The tree of each of these commits, if it exists here.
    fn trees(&mut self, ids: &[String]) -> Result<Vec<Option<String>>, Trouble>;
    /// The differences between the trees of each pair.
    fn changes(&mut self, pairs: &[(String, String)]) -> Result<Vec<Change>, Trouble>;
    /// The tree of each merge; `None` if it conflicts.
    fn merges(&mut self, wanted: &[Merge]) -> Result<Vec<Option<String>>, Trouble>;
    /// These commits and their ancestors, without those others and their ancestors, parents first: ID and
    /// parents.
    fn history(&mut self, of: &[String], without: &[String]) -> Result<Vec<(String, Vec<String>)>, Trouble>;
    /// The signer (index in the list) whose key made this signature of these bytes, for this purpose.
    fn approver(&mut self, bytes: &[u8], signature: &str) -> Result<Option<usize>, Trouble>;
    /// The same for a signed commit.
    fn committer(&mut self, commit: &str) -> Result<Option<usize>, Trouble>;
}
