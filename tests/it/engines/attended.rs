//! `aops-fleet` under a real Restate server: steps that are attended, killed, cancelled, asked about. Real
//! SIGKILL throughout.

use super::{Running, Server, free_port};
use crate::model::{Model, Turn};
use crate::runs::world::{CONFIG, World, bash};
use crate::support::{BINARY, Sandbox};
use aops_core::text::sha256::sha256;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) const BEGUN: &str = r#"echo "$AOPS_IDEMPOTENCY_KEY" >> "$EFFECTS/begun"; "#;
pub(super) const WAIT: &str = r#"while ! test -e "$EFFECTS/go"; do sleep 0.02; done; "#;
/// Leaves group, session and parent, and hears no polite signal.
const DAEMON: &str = r#"(setsid nohup sh -c 'trap "" TERM HUP; : > "$EFFECTS/daemon"; while :; do sleep 1; done' >/dev/null 2>&1 &) ; "#;

pub(super) struct Fleet {
    _model: Model,
    pub(super) world: World,
    door: Option<Door>,
    server: Option<Server>,
    effects: PathBuf,
    bare: PathBuf,
    port: u16,
}

/// Built with the tests of its crate.
fn program() -> PathBuf {
    let program = Path::new(BINARY).with_file_name("aops-fleet");
    assert!(program.exists(), "`aops-fleet` is not built\nhint: run the tests of the whole workspace");
    program
}

impl Fleet {
    pub(super) fn new(model: Model, line: &str) -> Self {
        let quoted = line.replace('\'', "''");
        let steps = format!(
            "  - id: one\n    name: One\n    description: first\n    run: '{quoted}'\n  - {{id: build, name: Build, description: make it}}\n"
        );
        let mut world = World::with(&model, &[("w", &steps)]);
        let effects = world.sandbox.tmp().join("effects");
        fs::create_dir(&effects).unwrap();
        world.sandbox = world.sandbox.with("EFFECTS", &effects);
        world.configure(CONFIG);
        let bare = world.sandbox.tmp().join("remote.git");
        world.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
        world.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
        world.git(&["push", "-q", "-u", "origin", "main"]);
        let folder = world.sandbox.tmp().join("r");
        fs::create_dir(&folder).unwrap();
        let server = Some(Server::start(&world.sandbox, folder));
        let mut fleet = Self { _model: model, world, door: None, server, effects, bare, port: free_port() };
        fleet.door = Some(Door::open(&fleet.world.sandbox, fleet.server()));
        fleet
    }

    pub(super) fn door(&self) -> &Door {
        self.door.as_ref().unwrap()
    }

    pub(super) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn restart_server(&mut self) {
        let folder = self.server.take().unwrap().folder.clone();
        self.server = Some(Server::start(&self.world.sandbox, folder));
    }

    fn folder(&self) -> PathBuf {
        self.world.sandbox.tmp().join("worker")
    }

