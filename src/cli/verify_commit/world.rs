//! What git and ssh say, for judging commits: with only one start for each kind of question.
//!
//! Starts `git` and `ssh-keygen`; writes into a private folder that is thrown away.

use aops_attest::change::Change;
use aops_attest::code::{Code, Trouble};
use aops_attest::envelope::APPROVE;
use aops_attest::signers::{Signer, SignerKey};
use aops_attest::world::{Commit, Merge, World};
use aops_core::system::files::replace_private;
use aops_core::system::git::objects::Objects;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Ending, Task, variable};
use std::time::Duration;

/// The time limit for `ssh-keygen`, which reads a few files.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much of the output of `ssh-keygen` is kept.
const KEPT: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Repository<'a> {
    pub(super) objects: &'a Objects<'a>,
    pub(super) signers: &'a [Signer],
}

/// It could not be asked.
pub(super) fn unasked(why: impl Into<String>) -> Trouble {
    Trouble::new(Code::Objects, why)
}

fn joined(lines: impl IntoIterator<Item = String>) -> Vec<u8> {
    lines.into_iter().flat_map(|line| [line, "\n".to_owned()]).collect::<String>().into_bytes()
}

/// Answers of `git cat-file --batch`: each object's content, or `None`.
pub(super) fn contents(objects: &Objects, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, Trouble> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let said = objects.ask(&["cat-file", "--batch"], &joined(names.iter().cloned())).map_err(unasked)?;
    let mut rest = &said[..];
    let one = |_: &String| {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let after = &rest[end + 1..];
        rest = after;
        if head.ends_with(" missing") || head.ends_with(" ambiguous") {
            return Some(None);
        }
        let long: usize = head.rsplit(' ').next()?.parse().ok()?;
        let (content, after) = rest.split_at_checked(long)?;
        rest = after.strip_prefix(b"\n")?;
        Some(Some(content.to_vec()))
    };
    let all: Option<Vec<Option<Vec<u8>>>> = names.iter().map(one).collect();
    all.ok_or_else(|| unasked("`git cat-file` gave an unexpected answer"))
}

/// The head of a commit object: each header with its value, continued lines joined.
fn headers(head: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in head.lines() {
        match (line.strip_prefix(' '), found.last_mut()) {
            (Some(more), Some((_, value))) => *value = format!("{value}\n{more}"),
            _ => found.extend(line.split_once(' ').map(|(name, value)| (name.to_owned(), value.to_owned()))),
        }
    }
    found
}

fn is_signature(name: &str) -> bool {
    matches!(name, "gpgsig" | "gpgsig-sha256")
}

const OF_SSH: &str = "-----BEGIN SSH SIGNATURE-----";

/// The commit without its change, and without its parent's tree.
fn parse(id: &str, content: &[u8]) -> Option<Commit> {
    let text = String::from_utf8_lossy(content);
    let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
    let headers = headers(head);
    let values =
        |name: &'static str| headers.iter().filter(move |(is, _)| is == name).map(|(_, value)| value.clone());
    Some(Commit {
        id: id.to_owned(),
        parents: values("parent").collect(),
        tree: values("tree").next()?,
        origin: format!("{}\n{message}", values("author").next()?),
        subject: message.trim_start().lines().next().unwrap_or_default().to_owned(),
        is_signed: headers.iter().any(|(name, value)| is_signature(name) && value.starts_with(OF_SSH)),
        ..Commit::default()
    })
}

/// The signed content, and the signature.
fn signed_part(content: &[u8]) -> Option<(Vec<u8>, String)> {
    let end = content.windows(2).position(|pair| pair == b"\n\n").unwrap_or(content.len());
    let (head, rest) = content.split_at(end);
    let mut payload = Vec::new();
    let mut signature = String::new();
    let mut inside = false;
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        inside = match text.split_once(' ') {
            Some(("", _)) => inside,
            Some((name, _)) => is_signature(name),
            None => false,
        };
        match (inside, text.split_once(' ')) {
            (true, Some((_, value))) => signature += value,
            (true, None) => signature += &text,
            (false, _) => payload.extend(line),
        }
    }
    // If the signature is the last header, the line feed after it belongs to the head.
    let rest = if payload.ends_with(b"\n") { rest.strip_prefix(b"\n").unwrap_or(rest) } else { rest };
    payload.extend(rest);
    signature.starts_with(OF_SSH).then_some((payload, signature + "\n"))
}

