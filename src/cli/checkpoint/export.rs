//! Writes the tree of a checkpoint to a new folder, with the checkpoint beside it.

use super::{Command, Io, Who, id_argument, pick_id, refused, size, store};
use crate::checkpoint::restore::{self, Steps};
use crate::checkpoint::tree::Artifacts;
use crate::checkpoint::tree::diff;
use crate::system::files;
use anyhow::Context;
use clap::{Arg, ArgMatches};
use rustix::fs::{CWD, Mode, OFlags};
use serde_json::json;
use std::path::Path;

pub(super) const VERB: Command = Command {
    name: "export",
    about: "Write the tree of a checkpoint to a new folder",
    examples: &[(
        "aops-hook checkpoint export manual/POST_idle_v1 --to ../before",
        "`../before/tree` and `../before/checkpoint.json`",
    )],
    who: Who::OutsideClient,
    arguments: |row| {
        let to = Arg::new("to").long("to").value_name("FOLDER").required(true);
        id_argument(row).arg(to.help("A folder that does not exist yet"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let store = store(io)?;
    let id = pick_id(given, "id", &store)?;
    let one = store.vouched(io.env, &id)?;
    let to = io.env.from_here(Path::new(given.get_one::<String>("to").map(String::as_str).unwrap_or_default()));
    if to.symlink_metadata().is_ok() {
        return refused(format!("`{}` exists already\nhint: name a folder that does not exist", to.display()));
    }
    let (nothing, tree) = (Artifacts::default(), to.join("tree"));
    let delta = diff(&nothing, &one.artifacts);
    restore::check_contents(&store, &delta)?;
    let steps = Steps { delta, folders: one.artifacts.folders.iter().collect(), fresh: true };
    files::make_folders(&tree, 0o755).with_context(|| tree.display().to_string())?;
    let folder = rustix::fs::openat(CWD, &tree, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
    restore::apply(&store, &folder, &steps)?.sync(&store)?;
    let text = serde_json::to_string_pretty(&one)? + "\n";
    files::find(&to.join("checkpoint.json"))?.replace(text.as_bytes(), 0o644)?;
    if io.json {
        writeln!(io.out, "{}", json!({"id": id.to_string(), "folder": to, "files": one.artifacts.files.len()}))?;
    } else {
        let (files, bytes) = (one.artifacts.files.len(), size(one.artifacts.bytes()));
        writeln!(io.out, "{files} files, {bytes}, in `{}`", to.display())?;
    }
    Ok(0)
}