    pub(super) fn worker(&self) -> Running {
        let at = |name: &str| format!("unix:{}", self.server().socket(name).display());
        let worker = Command::new(program())
            .args(["worker", "--name", "a", "--listen", &format!("127.0.0.1:{}", self.port)])
            .args(["--ingress", &at("ingress"), "--admin", &at("admin"), "--hook", BINARY, "--grace", "1"])
            .args(["--gateway-key", &self.door().key()])
            .arg("--folder")
            .arg(self.folder())
            .env_clear()
            .envs(self.world.sandbox.environment())
            .current_dir(self.world.sandbox.tmp())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(self.world.sandbox.tmp().join("worker.log")).unwrap())
            .spawn()
            .unwrap();
        let running = Running(worker);
        let known = || self.server().ask("ingress", "POST", "/Machines/all/list", None).1["a"].is_object();
        self.world.sandbox.wait_until("the engine knows the machine", known);
        running
    }

    fn order(&self, run: &str) -> Value {
        let commit = self.world.git(&["rev-parse", "HEAD"]);
        let request = json!({
            "run_id": run, "task": "make it so", "client": "", "context": [], "model": null, "workflow": "w",
            "project_type": null, "budget": null, "step_timeout_ms": 600_000
        });
        let order = json!({"repository": self.bare, "commit": commit.trim(), "folder": "", "run": request});
        json!({"protocol": 1, "labels": [], "who": "ann", "run": order})
    }

    /// The invocation of a new run.
    pub(super) fn send(&self, run: &str) -> String {
        let order = self.order(run);
        let (code, sent) =
            self.server().ask("ingress", "POST", &format!("/Run/{run}/run/send"), Some(&order));
        assert_eq!(code, 202, "{sent}");
        sent["invocationId"].as_str().unwrap().to_owned()
    }

    fn status(&self, run: &str) -> Value {
        self.server().ask("ingress", "POST", &format!("/Run/{run}/status"), None).1
    }

    fn answer(&self, run: &str, about: &str) -> u16 {
        let answer = json!({"about": about, "approve": true, "note": "go on"});
        self.door().ask("bobbob", "POST", &format!("/v1/runs/{run}/answer"), &answer).0
    }

    fn ended(&self, id: &str) -> (u16, Value) {
        self.server().ask("ingress", "GET", &format!("/restate/invocation/{id}/attach"), None)
    }

    pub(super) fn begun(&self) -> Vec<String> {
        let text = fs::read_to_string(self.effects.join("begun")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(super) fn go(&self) {
        fs::write(self.effects.join("go"), "").unwrap();
    }

    /// Processes of steps of this machine, their holders among them.
    fn held(&self) -> usize {
        let mark = format!("AOPS_HOLD={}", self.folder().canonicalize().unwrap().display()).into_bytes();
        let items = fs::read_dir("/proc").unwrap().flatten();
        let has = |path: PathBuf| {
            let variables = fs::read(path.join("environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable == mark)
        };
        items.filter(|item| has(item.path())).count()
    }

    #[track_caller]
    fn passed(&self, run: &str, id: &str) {
        let (code, end) = self.ended(id);
        assert_eq!((code, &end["outcome"]), (200, &json!("PASS")), "{end}");
        // The result is at the remote, and the clone is gone.
        let branch = format!("aops/{run}");
        assert_eq!(end["delivered"]["branch"], branch.as_str(), "{end}");
        let bare = self.bare.to_str().unwrap();
        let at_remote = self.world.git(&["--git-dir", bare, "rev-parse", &branch]);
        assert_eq!(end["delivered"]["commit"], at_remote.trim(), "{end}");
        assert!(!self.world.sandbox.home().join(".local/state/aops/runs").join(run).exists());
        assert_eq!(self.held(), 0);
    }
}

pub(super) fn silent() -> Model {
    Model::new([bash("echo built > built"), Turn::text("Built.")])
}

/// The worker is killed in a step: its processes end, and the step is begun again under its key.
#[test]
fn a_killed_worker_leaves_no_process_and_its_step_is_begun_again() {
    let fleet = Fleet::new(silent(), &format!("{DAEMON}{BEGUN}{WAIT}"));
    let sandbox = &fleet.world.sandbox;
    let mut worker = fleet.worker();
    let id = fleet.send("r1");
    sandbox.wait_until("the step runs", || fleet.begun().len() == 1 && fleet.effects.join("daemon").exists());
    assert!(fleet.held() > 0);
    worker.kill();
    sandbox.wait_until("nothing of it is left", || fleet.held() == 0);
    let _worker = fleet.worker();
    sandbox.wait_until("it is begun again", || fleet.begun().len() == 2);
    let begun = fleet.begun();
    assert_eq!(begun[0], begun[1], "under its key");
    // The same run once more is the same run.
    let order = fleet.order("r1");
    let (code, said) = fleet.server().ask("ingress", "POST", "/Run/r1/run/send", Some(&order));
    assert_eq!((code, &said["status"]), (202, &json!("PreviouslyAccepted")), "{said}");
    fleet.go();
    fleet.passed("r1", &id);
}

/// The server is killed in a step: the step goes on, and is begun once.
#[test]
fn a_killed_server_costs_no_step() {
    let mut fleet = Fleet::new(silent(), &format!("{BEGUN}{WAIT}"));
    let _worker = fleet.worker();
    let id = fleet.send("r2");
    fleet.world.sandbox.wait_until("the step runs", || fleet.begun().len() == 1);
    fleet.restart_server();
    assert_eq!(fleet.begun().len(), 1);
    fleet.go();
    fleet.passed("r2", &id);
    assert_eq!(fleet.begun().len(), 1, "begun once");
}

/// "Over" is said when it is over.
#[test]
fn a_cancelled_run_has_no_process_left_when_it_says_so() {
    let fleet = Fleet::new(silent(), &format!("{DAEMON}{BEGUN}{WAIT}"));
    let _worker = fleet.worker();
    let id = fleet.send("r3");
    let is_up = || fleet.begun().len() == 1 && fleet.effects.join("daemon").exists();
    fleet.world.sandbox.wait_until("the step runs", is_up);
    let (code, said) = fleet.server().ask("admin", "PATCH", &format!("/invocations/{id}/cancel"), None);
    assert_eq!(code, 202, "{said}");
    let (code, said) = fleet.ended(&id);
    assert_eq!((code, fleet.held()), (409, 0), "{said}");
    assert!(said.to_string().contains("nothing of the step is left"), "{said}");
}

/// Worker and server are killed while a person is asked; the answer counts for its digest, and once.
#[test]
fn a_question_outlives_both_and_is_answered_once() {
    let model = Model::new([bash("touch danger && echo danger >> effects"), Turn::text("Built.")]);
    let mut fleet = Fleet::new(model, BEGUN);
    let mut worker = fleet.worker();
    let id = fleet.send("r4");
    fleet.world.sandbox.wait_until("a person is asked", || fleet.status("r4")["state"] == "asks");
    worker.kill();
    fleet.restart_server();
    let _worker = fleet.worker();
    let asked = fleet.status("r4");
    assert!(asked["question"].as_str().unwrap().contains("touch danger"), "{asked}");
    assert_eq!((&asked["machine"], &asked["who"]), (&json!("a"), &json!("ann")));
    let about = asked["about"].as_str().unwrap();
    assert_eq!(fleet.answer("r4", &"0".repeat(64)), 409, "for another question");
    assert_eq!((fleet.answer("r4", about), fleet.answer("r4", about)), (200, 409));
    fleet.passed("r4", &id);
    assert_eq!(fleet.begun().len(), 1, "what had passed is not begun again");
    let bare = fleet.bare.to_str().unwrap();
    assert_eq!(fleet.world.git(&["--git-dir", bare, "show", "aops/r4:effects"]), "danger\n");
    let message = fleet.world.git(&["--git-dir", bare, "log", "-1", "--format=%B", "aops/r4"]);
    assert!(message.contains("approved by bob at ") && message.contains("(go on)"), "{message}");
}

/// An order that no person's program writes runs nothing.
#[test]
fn a_foreign_order_runs_nothing() {
    let fleet = Fleet::new(silent(), BEGUN);
    let _worker = fleet.worker();
    let mut order = fleet.order("r5");
    order["run"]["repository"] = json!("ext::sh -c 'touch /tmp/never'");
    let (code, end) = fleet.server().ask("ingress", "POST", "/Run/r5/run", Some(&order));
    assert_eq!((code, &end["outcome"]), (200, &json!("BLOCKED")), "{end}");
    assert!(end["reason"].as_str().unwrap().contains("nothing was run"), "{end}");
    let mut order = fleet.order("r6");
    order["protocol"] = json!(7);
    let (code, said) = fleet.server().ask("ingress", "POST", "/Run/r6/run", Some(&order));
    assert_eq!(code, 400, "{said}");
    assert_eq!(fleet.begun(), [""; 0]);
}

/// What the gateway is started with, and how people reach it.
pub(super) struct Door {
    pub(super) port: u16,
    audit: PathBuf,
    _gateway: Running,
}

impl Door {
    /// What its answers are checked with.
    pub(super) fn key(&self) -> String {
        fs::read_to_string(self.audit.with_file_name("gateway.key.pub")).unwrap().trim().to_owned()
    }

    /// Ann may submit, bob may approve and operate; each token is its name twice.
    pub(super) fn open(sandbox: &Sandbox, server: &Server) -> Self {
        let (tokens, audit) = (sandbox.tmp().join("tokens"), sandbox.tmp().join("audit.jsonl"));
        let line =
            |name: &str, roles: &str| format!("{name} {roles} {}\n", sha256(&[name.repeat(2).as_bytes()]));
        fs::write(&tokens, line("ann", "submit") + &line("bob", "approve,operate")).unwrap();
        fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
        let (port, at) = (free_port(), |name: &str| format!("unix:{}", server.socket(name).display()));
        let runs = format!("127.0.0.1:{}", free_port());
        let gateway = Command::new(program())
            .args([
                "serve",
                "--listen",
                &format!("127.0.0.1:{port}"),
                "--runs",
                &runs,
                "--ingress",
                &at("ingress"),
            ])
            .args([
                "--admin",
                &at("admin"),
                "--tokens",
                tokens.to_str().unwrap(),
                "--audit",
                audit.to_str().unwrap(),
            ])
            .env_clear()
            .envs(sandbox.environment())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let door = Self { port, audit, _gateway: Running(gateway) };
        sandbox.wait_until("the gateway is up", || door.ask("", "GET", "/healthz", &Value::Null).0 == 200);
        let serves_runs = || server.ask("admin", "GET", "/services/Run", None).0 == 200;
        sandbox.wait_until("the engine knows what it serves", serves_runs);
        door
    }

    pub(super) fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return (0, Value::Null) };
        let body = body.to_string();
        let long = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nauthorization: Bearer {token}\r\ncontent-length: {long}\r\n\r\n{body}"
        )
        .unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        let status = said.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        (status, serde_json::from_str(said.split_once("\r\n\r\n").unwrap().1).unwrap_or_default())
    }

    /// The runs that this was done with.
    fn acts_about(&self, act: &str) -> Vec<String> {
        let text = fs::read_to_string(&self.audit).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|one| one["act"] == act).map(|one| one["about"].as_str().unwrap().to_owned()).collect()
    }

    fn acts(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(&self.audit).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .map(|one| (one["who"].as_str().unwrap().to_owned(), one["act"].as_str().unwrap().to_owned()))
            .collect()
    }
}

