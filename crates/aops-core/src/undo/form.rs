//! One keeping: what was on the disk and in git that a command was about to destroy.
//!
//! Pure. Stored type, version `schema`: fields in sorted order. Paths are absolute and real, encoded by
//! [`name`](crate::checkpoint::tree::name), so that any bytes can be stored.

use crate::text::plain::is_zero;
use crate::text::sha256::Sum;
use serde::{Deserialize, Serialize};

pub const SCHEMA: u32 = 1;
/// The version of a keeping with a pack, which earlier builds do not know.
pub const WITH_PACK: u32 = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeping {
    pub at: String,
    /// The call for which it was kept; empty if a person's `undo` kept the state before it.
    pub call_id: String,
    /// The user's crontab; empty content if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crontab: Option<Sum>,
    pub cwd: String,
    /// Sorted by path.
    pub files: Vec<KeptFile>,
    /// Folders that are removed with their files, or were empty. Sorted by path.
    pub folders: Vec<KeptFolder>,
    /// Folders that did not exist: restoring this keeping removes them if they are empty. Sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone_folders: Vec<String>,
    /// Number of removed pipes and sockets, which have no content to keep.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hollow: u64,
    /// The command, redacted and clipped; `undo 17` for the state before that undo.
    pub line: String,
    pub number: u64,
    pub repositories: Vec<KeptRepository>,
    /// The danger rule for which it was kept, if one found it.
    pub rule: Option<String>,
    pub schema: u32,
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    pub content: Content,
    /// Permission bits.
    pub mode: u32,
    pub path: String,
    pub size: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Stored with the blobs of the checkpoints.
    Blob(Sum),
    /// In the pack of the keeping, with others that were copied for the same line.
    Packed(Piece),
    /// A hard link to the file itself, in the keeping's folder. The file had no other name when it was made.
    Link(LinkedFile),
    /// The target of a symlink.
    Symlink(String),
    /// The file did not exist: restoring this keeping removes it.
    Absent,
}

impl Content {
    /// The digest of a copied content.
    pub fn sum(&self) -> Option<Sum> {
        match self {
            Self::Blob(sum) | Self::Packed(Piece { sum, .. }) => Some(*sum),
            Self::Link(_) | Self::Symlink(_) | Self::Absent => None,
        }
    }
}

/// A content in a pack: its place, its length there, as an LZ4 block unless that is the file's own length,
/// and its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    pub at: u64,
    pub long: u64,
    pub sum: Sum,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedFile {
    pub inode: u64,
    /// Nanoseconds.
    pub modified: i64,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFolder {
    pub mode: u32,
    pub path: String,
}

/// The former state of a repository. Each commit named below has a ref of its own, so that no `git gc`
/// removes it: `refs/aops/kept/<number>/<k>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRepository {
    /// Settings of removed branches: key and value.
    pub config: Vec<(String, String)>,
    /// Unchanged committed files that the command removes, relative to the root of the working tree.
    pub committed: Vec<String>,
    /// The git folder of this working tree.
    pub git: String,
    /// The commit of `HEAD`; `None` before the first one.
    pub head: Option<String>,
    /// The branch of `HEAD`, as `refs/heads/main`; `None` if `HEAD` is detached.
    pub head_ref: Option<String>,
    /// The index file, if the command may change it.
    pub index: Option<Sum>,
    /// Contents that are only in the index: the object's ID, and its bytes.
    pub indexed: Vec<(String, Sum)>,
    /// Commit IDs in the order of `k` in their refs.
    pub pins: Vec<String>,
    /// Branches and tags that are removed or moved: full name and ID, which is empty if the ref did not
    /// exist.
    pub refs: Vec<(String, String)>,
    /// The working tree's root.
    pub root: String,
    /// All stashes, newest first: ID and message; `None` if the command does not affect them.
    pub stashes: Option<Vec<(String, String)>>,
    /// If the working tree itself is removed: its name below `worktrees` in the common git folder.
    pub worktree: Option<String>,
}

/// The state of each path at the end of the command, so that a later change can be distinguished from what
/// the command left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// In the order of the keeping's files: the SHA-256 of the content or of a link's target; `None` if
    /// nothing is there.
    pub files: Vec<Option<Sum>>,
    /// The commit of `HEAD` of each repository.
    pub heads: Vec<Option<String>>,
    /// Those branches and tags of each repository that were looked at: full name and ID.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<Vec<(String, String)>>,
    pub schema: u32,
    /// The stashes of each repository, if they were looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stashes: Vec<Vec<String>>,
}

/// The same for one repository.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftRepository<'a> {
    pub head: Option<&'a str>,
    pub refs: &'a [(String, String)],
    pub stashes: &'a [String],
}

impl Left {
    pub fn repository(&self, at: usize) -> LeftRepository<'_> {
        LeftRepository {
            head: self.heads.get(at).and_then(Option::as_deref),
            refs: self.refs.get(at).map_or(&[], Vec::as_slice),
            stashes: self.stashes.get(at).map_or(&[], Vec::as_slice),
        }
    }
}

impl Keeping {
    /// Number of files whose bytes are kept.
    pub fn count(&self) -> usize {
        self.files.iter().filter(|file| file.content != Content::Absent).count()
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// The first thing that is wrong with it, if any.
    pub fn problem(&self) -> Option<String> {
        if ![SCHEMA, WITH_PACK].contains(&self.schema) {
            return Some(format!(
                "its schema is {}; this program reads {SCHEMA} and {WITH_PACK}",
                self.schema
            ));
        }
        let is_odd = |path: &str| {
            let mut parts = path.strip_prefix('/').unwrap_or("..").split('/');
            parts.any(|part| matches!(part, "" | "." | "..") || part.contains('\0'))
        };
        let paths =
            self.files.iter().map(|file| &file.path).chain(self.folders.iter().map(|folder| &folder.path));
        let paths = paths.chain(&self.gone_folders);
        let mut links = self.files.iter().filter_map(|file| match &file.content {
            Content::Link(link) => Some(&link.name),
            _ => None,
        });
        let odd_link = links.find(|name| name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_digit()));
        let odd = paths.into_iter().find(|path| is_odd(path)).or(odd_link);
        odd.map(|path| {
            format!("`{}` is not a path that was kept", crate::checkpoint::tree::name::shown(path))
        })
    }
}
