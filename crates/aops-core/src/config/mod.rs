//! What administrator, user and project configured: policy, workflows, texts, and which of them are in force.
//!
//! `problem`, `policy` and `workflow` parse; `bundle`, `texts` and `in_force` read files.

pub mod problem;
pub mod policy;
pub mod workflow;
pub mod bundle;
pub mod texts;
pub mod in_force;
