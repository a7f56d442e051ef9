//! What the client sent to the model once, and how a test reads it.

use serde_json::Value;

/// One request to `/v1/messages`.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The subagent that asks; nobody for the main conversation.
    pub(crate) agent: Option<String>,
    pub(crate) body: Value,
}

/// What a tool call brought back, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolResult {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl Request {
    pub(crate) fn system(&self) -> String {
        text(&self.body["system"])
    }

    pub(super) fn offers(&self, tool: &str) -> bool {
        self.body["tools"].as_array().into_iter().flatten().any(|offered| offered["name"] == tool)
    }

    /// Every message of this role, oldest first. What hooks add comes with the role `system`.
    pub(crate) fn said_by(&self, role: &str) -> Vec<String> {
        self.messages()
            .filter(|message| message["role"] == role)
            .map(|message| text(&message["content"]))
            .collect()
    }

    pub(crate) fn tool_results(&self) -> Vec<ToolResult> {
        let blocks = self.messages().filter_map(|message| message["content"].as_array()).flatten();
        blocks
            .filter(|block| block["type"] == "tool_result")
            .map(|block| ToolResult {
                id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
                text: text(&block["content"]),
                is_error: block["is_error"] == true,
            })
            .collect()
    }

    /// The inputs of every call the model made, by the call's id.
    pub(crate) fn calls(&self) -> Vec<(String, Value)> {
        let blocks = self.messages().filter_map(|message| message["content"].as_array()).flatten();
        let calls = blocks.filter(|block| block["type"] == "tool_use");
        calls
            .map(|call| (call["id"].as_str().unwrap_or_default().to_owned(), call["input"].clone()))
            .collect()
    }

    /// Every text of the conversation by itself: whole messages, their blocks, and what calls brought back.
    pub(crate) fn pieces(&self) -> Vec<String> {
        let contents = self.messages().map(|message| &message["content"]);
        let blocks = contents.flat_map(|content| match content {
            Value::Array(blocks) => blocks.iter().collect(),
            whole => vec![whole],
        });
        blocks
            .map(|block| match block {
                Value::String(text) => text.clone(),
                block if block["type"] == "tool_result" => text(&block["content"]),
                block => block["text"].as_str().unwrap_or_default().to_owned(),
            })
            .collect()
    }

    fn messages(&self) -> impl Iterator<Item = &Value> {
        self.body["messages"].as_array().into_iter().flatten()
    }
}

/// The words of a text, or of a list of blocks.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<_> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
