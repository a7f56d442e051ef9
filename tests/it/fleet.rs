//! What machines share: a real PostgreSQL, started by the test.

mod engine;
mod postgres;
mod reached;
mod torture;
mod work;
