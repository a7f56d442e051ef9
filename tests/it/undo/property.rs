//! Random small repositories and random lines that lose something of them, judged by the hook and run by the
//! starter as the client does: everything comes back.

use super::brought;
use super::hand::World;
use crate::jail::lost;
use crate::jail::world::Jailed;
use crate::rollback::{picture, same};
use crate::support::Sandbox;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// Of these git tracks some, and each deed may change that.
const TRACKED: [&str; 6] = ["a.txt", "b.txt", "src/c.txt", "src/deep/d.txt", "link", "fresh/new.txt"];
/// These are in no commit and no index, so what is written over them is kept.
const OWN: [&str; 5] = [".env", "app.db", "notes/x.txt", "notes/deep/z.bin", "data.csv"];

#[derive(Clone, Debug)]
enum Deed {
    Write(&'static str, Vec<u8>),
    Add(&'static str),
    MeanToAdd(&'static str),
    Remove(&'static str),
    Link(&'static str),
    Mode(&'static str, u32),
    Unstage(&'static str),
}

fn any_name() -> impl Strategy<Value = &'static str> {
    prop_oneof![proptest::sample::select(&TRACKED[..]), proptest::sample::select(&OWN[..])]
}

fn deed() -> impl Strategy<Value = Deed> {
    let tracked = || proptest::sample::select(&TRACKED[..]);
    let bytes = proptest::collection::vec(any::<u8>(), 1..40);
    prop_oneof![
        4 => (any_name(), bytes).prop_map(|(name, bytes)| Deed::Write(name, bytes)),
        3 => tracked().prop_map(Deed::Add),
        1 => tracked().prop_map(Deed::MeanToAdd),
        1 => tracked().prop_map(Deed::Remove),
        1 => tracked().prop_map(Deed::Link),
        1 => (any_name(), prop_oneof![Just(0o600), Just(0o755)])
            .prop_map(|(name, mode)| Deed::Mode(name, mode)),
        1 => tracked().prop_map(Deed::Unstage),
    ]
}

fn act(sandbox: &Sandbox, deed: &Deed) {
    let path = |name: &str| sandbox.project().join(name);
    // Some of them make no sense where they come; then nothing happens.
    let git = |arguments: &[&str]| drop(sandbox.command("git").args(arguments).output().unwrap());
    match deed {
        Deed::Write(name, bytes) => {
            let _ = fs::remove_file(path(name));
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), bytes).unwrap();
        }
        Deed::Add(name) => git(&["add", "--", name]),
        Deed::MeanToAdd(name) => git(&["add", "-N", "--", name]),
        Deed::Remove(name) => drop(fs::remove_file(path(name))),
        Deed::Link(name) => {
            let _ = fs::remove_file(path(name));
            drop(symlink("nowhere", path(name)));
        }
        Deed::Mode(name, mode) => drop(fs::set_permissions(path(name), fs::Permissions::from_mode(*mode))),
        Deed::Unstage(name) => git(&["reset", "-q", "--", name]),
    }
}

/// What git drops, and what comes back with the commit that was checked out.
const GIT: [&str; 13] = [
    "git reset -q --hard",
    "git reset -q --hard HEAD~1",
    "git restore --staged --worktree .",
    "git checkout -q -f HEAD -- .",
    "git checkout -- a.txt src",
    "git restore -s HEAD~1 .",
    "git clean -fdx -e .claude",
    "git clean -fd",
    "git stash drop",
    "git stash clear",
    "git branch -D topic",
    "git branch -f topic main",
    "git worktree remove --force ../tree",
];
const REMOVES: [&str; 5] =
    ["rm -f NAME", "rm -rf notes NAME", "rm -rf src", "find notes -type f -delete", "rm -rf *.csv NAME"];
const OVERWRITES: [&str; 6] = [
    "echo new > NAME", "cp -f b.txt NAME", ": > NAME", "printf x | tee NAME", "truncate -s 0 NAME",
    "sed -i 's/./x/' NAME",
];

fn line() -> impl Strategy<Value = String> {
    let with = |(line, name): (&str, &str)| line.replace("NAME", name);
    let git = || proptest::sample::select(&GIT[..]).prop_map(str::to_owned);
    let removes = (proptest::sample::select(&REMOVES[..]), any_name()).prop_map(with);
    let overwrites =
        (proptest::sample::select(&OVERWRITES[..]), proptest::sample::select(&OWN[..])).prop_map(with);
    let one = prop_oneof![3 => git(), 3 => removes, 2 => overwrites];
    (one, git(), 0..5).prop_map(|(one, other, shape)| match shape {
        0 => format!("{one}; {other}"),
        1 => format!("cd . && {one}"),
        2 => format!("if true; then {one}; fi"),
        _ => one,
    })
}

/// The number under which the line was kept, as the model reads it.
fn number(told: &str) -> Option<u64> {
    told.split("kept as ").nth(1)?.split(':').next()?.parse().ok()
}

/// One repository, what was done in it, and the line: kept by hook and starter, brought back by a person.
fn comes_back(deeds: &[Deed], line: &str) {
    let world: Jailed = lost::world();
    let sandbox = &world.sandbox;
    sandbox.git(&["worktree", "add", "-q", "../tree", "other"]);
    let tree = world.root().join("tree");
    fs::write(tree.join("a.txt"), "edited there\n").unwrap();
    fs::write(tree.join("new.txt"), "new there\n").unwrap();
    for name in OWN {
        sandbox.put(name, "the only copy\n");
    }
    for deed in deeds {
        act(sandbox, deed);
    }
    let session = world.prompted();
    let was = World::of(sandbox);
    let beside = picture(&tree);
    let ran = session.ran(line);
    let case = format!("{line} after {deeds:?}: {ran:?}");
    if World::of(sandbox) == was && tree.exists() {
        return;
    }
    let number = number(&ran.told).unwrap_or_else(|| panic!("nothing was kept: {case}"));
    lost::sweep(sandbox);
    brought(sandbox, number);
    was.same(&World::of(sandbox), &case);
    same(&beside, &picture(&tree), &case);
}

fn cases(count: usize) {
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let case = (proptest::collection::vec(deed(), 0..7), line());
    for _ in 0..count {
        let (deeds, line) = case.new_tree(&mut runner).unwrap().current();
        comes_back(&deeds, &line);
    }
}

#[test]
fn whatever_was_lost_comes_back() {
    cases(8);
}

#[test]
#[ignore = "minutes: run `tests/long-run`"]
fn whatever_was_lost_in_many_ways_comes_back() {
    cases(150);
}
