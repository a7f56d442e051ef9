//! Runs below a durable engine: the service of `docs/examples/restate` under a real Restate server, killed on
//! the way; and `aops-fleet` below the same.

#![expect(clippy::disallowed_methods, reason = "a server and a service that are killed on the way")]

mod attended;
mod asked;

use crate::client::install as packages;
use crate::model::{Model, Turn};
use crate::runs::world::{World, bash};
use crate::support::{BINARY, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Ends with the test.
struct Running(Child);

impl Running {
    fn kill(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A real server with a folder of its own; it listens on sockets in it.
struct Server {
    folder: PathBuf,
    _process: Running,
}

impl Server {
    fn start(sandbox: &Sandbox, folder: PathBuf) -> Self {
        let process = Command::new(packages::restate().0)
            .args(["--node-name", "n", "--listen-mode", "unix", "--base-dir"])
            .arg(&folder)
            .env_clear()
            .envs(sandbox.environment())
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(fs::File::create(folder.join("log")).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { folder, _process: Running(process) };
        sandbox.wait_until("the server is up", || server.ask("admin", "GET", "/health", None).0 == 200);
        sandbox.wait_until("its door is open", || {
            server.ask("ingress", "GET", "/restate/health", None).0 == 200
        });
        server
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.folder.join(format!("n/{name}.sock"))
    }

    /// One request over a socket of the server: its status and what it said.
    fn ask(&self, socket: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let Ok(mut stream) = UnixStream::connect(self.socket(socket)) else {
            return (0, Value::Null);
        };
        let body = body.map(Value::to_string).unwrap_or_default();
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let long = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: x\r\n{kind}content-length: {long}\r\nconnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        let status = said.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let json = said.find(['{', '[']).filter(|_| said.contains("\r\n\r\n")).map_or("", |at| &said[at..]);
        let json = json.rfind(['}', ']']).map_or("", |end| &json[..=end]);
        (status, serde_json::from_str(json).unwrap_or_default())
    }
}

struct Engine {
    world: World,
    port: u16,
    server: Server,
}

const STEPS: &str =
    "  - {id: one, name: One, description: first, run: 'echo one >> effects; while ! test -e go; do sleep 0.02; done'}
  - {id: build, name: Build, description: make it}
  - {id: last, name: Last, description: last, run: echo last >> effects}
";

impl Engine {
    fn new(model: &Model) -> Self {
        let world = World::with(model, &[("w", STEPS)]);
        let folder = world.sandbox.tmp().join("r");
        fs::create_dir(&folder).unwrap();
        let server = Server::start(&world.sandbox, folder);
        Self { world, port: free_port(), server }
    }

    fn ask(&self, socket: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.server.ask(socket, method, path, body)
    }

    fn start_service(&self) -> Running {
        let place = self.server.folder.join("service");
        if !place.exists() {
            fs::create_dir(&place).unwrap();
            symlink(packages::restate().1.join("node_modules"), place.join("node_modules")).unwrap();
            let service = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/restate/service.mjs");
            fs::copy(service, place.join("service.mjs")).unwrap();
        }
        let service = Command::new("node")
            .arg("service.mjs")
            .env_clear()
            .envs(self.world.sandbox.environment())
            .env("AOPS_HOOK", BINARY)
            .env("PORT", self.port.to_string())
            .env("QUESTIONS", self.server.folder.join("questions"))
            .current_dir(&place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("`node` is needed: install Node.js");
        self.world
            .sandbox
            .wait_until("the service is up", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
        Running(service)
    }

    fn questions(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.server.folder.join("questions")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The service is killed while a step runs, and again while a person is asked: each step and the approved
/// call are done once.
#[test]
fn a_run_is_a_durable_handler_of_restate() {
    let model = Model::new([bash("touch danger && echo danger >> effects"), Turn::text("Built.")]);
    let engine = Engine::new(&model);
    let (world, sandbox) = (&engine.world, &engine.world.sandbox);
    let mut service = engine.start_service();
    let place = json!({"uri": format!("http://127.0.0.1:{}", engine.port)});
    let (code, said) = engine.ask("admin", "POST", "/deployments", Some(&place));
    assert_eq!(code, 201, "{said}");
    let order = json!({"project": sandbox.project(), "task": "make it so", "workflow": "w"});
    let (code, sent) = engine.ask("ingress", "POST", "/runs/start/send", Some(&order));
    assert_eq!(code, 202, "{sent}");
    let id = sent["invocationId"].as_str().unwrap();
    sandbox.wait_until("the first step runs", || !world.effects().is_empty());
    service.kill();
    let mut service = engine.start_service();
    fs::write(sandbox.project().join("go"), "").unwrap();
    sandbox.wait_until("a person is asked", || !engine.questions().is_empty());
    service.kill();
    let _service = engine.start_service();
    let asked = engine.questions()[0].clone();
    assert!(asked["question"].as_str().unwrap().contains("touch danger"), "{asked}");
    assert_eq!((world.effects(), world.there("danger")), (vec!["one".to_owned()], false));
    let answer = format!("/restate/awakeables/{}/resolve", asked["awakeable"].as_str().unwrap());
    let (code, said) =
        engine.ask("ingress", "POST", &answer, Some(&json!({"approve": true, "note": "go on"})));
    assert_eq!(code, 202, "{said}");
    let (code, ended) = engine.ask("ingress", "GET", &format!("/restate/invocation/{id}/attach"), None);
    assert_eq!((code, &ended["outcome"]), (200, &json!("PASS")), "{ended}");
    assert_eq!(world.effects(), ["one", "danger", "last"]);
    let runs = world.runs();
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
    assert_eq!(runs[0]["run_id"], ended["run"]);
}
