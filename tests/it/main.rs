//! One integration binary: every feature is a file here.

#![allow(clippy::unwrap_used)] // tests may unwrap, their tools too

mod support;
mod rig;

mod client;
mod checks;
mod course;
mod demo;
mod doctor;
mod export;
mod fail_closed;
mod forged;
mod home;
mod hostile;
mod hydration;
mod insights;
mod install;
mod ledger_crash;
mod ledger_damage;
mod ledger_load;
mod licences;
mod matrix;
mod memory;
mod model;
mod no_deadlock;
mod notes;
mod plugin;
mod policy;
mod real_client;
mod report;
mod schemas;
mod speed;
mod see;
mod redact;
mod rollback;
mod runs;
mod tidy;
mod tracker;
mod transcript;
mod workflow;
