//! Where this machine keeps what it knows of the database that machines share.

use crate::system::env::Env;
use std::path::PathBuf;

pub fn folder(env: &Env) -> PathBuf {
    env.config.join("aops/fleet")
}
