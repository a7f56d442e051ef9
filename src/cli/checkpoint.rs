//! Takes, lists, compares and verifies checkpoints, and rolls back to one.
//!
//! Reads and writes the store of the project in the working directory. Invariants: an interrupted rollback is finished
//! before anything else is done; verbs that change the tree or delete checkpoints need a person.

mod look;
mod change;

use super::{Command, Io, allowed, operand, refused, text, who_may, yes};
use crate::checkpoint::form::Id;
use crate::checkpoint::rollback::finish_pending;
use crate::checkpoint::store::Store;
use crate::config::texts;
use crate::model::error::{Code, Failure};
use clap::{Arg, ArgMatches};
use std::path::PathBuf;

pub const COMMAND: Command = Command {
    name: "checkpoint",
    about: "Save the working tree, compare it, and roll it back byte for byte",
    examples: &[
        ("aops-hook checkpoint create", "save the tree as it is now"),
        ("aops-hook checkpoint list", "all checkpoints, the newest last"),
        ("aops-hook checkpoint diff manual/POST_idle_v1", "what changed since then"),
        ("aops-hook checkpoint rollback manual/POST_idle_v1 --dry-run", "what a rollback would do"),
        ("aops-hook checkpoint rollback manual/POST_idle_v1", "roll back; the present tree is archived first"),
    ],
    arguments: |row| Command::verbs(VERBS, row.arg(yes().global(true))),
    run,
};

pub(super) static VERBS: &[Command] =
    &[change::CREATE, look::LIST, look::SHOW, look::DIFF, change::ROLLBACK, look::VERIFY, change::GC, change::EXPORT];

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Some((verb, given)) = Command::find(VERBS, given) else { return refused("say what to do") };
    let name = format!("checkpoint {}", verb.name);
    allowed(&name, who_may(&name), io)?;
    if finish_pending(io.env, &root(io))? && !io.json {
        writeln!(io.out, "an interrupted rollback was finished now")?;
    }
    let done = (verb.run)(given, io);
    match done.as_ref().map_err(|error| error.downcast_ref::<Failure>()) {
        Err(Some(failure)) if failure.code == Code::InTheWay => {
            refused(format!("{}\nhint: {}", failure.what, failure.code.way_out()))
        }
        _ => done,
    }
}

/// The project of the working directory.
fn root(io: &Io) -> PathBuf {
    texts::project(io.env, &io.env.cwd)
}

/// Its store, for reading.
fn store(io: &Io) -> anyhow::Result<Store> {
    let none = "this project has no checkpoint\nhint: `aops-hook checkpoint create` takes one";
    Store::look(&root(io))?.map_or_else(|| refused(none), Ok)
}

fn id_operand() -> Arg {
    operand("id", "ID", "A checkpoint's id as `checkpoint list` shows it, or the beginning of one").required(true)
}

/// The id of the checkpoint that this argument names.
fn pick_id(given: &ArgMatches, name: &str, store: &Store) -> anyhow::Result<Id> {
    Store::pick(&store.rows()?, text(given, name).unwrap_or_default()).or_else(refused)
}

/// `1.2 MB`, for people.
fn size(bytes: u64) -> String {
    let units = ["bytes", "KB", "MB", "GB"];
    let (mut whole, mut rest, mut unit) = (bytes, 0, 0);
    while whole >= 1024 && unit + 1 < units.len() {
        (whole, rest, unit) = (whole / 1024, whole % 1024 * 10 / 1024, unit + 1);
    }
    if unit == 0 { format!("{whole} {}", units[0]) } else { format!("{whole}.{rest} {}", units[unit]) }
}
