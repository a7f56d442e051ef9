//! Keeps what was found, right before the line runs.
//!
//! Writes the store and refs below `refs/aops/kept`. Invariants: a keeping is listed only when all of it is
//! safe; if a file changed since it was looked at, its present content is kept; a hard link is made only of a
//! file with a single name.

use super::content::{self, LONGEST, Pack};
use super::form::{Content, Keeping, KeptFile, KeptFolder, KeptRepository, LinkedFile, SCHEMA, WITH_PACK};
use super::git::Repository;
use super::look::{Found, How, RepositoryWant, Want};
use super::shelf::{self, Draft, pin_name, pins_of};

use crate::checkpoint::store::Store;
use crate::checkpoint::tree::name;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files::mode_bits;
use crate::system::{files, git, threads};
use crate::text::json::cut;
use crate::text::redact::redact;
use crate::text::sha256::Sum;
use crate::text::time::timestamp;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Up to this many files become a blob each, the contents of more are packed into one file.
const FEW: usize = 32;
const LONGEST_LINE: usize = 500;
/// For one git command.
const PATIENCE: Duration = Duration::from_secs(8);

/// Why something is kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cause<'a> {
    pub call_id: &'a str,
    pub cwd: &'a str,
    pub line: &'a str,
    pub rule: Option<&'a str>,
    pub session_id: &'a str,
}

/// Keeps it in the store of this tree.
pub fn keep(env: &Env, root: &Path, found: &Found, cause: Cause) -> Result<Keeping, Failure> {
    let store = Store::open(env, root)?;
    let draft = shelf::begin(&store)?;
    let mut files = keep_files(&store, &draft, found)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut repositories: Vec<KeptRepository> = Vec::new();
    for want in &found.repositories {
        // Working trees of one repository share its refs.
        let first = repositories.iter().map(|one| one.pins.len()).sum();
        repositories.push(keep_repository(env, &store, draft.number, first, want)?);
    }
    let has_pack = files.iter().any(|file| matches!(file.content, Content::Packed(_)));
    let folder = |(path, mode): (&PathBuf, &u32)| KeptFolder { mode: *mode, path: text(path) };
    let crontab = found.crontab.as_ref().map(|table| store.keep_bytes(table)).transpose();
    let crontab = crontab.map_err(|error| Failure::storage("blobs", error))?.map(Sum);
    let keeping = Keeping {
        at: timestamp(env.now_ms),
        call_id: cause.call_id.to_owned(),
        crontab,
        cwd: cause.cwd.to_owned(),
        files,
        folders: found.folders.iter().map(folder).collect(),
        gone_folders: Vec::new(),
        hollow: found.hollow,
        line: redact(cut(cause.line, LONGEST_LINE)).into_owned(),
        number: draft.number,
        repositories,
        rule: cause.rule.map(str::to_owned),
        schema: if has_pack { WITH_PACK } else { SCHEMA },
        session_id: cause.session_id.to_owned(),
    };
    shelf::finish(env, &store, &draft, &keeping)?;
    Ok(keeping)
}

