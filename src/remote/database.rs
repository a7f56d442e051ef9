//! The database that machines share (`[fleet]`). No hook opens it.
//!
//! Reads the password next to the keys and the system's certificate authorities. Invariant: the password is
//! never printed.

use crate::remote::tls;
use aops_core::system::env::Env;
use aops_core::system::fleet_home::made_once;
pub use aops_core::system::fleet_home::{machine, secret_file};
use aops_core::system::{files, random};
use aops_fleet::{Access, Error, Fleet};
use std::io;
use std::path::PathBuf;

/// Hidden from commands of an agent, like all keys.
pub fn password_file(env: &Env) -> PathBuf {
    secret_file(env, "fleet.password")
}

/// A secret of this machine, next to the other keys: created once.
pub fn secret(env: &Env, name: &str) -> io::Result<String> {
    made_once(&secret_file(env, name), || random::hex(32))
}

/// The folder for working trees of runs that this machine took.
pub fn trees(env: &Env) -> PathBuf {
    env.home.join(".local/state/aops/runs")
}

/// Opens a connection; the tables must be of our version.
pub fn open(env: &Env, url: &str) -> Result<Fleet, Error> {
    with_access(env, url, Fleet::open)
}

/// Opens a connection without checking the version of the tables.
pub fn open_any(env: &Env, url: &str) -> Result<Fleet, Error> {
    with_access(env, url, Fleet::open_any)
}

fn with_access(env: &Env, url: &str, open: fn(&Access) -> Result<Fleet, Error>) -> Result<Fleet, Error> {
    let file = password_file(env);
    let password = match files::read_text(&file) {
        Ok(text) => Some(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::Refused(format!("`{}`: {error}", file.display()))),
    };
    let opened =
        open(&Access { url, password: password.as_deref(), trust: &|| tls::trust(env).map(|tls| tls.0) });
    opened.map_err(|error| match error {
        Error::Refused(words) if words.contains("password") && !words.contains("hint:") => {
            let what = if password.is_some() { "correct" } else { "write it into" };
            Error::Refused(format!("{words}\nhint: {what} `{}` (mode 600)", file.display()))
        }
        error => error,
    })
}
