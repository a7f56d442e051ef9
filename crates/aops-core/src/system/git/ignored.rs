//! The user's own list of ignored files, found as git finds it.
//!
//! Reads git's configuration files, not those that they include, and starts nothing: this is asked at every
//! walk of a tree.

use super::of_user::UserGit;
use crate::system::files;
use std::path::{Path, PathBuf};

/// `None` if the file is missing or not a plain file.
pub fn ignore_list() -> Option<PathBuf> {
    let git = UserGit::find();
    if git.is_odd() {
        return None;
    }
    let named = |file: &PathBuf| in_text(&files::read_text(file).ok()?, git.home.as_deref());
    git.files.iter().find_map(named).or(git.ignore_list).filter(|list| list.is_file())
}

/// The list that this configuration names.
fn in_text(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    let mut is_core = false;
    let value = |line: &str| {
        let mut line = line.trim();
        if let Some((section, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            is_core = section.trim().eq_ignore_ascii_case("core");
            line = rest;
        }
        let (key, value) = line.split_once('=')?;
        let value = value.trim();
        let plain = value.strip_prefix('"').map_or(value, |value| value.strip_suffix('"').unwrap_or(value));
        (is_core && key.trim().eq_ignore_ascii_case("excludesfile")).then(|| plain.trim().to_owned())
    };
    let value = text.lines().filter_map(value).last().filter(|value| !value.is_empty())?;
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
            ("[Core]\nexcludesfile = /a\n[other]\nexcludesfile = /b\n", Some("/a")),
            ("[core] excludesfile = /a\n[core \"x\"]\nexcludesfile = /b\n", Some("/a")),
            ("", None),
        ] {
            assert_eq!(in_text(text, Some(home)), list.map(PathBuf::from), "{text}");
        }
    }
}
