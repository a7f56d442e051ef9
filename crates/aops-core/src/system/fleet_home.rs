//! Where this machine stores what it knows about the other machines, and its own name.
//!
//! Writes the name. Invariant: a machine keeps its name, and no two have the same.

use crate::system::env::Env;
use crate::system::{files, random};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub fn folder(env: &Env) -> PathBuf {
    env.config.join("aops/fleet")
}

/// The name of this machine, for this user: created once.
pub fn machine(env: &Env) -> io::Result<String> {
    made_once(&folder(env).join("machine"), || {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(format!("{host}-{}", random::hex(3)?))
    })
}

/// The line in a file, which is written if it does not exist.
pub fn made_once(file: &Path, draw: impl FnOnce() -> io::Result<String>) -> io::Result<String> {
    let known = files::read_text(file).unwrap_or_default();
    if !known.trim().is_empty() {
        return Ok(known.trim().to_owned());
    }
    let made = draw()?;
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    files::find(file)?.replace(format!("{made}\n").as_bytes(), 0o600)?;
    Ok(made)
}

/// A secret of this user, in the folder of the keys, which no command of an agent sees.
pub fn secret_file(env: &Env, name: &str) -> PathBuf {
    env.config.join("aops/keys").join(name)
}
