//! One step of the demo: who did what, and what was said to it.
//!
//! Plain values; reads and writes nothing.

/// What we said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Refused,
    Passed,
    /// Passed, and something was said beside.
    Told,
}

#[derive(Clone, Debug)]
pub(super) struct Beat {
    pub(super) act: usize,
    pub(super) who: String,
    pub(super) does: String,
    pub(super) event: &'static str,
    pub(super) word: Word,
    /// The gate that refused.
    pub(super) gate: String,
    pub(super) said: String,
    /// Where the loop stood afterwards.
    pub(super) phase: &'static str,
    pub(super) sandbox: &'static str,
}
