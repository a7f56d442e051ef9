//! What a command would have lost: kept before it runs, brought back by `aops-hook undo`.
//!
//! `form` is what is stored of one keeping, `shelf` its place beside the checkpoints. Invariant: what is listed can be
//! brought back whole; a keeping that was interrupted is not listed.

pub mod form;
pub mod shelf;
