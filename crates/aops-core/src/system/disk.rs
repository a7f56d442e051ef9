//! What the danger rules may ask about the disk.
//!
//! Reads files that a line names, each up to a limit.

use super::{files, glob};
use aops_shell::danger::{Disk, Fed};
use aops_shell::syntax::Word;
use std::path::Path;

/// At most this many entries of folders are looked at for one pattern.
const MOST_ENTRIES: usize = 20_000;

pub const DISK: Disk = Disk { read, find };

/// The content of a file that is fed to a database shell.
fn read(path: &str) -> Option<Fed> {
    let path = Path::new(path);
    let text = files::read_short(path).map(Fed::Text);
    text.or_else(|| files::is_too_long(path).then_some(Fed::TooLong))
}

fn find(pattern: &Word, with_hidden: bool) -> Option<Vec<String>> {
    let found = glob::expand(pattern, with_hidden, MOST_ENTRIES)?;
    Some(found.into_iter().map(|path| path.to_string_lossy().into_owned()).collect())
}
