//! A repository's own, untracked list of ignored files (`info/exclude`).
//!
//! Writes that file, outside of any jail. Invariant: no link is followed below the repository's folder, since
//! a command can put one there that leads to a file which guards a session; only a plain file is replaced.

use super::git_common_folder;
use crate::model::error::Failure;
use crate::system::files::{self, mode_of, replace_in};
use crate::system::folder;
use rustix::fs::{Gid, Mode, OFlags, Uid, fchmod, fchown, fstat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

const LIST: &str = "info/exclude";
/// A longer list is left alone.
const LONGEST: u64 = 1 << 20;

/// Adds a folder of this project to the list.
pub fn exclude(root: &Path, name: &str) -> Result<(), Failure> {
    let above = root.ancestors().find(|folder| git_common_folder(folder).is_some()).unwrap_or(root);
    let inside = root.strip_prefix(above).unwrap_or(Path::new("")).join(name);
    add_line(root, &format!("/{}/", inside.display()))
}

/// Adds a line to the list, unless the list contains it.
pub fn add_line(root: &Path, line: &str) -> Result<(), Failure> {
    let storage = |error| Failure::storage(LIST, error);
    let common = root.ancestors().find_map(git_common_folder);
    let common = common.ok_or_else(|| Failure::storage(LIST, "there is no repository"))?;
    let real = files::real(&common).map_err(|error| Failure::storage(LIST, error))?;
    let opened = files::open_real(&real, OFlags::RDONLY | OFlags::DIRECTORY);
    let opened = opened.map_err(|error| Failure::storage(LIST, error))?;
    // Another folder may have taken its name since it was found.
    if folder::open(&opened, "HEAD", OFlags::RDONLY)?.is_none() {
        return Err(Failure::storage(LIST, "there is no repository"));
    }
    if let Some(info) = folder::enter(&opened, "info", false)? {
        return add_in(&info, line);
    }
    let made = rustix::fs::mkdirat(&opened, "info", Mode::from_raw_mode(0o755));
    made.or_else(|error| if error == Errno::EXIST { Ok(()) } else { Err(storage(error)) })?;
    let info = folder::enter(&opened, "info", false)?.ok_or_else(|| storage(Errno::NOENT))?;
    add_in(&info, line)
}

fn add_in(info: &OwnedFd, line: &str) -> Result<(), Failure> {
    let storage = |error| Failure::storage(LIST, error);
    let known = folder::open(info, "exclude", OFlags::RDONLY)?;
    let mut list = match &known {
        Some((_, long)) if *long > LONGEST => return Err(Failure::storage(LIST, "is too long")),
        Some((file, long)) => folder::read_at(file, LIST, 0, *long)?,
        None => Vec::new(),
    };
    if list.split(|byte| *byte == b'\n').any(|known| known.trim_ascii_end() == line.as_bytes()) {
        return Ok(());
    }
    if !list.is_empty() && !list.ends_with(b"\n") {
        list.push(b'\n');
    }
    list.extend_from_slice(line.as_bytes());
    list.push(b'\n');
    let before = known.map(|(file, _)| fstat(&file)).transpose().map_err(storage)?;
    replace_in(info, "exclude", &list, |file| {
        if let Some(before) = &before {
            // Only the superuser may give a file away; for anybody else the owner is right already.
            let _ = fchown(file, Some(Uid::from_raw(before.st_uid)), Some(Gid::from_raw(before.st_gid)));
        }
        let bits = before.as_ref().map_or(0o644, files::mode_bits);
        Ok(fchmod(file, mode_of(bits))?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A repository as far as we look, with another folder next to it.
    fn repository() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for folder in ["project/.git/info", "project/sub", "guarded"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        fs::write(home.path().join("project/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(home.path().join("guarded/settings.json"), "{}").unwrap();
        home
    }

    /// The list may contain any bytes.
    #[test]
    fn a_line_is_added_once_and_the_others_stay() {
        let home = repository();
        let list = home.path().join("project/.git").join(LIST);
        for (before, after) in [
            (None, &b"/x/\n"[..]),
            (Some(&b"\xff\r\na"[..]), b"\xff\r\na\n/x/\n"),
            (Some(b"/x/\r\n"), b"/x/\r\n"),
        ] {
            if let Some(before) = before {
                fs::write(&list, before).unwrap();
            }
            add_line(&home.path().join("project"), "/x/").unwrap();
            assert_eq!(fs::read(&list).unwrap(), after);
        }
        exclude(&home.path().join("project/sub"), "made").unwrap();
        assert!(fs::read_to_string(&list).unwrap().ends_with("\n/sub/made/\n"));
    }

    /// A link, a hard link, a folder, a pipe in the place of the list or of its folder; a `.git` file and a
    /// `commondir` that lead to a folder that is not a repository.
    #[test]
    fn nothing_is_written_through_a_link() {
        let plants: [fn(&Path, &Path); 7] = [
            |git, guarded| symlink(guarded.join("settings.json"), git.join(LIST)).unwrap(),
            |git, guarded| symlink(guarded.join("new"), git.join(LIST)).unwrap(),
            |git, guarded| fs::hard_link(guarded.join("settings.json"), git.join(LIST)).unwrap(),
            |git, guarded| {
                fs::remove_dir(git.join("info")).unwrap();
                symlink(guarded, git.join("info")).unwrap();
            },
            |git, guarded| fs::write(git.join("commondir"), guarded.to_str().unwrap()).unwrap(),
            |git, guarded| {
                fs::remove_dir_all(git).unwrap();
                fs::write(git, format!("gitdir: {}", guarded.display())).unwrap();
            },
            |git, guarded| {
                fs::remove_dir_all(git).unwrap();
                symlink(guarded, git).unwrap();
            },
        ];
        for plant in plants {
            let home = repository();
            let guarded = home.path().join("guarded");
            plant(&home.path().join("project/.git"), &guarded);
            let _ = add_line(&home.path().join("project"), "/x/");
            let there: Vec<_> =
                fs::read_dir(&guarded).unwrap().map(|item| item.unwrap().file_name()).collect();
            assert_eq!(there, ["settings.json"]);
            assert_eq!(fs::read_to_string(guarded.join("settings.json")).unwrap(), "{}");
        }
    }
}
