//! One scripted answer of the model: text, tool calls, or both; as server-sent events and as plain JSON.

use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What the model says once. Several calls in one turn are run by the client side by side.
#[derive(Clone, Default)]
pub(crate) struct Turn {
    text: String,
    calls: Vec<(String, Value)>,
    deed: Option<Deed>,
    halfway: Option<Deed>,
}

type Deed = Arc<dyn Fn() + Send + Sync>;

impl Turn {
    pub(crate) fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    pub(crate) fn call(tool: &str, input: Value) -> Self {
        Self::default().and(tool, input)
    }

    /// One more call in the same message.
    pub(crate) fn and(mut self, tool: &str, input: Value) -> Self {
        self.calls.push((tool.to_owned(), input));
        self
    }

    /// The same last words, given to the caller with this tool.
    pub(super) fn handed_back(mut self, tool: &str) -> Self {
        if self.calls.is_empty() {
            let report = std::mem::take(&mut self.text);
            return self.and(tool, json!({ "message": report }));
        }
        self
    }

    /// Something that happens in the world while the model thinks.
    pub(crate) fn after(mut self, deed: impl Fn() + Send + Sync + 'static) -> Self {
        self.deed = Some(Arc::new(deed));
        self
    }

    /// Something that happens in the world when half of the answer is said.
    pub(crate) fn halfway(mut self, deed: impl Fn() + Send + Sync + 'static) -> Self {
        self.halfway = Some(Arc::new(deed));
        self
    }

    pub(super) fn said(&self) -> &str {
        &self.text
    }

    pub(super) fn calls(&self) -> &[(String, Value)] {
        &self.calls
    }

    pub(super) fn happen(&self) {
        if let Some(deed) = &self.deed {
            deed();
        }
    }

    pub(super) fn happen_halfway(&self) {
        if let Some(deed) = &self.halfway {
            deed();
        }
    }

    /// The whole message; `number` makes its ids unique over all turns of one model. In the client's auto mode
    /// the calls of a message are judged with it.
    pub(super) fn message(&self, number: usize, model: &str, is_judged: bool) -> Value {
        let mut content = Vec::new();
        if !self.text.is_empty() {
            content.push(json!({"type": "text", "text": self.text}));
        }
        for (index, (name, input)) in self.calls.iter().enumerate() {
            let id = format!("toolu_{number:04}{index:02}");
            content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        }
        let stop_reason = if self.calls.is_empty() { "end_turn" } else { "tool_use" };
        let mut message = json!({
            "id": format!("msg_{number:04}"), "type": "message", "role": "assistant", "model": model,
            "content": content, "stop_reason": stop_reason, "stop_sequence": null, "usage": usage(),
        });
        if is_judged {
            message[JUDGED] = judge(&message["content"]);
        }
        message
    }
}

/// Where a message says how dangerous its calls are.
const JUDGED: &str = "safeguard_results";

/// No call is dangerous.
fn judge(content: &Value) -> Value {
    let ids = content.as_array().into_iter().flatten().filter_map(|block| block["id"].as_str());
    let harmless = json!({"type": "evaluated", "outcome": "not_flagged"});
    let calls: Map<_, _> = ids.map(|id| (id.to_owned(), harmless.clone())).collect();
    json!([{"type": "dangerous_tool_use", "status": {"type": "available", "tool_uses": calls}}])
}

/// The same numbers for every message, so that sums can be checked.
fn usage() -> Value {
    json!({"input_tokens": 100, "cache_creation_input_tokens": 50, "cache_read_input_tokens": 1000, "output_tokens": 10})
}

/// A message the way the API streams it.
pub(super) fn stream(message: &Value) -> String {
    let mut begun = message.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    begun.as_object_mut().unwrap().remove(JUDGED);
    let mut events = vec![json!({"type": "message_start", "message": begun})];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let (empty, delta) = if block["type"] == "text" {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]}))
        } else {
            let mut empty = block.clone();
            empty["input"] = json!({});
            (empty, json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}))
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let mut end = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    if let Some(judged) = message.get(JUDGED) {
        end[JUDGED] = judged.clone();
    }
    events.push(json!({"type": "message_delta", "delta": end, "usage": message["usage"]}));
    events.push(json!({"type": "message_stop"}));
    let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(line).collect()
}
