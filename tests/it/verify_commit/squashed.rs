//! Squashes that need more than one merge after the other: steps that conflict with each other, a fixup that
//! went past other commits, a branch that is nowhere.

use super::restored::forget_originals;
use super::shop::{Shop, facts, long};
use crate::support::BINARY;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The base changes line 20, and a draft on the branch does so too, which a later commit takes back: one by one
/// its commits conflict with the base, together they do not.
fn with_a_draft() -> Shop {
    let shop = Shop::new();
    shop.put("a.txt", long(&[(30, "base")]));
    shop.commit("more on the base");
    shop.git(&["branch", "-f", "base"]);
    shop.attested("a.txt", long(&[(3, "three"), (20, "draft"), (30, "base")]));
    shop.attested("a.txt", long(&[(3, "three"), (30, "base")]));
    shop.attested("a.txt", long(&[(3, "three"), (10, "ten"), (30, "base")]));
    shop.git(&["branch", "branch"]);
    shop.move_base("a.txt", &long(&[(20, "moved"), (30, "base")]));
    shop
}

#[test]
fn a_squash_whose_steps_conflict() {
    let shop = with_a_draft();
    shop.squash();
    shop.passes(&["--require", "A2"], &["replay A2 ok"]);
    // Also a part of the branch: the draft and what takes it back.
    shop.git(&["checkout", "-q", "-b", "beginning", "base"]);
    shop.git(&["merge", "-q", "--squash", "branch^"]);
    shop.commit("beginning");
    shop.passes(&["--require", "A2"], &["replay A2 ok"]);
}

/// Squashed where they were, then put onto the base: the fixup first, so that no step conflicts.
#[test]
fn fixups_before_a_rebase() {
    let shop = with_a_draft();
    shop.git(&["checkout", "-q", "-b", "fixed", "branch~3"]);
    shop.git(&["merge", "-q", "--squash", "branch^"]);
    shop.commit("three");
    shop.git(&["cherry-pick", "branch"]);
    shop.git(&["rebase", "-q", "base"]);
    shop.passes(&["--require", "A2"], &["replay A2 ok"; 2]);
}

