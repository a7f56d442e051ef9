//! Runs under a real server, with real kills. Needs npm for the server, and `aops-hook` built beside
//! `aops-fleet`.

#![expect(
    clippy::disallowed_methods,
    clippy::format_push_string,
    clippy::similar_names,
    clippy::unused_self,
    clippy::unwrap_used,
    reason = "tests start and kill programs, and stop at what they do not expect"
)]

mod world;
mod machines;
mod brought;
mod agent;
mod tab;
mod issuer;
mod on_engine;
mod chart;
