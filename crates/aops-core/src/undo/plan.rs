//! What an undo does, decided before it begins: written to the disk, so that an interrupted one is finished.
//!
//! Pure. Stored type, version `schema`: fields in sorted order. Invariant: it says how things shall be, not
//! what to do to them, so that it can be carried out again after any part of it.

use super::form::{Content, KeptFile, KeptFolder};
use crate::text::sha256::Sum;
use serde::{Deserialize, Serialize};

pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The table of timed commands shall be this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crontab: Option<Sum>,
    /// In the order of the files of the keeping `present`.
    pub files: Vec<KeptFile>,
    /// Made where they are missing; each gets its mode at the end. Sorted by path.
    pub folders: Vec<KeptFolder>,
    /// Removed where they are empty. Sorted.
    pub gone_folders: Vec<String>,
    /// The keeping that is brought back.
    pub number: u64,
    /// The keeping of what lay there before.
    pub present: u64,
    pub repositories: Vec<Goal>,
    pub schema: u32,
    /// Nothing was left out for a conflict.
    pub whole: bool,
}

/// How one repository shall be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// The settings of each branch.
    pub config: Vec<(String, Vec<(String, String)>)>,
    pub git: String,
    /// The commit of `HEAD` and of its branch.
    pub head: Option<RefMove>,
    pub index: Option<Sum>,
    /// Objects that the index needs.
    pub indexed: Vec<(String, Sum)>,
    pub refs: Vec<RefMove>,
    pub root: String,
    /// All of them, newest first.
    pub stashes: Option<Vec<(String, String)>>,
    /// The branch of `HEAD`, where that is another one now, at the same commit.
    pub switched: Option<RefMove>,
}

/// A name that shall say something else; an empty text is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefMove {
    pub name: String,
    pub new: String,
    pub old: String,
}

impl Plan {
    /// The blobs that it needs.
    pub fn contents(&self) -> impl Iterator<Item = Sum> {
        let of_file = |file: &KeptFile| match &file.content {
            Content::Blob(sum) => Some(*sum),
            _ => None,
        };
        let of_git = |one: &Goal| {
            one.index.into_iter().chain(one.indexed.iter().map(|(_, sum)| *sum)).collect::<Vec<_>>()
        };
        let files = self.files.iter().filter_map(of_file);
        files.chain(self.repositories.iter().flat_map(of_git)).chain(self.crontab)
    }
}

impl Goal {
    pub fn is_empty(&self) -> bool {
        let Self { config, head, index, indexed, refs, stashes, switched, .. } = self;
        let nothing =
            config.is_empty() && indexed.is_empty() && refs.is_empty() && head.is_none() && index.is_none();
        nothing && stashes.is_none() && switched.is_none()
    }
}
