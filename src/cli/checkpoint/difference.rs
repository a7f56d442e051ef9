//! How the state of two checkpoints differs, for people.
//!
//! Reads both, writes to the terminal. Invariant: what is left out is counted, and `--json` has it.

use crate::cli::Io;
use crate::cli::table::{Tone, clean};
use aops_core::checkpoint::form::{Checkpoint, Difference};
use aops_core::text::plain::count;
use aops_core::text::time;
use serde_json::Value;

/// The progress of the task and the decisions; numbers of calls, digests and texts are for programs.
fn is_for_people(one: &Difference) -> bool {
    const SHORT: usize = 60;
    let plain = |value: &Value| match value {
        Value::String(text) => text.len() <= SHORT && !is_digest(text),
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    };
    let about = ["governance", "orchestrator", "phase"].iter().any(|part| one.at.starts_with(part));
    about && plain(&one.old) && plain(&one.new)
}

fn is_digest(text: &str) -> bool {
    text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A value as people read it: without quotes.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => clean(text).into_owned(),
        Value::Null => "nothing".to_owned(),
        value => value.to_string(),
    }
}

pub(super) fn print_state(
    io: &mut Io,
    state: &[Difference],
    old: &Checkpoint,
    new: Option<&Checkpoint>,
) -> anyhow::Result<u8> {
    let (shown, rest): (Vec<&Difference>, Vec<&Difference>) =
        state.iter().partition(|one| is_for_people(one));
    for one in shown {
        writeln!(io.out, "{}  {} -> {}", one.at, word(&one.old), word(&one.new))?;
    }
    if !rest.is_empty() {
        let words = format!(
            "{} of state more, such as {} (`--json` has all)",
            count(rest.len(), "difference"),
            rest[0].at
        );
        writeln!(io.out, "{}", Tone::Quiet.paint(&clean(&words), io))?;
    }
    let Some(new) = new else { return Ok(0) };
    let was = old.tokens();
    let is = new.tokens();
    if was != is {
        writeln!(io.out, "tokens  {was} -> {is}")?;
    }
    io.print(format!("{} later", time::age((new.created_ms() - old.created_ms()).abs())))
}
