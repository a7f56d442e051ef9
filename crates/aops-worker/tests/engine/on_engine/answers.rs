//! Answers: who gives them, who may, and what the engine cannot invent.

use crate::world::{World, until};
use serde_json::{Value, json};
use std::fs;

/// A run whose remote is away, so that a person is asked whether it may be tried again.
fn asking(world: &World) -> Value {
    fs::rename(world.at("remote.git"), world.at("elsewhere")).unwrap();
    world.send("r1", &[]);
    until("a person is asked", || world.status("r1")["state"] == "asks");
    fs::rename(world.at("elsewhere"), world.at("remote.git")).unwrap();
    world.status("r1")
}

/// Whoever reaches the engine's doors can write there what they like; an answer counts only if the gateway
/// signed it, for that run and that question.
#[test]
fn a_forged_answer_is_refused_wherever_it_is_written() {
    let world = World::new(&["echo one >> work"], &[]);
    let _a = world.machine("a", &[]);
    let asked = asking(&world);
    let about = asked["about"].as_str().unwrap();
    let forged = json!({"about": about, "approve": true, "who": "bob", "at": "2026-01-13T10:00:00Z",
        "issuer": "tokens", "from": "terminal", "signature": "c2lnbmF0dXJl"});
    let (code, said) = world.ask("ingress", "POST", "/Run/r1/answer", Some(&forged));
    assert_eq!(code, 403, "{said}");
    assert_eq!(world.status("r1"), asked, "the run still asks");
    // The machine itself is told the same, past the run.
    let order = world.order("r1", &[])["run"].clone();
    let leg = json!({"run": "r1", "order": order, "answer": forged});
    let (code, said) = world.ask("ingress", "POST", "/machine-a/r1/step", Some(&leg));
    assert_eq!((code, &said["kind"]), (200, &json!("failed")), "{said}");
    assert!(said["words"].as_str().unwrap().contains("not signed by a gateway"), "{said}");
    assert_eq!(world.status("r1"), asked);
    // The gateway's own answer for another run is none for this one: the run is part of what is signed.
    let answer = json!({"about": about, "approve": true, "who": "somebody else", "signature": "x"});
    assert_eq!(world.act("r1", "answer", &answer).0, 200);
    world.passed("r1");
    let audit = fs::read_to_string(world.at("audit.jsonl")).unwrap();
    let line = audit.lines().find(|line| line.contains("\"act\":\"answer\"")).unwrap();
    let mut given = serde_json::from_str::<Value>(line).unwrap()["with"].clone();
    assert_eq!(
        (&given["who"], &given["issuer"], &given["from"]),
        (&json!("bob"), &json!("tokens"), &json!("terminal at 127.0.0.1"))
    );
    // A signed answer that was changed, or is used for another run, is forged too.
    let leg = |run: &str, answer: &Value| {
        let leg = json!({"run": run, "order": {"nonsense": true}, "answer": answer});
        world.ask("ingress", "POST", &format!("/machine-a/{run}/step"), Some(&leg)).1["words"].to_string()
    };
    assert!(leg("r2", &given).contains("not signed"));
    assert!(!leg("r1", &given).contains("not signed"), "it is right as it is, and the order is not");
    given["approve"] = json!(false);
    assert!(leg("r1", &given).contains("not signed"));
}

/// A worker that knows no gateway acts on no answer.
#[test]
fn a_worker_without_a_gateways_key_acts_on_no_answer() {
    let world = World::new(&["echo one >> work"], &[]);
    let mut a = world.machine("a", &[]);
    a.worker.take().unwrap().kill();
    world.start_worker_with(&mut a, &[]);
    let asked = asking(&world);
    let answer = json!({"about": asked["about"], "approve": true});
    assert_eq!(world.act("r1", "answer", &answer).0, 200);
    until("it asks again", || {
        world.status("r1")["about"].as_str().is_some_and(|about| about != asked["about"])
    });
    let question = world.status("r1")["question"].to_string();
    assert!(question.contains("this worker knows no gateway"), "{question}");
}

