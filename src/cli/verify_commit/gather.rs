//! What is needed to judge commits: the range, the list of signers from its base, the notes.
//!
//! Reads the repository; with `--wait` fetches notes into a ref of our own. Invariant: the list never comes
//! from the range.

use super::world::{contents, unasked};
use crate::cli::refused;
use crate::refusal::Refused;
use aops_attest::code::Trouble;
use aops_attest::envelope::{LARGEST_NOTE, NOTES};
use aops_attest::pool::Note;
use aops_attest::signers::{self, Signer};
use aops_attest::strict::Malformed;
use aops_core::system::git;
use aops_core::system::git::objects::Objects;
use std::collections::BTreeSet;

/// Notes that `--wait` fetched.
const FETCHED: &str = "refs/notes/aops-attest-remote";
/// Notes of others, fetched under a name that says whose they are (`refs/notes/origin/aops-attest`).
const OF_OTHERS: &str = "refs/notes/**/aops-attest";

/// Exit 3: it cannot be checked here, which is never a pass.
pub(super) fn unchecked<T>(why: impl std::fmt::Display) -> anyhow::Result<T> {
    Err(Refused { code: 3, words: format!("cannot be checked: {why}") }.into())
}

pub(super) fn checked<T>(asked: Result<T, Trouble>) -> anyhow::Result<T> {
    asked.or_else(|trouble| unchecked(trouble.why))
}

/// The arguments that name the commits of a range; a single commit means only itself.
fn words(range: &str) -> Vec<&str> {
    if range.contains("..") {
        vec!["--topo-order", "--reverse", "--end-of-options", range]
    } else {
        vec!["--no-walk", "--end-of-options", range]
    }
}

/// The commits of a range, parents first.
pub(super) fn range(objects: &Objects, range: &str) -> anyhow::Result<Vec<String>> {
    if range.starts_with(['-', '^']) || range.is_empty() {
        return refused(format!(
            "`{range}` is not a range of commits\nhint: `aops-hook verify-commit origin/main..HEAD`"
        ));
    }
    if objects.is_shallow {
        return unchecked(
            "this is a shallow clone\nhint: `git fetch --unshallow`, or `fetch-depth: 0` in a workflow",
        );
    }
    range.split("..").try_for_each(|end| check_meaning(objects, end.trim_start_matches('.')))?;
    let ids = objects.lines(&[&["rev-list"], &words(range)[..]].concat(), b"").or_else(unchecked)?;
    if ids.is_empty() {
        return unchecked(format!(
            "`{range}` has no commit\nhint: the base comes first: `origin/main..HEAD`"
        ));
    }
    Ok(ids)
}

/// Where git looks for a name, in this order.
const PLACES: [&str; 6] = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/", "refs/remotes//HEAD"];

/// Refuses a name that several refs have: git takes a tag `origin/main` for the remote's branch, and anybody
/// whose commits are checked may have made the tag.
fn check_meaning(objects: &Objects, end: &str) -> anyhow::Result<()> {
    let name = &end[..end.find(['~', '^', '@', ':']).unwrap_or(end.len())];
    if name.is_empty() || name == "HEAD" {
        return Ok(());
    }
    let place = |place: &str| match place.split_once("//") {
        Some((before, behind)) => format!("{before}/{name}/{behind}"),
        None => format!("{place}{name}"),
    };
    let places = PLACES.map(place);
    let asked: Vec<&str> = places.iter().map(String::as_str).collect();
    let words = [&["for-each-ref", "--format=%(refname)", "--"], &asked[..]].concat();
    let mut refs = objects.lines(&words, b"").or_else(unchecked)?;
    refs.retain(|found| places.contains(found));
    let is_id = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if refs.len() < 2 && !(is_id && refs.len() == 1) {
        return Ok(());
    }
    unchecked(format!(
        "`{name}` is ambiguous: {}\nhint: write the one you mean in full, like `{}`",
        refs.join(", "),
        refs.last().map_or("", String::as_str)
    ))
}

