//! Other machines: encrypted connections, the shared database, questions, and copies of a repository.
//!
//! No hook uses any of it.

#[cfg(feature = "fleet")]
pub use aops_remote::gateway;
pub use aops_remote::tls;
#[cfg(feature = "fleet")]
pub mod database;
#[cfg(feature = "fleet")]
pub mod copy;
#[cfg(feature = "fleet")]
pub mod carried;
#[cfg(feature = "fleet")]
pub mod left;
#[cfg(feature = "fleet")]
pub mod announce;
#[cfg(feature = "fleet")]
pub mod asked;
