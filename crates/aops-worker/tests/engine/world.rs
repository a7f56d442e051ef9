//! A server, a gateway, machines and a remote, in a folder of their own and on loopback.

use crate::agent;
use crate::brought::server_program;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};
use tempfile::TempDir;

/// A step that an agent does.
pub(crate) const AGENT: &str = "";
pub(crate) const FLEET: &str = env!("CARGO_BIN_EXE_aops-fleet");
/// Ends what would never end. No test measures by it.
const PATIENCE: Duration = Duration::from_mins(3);

/// Ends with the test.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn new(child: Child) -> Self {
        Self(child)
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.0.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

#[track_caller]
pub(crate) fn until(what: &str, holds: impl FnMut() -> bool) {
    within(PATIENCE, what, holds);
}

#[track_caller]
pub(crate) fn within(patience: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < patience, "never: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) struct World {
    root: TempDir,
    server: Option<Running>,
    gateway: Option<Running>,
    /// Of the gateway: for people, and for the engine.
    pub(crate) ports: (u16, u16),
    options: Vec<String>,
}

pub(crate) const CONFIG: &str = "tracker.command = \"none\"\naudit.rate = 0\n[mode]\nlevel = \"strict\"\n[deliver]\npull_request = \"none\"\n";

impl World {
    /// A project with this workflow, a remote, a server and a gateway with these options.
    pub(crate) fn new(steps: &[&str], options: &[&str]) -> Self {
        let root = tempfile::Builder::new().prefix("aops-").tempdir().unwrap();
        let options = options.iter().map(|word| (*word).to_owned()).collect();
        let ports = (free_port(), free_port());
        let mut world = Self { root, server: None, gateway: None, ports, options };
        for name in ["server", "project/.aops/workflows", "effects", "home", "tmp"] {
            fs::create_dir_all(world.at(name)).unwrap();
        }
        world.put_workflow(steps);
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", "work"]);
        let bare = world.bare();
        world.git(&["init", "-q", "--bare", "-b", "main", &bare]);
        world.git(&["remote", "add", "origin", &bare]);
        world.git(&["push", "-q", "-u", "origin", "main"]);
        world.start_server();
        world.start_gateway();
        world
    }