impl Repository<'_> {
    fn ssh(&self, words: &[&str], input: &[u8]) -> Result<(bool, String), Trouble> {
        let env = self.objects.env;
        let missing =
            |error: &dyn std::fmt::Display| unasked(format!("`ssh-keygen` cannot be started: {error}"));
        let program = Program::find(env, Identity::OnPath("ssh-keygen")).map_err(|error| missing(&error))?;
        let args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let variables =
            [variable("PATH", env.search_path()), variable("HOME", &env.home), variable("LC_ALL", "C")];
        let task = Task {
            input,
            keep: KEPT,
            ..Task::new(&program, &args, &self.objects.scratch.0, &variables, PATIENCE)
        };
        let said = process::run(&task).map_err(|error| missing(&error))?;
        Ok((said.ending == Ending::Exit(0), String::from_utf8_lossy(&said.stdout).into_owned()))
    }

    /// The signer whose key made this signature.
    fn signer_of(&self, bytes: &[u8], signature: &str, purpose: &str) -> Result<Option<usize>, Trouble> {
        let row = |(at, signer): (usize, &Signer)| match &signer.key {
            SignerKey::Person(key) => Some(format!("signer-{at} {key}")),
            SignerKey::Log(_) => None,
        };
        let rows = joined(self.signers.iter().enumerate().filter_map(row));
        if rows.is_empty() {
            return Ok(None);
        }
        for (name, bytes) in [("allowed", &rows[..]), ("signature", signature.as_bytes())] {
            replace_private(&self.objects.scratch.0.join(name), bytes)
                .map_err(|error| unasked(error.to_string()))?;
        }
        let files = ["-f", "allowed", "-s", "signature"];
        let (found, said) = self.ssh(&[&["-Y", "find-principals"], &files[..]].concat(), b"")?;
        let name = said.lines().next().unwrap_or_default().split(',').next().unwrap_or_default();
        let place = name.strip_prefix("signer-").and_then(|at| at.parse::<usize>().ok()).filter(|_| found);
        let Some(place) = place else { return Ok(None) };
        let (right, _) =
            self.ssh(&[&["-Y", "verify", "-n", purpose, "-I", name], &files[..]].concat(), bytes)?;
        Ok(Some(place).filter(|_| right))
    }
}

