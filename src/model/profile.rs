//! How a command is jailed, and what the kernel offers for it. Stored by name.
//!
//! Reads nothing, writes nothing.

use crate::model::named::named;
use crate::text::redact::redact;
use crate::text::sha256::sha256;
use serde::{Deserialize, Serialize};

named! {
    /// In rising order of strictness.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Profile {
        /// Judged by words alone: a program that cannot run inside a jail.
        None = "none",
        /// As is, except that what guards the session cannot be changed.
        Work = "work",
        /// Nothing can be changed but temporary files.
        Read = "read",
        /// What is changed is thrown away; no network.
        Trial = "trial",
    }
}

impl Profile {
    /// The profile of this name; the strictest for any other word.
    pub fn named(word: &str) -> Self {
        Self::of(word).unwrap_or(Self::Trial)
    }
}

named! {
    /// What holds a jailed command.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Hold {
        /// User and mount namespaces.
        Namespaces = "namespaces",
        /// Landlock: no throwaway layers, and what is protected inside the project is not held.
        Landlock = "landlock",
        /// The sandbox of macOS: no throwaway layers; untested.
        Seatbelt = "seatbelt",
        #[default]
        Words = "words",
    }
}

/// The jail of a session, as its start found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JailState {
    pub hold: Hold,
    /// The folder that the session began in.
    pub project: String,
    /// Commands can run in a throwaway layer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trial: bool,
    /// Why it is not more than that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl JailState {
    pub fn is_on(&self) -> bool {
        self.hold != Hold::Words
    }
}

/// What the program around a command says it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub hold: Hold,
    pub profile: Profile,
    /// Files that vanished with a throwaway layer, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub vanished: String,
}

/// A command as the ledger knows it: without its secrets.
pub fn line_digest(command: &str) -> String {
    sha256(&[redact(command).as_bytes()])
}
