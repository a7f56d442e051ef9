//! What machines share: a real PostgreSQL, started by the test.

mod deferred;
mod engine;
mod hostile;
mod page;
pub(crate) mod postgres;
mod reached;
mod serve;
mod shipped;
mod tab;
mod torture;
mod waited;
mod work;