/// Called after the command. A file that the command left in place shares its content with the keeping, so
/// writing to it would spoil the kept content. Such files are copied to a keeping that replaces this one.
/// Does nothing above `most` bytes.
pub fn part(env: &Env, root: &Path, keeping: Keeping, most: u64) -> Result<Keeping, Failure> {
    let store = Store::open(env, root)?;
    shelf::sweep(&store)?;
    let is_shared: Vec<bool> = keeping.files.iter().map(is_there).collect();
    let shared = || keeping.files.iter().zip(&is_shared).filter(|(_, is_shared)| **is_shared);
    let bytes: u64 = shared().map(|(file, _)| file.size).sum();
    let Some(old) = shelf::folder(&store, keeping.number)? else { return Ok(keeping) };
    // The refs of a repository that is gone cannot be renamed to the new number.
    let repositories: Option<Vec<Repository>> =
        keeping.repositories.iter().map(|kept| Repository::of(env, kept)).collect();
    let (Some(repositories), true) = (repositories, shared().next().is_some() && bytes <= most) else {
        return Ok(keeping);
    };
    let failed = |error: io::Error| Failure::storage("what was kept", error);
    let draft = shelf::begin(&store)?;
    if keeping.files.iter().any(|file| matches!(file.content, Content::Packed(_))) {
        content::share_pack(&old, &draft.folder).map_err(failed)?;
    }
    let mut files = keeping.files.clone();
    for (file, is_shared) in files.iter_mut().zip(&is_shared) {
        let Content::Link(link) = &file.content else { continue };
        // A file that was already changed stays a link; this is reported when it is to be restored.
        let opened = if *is_shared { content::open_link(&store, keeping.number, file).ok() } else { None };
        if let Some(mut content) = opened {
            let kept = content.as_mut().map(|content| store.keep(content, file.size, true)).transpose();
            let (sum, _) = kept.map_err(failed)?.unwrap_or_default();
            file.content = Content::Blob(Sum(sum));
        } else {
            rustix::fs::linkat(&old, &link.name, &draft.folder, &link.name, AtFlags::empty())
                .map_err(|error| failed(error.into()))?;
        }
    }
    let mut first = 0;
    for (repository, kept) in repositories.iter().zip(&keeping.repositories) {
        let pin = |(k, id): (usize, &String)| (pin_name(draft.number, first + k), id.clone());
        repository.pin(&kept.pins.iter().enumerate().map(pin).collect::<Vec<_>>())?;
        first += kept.pins.len();
    }
    let number = keeping.number;
    let parted = Keeping { files, number: draft.number, ..keeping };
    shelf::finish(env, &store, &draft, &parted)?;
    shelf::remove(&store, number)?;
    // The new refs refer to the same commits.
    for (repository, _) in
        repositories.iter().zip(&parted.repositories).filter(|(_, kept)| !kept.pins.is_empty())
    {
        repository.unpin(&pins_of(number))?;
    }
    Ok(parted)
}

/// The linked file is still at its place.
fn is_there(file: &KeptFile) -> bool {
    let Content::Link(link) = &file.content else { return false };
    let path = name::bytes(&file.path);
    rustix::fs::lstat(&*path).is_ok_and(|about| about.st_ino == link.inode && about.st_nlink > 1)
}

pub fn text(path: &Path) -> String {
    name::text(path.as_os_str().as_bytes()).into_owned()
}

/// Opens a plain file without following a link or waiting.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
/// How many files of one folder are kept in one go.
const TOGETHER: usize = 64;

/// Wanted files of one folder, each with its number.
type Group<'a> = (&'a Path, Vec<(usize, &'a Path, &'a Want)>);

fn keep_files(store: &Store, draft: &Draft, found: &Found) -> Result<Vec<KeptFile>, Failure> {
    let pack = Some(Pack::of(draft)).filter(|_| found.files().len() > FEW);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (at, (path, want)) in found.files().enumerate() {
        let folder = path.parent().unwrap_or(path);
        match groups.last_mut() {
            Some((last, group)) if *last == folder && group.len() < TOGETHER => group.push((at, path, want)),
            _ => groups.push((folder, vec![(at, path, want)])),
        }
    }
    let group = |(folder, group): &Group<'_>| Some(keep_group(store, draft, folder, group, pack.as_ref()));
    let kept: Result<Vec<_>, _> = threads::map(&groups, group).into_iter().collect();
    let kept = kept?.into_iter().flatten().collect();
    pack.map_or(Ok(()), Pack::sync).map_err(|error| Failure::storage("what was kept", error))?;
    Ok(kept)
}

fn keep_group(
    store: &Store,
    draft: &Draft,
    folder: &Path,
    group: &[(usize, &Path, &Want)],
    pack: Option<&Pack>,
) -> Result<Vec<KeptFile>, Failure> {
    let failed = |path: &Path, error: io::Error| {
        Failure::new(Code::StorageFailed, format!("`{}`: {error}", path.display()))
    };
    let opened = open_folder(store, folder).map_err(|error| failed(folder, error))?;
    let kept = group.iter().filter_map(|(at, path, want)| {
        let kept = keep_file(store, draft, *at, (opened.as_ref(), *path), want, pack);
        kept.map_err(|error| failed(path, error)).transpose()
    });
    kept.collect()
}

/// Opens the folder by its real path, which must not be where the record lies. Another process may replace it
/// by a link at any time, so files are only reached through the opened folder; `None` if it is gone.
fn open_folder(store: &Store, folder: &Path) -> io::Result<Option<OwnedFd>> {
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let real = match files::real(folder) {
        Err(error) if is_gone(&error) => return Ok(None),
        real => real?,
    };
    if store.is_guarded_place(&real) {
        return Err(io::Error::other("it is in the folder of our records"));
    }
    match files::open_real(&real, OFlags::PATH | OFlags::DIRECTORY) {
        Err(error) if is_gone(&error) => Ok(None),
        opened => opened.map(Some),
    }
}

