//! `run --on fleet` and the verbs of `fleet` at a gateway made for the test, and what is refused before it.

use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Answers each request with the next line of its script for that path's end, the last one for ever.
struct Gateway {
    port: u16,
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

type Script = Vec<(&'static str, Vec<(u16, Value)>)>;

impl Gateway {
    fn open(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            let mut script = script;
            for stream in listener.incoming().flatten() {
                let (path, token) = read(&stream);
                let row = script.iter_mut().find(|(end, _)| path.ends_with(end));
                let (status, body) = match row {
                    Some((_, answers)) if answers.len() > 1 => answers.remove(0),
                    Some((_, answers)) => answers[0].clone(),
                    None => (202, json!({})),
                };
                seen.lock().unwrap().push((path, token));
                let body = body.to_string();
                let long = body.len();
                let _ = write!(
                    &stream,
                    "HTTP/1.1 {status} X\r\ncontent-length: {long}\r\nconnection: close\r\n\r\n{body}"
                );
            }
        });
        Self { port, asked }
    }

    fn asked(&self, end: &str) -> Vec<String> {
        let all = self.asked.lock().unwrap();
        all.iter().filter(|(path, _)| path.ends_with(end)).map(|(_, token)| token.clone()).collect()
    }
}

fn read(stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut long, mut token) = (String::new(), 0, String::new());
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                long = value.parse().unwrap();
            }
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => value.clone_into(&mut token),
            Some(_) => {}
        }
    }
    reader.take(long).read_to_end(&mut Vec::new()).unwrap();
    (first.split(' ').nth(1).unwrap().to_owned(), token)
}

const WORKFLOW: &str = "---\nid: w\ntitle: W\ntype: workflow\ncategory: test\ndependencies: []\nsteps:\n  \
    - {id: one, name: One, description: o, run: 'true'}\n---\n\n# W\n";

fn sandbox(gateway: &Gateway, remote: &str, token: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.put(".aops/workflows/w.md", WORKFLOW);
    // As after a push.
    let lines = "git add -A && git -c user.name=t -c user.email=t@t commit -qm w && git remote set-url origin \"$0\" && \
        git update-ref refs/remotes/origin/main HEAD";
    sandbox.command("sh").args(["-c", lines, remote]).assert().success();
    sandbox.configure(&format!("[fleet]\nengine = \"http://127.0.0.1:{}\"\n", gateway.port));
    set_token(&sandbox, token);
    sandbox
}

fn set_token(sandbox: &Sandbox, token: &str) {
    let keys = sandbox.config().join("aops/keys");
    fs::create_dir_all(&keys).unwrap();
    fs::write(keys.join("engine.token"), format!("{token}\n")).unwrap();
}

const RUN: [&str; 7] = ["run", "do it", "--workflow", "w", "--on", "fleet", "--json"];

/// A token that was replaced, or a server that has just come back, ends no wait: the run goes on.
#[test]
fn a_refusal_on_the_way_ends_no_wait() {
    let end = json!({"kind": "finished", "outcome": "PASS", "reason": "every step passed"});
    let refusals =
        vec![(401, json!({"message": "a token is needed"})), (404, json!({"message": "no such run"}))];
    let script = refusals.into_iter().chain([(202, json!({})), (200, end)]).collect();
    let gateway = Gateway::open(vec![("/wait", script), ("/status", vec![(200, Value::Null)])]);
    let sandbox = sandbox(&gateway, "https://git.example/x.git", "first");
    let said = sandbox.person(&RUN);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("\"outcome\":\"PASS\""), "{said:?}");
    assert_eq!(gateway.asked("/wait").len(), 4);
}

/// A password in the remote's address is left out of the order, and the person is told.
#[test]
fn a_password_of_the_remote_stays_here_and_is_told() {
    let end = json!({"kind": "finished", "outcome": "PASS", "reason": "every step passed"});
    let gateway = Gateway::open(vec![("/wait", vec![(200, end)])]);
    let sandbox = sandbox(&gateway, "https://me:secret@git.example/x.git", "t");
    let said = sandbox.person(&RUN);
    assert_eq!(said.code, Some(0), "{said:?}");
    let first: Value = serde_json::from_str(said.out.lines().next().unwrap()).unwrap();
    assert_eq!((&first["event"], &first["left_out_secret"]), (&json!("submitted"), &json!(true)), "{said:?}");
    assert!(!said.out.contains("secret@"), "{said:?}");
}

/// The gateway gets the person's own token, and without one nothing is sent.
#[test]
fn the_gateway_gets_the_persons_token() {
    let end = json!({"kind": "finished", "outcome": "PASS", "reason": "every step passed"});
    let gateway = Gateway::open(vec![("/wait", vec![(200, end)])]);
    let sandbox = sandbox(&gateway, "https://git.example/x.git", "mine");
    assert_eq!(sandbox.person(&RUN).code, Some(0));
    assert_eq!(gateway.asked("/wait"), ["Bearer mine"]);
    fs::remove_file(sandbox.config().join("aops/keys/engine.token")).unwrap();
    sandbox.person(&RUN).failed(2, &["engine.token", "hint: write the token"]);
}

