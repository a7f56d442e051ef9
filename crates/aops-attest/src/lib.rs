//! A commit that carries its proof. Pure: no file, clock, process, thread or network.
//!
#![doc = include_str!("../README.md")]

pub mod strict; // JSON in which a name stands once
pub mod path; // paths as texts
pub mod statement; // what is attested
pub mod envelope; // signed, and as lines of a note
