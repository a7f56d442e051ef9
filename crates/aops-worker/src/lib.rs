//! Runs on many machines. A file may use only files declared above it.

pub mod tree; // the processes below one process, and their end
pub mod hold; // one program, ended together with all its child processes
pub mod alone; // one worker per machine and user
pub mod given; // the options of a verb
pub mod port; // a port that the engine's server calls
pub mod order; // data passed between the engine, a machine and `aops-hook`
pub mod signed; // the key with which the gateway signs
pub mod identity; // the key with which the server signs its calls
pub mod client; // asks the engine's server
pub mod announce; // announces our services to the engine
pub mod doors; // the engine's server, as a machine needs it
pub mod way; // how a worker reaches the engine
pub mod attend; // the steps that run on this machine
pub mod service; // the handlers on the engine
pub mod worker; // the worker of a machine
pub mod away; // lost machines, and what happens to their runs
pub mod tokens; // who may do what
pub mod web; // asks an issuer of identities
pub mod oidc; // log-in by such an issuer
pub mod metrics; // metrics for a collector
pub mod request; // one HTTP request
pub mod for_machines; // what the gateway does for machines
pub mod gateway; // how people reach the engine
