//! A call of the real client that a person allows from anywhere: made once, under its own id.

use super::postgres::Postgres;
use crate::client::{Client, client_variables, install};
use crate::model::{Model, Turn};
use crate::runs::world::{CONFIG, World, bash};
use crate::support::{Sandbox, Session};
use serde_json::Value;
use std::fs;

const STEPS: &str = "  - {id: before, name: Before, description: first, run: echo before >> effects}
  - {id: build, name: Build, description: make it}
  - {id: after, name: After, description: last, run: 'cp effects \"$EFFECTS/seen\"'}
";

/// What matters stands behind much that does not: the question must show it all the same.
fn long_line() -> String {
    format!("true {} && touch danger && echo danger >> effects", "x".repeat(400))
}

#[test]
fn a_call_that_the_client_deferred_is_made_once_after_the_answer() {
    let model = Model::new([bash(&long_line()), Turn::text("Built.")]);
    let (postgres, mut world) = (Postgres::with_tables(), World::real(&model, &[("asking", STEPS)]));
    let effects = world.sandbox.tmp().join("effects");
    fs::create_dir(&effects).unwrap();
    world.sandbox = world.sandbox.with("EFFECTS", &effects);
    world.configure(&format!("fleet.url = \"{}\"\n{CONFIG}", postgres.url()));
    let remote = world.sandbox.tmp().join("remote.git");
    world.git(&["init", "-q", "--bare", "-b", "main", remote.to_str().unwrap()]);
    world.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    world.git(&["push", "-q", "-u", "origin", "main"]);
    let work = || {
        let said = world.person(&["worker", "--once", "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        postgres.sql("select concat_ws(' ', state, outcome, pinned is not null) from aops.runs")
    };
    assert_eq!(world.person(&["run", "make it so", "--workflow", "asking", "--enqueue"]).code, Some(0));
    assert_eq!(work(), "paused t", "only this machine has the conversation");
    let asked = postgres.sql("select question from aops.approvals");
    assert!(
        asked.contains("touch danger && echo danger >> effects` be done? ")
            && asked.contains("not to be touched lightly"),
        "{asked}"
    );
    let id = postgres.sql("select id from aops.approvals");
    assert_eq!(world.person(&["fleet", "approve", &id, "--note", "just this once", "--yes"]).code, Some(0));
    assert_eq!((work(), work()), ("done PASS f".to_owned(), "done PASS f".to_owned()));
    assert_eq!(fs::read_to_string(effects.join("seen")).unwrap(), "before\ndanger\n", "each once");
    let ledgers = world.sandbox.files().into_iter().filter(|(path, _)| path.ends_with("ledger.jsonl"));
    let ledgers: Vec<String> = ledgers.map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect();
    let entries =
        ledgers.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let call =
        |entry: Value| (entry["type"] == "call").then(|| entry["with"]["to"].as_str().unwrap().to_owned());
    let went: Vec<String> =
        entries.filter(|entry| entry["with"]["call"]["id"] == "toolu_000100").filter_map(call).collect();
    assert_eq!(went, ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"]);
    let by = postgres.sql("select line::json->'with'->>'by' from aops.steps where line like '%RESOLVED%'");
    assert!(by.contains('@') && by.contains(" at 20"), "who and when is in the ledger: {by}");
    let heard = model.requests().last().unwrap().said_by("system").join("\n");
    assert!(heard.contains("just this once"), "{heard}");
}

/// A client that no run started and that has no terminal ends with the call undone. A person answers
/// anywhere; a worker on its machine has the client make the call, once, or never.
#[test]
fn a_session_without_a_terminal_asks_anywhere() {
    let postgres = Postgres::with_tables();
    for (answer, made) in [("approve", true), ("reject", false)] {
        let model = Model::new([bash(&long_line()), Turn::text("Built.")]);
        let variables = client_variables(&model).into_iter();
        let sandbox = variables.fold(Sandbox::new(), |sandbox, (name, value)| sandbox.with(name, value));
        let sandbox = sandbox.with("AOPS_CLAUDE", install::program());
        postgres.sql("delete from aops.runs");
        sandbox.configure(&format!(
            "mode.level = \"guard\"\nfleet.url = \"{}\"\nfleet.defer = true\n{CONFIG}",
            postgres.url()
        ));
        let run = Client::guarded(&sandbox, &model).run("do it");
        assert_eq!(run.result()["terminal_reason"], "tool_deferred", "{run:?}");
        sandbox.wait_until("it is asked", || postgres.sql("select count(*) from aops.approvals") == "1");
        sandbox.wait_until("nothing runs", || sandbox.alive().is_empty());
        let asked = postgres.sql("select question from aops.approvals");
        assert!(
            asked.contains("touch danger && echo danger >> effects` be done? ")
                && asked.contains("not to be touched lightly"),
            "{asked}"
        );
        let id = postgres.sql("select id from aops.approvals");
        assert_eq!(sandbox.person(&["fleet", answer, &id, "--note", "this once", "--yes"]).code, Some(0));
        for _ in 0..2 {
            let said = sandbox.person(&["worker", "--once", "--json"]);
            assert_eq!(said.code, Some(0), "{said:?}");
        }
        let ended = postgres.sql("select concat_ws(' ', state, outcome, reason) from aops.runs");
        let effects = fs::read_to_string(sandbox.project().join("effects")).unwrap_or_default();
        assert_eq!(effects, if made { "danger\n" } else { "" }, "{ended}");
        assert!(ended.starts_with(if made { "done PASS" } else { "done BLOCKED" }), "{ended}");
        let session = Session::new(&sandbox, run.session_id());
        let wanted: &[&str] =
            if made { &["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"] } else { &["PENDING", "DENIED"] };
        assert_eq!(session.calls()["toolu_000100"], wanted);
        let said =
            session.entries().iter().map(|entry| entry["with"]["reason"].to_string()).collect::<String>();
        assert!(
            said.contains(" at 20") && said.contains("Z: this once"),
            "who and when is in the ledger: {said}"
        );
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}
