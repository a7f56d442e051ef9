//! Checks every checkpoint against its digest, its witness and its ledger, and every content against its name.

use super::{Command, Io, Who, pick_id, root};
use crate::checkpoint;
use crate::checkpoint::form::Id;
use crate::checkpoint::store::Store;
use crate::cli::table::{Tone, clean};
use clap::{Arg, ArgMatches};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(super) const VERB: Command = Command {
    name: "verify",
    about: "Check every checkpoint and everything it holds",
    examples: &[
        ("aops-hook checkpoint verify", "all of them; exit 4 when one was edited or is damaged"),
        ("aops-hook checkpoint verify manual/POST_idle_v1", "one of them"),
    ],
    who: Who::Anyone,
    arguments: |row| row.arg(Arg::new("id").value_name("ID").help("One of them, by its id or the beginning of it")),
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let (mut wrong, mut blobs, mut count) = (Vec::new(), BTreeSet::new(), 0);
    if let Some(store) = Store::look(&root(io))? {
        let ids: Vec<Id> = if given.contains_id("id") {
            vec![pick_id(given, "id", &store)?]
        } else {
            store.rows()?.iter().filter_map(|row| Id::read(&row.id)).collect()
        };
        count = ids.len();
        for id in ids {
            if let Err(why) = check(io, &store, &id, &mut blobs) {
                wrong.push((id.to_string(), why));
            }
        }
    }
    if io.json {
        let problems: Vec<Value> = wrong.iter().map(|(id, why)| json!({"id": id, "problem": why})).collect();
        let said = json!({"ok": wrong.is_empty(), "checkpoints": count, "blobs": blobs.len(), "problems": problems});
        writeln!(io.out, "{said}")?;
    } else {
        for (_, why) in &wrong {
            writeln!(io.out, "{}", Tone::Bad.paint(&clean(why), io))?;
        }
        if wrong.is_empty() {
            writeln!(io.out, "{count} checkpoints and {} contents are intact", blobs.len())?;
        }
    }
    Ok(if wrong.is_empty() { 0 } else { 4 })
}

fn check(io: &Io, store: &Store, id: &Id, seen: &mut BTreeSet<[u8; 32]>) -> Result<(), String> {
    let one = store.vouched(io.env, id).map_err(|failure| failure.to_string())?;
    if checkpoint::rollback::said_in_ledger(io.env, &one.identity.session_id, id, one.digest.as_ref())
        .map_err(|failure| failure.to_string())?
        == Some(false)
    {
        return Err(format!("checkpoint `{id}` is not the one in its session's ledger, or the ledger is damaged"));
    }
    for file in one.artifacts.files.iter().filter(|file| file.target.is_none()) {
        let digest = file.sha256.0;
        if !seen.contains(&digest) {
            store.unpack(&digest, &mut std::io::sink()).map_err(|failure| format!("checkpoint `{id}`: {failure}"))?;
            seen.insert(digest);
        }
    }
    Ok(())
}
