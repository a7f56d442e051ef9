//! `export`: JSON lines, CSV, and spans taken by a receiver that holds them to the OTLP encoding.

pub(crate) mod receiver;

use crate::insights::{insights, lay_transcript, whole_loop};
use crate::support::Sandbox;
use receiver::{Point, Receiver, Span};
use serde_json::{Value, json};
use std::fs;

#[test]
fn jsonl_has_every_entry_and_the_insights() {
    let sandbox = Sandbox::new();
    let session = whole_loop(&sandbox);
    session.stop("Done.").silent();
    let said = sandbox.person(&["export", "--format", "jsonl"]);
    let lines: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["insights"], insights(&sandbox, &session));
    let entries: Vec<Value> = lines[1..].iter().map(|line| line["entry"].clone()).collect();
    assert_eq!(entries, session.entries());
    assert!(lines.iter().all(|line| line["session_id"] == session.id));
}

#[test]
fn csv_has_a_row_a_session() {
    let sandbox = Sandbox::new();
    let session = whole_loop(&sandbox);
    session.stop("Done.").silent();
    lay_transcript(&sandbox, "11111111-0000-4000-8000-000000000000");
    let said = sandbox.person(&["export", "--format", "csv"]);
    let rows: Vec<Vec<&str>> = said.out.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3);
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let row = rows.iter().find(|row| row[0] == session.id).unwrap();
    assert_eq!((row[at("outcome")], row[at("refusals")], row[at("qa")]), ("success", "2", "VERIFIED"));
    let other = rows.iter().find(|row| row[0].starts_with("1111")).unwrap();
    assert_eq!((other[at("output_tokens")], other[at("cost_usd")]), ("171", "0.00767"));
    sandbox.person(&["export"]).failed(2, &["--format"]);
    sandbox.person(&["export", "--format", "xml"]).failed(2, &["jsonl, csv, otlp"]);
    let astray = sandbox.person(&["export", "--format", "csv", "--endpoint", "http://127.0.0.1:1"]);
    astray.failed(2, &["--format otlp"]);
}

#[test]
fn csv_names_what_was_waived() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt(". fix the typo").silent();
    sandbox.person(&["waive", "qa", "--reason", "no tests yet", "--for", "10m", "--yes"]).said(&[]);
    let table = sandbox.person(&["export", "--format", "csv"]).out;
    let mut lines = table.lines();
    assert!(lines.next().unwrap().ends_with(",waivers"), "{table}");
    assert!(
        lines.next().unwrap().ends_with(",task: its prompt begins with `.`; qa: no tests yet"),
        "{table}"
    );
}

