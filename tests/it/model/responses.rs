//! The same scripted model in the words of the Responses API, as Codex asks it.
//!
//! A request is put into the form of the Messages API, so that tests read both clients alike.

use super::http::Received;
use super::request::Request;
use super::turn::Turn;
use serde_json::{Value, json};

/// What Codex sent, as a request of the Messages API. A subagent says so in a header.
pub(super) fn request(received: &Received) -> Request {
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    let agent =
        received.headers.get("x-openai-subagent").and_then(|_| received.headers.get("thread-id")).cloned();
    let items = body["input"].as_array().cloned().unwrap_or_default();
    let developer = items.iter().filter(|item| item["role"] == "developer").map(words);
    let system = std::iter::once(text(&body["instructions"])).chain(developer).collect::<Vec<_>>().join("\n");
    let messages: Vec<Value> = items.iter().map(message).collect();
    Request {
        agent,
        body: json!({"model": body["model"], "system": system, "messages": messages, "tools": body["tools"]}),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn words(item: &Value) -> String {
    let parts = item["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn message(item: &Value) -> Value {
    let id = &item["call_id"];
    match item["type"].as_str().unwrap_or("message") {
        "function_call" => {
            let input: Value = serde_json::from_str(&text(&item["arguments"])).unwrap_or_default();
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": item["name"], "input": input}]})
        }
        "custom_tool_call" => {
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": item["name"], "input": item["input"]}]})
        }
        "function_call_output" | "custom_tool_call_output" => {
            let said = match &item["output"] {
                Value::String(text) => text.clone(),
                parts => words(&json!({"content": parts})),
            };
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": said}]})
        }
        "message" => json!({"role": item["role"], "content": words(item)}),
        other => json!({"role": other, "content": ""}),
    }
}

/// The turn as the API streams it. A call whose input is a text is a custom one; `space.tool` is a tool of a
/// namespace. `AGENT` in an input is the agent that was started last.
pub(super) fn stream(turn: &Turn, number: usize, request: &[u8]) -> String {
    let agent = last_agent(request);
    let id = format!("resp_{number:04}");
    let mut items = Vec::new();
    if !turn.said().is_empty() {
        items.push(json!({"type": "message", "role": "assistant", "id": format!("msg_{number:04}"),
            "content": [{"type": "output_text", "text": turn.said()}]}));
    }
    for (index, (name, input)) in turn.calls().iter().enumerate() {
        let call = format!("call_{number:04}{index:02}");
        let (space, name) =
            name.split_once('.').map_or((None, name.as_str()), |(space, name)| (Some(space), name));
        let mut item = match input {
            Value::String(input) => json!({"type": "custom_tool_call", "name": name, "input": input}),
            input => {
                json!({"type": "function_call", "name": name, "arguments": input.to_string().replace("AGENT", &agent)})
            }
        };
        item["id"] = json!(format!("item_{call}"));
        item["call_id"] = json!(call);
        if let Some(space) = space {
            item["namespace"] = json!(space);
        }
        items.push(item);
    }
    let usage = json!({"input_tokens": 1100, "input_tokens_details": {"cached_tokens": 1000}, "output_tokens": 10,
        "output_tokens_details": null, "total_tokens": 1110});
    let mut events = vec![json!({"type": "response.created", "response": {"id": id}})];
    for (index, item) in items.iter().enumerate() {
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    events.push(json!({"type": "response.completed",
        "response": {"id": id, "status": "completed", "output": items, "usage": usage}}));
    let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(line).collect()
}

fn last_agent(request: &[u8]) -> String {
    let body: Value = serde_json::from_slice(request).unwrap_or_default();
    let outputs = body["input"].as_array().into_iter().flatten().filter_map(|item| item["output"].as_str());
    let started = outputs.filter_map(|output| serde_json::from_str::<Value>(output).ok());
    let mut ids = started.filter_map(|output| Some(output["agent_id"].as_str()?.to_owned()));
    ids.next_back().unwrap_or_default()
}
