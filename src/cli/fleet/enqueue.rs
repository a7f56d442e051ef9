//! `run --enqueue`: puts runs into the queue that machines share.

use super::open;
use crate::cli::{Io, policy_here, refused};
use crate::run::driver::RunRequest;
use crate::run::fleet::{self, Placing};
use clap::ArgMatches;
use serde_json::{Value, json};

pub(super) const SECRET: &str = "the user and password in the address of the remote were left out\nhint: a \
    worker reaches it with a credential helper of its own (`git help credentials`)";

/// The non-empty words.
pub(in crate::cli) fn names<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    words.map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Puts each task into the queue.
pub(in crate::cli) fn enqueue(
    given: &ArgMatches,
    io: &mut Io,
    request: &RunRequest,
    tasks: &[String],
) -> anyhow::Result<u8> {
    let policy = policy_here(io)?.policy;
    let mut database = open(io)?;
    let labels = given.get_many::<String>("label").into_iter().flatten();
    let priority = given.get_one::<i32>("priority").copied().unwrap_or_default();
    let placing = Placing { labels: names(labels.flat_map(|labels| labels.split(','))), priority };
    let mut queued = Vec::new();
    for task in tasks {
        let request = RunRequest { task: task.trim().to_owned(), ..request.clone() };
        if request.task.is_empty() {
            return refused("a run needs a task\nhint: say what to do");
        }
        queued.push(fleet::enqueue(&io.env.later(), &mut database, &policy, &request, &placing)?);
    }
    let mut words: Vec<String> =
        queued.iter().map(|run| format!("run {} waits for a worker", run.id)).collect();
    words.extend(queued.iter().any(|run| run.has_secret).then(|| SECRET.to_owned()));
    let value: Value = queued.iter().map(|run| json!({"run_id": run.id, "state": "waiting"})).collect();
    io.answer(&value, words.join("\n"))
}
