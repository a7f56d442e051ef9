//! Amends, rebases, picks, squashes, merges and clones of whole histories: which share is bound, and by what. A
//! copy with a byte, a mode or a file changed is never bound.

use super::shop::{SESSION_ID, Shop, facts, long};
use aops_attest::statement::MOST_FILES;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// How many are bound by what; `-` for nothing.
type Bindings = BTreeMap<String, usize>;

/// Of one history.
#[derive(Debug, Default)]
struct Counts {
    /// The newest commit of a branch, with another message.
    amended: Bindings,
    /// Commits that `git rebase` made on a moved base.
    rebased: Bindings,
    /// The newest commit of a branch, picked onto what the branch was merged to.
    picked: Bindings,
    squashed: Bindings,
    /// Branches with git's own merge of them.
    merged: Bindings,
    /// Branches in a clone that has them, and no notes.
    cloned: Bindings,
    /// The same where the branch's own commits are nowhere.
    rebased_without: Bindings,
    squashed_without: Bindings,
    /// Merges whose rebase or squash has a conflict, which is a change of its own.
    conflicts: usize,
    forged: usize,
    forged_bound: Vec<String>,
}

fn add(to: &mut Bindings, found: Vec<String>) {
    for binding in found {
        *to.entry(binding).or_default() += 1;
    }
}

/// A merge that a person made: its first parent, the tip of the branch, and the branch's commits, oldest
/// first.
struct Merged {
    onto: String,
    tip: String,
    commits: Vec<String>,
}

/// Branches that are longer are left out.
const LONGEST: usize = 20;

pub(super) fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The newest merges of straight branches.
fn merges(shop: &Shop, most: usize) -> Vec<Merged> {
    let all = shop.git(&["rev-list", "--merges", "--min-parents=2", "--max-parents=2", "--parents", "HEAD"]);
    let one = |line: &str| {
        let ids: Vec<&str> = line.split(' ').collect();
        let [_, onto, tip] = ids[..] else { return None };
        let range = format!("{onto}..{tip}");
        let straight = shop.git(&["rev-list", "--merges", "--count", &range]) == "0";
        let commits = lines(&shop.git(&["rev-list", "--reverse", "--topo-order", &range]));
        let is_root =
            |id: &String| shop.git(&["rev-list", "--no-walk", "--count", "--max-parents=0", id]) != "0";
        let fits =
            straight && !commits.is_empty() && commits.len() <= LONGEST && !commits.iter().any(is_root);
        fits.then(|| Merged { onto: onto.to_owned(), tip: tip.to_owned(), commits })
    };
    let mut newest: Vec<Merged> = all.lines().filter_map(one).take(most).collect();
    // The oldest first: what is fetched for one has the commits of no later one.
    newest.reverse();
    newest
}

/// A repository that has what was merged onto, what was made there, and no commit of the branch.
struct Elsewhere {
    folder: PathBuf,
}

impl Elsewhere {
    fn new(shop: &Shop, name: &str) -> Self {
        let folder = shop.sandbox.tmp().join(name);
        shop.git(&["init", "-q", "--bare", folder.to_str().unwrap()]);
        Self { folder }
    }

    /// The bindings there of the commits from `onto` to `tip`.
    fn bindings(&self, shop: &mut Shop, onto: &str, tip: &str, file: &str) -> Vec<String> {
        shop.git(&["push", "-q", "-f", self.folder.to_str().unwrap(), &format!("{tip}:refs/heads/made")]);
        let whole = std::mem::replace(&mut shop.folder, self.folder.clone());
        let found = bindings(shop, &format!("{onto}..{tip}"), file);
        shop.folder = whole;
        found
    }
}

