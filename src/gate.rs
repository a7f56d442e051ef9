//! The gates: named rules over what a call would do.

pub mod guard;
pub mod disarm;
