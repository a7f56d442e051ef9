//! What machines report: that they are alive, the heads and results of their sessions, and checkpoints of
//! their logs.
//!
//! Invariant: a head never moves back, so reports may arrive twice and in any order.

use crate::connect::Fleet;
use crate::error::Error;

#[derive(Clone, Debug)]
pub struct Machine<'a> {
    pub name: &'a str,
    pub version: &'a str,
    /// The hash of the policy in force.
    pub policy: &'a str,
    /// The installed bundle, as JSON; empty if there is none.
    pub bundle: &'a str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionHead {
    pub id: String,
    pub project: String,
    /// The number of entries in the session's ledger.
    pub entries: i64,
    pub head: String,
    pub phase: String,
    pub mode: String,
    /// Millionths of a dollar; none: it is not known.
    pub cost: Option<i64>,
    /// When its last entry was made.
    pub ts: String,
}

impl Fleet {
    /// Records that the machine is alive now.
    pub fn register(&mut self, machine: &Machine) -> Result<(), Error> {
        let mut all = self.client.transaction()?;
        all.execute(
            "insert into machines (name, version, policy, bundle) values ($1, $2, $3, $4)
             on conflict (name) do update
             set version = excluded.version, policy = excluded.policy, bundle = excluded.bundle, seen = now()",
            &[&machine.name, &machine.version, &machine.policy, &machine.bundle],
        )?;
        all.execute(
            "insert into policy_versions (hash, machine) values ($1, $2) on conflict do nothing",
            &[&machine.policy, &machine.name],
        )?;
        Ok(all.commit()?)
    }

    /// Stores these heads, all or none.
    pub fn report(&mut self, machine: &str, heads: &[SessionHead]) -> Result<(), Error> {
        let mut all = self.client.transaction()?;
        let one = all.prepare(
            "insert into sessions (machine, id, project, entries, head, phase, mode, cost, ts)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             on conflict (machine, id) do update
             set project = excluded.project, entries = excluded.entries, head = excluded.head, phase = excluded.phase,
                 mode = excluded.mode, cost = excluded.cost, ts = excluded.ts, seen = now()
             where sessions.entries <= excluded.entries",
        )?;
        for head in heads {
            let SessionHead { id, project, entries, head, phase, mode, cost, ts } = head;
            all.execute(&one, &[&machine, id, project, entries, head, phase, mode, cost, ts])?;
        }
        Ok(all.commit()?)
    }

    /// Stores the newest signed checkpoint of the machine's log. A checkpoint of the same size replaces it if
    /// it has more signatures.
    pub fn checkpoint(&mut self, machine: &str, origin: &str, size: i64, note: &str) -> Result<(), Error> {
        self.client.execute(
            "insert into checkpoints (machine, origin, size, note) values ($1, $2, $3, $4)
             on conflict (machine, origin) do update set size = excluded.size, note = excluded.note, at = now()
             where checkpoints.size <= excluded.size and checkpoints.note <> excluded.note",
            &[&machine, &origin, &size, &note],
        )?;
        Ok(())
    }

    /// Stores the result of a session, replacing what was known.
    pub fn conclude(&mut self, machine: &str, session: &str, document: &str) -> Result<(), Error> {
        self.client.execute(
            "insert into insights (machine, session, document) values ($1, $2, $3)
             on conflict (machine, session) do update set document = excluded.document, at = now()",
            &[&machine, &session, &document],
        )?;
        Ok(())
    }
}
