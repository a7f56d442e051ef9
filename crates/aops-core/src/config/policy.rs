//! `Policy`: how administrator, user and project configured the loop, parsed from their files.
//!
//! Reads the texts it is given, writes nothing. Stored type: fields in sorted order and no fractions, so the
//! plain serialisation is the RFC 8785 form. Invariant: a project's file that is accepted never makes the
//! policy laxer than the user's own; `key::KEYS` says for each key which direction is laxer.

mod address;
pub mod glob;
pub mod value;
mod word;
pub mod jail;
pub mod network;
pub mod quiet;
pub mod undo;
pub mod witness;
pub mod key;
pub mod check;
mod close;
pub mod deliver;
pub mod fleet;
pub mod rule;
pub mod effects;
pub mod project;
mod origins;
mod read;
pub mod idle;
pub mod choose;

pub use address::Address;
pub use check::Check;
pub use close::{Close, Evidence, Tracker};
pub use deliver::Deliver;
pub use effects::Effects;
pub use fleet::Fleet;
pub use jail::Jail;
pub use network::Network;
pub use origins::{Layer, Origins, SourceLine};
pub use project::Folder;
pub use quiet::{Quiet, QuietLevel};
pub use read::{Source, hold_in, read, read_for};
pub use rule::Rule;
pub use undo::Undo;
pub use value::{Period, Share};
pub use witness::Witness;
pub(crate) use word::words;
pub use word::{DangerLevel, Interactive, Intervene, Level, ModeLevel, OnPause, Rehearse};

use aops_shell::danger;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const SCHEMA: u32 = 1;

/// The effective configuration. `Policy::default()` applies where no file says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub audit: Audit,
    pub checkpoint: Checkpoint,
    pub checks: Vec<Check>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub close: Close,
    /// Levels of danger rules that a file sets, by ID; the other rules have their shipped level.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub danger: BTreeMap<String, DangerLevel>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub deliver: Deliver,
    pub effects: Effects,
    #[serde(default, skip_serializing_if = "is_default")]
    pub evidence: Evidence,
    #[serde(default, skip_serializing_if = "is_default")]
    pub fleet: Fleet,
    pub gates: Gates,
    pub hydration: Hydration,
    #[serde(default)]
    pub insights: Insights,
    #[serde(default, skip_serializing_if = "is_default")]
    pub jail: Jail,
    pub memory: Memory,
    pub mode: Mode,
    #[serde(default, skip_serializing_if = "is_default")]
    pub network: Network,
    #[serde(default, skip_serializing_if = "is_default")]
    pub quiet: Quiet,
    /// Mode `observe` only: the gates' levels in the rehearsed mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<Gates>,
    pub rules: Vec<Rule>,
    pub run: Run,
    pub schema: u32,
    // Left out if not set: older ledgers contain the same policy with the same bytes.
    #[serde(default, skip_serializing_if = "Small::is_shipped")]
    pub small: Small,
    pub stop: Stop,
    pub tracker: Tracker,
    #[serde(default, skip_serializing_if = "is_default")]
    pub undo: Undo,
    #[serde(default, skip_serializing_if = "is_default")]
    pub witness: Witness,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    pub at_least_every: u64,
    pub grace: u64,
    /// In millionths.
    pub rate: Share,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub interactive: Interactive,
    pub intervene: Intervene,
    pub keep: u64,
    pub max_file_mb: u64,
    pub max_tree_mb: u64,
}

/// The effective levels: from the mode, or from a file that sets them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gates {
    pub audit: Level,
    pub checks: Level,
    /// The laxer of `commit` and `push`; older policies have only this one.
    pub close: Level,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Level>,
    pub critic: Level,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<Level>,
    pub qa: Level,
    pub reflect: Level,
    pub sandbox: Level,
}

impl Gates {
    pub fn commit(&self) -> Level {
        self.commit.unwrap_or(self.close)
    }

