//! The queue of runs: `waiting` → `running` → `paused` → `waiting` … → `done`.
//!
//! Invariants: a run has at most one lease; each lease has a larger fencing number than the one before; a
//! write that names an older number changes nothing; a call repeated after a lost answer takes effect only
//! once.

use crate::connect::Fleet;
use crate::error::Error;
use postgres::types::ToSql;
use postgres::{Row, Transaction};

/// A run to be put into the queue.
#[derive(Clone, Debug)]
pub struct NewRun<'a> {
    pub id: &'a str,
    pub repository: &'a str,
    pub commit: &'a str,
    /// Passed to the driver; not read here.
    pub request: &'a str,
    /// A worker takes the run only if it has all of these labels.
    pub labels: &'a [String],
    /// A higher number is taken earlier.
    pub priority: i32,
    /// The only machine that has the repository, if there is only one.
    pub only_on: Option<&'a str>,
}

/// The worker that takes a run, and its limits.
#[derive(Clone, Debug)]
pub struct Taker<'a> {
    pub machine: &'a str,
    pub labels: &'a [String],
    pub lease_s: f64,
    /// How many runs of one repository may run at the same time; 0 means any number.
    pub per_repository: i64,
}

/// A run in the hands of a worker.
#[derive(Clone, Debug)]
pub struct TakenRun {
    pub id: String,
    pub fence: i64,
    pub repository: String,
    pub commit: String,
    pub request: String,
}

/// The lease that a write is made under.
#[derive(Clone, Copy, Debug)]
pub struct Lease<'a> {
    pub run: &'a str,
    pub fence: i64,
    pub lease_s: f64,
}

/// The progress of a run, as it is recorded and as another machine receives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Lines of the attempt ledger.
    pub lines: Vec<String>,
    /// Path and content of packets and summaries.
    pub files: Vec<(String, String)>,
    /// `None`: unchanged since the last record.
    pub tree: Option<Snapshot>,
}

/// A working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit that is checked out.
    pub head: String,
    /// The name of the git tree.
    pub tree: String,
    /// A git bundle of what the remote repository lacks; `None` if nothing is missing or the bundle would be
    /// too large.
    pub bundle: Option<Vec<u8>>,
}

/// How a worker leaves a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave<'a> {
    /// Another worker may continue at once.
    GiveBack,
    /// The run waits for an answer: the question, the digest of its packet, and the SHA-256 of the token that
    /// answers it.
    Pause {
        question: &'a str,
        about: &'a str,
        token: &'a str,
    },
    Finish {
        outcome: &'a str,
        reason: &'a str,
    },
}

impl Fleet {
    /// Puts a run into the queue, unless `most` runs wait already.
    pub fn enqueue(&mut self, run: &NewRun, most: i64) -> Result<(), Error> {
        let waiting = "select count(*) from (select 1 from runs where state = 'waiting' limit $1) as waiting";
        if self.client.query_one(waiting, &[&most])?.get::<_, i64>(0) >= most {
            return Err(Error::Full(most));
        }
        self.client.execute(
            "insert into runs (id, repository, commit, request, labels, priority, only_on) values ($1, $2, $3, $4, $5, $6, $7)
             on conflict (id) do nothing",
            &[&run.id, &run.repository, &run.commit, &run.request, &run.labels, &run.priority, &run.only_on],
        )?;
        Ok(())
    }

    /// The next run for this worker: a waiting one, or one whose worker lost its lease. For one lease longer,
    /// a lost run is offered only to the machine it ran on: the step may still run there and can be taken
    /// over.
    pub fn take(&mut self, taker: &Taker) -> Result<Option<TakenRun>, Error> {
        let mut all = self.client.transaction()?;
        if taker.per_repository > 0 {
            // Without this lock, two workers could each count the same runs of a repository, and both take
            // one more.
            all.execute("select pg_advisory_xact_lock(hashtext('aops take'))", &[])?;
        }
        let given: [&(dyn ToSql + Sync); 4] =
            [&taker.machine, &taker.labels, &taker.lease_s, &taker.per_repository];
        // Two queries, because each has its own index: a long queue costs no more than a short one.
        let row = match all.query_opt(&take_where(LOST), &given)? {
            Some(row) => Some(row),
            None => all.query_opt(&take_where("state = 'waiting'"), &given)?,
        };
        all.commit()?;
        Ok(row.map(|row| TakenRun {
            id: row.get(0),
            fence: row.get(1),
            repository: row.get(2),
            commit: row.get(3),
            request: row.get(4),
        }))
    }

    /// Renews the lease.
    pub fn heartbeat(&mut self, lease: Lease) -> Result<(), Error> {
        let renewed = self.client.execute(
            "update runs set lease = now() + make_interval(secs => $3)
             where id = $1 and fence = $2 and state = 'running'",
            &[&lease.run, &lease.fence, &lease.lease_s],
        )?;
        if renewed == 1 { Ok(()) } else { Err(Error::Fenced) }
    }

    /// Stores the run's progress: lines after the first `known`, files, and the tree if it is given.
    pub fn record(
        &mut self,
        lease: Lease,
        machine: &str,
        known: usize,
        progress: &Progress,
    ) -> Result<(), Error> {
        let mut all = self.client.transaction()?;
        write(&mut all, lease, machine, known, progress)?;
        Ok(all.commit()?)
    }

