//! Runs on the durable engine: `aops-fleet` under a real Restate server.

#![expect(clippy::disallowed_methods, reason = "a server that is killed on the way")]

mod attended;
mod asked;
mod shown;

use crate::client::install as packages;
use crate::support::Sandbox;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
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
        let process = Command::new(packages::restate())
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

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
