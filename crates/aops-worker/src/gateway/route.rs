//! Which request asks for what.
//!
//! Listens; each connection has a thread of its own. Invariant: but for the page's own files, signed policies
//! and the question whether the gateway lives, nothing is answered without a token.

use super::bundles;
use super::door::{Caller, Door};
use super::page;
use super::reply::{Reply, Said, problem};
use crate::client::SOON;
use crate::doors::Doors;
use crate::for_machines;
use crate::request::{Request, is_name};
use crate::tokens::Role;
use serde_json::{Value, json};
use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
const MOST_AT_ONCE: usize = 256;

impl Door {
    pub(super) fn listen(self: Arc<Self>, listener: &TcpListener) {
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
        let peer = stream.peer_addr()?.ip();
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let Ok(request) = Request::read(stream) else {
            return Reply::from(problem(400, "the request cannot be read")).write(stream);
        };
        if (request.method.as_str(), request.path.as_str()) == ("GET", "/v1/events") {
            return self.events(stream, &request, peer);
        }
        let bundles = self.gateway.bundles.as_deref();
        let of = |path: &String| page::file(path).or_else(|| bundles::file(bundles, path));
        let file = Some(&request.path).filter(|_| request.method == "GET").and_then(of);
        file.unwrap_or_else(|| self.act(&request, peer).into()).write(stream)
    }

    fn act(&self, request: &Request, peer: IpAddr) -> Said {
        let is_up =
            || self.gateway.admin.ask("GET", "/health", None, SOON).is_ok_and(|said| said.status == 200);
        if (request.method.as_str(), request.path.as_str()) == ("GET", "/healthz") {
            return if is_up() {
                (200, json!({"ok": true}))
            } else {
                problem(503, "the engine does not answer")
            };
        }
        match (request.method.as_str(), request.path.strip_prefix("/v1/login")) {
            ("GET", Some("")) => return self.issuer(),
            ("POST", Some(act)) if act.starts_with('/') => {
                return self.log_in(&act[1..], &request.body, &request.origin(peer));
            }
            _ => {}
        }
        let caller = match self.caller(request, peer) {
            Ok(caller) => caller,
            Err(said) => return said,
        };
        let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
        if let ("POST", ["v1", "runs", run, act @ ..]) = (request.method.as_str(), parts.as_slice()) {
            return self.act_on(&caller, run, act, request);
        }
        if !caller.person.may_at_all(Role::Read) {
            return self.refuse(&caller, &request.path);
        }
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["metrics"]) => self.metrics(),
            ("GET", ["v1", "me"]) => {
                (200, json!({"name": caller.person.name, "issuer": caller.person.issuer}))
            }
            ("POST", ["v1", "list", "runs"]) => self.list(&caller),
            ("POST", ["v1", "list", "page"]) => self.list_page(&caller, &request.body),
            ("POST", ["v1", "list", "machines"]) => self.machines(),
            ("POST", ["v1", "about"]) => for_machines::about(&self.doors(), &caller.person),
            ("POST", ["v1", "machines", name, act @ ..]) if is_name(name) => {
                self.for_machine(&caller, name, act, &request.body)
            }
            _ => problem(404, "there is no such thing here"),
        }
    }

    fn doors(&self) -> Doors {
        Doors { ingress: self.gateway.ingress.clone(), admin: self.gateway.admin.clone() }
    }

    fn for_machine(&self, caller: &Caller, name: &str, act: &[&str], body: &[u8]) -> Said {
        if act == ["hello"] && !self.note(caller, "hello", name, &Value::Null) {
            return problem(500, "the audit cannot be written");
        }
        for_machines::act(&self.doors(), &caller.person, name, act, body)
    }

    fn act_on(&self, caller: &Caller, run: &str, act: &[&str], request: &Request) -> Said {
        if !is_name(run) {
            return problem(400, "that is not the id of a run");
        }
        let role = match act {
            [] => Role::Submit,
            ["block"] if self.is_own_question(caller, run) => Role::Submit,
            ["status" | "wait" | "look" | "question"] => Role::Read,
            ["answer"] => Role::Approve,
            ["block" | "release"] => Role::Operate,
            _ => return problem(404, "there is no such thing here"),
        };
        if act.is_empty() {
            return self.submit(caller, run, request);
        }
        if let Err(said) = self.check(caller, role, run, &request.path) {
            return said;
        }
        match act {
            ["status"] => self.status(run),
            ["wait"] => self.wait(run),
            ["look"] => self.look(caller, run),
            ["question"] => self.question(caller, run),
            ["answer"] => self.decide(caller, run, request),
            ["release"] => self.release(caller, run),
            _ => self.block(caller, run, request),
        }
    }
}
