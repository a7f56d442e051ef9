//! Runs of an engine on this machine, and questions of its sessions.
//!
//! `leg` continues a run in a clone of its own; `question` carries out answers to sessions; `retain` removes
//! what is left. The engine says what is next; `aops-fleet` starts us.

mod row;
pub mod place;
pub mod retain;
pub mod stop;
mod told;
mod session;
pub mod question;
pub mod leg;

use crate::run::driver::RunRequest;
use serde::{Deserialize, Serialize};

/// The run that was ordered, and where its repository is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    pub commit: String,
    /// The path from the top of the repository to the project.
    pub folder: String,
    pub repository: String,
    pub run: RunRequest,
}