    /// Records the progress, and the worker leaves the run. Repeated after a lost answer, it does nothing.
    pub fn leave(
        &mut self,
        lease: Lease,
        machine: &str,
        (known, progress): (usize, &Progress),
        pinned: bool,
        how: &Leave,
    ) -> Result<(), Error> {
        let mut all = self.client.transaction()?;
        let (state, outcome, reason) = match how {
            Leave::GiveBack => ("waiting", None, ""),
            Leave::Pause { question, .. } => ("paused", None, *question),
            Leave::Finish { outcome, reason } => ("done", Some(*outcome), *reason),
        };
        let left = all.query_opt(
            "select state from runs where id = $1 and fence = $2 for update",
            &[&lease.run, &lease.fence],
        )?;
        match left.map(|row| row.get::<_, String>(0)) {
            Some(now) if now == "running" => write(&mut all, lease, machine, known, progress)?,
            Some(now) if now == state => return Ok(()),
            _ => return Err(Error::Fenced),
        }
        let pinned = pinned.then_some(machine);
        all.execute(
            "update runs set state = $2, outcome = $3, reason = $4, pinned = $5, lease = null, changed = now(),
                             bundle = case when $2 = 'done' then null else bundle end
             where id = $1",
            &[&lease.run, &state, &outcome, &reason, &pinned],
        )?;
        if let Leave::Pause { question, about, token } = how {
            let id = format!("{}-{}", lease.run, lease.fence);
            all.execute(
                "insert into approvals (id, run, question, about, token) values ($1, $2, $3, $4, $5)",
                &[&id, &lease.run, question, about, token],
            )?;
        }
        Ok(all.commit()?)
    }

    /// Which of these runs ended at least `for_s` seconds ago; with `None`, which of them passed.
    pub fn over(&mut self, runs: &[String], for_s: Option<f64>) -> Result<Vec<String>, Error> {
        let rows = self.client.query(
            "select id from runs where id = any($1) and state = 'done'
               and case when $2::float8 is null then outcome = 'PASS' else changed <= now() - make_interval(secs => $2) end
             order by id",
            &[&runs, &for_s],
        )?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// What is recorded about a run.
    pub fn progress(&mut self, run: &str) -> Result<Progress, Error> {
        let lines = self.client.query("select line from steps where run = $1 order by seq", &[&run])?;
        let files =
            self.client.query("select path, content from files where run = $1 order by path", &[&run])?;
        let tree = self
            .client
            .query_opt("select head, tree, bundle from runs where id = $1 and head is not null", &[&run])?;
        let snapshot = |row: Row| Snapshot { head: row.get(0), tree: row.get(1), bundle: row.get(2) };
        Ok(Progress {
            lines: lines.iter().map(|row| row.get(0)).collect(),
            files: files.iter().map(|row| (row.get(0), row.get(1))).collect(),
            tree: tree.map(snapshot),
        })
    }
}

/// A run whose worker is gone.
const LOST: &str = "state = 'running' and lease < now() - make_interval(secs => case when machine = $1 then 0 else $3::float8 end)";

/// Takes the first run in this state.
fn take_where(state: &str) -> String {
    format!(
        "with next as (
           select id from runs as run
           where {state} and labels <@ $2 and (pinned is null or pinned = $1) and (only_on is null or only_on = $1)
             and ($4::bigint = 0 or $4 > (select count(*) from runs as other where other.repository = run.repository
                                    and other.state = 'running' and other.lease >= now()))
           order by priority desc, number limit 1 for update skip locked)
         update runs set state = 'running', fence = fence + 1, machine = $1, changed = now(),
                         lease = now() + make_interval(secs => $3)
         from next where runs.id = next.id
         returning runs.id, fence, repository, commit, request"
    )
}

fn write(
    all: &mut Transaction,
    lease: Lease,
    machine: &str,
    known: usize,
    progress: &Progress,
) -> Result<(), Error> {
    let renewed = all.execute(
        "update runs set lease = now() + make_interval(secs => $3), changed = now()
         where id = $1 and fence = $2 and state = 'running'",
        &[&lease.run, &lease.fence, &lease.lease_s],
    )?;
    if renewed != 1 {
        return Err(Error::Fenced);
    }
    for (seq, line) in (1_i64..).zip(&progress.lines).skip(known) {
        // The same line may be there already, if the answer to the first try was lost.
        all.execute(
            "insert into steps (run, seq, line, machine) values ($1, $2, $3, $4) on conflict do nothing",
            &[&lease.run, &seq, line, &machine],
        )?;
    }
    for (path, content) in &progress.files {
        all.execute(
            "insert into files (run, path, content) values ($1, $2, $3)
             on conflict (run, path) do update set content = excluded.content where files.content <> excluded.content",
            &[&lease.run, path, content],
        )?;
    }
    if let Some(Snapshot { head, tree, bundle }) = &progress.tree {
        all.execute(
            "update runs set head = $2, tree = $3, bundle = $4 where id = $1",
            &[&lease.run, head, tree, bundle],
        )?;
    }
    Ok(())
}
