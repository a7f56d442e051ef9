//! What a tool call does: its effect, and what it touches. Pure.
//!
//! `table` is the one table of the client's tools. What a shell line does is the crate `aops-shell`, which
//! knows nothing of the client.

pub mod table;
mod statement;
pub mod input;
pub mod targets;
pub mod effect;
pub mod danger;
pub mod tracking;

#[cfg(test)]
mod tests;