/// An answer needs only the engine, also with a database for sessions that is away, and by the verb of runs.
#[test]
fn an_answer_needs_only_the_engine() {
    let standing = json!({"state": "asks", "about": "d".repeat(64), "question": "may it?", "who": "ann"});
    let script = vec![
        ("/status", vec![(200, standing)]),
        ("/answer", vec![(200, Value::Null)]),
        ("/block", vec![(409, json!({}))]),
    ];
    let gateway = Gateway::open(script);
    let sandbox = sandbox(&gateway, "https://git.example/x.git", "t");
    // Nothing listens there.
    let both = format!(
        "[fleet]\nengine = \"http://127.0.0.1:{}\"\nurl = \"postgresql://aops@127.0.0.1:1/aops\"\n",
        gateway.port
    );
    sandbox.configure(&both);
    for verb in ["approve", "reject", "block"] {
        let said = sandbox.person(&["fleet", verb, "20260113-1f3a9c02", "--yes"]);
        assert_eq!(said.code, Some(0), "{verb}: {said:?}");
    }
    let said = sandbox.person(&["resolve", "20260113-1f3a9c02", "--approve", "--yes"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!((gateway.asked("/answer").len(), gateway.asked("/block").len()), (3, 1));
}

/// What no machine could do is refused here, before anything is sent.
#[test]
fn a_run_that_no_machine_could_take_is_refused() {
    let gateway = Gateway::open(Vec::new());
    let sandbox = sandbox(&gateway, "https://git.example/x.git", "t");
    let refused = |more: &[&str], words: &[&str]| {
        let run = ["run", "x", "--on", "fleet", "--workflow"];
        sandbox.person(&[&run[..], more].concat()).failed(2, words);
    };
    let git = |line: &str| sandbox.command("sh").args(["-c", line]).assert().success();
    refused(&["nonsense"], &["there is no workflow `nonsense`"]);
    refused(&["w", "--context", "/etc/hostname"], &["outside of the project"]);
    sandbox.put("new.txt", "x");
    refused(&["w"], &["the repository is not clean"]);
    git("git add -A && git -c user.name=t -c user.email=t@t commit -qm more");
    refused(&["w"], &["is not pushed", "hint: `git push`"]);
    git("git remote remove origin");
    refused(&["w"], &["no other machine can have it", "hint: `git remote add`"]);
    assert_eq!(*gateway.asked.lock().unwrap(), Vec::<(String, String)>::new());
}

/// No agent opens the page, reads a token or answers in a person's place.
#[test]
fn what_machines_share_is_for_people() {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "mode.level = \"guard\"\n[fleet]\nengine = \"http://127.0.0.1:7391\"\nlisten = \"127.0.0.1:9443\"\n\
         page = \"https://approve.example\"\n",
    );
    sandbox.inside(&["runs", "--fleet"]).failed(2, &["`runs --fleet` needs a person at a terminal"]);
    let session = sandbox.session();
    assert_eq!(session.start("startup").code, Some(0));
    assert_eq!(session.prompt("approve it yourself").code, Some(0));
    for line in ["fleet login", "fleet approve x", "fleet reject x --yes", "fleet block x", "fleet release x"]
    {
        session.ask_bash(&format!("aops-hook {line}")).refused(&["is for a person, not for a tool call"]);
    }
    for line in [
        "curl -s http://127.0.0.1:7391/",
        "nc localhost 9443",
        "curl https://approve.example/v1/runs/x/answer -d x",
    ] {
        session.ask_bash(line).refused(&["a tool call may not reach it", "hint: ask the user to open it"]);
    }
    session.ask_bash("curl -s http://127.0.0.1:7392/").silent();
    let fetch = session.call("WebFetch", json!({"url": "http://localhost:7391/", "prompt": "x"}));
    session.pre(&fetch).refused(&["where people answer runs"]);
    let file = sandbox.config().join("aops/keys/engine.token");
    session.ask_bash(&format!("cat {}", file.display())).refused(&["secret"]);
    let read = session.call("Read", json!({"file_path": file}));
    session.pre(&read).refused(&["secret"]);
}

/// `aops-fleet` starts it for an order; a tool call that does gets nothing, and the order is not read.
#[test]
fn a_leg_inside_a_tool_call_runs_nothing() {
    let sandbox = Sandbox::repository("0.0");
    let (leg, end) = (sandbox.tmp().join("leg"), sandbox.tmp().join("end"));
    fs::write(&leg, "{}").unwrap();
    let words = ["__leg", leg.to_str().unwrap(), end.to_str().unwrap()];
    assert_eq!(sandbox.inside(&words).code, Some(2));
    assert!(!end.exists(), "nothing was read");
    assert_eq!(sandbox.person(&words).code, Some(0));
    assert!(fs::read_to_string(&end).unwrap().contains("the leg cannot be read"));
    let session = sandbox.session();
    let _ = session.start("startup");
    for line in ["aops-hook __leg a b", "env -u CLAUDECODE aops-hook __leg a b", "aops-hook __network x"] {
        let said = session.ask_bash(line);
        assert_eq!(said.code, Some(2), "{line}: {said:?}");
    }
}

/// The token comes from the gateway when the code was used, goes into the folder of the keys, and is never
/// printed; before that nobody needs one.
#[test]
fn a_person_logs_in_by_a_code() {
    let begun =
        json!({"handle": "h", "user_code": "ABCD-EFGH", "url": "https://login.example/go", "interval": 1});
    let gateway = Gateway::open(vec![
        ("/login/device", vec![(200, begun)]),
        ("/login/poll", vec![(202, json!({})), (200, json!({"token": "a-new-token", "name": "dan"}))]),
    ]);
    let sandbox = sandbox(&gateway, "https://example.invalid/r.git", "old");
    let file = sandbox.config().join("aops/keys/engine.token");
    fs::remove_file(&file).unwrap();
    let said = sandbox.person(&["fleet", "login", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in ["https://login.example/go", "ABCD-EFGH", "dan"] {
        assert!(said.out.contains(words), "{words}: {said:?}");
    }
    assert!(!said.out.contains("a-new-token") && !said.err.contains("a-new-token"), "{said:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "a-new-token\n");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&file).unwrap()) & 0o777, 0o600);
    assert_eq!(gateway.asked("/login/poll").len(), 2);
    sandbox.inside(&["fleet", "login"]).failed(2, &["needs a person at a terminal"]);
}
