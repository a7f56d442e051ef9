//! What a command would have lost: kept before it runs, brought back by `aops-hook undo`.
//!
//! `form` is what is stored of one keeping, `shelf` its place beside the checkpoints. `look` finds what would
//! be lost, `keep` keeps it, `before` is the way of a command through both. `present`, `git`, `goal`,
//! `survey`, `act` and `bring` bring it back by a `plan`, `elsewhere` writes it to another folder, `retain`
//! lets the oldest go. `crontab` is the table of timed commands. Invariant: what is listed can be brought
//! back whole; a keeping that was interrupted is not listed.

pub mod form;
pub mod plan;
pub mod shelf;
pub mod words;
pub mod git;
pub mod crontab;
pub mod look;
pub mod keep;
pub mod before;
pub mod present;
pub mod goal;
pub mod survey;
mod act;
pub mod bring;
pub mod elsewhere;
pub mod retain;
