//! The user's own list of ignored files, found as git finds it.
//!
//! Reads git's configuration files, not those that they include, and starts nothing: this is asked at every
//! walk of a tree.

use crate::system::env::{Env, UserGit};
use crate::system::files;
use std::path::{Path, PathBuf};

/// `None` if the file is missing or not a plain file.
pub fn ignore_list() -> Option<PathBuf> {
    if Env::has_odd_git_configuration() {
        return None;
    }
    let UserGit(home, files, ignored) = Env::user_git();
    let named = |file: &PathBuf| in_text(&files::read_text(file).ok()?, home.as_deref());
    files.iter().find_map(named).or(ignored).filter(|list| list.is_file())
}

/// The list that this configuration names.
fn in_text(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim();
        let plain = value.strip_prefix('"').map_or(value, |value| value.strip_suffix('"').unwrap_or(value));
        key.trim().eq_ignore_ascii_case("excludesfile").then(|| plain.trim().to_owned())
    };
    let value = text.lines().filter_map(value).next_back().filter(|value| !value.is_empty())?;
    Some(match (value.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => value.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_counts() {
        let home = Path::new("/home/me");
        for (text, list) in [
            ("[core]\n\texcludesFile = ~/lists/own\n", Some("/home/me/lists/own")),
            ("[core]\n  excludesfile=\"/a b/c\"\n", Some("/a b/c")),
            ("[core]\nexcludesfile = /a\nEXCLUDESFILE = /b\n", Some("/b")),
            ("[core]\n# excludesfile = /a\n", None),
            ("[core]\nexcludesfile =\n", None),
            ("[user]\nname = excludesfile\n", None),
            ("", None),
        ] {
            assert_eq!(in_text(text, Some(home)), list.map(PathBuf::from), "{text}");
        }
    }
}
