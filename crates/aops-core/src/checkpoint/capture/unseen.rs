//! Finds paths that git tracks but a walk did not find. Reads nothing, writes nothing.

use super::TreeEntry;
use crate::checkpoint::tree::name;
use std::borrow::Cow;

/// Tracked paths that the walk did not find, because they are ignored or deleted.
pub(super) fn list_unseen(entries: &[TreeEntry], tracked: &[u8]) -> Vec<String> {
    let paths = tracked.split(|b| *b == 0).filter(|path| !path.is_empty());
    let mut tracked: Vec<Cow<str>> = paths.map(name::text).collect();
    // git sorts by bytes; names that are not UTF-8 sort differently as text.
    tracked.sort();
    let mut seen = entries.iter().peekable();
    tracked.retain(|path| {
        while seen.next_if(|entry| entry.path.as_str() < path.as_ref()).is_some() {}
        seen.peek().is_none_or(|entry| entry.path != *path)
    });
    tracked.into_iter().map(Cow::into_owned).collect()
}
