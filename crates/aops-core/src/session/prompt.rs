//! The kind of a prompt: ordinary text, a command, a skip of the loop, or text made by the client.
//!
//! Reads nothing, writes nothing. Invariants: only an ordinary prompt starts the loop; a path is not a
//! command (`./build.sh fails`, `/etc/hosts is wrong`), and a file's name waives nothing (`.gitignore is
//! wrong`).

use crate::text::json::cut;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prompt {
    /// Made by the client, or empty: changes nothing.
    #[default]
    Machine,
    /// Begins with a dot: the user skips the loop for this task.
    Waived,
    /// A slash command: it runs as part of the current task. Without an open task, it starts the workflow
    /// `direct-skill`, which is waived, too.
    Command,
    /// A slash command of ours: changes nothing.
    Ours,
    Ordinary,
}

const MACHINE_MADE: [&str; 6] = [
    "<task-notification>", "<agent-notification>", "<teammate-message", "<system-reminder>",
    "<local-command-", "<bash-input>",
];

/// Prompts that other programs send through the client.
const MADE_BY_OTHERS: [&str; 11] = [
    "<cross-session-message", "<channel", "<agent-message", "<task-notification", "<scheduled-task",
    "<slack-", "<coordinator-", "Monitor event:",
    // Timers whose text the client writes: `<<loop.md>>`, `<<autonomous-loop>>`.
    "# /loop", "# Autonomous loop", "# Autonomous-loop",
];

/// Our slash commands. Those of our plugin begin with `aops:`.
const OURS: [&str; 6] = [
    "aops-status", "aops-checkpoint", "aops-handover", "aops-task", "session-insights",
    "aops-session-insights",
];

/// Beginnings of prompts that continue what was interrupted.
const GOING_ON: [&str; 16] = [
    "go on", "continue", "carry on", "keep going", "keep at it", "proceed", "resume", "go ahead",
    "pick it up", "finish it", "finish what", "pick up where", "weiter", "mach weiter", "mache weiter",
    "fahre fort",
];

/// Words that may follow without naming what to continue.
const NAMING_NOTHING: &str = "ahead and as before bitte damit daran doing from interrupted it jetzt left now off please so started \
stopped task that the then there this was we were what where with work working you";

/// Files and folders that a prompt may begin with, whether they exist or not.
const WELL_KNOWN: &str = ".DS_Store .aops .aws .babelrc .bash_profile .bashrc .cargo .circleci .clang-format .clang-tidy \
.claude .config .coveragerc .cursor .devcontainer .dockerignore .editorconfig .env .envrc .eslintignore .eslintrc .flake8 \
.git .gitattributes .github .gitconfig .gitignore .gitkeep .gitlab .gitlab-ci.yml .gitmodules .hgignore .htaccess .husky \
.idea .jshintrc .mailmap .markdownlint.json .mcp.json .mocharc .node-version .npmignore .npmrc .nvmrc .nycrc .pre-commit-config.yaml \
.prettierignore .prettierrc .profile .pylintrc .python-version .rspec .rubocop.yml .ruby-version .rustfmt.toml .ssh \
.stylelintrc .svnignore .swiftlint.yml .terraform .tmux.conf .tool-versions .travis.yml .venv .vimrc .vscode .yarnrc .zshrc";

/// `.gitignore, please` begins with a file; so do `.env.local` and `.github/workflows/ci.yml`.
fn begins_with_file(text: &str, is_file: impl Fn(&str) -> bool) -> bool {
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_end_matches(|c: char| ",;:!?.'\"`)".contains(c)).trim_end_matches("'s");
    let top = word.split('/').next().unwrap_or_default();
    let known = |name: &str| WELL_KNOWN.split(' ').any(|known| known == name);
    let base = top.get(1..).and_then(|rest| rest.split('.').next()).unwrap_or_default();
    top.len() > 1 && (known(top) || known(&format!(".{base}")) || is_file(top))
}

impl Prompt {
    /// How many bytes of a task's prompts are remembered.
    pub const LONGEST: usize = 2048;

    /// What the person asked so far, and now: neither pushes the other out.
    pub fn join(before: Option<&str>, next: &str) -> String {
        let Some(before) = before.filter(|before| !before.is_empty()) else {
            return cut(next, Self::LONGEST).to_owned();
        };
        let room = Self::LONGEST.saturating_sub(next.len() + 2).max(Self::LONGEST / 2);
        cut(&format!("{}\n\n{next}", cut(before, room)), Self::LONGEST).to_owned()
    }

