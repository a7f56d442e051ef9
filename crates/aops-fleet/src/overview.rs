//! The present state: counts, machines, sessions.

use crate::connect::Fleet;
use crate::error::Error;
use postgres::Row;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    pub sessions: i64,
    /// How many different policies the machines seen in the last day have.
    pub policies: i64,
    pub machines: Vec<MachineRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineRow {
    pub name: String,
    pub version: String,
    pub policy: String,
    /// JSON; empty if no bundle is installed.
    pub bundle: String,
    /// Seconds since it was seen.
    pub age_s: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub machine: String,
    pub id: String,
    pub project: String,
    pub entries: i64,
    pub phase: String,
    pub mode: String,
    /// Millionths of a dollar; none: it is not known.
    pub cost: Option<i64>,
    pub age_s: i64,
}

impl Fleet {
    /// Counts, and the most recently seen machines.
    pub fn overview(&mut self, most: i64) -> Result<Overview, Error> {
        let counts = self.client.query_one(
            "select (select count(*) from sessions),
                    (select count(distinct policy) from machines where seen > now() - interval '1 day')",
            &[],
        )?;
        let machines = self.client.query(
            "select name, version, policy, bundle, extract(epoch from now() - seen)::bigint
             from machines order by seen desc, name limit $1",
            &[&most],
        )?;
        let machine = |row: &Row| MachineRow {
            name: row.get(0),
            version: row.get(1),
            policy: row.get(2),
            bundle: row.get(3),
            age_s: row.get(4),
        };
        Ok(Overview {
            sessions: counts.get(0),
            policies: counts.get(1),
            machines: machines.iter().map(machine).collect(),
        })
    }

    /// Sessions, the most recently reported first.
    pub fn sessions(&mut self, most: i64) -> Result<Vec<SessionRow>, Error> {
        let rows = self.client.query(
            "select machine, id, project, entries, phase, mode, cost, extract(epoch from now() - seen)::bigint
             from sessions order by seen desc, id limit $1",
            &[&most],
        )?;
        let one = |row: &Row| SessionRow {
            machine: row.get(0),
            id: row.get(1),
            project: row.get(2),
            entries: row.get(3),
            phase: row.get(4),
            mode: row.get(5),
            cost: row.get(6),
            age_s: row.get(7),
        };
        Ok(rows.iter().map(one).collect())
    }

    /// The difference between this machine's clock and the database's, in milliseconds.
    pub fn clock_skew_ms(&mut self, now_ms: i64) -> Result<i64, Error> {
        let row =
            self.client.query_one("select (extract(epoch from clock_timestamp()) * 1000)::bigint", &[])?;
        Ok(now_ms - row.get::<_, i64>(0))
    }
}