/// The lines that attest these commits, in a file.
pub(super) fn attest(shop: &Shop, commits: &[String]) -> String {
    let mut text = String::new();
    for commit in commits {
        let mut statement = shop.statement(commit, SESSION_ID);
        let files = &mut facts(&mut statement).files;
        *files = files.take().filter(|files| files.len() <= MOST_FILES);
        let at = shop.log.write(&statement);
        text += &shop.lines(&statement, at, &[]);
    }
    let file = shop.sandbox.tmp().join("branch.intoto.jsonl");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The bindings of a range; `-` for none.
pub(super) fn bindings(shop: &Shop, range: &str, file: &str) -> Vec<String> {
    let key = shop.log.public();
    let answer = shop.run(&[range, "--key", &key, "--from", file, "--people", "none", "--format", "json"]);
    let told: Value = serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{range}: {answer:#?}"));
    let binding = |one: &Value| one["binding"].as_str().unwrap_or("-").to_owned();
    told["commits"].as_array().unwrap().iter().map(binding).collect()
}

fn try_git(shop: &Shop, words: &[&str]) -> Option<String> {
    let output = shop.sandbox.command("git").args(words).current_dir(&shop.folder).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
}

fn measure(shop: &mut Shop, most: usize) -> Counts {
    let mut counts = Counts::default();
    let elsewhere = Elsewhere::new(shop, "elsewhere");
    let clone = Elsewhere::new(shop, "clone");
    for merged in merges(shop, most) {
        let file = attest(shop, &merged.commits);
        let (Merged { onto, tip, .. }, parent) = (&merged, format!("{}^", merged.tip));
        let from = format!("{}^", merged.commits[0]);
        add(&mut counts.cloned, clone.bindings(shop, &shop.git(&["rev-parse", &from]), tip, &file));
        let amended = shop.git(&["commit-tree", "-p", &parent, "-m", "amended", &format!("{tip}^{{tree}}")]);
        add(&mut counts.amended, bindings(shop, &format!("{parent}..{amended}"), &file));
        shop.git(&["checkout", "-q", "-f", "--detach", onto]);
        if try_git(shop, &["cherry-pick", tip]).is_some() {
            add(&mut counts.picked, bindings(shop, &format!("{onto}..HEAD"), &file));
        } else {
            // It needs the commits before it, or nothing is left of it.
            let _ = try_git(shop, &["cherry-pick", "--abort"]);
        }
        let is_moved = shop.git(&["merge-base", &merged.onto, &merged.tip]) != merged.onto;
        if is_moved {
            rebase(shop, &elsewhere, &merged, &file, &mut counts);
        }
        let words = ["merge-tree", "--write-tree", "--allow-unrelated-histories", &merged.onto, &merged.tip];
        let Some(tree) = try_git(shop, &words) else {
            counts.conflicts += 1;
            continue;
        };
        if tree == shop.git(&["rev-parse", &format!("{}^{{tree}}", merged.onto)]) {
            continue; // nothing is left of it
        }
        let squash = shop.git(&["commit-tree", "-p", &merged.onto, "-m", "squash", &tree]);
        add(&mut counts.squashed, bindings(shop, &format!("{}..{squash}", merged.onto), &file));
        add(&mut counts.squashed_without, elsewhere.bindings(shop, &merged.onto, &squash, &file));
        let both = ["commit-tree", "-p", &merged.onto, "-p", &merged.tip, "-m", "merge", &tree];
        let merge = shop.git(&both);
        add(&mut counts.merged, bindings(shop, &format!("{}..{merge}", merged.onto), &file));
    }
    counts
}

fn rebase(shop: &mut Shop, elsewhere: &Elsewhere, merged: &Merged, file: &str, counts: &mut Counts) {
    shop.git(&["checkout", "-q", "-f", "--detach", &merged.tip]);
    if try_git(shop, &["rebase", "-q", &merged.onto]).is_none() {
        let _ = try_git(shop, &["rebase", "--abort"]);
        counts.conflicts += 1;
        return;
    }
    let range = format!("{}..HEAD", merged.onto);
    let made = lines(&shop.git(&["rev-list", "--reverse", "--topo-order", &range]));
    if made.is_empty() {
        return;
    }
    let found = bindings(shop, &range, file);
    let tip = shop.head();
    add(&mut counts.rebased_without, elsewhere.bindings(shop, &merged.onto, &tip, file));
    add(&mut counts.rebased, found);
    for commit in &made {
        for (what, forged) in forgeries(shop, commit) {
            counts.forged += 1;
            let here = bindings(shop, &format!("{forged}^..{forged}"), file);
            // The whole branch up to the forged commit, as a pull request shows it.
            let there = elsewhere.bindings(shop, &merged.onto, &forged, file);
            if here != ["-"] || there.last().is_none_or(|last| last != "-") {
                counts.forged_bound.push(format!("{what} of {commit}: {here:?} {there:?}"));
            }
        }
    }
}

/// Copies of a commit: one byte more in a file, another mode, one more file.
pub(super) fn forgeries(shop: &Shop, commit: &str) -> Vec<(&'static str, String)> {
    let listed = shop.git(&["diff-tree", "-r", "--no-commit-id", "--no-renames", commit]);
    let row = |line: &str| {
        let (about, path) = line.split_once('\t')?;
        let words: Vec<&str> = about.split(' ').collect();
        let plain = matches!(words[1], "100644" | "100755") && !path.starts_with('"');
        plain.then(|| (words[1].to_owned(), words[3].to_owned(), path.to_owned()))
    };
    let mut made = Vec::new();
    if let Some((mode, blob, path)) = listed.lines().find_map(row) {
        let mut bytes = shop.git_bytes(&["cat-file", "blob", &blob]);
        bytes.push(b' ');
        let other = if mode == "100644" { "100755" } else { "100644" };
        made.push(("a byte", copy(shop, commit, &mode, &store(shop, &bytes), &path)));
        made.push(("a mode", copy(shop, commit, other, &blob, &path)));
    }
    made.push(("a file", copy(shop, commit, "100644", &store(shop, b"x"), "one-file-more")));
    made
}

fn store(shop: &Shop, bytes: &[u8]) -> String {
    let file = shop.sandbox.tmp().join("blob");
    fs::write(&file, bytes).unwrap();
    shop.git(&["hash-object", "-w", "--no-filters", file.to_str().unwrap()])
}

/// The commit with this content of one path.
fn copy(shop: &Shop, commit: &str, mode: &str, blob: &str, path: &str) -> String {
    let index = shop.sandbox.tmp().join("forged-index");
    let git = |words: &[&str]| {
        let mut command = shop.sandbox.command("git");
        let output =
            command.args(words).env("GIT_INDEX_FILE", &index).current_dir(&shop.folder).output().unwrap();
        assert!(output.status.success(), "git {words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    git(&["read-tree", commit]);
    git(&["update-index", "--add", "--cacheinfo", &format!("{mode},{blob},{path}")]);
    let tree = git(&["write-tree"]);
    git(&["commit-tree", "-p", &format!("{commit}^"), "-m", "forged", &tree])
}

/// All of them are bound where the original commits are there, and no forged one.
#[track_caller]
fn holds(counts: &Counts) {
    let Counts { amended, rebased, picked, squashed, merged, cloned, .. } = counts;
    for found in [amended, rebased, picked, squashed, merged, cloned] {
        assert_eq!(found.get("-"), None, "{counts:?}");
    }
    assert!(counts.forged > 0 && counts.forged_bound.is_empty(), "{counts:?}");
}

/// The same numbers at every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// Branches of up to three commits, each merged into a main line that moved meanwhile.
#[test]
fn a_made_up_history_is_bound_whole() {
    let mut shop = Shop::new();
    let mut dice = Dice(7);
    let mut texts: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for branch in 0..5 {
        shop.git(&["checkout", "-q", "-b", &format!("branch-{branch}"), "main"]);
        let before = texts.clone();
        for step in 0..=dice.below(3) {
            // The main line changes other lines, far enough away.
            change(&shop, &mut texts, &mut dice, 0, &format!("branch {branch} step {step}"));
        }
        shop.git(&["checkout", "-q", "main"]);
        let mut moved = before;
        change(&shop, &mut moved, &mut dice, 20, &format!("main {branch}"));
        shop.git(&["merge", "-q", "--no-ff", "-m", "merge", &format!("branch-{branch}")]);
        for (name, rows) in moved {
            texts.entry(name).or_default().extend(rows);
        }
    }
    let counts = measure(&mut shop, 99);
    holds(&counts);
    assert!(counts.rebased_without.contains_key("replay"), "{counts:?}");
    let all = |found: &Bindings| found.values().sum::<usize>();
    assert!(all(&counts.rebased) >= 5 && all(&counts.squashed) == 5, "{counts:?}");
    assert!(counts.rebased.contains_key("change") && counts.rebased.contains_key("replay"), "{counts:?}");
}

/// Changes a line of one file, in one half of it, and commits it.
pub(super) fn change(
    shop: &Shop,
    texts: &mut BTreeMap<String, Vec<(usize, String)>>,
    dice: &mut Dice,
    from: usize,
    what: &str,
) {
    let rows = texts.entry(format!("file-{}.txt", dice.below(3))).or_default();
    rows.push((from + 2 + 3 * dice.below(5), what.to_owned()));
    for (name, rows) in texts.iter() {
        let rows: Vec<(usize, &str)> = rows.iter().map(|(at, text)| (*at, text.as_str())).collect();
        shop.put(name, long(&rows));
    }
    shop.commit(what);
}

/// Real histories: this project's own, or those that `AOPS_HISTORIES` names, with colons between;
/// `AOPS_MERGES` of each.
#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
#[expect(clippy::disallowed_methods, reason = "which histories to measure is the caller's to say")]
fn real_histories() {
    let own = env!("CARGO_MANIFEST_DIR").to_owned();
    let named = std::env::var("AOPS_HISTORIES").unwrap_or(own);
    let most = std::env::var("AOPS_MERGES").ok().and_then(|most| most.parse().ok()).unwrap_or(60);
    for source in named.split(':').filter(|source| Path::new(source).exists()) {
        let mut shop = Shop::new();
        let clone = shop.sandbox.tmp().join("history");
        shop.git(&["clone", "-q", "--no-hardlinks", source, clone.to_str().unwrap()]);
        shop.folder = clone;
        let counts = measure(&mut shop, most);
        let mut told = String::new();
        for (what, found) in [
            ("amended", &counts.amended),
            ("rebased", &counts.rebased),
            ("picked", &counts.picked),
            ("squashed", &counts.squashed),
            ("merged", &counts.merged),
            ("cloned", &counts.cloned),
            ("rebased, without the branch", &counts.rebased_without),
            ("squashed, without the branch", &counts.squashed_without),
        ] {
            let _ = write!(told, " {what} {}: {found:?};", found.values().sum::<usize>());
        }
        println!("{source}:{told} {} conflicts; {} forged copies", counts.conflicts, counts.forged);
        holds(&counts);
    }
}
