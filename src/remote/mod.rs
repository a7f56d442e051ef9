//! Other machines: encrypted connections, the database that they share, the questions in it, copies of a
//! repository.
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
