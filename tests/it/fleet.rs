//! What machines share: a real PostgreSQL, started by the test; and parts of runs, as `aops-fleet` starts them.

mod leg;
pub(crate) mod postgres;
mod reached;
mod shipped;
mod waited;
