//! `[jail]`: the user's settings for the jail around shell commands.
//!
//! Plain data. Stored type: fields in sorted order.

use super::words;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jail {
    pub harness: Harness,
    pub layer_mb: u64,
    pub level: JailLevel,
    pub messaging: bool,
    pub test_network: bool,
    pub without: Vec<String>,
}

impl Default for Jail {
    fn default() -> Self {
        Self {
            harness: Harness::Work,
            layer_mb: 2_048,
            level: JailLevel::Auto,
            messaging: false,
            test_network: false,
            without: Vec::new(),
        }
    }
}

words! {
    /// Whether shell commands are jailed, in rising order.
    JailLevel {
        Off = "off",
        #[default]
        Auto = "auto",
        Require = "require",
    }
}

words! {
    /// The profile for hooks and servers that the client starts with a shell.
    Harness {
        None = "none",
        #[default]
        Work = "work",
    }
}
