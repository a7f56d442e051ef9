//! The driver: walks the steps of a run, records each, and stops at everything it does not expect.
//!
//! Reads and writes `artifacts/` and the run's folder; reports through [`Reporter`]. It neither reasons nor retries.
//! Invariants: the policy is the same before and after every step, or the run ends; a step that passed is not started again.

mod reporter;
mod finish;
mod judge;
mod notify;
mod prepare;
mod pause;
mod base;
mod session;
mod history;
mod prompt;
mod start;
mod step;
mod walk;
mod resume;

pub use finish::{Finish, describe_next_step};
pub use pause::mark_terminated;
pub use prepare::{RunRequest, plan_workflow, project_root};
pub use reporter::{Reporter, StepProgress};
pub use resume::{Limits, resume};
pub use walk::run;
