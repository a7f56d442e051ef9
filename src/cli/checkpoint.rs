//! Takes, lists, compares and verifies checkpoints, and rolls back to one.
//!
//! Reads and writes the store of the project in the working directory. Invariants: an interrupted rollback is finished
//! before anything else is done; verbs that change the tree or delete checkpoints need a person.

mod create;
mod diff;
mod export;
mod gc;
mod list;
mod rollback;
mod show;
mod verify;

use super::{Command, Io, Refused, Who, allowed, refused};
use crate::checkpoint;
use crate::checkpoint::form::Id;
use crate::checkpoint::store::Store;
use crate::config::texts;
use crate::model::error::{Code, Failure};
use clap::{Arg, ArgAction, ArgMatches};
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
    who: Who::Anyone,
    arguments,
    run,
};

pub(super) static VERBS: &[Command] =
    &[create::VERB, list::VERB, show::VERB, diff::VERB, rollback::VERB, verify::VERB, gc::VERB, export::VERB];

fn arguments(row: clap::Command) -> clap::Command {
    let yes = Arg::new("yes").long("yes").action(ArgAction::SetTrue).global(true);
    Command::verbs(VERBS, row.arg(yes.help("Run without a terminal, from your own script")))
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let (verb, given) = Command::asked(VERBS, given)?;
    allowed(&format!("checkpoint {}", verb.name), verb.who, io)?;
    if checkpoint::rollback::finish_pending(io.env, &root(io))? && !io.json {
        writeln!(io.out, "an interrupted rollback was finished now")?;
    }
    match (verb.run)(given, io) {
        Err(error) => match error.downcast_ref::<Failure>() {
            Some(failure) if failure.code == Code::InTheWay => {
                refused(format!("{}\nhint: {}", failure.what, failure.code.way_out()))
            }
            _ => Err(error),
        },
        done => done,
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

fn id_argument(row: clap::Command) -> clap::Command {
    let help = "A checkpoint's id as `checkpoint list` shows it, or the beginning of one";
    row.arg(Arg::new("id").value_name("ID").required(true).help(help))
}

/// The id of the checkpoint that this argument names.
fn pick_id(given: &ArgMatches, name: &str, store: &Store) -> anyhow::Result<Id> {
    let text = given.get_one::<String>(name).map(String::as_str).unwrap_or_default();
    Store::pick(&store.rows()?, text).map_err(|words| Refused { code: 2, words }.into())
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