#[test]
fn spans_reach_a_collector_and_hang_together() {
    let sandbox = Sandbox::new().with("LOGNAME", "ann");
    let session = whole_loop(&sandbox);
    lay_transcript(&sandbox, &session.id);
    let inside = session.call("Read", json!({"file_path": "/x"})).by("a9", "checker");
    let _ = session.event("SubagentStart", json!({"agent_id": "a9", "agent_type": "checker"}));
    session.pre(&inside).silent();
    session.post(&inside).silent();
    session.stop("Done.").silent();
    let receiver = Receiver::new();
    let said =
        sandbox.person(&["export", "--format", "otlp", "--endpoint", &receiver.url(), "--json"]).json();
    let spans = receiver.spans();
    assert_eq!((&said["sessions"], &said["spans"]), (&json!(1), &json!(spans.len())));
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<&Span>>();
    let root = named("invoke_agent claude-code")[0];
    assert!(root.parent.is_none() && root.error.is_none());
    let wanted = [
        ("gen_ai.operation.name", json!("invoke_agent")),
        ("gen_ai.provider.name", json!("anthropic")),
        ("gen_ai.conversation.id", json!(session.id)),
        ("gen_ai.request.model", json!("claude-opus-5-5")),
        ("gen_ai.usage.input_tokens", json!(2000)),
        ("gen_ai.usage.output_tokens", json!(171)),
        ("gen_ai.usage.cache_read.input_tokens", json!(1000)),
        ("gen_ai.usage.cache_creation.input_tokens", json!(50)),
        ("gen_ai.usage.cache_write.input_tokens", json!(50)),
        ("aops.outcome", json!("success")),
        ("aops.cost_usd", json!(0.00767)),
        ("aops.client", json!("claude")),
        ("user.name", json!("ann")),
    ];
    for (name, value) in wanted {
        assert_eq!(root.attributes.get(name), Some(&value), "{name}: {root:?}");
    }
    for span in &spans {
        assert_eq!(span.trace, root.trace);
        assert!(span.from <= span.to && root.from <= span.from && span.to <= root.to, "{span:?} in {root:?}");
        let parent = span.parent.as_ref().map(|id| spans.iter().find(|other| other.id == *id));
        assert!(parent.is_none_or(|found| found.is_some()), "an orphan: {span:?}");
    }
    let mut ids: Vec<&String> = spans.iter().map(|span| &span.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), spans.len());
    assert_eq!(named("phase hydrate").len(), 1);
    assert_eq!(named("phase hydrate")[0].parent.as_ref(), Some(&root.id));
    assert_eq!(named("invoke_agent qa-verifier").len(), 2);
    let writes = named("execute_tool Write");
    let denied = writes.iter().find(|span| span.error.is_some()).unwrap();
    assert_eq!(
        (&denied.attributes["aops.gate"], &denied.attributes["error.type"]),
        (&json!("sandbox"), &json!("denied"))
    );
    assert_eq!(writes.len(), 2);
    assert_eq!(named("execute_tool Bash")[0].attributes["error.type"], "tool_error");
    let read = named("execute_tool Read")[0];
    assert_eq!(read.parent.as_ref(), Some(&named("invoke_agent checker")[0].id), "inside its agent");
    assert_eq!(read.attributes["gen_ai.tool.call.id"], json!(inside.id));
    // What refused the first write, and the stop: who, by which rule of which policy, and what came of it.
    let guard = named("run_guardrail sandbox")[0];
    assert_eq!(guard.parent.as_ref(), Some(&denied.id), "a child of what it judged");
    let hash = sandbox.person(&["policy", "hash"]).out.trim().to_owned();
    for (name, value) in [
        ("gen_ai.operation.name", "run_guardrail"),
        ("gen_ai.security.verdict.type", "deny"),
        ("gen_ai.security.action.type", "block"),
        ("gen_ai.security.policy.id", &hash),
        ("gen_ai.security.policy.rule.id", "sandbox"),
    ] {
        assert_eq!(guard.attributes[name], json!(value), "{name}: {guard:?}");
    }
    assert_eq!(named("run_guardrail owed").len(), 1);
    // Logs and metrics go beside them.
    let logs = receiver.logs();
    assert_eq!(said["logs"], json!(logs.len()));
    assert!(logs.iter().all(|record| record.trace == root.trace && record.span == root.id), "{logs:?}");
    let refusal = logs.iter().find(|record| record.event == "aops.refusal").unwrap();
    assert!(refusal.severity == "WARN" && refusal.text.starts_with("sandbox: Write"), "{refusal:?}");
    let points = receiver.points();
    let point = |name: &str, key: &str, value: &str| {
        points
            .iter()
            .find(|one| one.name == name && one.attributes.get(key) == Some(&json!(value)))
            .map(|one| one.value)
    };
    assert_eq!(point("aops.refusals", "aops.gate", "sandbox"), Some(1.0));
    assert_eq!(point("aops.tool_calls", "aops.call.outcome", "denied"), Some(1.0));
    assert_eq!(point("aops.tokens", "gen_ai.token.type", "cache_write"), Some(50.0));
    assert_eq!(point("aops.sessions", "aops.outcome", "success"), Some(1.0));
    // No session, model or person is a label of a metric.
    let known = [
        "aops.client", "gen_ai.provider.name", "aops.outcome", "aops.call.outcome", "aops.gate",
        "aops.audit", "gen_ai.token.type",
    ];
    let odd = points.iter().find(|point| point.attributes.keys().any(|name| !known.contains(&name.as_str())));
    assert!(odd.is_none(), "{odd:?}");
    assert!(points.iter().all(|point| point.attributes["gen_ai.provider.name"] == "anthropic"));
    // Nor does a prompt leave the machine, unless a person said so.
    assert!(logs.iter().any(|record| record.event == "aops.prompt" && record.text == "a prompt"), "{logs:?}");
    // Sent again: the same trace.
    let _ = sandbox.person(&["export", "--format", "otlp", "--endpoint", &receiver.url(), "--json"]).json();
    assert_eq!(receiver.spans().len(), spans.len() * 2);
    assert!(receiver.spans().iter().all(|span| spans.iter().any(|known| known.id == span.id)));
}

