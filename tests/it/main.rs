//! One integration binary: every feature is a file here.

#![allow(clippy::unwrap_used)] // tests may unwrap, their tools too

mod support;
mod faults;

mod agents_at_work;
mod checks;
mod cli_texts;
mod client;
mod cost;
mod demo;
mod doctor;
mod export;
mod fail_closed;
mod hostile;
mod hydration;
mod impostors;
mod insights;
mod install;
mod ledger_append;
mod ledger_crash;
mod ledger_damage;
mod ledger_heads;
mod ledger_load;
mod licences;
mod memory;
mod mode;
mod model;
mod no_deadlock;
mod notes;
mod plugin;
mod policy;
mod real_client;
mod real_home;
mod redact;
mod rehearsal;
mod replay;
mod report;
mod rollback;
mod runs;
mod schemas;
mod simulate;
mod slash_commands;
mod speed;
mod start_mode;
mod status;
mod task_loop;
mod tidy;
mod told;
mod tracker;
mod transcript;
mod waive;
mod weight;
mod why;
mod wire_answers;
mod workflow;
