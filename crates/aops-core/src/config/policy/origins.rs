//! `Origins`: which line of which file decided each value, and which values the administrator's bundle fixes.
//!
//! Reads nothing, writes nothing. Invariant: values that a bundle sets are fixed, and if it sets a mode, so
//! is every gate. A mode lower than the bundle's, or below `guard`, where nothing of the bundle would be
//! enforced, never takes effect.

use super::key::KEYS;
use super::network::NetworkMode;
use super::{ModeLevel, Policy};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The administrator's bundle.
    Managed,
    User,
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    pub layer: Layer,
    pub file: String,
    pub line: usize,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// By key, `rule.<id>` and `check.<id>`; several places if lists were joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    places: BTreeMap<String, Vec<SourceLine>>,
    held: BTreeSet<&'static str>,
    floor: Option<(ModeLevel, SourceLine)>,
    overruled: Vec<(String, SourceLine)>,
}

impl Origins {
    pub fn of(&self, key: &str) -> &[SourceLine] {
        self.places.get(key).map_or(&[], Vec::as_slice)
    }

    /// The lowest mode that the administrator's bundle allows.
    pub fn floor(&self) -> Option<ModeLevel> {
        self.floor.as_ref().map(|(level, _)| *level)
    }

    /// Settings of the user that would weaken what the bundle fixes, and so do not count.
    pub fn overruled(&self) -> &[(String, SourceLine)] {
        &self.overruled
    }

    /// Only this place decides the value.
    pub(super) fn set(&mut self, key: &str, place: SourceLine) {
        self.places.insert(key.to_owned(), vec![place]);
    }

    /// This place adds to the value.
    pub(super) fn add(&mut self, key: &str, place: SourceLine) {
        self.places.entry(key.to_owned()).or_default().push(place);
    }

    /// Everything set so far comes from the bundle, so from now on it can only be tightened.
    pub(super) fn hold(&mut self, policy: &Policy, file: &str) {
        let names_mode = !self.of("mode.level").is_empty();
        let has_checks = !policy.checks.is_empty();
        let by_effect = policy.rules.iter().any(|rule| !rule.effect.is_empty());
        // Only the jail holds a network.
        let has_network = policy.network.mode != NetworkMode::Off;
        let is_held = |name: &str| {
            !self.of(name).is_empty()
                || has_network && matches!(name, "jail.level" | "jail.test_network" | "jail.without")
                || names_mode && name.starts_with("gates.")
                || has_checks && name == "gates.checks"
                || by_effect && name == "effects.read"
        };
        // The mode has a lower limit instead.
        let names = KEYS.iter().map(|key| key.name).filter(|name| *name != "mode.level");
        self.held = names.filter(|name| is_held(name)).collect();
        let place = SourceLine { layer: Layer::Managed, file: file.to_owned(), line: 1 };
        let place = self.of("mode.level").last().cloned().unwrap_or(place);
        self.floor = Some((if names_mode { policy.mode.level() } else { ModeLevel::Guard }, place));
    }

    pub(super) fn holds(&self, key: &str) -> bool {
        self.held.contains(key)
    }

    pub(super) fn overrule(&mut self, key: &str, place: SourceLine) {
        self.overruled.push((key.to_owned(), place));
    }

    /// The mode is the bundle's, whatever was set since.
    pub(super) fn overrule_mode(&mut self) {
        let Some((_, place)) = self.floor.clone() else { return };
        let set = self.places.insert("mode.level".to_owned(), vec![place]).unwrap_or_default();
        self.overruled.extend(set.into_iter().map(|place| ("mode.level".to_owned(), place)));
    }
}
