//! Gathers what the gates need to know apart from session and event: real paths, hard links, tampering,
//! foreign agents, checks.
//!
//! Reads files and runs the user's checks; decides nothing.

pub mod other_clients;
mod hard_links;
pub mod real_paths;
mod swept;
mod named;
pub mod own_changes;
pub mod tampering;
pub mod impostors;
pub mod foreign_agents;
pub mod plugins;
pub mod executable;
pub mod brought;
pub mod checks;
mod settings_edit;
pub mod client;
mod lasting_timers;
pub mod authority;
mod scratch;
mod discards;
mod verified;
pub mod tree_look;
pub mod plan;
pub mod evidence;
mod by_user;
pub mod jailed;
pub mod hosts;
pub mod growth;
pub mod same_project;
mod keys;
pub mod leases;
mod unfinished;
pub mod parked;
mod unstopped;
mod draw;
mod questions;
mod unended;
pub mod keeping;
pub mod quiet;
mod ended;
pub mod call;
