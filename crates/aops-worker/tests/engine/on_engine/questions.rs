//! The question of a session without a run, at the gateway.

use crate::world::{World, until};
use aops_remote::signed::Trusted;
use serde_json::{Value, json};

#[test]
fn a_question_of_a_session_is_answered_once_for_its_digest_and_outlives_the_server() {
    let mut world = World::new(&["true"], &["--four-eyes", "on"]);
    let id = "session-0123456789abcdef";
    let asked = json!({
        "repository": "/home/ann/x", "machine": "laptop", "question": "may `rm x` be done?", "about": "d1",
        "run": {"task": ""}
    });
    let order = json!({"protocol": 1, "labels": [], "who": "eve", "run": asked});
    let ask = |world: &World| world.post("annann", "POST", &format!("/v1/runs/{id}"), &order).0;
    assert_eq!((ask(&world), ask(&world)), (202, 202), "asked again it is the same question");
    until("it waits", || world.status(id)["state"] == "asks");
    let standing = world.status(id);
    assert_eq!((&standing["who"], &standing["machine"]), (&json!("ann"), &json!("laptop")));
    let list = world.post("annann", "POST", "/v1/list/runs", &Value::Null).1;
    assert_eq!((&list[0]["run_id"], &list[0]["question"]), (&json!(id), &json!("may `rm x` be done?")));
    world.kill_server();
    world.start_server();
    let yes = |about: &str| json!({"about": about, "approve": true, "note": "go on"});
    let answer =
        |token: &str, about: &str| world.post(token, "POST", &format!("/v1/runs/{id}/answer"), &yes(about)).0;
    until("the runs are served", || world.status(id)["state"] == "asks");
    assert_eq!(answer("annann", "d1"), 403);
    // Whoever reaches the engine can write an answer there, and it counts for nothing.
    let forged = json!({"about": "d1", "approve": true, "who": "bob", "at": "2026-01-13T10:00:00Z"});
    assert_eq!(world.ask("ingress", "POST", &format!("/Question/{id}/answer"), Some(&forged)).0, 403);
    let look = world.act(id, "question", &Value::Null).1;
    assert_eq!(
        (&look["run"]["state"], &look["asked"]),
        (&json!("asks"), &json!({"session": true})),
        "{look}"
    );
    assert_eq!(answer("bobbob", "d2"), 409, "of another call");
    assert_eq!((answer("bobbob", "d1"), answer("bobbob", "d1")), (200, 409));
    let (code, said) = world.end(id);
    assert_eq!(
        (code, &said["approve"], &said["who"], &said["about"]),
        (200, &json!(true), &json!("bob"), &json!("d1"))
    );
    assert_eq!(
        (&world.status(id)["state"], &world.status(id)["outcome"]),
        (&json!("over"), &json!("APPROVED"))
    );
    let trusted = Trusted::read(&[world.key()]).unwrap();
    assert_eq!(trusted.check(id, &said), Ok(()), "its machine sees that the gateway signed it");
    assert!(trusted.check("session-0", &said).is_err());
    let look = world.act(id, "look", &Value::Null).1;
    let log: Vec<&str> =
        look["log"].as_array().unwrap().iter().filter_map(|line| line["what"].as_str()).collect();
    assert_eq!(log, ["asks: may `rm x` be done?", "approved", "ended as APPROVED: by bob"]);
    // Whoever asked may withdraw it, and nobody else who may submit.
    let mine = "session-00000000000000ff";
    world.set_tokens(&[("ann", "submit", ""), ("bob", "approve,operate", ""), ("dan", "submit", "")]);
    assert_eq!(world.post("annann", "POST", &format!("/v1/runs/{mine}"), &order).0, 202);
    until("it waits", || world.status(mine)["state"] == "asks");
    let withdraw = |token: &str| world.post(token, "POST", &format!("/v1/runs/{mine}/block"), &Value::Null).0;
    assert_eq!((withdraw("dandan"), withdraw("annann")), (403, 409));
    assert_eq!(world.status(mine)["outcome"], "BLOCKED");
    // Nobody waits for a question that a person ends.
    let other = "session-fedcba9876543210";
    assert_eq!(world.post("annann", "POST", &format!("/v1/runs/{other}"), &order).0, 202);
    until("it waits", || world.status(other)["state"] == "asks");
    assert_eq!(world.act(other, "block", &Value::Null).0, 409);
    assert_eq!(world.status(other)["outcome"], "BLOCKED");
}
