//! A commit that carries its proof. Pure: no file, clock, process, thread or network.
//!
#![doc = include_str!("../README.md")]

pub mod strict; // JSON in which no name is repeated
pub mod path; // paths as texts
pub mod statement; // what is attested
pub mod envelope; // signed, and as lines of a note
pub mod change; // what a commit changes
pub mod level; // what is proven: levels and properties
pub mod signers; // whose word counts
pub mod code; // why a commit does not pass
pub mod world; // what is asked of git and ssh
pub mod logged; // whether a statement is proven to be in the log
pub mod pool; // all statements of the notes
pub mod steps; // attested changes that together make another
pub mod replay; // attested commits that git merges to another
pub mod restore; // attested commits that are not here, found again
pub mod bind; // which attestations a commit has
pub mod weigh; // how much they prove together
pub mod verify; // the judgement
