//! Runs: the chain without a person, against the real client with a scripted model, paused, killed and resumed.

mod chain;
mod checks;
mod killed;
mod limits;
mod packets;
mod proof;
mod seen;
mod struck;
mod whole;
mod world;
