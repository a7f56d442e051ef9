//! The kind of a prompt: ordinary text, a command, a skip of the loop, or text made by the client.
//!
//! Reads nothing, writes nothing. Invariant: only an ordinary prompt starts the loop, and a path is not a command
//! (`./build.sh fails`, `/etc/hosts is wrong`).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Made by the client, or empty: changes nothing.
    Machine,
    /// Begins with a dot: the user skips the loop for this task.
    Waived,
    /// A slash command: the workflow `direct-skill`, waived too.
    Command,
    Ordinary,
}

const MACHINE_MADE: [&str; 6] = [
    "<task-notification>",
    "<agent-notification>",
    "<teammate-message",
    "<system-reminder>",
    "<local-command-",
    "<bash-input>",
];

impl Prompt {
    pub fn of(text: &str) -> Self {
        let text = text.trim_start();
        if text.is_empty() || MACHINE_MADE.iter().any(|made| text.starts_with(made)) {
            return Prompt::Machine;
        }
        if let Some(rest) = text.strip_prefix('.') {
            return if rest.starts_with(['/', '.']) { Prompt::Ordinary } else { Prompt::Waived };
        }
        if let Some(rest) = text.strip_prefix('/') {
            let word = rest.split(char::is_whitespace).next().unwrap_or_default();
            return if word.is_empty() || word.contains(['/', '.']) { Prompt::Ordinary } else { Prompt::Command };
        }
        Prompt::Ordinary
    }
}

#[cfg(test)]
mod tests {
    use super::Prompt::{self, Command, Machine, Ordinary, Waived};

    #[test]
    fn kinds() {
        let rows = [
            ("", Machine),
            (" \n", Machine),
            ("<task-notification>\nx", Machine),
            ("  <system-reminder>", Machine),
            ("<b>bold</b> is broken", Ordinary),
            (". just do it", Waived),
            ("  .fix", Waived),
            (".", Waived),
            ("./build.sh fails", Ordinary),
            ("../x is gone", Ordinary),
            ("... hm", Ordinary),
            ("/review now", Command),
            ("/aops:status", Command),
            ("/etc/hosts is wrong", Ordinary),
            ("/build.sh fails", Ordinary),
            ("/ is full", Ordinary),
            ("add a file", Ordinary),
        ];
        for (text, want) in rows {
            assert_eq!(Prompt::of(text), want, "{text:?}");
        }
    }
}
