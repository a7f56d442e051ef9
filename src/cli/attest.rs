//! `attest`: writes the attestation of a commit to a file, or attests a commit that has no attestation yet.
//!
//! Reads ledgers, git's objects and notes; writes the ledger's `attest` entry, the log, a note, and the
//! requested file.

use super::{Command, Io, operand, option, refused, text};
use crate::attest::attest_late;
use crate::attest::notes::lines as note_lines;
use crate::attest::objects::Repository;
use anyhow::Context;
use aops_core::ledger::sessions;
use aops_core::system::files::replace_private;
use aops_core::system::git::HeadFiles;
use clap::ArgMatches;
use serde_json::json;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "attest",
    about: "Attest a commit of a session, or write its attestation to a file",
    examples: &[
        (
            "aops-hook attest HEAD -o head.intoto.jsonl",
            "the statement, its signature and its proof, a line each",
        ),
        ("aops-hook attest 2b05d7d", "attest a commit that was made while nobody could sign"),
    ],
    arguments: |row| {
        row.arg(operand("commit", "COMMIT", "A commit of this repository").required(true)).arg(
            option("output", "FILE", "Where to write it; default: print how many lines there are").short('o'),
        )
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let asked = text(given, "commit").unwrap_or_default();
    let Some(files) = HeadFiles::around(&io.env.cwd) else {
        return refused("there is no repository here\nhint: run it inside the working tree of the commit");
    };
    let Some(repository) = Repository::at(io.env, &files.root) else {
        return refused("there is no repository here\nhint: run it inside the working tree of the commit");
    };
    let Some(commit) = repository.resolve(asked) else {
        return refused(format!("`{asked}` is not a commit of this repository\nhint: `git log` shows them"));
    };
    let mut lines = note_lines(&repository, &commit);
    if lines.is_empty() {
        let mut known = sessions::all(io.env);
        known.retain(|found| !found.session_id.is_empty());
        let asked = known
            .iter()
            .map(|found| attest_late(io.env, &found.path, &found.session_id, &files.root, &commit))
            .fold(Ok(()), Result::and);
        lines = note_lines(&repository, &commit);
        if lines.is_empty() {
            asked?;
        }
    }
    if lines.is_empty() {
        return refused(format!(
            "no session here recorded commit `{commit}`\n\
            hint: set `witness.attest = \"notes\"` before the session, and \
             `aops-hook key show` says whether there is a key"
        ));
    }
    let Some(path) = text(given, "output") else {
        let words = format!("commit {commit} has {} lines in `refs/notes/aops-attest`", lines.len());
        return io.answer(&json!({"commit": commit, "lines": lines.len()}), words);
    };
    let path = io.env.from_here(Path::new(path));
    let all: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    replace_private(&path, all.as_bytes()).with_context(|| format!("`{}`", path.display()))?;
    let words = format!("wrote `{}`: {} lines about commit {commit}", path.display(), lines.len());
    io.answer(&json!({"commit": commit, "file": path, "lines": lines.len()}), words)
}
