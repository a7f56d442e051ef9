//! One integration binary: every feature is a file here.

#![allow(clippy::unwrap_used)] // tests may unwrap, their tools too

mod support;

mod client;
mod doctor;
mod home;
mod install;
mod licences;
mod memory;
mod model;
mod notes;
mod plugin;
mod real_client;
mod redact;
mod tidy;