/// `git rebase -i --autosquash` puts a fixup to the commit that it is for, past another in the same file.
#[test]
fn a_fixup_goes_past_other_commits() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "thre")]));
    let first = shop.head();
    shop.attested("a.txt", long(&[(3, "thre"), (12, "twelve")]));
    shop.put("a.txt", long(&[(3, "three"), (12, "twelve")]));
    shop.git(&["commit", "-qa", "--fixup", &first]);
    let fixup = shop.head();
    shop.attest(&fixup, |_| {});
    shop.move_base("a.txt", &long(&[(30, "moved")]));
    shop.git(&["checkout", "-q", "-b", "fixed", "main"]);
    shop.git(&["-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "base"]);
    assert_eq!(shop.git(&["rev-list", "--count", "base..HEAD"]), "2");
    shop.passes(&["--require", "A2"], &["replay A2 ok"; 2]);
}

/// The lowest of what was squashed counts, also of what is taken back.
#[test]
fn what_was_taken_back_counts_as_well() {
    let shop = Shop::new();
    shop.put("a.txt", long(&[(20, "draft")]));
    let draft = shop.commit("draft");
    shop.attest(&draft, |statement| facts(statement).qa = None);
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.move_base("a.txt", &long(&[(20, "moved")]));
    shop.squash();
    shop.passes(&[], &["replay A1 ok"]);
}

/// The squash with this done to it: what is said of it, with the branch at hand and without.
fn forged(change: impl Fn(&Shop)) -> [(i32, Vec<String>); 2] {
    let mut shop = with_a_draft();
    shop.squash();
    change(&shop);
    shop.git(&["add", "-A"]);
    shop.git(&["commit", "-q", "--amend", "--no-edit"]);
    let with = shop.found(&["base..HEAD"]);
    forget_originals(&mut shop);
    [with, shop.found(&["base..HEAD"])]
}

#[test]
fn a_squash_is_bound_without_its_originals() {
    let bound = (0, vec!["replay A2 ok".to_owned()]);
    assert_eq!(forged(|_| {}), [bound.clone(), bound]);
}

#[test]
fn nothing_else_passes_for_a_squash() {
    let own = [(3, "three"), (10, "ten"), (20, "moved"), (30, "base")];
    let texts = [
        ("a line more", long(&own) + "evil\n"),
        ("an indentation", long(&own).replace("three", " three")),
        ("other words", long(&own).replace("ten", "eleven")),
        ("another place", long(&[(3, "three"), (11, "ten"), (20, "moved"), (30, "base")])),
        ("the draft", long(&[(3, "three"), (10, "ten"), (20, "draft"), (30, "base")])),
        ("the base's line taken back", long(&[(3, "three"), (10, "ten"), (30, "base")])),
        ("an older line of the base taken back", long(&[(3, "three"), (10, "ten"), (20, "moved")])),
    ];
    for (what, text) in texts {
        for (code, said) in forged(|shop| shop.put("a.txt", &text)) {
            assert!(code == 1 && said[0].starts_with("- - "), "{what}: {said:?}");
        }
    }
    for (code, said) in forged(|shop| shop.put("more", "")) {
        assert!(code == 1 && said[0].starts_with("- - "), "a file more: {said:?}");
    }
}

/// What is taken back was attested by nobody, or only the beginning and the end are attested.
#[test]
fn every_commit_of_a_squash_is_attested() {
    for missing in 0..3 {
        let mut shop = Shop::new();
        let texts =
            [long(&[(3, "three"), (20, "draft")]), long(&[(3, "three")]), long(&[(3, "three"), (10, "ten")])];
        for (at, text) in texts.iter().enumerate() {
            shop.put("a.txt", text);
            let commit = shop.commit("step");
            if at != missing {
                shop.attest(&commit, |_| {});
            }
        }
        shop.move_base("a.txt", &long(&[(20, "moved")]));
        shop.squash();
        let (code, said) = shop.found(&["base..HEAD"]);
        assert!(code == 1 && said[0].starts_with("- - "), "{missing}: {said:?}");
        forget_originals(&mut shop);
        let (code, said) = shop.found(&["base..HEAD"]);
        assert!(code == 1 && said[0].starts_with("- - "), "{missing}, without the branch: {said:?}");
    }
}

/// All files below this folder, with their contents.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for item in fs::read_dir(folder).unwrap().flatten() {
        let path = item.path();
        if path.is_dir() {
            found.extend(everything(&path));
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// Merges, squashes and originals that are made again need objects: they go to a folder that is thrown away.
#[test]
fn what_a_check_needs_leaves_nothing() {
    let mut shop = with_a_draft();
    shop.git(&["checkout", "-q", "main"]);
    shop.git(&["merge", "-q", "-s", "ours", "--no-ff", "-m", "merge", "base"]);
    shop.squash();
    for is_forgotten in [false, true] {
        if is_forgotten {
            forget_originals(&mut shop);
        }
        let temporary = shop.sandbox.tmp().join("temporary");
        let _ = fs::create_dir(&temporary);
        let before = everything(&shop.folder.join(".git"));
        for range in ["base..HEAD", "base..HEAD^", "HEAD"] {
            let mut command = shop.sandbox.command(BINARY);
            let words = ["verify-commit", range, "--signers", "base:.aops/signers"];
            let said = command.args(words).env("TMPDIR", &temporary).current_dir(&shop.folder).output();
            assert!(matches!(said.unwrap().status.code(), Some(0 | 1 | 3)), "{range}");
        }
        assert!(everything(&shop.folder.join(".git")) == before, "{is_forgotten}");
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    }
}

/// The base renames a file: what the branch changed in it is in another path afterwards.
#[test]
fn a_rebase_over_a_renamed_file() {
    let mut shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.attested("a.txt", long(&[(3, "three"), (20, "twenty")]));
    shop.git(&["checkout", "-q", "base"]);
    shop.git(&["mv", "a.txt", "renamed.txt"]);
    shop.commit("renamed");
    shop.git(&["rebase", "-q", "base", "main"]);
    assert!(!shop.folder.join("a.txt").exists());
    shop.passes(&["--require", "A2"], &["replay A2 ok"; 2]);
    forget_originals(&mut shop);
    shop.passes(&["--require", "A2"], &["replay A2 ok"; 2]);
}
