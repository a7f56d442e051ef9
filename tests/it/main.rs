//! One integration binary: every feature is a file here.

#![allow(clippy::unwrap_used)] // tests may unwrap, their tools too

mod support;

mod client;
mod course;
mod doctor;
mod home;
mod install;
mod licences;
mod memory;
mod model;
mod notes;
mod plugin;
mod policy;
mod real_client;
mod redact;
mod tidy;
mod workflow;
