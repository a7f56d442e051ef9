//! Says what a shell line would do, from its text alone. Pure: no file, clock, process, thread or network.
//!
#![doc = include_str!("../README.md")]

pub mod effect;
pub mod generated;
pub mod verbs;
pub mod flags;
pub mod syntax;
pub mod commands;
pub mod targets;
pub mod outside;
pub mod class;
pub mod danger;
pub mod loss;
pub mod handed;
pub mod lasting;
pub mod quiet;
pub mod leftovers;
pub mod online;
pub mod hosts;
