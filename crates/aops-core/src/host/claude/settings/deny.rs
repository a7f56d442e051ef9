//! Rows in a settings file's `permissions.deny` that keep the client itself from reading secrets.
//!
//! Reads text, gives text. Invariants: an existing row is not added again, and the user's own rows stay when
//! ours are removed.

use super::edit::{self, member, parts};
use super::{Unreadable, check, expect};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::ops::Range;

const PERMISSIONS: &str = "permissions";
const DENY: &str = "deny";

/// Files that no agent needs to read, whether a tool opens them or a prompt names them with `@`.
pub const SECRETS: [&str; 12] = [
    "Read(./.env)",
    "Read(./.env.*)",
    "Read(**/.env)",
    "Read(**/*.pem)",
    "Read(**/id_rsa)",
    "Read(**/id_ed25519)",
    "Read(~/.ssh/**)",
    "Read(~/.aws/**)",
    "Read(~/.gnupg/**)",
    "Read(~/.netrc)",
    "Read(~/.config/gh/**)",
    "Read(~/.claude/aops/keys/**)",
];

fn rows(text: &str) -> BTreeSet<String> {
    let Ok(root) = check(text) else { return BTreeSet::new() };
    let list = member(text, &root, PERMISSIONS).and_then(|part| member(text, &part.value, DENY));
    let rows = list.map(|list| parts(text, &list.value)).unwrap_or_default();
    rows.iter().filter_map(|row| serde_json::from_str(&text[row.value.clone()]).ok()).collect()
}

/// The text contains all our rows.
pub fn denies_secrets(text: &str) -> bool {
    let rows = rows(text);
    SECRETS.iter().all(|row| rows.contains(*row))
}

/// The text with all our rows.
pub fn with_denied(text: &str) -> Result<String, Unreadable> {
    let known = rows(text);
    let missing = SECRETS.iter().filter(|row| !known.contains(**row));
    missing.into_iter().try_fold(text.to_owned(), |text, row| with_row(&text, row))
}

fn with_row(text: &str, row: &str) -> Result<String, Unreadable> {
    let root = check(text)?;
    let Some(permissions) = member(text, &root, PERMISSIONS) else {
        let all: Map<String, Value> = [(DENY.to_owned(), json!([row]))].into_iter().collect();
        return Ok(edit::append(text, &root, &root, Some(PERMISSIONS), &all));
    };
    expect(text, &permissions.value, '{', "`permissions` must be an object")?;
    let Some(deny) = member(text, &permissions.value, DENY) else {
        return Ok(edit::append(text, &root, &permissions.value, Some(DENY), &json!([row])));
    };
    expect(text, &deny.value, '[', "`permissions.deny` must be a list")?;
    Ok(edit::append(text, &root, &deny.value, None, &row))
}

/// The text without our rows, except those in `before`, the text from before the installation. What becomes
/// empty is removed too, unless it existed before.
pub(super) fn without_denied(text: &str, before: Option<&str>) -> String {
    let kept = before.map(rows).unwrap_or_default();
    let mut text = text.to_owned();
    while let Some(less) = without_one(&text, before, &kept) {
        text = less;
    }
    text
}

fn without_one(text: &str, before: Option<&str>, kept: &BTreeSet<String>) -> Option<String> {
    let root = edit::document(text);
    let (top, permissions) = at(text, &root, PERMISSIONS)?;
    let (inside, deny) = at(text, &top[permissions].value, DENY)?;
    let list = parts(text, &inside[deny].value);
    let is_ours = |row: &str| SECRETS.contains(&row) && !kept.contains(row);
    let ours = list.iter().position(|part| {
        serde_json::from_str::<String>(&text[part.value.clone()]).is_ok_and(|row| is_ours(&row))
    })?;
    let had = |name: &str| {
        let root = before.map(edit::document)?;
        let permissions = member(before?, &root, PERMISSIONS)?;
        if name == PERMISSIONS { Some(()) } else { member(before?, &permissions.value, DENY).map(drop) }
    };
    Some(match (list.len(), inside.len()) {
        (1, 1) if had(PERMISSIONS).is_none() => edit::without(text, &root, &top, permissions),
        (1, _) if had(DENY).is_none() => edit::without(text, &top[permissions].value, &inside, deny),
        _ => edit::without(text, &inside[deny].value, &list, ours),
    })
}

/// The members of an object, and the index of the one with this name.
fn at(text: &str, object: &Range<usize>, name: &str) -> Option<(Vec<edit::JsonPart>, usize)> {
    let all = parts(text, object);
    let at = all.iter().rposition(|part| part.name == name)?;
    Some((all, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_once_and_taken_away_to_the_byte() {
        for before in [
            "{}\n",
            "{\"model\": \"x\"}",
            "{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls)\"]\n  }\n}\n",
            "{\n\t\"permissions\": {\n\t\t\"deny\": [\n\t\t\t\"Read(./.env)\",\n\t\t\t\"WebFetch\"\n\t\t]\n\t},\n\t\"x\": 1\n}\n",
            "{\"permissions\":{\"deny\":[]}}",
            "{\"permissions\":{}}",
        ] {
            let after = with_denied(before).unwrap();
            assert!(denies_secrets(&after) && !denies_secrets(before), "{after}");
            assert_eq!(with_denied(&after).unwrap(), after, "twice");
            assert_eq!(without_denied(&after, Some(before)), before);
        }
        let edited = with_denied("{\"permissions\":{\"deny\":[\"A\"]}}").unwrap().replace("\"A\"", "\"B\"");
        assert_eq!(
            without_denied(&edited, Some("{\"permissions\":{\"deny\":[\"A\"]}}")),
            "{\"permissions\":{\"deny\":[\"B\"]}}"
        );
        assert!(with_denied("{\"permissions\": []}").is_err());
    }
}
