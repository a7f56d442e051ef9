//! One integration binary: every feature is a file here.

#![allow(clippy::unwrap_used)] // tests may unwrap, their tools too

mod support;

mod client;
mod home;
mod licences;
mod model;
mod real_client;