    /// What a prompt means. `is_file` knows the working directory; it is only asked about names that begin
    /// with a dot.
    pub fn read(text: &str, is_file: impl Fn(&str) -> bool) -> Self {
        match Self::of(text) {
            _ if MADE_BY_OTHERS.iter().any(|made| text.trim_start().starts_with(made)) => Prompt::Machine,
            Prompt::Waived if begins_with_file(text.trim_start(), is_file) => Prompt::Ordinary,
            Prompt::Command if is_ours(text) => Prompt::Ours,
            kind => kind,
        }
    }

    /// It asks to continue what was interrupted, and begins with that.
    pub fn goes_on(text: &str) -> bool {
        Self::goes_on_with(text).is_some()
    }

    /// The same, without saying what to continue.
    pub fn only_goes_on(text: &str) -> bool {
        Self::goes_on_with(text).is_some_and(|named| named.is_empty())
    }

    /// The words with which such a prompt names what to continue.
    pub fn goes_on_with(text: &str) -> Option<Vec<String>> {
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let polite = |word: &&String| {
            matches!(
                word.as_str(),
                "please" | "ok" | "okay" | "yes" | "now" | "then" | "and" | "so" | "bitte" | "ja"
            )
        };
        let text = words[words.iter().take_while(polite).count()..].join(" ");
        let rest = GOING_ON.iter().find_map(|begin| text.strip_prefix(begin))?;
        let names = |word: &&str| !NAMING_NOTHING.split(' ').any(|known| known == *word);
        Some(rest.split(' ').filter(|word| !word.is_empty()).filter(names).map(str::to_owned).collect())
    }

    /// It says something that only a person may say: skip the loop, or continue after a halt.
    pub fn claims_authority(self, halted: bool) -> bool {
        matches!(self, Prompt::Waived | Prompt::Command) || halted && self == Prompt::Ordinary
    }

    /// What it means if no person gave it.
    #[must_use]
    pub fn without_authority(self, halted: bool) -> Self {
        if halted { Prompt::Machine } else { Prompt::Ordinary }
    }

    /// What its form alone means.
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
            return if word.is_empty() || word.contains(['/', '.']) {
                Prompt::Ordinary
            } else {
                Prompt::Command
            };
        }
        Prompt::Ordinary
    }
}

fn is_ours(text: &str) -> bool {
    let word =
        text.trim_start().trim_start_matches('/').split(char::is_whitespace).next().unwrap_or_default();
    OURS.contains(&word) || word.starts_with("aops:")
}

#[cfg(test)]
mod tests {
    use super::Prompt::{self, Command, Machine, Ordinary, Ours, Waived};

    #[test]
    fn a_files_name_waives_nothing() {
        let rows = [
            (".gitignore is wrong", Ordinary),
            (".gitignore", Ordinary),
            ("  .env, please", Ordinary),
            (".env.local has no key", Ordinary),
            (".eslintrc.json is wrong", Ordinary),
            (".github/workflows/ci.yml fails", Ordinary),
            (".editorconfig: tabs!", Ordinary),
            (".dockerignore's last line", Ordinary),
            (".mine is new", Ordinary),
            (".other is not there", Waived),
            (".fix", Waived),
            (". .gitignore is wrong", Waived),
            (".", Waived),
            ("/review", Command),
            ("/aops-status", Ours),
            ("/aops:handover now", Ours),
            ("/session-insights", Ours),
            ("/aops-statuses", Command),
            ("/checkpoint", Command),
            ("hello", Ordinary),
            ("", Machine),
            ("<slack-ping from=\"x\">. go on", Machine),
            ("<coordinator-relay>go on", Machine),
            ("Monitor event: \"done\"", Machine),
            ("# /loop tick — tasks from loop.md", Machine),
            ("# Autonomous loop check", Machine),
            ("# Loops in Rust", Ordinary),
        ];
        for (text, want) in rows {
            assert_eq!(Prompt::read(text, |name| name == ".mine"), want, "{text:?}");
        }
    }

    #[test]
    fn a_prompt_may_go_on_with_what_was_interrupted() {
        for text in [
            "go on with it", "Continue.", "ok, please continue", "Carry on!", "resume the refactoring",
            "keep going",
        ] {
            assert!(Prompt::goes_on(text), "{text}");
        }
        for (text, only) in [
            ("go on", true),
            ("Weiter!", true),
            ("ok, continue with it please", true),
            ("pick up where you left off", true),
            ("go on with the refactoring", false),
            ("continue, but use tabs", false),
            ("fix the typo", false),
        ] {
            assert_eq!(Prompt::only_goes_on(text), only, "{text}");
        }
        assert_eq!(Prompt::goes_on_with("go on with the refactoring").unwrap(), ["refactoring"]);
        for text in ["fix the typo", "what does continue do?", "", "do not go on", "going on holiday"] {
            assert!(!Prompt::goes_on(text), "{text}");
        }
    }

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
