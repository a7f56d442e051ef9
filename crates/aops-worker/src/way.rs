//! How a worker reaches the engine: at the server's own addresses, or through the gateway.
//!
//! Opens connections. Invariant: whichever way it is, the worker learns only about its own machine.

use crate::doors::{Doors, Refusal};
use crate::order::{LegEnd, Machine};
use aops_core::system::env::Env;
use aops_core::text::json::cut;
use aops_remote::gateway::{Gateway, WORKER_TOKEN, words_of};
use serde_json::{Value, json};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time limits of the gateway's answers: as long as the server may take, and for a sign of life.
const SOON: Duration = Duration::from_secs(40);
const QUICK: Duration = Duration::from_secs(3);

#[derive(Clone, Debug)]
pub enum Way {
    Doors(Doors),
    Gateway(Arc<Through>),
}

/// The gateway, as this machine finds it.
pub struct Through {
    env: Env,
    url: String,
    machine: String,
    /// Kept while it works. Name, authorities and token are looked up again after a failure.
    found: Mutex<Option<Arc<Gateway>>>,
}

impl fmt::Debug for Through {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} for {}", self.url, self.machine)
    }
}

impl Through {
    pub fn new(env: &Env, url: &str, machine: &str) -> Self {
        let found = Mutex::default();
        Self { env: env.clone(), url: url.to_owned(), machine: machine.to_owned(), found }
    }

    fn ask(&self, what: &str, body: &Value, patience: Duration) -> Result<Value, Refusal> {
        let lock = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().clone();
        let gateway = match known {
            Some(gateway) => gateway,
            None => {
                Arc::new(Gateway::find(&self.env, &self.url, WORKER_TOKEN).map_err(|words| (401, words))?)
            }
        };
        let said = gateway.post(&format!("machines/{}/{what}", self.machine), body, patience);
        let is_fine = matches!(said, Ok((status, _)) if status != 401);
        *lock() = is_fine.then_some(gateway);
        match said {
            Ok((200..300, said)) => Ok(said),
            Ok((status, said)) => Err((status, words_of(status, &said))),
            Err(words) => Err((503, cut(&words, 500).to_owned())),
        }
    }
}

impl Way {
    /// Announces this machine, which serves its steps at this address.
    pub fn hello(&self, machine: &Machine, uri: &str) -> Result<(), Refusal> {
        match self {
            Way::Doors(doors) => doors.welcome(machine, uri),
            Way::Gateway(through) => {
                through.ask("hello", &json!({"address": uri, "machine": machine}), SOON).map(drop)
            }
        }
    }

    /// Whether runs are assigned to this machine.
    pub fn counts(&self, machine: &str) -> Result<bool, Refusal> {
        match self {
            Way::Doors(doors) => doors.counts(machine),
            Way::Gateway(through) => {
                through.ask("counts", &Value::Null, SOON).map(|said| said["counts"] != json!(false))
            }
        }
    }

    /// Tells how a step ended.
    pub fn ended(&self, awakeable: &str, end: &LegEnd) -> Result<(), Refusal> {
        match self {
            Way::Doors(doors) => doors.ended(awakeable, end),
            Way::Gateway(through) => through.ask(&format!("ended/{awakeable}"), &json!(end), SOON).map(drop),
        }
    }

    /// Whether the engine's server answers.
    pub fn lives(&self) -> bool {
        match self {
            Way::Doors(doors) => doors.lives(),
            Way::Gateway(through) => through.ask("lives", &Value::Null, QUICK).is_ok(),
        }
    }

    /// How often to ask whether it lives, if a machine may be cut off for so long.
    pub fn beat(&self, reattach: Duration) -> Duration {
        match self {
            Way::Doors(_) => Duration::from_secs(1),
            // Many machines ask one gateway.
            Way::Gateway(_) => (reattach / 10).max(Duration::from_millis(200)),
        }
    }
}
