//! `ASSETS`: every text we ship, embedded in the program.
//!
//! Reads nothing at run time. Invariant: a text that is named here and missing does not compile, and one that is there
//! and not named fails a test.

/// One shipped text.
#[derive(Debug)]
pub struct Asset {
    /// Its place in the repository and below the host's configuration folder.
    pub path: &'static str,
    pub text: &'static str,
}

macro_rules! assets {
    ($($path:literal),* $(,)?) => {
        &[$(Asset { path: $path, text: include_str!(concat!("../", $path)) }),*]
    };
}

/// Agents and commands, copied to the host's folder by `install`.
pub static ASSETS: &[Asset] = assets![
    "agents/critic.md",
    "agents/custodiet.md",
    "agents/framework.md",
    "agents/prompt-hydrator.md",
    "agents/qa-verifier.md",
    "commands/aops-status.md",
];
