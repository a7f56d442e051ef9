//! A network by host names: whether a host may be reached depends on its name, whichever program asks.
//!
#![doc = include_str!("../README.md")]

pub mod name;
pub mod address;
pub mod known;
pub mod list;
pub mod derive;
pub mod hello;
pub mod body;
pub mod request;
pub mod answer;
pub mod proxy;
pub mod hosts_file;
pub mod dns;
pub mod counts;
#[cfg(target_os = "linux")]
pub mod inner;
#[cfg(target_os = "linux")]
pub mod broker;
