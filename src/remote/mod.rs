//! Other machines: encrypted connections, the shared database, its questions, and copies of a repository.
//!
//! No hook uses any of it.

pub mod tls;
#[cfg(feature = "fleet")]
pub mod database;
#[cfg(feature = "fleet")]
pub mod gateway;
#[cfg(feature = "fleet")]
pub mod copy;
#[cfg(feature = "fleet")]
pub mod carried;
#[cfg(feature = "fleet")]
pub mod announce;
#[cfg(feature = "fleet")]
pub mod asked;
