//! Compares what a call reads with the folder of our keys: those that sign the log, and the passwords stored
//! with them.
//!
//! Reads paths, or patterns of paths. Invariant: a path that the line does not spell out is not refused here,
//! since the jail hides the folder.

use super::path::{components, names, relate};
use aops_shell::syntax::Word;
use std::cmp::Ordering;

/// How close a path is to the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// It lies in the folder of keys.
    In,
    /// It is the folder of keys.
    Is,
    /// It is our folder or the client's, which contains the folder of keys.
    Holds,
    /// It contains the client's folder: a home, `/`.
    Above,
}

/// The folder of keys, as configured and by its real path.
pub struct KeyFolder(Vec<Vec<String>>);

impl KeyFolder {
    /// `ours`: our folder below the client's.
    pub fn below<'p>(ours: impl IntoIterator<Item = &'p str>) -> Self {
        Self(ours.into_iter().map(|ours| names(&format!("{ours}/keys"))).collect())
    }

    pub fn near(&self, path: &Word) -> Option<Near> {
        let path = components(&path.bits);
        let of = |place: &Vec<String>| match relate(&path, place)? {
            Ordering::Greater => Some(Near::In),
            Ordering::Equal => Some(Near::Is),
            Ordering::Less => {
                let client = relate(&path, &place[..place.len().saturating_sub(2)]);
                Some(if client == Some(Ordering::Less) { Near::Above } else { Near::Holds })
            }
        };
        self.0.iter().find_map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_shell::syntax::{Ground, cut};

    #[test]
    fn a_path_is_compared_with_the_keys() {
        let keys = KeyFolder::below(["/h/.claude/aops"]);
        let ground = Ground { cwd: "/h/p", home: "/h", variables: &[] };
        let of = |text: &str| {
            let line = cut(&format!("cat {text}"), &ground);
            let command = &line.commands[0];
            keys.near(&command.words[1].from_folder(&command.folders[0]))
        };
        for path in [
            "~/.claude/aops/./keys/x",
            "../.claude//aops/keys/x",
            "~/.claude/*/keys/x",
            "~/.claude/AOPS/k*/*",
        ] {
            assert_eq!(of(path), Some(Near::In), "{path}");
        }
        assert_eq!(of("/h/.claude/x/../aops/keys/"), Some(Near::Is));
        assert_eq!(of("~/.claude/aops"), Some(Near::Holds));
        assert_eq!(of("~/.claude"), Some(Near::Holds));
        assert_eq!(of("~"), Some(Near::Above));
        for path in
            ["keys/x", "aops/keys/x", "~/.claude/aops/sessions", "\"$X\"", "*", "~/.claude/projects/*/*"]
        {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
