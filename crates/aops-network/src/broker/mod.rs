//! The broker outside: accepts connections made inside, judges them, dials, and passes the bytes on.
//!
//! One loop without an async runtime; only questions to the machine's resolver have threads. Invariants:
//! nothing is dialled before it was judged, and the dialled address is the one that was checked; if a new
//! list cannot be read, the old one stays.

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
