//! Tells the engine that something is served here, and repeats until the engine confirms.
//!
//! Asks the engine. Invariant: what was announced is already served, or will be in a moment.

use crate::client::{Address, SOON};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Announces the address at which the engine finds handlers.
pub fn deployment(admin: &Address, uri: &str) {
    insist(admin, "/deployments", &json!({"uri": uri, "force": true}));
}

/// Repeats the request until it is accepted.
pub fn insist(at: &Address, path: &str, body: &Value) {
    while !at.ask("POST", path, Some(body), SOON).is_ok_and(|said| (200..300).contains(&said.status)) {
        thread::sleep(SECOND);
    }
}