    pub fn push(&self) -> Level {
        self.push.unwrap_or(self.close)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hydration {
    pub deadline_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insights {
    /// The model command that analyses a session.
    pub command: String,
    /// Prompts may leave this machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prompts: bool,
}

impl Default for Insights {
    fn default() -> Self {
        Self { command: "claude -p".to_owned(), prompts: false }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub server: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<ModeLevel>,
    /// The same as `level = "observe"`; older policies have only this one.
    pub observe: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub rehearse: Rehearse,
}

impl Mode {
    pub fn level(&self) -> ModeLevel {
        self.level.unwrap_or(if self.observe { ModeLevel::Observe } else { ModeLevel::Strict })
    }

    pub fn set_level(&mut self, level: ModeLevel) {
        self.level = Some(level);
        self.observe = level == ModeLevel::Observe;
    }
}

/// How large a task may grow before it needs a plan (mode `loop`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Small {
    pub files: u64,
    /// Added plus removed lines.
    pub lines: u64,
    /// Paths whose change is never small.
    pub never: Vec<String>,
}

impl Small {
    /// Above this many files a task is not small, however few its lines; and the same for lines.
    pub fn most(&self) -> (u64, u64) {
        (self.files.saturating_mul(4), self.lines.saturating_mul(4))
    }

    /// The default, without making one: this is asked several times at every event.
    fn is_shipped(&self) -> bool {
        self.files == SMALL_FILES && self.lines == SMALL_LINES && self.never == NEVER_SMALL
    }
}

impl Default for Small {
    fn default() -> Self {
        let never = NEVER_SMALL.iter().map(|glob| (*glob).to_owned()).collect();
        Self { files: SMALL_FILES, lines: SMALL_LINES, never }
    }
}

const SMALL_FILES: u64 = 3;
const SMALL_LINES: u64 = 60;

/// Migrations, CI workflows, lock files, secrets. Sorted.
const NEVER_SMALL: &[&str] = &[
    "**/db/migrate",
    "*-lock.json",
    "*-lock.yaml",
    "*-lock.yml",
    "*.lock",
    "*.lockfile",
    "*credential*",
    "*secret*",
    ".appveyor.yml",
    ".buildkite",
    ".circleci",
    ".drone.yml",
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".terraform.lock.hcl",
    ".travis.yml",
    ".woodpecker",
    ".woodpecker.yml",
    "Jenkinsfile",
    "Package.resolved",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "bun.lockb",
    "go.sum",
    "migration",
    "migrations",
    "npm-shrinkwrap.json",
    "packages.lock.json",
];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub claude: Option<String>,
    // Left out if not set: older ledgers contain the same policy with the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_pause: OnPause,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    pub refusals: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            audit: Audit { at_least_every: 25, grace: 5, rate: Share::millionths(100_000) },
            checkpoint: Checkpoint {
                interactive: Interactive::Execute,
                intervene: Intervene::Keep,
                keep: 20,
                max_file_mb: 50,
                max_tree_mb: 2_048,
            },
            checks: Vec::new(),
            close: Close::default(),
            danger: BTreeMap::new(),
            deliver: Deliver::default(),
            effects: Effects::default(),
            evidence: Evidence::default(),
            fleet: Fleet::default(),
            gates: Gates { commit: Some(Level::Enforce), push: Some(Level::Enforce), ..Gates::default() },
            hydration: Hydration { deadline_ms: 400 },
            insights: Insights::default(),
            jail: Jail::default(),
            memory: Memory::default(),
            mode: Mode { level: Some(ModeLevel::Strict), ..Mode::default() },
            network: Network::default(),
            quiet: Quiet::default(),
            rehearsed: None,
            rules: Vec::new(),
            run: Run::default(),
            schema: SCHEMA,
            small: Small::default(),
            stop: Stop { refusals: 3 },
            tracker: Tracker { command: "bd".to_owned() },
            undo: Undo::default(),
            witness: Witness::default(),
        }
    }
}

impl Policy {
    /// What happens to a call in which this danger rule finds something.
    pub fn danger_level(&self, rule: &danger::Rule) -> DangerLevel {
        self.danger.get(rule.id()).copied().unwrap_or_else(|| DangerLevel::shipped(rule))
    }

    /// The policy without settings that only say where something is, who is told about it, and how long it is
    /// kept.
    #[must_use]
    pub fn deciding(&self) -> Self {
        let plain = Self::default();
        Self {
            checkpoint: Checkpoint { keep: plain.checkpoint.keep, ..self.checkpoint.clone() },
            fleet: Fleet { defer: self.fleet.defer, ..Fleet::default() },
            insights: Insights::default(),
            network: Network {
                managed: plain.network.managed,
                project: plain.network.project,
                ..self.network.clone()
            },
            run: Run { claude: None, notify: None, on_pause: plain.run.on_pause },
            undo: Undo { keep_days: plain.undo.keep_days, keep_mb: plain.undo.keep_mb, ..self.undo.clone() },
            ..self.clone()
        }
    }

    /// The policy whose refusals are recorded; `None` outside of mode `observe`.
    pub fn rehearsal(&self) -> Option<Self> {
        if self.mode.level() != ModeLevel::Observe {
            return None;
        }
        // An older ledger has no such levels, so those of the mode count.
        let gates = self.rehearsed.clone().unwrap_or_default();
        let mut policy = Self { gates, rehearsed: None, ..self.clone() };
        policy.mode.set_level(self.mode.rehearse.level());
        Some(policy)
    }
}

/// A part with its default value is not stored, so that ledgers of older versions contain the same bytes.
pub(crate) fn is_default<T: Default + PartialEq>(part: &T) -> bool {
    *part == T::default()
}

#[cfg(test)]
mod tests;
