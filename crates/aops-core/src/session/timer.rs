//! How the words of a timer are remembered, so that a prompt that says them is not taken for a person's.
//!
//! Reads nothing, writes nothing. Invariants: what stands between words does not matter; a text that the
//! client shows by its beginning alone is compared by that beginning; a mark says no more of a text than its
//! length and a digest.

use crate::text::sha256::sha256;
use serde::{Deserialize, Serialize};

/// Most timers that a session remembers. One more, and no prompt is taken for a person's until the client
/// starts again.
pub const MOST: usize = 64;
/// Where the client lists timers it shows so many characters of each prompt, and how many follow.
const SHOWN: usize = 1000;
/// What it writes then: `… [+234 chars]`.
const CLIP: (&str, &str) = ("… [+", " chars]");

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum TimerMark {
    /// The digest of all its words.
    Whole(String),
    /// So many characters, and their digest: more follow, and were not looked at.
    Beginning(usize, String),
}

impl TimerMark {
    pub fn of(prompt: &str) -> Self {
        let (shown, is_cut) = unclipped(prompt);
        let is_long = shown.chars().nth(SHOWN).is_some();
        let head: String = shown.chars().take(SHOWN).collect();
        // A character that was cut in two is none.
        let words = words_of(head.trim_end_matches('\u{fffd}'));
        let digest = sha256(&[words.as_bytes()]);
        if is_cut || is_long { Self::Beginning(words.chars().count(), digest) } else { Self::Whole(digest) }
    }

    /// This prompt says what the timer was told to say, as far as is known.
    pub fn is_said_by(&self, prompt: &SpokenPrompt) -> bool {
        match self {
            Self::Whole(digest) => *digest == prompt.digest,
            Self::Beginning(length, digest) => {
                let head: String = prompt.words.chars().take(*length).collect();
                head.chars().count() == *length && *digest == sha256(&[head.as_bytes()])
            }
        }
    }
}

/// A prompt, to be compared with timers.
pub struct SpokenPrompt {
    words: String,
    digest: String,
    /// It ends as a list of timers does: what follows is not known, so it can be compared with none.
    pub is_cut: bool,
}

impl SpokenPrompt {
    pub fn of(prompt: &str) -> Self {
        let words = words_of(prompt);
        Self { digest: sha256(&[words.as_bytes()]), words, is_cut: unclipped(prompt).1 }
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

/// The text without the client's note that more follows, and whether there was one.
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

    /// As the client lists it.
    fn listed(prompt: &str) -> String {
        let shown: String = prompt.chars().take(SHOWN).collect();
        format!("{shown}… [+{} chars]", prompt.chars().count() - SHOWN)
    }

    #[test]
    fn a_timer_is_known_by_its_words() {
        assert!(says(". go  on\n", " . go on") && says("x", "x"));
        assert!(!says(". go", ". go on") && !says(". go on", ". go") && !says("x", "y"));
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
        // The client cuts between two halves of a character, and the reader puts a sign in its place.
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
