//! `prove`: one entry in one file, for a reader who has only the public keys.
//!
//! Reads ledger and log; writes the requested file. Invariant: the proof is checked before it is written.

use super::{Command, Io, flag, operand, option, refused, text};
use anyhow::Context;
use aops_core::ledger::sessions;
use aops_core::proof::check;
use aops_core::proof::judge;
use aops_core::proof::prove::{entry, prove_held};
use aops_core::proof::store::Store;
use aops_core::proof::tier::Level;
use aops_core::proof::trust;
use aops_core::system::files::replace_private;
use clap::ArgMatches;
use serde_json::json;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "prove",
    about: "Write a proof that one entry is in the signed log, to be checked offline",
    examples: &[
        (
            "aops-hook prove 3f2a:17 -o refusal.tlog-proof",
            "entry 17, its path to the root, and the signed checkpoint",
        ),
        ("aops-hook prove 3f2a:17 --digest-only -o refusal.tlog-proof", "the same without the entry's text"),
    ],
    arguments: |row| {
        row.arg(
            operand("entry", "SESSION:SEQ", "A session's id or the beginning of one, and the entry's number")
                .required(true),
        )
        .arg(option("output", "FILE", "Where to write it; default: print it").short('o'))
        .arg(flag("digest-only", "Without the entry: its digest alone"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let asked = text(given, "entry").unwrap_or_default();
    let parts = asked.rsplit_once(':').and_then(|(id, seq)| Some((id, seq.parse::<u64>().ok()?)));
    let Some((id, seq)) = parts else {
        return refused(format!(
            "`{asked}` names no entry\nhint: write `SESSION:NUMBER`; `aops-hook log` shows numbers"
        ));
    };
    let found = sessions::pick(io.env, Some(id)).or_else(refused)?;
    let Some(line) = entry(&found.path, seq)? else {
        return refused(format!(
            "session `{}` has no entry {seq}\nhint: `aops-hook log` shows them",
            found.session_id
        ));
    };
    let log = check::examine(io.env, &trust::here(io.env)?);
    if let Some(fault) = log.as_ref().and_then(|log| log.faults.first()) {
        return refused(format!("the log is damaged: {fault}\nhint: `aops-hook verify --all` says more"));
    }
    if let Some(gone) = judge::unaccounted(io.env, log.as_ref()).first() {
        return refused(format!("{gone}\nhint: `aops-hook verify --all` says more"));
    }
    let store = Store::look(io.env)?;
    let (proof, level) = prove_held(store.as_ref(), log.as_ref(), &line, given.get_flag("digest-only"))?;
    if level == Level::Intact && given.get_flag("digest-only") {
        return refused(
            "without a signed log a digest alone proves nothing\n\
            hint: `aops-hook key init` makes the key; leave `--digest-only` out",
        );
    }
    let Some(path) = text(given, "output") else {
        let value = json!({"proof": proof, "tier": level.name(), "session_id": found.session_id, "seq": seq});
        return io.answer(&value, proof.trim_end());
    };
    let path = io.env.from_here(Path::new(path));
    replace_private(&path, proof.as_bytes()).with_context(|| format!("`{}`", path.display()))?;
    let value = json!({"file": path, "tier": level.name(), "session_id": found.session_id, "seq": seq});
    io.answer(&value, format!("wrote `{}`: entry {seq}, {}", path.display(), level.name()))
}
