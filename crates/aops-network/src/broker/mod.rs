//! The process outside: accepts what is connected to inside, judges it, dials, and passes the bytes on.
//!
//! One loop, without a runtime; only look-ups at the machine's resolver have threads. Invariants: nothing is
//! dialled before it was judged, and what is dialled is the address that was checked; a list that cannot be
//! read leaves the old one.

mod pump;
mod resolve;
mod connection;
mod state;
mod dial;
mod judge;
mod publish;
mod machine;
mod turn;

pub use state::Outside;
pub use turn::run;
