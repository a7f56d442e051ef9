//! `<run>/POST_execute_v2`: the id of a checkpoint, from which its path follows.
//!
//! Pure. Invariant: a valid id names one folder and one file in it, and nothing else.

use crate::model::phase::Phase;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Before or after a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Kind {
    Pre,
    #[default]
    Post,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Pre => "PRE",
            Kind::Post => "POST",
        }
    }
}

/// The run of checkpoints that a person takes.
pub const BY_HAND: &str = "manual";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id {
    pub run: String,
    pub kind: Kind,
    pub phase: Phase,
    pub version: u64,
}

impl Id {
    /// `None` where the run's name has other characters than `[A-Za-z0-9_-]`, or more than 64.
    pub fn new(run: &str, kind: Kind, phase: Phase, version: u64) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let sound = (1..=64).contains(&run.len()) && run.chars().all(plain) && version > 0;
        sound.then(|| Self { run: run.to_owned(), kind, phase, version })
    }

    pub fn read(text: &str) -> Option<Self> {
        let (run, file) = text.split_once('/')?;
        let (kind, rest) = file.split_once('_')?;
        let (phase, version) = rest.rsplit_once("_v")?;
        let kind = [Kind::Pre, Kind::Post].into_iter().find(|known| known.name() == kind)?;
        let phase = Phase::ALL.into_iter().find(|known| known.name() == phase)?;
        let id = Self::new(run, kind, phase, version.parse().ok()?)?;
        (id.to_string() == text).then_some(id)
    }

    pub fn folder(&self) -> String {
        format!("run-{}", self.run)
    }

    pub fn file(&self) -> String {
        format!("{}_{}_v{}.json", self.kind.name(), self.phase.name(), self.version)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}_{}_v{}", self.run, self.kind.name(), self.phase.name(), self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_lead_nowhere_else() {
        for text in ["manual/POST_execute_v2", "5f0c1f3a-0000-4000-8000-00000000cafe/PRE_hydrate_v13"] {
            assert_eq!(Id::read(text).unwrap().to_string(), text);
        }
        for bad in [
            "",
            "manual",
            "../POST_execute_v1",
            "a/b/POST_execute_v1",
            "m/POST_execute_v0",
            "m/POST_execute_v01",
            "m/MID_execute_v1",
            "m/POST_lunch_v1",
            "m/POST_execute",
            "/POST_execute_v1",
            "m/POST_execute_v1.json",
        ] {
            assert_eq!(Id::read(bad), None, "{bad}");
        }
    }
}
