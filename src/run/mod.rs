//! Unattended runs: the plan, its attempt ledger, the packets a run leaves, and the client it starts.

pub mod status;
pub mod yaml_text;
pub mod plan;
pub mod attempt;
pub mod packet;
pub mod state;
pub mod artifacts;
pub mod job;
pub mod client;
