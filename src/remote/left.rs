//! Which states of runs this machine pushed to remotes, so that it can remove them when nobody needs them.
//!
//! Writes a file for each, next to the clones. Invariant: a state is noted after it was pushed, until it is
//! gone.

use crate::remote::carried::Branch;
use crate::remote::database;
use aops_core::system::env::Env;
use aops_core::system::files;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::PathBuf;

/// Stored type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// When it was pushed last.
    pub at_ms: i64,
    /// The branch with the run's result, once there is one.
    pub branch: Option<Branch>,
    pub repository: String,
    pub run: String,
}

impl Left {
    pub fn keep(&self, env: &Env) -> io::Result<()> {
        files::make_folders(&folder(env), 0o700)?;
        files::replace_private(&self.file(env), &serde_json::to_vec(self)?)
    }

    pub fn forget(&self, env: &Env) {
        let _ = fs::remove_file(self.file(env));
    }

    fn file(&self, env: &Env) -> PathBuf {
        folder(env).join(format!("{}.json", self.run))
    }
}

fn folder(env: &Env) -> PathBuf {
    database::trees(env).with_file_name("refs")
}

pub fn all(env: &Env) -> Vec<Left> {
    let items = fs::read_dir(folder(env)).into_iter().flatten().flatten();
    items.filter_map(|item| serde_json::from_slice(&files::read(item.path()).ok()?).ok()).collect()
}
