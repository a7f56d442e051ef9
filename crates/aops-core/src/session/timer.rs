//! Remembers the text of a timer, so that a prompt with this text is not mistaken for a person's.
//!
//! Reads nothing, writes nothing. Invariants: what separates words does not matter; if the client shows only
//! the beginning of a text, that beginning is compared; a mark reveals no more about a text than its length
//! and a digest.

use crate::text::sha256::sha256;
use serde::{Deserialize, Serialize};

/// At most this many timers are remembered. After one more, no prompt counts as a person's until the client
/// starts again.
pub const MOST: usize = 64;
/// When the client lists timers, it shows this many characters of each prompt, and how many follow.
const SHOWN: usize = 1000;
/// How the client marks a cut: `… [+234 chars]`.
const CLIP: (&str, &str) = ("… [+", " chars]");

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum TimerMark {
    /// Digest of the whole text.
    Whole(String),
    /// This many characters, and their digest; the rest is unknown.
    Beginning(usize, String),
}

impl TimerMark {
    pub fn of(prompt: &str) -> Self {
        let (shown, is_cut) = unclipped(prompt);
        let is_long = shown.chars().nth(SHOWN).is_some();
        let head: String = shown.chars().take(SHOWN).collect();
        // A character that was cut in two does not count.
        let words = words_of(head.trim_end_matches('\u{fffd}'));
        let digest = sha256(&[words.as_bytes()]);
        if is_cut || is_long { Self::Beginning(words.chars().count(), digest) } else { Self::Whole(digest) }
    }

    /// As far as we know, this prompt has the timer's text.
    pub fn is_said_by(&self, prompt: &SpokenPrompt) -> bool {
        match self {
            Self::Whole(digest) => prompt.digests.contains(digest),
            Self::Beginning(length, digest) => {
                let head: String = prompt.words.chars().take(*length).collect();
                head.chars().count() == *length && *digest == sha256(&[head.as_bytes()])
            }
        }
    }
}

/// A prompt, in a form that can be compared with timers.
pub struct SpokenPrompt {
    words: String,
    /// Of the whole, and of each beginning that ends with a row and may be all of a timer's text: what
    /// arrives at the same time may come as one prompt.
    digests: Vec<String>,
    /// It ends like an entry in a list of timers: the rest is unknown, so it cannot be compared with any.
    pub is_cut: bool,
}

impl SpokenPrompt {
    pub fn of(prompt: &str) -> Self {
        let words = words_of(prompt);
        let mut digests = vec![sha256(&[words.as_bytes()])];
        let mut begun = String::new();
        for row in prompt.lines().map(words_of).filter(|row| !row.is_empty()) {
            if begun.chars().count() + row.chars().count() > SHOWN {
                break;
            }
            begun.push_str(if begun.is_empty() { "" } else { " " });
            begun.push_str(&row);
            digests.push(sha256(&[begun.as_bytes()]));
        }
        Self { digests, words, is_cut: unclipped(prompt).1 }
    }
}

impl From<String> for TimerMark {
    fn from(text: String) -> Self {
        let parts =
            text.split_once(':').and_then(|(length, digest)| Some((length.parse().ok()?, digest.to_owned())));
        parts.map_or(Self::Whole(text), |(length, digest)| Self::Beginning(length, digest))
    }
}

impl From<TimerMark> for String {
    fn from(mark: TimerMark) -> Self {
        match mark {
            TimerMark::Whole(digest) => digest,
            TimerMark::Beginning(length, digest) => format!("{length}:{digest}"),
        }
    }
}

fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text without the client's note that more follows, and whether there was such a note.
fn unclipped(text: &str) -> (&str, bool) {
    let said = text.trim_end().strip_suffix(CLIP.1).and_then(|rest| rest.rsplit_once(CLIP.0));
    let is_count = |count: &str| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    said.filter(|(_, count)| is_count(count)).map_or((text, false), |(shown, _)| (shown, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(timer: &str, prompt: &str) -> bool {
        TimerMark::of(timer).is_said_by(&SpokenPrompt::of(prompt))
    }

    /// The prompt as the client lists it.
    fn listed(prompt: &str) -> String {
        let shown: String = prompt.chars().take(SHOWN).collect();
        format!("{shown}… [+{} chars]", prompt.chars().count() - SHOWN)
    }

    #[test]
    fn a_timer_is_known_by_its_words() {
        assert!(says(". go  on\n", " . go on") && says("x", "x"));
        assert!(!says(". go", ". go on") && !says(". go on", ". go") && !says("x", "y"));
        assert!(
            says(". go", ". go\n\n. and on")
                && says(". go\non", "\n. go\non\nmore")
                && !says("more", ". go\nmore")
        );
        let long = format!(". go {}", "on and ".repeat(400));
        assert!(says(&long, &long) && says(&long, &format!("\n {long}")));
        assert!(!says(&long, ". go") && !says(&long, &long[..900]));
    }

    #[test]
    fn a_clipped_timer_is_known_by_its_beginning() {
        let texts = [
            format!(". go {}", "on and ".repeat(400)),
            format!("{}. go {}", " \n".repeat(300), "on ".repeat(400)),
            format!(". {}", "🦀".repeat(1500)),
            format!(". go{}end", " ".repeat(1200)),
            format!(". {}", "x".repeat(999)),
        ];
        for text in &texts {
            assert!(says(&listed(text), text) && says(&listed(text), text.trim()), "{}", &listed(text)[..40]);
            assert!(says(text, text) && says(text, text.trim()));
            assert!(!says(&listed(text), "something else, by a person"));
        }
        // The client cuts between the halves of a character, and the reader inserts a replacement character.
        let cut = format!(". {}\u{fffd}… [+9 chars]", "🦀".repeat(499));
        assert!(says(&cut, &format!(". {}", "🦀".repeat(600))));
        assert!(SpokenPrompt::of(&listed(&texts[0])).is_cut && !SpokenPrompt::of("list … [+x chars]").is_cut);
        assert!(says("… [+7 chars]", "anything"), "nothing is known of it");
    }

    #[test]
    fn a_mark_is_stored_as_a_text_and_an_older_one_is_read() {
        let marks = [TimerMark::of(". go"), TimerMark::of(&"x ".repeat(900))];
        for mark in marks {
            assert_eq!(TimerMark::from(String::from(mark.clone())), mark);
        }
        let older = sha256(&[b". go on"]);
        assert!(TimerMark::from(older).is_said_by(&SpokenPrompt::of(".  go on")));
    }
}
