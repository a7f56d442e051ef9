//! Lists checkpoints, the newest last.

use super::{Command, Io, Who, root};
use crate::checkpoint::store::Store;
use crate::checkpoint::store::index::IndexRow;
use crate::cli::table::{Cell, Table, Tone};
use crate::text::time;
use clap::ArgMatches;
use serde_json::{Value, json};

pub(super) const VERB: Command = Command {
    name: "list",
    about: "List all checkpoints, the newest last",
    examples: &[
        ("aops-hook checkpoint list", "id, age and why it was taken"),
        ("aops-hook checkpoint list --json", "the same for a program: id, version, phase, type, created_at"),
    ],
    who: Who::Anyone,
    arguments: |row| row,
    run,
};

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let rows = Store::look(&root(io))?.map_or_else(|| Ok(Vec::new()), |store| store.rows())?;
    if io.json {
        let rows: Vec<Value> = rows.iter().map(to_json).collect();
        writeln!(io.out, "{}", Value::from(rows))?;
        return Ok(0);
    }
    if rows.is_empty() {
        writeln!(io.out, "this project has no checkpoint yet")?;
    }
    let mut table = Table::new(&["checkpoint", "age", "why"]);
    for row in &rows {
        let age = time::parse(&row.created_at).map(|at| time::age(io.env.now_ms - at)).unwrap_or_default();
        let tone = if row.trigger == "failure" { Tone::Bad } else { Tone::Plain };
        table.row([(&row.id).into(), Cell::new(age, Tone::Quiet), Cell::new(&row.trigger, tone)]);
    }
    Ok(table.print(io).map(|()| 0)?)
}

fn to_json(row: &IndexRow) -> Value {
    json!({"id": row.id, "version": row.version, "phase": row.phase, "type": row.kind, "created_at": row.created_at})
}
