//! What machines share: a real PostgreSQL, started by the test.

mod engine;
mod page;
mod postgres;
mod reached;
mod torture;
mod work;
