//! What a command would have lost: kept before it runs, brought back by `aops-hook undo`.
//!
//! `form` is what is stored of one keeping, `shelf` its place beside the checkpoints; `plan`, `present`, `git`, `goal`, `survey`,
//! `act` and `bring` bring it back, `elsewhere` writes it to another folder, `retain` lets the oldest go. Invariant: what is listed can be brought back whole; a keeping
//! that was interrupted is not listed.

pub mod form;
pub mod plan;
pub mod shelf;
pub mod present;
pub mod git;
pub mod goal;
pub mod survey;
mod act;
pub mod bring;
pub mod elsewhere;
pub mod retain;
