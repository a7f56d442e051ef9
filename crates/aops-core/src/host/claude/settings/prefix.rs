//! The variable in a settings file's `env` that makes the client start shell commands through us.
//!
//! Reads text, gives text. Invariants: a foreign program that was named there is still called, inside the
//! jail; removing ours restores its name.

use super::edit::{self, JsonPart, member, parts};
use super::{Unreadable, check, expect};
use crate::system::env::names_us;
use aops_shell::verbs::starter;
use serde_json::{Map, Value};
use std::ops::Range;

/// The client runs the variable's value with the whole command as one more argument. It splits the value
/// before its last ` -`, but not when it starts a server.
const NAME: &str = "CLAUDE_CODE_SHELL_PREFIX";
/// Where we keep the foreign program that was named before.
const CHAINED: &str = "AOPS_SHELL_PREFIX";

/// The value in a settings text.
pub fn found(text: &str) -> Option<String> {
    let root = check(text).ok()?;
    let env = member(text, &root, "env")?;
    string(text, &member(text, &env.value, NAME)?)
}

fn string(text: &str, part: &JsonPart) -> Option<String> {
    serde_json::from_str(&text[part.value.clone()]).ok()
}

/// The text with our program as the variable's value.
pub fn with_prefix(text: &str, command: &str) -> Result<String, Unreadable> {
    with_value(text, &starter(command))
}

/// The text with this value in the variable. A program that it replaces is still called.
pub fn with_value(text: &str, value: &str) -> Result<String, Unreadable> {
    let root = check(text)?;
    let value = value.to_owned();
    let Some(env) = member(text, &root, "env") else {
        let all: Map<String, Value> = [(NAME.to_owned(), Value::String(value))].into_iter().collect();
        return Ok(edit::append(text, &root, &root, Some("env"), &all));
    };
    expect(text, &env.value, '{', "`env` must be an object")?;
    let Some(part) = member(text, &env.value, NAME) else {
        return Ok(edit::append(text, &root, &env.value, Some(NAME), &value));
    };
    match string(text, &part) {
        Some(known) if known == value => Ok(text.to_owned()),
        Some(known) if names_us(&known) => Ok(edit::replace(text, &root, &part.value, &value)),
        foreign => {
            let text = edit::replace(text, &root, &part.value, &value);
            let (root, env) = whole(&text)?;
            Ok(edit::append(&text, &root, &env, Some(CHAINED), &foreign.unwrap_or_default()))
        }
    }
}

fn whole(text: &str) -> Result<(Range<usize>, Range<usize>), Unreadable> {
    let root = check(text)?;
    let env = member(text, &root, "env").map_or(root.clone(), |part| part.value);
    Ok((root, env))
}

/// The text without us. An `env` that becomes empty is removed too, unless it existed before.
pub(super) fn without_prefix(text: &str, had_env: bool) -> String {
    let root = edit::document(text);
    let top = parts(text, &root);
    let Some(n) = top.iter().rposition(|part| part.name == "env") else { return text.to_owned() };
    let held = parts(text, &top[n].value);
    let at = |name: &str| held.iter().rposition(|part| part.name == name);
    let Some(ours) = at(NAME).filter(|at| string(text, &held[*at]).is_some_and(|value| names_us(&value)))
    else {
        return text.to_owned();
    };
    if let Some(chained) = at(CHAINED) {
        let foreign = string(text, &held[chained]).unwrap_or_default();
        let first = held[ours].value.clone();
        let then = edit::without(text, &top[n].value, &held, chained);
        // Positions before the removed part have not changed.
        let place =
            if ours < chained { first } else { parts(&then, &edit::document(&then))[n].value.clone() };
        if ours < chained {
            return edit::replace(&then, &edit::document(&then), &place, &foreign);
        }
        let held = parts(&then, &place);
        let part = held.iter().rfind(|part| part.name == NAME);
        return part.map_or(then.clone(), |part| {
            edit::replace(&then, &edit::document(&then), &part.value, &foreign)
        });
    }
    if held.len() == 1 && !had_env {
        return edit::without(text, &root, &top, n);
    }
    edit::without(text, &top[n].value, &held, ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_set_chained_and_given_back() {
        for before in [
            "{}\n",
            "{\"model\": \"x\"}",
            "{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n",
            "{\"env\":{}}",
            "{\n  \"env\": {\n    \"CLAUDE_CODE_SHELL_PREFIX\": \"/opt/log it.sh\",\n    \"B\": \"2\"\n  },\n  \"x\": 1\n}\n",
        ] {
            let after = with_prefix(before, "/a b/aops-hook").unwrap();
            assert_eq!(found(&after).as_deref(), Some("/a b/./aops-hook"), "{after}");
            assert_eq!(with_prefix(&after, "/a b/aops-hook").unwrap(), after);
            let moved = with_prefix(&after, "/c/aops-hook").unwrap();
            assert_eq!(found(&moved).as_deref(), Some("/c/./aops-hook"));
            let odd = with_prefix(&after, "/d -e/aops-hook").unwrap();
            assert_eq!(found(&odd).as_deref(), Some("/d -e/aops-hook --shell"));
            assert_eq!(without_prefix(&after, before.contains("env")), before);
            assert_eq!(without_prefix(before, true), before);
        }
        assert!(with_prefix("{\"env\": 3}", "/c/aops-hook").is_err());
        assert!(
            names_us("/x/aops-hook shell")
                && names_us("/x y/./aops-hook")
                && names_us("aops-hook")
                && !names_us("/x/other -aops-hook")
        );
    }
}
