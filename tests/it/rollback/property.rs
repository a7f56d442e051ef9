//! Any tree and anything done to it: a rollback gives the tree back, and the rollback's rollback gives the
//! other one.

use super::{Picture, picture, same};
use aops_core::checkpoint;
use aops_core::checkpoint::capture::Limits;
use aops_core::checkpoint::form::describe::Usage;
use aops_core::checkpoint::form::{CheckpointKind, Id};
use aops_core::checkpoint::rollback::{Order, Wanted};
use aops_core::checkpoint::store::Store;
use aops_core::model::trigger::CheckpointTrigger;
use aops_core::system::env::Env;
use proptest::prelude::*;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Names of all kinds: plain, cased, unicode in two forms, with blanks and line breaks, no text at all, like
/// ours.
const NAMES: [&[u8]; 14] = [
    b"a",
    b"A",
    b"b",
    "\u{e9}".as_bytes(),
    "e\u{301}".as_bytes(),
    b"with blank",
    b"line\nbreak",
    b"\xff\xfe",
    b"-rf",
    b"*",
    b".hidden",
    b".claude",
    "\u{f780}".as_bytes(),
    b"node.log",
];

#[derive(Clone, Debug)]
enum Deed {
    Write(Vec<usize>, u8, usize),
    /// A byte far out, zeros before it.
    Sparse(Vec<usize>, u64),
    Folder(Vec<usize>),
    Link(Vec<usize>, usize),
    Remove(Vec<usize>),
    Rename(Vec<usize>, Vec<usize>),
    Mode(Vec<usize>, u32),
}

fn path() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..NAMES.len(), 1..4)
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        5 => (path(), any::<u8>(), 0_usize..6).prop_map(|(at, byte, long)| Deed::Write(at, byte, long)),
        1 => (path(), 1_u64..3_000_000).prop_map(|(at, far)| Deed::Sparse(at, far)),
        2 => path().prop_map(Deed::Folder),
        2 => (path(), 0..NAMES.len()).prop_map(|(at, to)| Deed::Link(at, to)),
        3 => path().prop_map(Deed::Remove),
        3 => (path(), path()).prop_map(|(from, to)| Deed::Rename(from, to)),
        2 => (path(), prop_oneof![Just(0o600), Just(0o755), Just(0o444), Just(0o000), Just(0o1777)])
            .prop_map(|(at, mode)| Deed::Mode(at, mode)),
    ]
}

fn place(root: &Path, at: &[usize]) -> PathBuf {
    at.iter().fold(root.to_owned(), |path, name| path.join(OsStr::from_bytes(NAMES[*name])))
}

/// What cannot be done is not done; the store is not for this test to break, nor is anything behind a link.
fn act(root: &Path, deed: &Deed) {
    let at = |at: &[usize]| {
        let path = place(root, at);
        let led = path.ancestors().skip(1).take_while(|above| *above != root);
        let led = led.into_iter().all(|above| !above.is_symlink());
        (led && path != root.join(".claude")).then_some(path)
    };
    // A write through a link would make the file that the link names, `.claude` too.
    let to_write = |path: &[usize]| at(path).filter(|path| !path.is_symlink());
    let above = |path: &Path| drop(fs::create_dir_all(path.parent().unwrap()));
    match deed {
        Deed::Write(path, byte, long) => to_write(path).map_or((), |path| {
            above(&path);
            let _ = fs::write(path, vec![*byte; [0, 1, 10, 10, 5_000, 1_200_000][*long]]);
        }),
        Deed::Sparse(path, far) => to_write(path).map_or((), |path| {
            above(&path);
            let _ = fs::File::create(path).map(|file| file.write_all_at(b"x", *far).unwrap());
        }),
        Deed::Folder(path) => at(path).map_or((), |path| drop(fs::create_dir_all(path))),
        Deed::Link(path, to) => at(path).map_or((), |path| {
            above(&path);
            let _ = symlink(OsStr::from_bytes(NAMES[*to]), path);
        }),
        Deed::Remove(path) => at(path).map_or((), |path| {
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }),
        Deed::Rename(from, to) => {
            if let (Some(from), Some(to)) = (at(from), at(to)) {
                above(&to);
                let _ = fs::rename(from, to);
            }
        }
        Deed::Mode(path, mode) => at(path).map_or((), |path| {
            if !path.is_symlink() {
                let _ = fs::set_permissions(path, Permissions::from_mode(*mode));
            }
        }),
    }
}

fn take(env: &Env, root: &Path) -> Id {
    let store = Store::open(env, root).unwrap();
    let wanted = Wanted {
        run: "manual",
        kind: CheckpointKind::Post,
        phase: "execute",
        trigger: CheckpointTrigger::ByHand,
        about: Vec::new(),
        used: Usage::default(),
        view: None,
        parent: None,
        started: None,
    };
    checkpoint::rollback::take(env, &store, None, &Limits::none(), &wanted).unwrap().id().unwrap()
}

fn back(env: &Env, root: &Path, id: &Id) -> Id {
    let order = Order { id, alone: &[], by: "a test", state_only: false, view: None };
    Id::read(&checkpoint::rollback::roll_back(env, root, &order, None, &mut |_| Ok(())).unwrap().archive)
        .unwrap()
}

fn check(first: &[Deed], then: &[Deed]) {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let home = tempfile::Builder::new().prefix("aops-").tempdir_in(folder).unwrap();
    let root = home.path().join("tree");
    fs::create_dir(&root).unwrap();
    let env = Env {
        config: home.path().join(".claude"),
        cwd: root.clone(),
        home: home.path().to_owned(),
        now_ms: 1_768_298_400_000,
        ..Env::default()
    };
    fs::write(root.join(".gitignore"), "*.log\n").unwrap();
    for deed in first {
        act(&root, deed);
    }
    let id = take(&env, &root);
    let was = picture(&root);
    for deed in then {
        act(&root, deed);
    }
    let other = picture(&root);
    let archive = back(&env, &root, &id);
    let known = [&was, &other];
    same(&seen(&was, known), &seen(&picture(&root), known), "rolled back");
    back(&env, &root, &archive);
    same(&seen(&other, known), &seen(&picture(&root), known), "the rollback rolled back");
}

/// Ignored files are nobody's business, and a folder that holds one stays where it is.
fn seen(of: &Picture, known: [&Picture; 2]) -> Picture {
    let log = |path: &[u8]| path.split(|b| *b == b'/').any(|part| part == b"node.log");
    let holds = |path: &[u8]| {
        let inside = |other: &Vec<u8>| other.starts_with(&[path, b"/"].concat()) && log(other);
        known.iter().any(|picture| picture.keys().any(inside))
    };
    let wanted = of.iter().filter(|(path, _)| !log(path) && !holds(path));
    wanted.map(|(path, what)| (path.clone(), what.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_rollback_gives_the_tree_back(
        first in proptest::collection::vec(deed(), 0..24),
        then in proptest::collection::vec(deed(), 0..24),
    ) {
        check(&first, &then);
    }
}

/// Found by the property: `a` leads to `.claude`, and a write to `a` made a file there instead of the store's
/// folder.
#[test]
fn a_deed_writes_through_no_link() {
    check(&[Deed::Link(vec![0], 11), Deed::Write(vec![0], 1, 1), Deed::Sparse(vec![0], 5)], &[]);
}