/// `None` if the file was removed since it was looked at, since then this line does not lose it. `place`: its
/// folder, and its full path.
fn keep_file(
    store: &Store,
    draft: &Draft,
    at: usize,
    (folder, path): (Option<&OwnedFd>, &Path),
    want: &Want,
    pack: Option<&Pack>,
) -> io::Result<Option<KeptFile>> {
    let file = |content, mode, size| Ok(Some(KeptFile { content, mode, path: text(path), size }));
    if let How::Symlink(target) = &want.how {
        return file(Content::Symlink(text(target)), want.mode, 0);
    }
    let (How::Link { .. } | How::Copy, Some(folder), Some(name)) = (&want.how, folder, path.file_name())
    else {
        return if matches!(want.how, How::Absent) { file(Content::Absent, 0, 0) } else { Ok(None) };
    };
    if let How::Link { inode, modified } = &want.how {
        let link = at.to_string();
        if rustix::fs::linkat(folder, name, &draft.folder, &link, AtFlags::empty()).is_ok() {
            let about = rustix::fs::statat(&draft.folder, &link, AtFlags::SYMLINK_NOFOLLOW)?;
            let is_same = about.st_ino == *inode && about.st_nlink == 2;
            if is_same && FileType::from_raw_mode(about.st_mode) == FileType::RegularFile {
                let size = u64::try_from(about.st_size).unwrap_or(0);
                let linked = LinkedFile { inode: *inode, modified: *modified, name: link };
                return file(Content::Link(linked), mode_bits(&about), size);
            }
            rustix::fs::unlinkat(&draft.folder, &link, AtFlags::empty())?;
        }
    }
    let mut opened = match rustix::fs::openat(folder, name, READ, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        opened => File::from(opened?),
    };
    let about = rustix::fs::fstat(&opened)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a file any more"));
    }
    let size = u64::try_from(about.st_size).unwrap_or(0);
    if let Some(pack) = pack.filter(|_| size <= LONGEST) {
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        Read::take(&mut opened, LONGEST + 1).read_to_end(&mut bytes)?;
        // It may have grown since.
        if bytes.len() as u64 <= LONGEST {
            return file(Content::Packed(pack.add(&bytes)?), mode_bits(&about), bytes.len() as u64);
        }
        opened.rewind()?;
    }
    let (sum, size) = store.keep(&mut opened, size, true)?;
    file(Content::Blob(Sum(sum)), mode_bits(&about), size)
}

fn keep_repository(
    env: &Env,
    store: &Store,
    number: u64,
    first: usize,
    want: &RepositoryWant,
) -> Result<KeptRepository, Failure> {
    let failed = |why: String| Failure::new(Code::StorageFailed, format!("`{}`: {why}", want.root.display()));
    let index =
        if want.index { read_index(store, &want.git).map_err(|e| failed(e.to_string()))? } else { None };
    let mut indexed = Vec::new();
    for id in &want.indexed {
        let bytes = git::run(env, &want.root, &["cat-file", "blob", id], b"", PATIENCE).map_err(failed)?;
        let kept = store.keep_bytes(&bytes).map_err(|e| failed(e.to_string()))?;
        indexed.push((id.clone(), Sum(kept)));
    }
    let pins = want.pins();
    let pin = |(k, id): (usize, &String)| {
        format!(
            "update {} {id}
",
            pin_name(number, first + k)
        )
    };
    let order = pins.iter().enumerate().map(pin).collect::<Vec<_>>().concat();
    if !order.is_empty() {
        git::run(env, &want.root, &["update-ref", "--stdin"], order.as_bytes(), PATIENCE).map_err(failed)?;
    }
    Ok(KeptRepository {
        config: want.config.clone(),
        committed: want.committed.iter().map(|path| text(path)).collect(),
        git: text(&want.git),
        head: want.head.clone(),
        head_ref: want.head_ref.clone(),
        index,
        indexed,
        pins,
        refs: want.refs.clone(),
        root: text(&want.root),
        stashes: want.stashes.clone(),
        worktree: want.worktree.clone(),
    })
}

fn read_index(store: &Store, git: &Path) -> io::Result<Option<Sum>> {
    match files::read(git.join("index")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        bytes => store.keep_bytes(&bytes?).map(|sum| Some(Sum(sum))),
    }
}
