//! Runs: chains of steps without a person, paused, killed and resumed. The model is scripted; the client is a
//! fake, in `real_client` the real one.

mod asking;
mod chain;
mod checks;
mod delivery;
mod forged;
mod gc;
mod intervention;
pub(crate) mod jail;
mod killed;
mod killed_at_syscalls;
mod limits;
mod once;
mod packets;
mod real_client;
mod task;
mod terminal;
mod watch;
mod way_back;
pub(crate) mod world;
