//! Finds files that a line removes or overwrites, except for those that are committed.

use super::disk::{beside, kind, names, root_above, stat};
use super::{Look, RepositoryWant, Unkept, Want};
use crate::system::files::{mode_bits, read_short};
use crate::system::git::{git_common_folder, git_folder, index_paths, is_as_indexed};
use aops_shell::danger::is_below_temporary;
use aops_shell::generated;
use aops_shell::syntax::{Bit, Word};
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The root of the working tree that contains this path. A root itself belongs to the one around it.
pub(super) fn repository_of(path: &Path) -> Option<PathBuf> {
    root_above(path.parent()?)
}

/// The index in this git folder surely lists neither this path, relative to the working tree, nor anything
/// below it. Nothing is started.
fn is_unlisted(git: &Path, path: &Path) -> bool {
    let index = git.join("index");
    if path.as_os_str().is_empty() {
        return false;
    }
    let Some(found) = index_paths(&index, path.as_os_str().as_bytes()) else {
        return fs::symlink_metadata(&index).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    };
    // What follows the path: nothing, or the rest of a path below it, or of another name that begins alike.
    !found.split_inclusive(|byte| *byte == 0).any(|rest| matches!(rest.first(), Some(0 | b'/')))
}

/// The kernel shows its own state here: writing changes that, and no content is lost.
fn is_kernels(path: &Path) -> bool {
    ["/dev", "/proc", "/sys"].iter().any(|place| path.starts_with(place))
}

/// What the files of one folder have in common.
pub(super) struct Around {
    folder: PathBuf,
    root: PathBuf,
    /// The folder is part of a Python virtual environment.
    is_environment: bool,
}

