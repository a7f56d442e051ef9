//! A rotation of keys: the new ones are in one file next to the old ones until the state of the seal names
//! them.
//!
//! Reads and writes `next.keys`. Invariant: whenever a process is killed, either the old keys are in force or
//! the new ones: the state of the seal is replaced atomically, and this file counts until the new keys have
//! their own files.

use super::{Keys, ML_DSA, NOTE, NoteKey, broken, read, sealed_in};
use crate::model::error::Failure;
use crate::system::files::replace_private_in;
use aops_proof::key::{PublicKey, SecretKey};
use rustix::fs::{AtFlags, unlinkat};
use serde::{Deserialize, Serialize};

pub(super) const NEXT: &str = "next.keys";

/// Whether these keys are being replaced, or replace others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Rotation {
    #[default]
    No,
    /// Interrupted before it took effect: its leftovers are removed.
    GivenUp(String),
    /// These are the new keys. The log's entry about them may not be written yet.
    UnderWay(String),
}

#[derive(Serialize, Deserialize)]
struct StoredNext {
    note: String,
    ml_dsa: String,
    /// Public keys that signed before.
    old: Vec<String>,
    /// The line of the log's own entry.
    event: String,
}

impl Keys {
    /// The keys of a rotation instead of these, if it has taken effect.
    pub(super) fn or_next(self) -> Result<Self, Failure> {
        let Some(text) = read(&self.dir, NEXT)? else { return Ok(self) };
        let stored: StoredNext = serde_json::from_str(&text).map_err(|_| broken(NEXT))?;
        let note = NoteKey::parse(&stored.note).ok_or_else(|| broken(NEXT))?;
        let ml_dsa = SecretKey::parse(&stored.ml_dsa).map_err(|_| broken(NEXT))?;
        let old = stored.old.iter().map(|key| PublicKey::parse(key)).collect::<Result<_, _>>();
        let old = old.map_err(|_| broken(NEXT))?;
        let in_force = sealed_in(&self.dir)?.and_then(|sealed| sealed.signers);
        let dir = self.dir.try_clone().map_err(|e| Failure::storage(NEXT, e))?;
        let next =
            Self { dir, note, ml_dsa: Some(ml_dsa), old, rotation: Rotation::UnderWay(stored.event.clone()) };
        let event = stored.event;
        if in_force == Some(next.signers()) {
            Ok(next)
        } else {
            Ok(Self { rotation: Rotation::GivenUp(event), ..self })
        }
    }

    /// Stores these keys for the moment at which they take effect, with the entry about them.
    pub fn stage(&mut self, event: String) -> Result<(), Failure> {
        let stored = StoredNext {
            note: self.note.stored(),
            ml_dsa: self.ml_dsa.as_ref().map(SecretKey::stored).unwrap_or_default(),
            old: self.old.iter().map(ToString::to_string).collect(),
            event: event.clone(),
        };
        replace_private_in(&self.dir, NEXT, serde_json::to_string(&stored).unwrap_or_default().as_bytes())?;
        self.rotation = Rotation::UnderWay(event);
        Ok(())
    }

    /// The entry of an unfinished rotation.
    pub fn unsettled(&self) -> Option<&str> {
        match &self.rotation {
            Rotation::UnderWay(event) => Some(event),
            Rotation::No | Rotation::GivenUp(_) => None,
        }
    }

    /// The entry of an interrupted rotation: its leaf may be in the log although its line is not.
    pub fn announced(&self) -> Option<&str> {
        match &self.rotation {
            Rotation::UnderWay(event) | Rotation::GivenUp(event) => Some(event),
            Rotation::No => None,
        }
    }

    /// The keys before a rotation, if they may vouch for these.
    pub fn before(&self) -> Result<Option<Self>, Failure> {
        let note = read(&self.dir, NOTE)?.and_then(|text| NoteKey::parse(&text));
        let ml_dsa = read(&self.dir, ML_DSA)?.and_then(|text| SecretKey::parse(&text).ok());
        let ml_dsa = ml_dsa.filter(|key| self.old.contains(key.public()));
        let Some(note) = note.filter(|note| self.old.contains(note.public())) else { return Ok(None) };
        let dir = self.dir.try_clone().map_err(|e| Failure::storage(NOTE, e))?;
        Ok(Some(Self { dir, note, ml_dsa, old: Vec::new(), rotation: Rotation::No }))
    }

    /// Puts the keys of an effective rotation into their own files; removes those of one that never took
    /// effect.
    pub fn settle(&mut self) -> Result<(), Failure> {
        match std::mem::take(&mut self.rotation) {
            Rotation::No => return Ok(()),
            Rotation::GivenUp(_) => {}
            Rotation::UnderWay(_) => self.put()?,
        }
        unlinkat(&self.dir, NEXT, AtFlags::empty()).map_err(|e| Failure::storage(NEXT, e))
    }
}