/// Nobody gets past the gateway without a token that has the role, and who acted is whom the token names.
#[test]
fn the_gateway_knows_who_asks() {
    let model = Model::new([bash("touch danger && echo danger >> effects"), Turn::text("Built.")]);
    let fleet = Fleet::new(model, BEGUN);
    fleet.world.configure(&CONFIG.replace("action = \"ask\"", "action = \"ask\"\nfour_eyes = true"));
    let _worker = fleet.worker();
    let door = fleet.door();
    let mut order = fleet.order("g1");
    order["who"] = json!("somebody else");
    for (token, code) in [("", 401), ("ann", 401), ("bobbob", 403)] {
        assert_eq!(door.ask(token, "POST", "/v1/runs/g1", &order).0, code, "{token}");
    }
    for odd in ["/v1/runs/..%2f", "/v1/runs/a'b", "/v1/runs/-x"] {
        assert_eq!(door.ask("annann", "POST", odd, &order).0, 400, "{odd}");
    }
    assert_eq!(door.ask("annann", "POST", "/Run/g1/run", &order).0, 404, "the engine itself is out of reach");
    assert_eq!(door.ask("annann", "POST", "/v1/runs/g1", &order).0, 202);
    let status = || door.ask("annann", "POST", "/v1/runs/g1/status", &Value::Null).1;
    fleet.world.sandbox.wait_until("a person is asked", || status()["state"] == "asks");
    assert_eq!(status()["who"], "ann");
    // The whole call, and the rule that asks.
    let (code, said) = door.ask("bobbob", "POST", "/v1/runs/g1/question", &Value::Null);
    let asked = &said["asked"];
    assert_eq!((code, &asked["call"]), (200, &json!("touch danger && echo danger >> effects")), "{said}");
    for (name, wanted) in [("tool", "Bash"), ("step", "build"), ("rule", "ask-first"), ("gate", "rules")] {
        assert_eq!(asked[name], wanted, "{said}");
    }
    assert!(asked["why"].as_str().unwrap().contains("danger is not to be touched lightly"), "{said}");
    assert_eq!(
        (&asked["four_eyes"], &status()["four_eyes"]),
        (&json!(true), &json!(true)),
        "its rule says so"
    );
    assert_eq!(
        (&said["account"]["steps"][0]["outcome"], &said["run"]["who"]),
        (&json!("PASS"), &json!("ann"))
    );
    let answer = json!({"about": status()["about"], "approve": true, "who": "the submitter"});
    assert_eq!(door.ask("annann", "POST", "/v1/runs/g1/answer", &answer).0, 403, "she may submit alone");
    assert_eq!(door.ask("bobbob", "POST", "/v1/runs/g1/answer", &answer).0, 200);
    assert_eq!(door.ask("bobbob", "POST", "/v1/runs/g1/answer", &answer).0, 409);
    let mut end = (202, Value::Null);
    fleet.world.sandbox.wait_until("it is over", || {
        end = door.ask("annann", "POST", "/v1/runs/g1/wait", &Value::Null);
        end.0 != 202
    });
    assert_eq!((end.0, &end.1["outcome"]), (200, &json!("PASS")), "{end:?}");
    let bare = fleet.bare.to_str().unwrap();
    let message = fleet.world.git(&["--git-dir", bare, "log", "-1", "--format=%B", "aops/g1"]);
    assert!(message.contains("approved by bob at "), "{message}");
    let acts = door.acts();
    let acts: Vec<(&str, &str)> = acts.iter().map(|(who, act)| (who.as_str(), act.as_str())).collect();
    let wanted = [
        ("gateway", "start"),
        ("gateway", "tokens"),
        ("bob", "refused"),
        ("ann", "submit"),
        ("bob", "read"),
        ("ann", "refused"),
        ("bob", "answer"),
        ("bob", "answer"),
    ];
    assert_eq!(acts, wanted);
}

