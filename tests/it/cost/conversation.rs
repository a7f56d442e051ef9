//! What an agent was given to read in one of its conversations, oldest first.

use super::tasks::Deed;
use crate::model::Request;
use serde_json::Value;
use std::collections::HashMap;

/// One text that the agent did not write.
pub(super) enum Heard {
    /// Of the user, of the client, or of a hook.
    Words(String),
    /// What a call brought back.
    Result { deed: Deed, text: String, is_error: bool },
}

impl Heard {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Words(text) | Self::Result { text, .. } => text,
        }
    }

    /// A hook refused a call, or the end of a turn.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Words(text) => text
                .split_once(" hook feedback:")
                .is_some_and(|(event, _)| ["Stop", "SubagentStop"].contains(&event)),
            Self::Result { text, is_error, .. } => *is_error && text.contains(" hook error: "),
        }
    }

    /// What hooks added to a prompt or to a call; the greeting of the session is not about either.
    pub(super) fn context(&self) -> Option<String> {
        let Self::Words(text) = self else { return None };
        let parts: Vec<&str> = text.split(" hook additional context: ").collect();
        let about = parts.windows(2).filter(|pair| !pair[0].ends_with("SessionStart")).map(|pair| pair[1]);
        Some(about.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty())
    }

    pub(super) fn is_success_of(&self, wanted: &Deed) -> bool {
        matches!(self, Self::Result { deed, is_error: false, .. } if deed == wanted)
    }
}

/// The whole conversation up to this request.
pub(super) fn hear(request: &Request) -> Vec<Heard> {
    let mut calls = HashMap::new();
    let mut heard = Vec::new();
    for message in request.body["messages"].as_array().into_iter().flatten() {
        for block in blocks(&message["content"]) {
            match (block["type"].as_str(), message["role"].as_str()) {
                (Some("tool_use"), _) => {
                    let deed = Deed::new(block["name"].as_str().unwrap(), block["input"].clone());
                    calls.insert(block["id"].clone(), deed);
                }
                (Some("tool_result"), _) => heard.push(Heard::Result {
                    deed: calls[&block["tool_use_id"]].clone(),
                    text: blocks(&block["content"]).iter().map(words).collect(),
                    is_error: block["is_error"] == true,
                }),
                (_, Some("assistant")) => {}
                _ => heard.push(Heard::Words(words(&block))),
            }
        }
    }
    heard
}

/// What came after the last prompt with these words.
pub(super) fn hear_since(request: &Request, prompt: &str) -> Option<Vec<Heard>> {
    let mut heard = hear(request);
    let at = heard.iter().rposition(|heard| matches!(heard, Heard::Words(text) if text == prompt))?;
    Some(heard.split_off(at + 1))
}

/// A text alone is written as such, or as a list of one.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.clone(),
        whole => vec![whole.clone()],
    }
}

fn words(block: &Value) -> String {
    block.as_str().or(block["text"].as_str()).unwrap_or_default().to_owned()
}
