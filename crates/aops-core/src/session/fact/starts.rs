//! A call that starts an agent of ours.

use crate::model::agent::AgentId;
use crate::model::named::Stored;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starts {
    /// The client's process ID.
    pub client: String,
    pub name: Stored<AgentId>,
}
