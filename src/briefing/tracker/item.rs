//! What we want written in the tracker: an issue, a comment or an audit record, and the key it is known by.
//!
//! Pure. The key is the digest of project and content: the same item is one item, however often it is asked for; give it
//! the session or the time where it must not be. Invariant: an item holds no secret, no NUL, and fits an argument.

use super::answer::clean;
use crate::text::redact::redact;
use crate::text::sha256::sha256;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item {
    Issue { title: String, body: String, kind: String, priority: u8, labels: Vec<String> },
    Comment { issue: String, body: String },
    Audit { kind: String, issue: Option<String>, tool: Option<String>, extra: BTreeMap<String, String> },
}

/// An item on its way; the stored form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    pub schema: u32,
    pub key: String,
    pub project: String,
    pub queued_ms: i64,
    pub item: Item,
    /// How often the tracker refused it.
    pub tries: u32,
    /// Not to be tried again before.
    pub next_ms: i64,
    /// The tracker's last error.
    pub reason: Option<String>,
}

/// Refusals after which an item is set aside for a person.
pub const MOST_TRIES: u32 = 8;

const LONGEST_BODY: usize = 32 << 10;
const LONGEST_TITLE: usize = 200;
const LONGEST_WORD: usize = 60;
const MOST_EXTRAS: usize = 30;

impl Queued {
    pub fn new(project: &str, item: Item, now_ms: i64) -> Result<Self, String> {
        let item = item.bounded()?;
        let content = serde_json::to_string(&item).map_err(|e| e.to_string())?;
        let key = sha256(&[project.as_bytes(), b"\0", content.as_bytes()])[..32].to_owned();
        let project = project.to_owned();
        Ok(Self { schema: 1, key, project, queued_ms: now_ms, item, tries: 0, next_ms: 0, reason: None })
    }

    /// Refused once more: twice as long until the next try.
    #[must_use]
    pub fn refused(self, reason: &str, now_ms: i64) -> Self {
        let pause = 15_000_i64 << self.tries.min(10);
        Self { tries: self.tries + 1, next_ms: now_ms + pause, reason: Some(clean(reason, 300)), ..self }
    }

    /// What is written below a text, so that it is found again.
    pub fn mark(&self) -> String {
        format!("aops-key: {}", self.key)
    }

    /// A text with its mark.
    pub fn marked(&self, body: &str) -> String {
        format!("{}\n\n{}", body.trim_end(), self.mark())
    }
}

impl Item {
    /// The item without secrets, NUL bytes and overlong text.
    fn bounded(self) -> Result<Self, String> {
        let word = |text: String| clean(&text, LONGEST_WORD);
        Ok(match self {
            Item::Issue { title, body, kind, priority, labels } => Item::Issue {
                title: Some(clean(&title, LONGEST_TITLE)).filter(|t| !t.is_empty()).ok_or("no title")?,
                body: text(&body),
                kind: word(kind),
                priority: priority.min(4),
                labels: labels.into_iter().map(|label| word(label).replace(',', " ")).collect(),
            },
            Item::Comment { issue, body } => Item::Comment { issue: issue_id(issue)?, body: text(&body) },
            Item::Audit { kind, issue, tool, extra } => Item::Audit {
                kind: Some(word(kind)).filter(|kind| !kind.is_empty()).ok_or("no kind")?,
                issue: issue.map(issue_id).transpose()?,
                tool: tool.map(word),
                extra: extra.into_iter().take(MOST_EXTRAS).map(|(k, v)| (word(k), text(&v))).collect(),
            },
        })
    }
}

fn issue_id(id: String) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=100).contains(&id.len()) && id.chars().all(plain) && !id.starts_with(['-', '.']) {
        return Ok(id);
    }
    Err(format!("`{}` is not the id of an issue", clean(&id, LONGEST_WORD)))
}

/// Several lines, without secrets and control characters.
fn text(text: &str) -> String {
    let redacted = redact(text);
    let kept = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    let mut out: String = redacted.chars().filter(kept).collect();
    if out.len() > LONGEST_BODY {
        let end = (0..=LONGEST_BODY).rev().find(|at| out.is_char_boundary(*at)).unwrap_or(0);
        out.truncate(end);
        out.push_str("\n[shortened]");
    }
    out
}
