//! Finds hook entries that the client does not accept. If there is one, the client silently drops every hook
//! of that file.
//!
//! Reads text, writes nothing. Invariant: what is reported here is certainly wrong; an unknown kind of hook
//! is not reported.

use super::edit::BOM;
use serde_json::Value;

/// Each wrong position, and what is required there.
pub fn entries(text: &str) -> Vec<(String, &'static str)> {
    let document: Value = serde_json::from_str(text.trim_start_matches(BOM)).unwrap_or_default();
    let mut wrong = Vec::new();
    let Some(hooks) = document.get("hooks") else { return wrong };
    let Some(events) = hooks.as_object() else { return vec![("hooks".to_owned(), "an object")] };
    for (event, groups) in events {
        let at = format!("hooks.{event}");
        match groups.as_array() {
            None => wrong.push((at, "a list")),
            Some(groups) => {
                for (n, group) in groups.iter().enumerate() {
                    in_group(&format!("{at}[{n}]"), group, &mut wrong);
                }
            }
        }
    }
    wrong
}

fn in_group(at: &str, group: &Value, wrong: &mut Vec<(String, &'static str)>) {
    if !group.is_object() {
        return wrong.push((at.to_owned(), "an object"));
    }
    if group.get("matcher").is_some_and(|matcher| !matcher.is_string()) {
        wrong.push((format!("{at}.matcher"), "a text"));
    }
    let Some(hooks) = group.get("hooks").and_then(Value::as_array) else {
        return wrong.push((format!("{at}.hooks"), "a list"));
    };
    for (n, hook) in hooks.iter().enumerate() {
        let at = format!("{at}.hooks[{n}]");
        match hook.get("type").and_then(Value::as_str) {
            None => wrong.push((format!("{at}.type"), "a text")),
            Some("command") if !hook.get("command").is_some_and(Value::is_string) => {
                wrong.push((format!("{at}.command"), "a text"));
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_by_its_place() {
        let places = |text: &str| entries(text).into_iter().map(|(at, _)| at).collect::<Vec<_>>().join(" ");
        for (text, at) in [
            ("{}", ""),
            ("", ""),
            ("\u{feff}{\"hooks\": {}}", ""),
            (r#"{"hooks": []}"#, "hooks"),
            (r#"{"hooks": {"Stop": {}}}"#, "hooks.Stop"),
            (r#"{"hooks": {"Stop": [{"matcher": {}}]}}"#, "hooks.Stop[0].matcher hooks.Stop[0].hooks"),
            (r#"{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}"#, "hooks.Stop[0].hooks[0].command"),
            (r#"{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}"#, "hooks.Stop[0].hooks[0].type"),
            (r#"{"hooks": {"Stop": [{"matcher": "*", "hooks": [{"type": "prompt", "prompt": "x"}]}]}}"#, ""),
        ] {
            assert_eq!(places(text), at, "{text}");
        }
    }
}
