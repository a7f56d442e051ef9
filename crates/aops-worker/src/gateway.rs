//! The gateway: the only way to the engine for people and programs. It knows who asks and what they may do,
//! and records it.
//!
//! Listens, asks the engine, appends to the audit. Invariants: nothing is passed on without a token that has
//! the role; who submits or answers is decided by the token, whatever the request says; an act is in the
//! audit before it is passed on.

use crate::announce;
use crate::away::{self, Away};
use crate::client::{Address, Answer, SOON};
use crate::doors::Doors;
use crate::for_machines;
use crate::given::Given;
use crate::metrics::{self, ACTS, Told};
use crate::order::{ALL, Decision, Order, workflow_of};
use crate::request::Request;
use crate::service::serve_runs;
use crate::tokens::{Person, Role, Tokens};
use aops_core::config::policy::Fleet;
use aops_core::system::env::now_ms;
use aops_core::text::time::{self, timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
/// How long a request that waits for the end of a run is held open.
const HOLD: Duration = Duration::from_secs(5);
const LONGEST_NAME: usize = 200;
/// The maximum length of a list.
const MOST_RUNS: usize = 1000;
const MOST_AT_ONCE: usize = 256;

/// The options that a gateway was started with.
#[derive(Clone, Debug)]
pub struct Gateway {
    pub listen: SocketAddr,
    pub ingress: Address,
    pub admin: Address,
    /// Who may do what; read again for each request, so a removed token stops working.
    pub tokens: PathBuf,
    /// Nobody may answer a question of their own run.
    pub four_eyes: bool,
    /// The audit file: one line of JSON for each act.
    pub audit: PathBuf,
    /// The address at which the engine calls the handlers of runs, and how the engine finds it.
    pub runs: SocketAddr,
    pub address: Option<String>,
    /// The server's key: only the server may call those handlers.
    pub identity: Option<String>,
    /// How many runs of one repository may run at a time; 0 means any number.
    pub per_repository: usize,
    /// A machine that cannot be reached for this long loses its steps.
    pub lost_after: Duration,
}

const KNOWN: [&str; 11] = [
    "listen", "ingress", "admin", "tokens", "audit", "four-eyes", "runs", "address", "identity",
    "per-repository", "lost-after",
];

/// A status and its body.
type Said = (u16, Value);

impl Gateway {
    /// What no option says, the user's configuration does.
    pub fn read(words: &[String], fleet: &Fleet) -> Result<Self, String> {
        let given = Given::read(words, &KNOWN)?;
        let tokens = PathBuf::from(given.must("tokens")?);
        Tokens::read(&tokens)?;
        let four_eyes = match given.last("four-eyes") {
            None | Some("off") => false,
            Some("on") => true,
            Some(odd) => return Err(format!("`--four-eyes {odd}`: write `on` or `off`")),
        };
        let per_repository =
            given.last("per-repository").map_or_else(|| fleet.per_repository.to_string(), str::to_owned);
        let identity = given.last("identity").or(fleet.identity.as_deref());
        let runs = given.address("runs", given.last("runs").unwrap_or("127.0.0.1:7392"))?;
        if identity.is_none() && !runs.ip().is_loopback() {
            return Err(format!(
                "`--runs {runs}` without `--identity`\nhint: give the server's key (`publickeyv1_…`), or listen on 127.0.0.1"
            ));
        }
        Ok(Self {
            listen: given.address("listen", given.must("listen")?)?,
            ingress: Address::read(given.must("ingress")?)?,
            admin: Address::read(given.must("admin")?)?,
            tokens,
            four_eyes,
            audit: PathBuf::from(given.must("audit")?),
            runs,
            address: given.last("address").map(str::to_owned),
            identity: identity.map(str::to_owned),
            per_repository: per_repository
                .parse()
                .map_err(|_| format!("`--per-repository {per_repository}`: write a number"))?,
            lost_after: given.period("lost-after", fleet.lost_after)?.duration(),
        })
    }

    /// Serves people and the engine; never returns unless it fails.
    pub fn serve(self) -> Result<(), String> {
        let listener =
            TcpListener::bind(self.listen).map_err(|error| format!("`{}`: {error}", self.listen))?;
        let away = Away::new(self.ingress.clone(), self.admin.clone(), self.lost_after);
        Arc::clone(&away).watch();
        let door = Arc::new(Door { gateway: self, away, acts: Mutex::default() });
        let people = Arc::clone(&door);
        thread::spawn(move || people.listen(&listener));
        let here = door.gateway.address.clone().unwrap_or_else(|| format!("http://{}", door.gateway.runs));
        let admin = door.gateway.admin.clone();
        thread::spawn(move || announce::deployment(&admin, &here));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let Gateway { runs, admin, per_repository, identity, .. } = &door.gateway;
        runtime.block_on(serve_runs(*runs, admin.clone(), *per_repository, identity.as_deref()))
    }
}

/// The gateway's interface for people.
struct Door {
    gateway: Gateway,
    away: Arc<Away>,
    /// How often each act was done or refused.
    acts: Mutex<BTreeMap<&'static str, u64>>,
}

impl Door {
    /// Handles each connection in a thread of its own.
    fn listen(self: Arc<Self>, listener: &TcpListener) {
        let open = Arc::new(AtomicUsize::new(0));
        for stream in listener.incoming().flatten() {
            if open.fetch_add(1, Ordering::SeqCst) >= MOST_AT_ONCE {
                open.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let door = Arc::clone(&self);
            let open = Arc::clone(&open);
            thread::spawn(move || {
                let _ = door.answer(&stream);
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    }

    fn answer(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (status, said) = match Request::read(stream) {
            Ok(request) => self.act(&request),
            Err(_) => problem(400, "the request cannot be read"),
        };
        let (kind, body) = match said {
            Value::String(text) => ("text/plain; version=0.0.4", text),
            said => ("application/json", said.to_string()),
        };
        let mut out = stream;
        write!(
            out,
            "HTTP/1.1 {status} {}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            if status < 400 { "OK" } else { "Refused" },
            body.len()
        )
    }

    fn act(&self, request: &Request) -> Said {
        if (request.method.as_str(), request.path.as_str()) == ("GET", "/healthz") {
            let is_up =
                self.gateway.admin.ask("GET", "/health", None, SOON).is_ok_and(|said| said.status == 200);
            return if is_up {
                (200, json!({"ok": true}))
            } else {
                problem(503, "the engine does not answer")
            };
        }
        let Ok(tokens) = Tokens::read(&self.gateway.tokens) else {
            return problem(503, "the file of tokens cannot be read");
        };
        let Some(person) = tokens.find(&request.token) else { return problem(401, "a token is needed") };
        let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["metrics"]) => self.metrics(person),
            ("POST", ["v1", "list", "runs"]) => self.list(person),
            ("POST", ["v1", "list", "machines"]) => self.machines(person),
            ("POST", ["v1", "about"]) if person.may(Role::Read) => for_machines::about(&self.doors(), person),
            ("POST", ["v1", "machines", name, act @ ..]) if is_name(name) => {
                if act == ["hello"] && !self.note(person, "hello", name, &Value::Null) {
                    return problem(500, "the audit cannot be written");
                }
                for_machines::act(&self.doors(), person, name, act, &request.body)
            }
            ("POST", ["v1", "runs", run, act @ ..]) => self.act_on(person, run, act, request),
            _ => problem(404, "there is no such thing here"),
        }
    }

    fn doors(&self) -> Doors {
        Doors { ingress: self.gateway.ingress.clone(), admin: self.gateway.admin.clone() }
    }

    fn act_on(&self, person: &Person, run: &str, act: &[&str], request: &Request) -> Said {
        let role = match act {
            [] => Role::Submit,
            ["status" | "wait"] => Role::Read,
            ["answer"] => Role::Approve,
            ["block" | "release"] => Role::Operate,
            _ => return problem(404, "there is no such thing here"),
        };
        if !is_name(run) {
            return problem(400, "that is not the id of a run");
        }
        if !person.may(role) {
            self.note(person, "refused", &request.path, &Value::Null);
            return problem(403, &format!("{} may not do this", person.name));
        }
        match act {
            [] => self.submit(person, run, &request.body),
            ["status"] => self.status(run),
            ["wait"] => self.wait(run),
            ["answer"] => self.decide(person, run, &request.body),
            ["release"] => self.release(person, run),
            _ => self.block(person, run),
        }
    }

    fn status(&self, run: &str) -> Said {
        let (status, mut standing) =
            passed(self.gateway.ingress.ask("POST", &path_of(run, "status"), None, SOON));
        if status == 200 && standing.is_object() {
            self.say_away(run, &mut standing);
        }
        (status, standing)
    }

    /// Adds to a run's status that its machine cannot be reached.
    fn say_away(&self, run: &str, standing: &mut Value) {
        let machine = standing["machine"].as_str().unwrap_or_default();
        let since = self.away.since(run, machine).filter(|_| standing["state"] == "runs");
        if let Some(since) = since {
            standing["waits_for"] = json!(format!("machine {machine} since {since}"));
        }
    }

    /// All runs that the engine still knows, the most recently changed first.
    fn list(&self, person: &Person) -> Said {
        if !person.may(Role::Read) {
            return problem(403, &format!("{} may not do this", person.name));
        }
        let Some(mut runs) = self.runs() else { return problem(503, "the engine does not answer") };
        runs.truncate(MOST_RUNS);
        (200, Value::Array(runs))
    }

    fn runs(&self) -> Option<Vec<Value>> {
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
        Some(runs)
    }

    /// The metrics for a collector whose token may read.
    fn metrics(&self, person: &Person) -> Said {
        if !person.may(Role::Read) {
            return problem(403, &format!("{} may not do this", person.name));
        }
        let machines = self.gateway.ingress.ask("POST", &format!("/Machines/{ALL}/list"), None, SOON);
        let (Some(runs), Ok(machines)) = (self.runs(), machines) else {
            return problem(503, "the engine does not answer");
        };
        let (unreached, taken) = self.away.counts();
        let acts = self.acts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let since = |run: &Value| time::parse(run["since"].as_str()?);
        let told = Told {
            runs: &runs,
            machines: &machines.json,
            unreached,
            taken,
            acts: &acts,
            now_ms: now_ms(),
            since_ms: &since,
        };
        (200, Value::String(metrics::text(&told)))
    }

    fn machines(&self, person: &Person) -> Said {
        if !person.may(Role::Read) {
            return problem(403, &format!("{} may not do this", person.name));
        }
        passed(self.gateway.ingress.ask("POST", &format!("/Machines/{ALL}/list"), None, SOON))
    }

    /// Takes a step from its machine, so that it begins again on another one.
    fn release(&self, person: &Person, run: &str) -> Said {
        if !self.note(person, "release", run, &Value::Null) {
            return problem(500, "the audit cannot be written");
        }
        if self.away.release(run) {
            (200, json!({"released": true}))
        } else {
            problem(409, "no step of it is under way, or its machine has not ended it yet")
        }
    }

    /// Waits for the end of a run; 202 if that takes longer than a request may.
    fn wait(&self, run: &str) -> Said {
        let path = format!("/restate/workflow/{}/{run}/attach", workflow_of(run).0);
        match self.gateway.ingress.ask("GET", &path, None, Some(HOLD)) {
            Err(error) if is_late(&error) => (202, json!({"over": false})),
            said => passed(said),
        }
    }

    fn submit(&self, person: &Person, run: &str, body: &[u8]) -> Said {
        let Ok(order) = serde_json::from_slice::<Order>(body) else {
            return problem(400, "that is not an order");
        };
        let order = Order { who: person.name.clone(), ..order };
        if !self.note(person, "submit", run, &order.run) {
            return problem(500, "the audit cannot be written");
        }
        passed(self.gateway.ingress.ask(
            "POST",
            &(path_of(run, workflow_of(run).1) + "/send"),
            Some(&json!(order)),
            SOON,
        ))
    }

    fn decide(&self, person: &Person, run: &str, body: &[u8]) -> Said {
        let Ok(mut said) = serde_json::from_slice::<Value>(body) else {
            return problem(400, "that is not an answer");
        };
        said["who"] = json!(person.name);
        said["at"] = json!(timestamp(now_ms()));
        let Ok(decision) = serde_json::from_value::<Decision>(said) else {
            return problem(400, "that is not an answer");
        };
        if self.gateway.four_eyes {
            match self.gateway.ingress.ask("POST", &path_of(run, "status"), None, SOON) {
                Ok(said) if said.status == 200 && said.json["who"] == person.name.as_str() => {
                    self.note(person, "refused", &request_of(run), &json!(decision));
                    return problem(403, "who asked for a run does not answer it: somebody else must");
                }
                Ok(said) if said.status == 200 && said.json["who"].is_string() => {}
                Ok(said) if said.status == 200 => return problem(409, "the run does not ask this question"),
                other => return passed(other),
            }
        }
        if !self.note(person, "answer", run, &json!(decision)) {
            return problem(500, "the audit cannot be written");
        }
        passed(self.gateway.ingress.ask("POST", &path_of(run, "answer"), Some(&json!(decision)), SOON))
    }

    /// Cancels the run and waits for its end: the run first ends its step, or says by when it will have
    /// ended.
    fn block(&self, person: &Person, run: &str) -> Said {
        if !self.note(person, "block", run, &Value::Null) {
            return problem(500, "the audit cannot be written");
        }
        let (service, handler) = workflow_of(run);
        let sql = format!(
            "select id from sys_invocation where target_service_name = '{service}' and target_service_key = '{run}' and target_handler_name = '{handler}' and status != 'completed'"
        );
        let found = away::query(&self.gateway.admin, &sql).unwrap_or_default();
        let Some(id) = found.first().and_then(|row| row["id"].as_str()) else {
            return problem(404, "no such run is under way");
        };
        match self.gateway.admin.ask("PATCH", &format!("/invocations/{id}/cancel"), None, SOON) {
            Ok(said) if said.status < 300 => {}
            other => return passed(other),
        }
        match self.gateway.ingress.ask("GET", &format!("/restate/invocation/{id}/attach"), None, SOON) {
            Err(error) if is_late(&error) => {
                problem(503, "it was told to end, and has not ended yet: ask for its status")
            }
            said => passed(said),
        }
    }

    /// Records an act in the audit. `false` if it could not be written.
    fn note(&self, person: &Person, act: &str, about: &str, with: &Value) -> bool {
        if let Some(act) = ACTS.iter().find(|known| **known == act) {
            *self.acts.lock().unwrap_or_else(PoisonError::into_inner).entry(act).or_default() += 1;
        }
        let line =
            json!({"act": act, "about": about, "ts": timestamp(now_ms()), "who": person.name, "with": with});
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.gateway.audit);
        file.and_then(|mut file| writeln!(file, "{line}").and_then(|()| file.sync_data())).is_ok()
    }
}

fn path_of(run: &str, handler: &str) -> String {
    format!("/{}/{run}/{handler}", workflow_of(run).0)
}

fn request_of(run: &str) -> String {
    format!("/v1/runs/{run}/answer")
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn problem(status: u16, words: &str) -> Said {
    (status, json!({"message": words}))
}

fn passed(said: io::Result<Answer>) -> Said {
    match said {
        Ok(Answer { status, json: Value::Null, text }) if !text.is_empty() => {
            (status, json!({"message": text}))
        }
        Ok(Answer { status, json, .. }) => (status, json),
        Err(error) => problem(503, &format!("the engine does not answer: {error}")),
    }
}

fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    (1..=LONGEST_NAME).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(plain)
}
