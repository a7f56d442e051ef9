//! What a shell line or a tool call does, read from its text alone.
//!
//! `syntax` cuts a line into simple commands, `commands` is what is known of each command and tool, `targets` says which
//! files a call may write, `effect` says which class the call is in. Pure: no module here touches files, the clock, the
//! environment or a process.

pub mod syntax;
pub mod commands;
pub mod targets;
pub mod effect;
