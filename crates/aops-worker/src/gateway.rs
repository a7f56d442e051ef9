//! The gateway: the only way to the engine for people and programs. It knows who asks, what they may do, and writes it down.
//!
//! Listens, asks the engine, appends to the audit. Invariants: nothing is passed on without a token that has the role; who
//! submits or answers is whom the token names, whatever the request says; an act is in the audit before it is passed on.

use crate::client::{Address, Answer, SOON};
use crate::given::Given;
use crate::order::{Decision, Order};
use crate::tokens::{Person, Role, Tokens};
use aops_core::system::env::now_ms;
use aops_core::text::time::timestamp;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
/// How long a request for the end of a run is held.
const HOLD: Duration = Duration::from_secs(5);
const LONGEST_REQUEST: u64 = 256 << 10;
const LONGEST_LINE: u64 = 16 << 10;
const LONGEST_NAME: usize = 200;
const MOST_HEADERS: usize = 100;
const MOST_AT_ONCE: usize = 256;

/// How a gateway was started.
#[derive(Clone, Debug)]
pub struct Gateway {
    pub listen: SocketAddr,
    pub ingress: Address,
    pub admin: Address,
    /// Who may do what; read again for each request, so that a token that was taken out counts no more.
    pub tokens: PathBuf,
    /// Nobody answers what a run of their own asks.
    pub four_eyes: bool,
    /// One line of JSON for each act.
    pub audit: PathBuf,
}

#[derive(Debug, Default)]
struct Request {
    method: String,
    path: String,
    token: String,
    body: Vec<u8>,
}

/// A status and what is said with it.
type Said = (u16, Value);

impl Gateway {
    pub fn read(words: &[String]) -> Result<Self, String> {
        let given = Given::read(words, &["listen", "ingress", "admin", "tokens", "audit", "four-eyes"])?;
        let (listen, tokens) = (given.must("listen")?, PathBuf::from(given.must("tokens")?));
        Tokens::read(&tokens)?;
        let four_eyes = match given.last("four-eyes") {
            None | Some("off") => false,
            Some("on") => true,
            Some(odd) => return Err(format!("`--four-eyes {odd}`: write `on` or `off`")),
        };
        Ok(Self {
            listen: listen.parse().map_err(|_| format!("`--listen {listen}`: write ADDRESS:PORT"))?,
            ingress: Address::read(given.must("ingress")?)?,
            admin: Address::read(given.must("admin")?)?,
            tokens,
            four_eyes,
            audit: PathBuf::from(given.must("audit")?),
        })
    }

