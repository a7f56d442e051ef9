//! Tasks for several runs, one after another: from a file, or from the tracker.
//!
//! Reads a file or stdin, or asks the tracker. Invariant: an empty list is said, not passed over.

use super::super::{Io, refused};
use super::driver::root;
use crate::briefing::refresh;
use crate::config::in_force;
use std::fs;
use std::io::Read;
use std::path::Path;

/// One task a line; empty lines and those that begin with `#` are left out.
pub(super) fn from_file(io: &Io, file: &str) -> anyhow::Result<Vec<String>> {
    let text = if file == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(io.env.from_here(Path::new(file)))
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return refused(format!("`{file}`: {error}\nhint: a file with one task a line")),
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let tasks: Vec<String> = lines.map(str::to_owned).collect();
    if tasks.is_empty() {
        return refused(format!("`{file}` has no task\nhint: a file with one task a line"));
    }
    Ok(tasks)
}

/// What the tracker says can be begun, each as a task that begins with the item's id.
pub(super) fn from_tracker(io: &Io) -> anyhow::Result<Vec<String>> {
    let ready = match ready(io)? {
        Ok(ready) => ready,
        Err(words) => {
            return refused(format!(
                "the tracker has no tasks: {words}\nhint: `--queue` takes them from a file"
            ));
        }
    };
    if ready.is_empty() {
        return refused("nothing is ready in the tracker\nhint: `--queue` takes tasks from a file");
    }
    Ok(ready)
}

/// An item can still be begun when its turn comes. A tracker that gives no answer by then is believed as it was.
pub(super) fn is_still_ready(io: &Io, task: &str) -> anyhow::Result<bool> {
    let id = |task: &str| task.split(": ").next().unwrap_or_default().to_owned();
    Ok(ready(io)?.map_or(true, |ready| ready.iter().any(|item| id(item) == id(task))))
}

fn ready(io: &Io) -> anyhow::Result<Result<Vec<String>, String>> {
    let project = root(io.env);
    let command = in_force::load(io.env, &project)?.policy.tracker.command;
    Ok(refresh::ready(io.env, &project, &command))
}
