//! A transparency log in the formats of [C2SP](https://c2sp.org). Pure: no file, clock, process, thread or
//! network.
//!
#![doc = include_str!("../README.md")]

pub mod tree;
pub mod frontier;
pub mod whole;
pub mod tiles;
pub mod seal;
pub mod text;
pub mod checkpoint;
pub mod key;
pub mod note;
pub mod proof;
pub mod witness;
