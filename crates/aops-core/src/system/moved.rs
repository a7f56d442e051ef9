//! Variables that a project's settings set for our program, although they are a person's to set.
//!
//! Reads the client's own environment, and settings of projects if that differs from ours. Why: the client
//! gives the `env` of every settings file to its hooks and commands, and a repository could move us away from
//! the person's configuration and records.

use super::files::read_short_or;
use crate::text::json;
use rustix::buffer::spare_capacity;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One variable that a project sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MovedVariable {
    pub(super) name: String,
    /// What the client was started with; `None` if it was unset, or is not known.
    pub(super) value: Option<OsString>,
    /// The settings that set it.
    pub(super) by: PathBuf,
}

/// Those of these variables that settings in the given folders and above set, and that differ from what this
/// client was started with. `here`: their present values.
pub(super) fn moved(
    client: i32,
    names: &[&str],
    here: impl Fn(&str) -> Option<OsString>,
    folders: &[PathBuf],
) -> Vec<MovedVariable> {
    let environment = environment_of(client).unwrap_or_default();
    let theirs = |name: &str| value_in(&environment, name);
    let changed: Vec<&str> = names.iter().copied().filter(|name| here(name) != theirs(name)).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    // The person's own settings lie in their home.
    let home = theirs("HOME").map(PathBuf::from);
    let above: BTreeSet<&Path> = folders.iter().flat_map(|folder| folder.ancestors()).collect();
    let projects = above.into_iter().filter(|folder| home.as_deref() != Some(*folder));
    let files = projects.flat_map(|folder| {
        ["settings.json", "settings.local.json"].map(|name| folder.join(".claude").join(name))
    });
    let texts: Vec<(PathBuf, String)> =
        files.filter_map(|file| Some((file.clone(), text_of(&file)?))).collect();
    let found = |name: &str| {
        let by = texts.iter().find(|(_, text)| sets(text, name))?.0.clone();
        Some(MovedVariable { name: name.to_owned(), value: theirs(name), by })
    };
    changed.into_iter().filter_map(found).collect()
}

/// The environment it was started with, from the kernel: one read, since a read that does not fill the
/// buffer got all of it.
fn environment_of(client: i32) -> io::Result<Vec<u8>> {
    let file = File::open(format!("/proc/{client}/environ"))?;
    let mut bytes = Vec::new();
    while bytes.len() == bytes.capacity() {
        bytes.reserve(1 << 16);
        if rustix::io::read(&file, spare_capacity(&mut bytes))? == 0 {
            break;
        }
    }
    Ok(bytes)
}

/// `None` if no plain file is there. One that is too long for us may be short enough for the client.
fn text_of(file: &Path) -> Option<String> {
    read_short_or(file, || Some(ESCAPED.to_owned()))
}

/// A text in which a name may be spelt in any way.
const ESCAPED: &str = "\\u";

/// The client may read what we do not take for JSON, with comments.
fn sets(text: &str, name: &str) -> bool {
    match json::read(text) {
        Ok(settings) => settings.get("env").is_some_and(|env| env.get(name).is_some()),
        Err(_) => text.contains(name) || text.contains(ESCAPED),
    }
}

fn value_in(environment: &[u8], name: &str) -> Option<OsString> {
    let is = |row: &&[u8]| row.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
    let row = environment.split(|byte| *byte == 0).find(is)?;
    Some(OsStr::from_bytes(&row[name.len() + 1..]).to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_what_a_project_sets_is_moved() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project/sub");
        fs::create_dir_all(root.path().join("project/.claude")).unwrap();
        fs::create_dir_all(&project).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        // No process is started with this variable.
        let names = ["AOPS_NO_SUCH"];
        let found = |value: Option<&str>| {
            moved(own, &names, |_| value.map(OsString::from), std::slice::from_ref(&project))
        };
        let settings = root.path().join("project/.claude/settings.json");
        assert_eq!(found(Some("x")), []);
        fs::write(&settings, r#"{"env":{"OTHER":"x"}}"#).unwrap();
        assert_eq!(found(Some("x")), []);
        let expected = MovedVariable { name: "AOPS_NO_SUCH".to_owned(), value: None, by: settings.clone() };
        fs::write(&settings, "{ not read").unwrap();
        assert_eq!(found(Some("x")), []);
        for text in [r#"{"env":{"AOPS_NO_SUCH":"x"}}"#, r#"{"env":{"AOPS_NO_SUCH":"x",} // so"#] {
            fs::write(&settings, text).unwrap();
            assert_eq!(found(Some("x")), std::slice::from_ref(&expected), "{text}");
        }
        assert_eq!(found(None), [], "it is as it was");
        assert_eq!(value_in(b"A=1\0AB=2\0C=\0", "AB"), Some("2".into()));
        assert_eq!((value_in(b"A=1\0C=\0", "C"), value_in(b"XA=1\0", "A")), (None, None));
    }
}
