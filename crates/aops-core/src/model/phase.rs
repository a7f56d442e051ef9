//! The phases of the loop, and the state of the plan gate. Stored by name.

use crate::model::named::named;
use serde::{Deserialize, Serialize};

named! {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Phase {
        #[default]
        Idle = "idle",
        Hydrate = "hydrate",
        Review = "review",
        Execute = "execute",
        Verify = "verify",
        Intervene = "intervene",
        Reflect = "reflect",
        Close = "close",
        Done = "done",
        Halted = "halted",
    }
}

named! {
    /// Whether the project may be changed.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Sandbox {
        #[default]
        Shut = "shut",
        Open = "open",
    }
}
