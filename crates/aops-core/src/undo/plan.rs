//! What an undo will do, decided before it begins and written to the disk, so that an interrupted undo can be
//! finished.
//!
//! Pure. Stored type, version `schema`: fields in sorted order. Invariant: it describes the resulting state
//! rather than actions, so that it can be carried out again after any part of it.

use super::form::{Content, KeptFile, KeptFolder};
use crate::text::sha256::Sum;
use serde::{Deserialize, Serialize};

pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The resulting crontab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crontab: Option<Sum>,
    /// In the order of the files of the keeping `present`.
    pub files: Vec<KeptFile>,
    /// Created if they are missing; each gets its mode at the end. Sorted by path.
    pub folders: Vec<KeptFolder>,
    /// Removed if they are empty. Sorted.
    pub gone_folders: Vec<String>,
    /// The keeping that is restored.
    pub number: u64,
    /// The keeping of the state before the undo.
    pub present: u64,
    pub repositories: Vec<Goal>,
    pub schema: u32,
    /// Nothing was left out because of a conflict.
    pub whole: bool,
}

/// The resulting state of one repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// The settings of each branch.
    pub config: Vec<(String, Vec<(String, String)>)>,
    pub git: String,
    /// The new commit of `HEAD` and of its branch.
    pub head: Option<RefMove>,
    pub index: Option<Sum>,
    /// Objects that the index needs.
    pub indexed: Vec<(String, Sum)>,
    pub refs: Vec<RefMove>,
    pub root: String,
    /// All stashes, newest first.
    pub stashes: Option<Vec<(String, String)>>,
    /// The new branch of `HEAD`, if that changes, at the same commit.
    pub switched: Option<RefMove>,
}

/// The new value of a ref; an empty text means that it does not exist.
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
