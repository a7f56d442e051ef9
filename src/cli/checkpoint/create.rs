//! Takes a checkpoint of the present tree, in the run `manual`.

use super::{Command, Io, Who, root, size};
use crate::checkpoint;
use crate::checkpoint::capture::{Limits, capture};
use crate::checkpoint::form::BY_HAND;
use crate::checkpoint::form::CheckpointKind;
use crate::checkpoint::rollback::{BRIEF, Wanted};
use crate::checkpoint::store::Store;
use crate::config::in_force;
use crate::ledger::open::Ledger;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::model::error::Code;
use crate::model::phase::Phase;
use crate::text::redact::redact;
use clap::{Arg, ArgMatches};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

pub(super) const VERB: Command = Command {
    name: "create",
    about: "Save the working tree as it is now",
    examples: &[
        ("aops-hook checkpoint create", "a checkpoint by hand, in the run `manual`"),
        ("aops-hook checkpoint create --note 'before the big rename'", "with a note"),
    ],
    who: Who::Anyone,
    arguments: |row| {
        row.arg(Arg::new("note").long("note").value_name("TEXT").help("A note that is stored with the checkpoint"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let (env, root, began) = (io.env, root(io), Instant::now());
    let limits = Limits::of(&in_force::load(env, &root)?.policy);
    let note = given.get_one::<String>("note").map(|note| ("note", redact(note).into_owned()));
    let session = here(io, &root);
    let mut brief = session.is_some();
    let taken = loop {
        let mut ledger = match &session {
            Some(on_disk) => Some(Ledger::at(env, &on_disk.path, &on_disk.session_id)?),
            None => None,
        };
        let store = Store::open(env, &root)?;
        let phase = ledger.as_ref().map_or(Phase::default(), |ledger| ledger.session().state.phase);
        let tokens = ledger.as_ref().map(checkpoint::rollback::tokens).unwrap_or_default();
        let about = note.clone().into_iter().collect();
        let wanted = Wanted { about, tokens, began, ..Wanted::new(BY_HAND, CheckpointKind::Post, phase, "by hand") };
        let until = brief.then(|| Instant::now() + BRIEF);
        let limits = Limits { until, ..limits.clone() };
        match checkpoint::rollback::take(env, &store, ledger.as_mut(), &limits, &wanted) {
            // Fill the cache first, without holding the session's lock.
            Err(failure) if brief && failure.code == Code::TimedOut => {
                drop(ledger);
                capture(env, &store, &Limits { until: None, ..limits }, &[], &[])?;
                brief = false;
            }
            done => break done?,
        }
    };
    let id = &taken.identity.checkpoint_id;
    if io.json {
        writeln!(io.out, "{}", json!({"id": id, "version": taken.version}))?;
        return Ok(0);
    }
    let (files, bytes) = (taken.artifacts.files.len(), size(taken.artifacts.bytes()));
    writeln!(io.out, "{id}: {files} files, {bytes}, in {} ms", began.elapsed().as_millis())?;
    let out = &taken.artifacts.left_out;
    if !out.is_empty() {
        writeln!(io.out, "left out: {}; `aops-hook checkpoint show {id}` lists them", out.len())?;
    }
    Ok(0)
}

/// The newest session of this tree.
fn here(io: &Io, root: &Path) -> Option<SessionOnDisk> {
    let of_tree = |on_disk: &SessionOnDisk| {
        sessions::session(on_disk).is_some_and(|session| Path::new(&session.memory.root) == root)
    };
    sessions::pick(io.env, None).ok().filter(of_tree)
}
