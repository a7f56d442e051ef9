//! The handlers on the engine; only this folder knows the engine's SDK.
//!
//! The gateway serves runs; each machine serves its own steps. Invariants: no program is started inside a
//! durable block; a step is attended, so a cancellation takes effect immediately and "over" is said only when
//! its processes are gone; an answer counts for one digest, and once; a run moves to another machine only
//! when its step on this one was ended, or has had time to end.

mod serve;
mod machines;
mod slots;
mod answers;
mod here;
mod question;
mod run;

pub use here::serve_machine;
pub use run::serve_runs;
