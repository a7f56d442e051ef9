//! Tells the engine that something is served here, and repeats until the engine confirms.
//!
//! Asks the engine. Invariant: what was announced is already served, or will be in a moment.

use crate::client::{Address, SOON};
use serde_json::json;
use std::thread;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Announces the address at which the engine finds handlers.
pub fn deployment(admin: &Address, uri: &str) {
    let body = json!({"uri": uri, "force": true});
    while !admin
        .ask("POST", "/deployments", Some(&body), SOON)
        .is_ok_and(|said| (200..300).contains(&said.status))
    {
        thread::sleep(SECOND);
    }
}