impl World for Repository<'_> {
    fn commits(&mut self, ids: &[String]) -> Result<Vec<Option<Commit>>, Trouble> {
        let read = contents(self.objects, ids)?;
        let parsed = read.iter().zip(ids).map(|(content, id)| parse(id, content.as_deref()?));
        let mut commits: Vec<Option<Commit>> = parsed.collect();
        let first = commits.iter().flatten().filter_map(|commit| commit.parents.first().cloned());
        let mut above = self.trees(&first.collect::<Vec<_>>())?.into_iter();
        for commit in commits.iter_mut().flatten() {
            commit.parent_tree = if commit.parents.is_empty() {
                self.objects.format.empty_tree().to_owned()
            } else {
                above
                    .next()
                    .flatten()
                    .ok_or_else(|| unasked(format!("the parent of {} is missing", commit.id)))?
            };
        }
        let pairs: Vec<(String, String)> = commits
            .iter()
            .flatten()
            .map(|commit| (commit.parent_tree.clone(), commit.tree.clone()))
            .collect();
        for (commit, change) in commits.iter_mut().flatten().zip(self.changes(&pairs)?) {
            commit.digest = change.digest();
            commit.change = change;
        }
        Ok(commits)
    }

    fn trees(&mut self, ids: &[String]) -> Result<Vec<Option<String>>, Trouble> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let asked = joined(ids.iter().map(|id| format!("{id}^{{tree}}")));
        let said = self.objects.lines(&["cat-file", "--batch-check"], &asked).map_err(unasked)?;
        let tree = |line: &String| {
            let words: Vec<&str> = line.split(' ').collect();
            (words.get(1) == Some(&"tree")).then(|| words[0].to_owned())
        };
        if said.len() == ids.len() {
            Ok(said.iter().map(tree).collect())
        } else {
            Err(unasked("`git cat-file` gave an unexpected answer"))
        }
    }

    fn changes(&mut self, pairs: &[(String, String)]) -> Result<Vec<Change>, Trouble> {
        let words =
            ["diff-tree", "--stdin", "-r", "-z", "--no-renames", "--full-index", "--ignore-submodules=none"];
        let words = [&words[..], &["--no-ext-diff", "--no-textconv"]].concat();
        let pairs: Vec<String> = pairs.iter().map(|(old, new)| format!("{old} {new}")).collect();
        let said = if pairs.is_empty() {
            Vec::new()
        } else {
            self.objects.ask(&words, &joined(pairs.iter().cloned())).map_err(unasked)?
        };
        let mut rest = &said[..];
        let one = |pair: &String| {
            rest = rest.strip_prefix(pair.as_bytes())?.strip_prefix(b"\n")?;
            Change::take(&mut rest)
        };
        let all: Option<Vec<Change>> = pairs.iter().map(one).collect();
        all.ok_or_else(|| unasked("`git diff-tree` gave an unexpected answer"))
    }

    fn merges(&mut self, wanted: &[Merge]) -> Result<Vec<Option<String>>, Trouble> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let line = |Merge { base, ours, theirs }: &Merge| match base {
            Some(base) => format!("{base} -- {ours} {theirs}"),
            None => format!("{ours} {theirs}"),
        };
        let words =
            ["merge-tree", "--stdin", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories"];
        let said = self.objects.ask(&words, &joined(wanted.iter().map(line))).map_err(unasked)?;
        read_merges(&said, wanted.len()).ok_or_else(|| unasked("`git merge-tree` gave an unexpected answer"))
    }

    fn history(&mut self, of: &[String], without: &[String]) -> Result<Vec<(String, Vec<String>)>, Trouble> {
        let asked = joined(of.iter().cloned().chain(without.iter().map(|id| format!("^{id}"))));
        let words = ["rev-list", "--topo-order", "--reverse", "--parents", "--stdin"];
        let lines = self.objects.lines(&words, &asked).map_err(unasked)?;
        let row = |line: &String| {
            let mut ids = line.split(' ').map(str::to_owned);
            Some((ids.next()?, ids.collect()))
        };
        Ok(lines.iter().filter_map(row).collect())
    }

    fn approver(&mut self, bytes: &[u8], signature: &str) -> Result<Option<usize>, Trouble> {
        self.signer_of(bytes, signature, APPROVE)
    }

    fn committer(&mut self, commit: &str) -> Result<Option<usize>, Trouble> {
        let content = contents(self.objects, &[commit.to_owned()])?.pop().flatten();
        let signed = content.as_deref().and_then(signed_part);
        signed.map_or(Ok(None), |(payload, signature)| self.signer_of(&payload, &signature, "git"))
    }
}

/// `1` and the tree for a clean merge; `0`, the tree and paths for another. Each ends with an empty word.
fn read_merges(said: &[u8], many: usize) -> Option<Vec<Option<String>>> {
    let mut words = said.split(|byte| *byte == 0);
    let mut one = || {
        let is_clean = match words.next()? {
            b"1" => true,
            b"0" => false,
            _ => return None,
        };
        let tree = String::from_utf8(words.next()?.to_vec()).ok()?;
        while !words.next()?.is_empty() {}
        Some(Some(tree).filter(|_| is_clean))
    };
    (0..many).map(|_| one()).collect()
}
