//! Unattended runs: the plan, its attempt ledger, the packets a run leaves, the client it starts, and the
//! driver.

pub mod attempt;
pub mod packet;
pub mod state;
pub mod plan;
pub mod artifacts;
pub mod job;
pub mod client;
pub mod deliver;
pub mod driver;
pub mod queue;
#[cfg(feature = "fleet")]
pub mod fleet;