impl Look<'_> {
    /// Files that nobody misses, if no rule found anything: temporary files outside of the project, and
    /// generated ones.
    fn is_free(&self, path: &Path) -> bool {
        if self.spares || !self.place.rules.is_empty() {
            return self.is_spared(path);
        }
        let text = path.to_string_lossy();
        let is_inside = path.starts_with(self.place.root) || path.starts_with(self.place.cwd);
        is_below_temporary(&text) && !is_inside || self.is_made(path)
    }

    /// A generated folder, or a file in one; without databases if a command may change anything.
    fn is_spared(&self, path: &Path) -> bool {
        let is_database = generated::is_database(&path.to_string_lossy());
        (self.spares && !is_database || self.place.rules.is_empty()) && self.is_made(path)
    }

    /// A tool can make it again.
    fn is_made(&self, path: &Path) -> bool {
        self.is_made_file(path) || path.join(generated::ENVIRONMENT).is_file()
    }

    /// The same for a path that is not a folder.
    fn is_made_file(&self, path: &Path) -> bool {
        let folder = path.parent().unwrap_or(path);
        let mut around = self.around.borrow_mut();
        let around = match &mut *around {
            Some(around) if around.folder == folder => around,
            other => other.insert(self.look_around(folder)),
        };
        let inside = path.strip_prefix(&around.root).unwrap_or(path).to_string_lossy().into_owned();
        // A database is nobody's work, but the only copy of its rows.
        around.is_environment
            || generated::is_made_file(&inside) && !generated::is_database(&inside)
            || generated::folders(&inside).next().is_some()
    }

    fn look_around(&self, folder: &Path) -> Around {
        let root = root_above(folder).unwrap_or_else(|| self.place.root.to_owned());
        let inside = folder.strip_prefix(&root).unwrap_or(folder).to_string_lossy().into_owned();
        let is_environment = |folder: &str| root.join(folder).join(generated::ENVIRONMENT).is_file();
        // A project in an environment of its own is not a generated folder.
        let is_environment = !inside.is_empty() && generated::all_folders(&inside).any(is_environment);
        Around { folder: folder.to_owned(), root, is_environment }
    }

    /// This file's content is replaced. A tracked file is kept only if a rule found something: an agent edits
    /// such files all day.
    pub(super) fn overwritten(&mut self, path: &Path) -> Result<(), Unkept> {
        // A redirection follows a link.
        let Ok(path) = fs::canonicalize(path) else { return Ok(()) };
        let about = stat(&path).filter(|stat| kind(stat) == FileType::RegularFile && stat.st_size > 0);
        let Some(about) = about else { return Ok(()) };
        if is_kernels(&path) || self.is_free(&path) || self.is_ours(&path) {
            return Ok(());
        }
        let Some(root) = repository_of(&path) else { return self.add_with_kin(&path, false) };
        let inside = path.strip_prefix(&root).unwrap_or(&path);
        if git_folder(&root).is_some_and(|git| is_unlisted(&git, inside)) {
            return self.add_with_kin(&path, false);
        }
        let indexed = |git: PathBuf| is_as_indexed(&git.join("index"), inside.as_os_str().as_bytes(), &about);
        if self.place.rules.is_empty() && git_folder(&root).and_then(indexed) == Some(true) {
            return Ok(());
        }
        let state = match RepositoryWant::of_paths(self, &root, &[inside.to_owned()]) {
            Err(Unkept::Git(_)) => return self.add_with_kin(&path, false),
            state => state?,
        };
        let is_ruled = !self.place.rules.is_empty();
        let is_kept = !state.is_tracked(inside) || is_ruled && !state.is_clean(inside);
        if is_kept { self.add_with_kin(&path, false) } else { Ok(()) }
    }

    fn add_with_kin(&mut self, path: &Path, is_unlinked: bool) -> Result<(), Unkept> {
        self.add(path, is_unlinked)?;
        beside(path).iter().try_for_each(|path| self.add(path, false))
    }

    /// `cp`, `mv`: files at the targets of the sources. A moved file that replaces another is kept as well,
    /// so that it comes back to its place.
    pub(super) fn replaced(&mut self, sources: &[Word], target: &Word, moves: bool) -> Result<(), Unkept> {
        // A `find` can yield several targets; the command runs once for each.
        for target in self.expand(target)? {
            self.replaced_at(sources, &target, moves)?;
        }
        Ok(())
    }

    fn replaced_at(&mut self, sources: &[Word], target: &Path, moves: bool) -> Result<(), Unkept> {
        let is_folder = target.is_dir();
        for word in sources {
            // Its contents are meant, not the folder itself.
            let is_open = word.bits.ends_with(&[Bit::Char('/'), Bit::Char('.')]);
            let mut found = self.expand(word)?;
            if found.is_empty() {
                // The line may make it first.
                found.extend(word.literal().map(PathBuf::from));
            }
            for source in found {
                let goes = if is_folder && !is_open {
                    target.join(source.file_name().unwrap_or_default())
                } else {
                    target.to_owned()
                };
                if goes == source {
                    continue;
                }
                if source.is_dir() && is_folder {
                    self.merged(&source, &goes)?;
                    continue;
                }
                let before = self.found.files.len();
                self.overwritten(&goes)?;
                if moves && self.found.files.len() > before {
                    self.moved(&source)?;
                }
            }
        }
        Ok(())
    }

    /// This file is at another place then. Its content is copied, since what is there may be changed.
    fn moved(&mut self, path: &Path) -> Result<(), Unkept> {
        if self.is_free(path) {
            return Ok(());
        }
        let Some(root) = repository_of(path) else { return self.changed(path) };
        let inside = path.strip_prefix(&root).unwrap_or(path);
        match RepositoryWant::of_paths(self, &root, &[inside.to_owned()]) {
            Ok(state) if state.is_tracked(inside) && state.is_clean(inside) => {
                self.removed(&[path.to_owned()])
            }
            _ => self.changed(path),
        }
    }

    fn merged(&mut self, source: &Path, target: &Path) -> Result<(), Unkept> {
        let mut waiting = vec![(source.to_owned(), target.to_owned())];
        while let Some((source, target)) = waiting.pop() {
            self.check()?;
            match stat(&source).map(|stat| kind(&stat)) {
                Some(FileType::Directory) if stat(&target).is_some() => {
                    let inner = names(&source)?.into_iter();
                    waiting.extend(inner.map(|name| (source.join(&name), target.join(&name))));
                }
                Some(FileType::Directory) | None => {}
                Some(_) => self.overwritten(&target)?,
            }
        }
        Ok(())
    }

    /// These are removed with everything below them.
    pub(super) fn removed(&mut self, paths: &[PathBuf]) -> Result<(), Unkept> {
        let mut by_repository: BTreeMap<Option<PathBuf>, Vec<PathBuf>> = BTreeMap::new();
        for path in paths.iter().filter(|path| !self.is_free(path) && !self.is_ours(path)) {
            let root = repository_of(path).filter(|_| path.file_name().is_none_or(|name| name != ".git"));
            by_repository.entry(root).or_default().push(path.clone());
        }
        for (root, paths) in by_repository {
            match root {
                Some(root) => self.removed_in(&root, &paths)?,
                None => paths.iter().try_for_each(|path| self.walk(path, &mut |_, _| Ok(false)))?,
            }
        }
        Ok(())
    }

    fn removed_in(&mut self, root: &Path, paths: &[PathBuf]) -> Result<(), Unkept> {
        let inside = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).to_owned();
        let git = git_folder(root);
        let is_unlisted = |path| git.as_ref().is_some_and(|git| is_unlisted(git, &inside(path)));
        if paths.iter().all(is_unlisted) {
            return paths.iter().try_for_each(|path| self.removed_untracked(path));
        }
        let names: Vec<PathBuf> = paths.iter().map(inside).collect();
        let mut state = match RepositoryWant::of_paths(self, root, &names) {
            // The repository of this working tree is gone, so none of its files is known to be committed.
            Err(Unkept::Git(_)) => RepositoryWant { root: root.to_owned(), ..RepositoryWant::default() },
            state => state?,
        };
        if self.is_filtered(root, paths, &state) {
            state.changed.extend(state.tracked.iter().cloned());
        }
        let mut committed = BTreeSet::new();
        for path in paths {
            self.walk(path, &mut |look, path| {
                let name = path.strip_prefix(root).unwrap_or(path);
                let is_clean = state.is_tracked(name) && state.is_clean(name);
                if is_clean {
                    committed.insert(name.to_owned());
                }
                Ok(is_clean
                    || !state.is_tracked(name) && look.is_made_file(path) && look.place.rules.is_empty())
            })?;
            // Tracked files in generated folders, and those that are already gone.
            for name in state.changed.iter().filter(|name| root.join(name).starts_with(path)) {
                self.add(&root.join(name), true)?;
            }
            let is_below = |name: &&Path| root.join(name).starts_with(path) && state.is_clean(name);
            committed.extend(state.tracked.iter().map(Path::new).filter(is_below).map(Path::to_owned));
        }
        state.committed = committed.into_iter().collect();
        self.found.repositories.extend(Some(state).filter(|state| !state.committed.is_empty()));
        Ok(())
    }

    /// A filter may strip something before git compares (the outputs of a notebook): what git calls unchanged
    /// is in no commit then.
    fn is_filtered(&self, root: &Path, paths: &[PathBuf], state: &RepositoryWant) -> bool {
        const FILE: &str = ".gitattributes";
        let above = paths.iter().flat_map(|path| path.ancestors().take_while(|path| path.starts_with(root)));
        let below =
            state.tracked.iter().filter(|name| Path::new(name).ends_with(FILE)).map(|name| root.join(name));
        let of_user = self.place.env.home.join(".config/git/attributes");
        let mut all: BTreeSet<PathBuf> = above.map(|folder| folder.join(FILE)).chain(below).collect();
        all.extend(
            [of_user].into_iter().chain(git_common_folder(root).map(|git| git.join("info/attributes"))),
        );
        let strips = |word: &str| {
            word.starts_with("filter=") && word != "filter=lfs"
                || word == "ident"
                || word.starts_with("working-tree-encoding=")
        };
        all.iter().filter_map(|file| read_short(file)).any(|text| text.split_whitespace().any(strips))
    }

    /// Git's index lists nothing of it.
    fn removed_untracked(&mut self, path: &Path) -> Result<(), Unkept> {
        if stat(path).is_some_and(|stat| kind(&stat) != FileType::Directory) {
            return self.add_with_kin(path, true);
        }
        self.walk(path, &mut |look, path| Ok(look.place.rules.is_empty() && look.is_made_file(path)))
    }

    /// Adds every file here and below, except those that `skip` knows to exist elsewhere.
    fn walk(
        &mut self,
        path: &Path,
        skip: &mut dyn FnMut(&Self, &Path) -> Result<bool, Unkept>,
    ) -> Result<(), Unkept> {
        let mut waiting = vec![path.to_owned()];
        while let Some(path) = waiting.pop() {
            let Some(about) = stat(&path).filter(|_| !self.is_ours(&path)) else { continue };
            if kind(&about) != FileType::Directory {
                if !skip(self, &path)? {
                    self.add_seen(&path, &about, true)?;
                }
                continue;
            }
            if self.is_spared(&path) {
                continue;
            }
            if about.st_dev != self.device && about.st_dev != device_above(&path) {
                return Err(Unkept::OtherDisk(path));
            }
            if self.spares && stat(&path.join(".git")).is_some() {
                self.nested(&path)?;
                continue;
            }
            self.found.folders.insert(path.clone(), mode_bits(&about));
            waiting.extend(names(&path)?.into_iter().map(|name| path.join(name)));
            self.check()?;
        }
        Ok(())
    }

    /// Runs `look` so that only uncommitted files count that no tool makes again.
    pub(super) fn spared<T>(
        &mut self,
        look: impl FnOnce(&mut Self) -> Result<T, Unkept>,
    ) -> Result<T, Unkept> {
        self.spares = true;
        let found = look(self);
        self.spares = false;
        found
    }

    /// A tracked file that differs: keep its content, or the fact that it is gone.
    pub(super) fn changed(&mut self, path: &Path) -> Result<(), Unkept> {
        let Some(path) = self.placed(path) else { return Ok(()) };
        if let Some(about) = stat(&path) {
            return self.add_seen(&path, &about, false);
        }
        self.absent(&path);
        Ok(())
    }
}

