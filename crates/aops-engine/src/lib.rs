//! Runs of many machines. A file may use only files declared above it.

pub mod tree; // the processes below one process, and their end
pub mod hold; // one program with all that comes of it, ended as one
pub mod alone; // one worker for a machine and user
