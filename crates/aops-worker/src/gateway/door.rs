//! The gateway's interface for people: who asks, what they may, and the record of it.
//!
//! Reads the file of tokens, asks the engine, appends to the audit.

use super::options::Gateway;
use super::pending::Pending;
use super::reply::{Said, passed, problem};
use crate::away::{self, Away};
use crate::client::SOON;
use crate::metrics::ACTS;
use crate::order::{Standing, path_of};
use crate::request::Request;
use crate::signed::Signer;
use crate::tokens::{ISSUER, Person, Role, Scope, Tokens};
use aops_core::system::env::now_ms;
use aops_core::text::sha256::sha256;
use aops_core::text::time::timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How old a list of runs may be that several people look at.
const FRESH: Duration = Duration::from_millis(500);

type Seen = Option<(Instant, Arc<Vec<Value>>)>;

pub(super) struct Door {
    pub(super) gateway: Gateway,
    pub(super) signer: Signer,
    pub(super) away: Arc<Away>,
    /// How often each act was done or refused.
    pub(super) acts: Mutex<BTreeMap<&'static str, u64>>,
    /// The digest of the file of tokens, as it was seen last.
    known: Mutex<String>,
    seen: Mutex<Seen>,
    pub(super) pending: Mutex<Pending>,
}

/// Who asks, and from where.
pub(super) struct Caller {
    pub(super) person: Person,
    pub(super) from: String,
}

impl Door {
    pub(super) fn new(gateway: Gateway, signer: Signer, away: Arc<Away>) -> Self {
        let (acts, known, seen, pending) =
            (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        Self { gateway, signer, away, acts, known, seen, pending }
    }

    /// Whoever has this request's token.
    pub(super) fn caller(&self, request: &Request, peer: IpAddr) -> Result<Caller, Said> {
        let Ok(tokens) = Tokens::read(&self.gateway.tokens) else {
            return Err(problem(503, "the file of tokens cannot be read"));
        };
        self.note_change();
        let person = tokens
            .find(&request.token)
            .or_else(|| self.of_session(&request.token))
            .ok_or_else(|| problem(401, "a token is needed"))?;
        Ok(Caller { person, from: request.origin(peer) })
    }

    /// Records that somebody changed who may do what.
    fn note_change(&self) {
        let read = |file: Option<&PathBuf>| file.and_then(|file| fs::read(file).ok()).unwrap_or_default();
        let digest = sha256(&[&read(Some(&self.gateway.tokens)), b"\0", &read(self.gateway.oidc.as_ref())]);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != digest && self.write("tokens", ISSUER, "gateway", &json!({"sha256": digest})) {
            *known = digest;
        }
    }

    /// The state of a run, or why there is none to be had.
    pub(super) fn standing(&self, run: &str) -> Result<Standing, Said> {
        let said = passed(self.gateway.ingress.ask("POST", &path_of(run, "status"), None, SOON));
        match said {
            (200, standing) => {
                serde_json::from_value(standing).map_err(|_| problem(404, "there is no such run"))
            }
            other => Err(other),
        }
    }

    /// Whether this run is within the role; a refusal is recorded.
    pub(super) fn check(&self, caller: &Caller, role: Role, run: &str, path: &str) -> Result<(), Said> {
        if caller.person.may_always(role) {
            return Ok(());
        }
        if caller.person.may_at_all(role) {
            let standing = self.standing(run)?;
            if caller.person.may(role, &scope_of(&standing)) {
                return Ok(());
            }
        }
        Err(self.refuse(caller, path))
    }

    pub(super) fn refuse(&self, caller: &Caller, path: &str) -> Said {
        self.note(caller, "refused", path, &Value::Null);
        problem(403, &format!("{} may not do this", caller.person.name))
    }

    /// All runs that the engine still knows, the most recently changed first.
    pub(super) fn runs(&self) -> Option<Arc<Vec<Value>>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, runs)) = &*seen
            && at.elapsed() < FRESH
        {
            return Some(Arc::clone(runs));
        }
        let sql = "select service_key, value_utf8 from state where service_name in ('Run', 'Question') and key = 'standing'";
        let rows = away::query(&self.gateway.admin, sql)?;
        let one = |row: &Value| {
            let mut standing: Value = serde_json::from_str(row["value_utf8"].as_str()?).ok()?;
            let run = row["service_key"].as_str()?;
            self.say_away(run, &mut standing);
            standing["run_id"] = json!(run);
            Some(standing)
        };
        let mut runs: Vec<Value> = rows.iter().filter_map(one).collect();
        runs.sort_by(|a, b| b["since"].as_str().cmp(&a["since"].as_str()));
        let runs = Arc::new(runs);
        *seen = Some((Instant::now(), Arc::clone(&runs)));
        Some(runs)
    }

    /// The runs that this person may read.
    pub(super) fn runs_of(&self, person: &Person) -> Option<Vec<Value>> {
        let runs = self.runs()?;
        let may = |run: &&Value| {
            let labels: Vec<String> = serde_json::from_value(run["labels"].clone()).unwrap_or_default();
            let repository = run["repository"].as_str().unwrap_or_default();
            person.may(Role::Read, &Scope { repository, labels: &labels })
        };
        Some(runs.iter().filter(may).cloned().collect())
    }

    /// Adds to a run's status that its machine cannot be reached.
    pub(super) fn say_away(&self, run: &str, standing: &mut Value) {
        let machine = standing["machine"].as_str().unwrap_or_default();
        let since = self.away.since(run, machine).filter(|_| standing["state"] == "runs");
        if let Some(since) = since {
            standing["waits_for"] = json!(format!("machine {machine} since {since}"));
        }
    }

    /// Records an act in the audit. `false` if it could not be written.
    pub(super) fn note(&self, caller: &Caller, act: &str, about: &str, with: &Value) -> bool {
        if let Some(act) = ACTS.iter().find(|known| **known == act) {
            *self.acts.lock().unwrap_or_else(PoisonError::into_inner).entry(act).or_default() += 1;
        }
        let who = &caller.person;
        let line = json!({
            "act": act, "about": about, "ts": timestamp(now_ms()), "who": who.name, "issuer": who.issuer,
            "from": caller.from, "with": with
        });
        self.append(&line)
    }

    /// The same for what is not a person's.
    pub(super) fn write(&self, act: &str, about: &str, who: &str, with: &Value) -> bool {
        self.append(&json!({"act": act, "about": about, "ts": timestamp(now_ms()), "who": who, "with": with}))
    }

    fn append(&self, line: &Value) -> bool {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.gateway.audit);
        file.and_then(|mut file| writeln!(file, "{line}").and_then(|()| file.sync_data())).is_ok()
    }
}

pub(super) fn scope_of(standing: &Standing) -> Scope<'_> {
    Scope { repository: &standing.repository, labels: &standing.labels }
}
