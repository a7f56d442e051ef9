//! What a tool call does: its effect, and what it touches. Pure.
//!
//! `table` is the only table of the client's tools. Shell lines are analysed by the crate `aops-shell`, which
//! knows nothing about the client.

pub mod table;
mod statement;
pub mod input;
pub mod targets;
pub mod effect;
mod outward;
pub mod danger;
pub mod tracking;

#[cfg(test)]
mod tests;
