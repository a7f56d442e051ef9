//! A reflection in readable form: `## Framework Reflection`, and its seven fields in bold.
//!
//! Reads nothing, writes nothing.

use crate::text::template::one_line;
use std::collections::BTreeMap;
use std::fmt::Write;

pub const TITLE: &str = "## Framework Reflection";

/// The seven fields, each with its name for people.
pub const FIELDS: [(&str, &str); 7] = [
    ("request", "Request"),
    ("guidance_received", "Guidance received"),
    ("followed", "Followed"),
    ("outcome", "Outcome"),
    ("accomplishment", "Accomplishment"),
    ("root_cause", "Root cause"),
    ("proposed_change", "Proposed change"),
];

pub fn to_markdown(reflection: &BTreeMap<String, String>) -> String {
    let mut text = format!("{TITLE}\n\n");
    for (name, title) in FIELDS {
        let said = reflection.get(name).map_or("", String::as_str);
        let _ = writeln!(text, "**{title}**: {}", one_line(said.trim(), 2000));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_fields_a_line_each() {
        let said = [("request", "a\ngreeting"), ("outcome", "Success")];
        let text = to_markdown(&said.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (9, TITLE, "**Request**: a greeting"), "{text}");
        assert_eq!((lines[5], lines[7]), ("**Outcome**: Success", "**Root cause**: "));
    }
}
