//! What is recorded for the attestation of commits: what calls leave in the working tree, where `HEAD` is,
//! which commits were made and attested. Plain data; stored types, fields in sorted order.
//!
//! Recorded only where `[witness] attest` asks for it. Invariant: everything a statement says about the
//! session is in these facts and in the others of the ledger; nothing is looked up in the working tree later.

use crate::model::call::CallKey;
use crate::model::named::named;
use crate::text::plain::is_zero;
use serde::{Deserialize, Serialize};

/// What was seen around a call, at a prompt or at the end of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// At the end of a command: its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitSeen>,
    /// Files that changed while a call of the session ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileSeen>,
    /// Where `HEAD` is, if its files have changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadSeen>,
    /// Files that changed while no call of the session ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<FileSeen>,
    /// Only at a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptSeen>,
    /// At the end of a test, however it ended: the name of the resulting tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The tree could not be looked at, or more changed than is listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen_why: Option<UnseenWhy>,
}

named! {
    /// Why a look at the working tree says nothing, or not all.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum UnseenWhy {
        /// The look before it is missing.
        Before = "before",
        /// A file of ours cannot be read or written.
        Disk = "disk",
        /// Neither we nor git can read git's index.
        Index = "index",
        /// More files changed than are listed.
        Many = "many",
        /// It took too long.
        Slow = "slow",
    }
}

impl Observed {
    /// `None` if there is nothing to record.
    pub fn unless_empty(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

/// A prompt in the form that an attestation names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSeen {
    /// A person sat at the client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attended: bool,
    /// Random bytes that are hashed together with the text, so that a short text cannot be guessed from the
    /// digest.
    pub salt: String,
    /// Digest of `{"salt":…,"text":…}`.
    pub sha256: String,
}

named! {
    /// Who says how a command ended.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ExitWitness {
        /// The program around the command.
        Jail = "jail",
        /// The client reported it.
        Client = "client",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitSeen {
    pub code: i32,
    pub seen: ExitWitness,
}

named! {
    /// The kind of a file, as git stores it.
    #[derive(Default, Serialize, Deserialize)]
    pub enum FileMode {
        #[default]
        #[serde(rename = "100644")]
        Plain = "100644",
        #[serde(rename = "100755")]
        Executable = "100755",
        #[serde(rename = "120000")]
        Link = "120000",
    }
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The name that git gives it.
    pub blob: String,
    pub mode: FileMode,
    /// The name under which it is stored with the checkpoints.
    pub sha256: String,
}

/// A file that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// `None` if the file is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<Content>,
    /// Relative to the repository's root.
    pub path: String,
    /// Its content at the previous look; `None` if it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Content>,
}

/// Where `HEAD` of one working tree is, and how we notice that it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadSeen {
    /// The branch, or `None` if `HEAD` names a commit directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// `None` in a repository without commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The repository folder that belongs to this working tree alone.
    pub git: String,
    /// The length of `HEAD`'s log; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<u64>,
    /// The working tree.
    pub root: String,
    /// The `stat` of `HEAD` and of its log, or of the branch if there is no log.
    pub stamp: String,
}

/// Who moved `HEAD` to a new commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommittedBy {
    Call(CallKey),
    Outside,
}

/// A commit was made in a working tree of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// Where `HEAD` was before: the commit's parent, or the commit that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    pub by: CommittedBy,
    pub commit: String,
    /// The working tree.
    pub root: String,
}

/// A statement about a commit. It is signed and published once this entry is in the signed log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attested {
    pub commit: String,
    /// The last entry that it covers.
    pub last_entry: u64,
    pub statement_sha256: String,
}

/// What the session knows about its commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trail {
    /// The newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitMade>,
    /// The working trees in which calls were made; the one that was last looked at comes last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<HeadSeen>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitMade {
    /// The last entry that its attestation covers; 0 if it is not attested yet.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attested: u64,
    pub commit: String,
    pub root: String,
    /// The entry that records it.
    pub seq: u64,
    /// How many turns have ended since without an attestation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turns: u64,
}

/// At most this many commits and working trees are remembered.
const MOST_COMMITS: usize = 32;
const MOST_HEADS: usize = 8;
/// At the end of this many turns we try again to attest a commit. After that only a person can.
const MOST_TURNS: u64 = 3;

impl Trail {
    pub fn head(&self, git: &str) -> Option<&HeadSeen> {
        self.heads.iter().find(|head| head.git == git)
    }

    pub(super) fn move_head(&mut self, head: &HeadSeen) {
        self.heads.retain(|known| known.git != head.git);
        self.heads.push(head.clone());
        self.heads.drain(..self.heads.len().saturating_sub(MOST_HEADS));
    }

    pub(super) fn add_commit(&mut self, seq: u64, made: &Committed) {
        self.commits.retain(|known| known.commit != made.commit);
        let commit = made.commit.clone();
        let root = made.root.clone();
        self.commits.push(CommitMade { attested: 0, commit, root, seq, turns: 0 });
        self.commits.drain(..self.commits.len().saturating_sub(MOST_COMMITS));
    }

    pub(super) fn add_statement(&mut self, made: &Attested) {
        let of_commit = self.commits.iter_mut().filter(|known| known.commit == made.commit);
        of_commit.for_each(|known| known.attested = known.attested.max(made.last_entry));
    }

    /// Forgets commits that were attested in an earlier turn, and those that could not be attested for some
    /// turns.
    pub(super) fn begin_turn(&mut self) {
        self.commits.iter_mut().for_each(|made| made.turns += 1);
        self.commits.retain(|made| made.attested == 0 && made.turns < MOST_TURNS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(commit: &str) -> Committed {
        let commit = commit.to_owned();
        let root = "/r".to_owned();
        Committed { before: None, by: CommittedBy::Outside, commit, root }
    }

    #[test]
    fn a_commit_waits_until_it_is_attested() {
        let mut trail = Trail::default();
        trail.add_commit(3, &made("a"));
        trail.add_commit(5, &made("b"));
        trail.add_statement(&Attested {
            commit: "a".to_owned(),
            last_entry: 3,
            statement_sha256: "s".to_owned(),
        });
        for _ in 1..MOST_TURNS {
            trail.begin_turn();
            let left: Vec<&str> = trail.commits.iter().map(|one| one.commit.as_str()).collect();
            assert_eq!(left, ["b"], "the other one is done");
        }
        trail.begin_turn();
        assert_eq!(trail.commits, [], "given up");
    }

    #[test]
    fn both_lists_are_bounded() {
        let mut trail = Trail::default();
        for n in 0..100 {
            trail.add_commit(n, &made(&n.to_string()));
            trail.move_head(&HeadSeen { git: (n % 10).to_string(), log: Some(n), ..HeadSeen::default() });
        }
        assert_eq!((trail.commits.len(), trail.heads.len()), (MOST_COMMITS, MOST_HEADS));
        assert_eq!((trail.commits[31].seq, trail.head("9").and_then(|head| head.log)), (99, Some(99)));
        assert_eq!(trail.head("0"), None, "the oldest are forgotten");
    }
}
