//! One session as a value: its state, the facts that change it, and the fold from facts to state.
//!
//! Pure: no module here touches files, the clock, the environment or a process.

pub mod growth;
pub mod kept_count;
pub mod quieted;
pub mod quiet_count;
pub mod observed;
pub mod rolled_back;
pub mod reflection;
pub mod agent_report;
pub mod timer;
pub mod call_means;
pub mod question;
pub mod said;
pub mod brought_back;
pub mod names_taken;
pub mod watched;
pub mod hydration;
pub mod waiver;
pub mod run_step;
pub mod client_known;
pub mod task_progress;
pub mod parked;
pub mod memory;
pub mod state;
pub mod prompt;
pub mod fact;
pub mod phase_end;
pub mod fold;
pub mod describe;
