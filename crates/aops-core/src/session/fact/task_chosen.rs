//! A task that a person or an agent dropped or resumed. Stored types: fields in sorted order.

use serde::{Deserialize, Serialize};

/// What a person or an agent decided about a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskChosen {
    /// The current task is over, and its changes are not added to the resumed one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Its position among the interrupted ones, the oldest first; `None` for the current task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    pub by: String,
    /// The person's next prompt continues it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    pub how: TaskMove,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskMove {
    /// It is over, whatever it owed.
    Drop,
    /// It is the current task again, as it was.
    Resume,
    /// It becomes the current task once its files are edited, or a plan continues it.
    Want,
}

impl TaskMove {
    pub fn words(self) -> &'static str {
        match self {
            Self::Drop => "let the task go",
            Self::Resume => "took the task up again",
            Self::Want => "wants the task to go on",
        }
    }
}
