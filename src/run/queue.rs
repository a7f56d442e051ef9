//! Tasks for several runs, one after another: from a file, or from the tracker.
//!
//! Reads a file or stdin, or asks the tracker. Invariant: an empty list is refused.

use crate::refresh;
use crate::refusal::refused;
use crate::run::driver::project_root;
use aops_core::config::in_force;
use aops_core::system::env::Env;
use std::fs;
use std::io::Read;
use std::path::Path;

/// One task per line; empty lines and lines that begin with `#` are skipped.
pub fn from_file(env: &Env, file: &str) -> anyhow::Result<Vec<String>> {
    let text = if file == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(env.from_here(Path::new(file)))
    };
    let text = text.or_else(|error| refused(format!("`{file}`: {error}\nhint: write one task per line")))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let tasks: Vec<String> = lines.map(str::to_owned).collect();
    if tasks.is_empty() {
        return refused(format!("`{file}` has no task\nhint: write one task per line"));
    }
    Ok(tasks)
}

/// The tracker's ready items, each as a task that begins with the item's id.
pub fn from_tracker(env: &Env) -> anyhow::Result<Vec<String>> {
    match ready(env)? {
        Err(words) => {
            refused(format!("the tracker has no tasks: {words}\nhint: `--queue` takes them from a file"))
        }
        Ok(ready) if ready.is_empty() => {
            refused("nothing is ready in the tracker\nhint: `--queue` takes tasks from a file")
        }
        Ok(ready) => Ok(ready),
    }
}

/// Asks the tracker again when an item's turn comes. Without an answer the item counts as ready.
pub fn is_still_ready(env: &Env, task: &str) -> anyhow::Result<bool> {
    let id = |task: &str| task.split(": ").next().unwrap_or_default().to_owned();
    Ok(ready(env)?.map_or(true, |ready| ready.iter().any(|item| id(item) == id(task))))
}

fn ready(env: &Env) -> anyhow::Result<Result<Vec<String>, String>> {
    let project = project_root(env);
    let command = in_force::load(env, &project)?.policy.tracker.command;
    Ok(refresh::ready(env, &project, &command))
}
