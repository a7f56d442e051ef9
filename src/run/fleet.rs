//! Runs that any machine may take: stored in the database, and driven by the worker that has the lease.
//!
//! `enqueue` stores a request; `worker` takes runs, each in a clone of its own; `ship` writes a run's
//! progress under its lease; `session` continues sessions that asked. Invariant: everything another machine
//! needs to continue is in the database before a step's program is started.

mod row;
pub mod place;
pub mod retain;
mod ship;
pub mod stop;
mod told;
mod session;
pub mod question;
pub mod worker;
pub mod leg;

use crate::refusal::refused;
use crate::remote::{copy, database};
use crate::run::driver::{RunRequest, check_request, make_run_id};
use aops_core::config::policy::Policy;
use aops_core::system::env::Env;
use aops_fleet::Fleet;
use aops_fleet::queue::NewRun;
use serde::{Deserialize, Serialize};

/// The stored form of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRequest {
    /// The path from the top of the repository to the project.
    pub folder: String,
    pub run: RunRequest,
}

/// How a run is put into the queue.
#[derive(Clone, Debug, Default)]
pub struct Placing {
    pub labels: Vec<String>,
    pub priority: i32,
}

/// A run in the queue.
#[derive(Clone, Debug)]
pub struct Enqueued {
    pub id: String,
    /// The repository's address on this machine has a password, which was left out.
    pub has_secret: bool,
}

/// Puts a run into the queue. Refuses here what can be refused here.
pub fn enqueue(
    env: &Env,
    fleet: &mut Fleet,
    policy: &Policy,
    request: &RunRequest,
    placing: &Placing,
) -> anyhow::Result<Enqueued> {
    let (root, request) = check_request(env, request)?;
    let origin = copy::origin(&env.driving(), &root).or_else(refused)?;
    let id = make_run_id(env)?;
    let machine = database::machine(env)?;
    let run = RunRequest { run_id: Some(id.clone()), ..request };
    let stored = serde_json::to_string(&StoredRequest { folder: origin.folder, run })?;
    let new = NewRun {
        id: &id,
        repository: &origin.repository,
        commit: &origin.commit,
        request: &stored,
        labels: &placing.labels,
        priority: placing.priority,
        only_on: (!origin.has_remote).then_some(machine.as_str()),
    };
    fleet.enqueue(&new, i64::try_from(policy.fleet.queue_max).unwrap_or(i64::MAX))?;
    Ok(Enqueued { id, has_secret: origin.has_secret })
}
