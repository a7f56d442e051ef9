//! What a person sees of the engine with no database: `fleet status`, `fleet doctor`, and the questions of
//! sessions without a run.

use super::attended::{BEGUN, Door, Fleet, WAIT, silent};
use super::{Running, Server};
use crate::client::{Client, client_variables, install};
use crate::model::{Model, Turn};
use crate::runs::world::{CONFIG, bash};
use crate::support::{BINARY, Sandbox, Session};
use aops_proof::key::{SecretKey, Use};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};

fn be(sandbox: &Sandbox, file: &str, token: &str) {
    let keys = sandbox.config().join("aops/keys");
    fs::create_dir_all(&keys).unwrap();
    fs::write(keys.join(file), format!("{token}\n")).unwrap();
}

fn waiting(sandbox: &Sandbox) -> Command {
    let mut command = Command::new(BINARY);
    command.args(["fleet", "wait"]).env_clear().envs(sandbox.environment()).current_dir(sandbox.project());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A client that no run started and that has no terminal ends with the call undone. A person answers at the
/// gateway; `fleet wait` on its machine has the client make the call, once, or never.
#[test]
fn a_session_without_a_terminal_asks_at_the_engine() {
    for (answer, made) in [("approve", true), ("reject", false)] {
        let model = Model::new([bash("touch danger && echo danger >> effects"), Turn::text("Built.")]);
        let variables = client_variables(&model).into_iter();
        let sandbox = variables.fold(Sandbox::new(), |sandbox, (name, value)| sandbox.with(name, value));
        let sandbox = sandbox.with("AOPS_CLAUDE", install::program());
        let folder = sandbox.tmp().join("r");
        fs::create_dir(&folder).unwrap();
        let server = Server::start(&sandbox, folder);
        let door = Door::open(&sandbox, &server);
        let port = door.port;
        let configure = |key: &str| {
            sandbox.configure(&format!(
                "mode.level = \"guard\"\nfleet.engine = \"http://127.0.0.1:{port}\"\nfleet.defer = true\n\
                 fleet.gateway_keys = [{key}]\n{CONFIG}"
            ));
        };
        configure("");
        be(&sandbox, "engine.token", "annann");
        let run = Client::guarded(&sandbox, &model).run("do it");
        assert_eq!(run.result()["terminal_reason"], "tool_deferred", "{run:?}");
        let list = || door.ask("annann", "POST", "/v1/list/runs", &Value::Null).1;
        sandbox.wait_until("it is asked", || list()[0]["state"] == "asks");
        sandbox.person(&["fleet", "approvals"]).said(&["touch danger && echo danger >> effects"]);
        let status = sandbox.person(&["fleet", "status", "--json"]).json();
        assert_eq!(status["engine"]["questions"][0]["id"], list()[0]["run_id"], "{status}");
        let id = list()[0]["run_id"].as_str().unwrap().to_owned();
        be(&sandbox, "engine.token", "bobbob");
        assert_eq!(sandbox.person(&["fleet", answer, &id, "--note", "this once", "--yes"]).code, Some(0));
        let none = sandbox.person(&["fleet", "wait", "--once"]);
        assert!(none.code == Some(2) && none.err.contains("`fleet.gateway_keys`"), "{none:?}");
        // An answer with another gateway's signature counts for nothing: it is asked again.
        let other = SecretKey::new("aops-gateway", Use::Note, &[7; 32]).unwrap();
        configure(&format!("\"{}\"", other.public()));
        be(&sandbox, "engine.token", "annann");
        let mut waits = Running(waiting(&sandbox).spawn().unwrap());
        let again = format!("{id}-1");
        sandbox.wait_until("it is asked again", || {
            list().as_array().unwrap().iter().any(|run| run["run_id"] == again && run["state"] == "asks")
        });
        waits.kill();
        be(&sandbox, "engine.token", "bobbob");
        configure(&format!("\"{}\"", door.key()));
        assert_eq!(sandbox.person(&["fleet", answer, &again, "--note", "this once", "--yes"]).code, Some(0));
        for _ in 0..2 {
            let said = sandbox.person(&["fleet", "wait", "--once", "--json"]);
            assert_eq!(said.code, Some(0), "{said:?}");
        }
        let effects = fs::read_to_string(sandbox.project().join("effects")).unwrap_or_default();
        assert_eq!(effects, if made { "danger\n" } else { "" });
        let session = Session::new(&sandbox, run.session_id());
        let wanted: &[&str] =
            if made { &["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"] } else { &["PENDING", "DENIED"] };
        assert_eq!(session.calls()["toolu_000100"], wanted);
        let said =
            session.entries().iter().map(|entry| entry["with"]["reason"].to_string()).collect::<String>();
        assert!(said.contains("bob at 20") && said.contains("Z: this once"), "who and when: {said}");
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// A session that continues with another prompt has given up the call: its question leaves the list.
#[test]
fn a_question_that_its_session_gave_up_is_withdrawn() {
    let model = Model::new([
        bash("touch danger && echo danger >> effects"),
        Turn::text("Built."),
        Turn::text("Done."),
    ]);
    let variables = client_variables(&model).into_iter();
    let sandbox = variables.fold(Sandbox::new(), |sandbox, (name, value)| sandbox.with(name, value));
    let folder = sandbox.tmp().join("r");
    fs::create_dir(&folder).unwrap();
    let server = Server::start(&sandbox, folder);
    let door = Door::open(&sandbox, &server);
    let engine = format!("fleet.engine = \"http://127.0.0.1:{}\"\n", door.port);
    sandbox.configure(&format!("mode.level = \"guard\"\n{engine}fleet.defer = true\n{CONFIG}"));
    be(&sandbox, "engine.token", "annann");
    let client = Client::guarded(&sandbox, &model);
    let run = client.run("do it");
    let asking = || {
        let list = door.ask("annann", "POST", "/v1/list/runs", &Value::Null).1;
        list.as_array().map_or(0, |list| list.iter().filter(|run| run["state"] == "asks").count())
    };
    sandbox.wait_until("it is asked", || asking() == 1);
    let _ = client.resume(run.session_id(), "leave it");
    sandbox.wait_until("it is not asked any more", || asking() == 0);
    sandbox.person(&["fleet", "approvals", "--json"]).said(&["[]"]);
    assert!(!sandbox.project().join("effects").exists());
}

#[test]
fn status_and_doctor_need_no_database() {
    let fleet = Fleet::new(silent(), &format!("{BEGUN}{WAIT}"));
    let sandbox = &fleet.world.sandbox;
    let none = sandbox.person(&["fleet", "doctor"]);
    assert!(none.code == Some(2) && none.err.contains("`fleet.engine`"), "{none:?}");
    let _worker = fleet.worker();
    let port = fleet.door().port;
    fleet.world.configure(&format!("{CONFIG}\n[fleet]\nengine = \"http://127.0.0.1:{port}\"\n"));
    be(sandbox, "engine.token", "annann");
    fleet.send("r1");
    sandbox.wait_until("the step runs", || fleet.begun().len() == 1);
    let status = sandbox.person(&["fleet", "status", "--json"]).json();
    assert_eq!(status["engine"]["runs"], json!({"waits": 0, "runs": 1, "asks": 0, "over": 0}), "{status}");
    let machine = &status["engine"]["machines"][0];
    assert_eq!(
        (&machine["name"], &machine["away"], &machine["runs"]),
        (&json!("a"), &json!(false), &json!(1))
    );
    sandbox.person(&["fleet", "status"]).said(&["0 waiting, 1 running", "here"]);
    let rows = |of: &str| {
        let rows = sandbox.person(&["fleet", "doctor", "--json"]).json_of_any_exit();
        rows.as_array().unwrap().iter().find(|row| row["check"] == of).cloned().unwrap_or_default()
    };
    for check in ["gateway", "versions", "key", "clock", "disk"] {
        assert_eq!(rows(check)["ok"], true, "{}", rows(check));
    }
    assert!(rows("gateway")["words"].as_str().unwrap().contains("ann"));
    let beside = concat!("aops-fleet ", env!("CARGO_PKG_VERSION"));
    assert!(rows("versions")["words"].as_str().unwrap().contains(beside), "{}", rows("versions"));
    assert_eq!((&machine["bundle"], &machine["stale"]), (&json!(null), &json!(false)), "{machine}");
    be(sandbox, "engine.token", "nobody");
    let said = rows("gateway");
    assert!(said["ok"] == false && said["words"].as_str().unwrap().contains("hint:"), "{said}");
    // A machine that works for others has a worker, which the server reaches; and one that is not started.
    be(sandbox, "engine.token", "annann");
    be(sandbox, "worker.token", "annann");
    let said = rows("worker from the server");
    assert!(said["ok"] == false && said["words"].as_str().unwrap().contains("does not know ann"), "{said}");
    assert_eq!(rows("worker")["ok"], false);
    fleet.go();
}
