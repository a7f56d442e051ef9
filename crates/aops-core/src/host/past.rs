//! What a client's own record says about the past: the calls that were made, and which of them a person
//! answered.
//!
//! Plain data; each client's folder fills it. Invariants: what a record says is data and is never obeyed; an
//! unknown record is counted; no link is followed.

use crate::model::client::Client;
use crate::model::named::Stored;
use crate::model::permission_mode::PermissionMode;
use crate::system::files;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A call as its client recorded it, in the client's terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastCall {
    pub id: String,
    pub session: String,
    pub tool: String,
    /// JSON.
    pub input: String,
    pub cwd: String,
    pub at_ms: Option<i64>,
    /// The permission mode, if the record contains it.
    pub mode: Option<Stored<PermissionMode>>,
}

/// One piece of what is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PastRecord {
    Call(PastCall),
    /// A call got its result.
    Ended {
        id: String,
        failed: bool,
        prompt: PastPrompt,
    },
}

/// Whether a person was asked about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastPrompt {
    /// The record does not say.
    Untold,
    /// Nobody was asked.
    Unasked,
    Approved,
    Rejected,
}

/// What was found in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PastCounts {
    pub records: u64,
    /// How many records, and calls in them, have an unknown kind or form.
    pub unknown: u64,
    /// Lines that were skipped because of their length.
    pub too_long: u64,
    /// The rest was not read, because the time was up.
    pub is_cut: bool,
}

/// A file of a client's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFile {
    pub client: Client,
    pub path: PathBuf,
    /// When it was last written.
    pub at_ms: i64,
    /// Its format is known.
    pub is_known: bool,
}

/// The files of a client's record, and how many links were among them, which are not followed.
#[derive(Clone, Debug, Default)]
pub struct PastFiles {
    pub files: Vec<PastFile>,
    pub links: u64,
}

/// One folder level: any name, or one name.
#[derive(Clone, Copy, Debug)]
pub enum Down<'a> {
    Any,
    Named(&'a str),
}

/// At most this many names below a folder are looked at.
const MOST_NAMES: usize = 200_000;

impl PastFiles {
    /// Adds the plain files at this depth below a folder whose names match.
    pub fn find(
        &mut self,
        client: Client,
        folder: &Path,
        down: &[Down],
        is_known: bool,
        is_wanted: &dyn Fn(&str) -> bool,
    ) {
        let [step, rest @ ..] = down else { return self.add_files(client, folder, is_known, is_wanted) };
        if let Down::Named(name) = step {
            let inner = folder.join(name);
            match fs::symlink_metadata(&inner) {
                Ok(known) if known.is_dir() => self.find(client, &inner, rest, is_known, is_wanted),
                Ok(known) => self.links += u64::from(known.is_symlink()),
                Err(_) => {}
            }
            return;
        }
        for item in list(folder) {
            match item.file_type() {
                Ok(kind) if kind.is_dir() => self.find(client, &item.path(), rest, is_known, is_wanted),
                Ok(kind) => self.links += u64::from(kind.is_symlink()),
                Err(_) => {}
            }
        }
    }

    fn add_files(&mut self, client: Client, folder: &Path, is_known: bool, is_wanted: &dyn Fn(&str) -> bool) {
        for item in list(folder) {
            let (Ok(name), Ok(kind)) = (item.file_name().into_string(), item.file_type()) else { continue };
            if kind.is_symlink() {
                self.links += u64::from(is_wanted(&name));
            } else if kind.is_file() && is_wanted(&name) && self.files.len() < MOST_NAMES {
                let at_ms = item.metadata().map(|known| modified_ms(&known)).unwrap_or_default();
                self.files.push(PastFile { client, path: item.path(), at_ms, is_known });
            }
        }
    }
}

fn list(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES)
}

fn modified_ms(known: &fs::Metadata) -> i64 {
    let since = known.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Opens the file itself, never what a link in its place leads to.
pub fn open(path: &Path) -> io::Result<File> {
    files::open_itself(path, File::options().read(true))
}
