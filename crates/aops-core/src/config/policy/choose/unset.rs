//! Removes a chosen mode or a danger rule's level from the text of a user's configuration.
//!
//! Reads text, gives text. Invariants: what `set` wrote is removed to the byte; a comment of the user stays,
//! unless it is on a line that is removed.

use super::{Folder, danger_row, entry, row, shorten, splice};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text without the row of this folder; `None` if it has no row of its own, or one in a form that we do
/// not know.
pub fn unset_folder_mode(text: &str, folder: Folder) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let (_, rows) = entry(document.get_ref(), "project")?;
    let DeValue::Array(items) = rows.get_ref() else { return None };
    let own = |item: &&Spanned<DeValue>| {
        row(item).is_some_and(|(path, _)| [folder.path, &shorten(folder)].contains(&path))
    };
    remove_row(text, items.iter().rfind(own)?)
}

/// The text without the level of this danger rule; `None` if it has none, or one in a form that we do not
/// know.
pub fn unset_danger(text: &str, rule: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let (_, item) = entry(document.get_ref(), "danger")?;
    let DeValue::Table(table) = item.get_ref() else { return None };
    let (key, value) = entry(table, rule)?;
    Some(remove_key(text, key.span().start..value.span().end, table.len() == 1))
}

/// The same for one folder; its row is removed with its last rule.
pub fn unset_folder_danger(text: &str, folder: Folder, rule: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let (_, rows) = entry(document.get_ref(), "project")?;
    let DeValue::Array(items) = rows.get_ref() else { return None };
    let mut own = items.iter().filter_map(|item| Some((item, danger_row(item, folder)?)));
    let (item, danger) = own.next_back()?;
    let DeValue::Table(table) = danger.get_ref() else { return None };
    let (key, value) = entry(table, rule)?;
    if table.len() == 1 {
        return remove_row(text, item);
    }
    Some(remove_key(text, key.span().start..value.span().end, false))
}

/// Removes a row of `[[project]]`, in any notation.
fn remove_row(text: &str, item: &Spanned<DeValue>) -> Option<String> {
    let DeValue::Table(table) = item.get_ref() else { return None };
    if text[item.span()].starts_with('{') {
        return Some(remove_inline(text, item.span()));
    }
    let first = table.iter().map(|(key, _)| key.span().start).min()?;
    let last = table.iter().map(|(_, value)| end_of(value)).max()?;
    let header = text[..first].rfind("[[")?;
    Some(remove_lines(text, header..last))
}

/// Where a value ends; a table of dotted keys ends with its last key.
fn end_of(value: &Spanned<DeValue>) -> usize {
    let inner = match value.get_ref() {
        DeValue::Table(table) => table.iter().map(|(_, value)| end_of(value)).max(),
        _ => None,
    };
    inner.unwrap_or(0).max(value.span().end)
}

/// Removes a key with its value. `alone`: also the header of its table, if nothing else is below it.
fn remove_key(text: &str, span: Range<usize>, alone: bool) -> String {
    let line = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    if text[line..span.start].contains(['{', ',']) {
        return remove_inline(text, span);
    }
    let above = text[..line].trim_end_matches(['\r', '\n']);
    let header = above.rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at + 1);
    let below = text[end..].trim_start();
    let empty = below.is_empty() || below.starts_with('[');
    if alone && empty && text[header..line].trim() == "[danger]" {
        return remove_lines(text, header..span.end);
    }
    splice(text, line..end, "")
}

/// Removes one of several values between commas.
fn remove_inline(text: &str, span: Range<usize>) -> String {
    let before = &text[..span.start];
    let after = &text[span.end..];
    match after.trim_start().strip_prefix(',').map(str::trim_start) {
        Some(rest) => format!("{before}{rest}"),
        None if before.trim_end().ends_with(',') => {
            format!("{}{after}", before.trim_end().trim_end_matches(','))
        }
        None => format!("{}{}", before.trim_end(), after.trim_start_matches(' ')),
    }
}

/// Removes whole lines, with the empty line before them, which was added with them.
fn remove_lines(text: &str, span: Range<usize>) -> String {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at + 1);
    let blank = ["\n\n", "\r\n\r\n"].into_iter().find(|blank| text[..start].ends_with(blank));
    splice(text, start - blank.map_or(0, |blank| blank.len() / 2)..end, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::policy::DangerLevel;
    use crate::config::policy::choose::{set_danger, set_folder_danger};

    const HERE: Folder = Folder { path: "/home/u/p", home: "/home/u" };

    #[test]
    fn a_switch_is_taken_out_and_the_rest_stays() {
        for before in [
            "",
            "# mine\n",
            "[gates]\nqa = \"off\"\n",
            "[danger]\ngit-clean = \"deny\" # why\n",
            "a = 1\r\n",
            "danger.git-clean = \"deny\"\n",
            "danger = { git-clean = \"deny\" }\n",
            "danger = {}\n",
            "[mode]\nlevel = \"loop\"\n\n[danger]\ngit-clean = \"ask\"\n\n[gates]\nqa = \"off\"\n",
        ] {
            let with = set_danger(before, "git-discard", DangerLevel::Off).unwrap();
            assert_eq!(unset_danger(&with, "git-discard").as_deref(), Some(before), "{with}");
            assert_eq!(unset_danger(before, "git-discard"), None, "{before}");
            let with = set_folder_danger(before, HERE, "git-discard", DangerLevel::Off).unwrap();
            assert_eq!(unset_folder_danger(&with, HERE, "git-discard").as_deref(), Some(before), "{with}");
        }
        let more = "[[project]]\npath = \"~/p\"\ndanger.git-clean = \"deny\"\ndanger.git-discard = \"off\"\n";
        let rest = "[[project]]\npath = \"~/p\"\ndanger.git-clean = \"deny\"\n";
        assert_eq!(unset_folder_danger(more, HERE, "git-discard").as_deref(), Some(rest));
        let told = "[danger]\n# never\ngit-discard = \"off\"\n";
        assert_eq!(
            unset_danger(told, "git-discard").as_deref(),
            Some("[danger]\n# never\n"),
            "comments stay"
        );
        let kept = "[danger]\ngit-discard = \"off\"\n# git-clean = \"off\"\n";
        assert_eq!(unset_danger(kept, "git-discard").as_deref(), Some("[danger]\n# git-clean = \"off\"\n"));
    }
}