    /// Serves for ever, each connection in a thread of its own.
    pub fn serve(self) -> Result<(), String> {
        let listener = TcpListener::bind(self.listen).map_err(|error| format!("`{}`: {error}", self.listen))?;
        let (gateway, open) = (Arc::new(self), Arc::new(AtomicUsize::new(0)));
        for stream in listener.incoming().flatten() {
            if open.fetch_add(1, Ordering::SeqCst) >= MOST_AT_ONCE {
                open.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (gateway, open) = (Arc::clone(&gateway), Arc::clone(&open));
            thread::spawn(move || {
                let _ = gateway.answer(&stream);
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
        Ok(())
    }

    fn answer(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (status, said) = match read(stream) {
            Ok(request) => self.act(&request),
            Err(_) => problem(400, "the request cannot be read"),
        };
        let body = said.to_string();
        let mut out = stream;
        write!(
            out,
            "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            if status < 400 { "OK" } else { "Refused" },
            body.len()
        )
    }

    fn act(&self, request: &Request) -> Said {
        if (request.method.as_str(), request.path.as_str()) == ("GET", "/healthz") {
            let is_up = self.admin.ask("GET", "/health", None, SOON).is_ok_and(|said| said.status == 200);
            return if is_up { (200, json!({"ok": true})) } else { problem(503, "the engine does not answer") };
        }
        let Ok(tokens) = Tokens::read(&self.tokens) else { return problem(503, "the file of tokens cannot be read") };
        let Some(person) = tokens.find(&request.token) else { return problem(401, "a token is needed") };
        let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
        let (role, run) = match (request.method.as_str(), parts.as_slice()) {
            ("POST", ["v1", "runs", run]) => (Role::Submit, *run),
            ("POST", ["v1", "runs", run, "status" | "wait"]) => (Role::Read, *run),
            ("POST", ["v1", "runs", run, "answer"]) => (Role::Approve, *run),
            ("POST", ["v1", "runs", run, "block"]) => (Role::Operate, *run),
            _ => return problem(404, "there is no such thing here"),
        };
        if !is_name(run) {
            return problem(400, "that is not the id of a run");
        }
        if !person.may(role) {
            self.note(person, "refused", &request.path, &Value::Null);
            return problem(403, &format!("{} may not do this", person.name));
        }
        match parts.get(3).copied() {
            None => self.submit(person, run, &request.body),
            Some("status") => passed(self.ingress.ask("POST", &format!("/Run/{run}/status"), None, SOON)),
            Some("wait") => self.wait(run),
            Some("answer") => self.decide(person, run, &request.body),
            Some(_) => self.block(person, run),
        }
    }

    /// The end of a run; 202 if it takes longer than a request may.
    fn wait(&self, run: &str) -> Said {
        let path = format!("/restate/workflow/Run/{run}/attach");
        match self.ingress.ask("GET", &path, None, Some(HOLD)) {
            Err(error) if is_late(&error) => (202, json!({"over": false})),
            said => passed(said),
        }
    }

    fn submit(&self, person: &Person, run: &str, body: &[u8]) -> Said {
        let Ok(order) = serde_json::from_slice::<Order>(body) else { return problem(400, "that is not an order") };
        let order = Order { who: person.name.clone(), ..order };
        if !self.note(person, "submit", run, &order.run) {
            return problem(500, "the audit cannot be written");
        }
        passed(self.ingress.ask("POST", &format!("/Run/{run}/run/send"), Some(&json!(order)), SOON))
    }

    fn decide(&self, person: &Person, run: &str, body: &[u8]) -> Said {
        let Ok(mut said) = serde_json::from_slice::<Value>(body) else { return problem(400, "that is not an answer") };
        said["who"] = json!(person.name);
        said["at"] = json!(timestamp(now_ms()));
        let Ok(decision) = serde_json::from_value::<Decision>(said) else {
            return problem(400, "that is not an answer");
        };
        if self.four_eyes {
            match self.ingress.ask("POST", &format!("/Run/{run}/status"), None, SOON) {
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
        passed(self.ingress.ask("POST", &format!("/Run/{run}/answer"), Some(&json!(decision)), SOON))
    }

    /// Cancels the run; its steps are ended before the engine says that it is over.
    fn block(&self, person: &Person, run: &str) -> Said {
        if !self.note(person, "block", run, &Value::Null) {
            return problem(500, "the audit cannot be written");
        }
        let sql = format!(
            "select id from sys_invocation where target_service_name = 'Run' and target_service_key = '{run}' and target_handler_name = 'run' and status != 'completed'"
        );
        let found = self.admin.ask("POST", "/query", Some(&json!({"query": sql})), SOON);
        let id = found.ok().and_then(|said| said.json["rows"][0]["id"].as_str().map(str::to_owned));
        let Some(id) = id else { return problem(404, "no such run is under way") };
        match self.admin.ask("PATCH", &format!("/invocations/{id}/cancel"), None, SOON) {
            Ok(said) if said.status < 300 => {}
            other => return passed(other),
        }
        match self.ingress.ask("GET", &format!("/restate/invocation/{id}/attach"), None, SOON) {
            // Its machine is away, and hears no cancellation.
            Err(error) if is_late(&error) => {
                let killed = self.admin.ask("PATCH", &format!("/invocations/{id}/kill"), None, SOON);
                let words = "ended here; its machine was away, and ends what it has when it is back";
                if killed.is_ok_and(|said| said.status < 300) { problem(200, words) } else { problem(503, words) }
            }
            said => passed(said),
        }
    }

    /// False if it could not be written.
    fn note(&self, person: &Person, act: &str, about: &str, with: &Value) -> bool {
        let line = json!({"act": act, "about": about, "ts": timestamp(now_ms()), "who": person.name, "with": with});
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.audit);
        file.and_then(|mut file| writeln!(file, "{line}").and_then(|()| file.sync_data())).is_ok()
    }
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
        Ok(Answer { status, json: Value::Null, text }) if !text.is_empty() => (status, json!({"message": text})),
        Ok(Answer { status, json, .. }) => (status, json),
        Err(error) => problem(503, &format!("the engine does not answer: {error}")),
    }
}

fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    (1..=LONGEST_NAME).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(plain)
}

fn read(stream: &TcpStream) -> io::Result<Request> {
    let odd = || io::Error::from(io::ErrorKind::InvalidData);
    let mut reader = BufReader::new(stream);
    let mut line = || -> io::Result<String> {
        let mut line = String::new();
        reader.by_ref().take(LONGEST_LINE).read_line(&mut line)?;
        if line.ends_with('\n') { Ok(line.trim_end().to_owned()) } else { Err(odd()) }
    };
    let first = line()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let (mut request, mut long) = (Request { method, path, ..Request::default() }, 0);
    for _ in 0..MOST_HEADERS {
        let header = line()?;
        if header.is_empty() {
            reader.take(long).read_to_end(&mut request.body)?;
            return if request.body.len() as u64 == long { Ok(request) } else { Err(odd()) };
        }
        let (name, value) = header.split_once(':').ok_or_else(odd)?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => long = value.trim().parse().ok().filter(|n| *n <= LONGEST_REQUEST).ok_or_else(odd)?,
            "authorization" => value.trim().strip_prefix("Bearer ").unwrap_or_default().clone_into(&mut request.token),
            "transfer-encoding" => return Err(odd()),
            _ => {}
        }
    }
    Err(odd())
}
