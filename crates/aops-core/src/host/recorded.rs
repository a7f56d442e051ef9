//! The program of a client, as `install` found it: an absolute path that no later folder on `PATH` changes.
//!
//! Reads `<config>/aops/installed.json`, which the guard protects.

use crate::model::client::Client;
use crate::system::env::Env;
use crate::system::files;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where the receipt of an installation is. `client`: empty for Claude Code.
pub fn receipt(env: &Env, client: &str) -> PathBuf {
    let dash = if client.is_empty() { "" } else { "-" };
    env.config.join(format!("aops/installed{dash}{client}.json"))
}

/// The program that was recorded, if it is still there.
pub fn program(env: &Env, client: Client) -> Option<PathBuf> {
    let name = if client.is_registered_by_name() { client.name() } else { "" };
    let receipt: Value = serde_json::from_slice(&files::read(receipt(env, name)).ok()?).ok()?;
    let path = Path::new(receipt.get("client_program")?.as_str()?).to_owned();
    (path.is_absolute() && path.is_file()).then_some(path)
}
