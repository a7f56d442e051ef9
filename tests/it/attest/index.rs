//! Git's index where a look needs it: damaged, of a form that nobody here knows, or locked. Nothing wrong is
//! said of files that only the index knows, and the statement says why it knows less.

use super::{authors, bash, facts, head, statements, world, write};
use crate::support::Sandbox;
use aops_attest::statement::{Annotations, Author};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A file that git tracks and ignores: only the index tells that it is work.
fn with_an_ignored_file() -> (Sandbox, PathBuf) {
    let sandbox = world();
    sandbox.put(".gitignore", "kept/\n");
    sandbox.put("kept/a.txt", "a\n");
    sandbox.git(&["add", "-f", "."]);
    sandbox.git(&["commit", "-q", "-m", "kept"]);
    let index = sandbox.project().join(".git/index");
    (sandbox, index)
}

/// What is done to the index at this path, with its bytes.
type Damage<'a> = &'a dyn Fn(&Path, &[u8]);

/// A session writes; while it makes one call, the index is like this. What its commit says.
fn while_it_is(damage: Damage) -> (Annotations, Vec<(String, Author)>) {
    let (sandbox, index) = with_an_ignored_file();
    let session = sandbox.begun("write");
    write(&sandbox, &session, "one.txt", "one\n");
    let whole = fs::read(&index).unwrap();
    damage(&index, &whole);
    write(&sandbox, &session, "two.txt", "two\n");
    let _ = (fs::remove_dir(&index), fs::remove_file(index.with_extension("lock")));
    fs::write(&index, &whole).unwrap();
    write(&sandbox, &session, "three.txt", "three\n");
    bash(&sandbox, &session, "echo more >> kept/a.txt && git add -A && git commit -q -m three");
    let found = statements(&sandbox, &head(&sandbox), 1);
    (facts(&found[0]).clone(), authors(&found[0]))
}

fn counts(all: &[(&str, u64)]) -> BTreeMap<String, u64> {
    all.iter().map(|(why, count)| ((*why).to_owned(), *count)).collect()
}

#[test]
fn an_index_that_nobody_can_read_is_said() {
    // No checksum, as with `index.skipHash`: git itself must refuse it.
    let with = |bytes: &[u8], at: usize, byte: u8| {
        let mut bytes = [&bytes[..bytes.len() - 20], &[0; 20]].concat();
        bytes[at] = byte;
        bytes
    };
    // Behind the entries: four letters, and a length of none. In small letters git must know it.
    let extended = |bytes: &[u8], name: &[u8; 4]| [&bytes[..bytes.len() - 20], name, &[0; 24]].concat();
    let damages: [(&str, Damage); 4] = [
        ("another version", &|index, whole| fs::write(index, with(whole, 7, 9)).unwrap()),
        ("an extension that git must know", &|index, whole| {
            fs::write(index, extended(whole, b"abcd")).unwrap();
        }),
        ("damaged", &|index, whole| fs::write(index, &whole[..whole.len() / 2]).unwrap()),
        ("unreadable", &|index, _| {
            fs::remove_file(index).unwrap();
            fs::create_dir(index).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let (facts, authors) = while_it_is(damage);
        assert_eq!(facts.unseen, counts(&[("before", 1), ("index", 2)]), "{what}");
        let of = |name: &str| authors.iter().find(|(path, _)| path == name).map(|(_, by)| *by);
        assert_eq!(
            (of("one.txt"), of("three.txt")),
            (Some(Author::Session), Some(Author::Session)),
            "{what}"
        );
        assert_eq!(of("kept/a.txt"), Some(Author::Session), "{what}: nobody took it away");
        // Nobody saw who wrote it, so the session cannot say that it did.
        assert_eq!(of("two.txt"), Some(Author::Outside), "{what}");
        assert_eq!(facts.outside, ["two.txt"], "{what}");
    }
    let harmless: [(&str, Damage); 2] = [
        ("an extension that git may leave out", &|index, whole| {
            fs::write(index, extended(whole, b"ZZZZ")).unwrap();
        }),
        ("locked", &|index, _| fs::write(index.with_extension("lock"), "").unwrap()),
    ];
    for (what, damage) in harmless {
        let (facts, authors) = while_it_is(damage);
        assert_eq!((facts.unseen.len(), facts.outside.len()), (0, 0), "{what}: {authors:?}");
    }
}
