//! Connections to other machines, for `aops-hook` and `aops-fleet`. No hook uses any of it.

pub mod tls; // encrypted connections
pub mod gateway; // the engine's gateway
pub mod signed; // answers that it signed
