//! One record of a transcript, and a reader for the lines of a file.
//!
//! Reads one file from its beginning. Invariants: only one line is in memory at a time, and a line longer
//! than `LONGEST` is skipped; parts of a record that we do not need are skipped without a copy.

use crate::system::files;
use memchr::memchr;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Longer lines are pictures or the client's own bookkeeping.
const LONGEST: usize = 16 << 20;
/// A file with a longer line is not a transcript; the rest of it is not read.
const ENDLESS: usize = 64 << 20;
const BUFFER: usize = 256 << 10;

/// Kinds of records that contain nothing for us.
const PASSED_OVER: &str = "attachment atis-latch cost-state custom-title agent-name file-history-delta \
file-history-snapshot last-prompt mode permission-mode progress queue-operation summary system tag tools-used";

/// The fields of a record that we read.
#[derive(Debug, Deserialize)]
pub struct TranscriptEntry<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub timestamp: Cow<'a, str>,
    #[serde(borrow, default, rename = "agentId")]
    pub agent_id: Cow<'a, str>,
    #[serde(borrow, default, rename = "attributionAgent")]
    pub agent: Cow<'a, str>,
    #[serde(borrow, default)]
    pub cwd: Cow<'a, str>,
    #[serde(default, rename = "isMeta")]
    pub is_meta: Option<bool>,
    #[serde(default, rename = "isCompactSummary")]
    pub is_summary: Option<bool>,
    #[serde(default, rename = "isSidechain")]
    pub is_sidechain: Option<bool>,
    #[serde(borrow, default)]
    pub message: Option<Message<'a>>,
    #[serde(borrow, default, rename = "toolUseResult")]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "sessionId")]
    pub session_id: Cow<'a, str>,
    /// The client's version.
    #[serde(borrow, default)]
    pub version: Cow<'a, str>,
    #[serde(borrow, default, rename = "permissionMode")]
    pub permission_mode: Cow<'a, str>,
    #[serde(borrow, default, rename = "toolDenialKind")]
    pub denial: Cow<'a, str>,
    #[serde(default, rename = "interruptedByShutdown")]
    pub by_shutdown: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    #[serde(borrow, default)]
    pub id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub model: Cow<'a, str>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub usage: Option<Used<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Used<'a> {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cache_creation_input_tokens: Option<u64>,
    pub cache_read_input_tokens: Option<u64>,
    pub cache_creation: Option<Written>,
    pub server_tool_use: Option<Served>,
    #[serde(borrow)]
    pub inference_geo: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub speed: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
pub struct Written {
    pub ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub struct Served {
    pub web_search_requests: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub tool_use_id: Cow<'a, str>,
    pub is_error: Option<bool>,
    #[serde(borrow, default)]
    pub text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
}

#[derive(Debug)]
pub enum Read<'a> {
    Talk(Box<TranscriptEntry<'a>>),
    /// A known kind, with nothing for us.
    Other,
    /// A kind or form that this version does not know.
    Unknown,
}

impl<'a> TranscriptEntry<'a> {
    pub fn read(line: &'a [u8]) -> Read<'a> {
        let Ok(record) = serde_json::from_slice::<TranscriptEntry>(line) else { return Read::Unknown };
        match record.kind.as_ref() {
            "user" | "assistant" if record.message.is_some() => Read::Talk(Box::new(record)),
            kind if PASSED_OVER.split(' ').any(|known| known == kind) || kind.starts_with("api-") => {
                Read::Other
            }
            _ => Read::Unknown,
        }
    }
}

impl Message<'_> {
    /// The blocks of its content; empty if it is plain text.
    pub fn blocks(&self) -> Vec<Block<'_>> {
        self.content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default()
    }

    pub fn plain(&self) -> Option<String> {
        self.content.and_then(text)
    }
}

/// A JSON text without its escapes; lone surrogates become U+FFFD.
pub fn text(raw: &RawValue) -> Option<String> {
    let json = crate::text::json::read(raw.get()).ok()?;
    Some(json.text()?.into_owned())
}

#[derive(Debug)]
pub struct Lines {
    reader: BufReader<File>,
    line: Vec<u8>,
    /// Lines that were skipped because of their length.
    pub too_long: u64,
    pub bytes: u64,
    /// When to stop reading, even within a line.
    pub until: Option<Instant>,
    /// The reading stopped before the end: the time was up, or a line was endless.
    pub gave_up: bool,
}

impl Lines {
    pub fn open(path: &Path) -> io::Result<Self> {
        files::open(path).map(Self::of)
    }

    pub fn of(file: File) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER, file),
            line: Vec::new(),
            too_long: 0,
            bytes: 0,
            until: None,
            gave_up: false,
        }
    }

    /// The next line that is not empty, without its line feed.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            if self.line.capacity() > 1 << 20 {
                self.line.shrink_to(1 << 20);
            }
            let mut long = 0_usize;
            let ended = loop {
                // The clock is read once per buffer.
                let is_late = || self.until.is_some_and(|until| Instant::now() > until);
                if self.reader.buffer().is_empty() && (long > ENDLESS || is_late()) {
                    self.gave_up = true;
                    return Ok(None);
                }
                let bytes = self.reader.fill_buf()?;
                if bytes.is_empty() {
                    break true;
                }
                let end = memchr(b'\n', bytes);
                let piece = &bytes[..end.unwrap_or(bytes.len())];
                long += piece.len();
                if long <= LONGEST {
                    self.line.extend_from_slice(piece);
                }
                let used = piece.len() + usize::from(end.is_some());
                self.reader.consume(used);
                self.bytes += used as u64;
                if end.is_some() {
                    break false;
                }
            };
            if long > LONGEST {
                self.too_long += 1;
            } else if !self.line.trim_ascii().is_empty() {
                return Ok(Some(&self.line));
            }
            if ended {
                return Ok(None);
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Beside {
    pub agent_id: String,
    pub path: PathBuf,
    /// From its description file: the agent's kind, and the call that started it.
    pub kind: String,
    pub call: String,
}

/// A folder with more files does not belong to one session.
const MOST_AGENTS: usize = 10_000;

/// The transcripts of a session's subagents, by name.
pub fn beside(transcript: &Path) -> Vec<Beside> {
    let folder = transcript.with_extension("").join("subagents");
    let names = std::fs::read_dir(&folder).into_iter().flatten().flatten().take(MOST_AGENTS * 2);
    let mut found: Vec<Beside> = names
        .filter_map(|item| {
            let name = item.file_name().into_string().ok()?;
            let agent_id = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?.to_owned();
            let (kind, call) = read_description(&folder.join(format!("agent-{agent_id}.meta.json")));
            Some(Beside { agent_id, path: item.path(), kind, call })
        })
        .collect();
    found.sort_by(|a, b| a.agent_id.cmp(&b.agent_id));
    found
}

fn read_description(path: &Path) -> (String, String) {
    let text = std::fs::symlink_metadata(path)
        .ok()
        .filter(|meta| meta.is_file() && meta.len() < 1 << 20)
        .and_then(|_| files::read_text(path).ok())
        .unwrap_or_default();
    let json = crate::text::json::read(&text).ok();
    let field = |name: &str| json.as_ref().and_then(|json| json.text_of(name)).unwrap_or_default();
    (field("agentType"), field("toolUseId"))
}
