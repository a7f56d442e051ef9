//! The merges of forges, made here by git in the steps that the forges take: which are bound, with the
//! commits of the branch at hand and without them. Where `AOPS_FORGE` names a Gitea, it makes its own.

use super::history::{Dice, attest, bindings, change, forgeries, lines};
use super::second;
use super::shop::{Shop, long};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;

/// What a forge leaves on the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forge {
    /// GitHub, Gitea: one commit on the tip of the base, with the tree of the merge; the forge commits it.
    Squash,
    /// GitLab: one commit on the merge base with the branch's last tree, and a merge of that.
    SquashAndMerge,
    /// GitHub: every commit anew on the tip of the base, also where the base has not moved; the forge commits
    /// it.
    Rebase,
    /// Gitea, GitLab: `git rebase`, and the base is moved there.
    RebaseByGit,
    /// A real Gitea merges it, in this of its styles.
    Gitea(&'static str),
}

const ALL: [Forge; 4] = [Forge::Squash, Forge::SquashAndMerge, Forge::Rebase, Forge::RebaseByGit];

impl Forge {
    /// Merges the branch; the base is at the result afterwards.
    fn merge(self, shop: &Shop, branch: &str) {
        let git = |words: &[&str]| {
            let mut command = shop.sandbox.command("git");
            let by = [("GIT_COMMITTER_NAME", "GitHub"), ("GIT_COMMITTER_EMAIL", "noreply@github.com")];
            let output = command.args(words).envs(by).current_dir(&shop.folder).output().unwrap();
            assert!(output.status.success(), "git {words:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
        };
        if let Self::Gitea(style) = self {
            merge_there(shop, branch, style);
            git(&["checkout", "-q", "main"]);
            git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
            return;
        }
        let from = git(&["merge-base", "main", branch]);
        let words = format!("Change {branch} (#7)\n\n* one\n* two");
        let committed = |tree: &str, parent: &str| git(&["commit-tree", "-p", parent, "-m", &words, tree]);
        git(&["checkout", "-q", "main"]);
        match self {
            Self::Squash => {
                let tree = git(&["merge-tree", "--write-tree", "main", branch]);
                let squash = committed(&tree, "main");
                git(&["reset", "-q", "--hard", &squash]);
            }
            Self::SquashAndMerge => {
                let squash = committed(&format!("{branch}^{{tree}}"), &from);
                git(&["merge", "-q", "--no-ff", "-m", "Merge branch", &squash]);
            }
            Self::Rebase => drop(git(&["cherry-pick", &format!("{from}..{branch}")])),
            Self::RebaseByGit => {
                git(&["checkout", "-q", "--detach", branch]);
                git(&["rebase", "-q", "main"]);
                git(&["checkout", "-q", "-B", "main"]);
            }
            Self::Gitea(_) => unreachable!("merged above"),
        }
    }
}

/// The API of an empty repository at a Gitea, such as `http://name:token@host/api/v1/repos/name/it`.
#[expect(clippy::disallowed_methods, reason = "which forge to ask is the caller's to say")]
fn gitea() -> String {
    env::var("AOPS_FORGE")
        .expect("AOPS_FORGE: the API of an empty repository at a Gitea, with name and token")
}

/// The Gitea makes a pull request of the branch and merges it; `FETCH_HEAD` is its base afterwards.
fn merge_there(shop: &Shop, branch: &str, style: &str) {
    let api = gitea();
    let remote = format!("{}.git", api.replace("/api/v1/repos", ""));
    shop.git(&["push", "-q", "-f", &remote, "main:main", branch]);
    let pull = json!({"base": "main", "head": branch, "title": branch});
    let made = post(shop, &format!("{api}/pulls"), &pull);
    let told: Value = serde_json::from_str(&made).unwrap_or_else(|_| panic!("{made}"));
    let merge = format!("{api}/pulls/{}/merge", told["number"]);
    post(shop, &merge, &json!({"Do": style}));
    shop.git(&["fetch", "-q", &remote, "main"]);
}

/// What a Gitea answers. It says 405 as long as it works out whether the branch has conflicts.
fn post(shop: &Shop, address: &str, body: &Value) -> String {
    let mut curl = shop.sandbox.command("curl");
    curl.args(["-sS", "--fail-with-body", "--retry", "30", "--retry-all-errors", "--retry-delay", "1"]);
    let told = curl.args(["-H", "Content-Type: application/json", "-d", &body.to_string(), address]);
    let output = told.output().unwrap();
    assert!(output.status.success(), "{body}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Bindings of the commits that a forge made: with the branch's own commits at hand, and in a clone of the
/// base alone.
#[derive(Debug, Default)]
struct Found {
    with: BTreeMap<String, usize>,
    without: BTreeMap<String, usize>,
    forged: usize,
}

/// So many branches of up to three commits, each merged by this forge; the base moves meanwhile, but for
/// every fourth.
fn measure(forge: Forge, count: usize) -> Found {
    let mut shop = Shop::new();
    let (mut dice, mut found) = (Dice(11), Found::default());
    let mut texts: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for number in 0..3 {
        shop.put(&format!("file-{number}.txt"), long(&[]));
    }
    shop.commit("files");
    for number in 0..count {
        let branch = format!("branch-{number}");
        shop.git(&["checkout", "-q", "-B", &branch, "main"]);
        let base = shop.head();
        let mut moved = texts.clone();
        for step in 0..=dice.below(3) {
            // The base changes other lines, far enough away.
            change(&shop, &mut texts, &mut dice, 0, &format!("branch {number} step {step}"));
        }
        let file = attest(&shop, &lines(&shop.git(&["rev-list", "--reverse", &format!("{base}..{branch}")])));
        shop.git(&["checkout", "-q", "main"]);
        if number % 4 != 3 {
            change(&shop, &mut moved, &mut dice, 20, &format!("base {number}"));
            for (name, rows) in moved {
                texts.entry(name).or_default().extend(rows.into_iter().filter(|(at, _)| *at > 20));
            }
        }
        let onto = shop.head();
        forge.merge(&shop, &branch);
        let range = format!("{onto}..main");
        for binding in bindings(&shop, &range, &file) {
            *found.with.entry(binding).or_default() += 1;
        }
        agrees(&shop, &range, &file);
        for (what, forged) in forgeries(&shop, "main") {
            let bound = bindings(&shop, &format!("{forged}^..{forged}"), &file);
            assert_eq!(bound, ["-"], "{forge:?}: {what}");
            found.forged += 1;
        }
        let (clone, whole) = (shop.sandbox.tmp().join(&branch), shop.folder.clone());
        shop.git(&[
            "clone",
            "-q",
            "--no-local",
            "--single-branch",
            "--branch",
            "main",
            ".",
            clone.to_str().unwrap(),
        ]);
        shop.folder = clone;
        let range = range.replace("main", "HEAD");
        for binding in bindings(&shop, &range, &file) {
            *found.without.entry(binding).or_default() += 1;
        }
        agrees(&shop, &range, &file);
        shop.folder = whole;
    }
    found
}

/// The second verifier says the same.
fn agrees(shop: &Shop, range: &str, file: &str) {
    let key = shop.log.public();
    let words = [range, "--key", &key, "--from", file, "--people", "none", "--format", "json"];
    let answer = shop.run(&words);
    let told: Value = serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{answer:#?}"));
    second::agrees(shop, &words, answer.code.unwrap(), &told);
}

/// All are bound where the branch's commits are at hand, and all that a rebase made without them too. Which
/// squashes are depends on how often the base changed the same files, which is made up here: the share is
/// printed, and `real_histories` has that of real ones.
#[track_caller]
#[expect(clippy::print_stdout, reason = "the share is for a person to read")]
fn holds(forges: &[Forge], count: usize) {
    for &forge in forges {
        let found = measure(forge, count);
        println!("{forge:?}, {count} merges: {found:?}");
        let all = |bound: &BTreeMap<String, usize>| bound.values().sum::<usize>();
        assert!(!found.with.contains_key("-"), "{forge:?}: {found:?}");
        let is_rebase = matches!(forge, Forge::Rebase | Forge::RebaseByGit | Forge::Gitea("rebase"));
        assert!(!is_rebase || !found.without.contains_key("-"), "{forge:?}: {found:?}");
        assert_eq!(all(&found.with), all(&found.without), "{forge:?}: {found:?}");
        assert!(all(&found.with) >= count && found.forged >= count, "{forge:?}: {found:?}");
    }
}

#[test]
fn the_merges_of_forges_are_bound() {
    holds(&ALL, 3);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn twenty_merges_of_each_forge_are_bound() {
    holds(&ALL, 20);
}

#[test]
#[ignore = "needs a Gitea: AOPS_FORGE"]
fn twenty_merges_that_a_gitea_made_are_bound() {
    holds(&[Forge::Gitea("squash"), Forge::Gitea("rebase")], 20);
}