/// Roles end at their repositories and labels, for what is submitted, seen and done.
#[test]
fn a_role_holds_for_its_repositories_and_labels_alone() {
    let world = World::new(&["echo one >> work"], &[]);
    let bare = world.bare();
    let folder = bare.trim_end_matches("remote.git").to_owned();
    world.set_tokens(&[
        ("ann", "submit", &format!("repository={folder}*")),
        ("bob", "approve,operate", "label=linux"),
        ("cleo", "approve,operate", &format!("repository={folder}* label=linux,mac")),
        ("dan", "submit", "repository=https://forge.example/*"),
        ("eve", "read", "label=gpu"),
    ]);
    let _a = world.machine("a", &["linux", "gpu"]);
    let order = world.order("r1", &["linux"]);
    assert_eq!(world.post("dandan", "POST", "/v1/runs/r1", &order).0, 403, "another repository");
    assert_eq!(world.post("eveeve", "POST", "/v1/runs/r1", &order).0, 403);
    fs::rename(world.at("remote.git"), world.at("elsewhere")).unwrap();
    for (run, labels) in [("r1", &["linux"][..]), ("r2", &["gpu"])] {
        world.send(run, labels);
        until("a person is asked", || world.status(run)["state"] == "asks");
    }
    fs::rename(world.at("elsewhere"), world.at("remote.git")).unwrap();
    let listed = |token: &str| {
        let list = world.post(token, "POST", "/v1/list/runs", &json!(null)).1;
        let mut runs: Vec<String> =
            list.as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect();
        runs.sort();
        runs.join(" ")
    };
    let seen = ["ann", "bob", "cleo", "dan", "eve"].map(|name| listed(&name.repeat(2)));
    assert_eq!(seen, ["r1 r2", "r1", "r1", "", "r2"]);
    let answer = json!({"about": world.status("r2")["about"], "approve": true});
    for (token, run, act, code) in [
        ("bobbob", "r2", "answer", 403),
        ("cleocleo", "r2", "block", 403),
        ("cleocleo", "r2", "status", 403),
        ("bobbob", "r2", "question", 403),
        ("eveeve", "r2", "answer", 403),
        ("eveeve", "r2", "look", 200),
        ("eveeve", "r1", "look", 403),
        ("bobbob", "r0", "look", 404),
        ("bobbob", "r1", "look", 200),
    ] {
        let (status, said) = world.post(token, "POST", &format!("/v1/runs/{run}/{act}"), &answer);
        assert_eq!(status, code, "{token} {run} {act}: {said}");
    }
    let answer = json!({"about": world.status("r1")["about"], "approve": true});
    assert_eq!(world.post("cleocleo", "POST", "/v1/runs/r1/answer", &answer).0, 200);
    world.passed("r1");
    // A line that is taken away counts no more, and the audit has that the file changed.
    world.set_tokens(&[("ann", "submit", "")]);
    assert_eq!(world.post("bobbob", "POST", "/v1/runs/r2/look", &Value::Null).0, 401);
    assert_eq!(world.acts("tokens").len(), 2, "as it was found, and as it was changed");
}

/// The rule that asks says that it wants somebody else; the gateway's own option wants it of all.
#[test]
fn who_asked_for_a_run_does_not_answer_where_four_eyes_are_wanted() {
    for (four_eyes, options) in [(true, &[][..]), (false, &["--four-eyes", "on"])] {
        let world = World::new(&["true"], options);
        world.set_tokens(&[("ann", "submit,approve", ""), ("bob", "approve", "")]);
        let _a = world.acting("a", &json!({"four_eyes": four_eyes, "rule": "ask-first"}));
        world.send("r1", &[]);
        until("a person is asked", || world.status("r1")["state"] == "asks");
        let answer = json!({"about": world.status("r1")["about"], "approve": true});
        let answered = |token: &str| world.post(token, "POST", "/v1/runs/r1/answer", &answer);
        let (code, said) = answered("annann");
        assert_eq!(code, 403, "{said}");
        assert!(said["message"].as_str().unwrap().contains("somebody else must"), "{said}");
        let may = |token: &str| {
            world.post(token, "POST", "/v1/runs/r1/look", &Value::Null).1["may"]["answer"].clone()
        };
        assert_eq!((may("annann"), may("bobbob")), (json!(false), json!(true)));
        assert_eq!(answered("bobbob").0, 200);
        assert_eq!(world.end("r1").0, 200);
    }
    // Without either, one person may do both.
    let world = World::new(&["true"], &[]);
    world.set_tokens(&[("ann", "submit,approve", "")]);
    let _a = world.acting("a", &json!({}));
    world.send("r1", &[]);
    until("a person is asked", || world.status("r1")["state"] == "asks");
    let answer = json!({"about": world.status("r1")["about"], "approve": true});
    assert_eq!(world.post("annann", "POST", "/v1/runs/r1/answer", &answer).0, 200);
}

/// The whole call is shown to whoever may read the run, and the audit has that it was.
#[test]
fn a_look_at_the_whole_call_is_in_the_audit() {
    let world = World::new(&["true"], &[]);
    let _a = world.acting("a", &json!({"tool": "Bash", "call": "rm -rf build", "rule": "ask-first"}));
    world.send("r1", &[]);
    until("a person is asked", || world.status("r1")["state"] == "asks");
    assert!(!world.status("r1").to_string().contains("rm -rf"), "the state alone does not have it");
    let look = world.act("r1", "look", &Value::Null).1;
    assert!(!look.to_string().contains("rm -rf"), "{look}");
    assert_eq!(world.acts("read").len(), 0);
    let (code, said) = world.act("r1", "question", &Value::Null);
    assert_eq!((code, &said["asked"]["call"]), (200, &json!("rm -rf build")), "{said}");
    let read = world.acts("read");
    assert_eq!(
        (read.len(), &read[0]["who"], &read[0]["with"]["about"]),
        (1, &json!("bob"), &world.status("r1")["about"])
    );
    assert_eq!(world.acts("start").len(), 1);
}
