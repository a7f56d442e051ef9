//! One integration binary: every feature is a file here.

mod doctor;
mod install;
mod plugin;