/// The list at `REF:PATH`, which must be older than the range.
pub(super) fn list(objects: &Objects, place: &str, range: &str, many: usize) -> anyhow::Result<Vec<Signer>> {
    let odd = || format!("`{place}` names no list\nhint: `--signers origin/main:.aops/signers`");
    let Some((at, path)) =
        place.split_once(':').filter(|(at, path)| !at.is_empty() && !at.starts_with('-') && !path.is_empty())
    else {
        return refused(odd());
    };
    check_meaning(objects, at)?;
    let commit = format!("{at}^{{commit}}");
    let base = objects.lines(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit], b"");
    let Some(base) = base.ok().and_then(|lines| lines.last().cloned()) else {
        return unchecked(format!("`{at}` is not here\nhint: fetch the base of the range"));
    };
    let newer = format!("^{base}");
    let words = [&["rev-list"], &words(range)[..], &[newer.as_str()]].concat();
    if objects.lines(&words, b"").or_else(unchecked)?.len() < many {
        return refused(format!(
            "`{at}` has commits of the range, so the range could name its own signers\n\
            hint: take the list from the base: `origin/main:{path}`"
        ));
    }
    let found = checked(contents(objects, &[format!("{base}:{path}")]))?.pop().flatten();
    let Some(found) = found else {
        return refused(format!("`{at}` has no file `{path}`\nhint: `docs/attest.md` shows one"));
    };
    let text = String::from_utf8(found).map_err(|_| Malformed("it is not text".to_owned()));
    text.and_then(|text| signers::parse(&text)).or_else(|Malformed(why)| refused(format!("`{place}`: {why}")))
}

/// The root commits of these histories.
pub(super) fn roots(objects: &Objects, ids: &[String]) -> anyhow::Result<Vec<String>> {
    let tips: String = ids.iter().flat_map(|id| [id.as_str(), "\n"]).collect();
    objects.lines(&["rev-list", "--max-parents=0", "--stdin"], tips.as_bytes()).or_else(unchecked)
}

/// How many commits named by statements are examined: each needs a walk through the history.
const MOST_ROOTS: usize = 64;

/// Which of these commits share a first commit with the range, and so belong to this repository. The commit
/// where a shallow clone was cut is not a root, but exists here.
pub(super) fn of_history(
    objects: &Objects,
    commits: &BTreeSet<String>,
    roots: &[String],
) -> Result<Vec<String>, Trouble> {
    let rows: String = commits.iter().flat_map(|id| [id.as_str(), "\n"]).collect();
    let told = objects.lines(&["cat-file", "--batch-check"], rows.as_bytes()).map_err(unasked)?;
    let here = commits.iter().zip(told).filter(|(id, row)| row.starts_with(&format!("{id} commit ")));
    let mut found = Vec::new();
    for (id, _) in here.take(MOST_ROOTS) {
        let own =
            objects.lines(&["rev-list", "--max-parents=0", "--end-of-options", id], b"").map_err(unasked)?;
        if own.iter().any(|root| roots.contains(root)) {
            found.push(id.clone());
        }
    }
    Ok(found)
}

/// Every note of ours, with its commit.
pub(super) fn notes(objects: &Objects) -> Result<Vec<(Option<String>, Note)>, Trouble> {
    let refs = objects
        .lines(&["for-each-ref", "--format=%(objectname)", NOTES, FETCHED, OF_OTHERS], b"")
        .map_err(unasked)?;
    let mut found = Vec::new();
    let mut blobs = Vec::new();
    let mut of = Vec::new();
    for tip in refs {
        let listed = objects.ask(&["ls-tree", "-r", "-l", "-z", &tip], b"").map_err(unasked)?;
        for row in listed.split(|byte| *byte == 0).filter(|row| !row.is_empty()) {
            let row = String::from_utf8_lossy(row);
            let Some((about, path)) = row.split_once('\t') else { continue };
            let [_, "blob", blob, size] = about.split_whitespace().collect::<Vec<_>>()[..] else { continue };
            let commit = Some(path.replace('/', ""));
            if size.parse::<usize>().is_ok_and(|size| size <= LARGEST_NOTE) {
                blobs.push(blob.to_owned());
                of.push(commit);
            } else {
                found.push((commit, Note::TooLarge));
            }
        }
    }
    let texts = contents(objects, &blobs)?;
    found.extend(of.into_iter().zip(texts).filter_map(|(commit, text)| Some((commit, Note::Text(text?)))));
    Ok(found)
}

/// Fetches the notes from this address, or else from the clone's remote, if there is one.
pub(super) fn fetch(objects: &Objects, address: Option<&str>) {
    let env = objects.env;
    let Some(remote) = address.map(str::to_owned).or_else(|| git::remote(env, &env.cwd, "")) else { return };
    let what = format!("+{NOTES}:{FETCHED}");
    let words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", &remote, &what];
    // Without notes there, or without a network, the next check finds nothing new.
    let _ = git::run(env, &env.cwd, &words, b"", std::time::Duration::from_secs(30));
}
