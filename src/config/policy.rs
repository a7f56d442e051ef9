//! `Policy`: what the user and the project want of the loop, parsed from their configuration.
//!
//! Reads the texts it is given, writes nothing. Stored type: fields in sorted order and no fractions, so the plain
//! serialisation is the RFC 8785 form. Invariant: a project's file that is accepted never makes the policy laxer than
//! the user's own; `key::KEYS` says for each key which way is laxer.

mod address;
pub mod glob;
pub mod value;
pub mod key;
pub mod check;
pub mod rule;
mod read;

pub use address::Address;
pub use check::Check;
pub use read::{Layer, Origins, Source, SourceLine, read};
pub use rule::Rule;
pub use value::Share;

use crate::model::call::Effect;
use serde::{Deserialize, Serialize};

pub const SCHEMA: u32 = 1;

/// The effective configuration. `Policy::default()` holds where no file says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub audit: Audit,
    pub checkpoint: Checkpoint,
    pub checks: Vec<Check>,
    pub effects: Effects,
    pub gates: Gates,
    pub hydration: Hydration,
    #[serde(default)]
    pub insights: Insights,
    pub memory: Memory,
    pub mode: Mode,
    pub rules: Vec<Rule>,
    pub run: Run,
    pub schema: u32,
    pub stop: Stop,
    pub tracker: Tracker,
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

/// Names or globs of tools; what is in both is a write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effects {
    pub read: Vec<String>,
    pub write: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gates {
    pub audit: Level,
    pub checks: Level,
    pub close: Level,
    pub critic: Level,
    pub qa: Level,
    pub reflect: Level,
    pub sandbox: Level,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hydration {
    pub deadline_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insights {
    /// The model that is asked to analyse a session.
    pub command: String,
}

impl Default for Insights {
    fn default() -> Self {
        Self { command: "claude -p".to_owned() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub server: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    pub observe: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub claude: Option<String>,
    // Left out where not set: older ledgers hold the same policy in the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
    #[serde(default, skip_serializing_if = "OnPause::is_stop")]
    pub on_pause: OnPause,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    pub refusals: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracker {
    pub command: String,
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
            effects: Effects::default(),
            gates: Gates::default(),
            hydration: Hydration { deadline_ms: 400 },
            insights: Insights::default(),
            memory: Memory::default(),
            mode: Mode::default(),
            rules: Vec::new(),
            run: Run::default(),
            schema: SCHEMA,
            stop: Stop { refusals: 3 },
            tracker: Tracker { command: "bd".to_owned() },
        }
    }
}

/// An enum that a configuration spells as one of a few words, the laxest first where that matters.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$mark:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$mark])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            pub const WORDS: &[&str] = &[$($word),+];

            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl $crate::config::policy::value::Field for $name {
            fn to_value(&self) -> $crate::config::policy::value::Value {
                $crate::config::policy::value::Value::Text(self.word().to_owned())
            }

            fn from_value(value: $crate::config::policy::value::Value) -> Option<Self> {
                match value {
                    $($crate::config::policy::value::Value::Text(word) if word == $word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// How strictly a gate is held.
    Level {
        Off = "off",
        Warn = "warn",
        #[default]
        Enforce = "enforce",
    }
}

words! {
    /// When an interactive session keeps a checkpoint.
    Interactive {
        Off = "off",
        #[default]
        Execute = "execute",
        All = "all",
    }
}

words! {
    /// What becomes of work in which the verifier found issues.
    Intervene {
        #[default]
        Keep = "keep",
        Rollback = "rollback",
    }
}

words! {
    /// What a queue of runs does when one of them pauses or is blocked.
    OnPause {
        Continue = "continue",
        #[default]
        Stop = "stop",
    }
}

impl OnPause {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
    fn is_stop(&self) -> bool {
        *self == Self::Stop
    }
}

impl Effects {
    /// What the lists say of a tool; nothing where they do not name it.
    pub fn of(&self, tool: &str) -> Option<Effect> {
        let named = |list: &[String]| list.iter().any(|pattern| glob::name(pattern, tool));
        if named(&self.write) {
            return Some(Effect::Write);
        }
        named(&self.read).then_some(Effect::Read)
    }
}

#[cfg(test)]
mod tests;
