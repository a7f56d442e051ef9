//! One keeping: what the disk and git held that a command was about to take away.
//!
//! Pure. Stored type, version `schema`: fields in sorted order. Paths are absolute and real, written as
//! [`name`](crate::checkpoint::tree::name) writes them, so that any bytes can be stored.

use crate::text::plain::is_zero;
use crate::text::sha256::Sum;
use serde::{Deserialize, Serialize};

pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeping {
    pub at: String,
    /// The call that it was kept for; empty where a person's `undo` kept the present.
    pub call_id: String,
    /// The user's table of timed commands; empty content where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crontab: Option<Sum>,
    pub cwd: String,
    /// Sorted by path.
    pub files: Vec<KeptFile>,
    /// Folders that are removed with their files, or were empty. Sorted by path.
    pub folders: Vec<KeptFolder>,
    /// Folders that were not there: an undo that brings this back removes them where they are empty. Sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone_folders: Vec<String>,
    /// Pipes and sockets that went: there was nothing in them to keep.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hollow: u64,
    /// The command, redacted and clipped; `undo 17` for the present that an undo kept.
    pub line: String,
    pub number: u64,
    pub repositories: Vec<KeptRepository>,
    /// The danger rule that it was kept for, if one found it.
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
    /// Among the blobs of the checkpoints.
    Blob(Sum),
    /// A second name of the file itself, in the keeping's folder. Nobody else had one when it was made.
    Link(LinkedFile),
    /// The target of a symlink.
    Symlink(String),
    /// Nothing was there: an undo that brings this back removes the file.
    Absent,
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

/// A repository as it was. Each commit below has a ref of its own, so that no `git gc` removes it:
/// `refs/aops/kept/<number>/<k>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRepository {
    /// Settings of branches that go with them: key and value.
    pub config: Vec<(String, String)>,
    /// Committed files that the command removes and that are as `HEAD` has them, from the root of the working
    /// tree.
    pub committed: Vec<String>,
    /// The git folder of this working tree.
    pub git: String,
    /// The commit of `HEAD`; none before the first one.
    pub head: Option<String>,
    /// The branch of `HEAD`, as `refs/heads/main`; none where it is detached.
    pub head_ref: Option<String>,
    /// The index file, where the command may change it.
    pub index: Option<Sum>,
    /// Contents that only the index has: the object's id, and its bytes.
    pub indexed: Vec<(String, Sum)>,
    /// The `k` of its refs: commit ids in their order.
    pub pins: Vec<String>,
    /// Branches and tags that go or move: full name and id, which is empty where there was none.
    pub refs: Vec<(String, String)>,
    /// The working tree's root.
    pub root: String,
    /// All stashes, newest first: id and message; none where the command leaves them alone.
    pub stashes: Option<Vec<(String, String)>>,
    /// The working tree itself goes: its name below `worktrees` of the common git folder.
    pub worktree: Option<String>,
}

/// What lay at each path when the command had ended, so that a later change is known from what the command
/// left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// In the order of the keeping's files: the SHA-256 of the content or of a link's target; none where
    /// nothing is there.
    pub files: Vec<Option<Sum>>,
    /// The commit of `HEAD` of each repository.
    pub heads: Vec<Option<String>>,
    /// The branches and tags of each repository that were looked at: full name and id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<Vec<(String, String)>>,
    pub schema: u32,
    /// The stashes of each repository, where they were looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stashes: Vec<Vec<String>>,
}

/// The same of one repository.
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
    /// Files whose bytes are kept.
    pub fn count(&self) -> usize {
        self.files.iter().filter(|file| file.content != Content::Absent).count()
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// The first thing that is wrong with it, if any.
    pub fn problem(&self) -> Option<String> {
        if self.schema != SCHEMA {
            return Some(format!("its schema is {}; this program reads schema {SCHEMA}", self.schema));
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
