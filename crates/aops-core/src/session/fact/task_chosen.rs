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
    /// What `/aops-task drop` or `/aops-task resume` asks for, and of which task of the list.
    pub fn asked_by(text: &str) -> Option<(Self, Option<u64>)> {
        let mut words = text.split_whitespace().filter(|word| !word.starts_with('-'));
        let how = match (words.next()?, words.next()?) {
            ("/aops-task" | "/aops:aops-task", "drop") => Self::Drop,
            ("/aops-task" | "/aops:aops-task", "resume") => Self::Resume,
            _ => return None,
        };
        let n = words.next().map(|n| n.parse().ok().filter(|n| *n > 0));
        (words.next().is_none() && n != Some(None)).then(|| (how, n.flatten()))
    }

    /// What a task is after this, for the person who chose it.
    pub fn result(self) -> &'static str {
        match self {
            Self::Drop => "let go: it owes nothing more, and its files stay as they are",
            Self::Resume => "taken up again, with its plan and what it owes; your next prompt continues it",
            Self::Want => "continues with the first edit of its files, or with a plan that continues it",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Drop => "let the task go",
            Self::Resume => "took the task up again",
            Self::Want => "wants the task to go on",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TaskMove::{self, Drop, Resume};

    #[test]
    fn a_slash_command_may_choose_a_task() {
        for (text, want) in [
            ("/aops-task drop", Some((Drop, None))),
            (" /aops:aops-task drop 2 --yes", Some((Drop, Some(2)))),
            ("/aops-task resume 1", Some((Resume, Some(1)))),
            ("/aops-task", None),
            ("/aops-task list", None),
            ("/aops-task drop 0", None),
            ("/aops-task drop it", None),
            ("/aops-task drop 1 2", None),
            ("/review drop", None),
            ("drop", None),
        ] {
            assert_eq!(TaskMove::asked_by(text), want, "{text}");
        }
    }
}
