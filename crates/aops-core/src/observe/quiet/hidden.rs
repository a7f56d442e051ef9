//! Paths that the user's rules keep from being read: whether a line names one, and where they all are, so that its jail hides
//! them.
//!
//! Reads folders, within a bound. Invariant: where not all of it can be looked at, nothing is answered.

use super::pattern::is_part;
use super::rules::PathRule;
use std::fs;
use std::path::{Path, PathBuf};

/// Entries of folders that are looked at for one line.
const MOST_ENTRIES: usize = 20_000;
/// Paths that one jail hides.
const MOST_HIDDEN: usize = 64;

/// One of these paths is covered by a rule.
pub(super) fn covers(rules: &[PathRule], places: &[PathBuf]) -> bool {
    rules.iter().any(|rule| places.iter().any(|place| rule.covers(place)))
}

/// What the rules cover below the folders that a line may read in, where it is there.
pub(super) fn below(rules: &[PathRule], places: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut search = Search { left: MOST_ENTRIES, found: Vec::new() };
    for rule in rules {
        for base in &rule.bases {
            let parts: Vec<&str> = rule.parts.iter().map(String::as_str).collect();
            let near = |place: &&PathBuf| place.starts_with(base) || base.starts_with(place);
            for place in places.iter().filter(near) {
                search.descend(base, &parts, place)?;
            }
        }
    }
    search.found.sort();
    search.found.dedup();
    if search.found.len() > MOST_HIDDEN {
        return Err("more files are covered by your rules than can be hidden".to_owned());
    }
    Ok(search.found)
}

impl PathRule {
    fn covers(&self, place: &Path) -> bool {
        let covers = |base: &PathBuf| {
            let Ok(rest) = place.strip_prefix(base) else { return false };
            let names: Option<Vec<&str>> = rest.iter().map(|name| name.to_str()).collect();
            let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
            names.is_none_or(|names| begins(&parts, &names))
        };
        self.bases.iter().any(covers)
    }
}

/// A path of these names is what the parts say, or lies in it.
fn begins(parts: &[&str], names: &[&str]) -> bool {
    match (parts, names) {
        ([], _) => true,
        (["**", rest @ ..], _) => {
            (0..=names.len()).any(|skipped| begins(rest, &names[skipped..])) && !(rest.is_empty() && names.is_empty())
        }
        ([part, parts @ ..], [name, names @ ..]) => is_part(part, name) && begins(parts, names),
        (_, []) => false,
    }
}

struct Search {
    left: usize,
    found: Vec<PathBuf>,
}

impl Search {
    /// Finds what the parts cover from this folder on, on the way to or below `place`.
    fn descend(&mut self, folder: &Path, parts: &[&str], place: &Path) -> Result<(), String> {
        let is_near = |path: &Path| path.starts_with(place) || place.starts_with(path);
        match parts {
            [] => {
                self.found.push(folder.to_owned());
                Ok(())
            }
            ["**", rest @ ..] => {
                if !rest.is_empty() {
                    self.descend(folder, rest, place)?;
                }
                for (path, is_folder) in self.entries(folder)? {
                    match rest {
                        [] if is_near(&path) => self.found.push(path),
                        _ if is_folder && is_near(&path) => self.descend(&path, parts, place)?,
                        _ => {}
                    }
                }
                Ok(())
            }
            [part, rest @ ..] if part.contains(['*', '?']) => {
                for (path, _) in self.entries(folder)? {
                    let name = path.file_name().and_then(|name| name.to_str());
                    if name.is_none_or(|name| is_part(part, name)) && is_near(&path) {
                        self.descend(&path, rest, place)?;
                    }
                }
                Ok(())
            }
            [part, rest @ ..] => {
                let path = folder.join(part);
                if path.symlink_metadata().is_ok() && is_near(&path) {
                    self.descend(&path, rest, place)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// What lies in a folder, and which of it are folders; links are none.
    fn entries(&mut self, folder: &Path) -> Result<Vec<(PathBuf, bool)>, String> {
        let Ok(items) = fs::read_dir(folder) else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for item in items {
            let unread = |error: std::io::Error| format!("`{}`: {error}", folder.display());
            let item = item.map_err(unread)?;
            self.left = self.left.checked_sub(1).ok_or("too many files to look for what your rules cover")?;
            entries.push((item.path(), item.file_type().map_err(unread)?.is_dir()));
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(base: &Path, parts: &[&str]) -> PathRule {
        PathRule { bases: vec![base.to_owned()], parts: parts.iter().map(|part| (*part).to_owned()).collect() }
    }

    #[test]
    fn what_a_rule_covers_is_found_and_known_by_its_name() {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        for file in ["a/.env", "a/b/.env", "private/x/y", "keys/a.pem", "keys/b.txt"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        for (parts, found) in [
            (&["**", ".env"][..], &["a/.env", "a/b/.env"][..]),
            (&["private"], &["private"]),
            (&["keys", "*.pem"], &["keys/a.pem"]),
            (&["gone"], &[]),
        ] {
            let rules = [rule(&root, parts)];
            let wanted: Vec<PathBuf> = found.iter().map(|name| root.join(name)).collect();
            assert_eq!(below(&rules, std::slice::from_ref(&root)).unwrap(), wanted, "{parts:?}");
            for path in &wanted {
                assert!(
                    covers(&rules, &[path.join("deeper")]) && covers(&rules, std::slice::from_ref(path)),
                    "{path:?}"
                );
            }
            assert!(!covers(&rules, &[root.join("a/c")]), "{parts:?}");
        }
        assert_eq!(below(&[rule(&root, &["private"])], &[root.join("a")]).unwrap(), Vec::<PathBuf>::new());
    }
}
