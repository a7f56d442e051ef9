//! The present state: counts, machines, sessions, runs.

use crate::connect::Fleet;
use crate::error::Error;
use postgres::Row;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    pub waiting: i64,
    pub running: i64,
    pub paused: i64,
    pub done: i64,
    /// Marked as running, but their workers are gone: the next free worker takes them.
    pub lost: i64,
    pub approvals: i64,
    pub sessions: i64,
    /// How many different policies the machines seen in the last day have.
    pub policies: i64,
    pub machines: Vec<MachineRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineRow {
    pub name: String,
    pub version: String,
    pub labels: Vec<String>,
    pub policy: String,
    /// JSON; empty if no bundle is installed.
    pub bundle: String,
    /// Seconds since it was seen.
    pub age_s: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    pub id: String,
    pub state: String,
    pub outcome: Option<String>,
    pub reason: String,
    pub repository: String,
    pub machine: Option<String>,
    pub priority: i32,
    pub labels: Vec<String>,
    pub request: String,
    pub age_s: i64,
    pub steps: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub machine: String,
    pub id: String,
    pub project: String,
    pub entries: i64,
    pub phase: String,
    pub mode: String,
    pub cost: i64,
    pub age_s: i64,
}

impl Fleet {
    /// Counts, and the most recently seen machines.
    pub fn overview(&mut self, most: i64) -> Result<Overview, Error> {
        let counts = self.client.query_one(
            "select count(*) filter (where state = 'waiting'), count(*) filter (where state = 'running'),
                    count(*) filter (where state = 'paused'), count(*) filter (where state = 'done'),
                    count(*) filter (where state = 'running' and lease < now()),
                    (select count(*) from approvals where decision is null), (select count(*) from sessions),
                    (select count(distinct policy) from machines where seen > now() - interval '1 day')
             from runs",
            &[],
        )?;
        let machines = self.client.query(
            "select name, version, labels, policy, bundle, extract(epoch from now() - seen)::bigint
             from machines order by seen desc, name limit $1",
            &[&most],
        )?;
        let machine = |row: &Row| MachineRow {
            name: row.get(0),
            version: row.get(1),
            labels: row.get(2),
            policy: row.get(3),
            bundle: row.get(4),
            age_s: row.get(5),
        };
        Ok(Overview {
            waiting: counts.get(0),
            running: counts.get(1),
            paused: counts.get(2),
            done: counts.get(3),
            lost: counts.get(4),
            approvals: counts.get(5),
            sessions: counts.get(6),
            policies: counts.get(7),
            machines: machines.iter().map(machine).collect(),
        })
    }

    /// Runs, the most recently changed first.
    pub fn runs(&mut self, most: i64) -> Result<Vec<RunRow>, Error> {
        let rows = self.client.query(
            "select id, state, outcome, reason, repository, machine, priority, labels, request,
                    extract(epoch from now() - changed)::bigint, (select count(*) from steps where run = runs.id)
             from runs order by changed desc, number desc limit $1",
            &[&most],
        )?;
        let one = |row: &Row| RunRow {
            id: row.get(0),
            state: row.get(1),
            outcome: row.get(2),
            reason: row.get(3),
            repository: row.get(4),
            machine: row.get(5),
            priority: row.get(6),
            labels: row.get(7),
            request: row.get(8),
            age_s: row.get(9),
            steps: row.get(10),
        };
        Ok(rows.iter().map(one).collect())
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
