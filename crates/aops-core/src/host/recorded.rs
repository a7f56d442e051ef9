//! The program of a client that `install` found, as an absolute path, so that later changes of `PATH` do not
//! matter.
//!
//! Reads `<config>/aops/installed.json`, which the guard protects.

use crate::model::client::Client;
use crate::system::env::Env;
use crate::system::files;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The path of an installation's receipt. `client`: empty for Claude Code.
pub fn receipt(env: &Env, client: &str) -> PathBuf {
    let dash = if client.is_empty() { "" } else { "-" };
    env.config.join(format!("aops/installed{dash}{client}.json"))
}

/// The recorded program, if it still exists.
pub fn program(env: &Env, client: Client) -> Option<PathBuf> {
    let name = if client.is_registered_by_name() { client.name() } else { "" };
    let receipt: Value = serde_json::from_slice(&files::read(receipt(env, name)).ok()?).ok()?;
    let path = Path::new(receipt.get("client_program")?.as_str()?).to_owned();
    (path.is_absolute() && path.is_file()).then_some(path)
}
