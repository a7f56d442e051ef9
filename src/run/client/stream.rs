//! The client's stream-json output: tokens, cost, the last tool, and its result record.
//!
//! Reads one growing file from where it stopped last time. Invariants: lines that are not records are skipped; usage
//! counts once per message.

use crate::text::json::{self, Json};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// What one start of the client printed so far.
#[derive(Debug, Default)]
pub struct Stream {
    path: PathBuf,
    at: u64,
    rest: Vec<u8>,
    counted: BTreeSet<String>,
    /// A record named the session, so the client got as far as its hooks.
    pub announced: bool,
    pub tokens: u64,
    pub last_tool: Option<String>,
    pub result: Option<ClientResult>,
}

/// The record that ends one start of the client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientResult {
    pub subtype: String,
    /// The call that was deferred: its tool and command or file.
    pub deferred: Option<String>,
    /// Cost of the whole session, in millionths of a dollar.
    pub cost: Option<u64>,
    /// Tokens of the whole session.
    pub tokens: Option<u64>,
    pub words: String,
}

impl Stream {
    pub fn of(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }

    /// Reads what is new; true if there was something.
    pub fn follow(&mut self) -> bool {
        let Ok(mut file) = File::open(&self.path) else { return false };
        let mut new = Vec::new();
        let read = file.seek(SeekFrom::Start(self.at)).and_then(|_| file.read_to_end(&mut new));
        self.at += read.unwrap_or_default() as u64;
        self.rest.extend_from_slice(&new);
        let Some(end) = self.rest.iter().rposition(|b| *b == b'\n') else { return !new.is_empty() };
        let lines: Vec<u8> = self.rest.drain(..=end).collect();
        for line in String::from_utf8_lossy(&lines).lines() {
            if let Ok(record) = json::read(line) {
                self.take(&record);
            }
        }
        true
    }

    fn take(&mut self, record: &Json) {
        self.announced |= record.text_of("session_id").is_some();
        match record.text_of("type").as_deref() {
            Some("assistant") => self.count_message(record),
            Some("result") => {
                let ended = read_result(record);
                self.tokens = ended.tokens.unwrap_or(self.tokens);
                self.result = Some(ended);
            }
            _ => {}
        }
    }

    fn count_message(&mut self, record: &Json) {
        let Some(message) = record.get("message") else { return };
        if let (Some(id), Some(usage)) = (message.text_of("id"), message.get("usage"))
            && self.counted.insert(id)
        {
            let names = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
            self.tokens += names.iter().filter_map(|name| usage.number_of(name)).sum::<u64>();
        }
        let Some(Json::List(blocks)) = message.get("content") else { return };
        let tools = blocks.iter().filter(|block| block.text_of("type").as_deref() == Some("tool_use"));
        if let Some(name) = tools.filter_map(|block| block.text_of("name")).next_back() {
            self.last_tool = Some(name);
        }
    }
}

fn read_result(record: &Json) -> ClientResult {
    let tokens = record.get("modelUsage").and_then(|usage| {
        let Json::Object(models) = usage else { return None };
        let names = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
        Some(models.iter().flat_map(|(_, model)| names.iter().filter_map(|name| model.number_of(name))).sum())
    });
    let cost = match record.get("total_cost_usd") {
        Some(Json::Number(text)) => text.parse::<f64>().ok().map(micros),
        _ => None,
    };
    ClientResult {
        subtype: record.text_of("subtype").unwrap_or_default(),
        deferred: record.get("deferred_tool_use").map(shown),
        cost,
        tokens,
        words: record.text_of("result").unwrap_or_default(),
    }
}

fn shown(call: &Json) -> String {
    let input = call.get("input");
    let what = ["command", "file_path"].iter().find_map(|name| input?.text_of(name)).unwrap_or_default();
    format!("{} {what}", call.text_of("name").unwrap_or_default()).trim_end().to_owned()
}

/// Dollars as millionths.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded before")]
pub fn micros(dollars: f64) -> u64 {
    (dollars.clamp(0.0, 1e9) * 1e6).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "no run costs a billion dollars")]
pub fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_growing_file_is_followed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut stream = Stream::of(file.path().to_owned());
        assert!(!stream.follow());
        let usage = r#""usage":{"input_tokens":10,"output_tokens":1}"#;
        let message = format!(
            r#"{{"type":"assistant","session_id":"s","message":{{"id":"m","content":[{{"type":"tool_use","name":"Bash"}}],{usage}}}}}"#
        );
        write!(file, "noise\n{message}\n{message}\n{{\"type\":\"res").unwrap();
        assert!(stream.follow());
        assert_eq!((stream.tokens, stream.last_tool.as_deref(), stream.announced), (11, Some("Bash"), true));
        let result = r#"ult","subtype":"success","total_cost_usd":0.00105,"deferred_tool_use":{"id":"toolu_1","name":"Bash","input":{"command":"ls"}},"modelUsage":{"m":{"inputTokens":100,"outputTokens":10}},"result":""}"#;
        writeln!(file, "{result}").unwrap();
        stream.follow();
        let ended = stream.result.unwrap();
        assert_eq!((ended.cost, ended.tokens, ended.deferred.as_deref()), (Some(1050), Some(110), Some("Bash ls")));
    }
}
