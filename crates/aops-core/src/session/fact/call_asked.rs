//! The content of a call's first entry: its input, and what it means to the gates. Stored type: fields in
//! sorted order.

use super::{CallMeans, Starts};
use crate::config::policy::is_default;
use crate::session::timer::TimerMark;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallAsked {
    /// Canonical, redacted, clipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub means: CallMeans,
    /// The prompt that a timer will send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<TimerMark>,
    /// The agent of ours that it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Starts>,
    /// With `schedules`: there are more timers than we remember.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timers_lost: bool,
    /// The user's rules that warned about it; it passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned: Vec<String>,
}
