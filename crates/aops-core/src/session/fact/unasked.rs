//! What a call did that ended and was never asked about. Stored type: fields in sorted order.

use crate::model::call::Effect;
use crate::session::growth::ChangedFile;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unasked {
    /// Whether it drew an audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<bool>,
    pub effect: Effect,
    /// The file of an edit, if the task is weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grows: Option<ChangedFile>,
}
