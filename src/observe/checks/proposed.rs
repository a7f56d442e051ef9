//! The text a file would have after an edit tool has saved it.
//!
//! Reads that file, writes nothing. Invariant: what cannot be worked out is nothing, never a guess.

use crate::text::json::{self, Json};
use std::io::Read;
use std::path::Path;

/// Larger files are not read for a check.
const LARGEST: u64 = 8 << 20;

/// The whole new text; nothing where the tool would fail too, or is not known.
pub(super) fn text(tool: &str, input: &str, path: &Path) -> Option<Vec<u8>> {
    let input = json::read(input).ok()?;
    match tool {
        "Write" => input.text_of("content").map(String::into_bytes),
        "Edit" => edited(&current(path)?, &input),
        "MultiEdit" => {
            let Json::List(edits) = input.get("edits")? else { return None };
            edits.iter().try_fold(current(path)?, |text, edit| {
                edited(&text, edit).and_then(|text| String::from_utf8(text).ok())
            })
        }
        .map(String::into_bytes),
        _ => None,
    }
}

fn current(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(text),
        Err(_) => return None,
    };
    let plain = file.metadata().is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    (plain && file.take(LARGEST).read_to_string(&mut text).is_ok()).then_some(text)
}

/// One replacement, under the rules of the tool: the old text is there, and only once unless all are meant.
fn edited(text: &str, edit: &Json) -> Option<Vec<u8>> {
    let (old, new) = (edit.text_of("old_string")?, edit.text_of("new_string")?);
    if old.is_empty() {
        return text.is_empty().then_some(new.into_bytes());
    }
    let all = matches!(edit.get("replace_all"), Some(Json::Bool(true)));
    match text.matches(&old).count() {
        0 => None,
        1 => Some(text.replacen(&old, &new, 1).into_bytes()),
        _ => all.then(|| text.replace(&old, &new).into_bytes()),
    }
}