/// What the broker told of hosts is in the insights, and in sums whose labels no agent can multiply.
#[test]
fn what_went_to_each_host_is_counted_within_bounds() {
    let sandbox = Sandbox::new();
    sandbox.configure("[network]\nmode = \"list\"\nallow = [\"*.example\"]\n");
    let session = sandbox.begun("go");
    let network = session.folder().join("network");
    let call = session.call("Bash", json!({"command": "ls"}));
    let _ = session.pre(&call);
    let why = "it is not on this project's list";
    fs::write(
        network.join("news"),
        format!("new\ta.example\t443\tperson\nrefused\tpaste.test\t443\t{why}\n"),
    )
    .unwrap();
    let _ = session.post(&call);
    let _ = session.stop("Done.");
    let told = sandbox.person(&["insights", "--json"]).json();
    assert_eq!(told["hosts"]["a.example:443"]["connections"], 1, "{told}");
    assert_eq!(told["hosts"]["paste.test:443"]["refused"], 1, "{told}");
    // At the session's end all of it: more hosts than anybody looks at.
    let row = |n: u64| format!("host\th{n:02}.example\t443\t1\t2\t1\t{}\t{}\t0\tperson\t-\n", n + 1, 2 * n);
    let refused = format!("host\tpaste.test\t8443\t1\t2\t0\t0\t0\t3\t-\t{why}\n");
    fs::write(network.join("hosts"), (0..40).map(row).collect::<String>() + &refused).unwrap();
    let _ = session.end();
    let told = sandbox.person(&["insights", "--json"]).json();
    assert_eq!(told["hosts"].as_object().unwrap().len(), 41, "{told}");
    let receiver = Receiver::new();
    sandbox.person(&["export", "--format", "otlp", "--endpoint", &receiver.url()]).said(&["metric"]);
    let points = receiver.points();
    let of = |name: &str| points.iter().filter(|point| point.name == name).collect::<Vec<_>>();
    let sum = |name: &str, key: &str, value: &str| {
        let has = |point: &&&Point| point.attributes.get(key) == Some(&json!(value));
        of(name).iter().filter(has).map(|point| point.value).sum::<f64>().to_string()
    };
    let io = "aops.network.io";
    assert_eq!(sum(io, "network.io.direction", "transmit"), (1..=40).sum::<u64>().to_string());
    assert_eq!(sum(io, "network.io.direction", "receive"), (2 * (0..40).sum::<u64>()).to_string());
    // The twenty with most, and the rest in one.
    assert_eq!(of("aops.network.connections").len(), 21);
    assert_eq!(sum("aops.network.connections", "server.address", "other"), "20");
    assert_eq!(sum(io, "server.address", "h39.example"), "118");
    assert_eq!(sum("aops.network.refusals", "server.address", "other"), "3");
    let known =
        ["aops.client", "gen_ai.provider.name", "server.address", "server.port", "network.io.direction"];
    for point in points.iter().filter(|point| point.name.starts_with("aops.network.")) {
        assert!(point.attributes.keys().all(|name| known.contains(&name.as_str())), "{point:?}");
    }
}

