//! The rows of `status` about tasks that were set aside.

use aops_core::observe::parked;
use aops_core::session::fold::Session;
use aops_core::session::memory::Parked;
use aops_core::system::env::Env;
use aops_core::text::plain::{count, title};
use aops_core::text::template::one_line;
use std::path::Path;

/// The interrupted tasks that still have changes, the newest first: how many files, and what each is about.
pub(super) fn find_parked(env: &Env, project: Option<&Path>, session: &Session) -> Vec<(u64, String)> {
    let living = parked::living(env, project, session);
    let tell = |(at, files): &(usize, u64)| {
        let Parked { intent, hydration, .. } = &session.memory.parked[*at];
        let about = intent.as_deref().or(hydration.original_prompt.as_deref()).unwrap_or_default();
        (*files, one_line(title(about), 60))
    };
    living.iter().rev().map(tell).collect()
}

pub(super) fn describe_parked(files: u64, about: &str) -> String {
    let changed = describe_changed(files);
    let about = if about.is_empty() { String::new() } else { format!(" ({about})") };
    format!("{changed}{about}; `aops-hook task resume` takes it up, `task drop` lets it go")
}

/// What a parked task left; without git the number of files is not always known.
pub(in crate::cli) fn describe_changed(files: u64) -> String {
    match files {
        0 => "something changed".to_owned(),
        files => format!("{} changed, not committed", count(files, "file")),
    }
}
