//! Machines and sessions in one PostgreSQL.
//!
#![doc = include_str!("../README.md")]

pub mod error;
pub mod schema;
pub mod connect;
pub mod session;
pub mod overview;

pub use connect::{Access, Fleet};
pub use error::Error;