impl Look<'_> {
    /// Nothing is there, and that is the state to restore; its folder may exist.
    pub(super) fn absent(&mut self, path: &Path) {
        if let Some((folder, about)) = path.parent().and_then(|folder| Some((folder, stat(folder)?))) {
            self.found.folders.insert(folder.to_owned(), mode_bits(&about));
        }
        self.found.put(path, Want::NOTHING);
    }
}

fn device_above(path: &Path) -> libc::dev_t {
    path.parent().and_then(stat).map_or(0, |stat| stat.st_dev)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::git::tests::{repository, run};

    #[test]
    fn the_index_says_what_git_says() {
        let (_home, env) = repository();
        let is_unlisted = |name: &str| super::is_unlisted(&env.cwd.join(".git"), Path::new(name));
        assert!(is_unlisted("a"), "there is no index yet");
        for name in ["a", "b.txt", "sub/a", "sub/sub/new", "sub2/b"] {
            let path = env.cwd.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let git = |args: &[&str]| drop(run(&env, args));
        git(&["add", "a", "sub/a"]);
        git(&["add", "-N", "sub/sub/new"]);
        for version in ["2", "3", "4"] {
            git(&["update-index", "--index-version", version]);
            for listed in ["a", "sub/a", "sub", "sub/sub", "sub/sub/new"] {
                assert!(!is_unlisted(listed), "{version}: {listed}");
            }
            for name in ["b.txt", "sub/b", "/a", "su", "ub", "sub2", "sub2/b", "new", "sub/s", "sub/sub/ne"] {
                assert!(is_unlisted(name), "{version}: {name}");
            }
        }
        fs::write(env.cwd.join(".git/index"), "DIRC").unwrap();
        assert!(!is_unlisted("b.txt"), "an index that cannot be read is left to git");
    }
}
