//! What a command would have lost: kept before it runs, restored by `aops-hook undo`.
//!
//! `form` is the stored form of a keeping, `shelf` its place next to the checkpoints. `look` finds what would
//! be lost, `keep` keeps it, `before` takes a command through both; `content` is the bytes of one kept file.
//! `present`, `git`, `goal`, `survey`, `act` and `bring` restore it with a `plan`, `elsewhere` writes it to
//! another folder, `retain` removes the oldest. `crontab` handles the user's crontab. Invariant: what is
//! listed can be restored completely; an interrupted keeping is not listed.

pub mod form;
pub mod plan;
pub mod shelf;
pub mod content;
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
