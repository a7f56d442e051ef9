//! How a command is jailed, and what the kernel offers for it. Stored by name.
//!
//! Reads nothing, writes nothing.

use crate::model::named::named;
use crate::text::plain::{count, is_zero};
use crate::text::redact::redact;
use crate::text::sha256::sha256;
use crate::text::template::one_line;
use serde::{Deserialize, Serialize};

named! {
    /// In rising order of strictness.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Profile {
        /// Only its text is judged: a program that cannot run inside a jail.
        None = "none",
        /// Unconfined, except that files that guard the session cannot be changed.
        Work = "work",
        /// The project can be written, its repository cannot; caches and temporary files are thrown away; no
        /// network, no daemon.
        QuietWork = "quiet-work",
        /// Nothing can be changed; temporary files are thrown away; no network, unless the line needs it.
        Read = "read",
        /// The same without any daemon: for a line that no person is asked about.
        QuietRead = "quiet-read",
        /// Changes are thrown away; no network.
        Trial = "trial",
    }
}

impl Profile {
    /// The profile of this name; the strictest for any other word.
    pub fn named(word: &str) -> Self {
        Self::of(word).unwrap_or(Self::Trial)
    }

    /// It replaces a person's answer, so it must be enforced completely or the command does not run.
    pub fn is_quiet(self) -> bool {
        matches!(self, Self::QuietWork | Self::QuietRead)
    }
}

named! {
    /// What confines a jailed command.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Hold {
        /// User and mount namespaces.
        Namespaces = "namespaces",
        /// Landlock: no throwaway layers, and protected files inside the project are not protected.
        Landlock = "landlock",
        /// The sandbox of macOS: no throwaway layers; untested.
        Seatbelt = "seatbelt",
        #[default]
        Words = "words",
    }
}

/// The jail of a session, as found out at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JailState {
    pub hold: Hold,
    /// It would hold, but a project's settings run code before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub led_past: bool,
    /// The folder in which the session began.
    pub project: String,
    /// Commands can run in a throwaway layer, with an empty network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trial: bool,
    /// Why the jail offers no more.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl JailState {
    pub fn is_on(&self) -> bool {
        self.hold != Hold::Words
    }

    /// Whether this profile can be enforced. Only namespaces have the empty network and the layers that a
    /// quiet profile needs; any other profile is enforced as far as the jail can.
    pub fn holds(&self, profile: Profile) -> bool {
        if profile.is_quiet() { self.hold == Hold::Namespaces && self.trial } else { self.is_on() }
    }
}

/// What the program around a command says about how it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The command's exit code, if somebody outside of the jail waited for it. The ledger records it with the
    /// call's end.
    #[serde(skip)]
    pub exit: Option<i32>,
    pub hold: Hold,
    /// Results that were lost with a throwaway layer.
    #[serde(default, skip_serializing_if = "Losses::is_empty")]
    pub lost: Losses,
    pub profile: Profile,
}

impl Proof {
    pub fn of(hold: Hold, profile: Profile) -> Self {
        Self { exit: None, hold, profile, lost: Losses::default() }
    }
}

named! {
    /// What a command did to a file in a throwaway layer.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Loss {
        Made = "made",
        Changed = "changed",
        Removed = "removed",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostFile {
    pub loss: Loss,
    /// Relative to the project.
    pub path: String,
}

/// What a command did in a throwaway layer, and what was lost with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<LostFile>,
    /// The size of the layer in MB, if it was full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_mb: Option<u64>,
    /// Number of files that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Ports of servers that were listening when the command ended, and were stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
}

impl Losses {
    /// At most this many names in one sentence.
    const NAMED: usize = 5;

    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.more == 0 && self.full_mb.is_none() && self.ports.is_empty()
    }

    /// Cuts the list to what the ledger keeps.
    pub fn cut(&mut self, most: usize) {
        let over = self.files.len().saturating_sub(most);
        self.files.truncate(most);
        self.more += over as u64;
    }

    /// `out/app and out/lib.so are gone. The changes to a.py are gone. x is still there.`
    pub fn describe(&self) -> String {
        let mut sentences: Vec<String> = Vec::new();
        for loss in Loss::ALL {
            let files = self.files.iter().filter(|file| file.loss == loss);
            let (names, many) = Self::list(&files.map(|file| file.path.as_str()).collect::<Vec<_>>());
            let are = if many { "are" } else { "is" };
            sentences.extend((!names.is_empty()).then(|| match loss {
                Loss::Made => format!("{names} {are} gone."),
                Loss::Changed => format!("The changes to {names} are gone."),
                Loss::Removed => format!("{names} {are} still there."),
            }));
        }
        sentences.extend(
            (self.more > 0).then(|| format!("So are the changes to {} more.", count(self.more, "file"))),
        );
        let server = |port: &u16| format!("The server on port {port} was stopped.");
        sentences.extend(self.ports.iter().map(server));
        let full = |mb| format!("The layer was full: {mb} MB, `[jail] layer_mb`.");
        sentences.extend(self.full_mb.map(full));
        sentences.join(" ")
    }

    /// The first of these names, and whether there are several.
    fn list(names: &[&str]) -> (String, bool) {
        let shown: Vec<String> = names.iter().take(Self::NAMED).map(|name| one_line(name, 120)).collect();
        let text = match (shown.split_last(), names.len() - shown.len()) {
            (Some((last, [])), 0) => last.clone(),
            (Some((last, rest)), 0) => format!("{} and {last}", rest.join(", ")),
            (_, 0) => String::new(),
            (_, more) => format!("{} and {more} more", shown.join(", ")),
        };
        (text, names.len() > 1)
    }
}

/// Digest of a command in the form in which the ledger knows it: without its secrets.
pub fn line_digest(command: &str) -> String {
    sha256(&[redact(command).as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_in_words() {
        let of = |files: &[(Loss, &str)], more| {
            let files = files.iter().map(|(loss, path)| LostFile { loss: *loss, path: (*path).to_owned() });
            Losses { files: files.collect(), more, ..Losses::default() }.describe()
        };
        assert_eq!(of(&[(Loss::Made, "out/app")], 0), "out/app is gone.");
        let three =
            of(&[(Loss::Made, "a"), (Loss::Changed, "b"), (Loss::Made, "c"), (Loss::Removed, "d")], 0);
        assert_eq!(three, "a and c are gone. The changes to b are gone. d is still there.");
        let many: Vec<String> = (0..8).map(|n| n.to_string()).collect();
        let many: Vec<(Loss, &str)> = many.iter().map(|name| (Loss::Made, name.as_str())).collect();
        let words = of(&many, 2);
        assert_eq!(words, "0, 1, 2, 3, 4 and 3 more are gone. So are the changes to 2 files more.");
        let full = Losses { full_mb: Some(16), ..Losses::default() };
        assert!(!full.is_empty());
        assert_eq!(full.describe(), "The layer was full: 16 MB, `[jail] layer_mb`.");
    }
}