/// `run --on fleet` submits, waits and ends as `run` does; `fleet block` returns when nothing is left.
#[test]
fn a_person_submits_waits_and_blocks() {
    let fleet = Fleet::new(silent(), &format!("{DAEMON}{BEGUN}{WAIT}"));
    let _worker = fleet.worker();
    let door = fleet.door();
    let world = &fleet.world;
    let run = |token: &str| {
        let keys = world.sandbox.config().join("aops/keys");
        fs::create_dir_all(&keys).unwrap();
        fs::write(keys.join("engine.token"), format!("{token}\n")).unwrap();
    };
    world.configure(&format!("{CONFIG}\n[fleet]\nengine = \"http://127.0.0.1:{}\"\n", door.port));
    run("annann");
    let mut waiting = world.start(&["run", "make it so", "--workflow", "w", "--on", "fleet", "--json"]);
    world
        .sandbox
        .wait_until("the step runs", || fleet.begun().len() == 1 && fleet.effects.join("daemon").exists());
    fleet.go();
    assert_eq!(waiting.wait().unwrap().code(), Some(0));
    let branches = world.git(&["--git-dir", fleet.bare.to_str().unwrap(), "branch", "--list", "aops/*"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
    // Another one, which is blocked on its way.
    for name in ["go", "daemon", "begun"] {
        fs::remove_file(fleet.effects.join(name)).unwrap();
    }
    let mut waiting = world.start(&["run", "make it so", "--workflow", "w", "--on", "fleet", "--json"]);
    world
        .sandbox
        .wait_until("the step runs", || fleet.begun().len() == 1 && fleet.effects.join("daemon").exists());
    let id = door.acts_about("submit").pop().unwrap();
    run("bobbob");
    let said = world.person(&["fleet", "block", &id, "--yes"]);
    assert_eq!((said.code, fleet.held()), (Some(0), 0), "{said:?}");
    assert_eq!(waiting.wait().unwrap().code(), Some(1), "blocked");
}
