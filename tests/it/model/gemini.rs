//! The same scripted model in the words of Gemini's API.
//!
//! A request is put into the form of the Messages API, so that tests read all clients alike.

use super::http::Received;
use super::request::Request;
use super::turn::Turn;
use serde_json::{Value, json};

/// A question beside the conversation, which wants JSON: who speaks next, how hard it is.
pub(super) fn is_aside(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["generationConfig"]["responseMimeType"] == "application/json"
}

/// What Gemini CLI sent, as a request of the Messages API.
pub(super) fn request(received: &Received) -> Request {
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    let contents = body["contents"].as_array().cloned().unwrap_or_default();
    let messages: Vec<Value> = contents.iter().map(message).collect();
    let system = texts(&body["systemInstruction"]);
    Request { agent: None, body: json!({"model": "gemini", "system": system, "messages": messages}) }
}

fn texts(content: &Value) -> String {
    let parts = content["parts"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn message(content: &Value) -> Value {
    let parts = content["parts"].as_array().into_iter().flatten();
    let blocks = parts.map(|part| {
        let (call, answer) = (&part["functionCall"], &part["functionResponse"]);
        if call.is_object() {
            json!({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]})
        } else if answer.is_object() {
            json!({"type": "tool_result", "tool_use_id": answer["id"], "content": answer["response"].to_string()})
        } else {
            json!({"type": "text", "text": part["text"]})
        }
    });
    let role = if content["role"] == "model" { "assistant" } else { "user" };
    json!({"role": role, "content": blocks.collect::<Vec<_>>()})
}

/// The turn as the API answers it, streamed or not.
pub(super) fn answer(turn: &Turn, number: usize) -> Value {
    let mut parts = Vec::new();
    if !turn.said().is_empty() {
        parts.push(json!({"text": turn.said()}));
    }
    for (index, (name, input)) in turn.calls().iter().enumerate() {
        parts.push(json!({"functionCall": {"name": name, "args": input, "id": format!("call_{number:04}{index:02}")}}));
    }
    whole(&parts)
}

/// The answer to a question beside the conversation.
pub(super) fn aside() -> Value {
    let text = json!({"reasoning": "x", "model_choice": "flash", "complexity_reasoning": "x", "complexity_score": 10,
        "next_speaker": "user"});
    whole(&[json!({"text": text.to_string()})])
}

fn whole(parts: &[Value]) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}})
}
