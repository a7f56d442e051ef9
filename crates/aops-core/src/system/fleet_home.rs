//! Where this machine stores what it knows about the shared database.

use crate::system::env::Env;
use std::path::PathBuf;

pub fn folder(env: &Env) -> PathBuf {
    env.config.join("aops/fleet")
}
