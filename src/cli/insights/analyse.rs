//! Asks a model for the fields of an analysis, and takes over only those fields.
//!
//! Reads the transcript, starts the configured command in an empty folder with the prompt on its input. Invariant: an
//! answer that is late, broken or not of the schema is refused with the reason, and nothing is written.

use super::super::range::Found;
use super::super::transcript::abridged;
use super::super::{Io, Refused};
use crate::config::in_force;
use crate::config::texts;
use crate::insight::document::{Insights, check_rich};
use crate::system::files::Scratch;
use crate::system::process::{Ending, Task, run};
use crate::text::json::cut;
use crate::text::template::{Phrase, quote};
use anyhow::Context;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_mins(10);
/// Bytes of conversation that are sent, and of answer that are read.
const LONGEST: usize = 200 << 10;
const ANSWER: usize = 1 << 20;

pub(super) fn analyse(io: &Io, found: &Found, insights: &Insights) -> anyhow::Result<Value> {
    let command = in_force::load(io.env, &io.env.cwd)?.policy.insights.command;
    let told = abridged(found)?;
    let values = vec![("facts", quote(&insights.text())), ("transcript", quote(cut(&told, LONGEST)))];
    let template = "insights-analysis.md";
    let prompt = Phrase::new(template, values).fill(&texts::template(io.env, template)?);
    let said = ask(io, &command, &prompt)?;
    let answer = object(&said).and_then(|answer| check_rich(&answer).map(|()| answer));
    Ok(answer.map_err(|why| refuse(&command, &why))?)
}

fn refuse(command: &str, why: &str) -> Refused {
    let words = format!(
        "the analysis of `{command}` was refused: {why}\nhint: the old insights stay; try again, or set `insights.command`"
    );
    Refused { code: 1, words }
}

fn ask(io: &Io, command: &str, prompt: &str) -> anyhow::Result<String> {
    let mut words = command.split_whitespace();
    let name = words.next().unwrap_or_default();
    let named = Path::new(name);
    let program = if named.is_absolute() { Some(named.to_owned()) } else { io.env.on_path(name) };
    let program = program.ok_or_else(|| refuse(command, &format!("`{name}` was not found")))?;
    let args: Vec<String> = words.map(str::to_owned).collect();
    let scratch = Scratch::new("analyse").context("a folder for the model")?;
    // A person's own session: neither inside a tool call nor in this project.
    let variables = io.env.variables(|name| !name.starts_with("CLAUDECODE") && !name.starts_with("CLAUDE_CODE_"));
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_os_str())).collect();
    let task = Task {
        program: &program,
        args: &args,
        folder: &scratch.0,
        variables: &variables,
        input: prompt.as_bytes(),
        timeout: PATIENCE,
        keep: ANSWER,
    };
    let done = run(&task).with_context(|| format!("`{command}`"))?;
    match done.ending {
        Ending::Exit(0) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        Ending::TimedOut => Err(refuse(command, "it took longer than ten minutes").into()),
        other => {
            let words = String::from_utf8_lossy(&done.stderr);
            let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
            Err(refuse(command, &format!("it ended with {other:?}: {}", cut(last, 300))).into())
        }
    }
}

/// The one JSON object of the answer, fenced or not.
fn object(said: &str) -> Result<Value, String> {
    let (Some(from), Some(to)) = (said.find('{'), said.rfind('}')) else {
        return Err("it holds no JSON object".to_owned());
    };
    if from > to {
        return Err("it holds no JSON object".to_owned());
    }
    serde_json::from_str(&said[from..=to]).map_err(|e| format!("it is not JSON: {e}"))
}
