//! What the user and the project want: policy, workflows, texts, and which of them are in force.
//!
//! `problem`, `policy` and `workflow` parse; `texts` and `in_force` read files.

pub mod problem;
pub mod policy;
pub mod workflow;
pub mod texts;
pub mod in_force;
