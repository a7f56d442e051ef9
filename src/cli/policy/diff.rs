//! Compares what a session recorded with what is in force today.

use crate::cli::table::{Cell, Table, Tone};
use crate::cli::{Io, refused, session};
use crate::config::in_force::{self, Form, InForce};
use crate::config::policy::key::KEYS;
use crate::ledger::session_folder::dashed;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::text::stored::canonical;
use clap::ArgMatches;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// One thing that is not as it was; nothing where it was not there.
struct Change {
    name: String,
    then: Option<String>,
    now: Option<String>,
}

pub(super) fn run(given: &ArgMatches, io: &mut Io, now: &InForce) -> anyhow::Result<()> {
    let shelved = session(given, io)?;
    same_project(io, &shelved, now)?;
    let recorded = match sessions::state(&shelved) {
        Some(state) => state.policy_hash,
        None => sessions::check(io.env, &shelved)?.session.state.policy_hash,
    };
    let then = in_force::kept(io.env, &recorded);
    let changes = then.as_ref().map(|then| changes(then, &now.form()));
    if io.json {
        let list = changes.as_ref().map(|changes| {
            let each = |c: &Change| json!({"name": c.name, "then": c.then, "now": c.now});
            changes.iter().map(each).collect::<Vec<_>>()
        });
        let same = recorded == now.hash;
        let said = json!({"session_id": shelved.session_id, "recorded": recorded, "now": now.hash, "same": same, "changes": list});
        return Ok(writeln!(io.out, "{said}")?);
    }
    if recorded == now.hash {
        return Ok(writeln!(io.out, "unchanged since session {}: {recorded}", shelved.session_id)?);
    }
    writeln!(io.out, "session {}\nrecorded  {recorded}\nnow       {}", shelved.session_id, now.hash)?;
    match changes {
        None => Ok(writeln!(io.out, "the recorded policy was not kept, so only the hashes can be compared")?),
        Some(changes) => print(io, &changes),
    }
}

fn print(io: &mut Io, changes: &[Change]) -> anyhow::Result<()> {
    let mut table = Table::new(&["changed", "then", "now"]);
    let side = |value: &Option<String>, tone| match value {
        // Of a text the beginning of its digest is enough to see.
        Some(text) if is_digest(text) => Cell::new(&text[..12], tone),
        Some(text) => Cell::new(text, tone),
        None => Cell::new("-", Tone::Quiet),
    };
    for change in changes {
        table.row([Cell::from(&change.name), side(&change.then, Tone::Bad), side(&change.now, Tone::Good)]);
    }
    Ok(table.print(io)?)
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Today's policy is that of the folder one stands in: comparing it with another project's session says nothing.
fn same_project(io: &Io, shelved: &SessionOnDisk, now: &InForce) -> anyhow::Result<()> {
    let name = shelved.path.parent().and_then(|p| p.file_name()).unwrap_or_default().to_string_lossy();
    let above = io.env.cwd.ancestors().any(|folder| dashed(&folder.to_string_lossy()) == *name);
    let inside = name.starts_with(&dashed(&now.project.to_string_lossy()));
    if above || inside {
        return Ok(());
    }
    refused(format!(
        "session `{}` is of another project, `{name}`\nhint: run this in that project's folder",
        shelved.session_id
    ))
}

fn changes(then: &Form, now: &Form) -> Vec<Change> {
    let (mut then, mut now) = (lines(then), lines(now));
    let names: BTreeSet<String> = then.keys().chain(now.keys()).cloned().collect();
    let each = names.into_iter().map(|name| Change { then: then.remove(&name), now: now.remove(&name), name });
    each.filter(|change| change.then != change.now).collect()
}

/// Everything a hash is over, each with a name and a text that differs when it differs.
fn lines(form: &Form) -> BTreeMap<String, String> {
    let mut lines: BTreeMap<String, String> =
        KEYS.iter().map(|key| (key.name.to_owned(), (key.get)(&form.policy).to_string())).collect();
    for rule in &form.policy.rules {
        lines.insert(format!("rule.{}", rule.id), canonical(rule));
    }
    for check in &form.policy.checks {
        lines.insert(format!("check.{}", check.id), canonical(check));
    }
    for (name, digest) in &form.texts {
        lines.insert(name.clone(), digest.clone());
    }
    lines
}
