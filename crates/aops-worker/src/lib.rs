//! Runs on many machines. A file may use only files declared above it.

pub mod tree; // the processes below one process, and their end
pub mod hold; // one program with all that comes of it, ended as one
pub mod alone; // one worker for a machine and user
pub mod given; // the options of a verb
pub mod order; // what is passed between the engine, a machine and `aops-hook`
pub mod client; // asks the engine's server
pub mod announce; // tells the engine that something is served here
pub mod attend; // the steps that run on this machine
pub mod service; // the handlers on the engine
pub mod worker; // the worker of a machine
pub mod away; // machines that were lost, and what becomes of their runs
pub mod tokens; // who may do what
pub mod metrics; // what a collector of metrics is told
pub mod request; // one request of HTTP
pub mod gateway; // the way to the engine for people
