//! Random small repositories and the commands that discard what is in them: everything comes back.

use super::hand::{Hand, World};
use super::{brought, collect, dirty, repository};
use crate::support::Sandbox;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const NAMES: [&str; 7] = ["a.txt", "dir/b.txt", "bin", "link", "run.sh", "lines.crlf", "fresh/new.txt"];

#[derive(Clone, Debug)]
enum Deed {
    Write(usize, Vec<u8>),
    Add(usize),
    MeanToAdd(usize),
    Remove(usize),
    Link(usize),
    Mode(usize, u32),
    Unstage(usize),
    Dirty,
}

fn deed() -> impl Strategy<Value = Deed> {
    let at = 0..NAMES.len();
    prop_oneof![
        4 => (at.clone(), proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(at, bytes)| Deed::Write(at, bytes)),
        3 => at.clone().prop_map(Deed::Add),
        1 => at.clone().prop_map(Deed::MeanToAdd),
        1 => at.clone().prop_map(Deed::Remove),
        1 => at.clone().prop_map(Deed::Link),
        1 => (at.clone(), prop_oneof![Just(0o600), Just(0o755)]).prop_map(|(at, mode)| Deed::Mode(at, mode)),
        1 => at.prop_map(Deed::Unstage),
        1 => Just(Deed::Dirty),
    ]
}

fn act(sandbox: &Sandbox, deed: &Deed) {
    let path = |at: &usize| sandbox.project().join(NAMES[*at]);
    // Some of them make no sense where they come; then nothing happens.
    let git = |arguments: &[&str]| drop(sandbox.command("git").args(arguments).output().unwrap());
    match deed {
        Deed::Write(at, bytes) => {
            let _ = fs::remove_file(path(at));
            fs::create_dir_all(path(at).parent().unwrap()).unwrap();
            fs::write(path(at), bytes).unwrap();
        }
        Deed::Add(at) => git(&["add", "--", NAMES[*at]]),
        Deed::MeanToAdd(at) => git(&["add", "-N", "--", NAMES[*at]]),
        Deed::Remove(at) => drop(fs::remove_file(path(at))),
        Deed::Link(at) => {
            let _ = fs::remove_file(path(at));
            drop(symlink("nowhere", path(at)));
        }
        Deed::Mode(at, mode) => drop(fs::set_permissions(path(at), fs::Permissions::from_mode(*mode))),
        Deed::Unstage(at) => git(&["reset", "-q", "--", NAMES[*at]]),
        Deed::Dirty => dirty(sandbox),
    }
}

const LINES: [&[&str]; 4] = [
    &["reset", "-q", "--hard"],
    &["reset", "-q", "--hard", "HEAD~1"],
    &["restore", "--staged", "--worktree", "."],
    &["checkout", "-q", "-f", "HEAD", "--", "."],
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, max_shrink_iters: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_discarded_comes_back(deeds in proptest::collection::vec(deed(), 1..9), line in 0..LINES.len(), noted: bool) {
        let sandbox = repository();
        for deed in &deeds {
            act(&sandbox, deed);
        }
        let was = World::of(&sandbox);
        let number = Hand::of(&sandbox).discard(&LINES[line].join(" "));
        sandbox.git(LINES[line]);
        if noted {
            super::hand::note_left(&sandbox, number);
        }
        let lost = World::of(&sandbox);
        collect(&sandbox);
        if lost == was {
            return Ok(());
        }
        let present = brought(&sandbox, number);
        was.same(&World::of(&sandbox), &format!("{:?} undone", LINES[line]));
        collect(&sandbox);
        brought(&sandbox, present);
        lost.same(&World::of(&sandbox), &format!("{:?} undone, undone", LINES[line]));
    }
}
