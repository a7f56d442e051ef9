//! Log-ins that were begun, the oldest first.

use crate::oidc::{Begun, Device};
use std::collections::VecDeque;
use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) browsers: VecDeque<(Instant, Begun)>,
    /// Each under the handle that its terminal has.
    pub(super) devices: VecDeque<(Instant, String, Device)>,
}