    fn put_workflow(&self, steps: &[&str]) {
        let mut text =
            "---\nid: w\ntitle: T\ntype: workflow\ncategory: test\ndependencies: []\nsteps:\n".to_owned();
        for (n, line) in steps.iter().enumerate() {
            text += &format!("  - id: s{n}\n    name: S{n}\n    description: a step\n");
            if *line != AGENT {
                text += &format!("    run: '{}'\n", line.replace('\'', "''"));
            }
        }
        fs::write(self.at("project/.aops/workflows/w.md"), text + "---\n\n# T\n").unwrap();
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn bare(&self) -> String {
        self.at("remote.git").to_str().unwrap().to_owned()
    }

    pub(crate) fn variables(&self, home: &Path) -> Vec<(String, OsString)> {
        let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        let mut variables: Vec<(String, OsString)> = vec![
            ("PATH".into(), path),
            ("HOME".into(), home.into()),
            ("TMPDIR".into(), self.at("tmp").into()),
            ("EFFECTS".into(), self.at("effects").into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("AOPS_TEST_PATIENCE".into(), "20".into()),
            ("AOPS_TEST_MANAGED".into(), self.at("managed").into()),
            ("RESTATE_DISABLE_TELEMETRY".into(), "true".into()),
            // As the shipped unit has it, but shorter.
            ("RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL".into(), "1s".into()),
            ("RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT".into(), "1s".into()),
        ];
        if let Ok(model) = fs::read_to_string(self.at("model")) {
            variables.push(("AOPS_CLAUDE".into(), agent::client().into()));
            variables.push(("ANTHROPIC_BASE_URL".into(), model.into()));
            variables.push(("ANTHROPIC_API_KEY".into(), "made-up".into()));
        }
        let files =
            [("SSL_CERT_FILE", "ca.pem"), ("RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", "identity.pem")];
        let there = files.map(|(name, file)| (name.to_owned(), self.at(file)));
        variables.extend(
            there.into_iter().filter(|(_, file)| file.exists()).map(|(name, file)| (name, file.into())),
        );
        for who in ["AUTHOR", "COMMITTER"] {
            variables.push((format!("GIT_{who}_NAME"), "t".into()));
            variables.push((format!("GIT_{who}_EMAIL"), "t@example.invalid".into()));
        }
        variables
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        let git =
            git.args(args).env_clear().envs(self.variables(&self.at("home"))).current_dir(self.at("project"));
        let Output { status, stdout, stderr } = git.output().unwrap();
        assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap().trim_end().to_owned()
    }

    pub(crate) fn remote(&self, args: &[&str]) -> String {
        let bare = self.bare();
        self.git(&[&["--git-dir", &bare], args].concat())
    }

    pub(crate) fn start(&self, program: &Path, args: &[&str], home: &Path, log: &str) -> Running {
        let log = File::options().append(true).create(true).open(self.at(log)).unwrap();
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(self.variables(home)).current_dir(self.at("tmp"));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Running(command.spawn().unwrap())
    }

    pub(crate) fn start_server(&mut self) {
        let folder = self.at("server");
        let args = ["--node-name", "n", "--listen-mode", "unix", "--base-dir", folder.to_str().unwrap()];
        self.server = Some(self.start(&server_program(), &args, &self.at("home"), "server.log"));
        until("the server is up", || self.ask("admin", "GET", "/health", None).0 == 200);
        until("its door is open", || self.ask("ingress", "GET", "/restate/health", None).0 == 200);
    }

    pub(crate) fn kill_server(&mut self) {
        self.server.take().unwrap().kill();
    }

    pub(crate) fn doors(&self) -> [String; 2] {
        ["ingress", "admin"]
            .map(|name| format!("unix:{}", self.at("server").join(format!("n/{name}.sock")).display()))
    }

    /// Ann may submit, bob may approve and operate, machine `far` may work; each token is the name twice.
    pub(crate) fn start_gateway(&mut self) {
        let tokens = self.at("tokens");
        if !tokens.exists() {
            self.set_tokens(&[("ann", "submit", ""), ("bob", "approve,operate", ""), ("far", "work", "")]);
        }
        let [ingress, admin] = self.doors();
        let listen = format!("127.0.0.1:{}", self.ports.0);
        let runs = format!("127.0.0.1:{}", self.ports.1);
        let tokens = tokens.to_str().unwrap().to_owned();
        let audit = self.at("audit.jsonl");
        let mut args =
            vec!["serve", "--listen", &listen, "--runs", &runs, "--ingress", &ingress, "--admin", &admin];
        args.extend(["--tokens", &tokens, "--audit", audit.to_str().unwrap()]);
        args.extend(self.options.iter().map(String::as_str));
        self.gateway = Some(self.start(Path::new(FLEET), &args, &self.at("home"), "gateway.log"));
        until("the gateway is up", || self.post("", "GET", "/healthz", &Value::Null).0 == 200);
        until("the engine knows what it serves", || self.ask("admin", "GET", "/services/Run", None).0 == 200);
    }

    /// Names, roles and limits; each token is the name twice.
    pub(crate) fn set_tokens(&self, people: &[(&str, &str, &str)]) {
        let line = |(name, roles, limits): &(&str, &str, &str)| {
            let digest = aops_core::text::sha256::sha256(&[name.repeat(2).as_bytes()]);
            format!("{name} {roles} {digest} {limits}\n")
        };
        let tokens = self.at("tokens");
        fs::write(&tokens, people.iter().map(line).collect::<String>()).unwrap();
        fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// The lines of this act in the audit.
    pub(crate) fn acts(&self, act: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.at("audit.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["act"] == act).collect()
    }

    /// For the next start of the gateway.
    pub(crate) fn with_option(&mut self, name: &str, value: &str) {
        self.options.extend([name.to_owned(), value.to_owned()]);
    }

    pub(crate) fn kill_gateway(&mut self) {
        self.gateway.take().unwrap().kill();
    }

    /// What the gateway's answers are checked with.
    pub(crate) fn key(&self) -> String {
        fs::read_to_string(self.at("gateway.key.pub")).unwrap().trim().to_owned()
    }

    pub(crate) fn machines(&self) -> Value {
        self.ask("ingress", "POST", "/Machines/all/list", None).1
    }

    /// Over a socket of the server.
    pub(crate) fn ask(&self, socket: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let socket = self.at("server").join(format!("n/{socket}.sock"));
        let Ok(mut stream) = UnixStream::connect(socket) else { return (0, Value::Null) };
        let body = body.map(Value::to_string).unwrap_or_default();
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let long = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\naccept: application/json\r\n{kind}");
        let _ = write!(stream, "{head}content-length: {long}\r\nconnection: close\r\n\r\n{body}");
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        let status = said.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let body = said.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let json =
            body.find(['{', '[']).zip(body.rfind(['}', ']'])).map_or("", |(from, to)| &body[from..=to]);
        (status, serde_json::from_str(json).unwrap_or_default())
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.0)
    }

    /// An answer of the gateway with its head.
    pub(crate) fn raw(&self, method: &str, path: &str, token: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports.0)).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nauthorization: Bearer {token}\r\n\r\n").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    /// A page of the gateway, as it is.
    pub(crate) fn text(&self, path: &str, token: &str) -> (u16, String) {
        let said = self.raw("GET", path, token);
        let status = said.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        (status, said.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned())
    }

    /// At the gateway.
    pub(crate) fn post(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.ports.0)) else { return (0, Value::Null) };
        let body = body.to_string();
        let long = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nauthorization: Bearer {token}\r\n");
        let _ = write!(stream, "{head}content-length: {long}\r\n\r\n{body}");
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        let status = said.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let body = said.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    pub(crate) fn order(&self, run: &str, labels: &[&str]) -> Value {
        let commit = self.git(&["rev-parse", "HEAD"]);
        let request = json!({
            "run_id": run, "task": "make it so", "client": "", "context": [], "model": null, "workflow": "w",
            "project_type": null, "budget": null, "step_timeout_ms": 600_000
        });
        let order = json!({"repository": self.bare(), "commit": commit, "folder": "", "run": request});
        json!({"protocol": 1, "labels": labels, "who": "ann", "run": order})
    }

    /// A run that ann asks for.
    pub(crate) fn send(&self, run: &str, labels: &[&str]) {
        let (code, said) = self.post("annann", "POST", &format!("/v1/runs/{run}"), &self.order(run, labels));
        assert_eq!(code, 202, "{said}");
    }

    pub(crate) fn status(&self, run: &str) -> Value {
        self.post("annann", "POST", &format!("/v1/runs/{run}/status"), &Value::Null).1
    }

    /// Of bob, who may.
    pub(crate) fn act(&self, run: &str, act: &str, body: &Value) -> (u16, Value) {
        self.post("bobbob", "POST", &format!("/v1/runs/{run}/{act}"), body)
    }

    /// How the run ended.
    #[track_caller]
    pub(crate) fn end(&self, run: &str) -> (u16, Value) {
        let mut end = (202, Value::Null);
        until("the run is over", || {
            end = self.post("annann", "POST", &format!("/v1/runs/{run}/wait"), &Value::Null);
            ![0, 202, 503].contains(&end.0)
        });
        end
    }

    #[track_caller]
    pub(crate) fn passed(&self, run: &str) {
        let (code, end) = self.end(run);
        assert_eq!((code, &end["outcome"]), (200, &json!("PASS")), "{end}");
        // The result is at the remote.
        let at_remote = self.remote(&["rev-parse", &format!("aops/{run}")]);
        assert_eq!(end["delivered"]["commit"], at_remote.as_str(), "{end}");
    }

    /// The lines that steps wrote into this file.
    pub(crate) fn effects(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.at("effects").join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn go(&self, name: &str) {
        fs::write(self.at("effects").join(name), "").unwrap();
    }
}
