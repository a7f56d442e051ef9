//! Which hosts a line names and would reach, so that a person can approve them before it runs.
//!
//! Reads the line, but no file. Invariant: a host found here only makes the question come earlier and never
//! allows anything; a host that is known only at run time is judged when it is reached.

mod url;
mod words;

pub use url::{Host, is_this_machine, of_address, of_fetch, of_url};
pub use words::named;

#[cfg(test)]
mod tests;
