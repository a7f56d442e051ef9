//! Our own facts about a commit, as annotations of one byproduct.
//!
//! Invariant: no text by a person, a model or a command is included.

use aops_ledger::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// With more files than this a statement lists none; the digest of the change still binds it.
pub const MOST_FILES: usize = 500;

/// Our own facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    pub version: u64,
    pub repository: Repository,
    /// The commit's tree.
    pub tree: String,
    pub committed: Committed,
    pub sessions: Vec<String>,
    /// The span of the ledger that the statement covers.
    pub entries: Span,
    /// The last signed checkpoint before the commit; `None` if the log had none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Head>,
    /// `None` if there are more than `MOST_FILES`.
    #[serde(deserialize_with = "Option::deserialize")]
    pub files: Option<Vec<File>>,
    /// Every path that changed while no call of the session ran.
    pub outside: Vec<String>,
    /// The lowest mode within the span.
    pub mode: Mode,
    pub attended: bool,
    pub jail: Jail,
    pub danger_off: Vec<String>,
    pub tampering: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qa: Option<Qa>,
    pub tests: Vec<Test>,
    pub checks: Vec<Check>,
    /// How often each gate refused.
    pub refusals: BTreeMap<String, u64>,
    pub waivers: Vec<Waiver>,
    /// Calls that a person allowed.
    pub approvals: Vec<Approved>,
    pub blocks: u64,
    pub tokens: BTreeMap<String, Tokens>,
    pub checkpoints: Vec<String>,
    /// How often what changed in the tree could not be seen, by the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unseen: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Repository {
    /// The first root commit: distinguishes repositories if a remote has many names.
    pub root_commit: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    pub by: CommittedBy,
    /// Attested by a person after the session.
    pub late: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommittedBy {
    /// A call of the session.
    Call,
    /// HEAD moved without a call of the session.
    #[default]
    Outside,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub from: u64,
    pub to: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub origin: String,
    pub size: u64,
    /// Base64.
    pub root: String,
}

/// One path of the change, according to `git diff-tree`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// In the encoding of `path::spell`.
    pub path: String,
    pub before: Side,
    pub after: Side,
    /// Digest of the content after the change; `None` if the file is gone or has no content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    pub by: Author,
    pub lines: Lines,
}

/// Mode and blob; mode `000000` and zeros if there is no file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Side(pub String, pub String);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// The content is the result of the session's last call, based on what the base contained.
    Session,
    /// No call of the session wrote the file.
    #[default]
    Outside,
    Mixed,
}

/// Numbers of added lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    pub session: u64,
    pub outside: u64,
}

named! {
    /// In rising order.
    #[derive(Default, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Mode {
        #[default]
        Observe = "observe",
        Guard = "guard",
        Loop = "loop",
        Strict = "strict",
    }
}

/// What confines a command, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// Nothing: only our reading of the line.
    #[default]
    Words,
    Seatbelt,
    Landlock,
    Namespaces,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jail {
    /// The weakest confinement of all commands; `None` without commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<Hold>,
    pub commands: u64,
    pub unjailed: u64,
}

named! {
    /// The verdict of one of our agents.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Verdict {
        Proceed = "PROCEED",
        Revise = "REVISE",
        Halt = "HALT",
        Ok = "OK",
        Block = "BLOCK",
        Verified = "VERIFIED",
        Issues = "ISSUES",
    }
}

named! {
    /// Who gave it.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum By {
        PromptHydrator = "prompt-hydrator",
        Critic = "critic",
        Custodiet = "custodiet",
        QaVerifier = "qa-verifier",
        Framework = "framework",
        /// At the client or at a terminal; the ledger does not know their name.
        Person = "person",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub verdict: Verdict,
    pub by: By,
    pub entry: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qa {
    pub verdict: Verdict,
    pub by: By,
    pub entry: u64,
    /// No later change followed.
    pub after: bool,
}

/// A command that matched `[evidence] test`, after the last change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    pub name: String,
    pub exit: i64,
    pub seen: Seen,
    /// The tree on which it ran.
    pub tree: String,
    pub entry: u64,
}

/// Who saw how a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seen {
    Jail,
    /// The client reported it.
    Client,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub exit: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// A gate, or `task` for the whole loop of a task, or `call` for one call.
    pub of: String,
    pub by: By,
    pub entry: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    /// The danger rule or gate that asked.
    pub of: String,
    pub by: By,
    pub entry: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    #[serde(rename = "in")]
    pub input: u64,
    #[serde(rename = "out")]
    pub output: u64,
}

impl Annotations {
    /// The first malformed part of these facts, if any. `long`: required length of object IDs.
    pub(super) fn fault(&self, long: usize) -> Option<&'static str> {
        let is_id = |id: &str| id.len() == long && is_object_id(id);
        if !is_id(&self.tree) || !is_id(&self.repository.root_commit) {
            return Some("an id is none");
        }
        let sides = self.files.iter().flatten().flat_map(|file| [&file.before, &file.after]);
        let is_mode =
            |mode: &str| mode.len() == 6 && mode.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
        if !sides.into_iter().all(|Side(mode, blob)| is_mode(mode) && is_id(blob)) {
            return Some("a file has another form");
        }
        if self.files.as_ref().is_some_and(|files| files.len() > MOST_FILES)
            || self.entries.from > self.entries.to
        {
            return Some("the list of files or entries has another form");
        }
        None
    }
}

/// A complete object ID of git, in lower case.
pub fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
}

pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && is_object_id(text)
}