#[test]
fn a_collector_that_is_not_there_or_refuses_is_told() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let to = |url: &str| sandbox.person(&["export", "--format", "otlp", "--endpoint", url]);
    to("http://127.0.0.1:1").failed(1, &["is not there", "hint: is a collector listening"]);
    to("ftp://127.0.0.1").failed(2, &["`https://` or `http://`"]);
    to("https://nowhere.invalid").failed(2, &["`nowhere.invalid` cannot be resolved"]);
    let header = ["export", "--format", "otlp", "--endpoint", "http://127.0.0.1:1", "--header", "no value"];
    sandbox.person(&header).failed(2, &["`NAME=VALUE`"]);
    sandbox.person(&["export", "--format", "otlp"]).failed(2, &["--endpoint http://127.0.0.1:4318"]);
    let receiver = Receiver::refusing();
    to(&receiver.url()).failed(1, &["answered 400", "too many"]);
}

/// The client's own trace is linked, and the headers of a person go with every request.
#[test]
fn the_clients_trace_is_linked_and_headers_are_sent() {
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let sandbox = Sandbox::new().with("TRACEPARENT", format!("00-{trace}-{span}-01"));
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    let receiver = Receiver::new();
    let url = receiver.url();
    let sent = ["export", "--format", "otlp", "--endpoint", &url, "--header", "x-key=k 1"];
    sandbox.person(&sent).said(&["log record", "metric"]);
    let spans = receiver.spans();
    let root = spans.iter().find(|span| span.parent.is_none()).unwrap();
    assert_eq!(root.links, [(trace.to_owned(), span.to_owned())]);
    assert!(receiver.heads().iter().all(|head| head.contains("x-key: k 1")), "{:?}", receiver.heads());
    let other = Receiver::new();
    let mut command = sandbox.command(crate::support::BINARY);
    command.args(["export", "--format", "otlp"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", other.url());
    assert!(command.env("OTEL_EXPORTER_OTLP_HEADERS", "a=b%20c,d=e").output().unwrap().status.success());
    assert!(
        other.heads().iter().all(|head| head.contains("a: b c") && head.contains("d: e")),
        "{:?}",
        other.heads()
    );
    let odd = Sandbox::new().with("TRACEPARENT", "00-zz-1-01");
    let _ = odd.session().start("startup");
    assert!(!odd.person(&["log", "--json"]).out.contains("traceparent"));
}

/// Hands what comes over TLS on to a plain port.
const TLS_DOOR: &str = r#"
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
door = socket.create_server(("127.0.0.1", 0))
print(door.getsockname()[1], flush=True)
def copy(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    finally:
        for s in (a, b):
            try: s.shutdown(socket.SHUT_RDWR)
            except OSError: pass
def serve(raw):
    try:
        outer = context.wrap_socket(raw, server_side=True)
    except (ssl.SSLError, OSError):
        return
    inner = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
    threading.Thread(target=copy, args=(outer, inner), daemon=True).start()
    copy(inner, outer)
while True:
    threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()
"#;

/// A certificate for `localhost`, signed by an authority of its own: authority, certificate, key.
pub(crate) fn certificates(sandbox: &Sandbox) -> [String; 3] {
    let folder = sandbox.tmp();
    let make = |line: &str| {
        let output = sandbox.command("sh").current_dir(&folder).args(["-c", line]).output().unwrap();
        assert!(output.status.success(), "`openssl` is needed: {}", String::from_utf8_lossy(&output.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    make(&format!("openssl req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=test"));
    make(&format!("openssl req {key} -keyout leaf.key -out leaf.csr -subj /CN=localhost"));
    make("printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n' > leaf.ext");
    make(
        "openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile leaf.ext -out leaf.pem",
    );
    ["ca.pem", "leaf.pem", "leaf.key"].map(|name| folder.join(name).display().to_string())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a server that runs beside the test")]
fn https_is_spoken_and_the_certificate_checked() {
    use std::io::{BufRead, BufReader};
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let receiver = Receiver::new();
    let [authority, certificate, key] = certificates(&sandbox);
    let mut command = std::process::Command::new("python3");
    command.args(["-c", TLS_DOOR, &certificate, &key, &receiver.port().to_string()]);
    let mut door = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(door.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("https://localhost:{}", port.trim());
    let mut send = sandbox.command(crate::support::BINARY);
    send.args(["export", "--format", "otlp", "--json", "--endpoint", &url]);
    let trusting = send.env("SSL_CERT_FILE", &authority).output().unwrap();
    let doubting = send.env("SSL_CERT_FILE", &certificate).output().unwrap();
    door.kill().unwrap();
    door.wait().unwrap();
    assert!(trusting.status.success(), "{}", String::from_utf8_lossy(&trusting.stderr));
    let told: Value = serde_json::from_slice(&trusting.stdout).unwrap();
    assert_eq!(told["spans"], json!(receiver.spans().len()));
    assert_eq!(doubting.status.code(), Some(1), "no known key signed it");
    assert!(String::from_utf8_lossy(&doubting.stderr).contains("certificate"), "{doubting:?}");
}

/// Each client's session is its own, and a price that is not known is not nothing.
#[test]
fn a_session_of_another_client_is_told_as_its_own() {
    let sandbox = Sandbox::new().with("LOGNAME", "bob");
    let transcript = sandbox.home().join(".codex/sessions/x.jsonl");
    let event = |name: &str, more: Value| {
        let mut payload = json!({"hook_event_name": name, "session_id": "11111111-2222-4333-8444-555555555555",
            "cwd": sandbox.project(), "transcript_path": transcript});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut command = sandbox.command(crate::support::BINARY);
        command.args([name, "--client", "codex"]).write_stdin(payload.to_string()).output().unwrap()
    };
    let _ = event("SessionStart", json!({"source": "startup"}));
    let _ = event("UserPromptSubmit", json!({"prompt": "my secret plan", "turn_id": "t"}));
    let used = json!({"input_tokens": 10, "output_tokens": 5});
    let _ = event(
        "PostModelRequest",
        json!({"model": "gpt-6", "status": "ok", "token_usage": used, "turn_id": "t"}),
    );
    let _ = event("SessionEnd", json!({"reason": "other"}));
    let receiver = Receiver::new();
    sandbox.person(&["export", "--format", "otlp", "--endpoint", &receiver.url()]).said(&["1 session"]);
    let spans = receiver.spans();
    let root = spans.iter().find(|span| span.parent.is_none()).unwrap();
    assert_eq!(root.name, "invoke_agent codex");
    for (name, value) in [
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.agent.name", "codex"),
        ("gen_ai.request.model", "gpt-6"),
        ("aops.client", "codex"),
        ("user.name", "bob"),
        ("aops.cost", "unknown"),
    ] {
        assert_eq!(root.attributes.get(name), Some(&json!(value)), "{name}: {root:?}");
    }
    assert!(!root.attributes.contains_key("aops.cost_usd"));
    let points = receiver.points();
    assert!(points.iter().any(|point| point.name == "aops.cost.unknown" && point.value > 0.0), "{points:?}");
    let told = format!("{:?}{:?}", receiver.logs(), spans);
    assert!(!told.contains("my secret plan"), "{told}");
    let row = sandbox.person(&["sessions", "--json"]).json();
    assert_eq!((&row[0]["client"], &row[0]["person"]), (&json!("codex"), &json!("bob")));
    let table = sandbox.person(&["sessions"]).out;
    assert!(table.trim_end().ends_with("\tcodex\tbob"), "{table}");
    sandbox.person(&["insights", "--json"]).said(&["\"client\":\"codex\"", "\"person\":\"bob\""]);
    // A person may say that prompts leave.
    sandbox.configure("insights.prompts = true\n");
    let _ = event("SessionStart", json!({"source": "resume"}));
    let _ = event("UserPromptSubmit", json!({"prompt": "an open plan", "turn_id": "u"}));
    let other = Receiver::new();
    sandbox.person(&["export", "--format", "otlp", "--endpoint", &other.url()]).said(&["1 session"]);
    assert!(format!("{:?}", other.logs()).contains("an open plan"));
}
