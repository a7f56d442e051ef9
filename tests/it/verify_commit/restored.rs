//! Rebased commits whose originals are nowhere: the attested tree is made again from what is here, and
//! nothing else passes for it.

use super::shop::{Shop, long};

/// Leaves what `base` and `HEAD` have and the notes; nothing of where the commits came from.
pub(super) fn forget_originals(shop: &mut Shop) {
    let bare = shop.sandbox.tmp().join("forge.git");
    shop.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    let notes = "refs/notes/aops-attest:refs/notes/aops-attest";
    shop.git(&["push", "-q", bare.to_str().unwrap(), "base:base", "HEAD:refs/heads/made", notes]);
    let clone = shop.sandbox.tmp().join("without");
    let address = format!("file://{}", bare.display());
    shop.git(&["clone", "-q", "--branch", "made", &address, clone.to_str().unwrap()]);
    shop.folder = clone;
    shop.git(&["fetch", "-q", "origin", "base:base", notes]);
}

/// Three attested commits in the same file, which the base changes elsewhere.
fn branch() -> Shop {
    let shop = Shop::new();
    shop.put("b.txt", long(&[(20, "as it should be")]));
    shop.commit("more on the base");
    shop.git(&["branch", "-f", "base"]);
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.attested("a.txt", long(&[(3, "three"), (12, "twelve")]));
    shop.attested("b.txt", long(&[(3, "three"), (20, "as it should be")]));
    shop
}

/// The base moves in both files; the branch is where it was.
fn moved() -> Shop {
    let shop = branch();
    shop.move_base("a.txt", &long(&[(38, "moved")]));
    shop.move_base("b.txt", &long(&[(20, "as it should be"), (38, "moved")]));
    shop
}

#[test]
fn a_rebased_branch_is_bound_without_its_originals() {
    let mut shop = moved();
    shop.git(&["rebase", "-q", "base", "main"]);
    forget_originals(&mut shop);
    shop.passes(&["--require", "A2"], &["replay A2 ok"; 3]);
    // The tests ran on the tree of before.
    shop.fails(&["--tests=here"], 1, &["replay A2 PROPERTY"; 3]);
    // Some of the branch, or one that stands on a commit by hand now.
    assert_eq!(shop.found(&["base..HEAD^"]).1, ["replay A2 ok"; 2]);
    assert_eq!(shop.found(&["HEAD"]).1, ["- - NONE"], "what it stands on is not in the range");
}

/// What the branch was put on is attested as well.
#[test]
fn a_rebase_onto_an_attested_base() {
    let mut shop = branch();
    shop.git(&["checkout", "-q", "base"]);
    shop.attested("a.txt", long(&[(38, "moved")]));
    shop.git(&["rebase", "-q", "base", "main"]);
    forget_originals(&mut shop);
    shop.passes(&[], &["replay A2 ok", "replay A2 ok", "change A2 ok"]);
}

/// The rebased branch with this done to its last commit: (exit code, what is said of it).
fn forged(change: impl FnOnce(&Shop)) -> (i32, String) {
    let mut shop = moved();
    shop.git(&["rebase", "-q", "base", "main"]);
    change(&shop);
    shop.git(&["add", "-A"]);
    shop.git(&["commit", "-q", "--amend", "--no-edit"]);
    forget_originals(&mut shop);
    let (code, found) = shop.found(&["base..HEAD"]);
    assert_eq!(found[..2], ["replay A2 ok"; 2]);
    (code, found[2].clone())
}

/// What somebody does to the rebased branch.
type Deed = Box<dyn FnOnce(&Shop)>;

#[test]
fn nothing_else_passes_for_a_restored_commit() {
    let own = [(3, "three"), (20, "as it should be"), (38, "moved")];
    assert_eq!(forged(|_| {}), (0, "replay A2 ok".to_owned()));
    let changed: [(&str, Deed); 8] = [
        ("a line more", Box::new(move |shop| shop.put("b.txt", long(&own) + "evil\n"))),
        ("an indentation", Box::new(move |shop| shop.put("b.txt", long(&own).replace("three", " three")))),
        (
            "the base's line taken back",
            Box::new(|shop| shop.put("b.txt", long(&[(3, "three"), (20, "as it should be")]))),
        ),
        ("other words", Box::new(move |shop| shop.put("b.txt", long(&own).replace("three", "thre")))),
        (
            "at another place",
            Box::new(|shop| {
                shop.put("b.txt", long(&[(9, "three"), (20, "as it should be"), (38, "moved")]));
            }),
        ),
        ("a file more", Box::new(|shop| shop.put("more", ""))),
        (
            "another file changed",
            Box::new(|shop| shop.put("a.txt", long(&[(3, "three"), (12, "evil"), (38, "moved")]))),
        ),
        (
            "executable",
            Box::new(|shop| {
                use std::os::unix::fs::PermissionsExt;
                let file = shop.folder.join("b.txt");
                std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
            }),
        ),
    ];
    for (what, change) in changed {
        let (code, said) = forged(change);
        assert!(code == 1 && said.starts_with("- - "), "{what}: {said}");
    }
}

/// Taken back onto the old base the forged commit is the attested one: both put the old line there. Only the
/// way forward tells.
#[test]
fn work_of_others_is_not_taken_back() {
    for line in ["put right by others", "as it was"] {
        let mut shop = Shop::new();
        shop.put("b.txt", long(&[(20, "as it was")]));
        shop.commit("more on the base");
        shop.git(&["branch", "-f", "base"]);
        shop.attested("b.txt", long(&[(3, "three"), (20, "as it was")]));
        shop.move_base("b.txt", &long(&[(20, "put right by others")]));
        shop.git(&["checkout", "-q", "-b", "made"]);
        shop.put("b.txt", long(&[(3, "three"), (20, line)]));
        shop.commit("three");
        forget_originals(&mut shop);
        let is_honest = line == "put right by others";
        let said = if is_honest { "replay A2 ok" } else { "- - NONE" };
        assert_eq!(shop.found(&["base..HEAD"]), (i32::from(!is_honest), vec![said.to_owned()]));
    }
}

/// As many git calls for a long branch as for a short one.
#[test]
fn starts_of_git_do_not_grow_with_what_is_restored() {
    let starts = |many: usize| {
        let mut shop = Shop::new();
        for n in 0..many {
            shop.attested("a.txt", long(&[(3, &format!("three {n}"))]));
        }
        shop.move_base("a.txt", &long(&[(38, "moved")]));
        shop.git(&["rebase", "-q", "base", "main"]);
        forget_originals(&mut shop);
        let words = ["base..HEAD", "--require", "A2", "--json", "--signers", "base:.aops/signers"];
        let (said, started) = shop.starts_of_git(&words);
        let commits = said["commits"].as_array().unwrap();
        assert!(said["ok"] == true && commits.len() == many, "{said}");
        assert!(commits.iter().all(|commit| commit["binding"] == "replay"), "{said}");
        started
    };
    let (few, many) = (starts(3), starts(30));
    assert!(few == many && many < 24, "{few} starts for 3 commits, {many} for 30");
}
