//! Translates another client's names into ours: names of events, tools and fields.
//!
//! Reads nothing but its arguments. Invariant: a name without a translation stays as it is.

use crate::text::json::Json;
use std::borrow::Cow;

/// Our reason for refusing a stop begins with this. Some clients send it back as a prompt, which does not
/// count as one.
pub const NOT_YET: &str = "aops-hook: the turn may not end yet";

/// A prompt that no person wrote is recorded as an event with this name.
pub const NOT_TYPED: &str = "ClientPrompt";

/// A client's name, and ours.
pub type Names = &'static [(&'static str, &'static str)];

/// Those of our tools whose input fields have other names in some client.
const OURS: [&str; 8] = ["Agent", "Bash", "Edit", "Glob", "Grep", "Read", "SendMessage", "Write"];

/// A client's names that differ from ours.
#[derive(Debug)]
pub struct Words {
    pub events: Names,
    /// Fields of an event.
    pub fields: Names,
    pub tools: Names,
    /// Input fields of our tools that have other names; a server's tools keep theirs.
    pub inputs: Names,
}

impl Words {
    /// The event in our terms.
    pub fn translate<'a>(&self, json: Json<'a>) -> Json<'a> {
        let theirs = self
            .fields
            .iter()
            .find(|(_, ours)| *ours == "tool_name")
            .map_or("tool_name", |(theirs, _)| theirs);
        let tool = json.text_of("tool_name").or_else(|| json.text_of(theirs)).unwrap_or_default();
        let known = OURS.contains(&ours(self.tools, &tool));
        let Json::Object(members) = json else { return json };
        let members = members.into_iter().map(|(name, value)| {
            let name = renamed(self.fields, name);
            let value = match (name.as_ref(), value) {
                ("hook_event_name", Json::Text(theirs)) => Json::Text(ours(self.events, theirs)),
                ("tool_name", Json::Text(theirs)) => Json::Text(ours(self.tools, theirs)),
                ("tool_input", Json::Object(fields)) if known => Json::Object(
                    fields.into_iter().map(|(name, value)| (renamed(self.inputs, name), value)).collect(),
                ),
                (_, value) => value,
            };
            (name, value)
        });
        Json::Object(members.collect())
    }
}

fn ours(names: Names, theirs: &str) -> &str {
    names.iter().find(|(name, _)| *name == theirs).map_or(theirs, |(_, ours)| ours)
}

fn renamed(names: Names, theirs: Cow<'_, str>) -> Cow<'_, str> {
    names.iter().find(|(name, _)| *name == theirs).map_or(theirs, |(_, ours)| Cow::Borrowed(ours))
}
