//! What `runs gc` and `sessions gc` share: their options, who may run them, and their output.

use super::control::duration;
use super::{Io, allowed, flag, option, refused, text};
use aops_core::text::plain::count;
use aops_shell::verbs::Who;
use clap::ArgMatches;
use serde_json::{Value, json};

/// What a person asked for.
pub(super) struct Wish {
    pub(super) dry: bool,
    /// Whatever changed later than this stays.
    pub(super) before_ms: i64,
}

/// `--older-than TIME [--dry-run]`
pub(super) fn arguments(row: clap::Command, help: &'static str) -> clap::Command {
    row.arg(option("older-than", "TIME", help).required(true))
        .arg(flag("dry-run", "Show what it would remove, and do nothing"))
}

impl Wish {
    /// Anyone may look; only a person may remove.
    pub(super) fn read(name: &str, given: &ArgMatches, io: &Io) -> anyhow::Result<Self> {
        let dry = given.get_flag("dry-run");
        if !dry {
            allowed(name, Who::AtTerminal, io)?;
        }
        let age = duration(text(given, "older-than").unwrap_or_default()).or_else(refused)?;
        Ok(Self { dry, before_ms: io.env.now_ms - age })
    }

    /// Whether something that last changed at this time, in milliseconds since 1970, is old enough.
    pub(super) fn covers(&self, changed_ms: i64) -> bool {
        changed_ms <= self.before_ms
    }

    /// `removed 1 of 3 runs, 3 files`; `more` counts what was removed with them. Nouns are given in the
    /// singular.
    pub(super) fn report(
        &self,
        io: &mut Io,
        what: &str,
        (ids, all): (&[String], usize),
        more: &[(&str, u64)],
    ) -> anyhow::Result<u8> {
        if io.json {
            let mut said = json!({"removed": ids, "kept": all - ids.len(), "dry_run": self.dry});
            for (name, n) in more {
                said[format!("{name}s")] = Value::from(*n);
            }
            return io.print(said);
        }
        let verb = if self.dry { "would remove" } else { "removed" };
        for id in ids {
            writeln!(io.out, "{verb} {id}")?;
        }
        let more: Vec<String> = more.iter().map(|(name, n)| format!(", {}", count(*n, name))).collect();
        io.print(format!("{verb} {} of {}{}", ids.len(), count(all, what), more.concat()))
    }
}
