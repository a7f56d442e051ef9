//! A machine that reaches the engine only through the gateway, with what its configuration says.

use super::{BEGUN, WAIT};
use crate::world::{World, until};
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_machine_needs_only_the_gateway_and_a_token() {
    let world = World::new(&[&format!("{BEGUN}echo one >> work")], &[]);
    let near = world.machine("near", &[]);
    let _far = world.far_machine();
    assert_eq!(world.machines()["far"]["labels"], json!(["far"]));
    world.send("r1", &["far"]);
    world.passed("r1");
    assert!(world.effects("begun")[0].ends_with(" far"));
    // The server reaches it, and says where.
    let ask = |token: &str, path: &str, body: &Value| {
        world.post(token, "POST", &format!("/v1/machines/{path}"), body)
    };
    let (code, said) = ask("annann", "far/reach", &Value::Null);
    assert!(code == 200 && said["address"].as_str().unwrap().contains("127.0.0.1"), "{said}");
    assert_eq!(ask("annann", "nobody/reach", &Value::Null).0, 404);
    let (code, about) = world.post("annann", "POST", "/v1/about", &Value::Null);
    assert!(code == 200 && about["engine"].is_string() && about["now_ms"].is_i64(), "{about}");
    // Its token is good for this machine alone, a person's for none, and an address only for its machine.
    let hello = |name: &str, port: u16| {
        let machine = json!({"name": name, "labels": [], "grace_s": 1, "reattach_s": 2});
        json!({"address": format!("http://127.0.0.1:{port}"), "machine": machine})
    };
    assert_eq!(ask("farfar", "near/counts", &Value::Null).0, 403);
    assert_eq!(ask("bobbob", "near/hello", &hello("near", near.port)).0, 403);
    assert_eq!(ask("farfar", "far/hello", &hello("near", near.port)).0, 400);
    let (code, said) = ask("farfar", "far/hello", &hello("far", near.port));
    assert!(code == 409 && said["message"].as_str().unwrap().contains("machine-near"), "{said}");
    assert_eq!(ask("farfar", "far/ended/x", &json!({"kind": "odd"})).0, 400);
    assert_eq!(world.post("farfar", "POST", "/v1/runs/r2", &world.order("r2", &[])).0, 403);
    world.send("r3", &["far"]);
    world.passed("r3");
    // It acts on no answer but the gateway's, although it learns of no other server.
    let forged = json!({"about": "d", "approve": true, "who": "bob", "signature": "c2lnbmF0dXJl"});
    let leg = json!({"run": "r4", "order": world.order("r4", &[])["run"], "answer": forged});
    let (code, said) = world.ask("ingress", "POST", "/machine-far/r4/step", Some(&leg));
    assert_eq!((code, &said["kind"]), (200, &json!("failed")), "{said}");
    assert!(said["words"].as_str().unwrap().contains("not signed by a gateway"), "{said}");
    // The same way it continues after a signed one.
    fs::rename(world.at("remote.git"), world.at("elsewhere")).unwrap();
    world.send("r5", &["far"]);
    until("a person is asked", || world.status("r5")["state"] == "asks");
    fs::rename(world.at("elsewhere"), world.at("remote.git")).unwrap();
    let answer = json!({"about": world.status("r5")["about"], "approve": true});
    assert_eq!(world.act("r5", "answer", &answer).0, 200);
    world.passed("r5");
}

/// Without the gateway such a machine does not know whether it is cut off: its step ends, and begins again
/// when the gateway is back.
#[test]
fn a_machine_without_its_gateway_ends_its_step_and_begins_it_again() {
    let mut world = World::new(&[&format!("{BEGUN}{WAIT}echo one >> work")], &[]);
    let far = world.far_machine();
    world.send("r1", &[]);
    until("the step runs", || world.effects("begun").len() == 1);
    world.kill_gateway();
    until("the step has ended", || world.held(&far) == 0);
    world.start_gateway();
    until("it is begun again", || world.effects("begun").len() >= 2);
    let begun = world.effects("begun");
    assert!(begun.iter().all(|line| *line == begun[0]), "under its key: {begun:?}");
    world.go("go");
    world.passed("r1");
}
