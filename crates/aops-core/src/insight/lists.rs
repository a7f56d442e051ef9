//! Bounded lists and counts for insights.
//!
//! Pure.

use crate::text::json::cut;
use std::collections::BTreeMap;

/// Lists stop growing here; of a longer session only the beginning is kept.
pub(super) const MOST: usize = 1000;
pub(super) const LONGEST: usize = 500;

pub(super) fn count_one(counts: &mut BTreeMap<String, u64>, name: &str) {
    *counts.entry(cut(name, 64).to_owned()).or_default() += 1;
}

pub(super) fn push(list: &mut Vec<String>, text: &str) {
    if list.len() < MOST {
        list.push(text.to_owned());
    }
}

pub(super) fn push_new(list: &mut Vec<String>, text: &str) {
    let text = cut(text, LONGEST);
    if !text.is_empty() && !list.iter().any(|known| known == text) {
        push(list, text);
    }
}
