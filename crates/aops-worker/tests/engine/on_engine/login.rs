//! Log-in by an issuer of identities: in a browser, in a terminal, and what does not count.

use crate::issuer::Issuer;
use crate::tab::Tab;
use crate::world::{World, until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A gateway that trusts this issuer; the group `platform` approves, cleo may everything with gpu.
fn world() -> (World, Issuer) {
    let mut world = World::new(&["true"], &[]);
    let issuer = Issuer::new(&world);
    let file = world.at("oidc");
    let text = format!(
        "# who logs in\nissuer {}\nclient aops\npage {}\nname email\ngrant group:platform approve\ngrant cleo@example.com submit,approve,operate label=gpu\n",
        issuer.url,
        world.address()
    );
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    world.kill_gateway();
    world.with_option("--oidc", file.to_str().unwrap());
    world.start_gateway();
    (world, issuer)
}

fn person(email: &str, groups: &[&str]) -> Value {
    json!({"email": email, "email_verified": true, "groups": groups})
}

/// The answer to a log-in by code, as a browser goes through it.
fn log_in(world: &World, issuer: &Issuer) -> (u16, Value) {
    let (code, begun) = world.post("", "POST", "/v1/login/begin", &json!({}));
    assert_eq!(code, 200, "{begun}");
    let (state, code) = issuer.authorize(begun["url"].as_str().unwrap());
    assert_eq!(begun["state"], state.as_str());
    world.post("", "POST", "/v1/login/finish", &json!({"state": state, "code": code}))
}

/// Each algorithm; what a person may is what their name and groups have, in the file as it is now.
#[test]
fn a_person_logs_in_by_code_and_has_the_roles_of_their_groups() {
    let (world, issuer) = world();
    let _a = world.acting("a", &json!({}));
    world.send("r1", &[]);
    until("a person is asked", || world.status("r1")["state"] == "asks");
    for key in 0..3 {
        issuer.logs_in(person("dan@example.com", &["platform", "other"]), key);
        let (code, said) = log_in(&world, &issuer);
        assert_eq!((code, &said["name"]), (200, &json!("dan@example.com")), "{said}");
    }
    let token = log_in(&world, &issuer).1["token"].as_str().unwrap().to_owned();
    let answer = json!({"about": world.status("r1")["about"], "approve": true});
    assert_eq!(world.post(&token, "POST", "/v1/runs/r1/block", &json!({})).0, 403);
    assert_eq!(world.post(&token, "POST", "/v1/runs/r1/answer", &answer).0, 200);
    let given = world.acts("answer")[0].clone();
    assert_eq!((&given["who"], &given["with"]["issuer"]), (&json!("dan@example.com"), &json!(issuer.url)));
    assert_eq!(world.end("r1").0, 200);
    // A changed session is none; without a role nothing is seen; without the line nobody is left.
    let (text, signature) = token.split_once('.').unwrap();
    let other = text.replace(&text[10..14], "AAAA");
    assert_eq!(world.post(&format!("{other}.{signature}"), "POST", "/v1/list/runs", &Value::Null).0, 401);
    issuer.logs_in(person("eve@example.com", &["other"]), 0);
    let eve = log_in(&world, &issuer).1["token"].as_str().unwrap().to_owned();
    assert_eq!(world.post(&eve, "POST", "/v1/list/runs", &Value::Null).0, 403);
    issuer.logs_in(person("cleo@example.com", &[]), 1);
    let cleo = log_in(&world, &issuer).1["token"].as_str().unwrap().to_owned();
    assert_eq!(
        world.post(&cleo, "POST", "/v1/list/runs", &Value::Null).1,
        json!([]),
        "no run of hers has gpu"
    );
    assert_eq!(world.post(&cleo, "POST", "/v1/runs/r2", &world.order("r2", &["gpu"])).0, 202);
    until("the run is there", || world.status("r2")["who"] == "cleo@example.com");
    let text = fs::read_to_string(world.at("oidc")).unwrap();
    fs::write(world.at("oidc"), text.replace("grant group:platform approve\n", "")).unwrap();
    assert_eq!(world.post(&token, "POST", "/v1/list/runs", &Value::Null).0, 403);
    assert_eq!(world.acts("login").len(), 6);
}

/// Tokens of another client, another log-in, yesterday or without a name open nothing.
#[test]
fn what_is_not_for_us_now_does_not_count() {
    let (world, issuer) = world();
    let good = person("dan@example.com", &["platform"]);
    for (name, value) in [
        ("aud", json!("other")),
        ("aud", json!(["aops", "other"])),
        ("iss", json!("https://other.example")),
        ("exp", json!(1_700_000_000)),
        ("nonce", json!("another log-in")),
        ("nbf", json!(32_503_680_000_u64)),
        ("email", json!("")),
        ("email", json!("dan is\nbob")),
        ("email_verified", json!(false)),
        ("sub", Value::Null),
    ] {
        let mut claims = good.clone();
        claims[name] = value.clone();
        issuer.logs_in(claims, 0);
        let (code, said) = log_in(&world, &issuer);
        assert_eq!((code, said["token"].is_null()), (403, true), "{name} {value}: {said}");
    }
    issuer.logs_in(good, 0);
    // Each log-in ends once, and only where it was begun.
    let begun = world.post("", "POST", "/v1/login/begin", &json!({})).1;
    let (state, code) = issuer.authorize(begun["url"].as_str().unwrap());
    let finish = |state: &str, code: &str| {
        world.post("", "POST", "/v1/login/finish", &json!({"state": state, "code": code})).0
    };
    assert_eq!(finish("unknown", &code), 403);
    assert_eq!(finish(&state, &code), 200);
    assert_eq!(finish(&state, &code), 403);
    // A stolen code without its verifier: another log-in's state does not fit it.
    let one = world.post("", "POST", "/v1/login/begin", &json!({})).1;
    let two = world.post("", "POST", "/v1/login/begin", &json!({})).1;
    let (_, stolen) = issuer.authorize(one["url"].as_str().unwrap());
    assert_eq!(finish(two["state"].as_str().unwrap(), &stolen), 403);
    assert_eq!(world.acts("login").len(), 1);
}

/// In a terminal: a code to type elsewhere, and a token when that was done.
#[test]
fn a_person_logs_in_by_device_code() {
    let (world, issuer) = world();
    issuer.logs_in(person("dan@example.com", &["platform"]), 1);
    let (code, begun) = world.post("", "POST", "/v1/login/device", &json!({}));
    assert_eq!((code, &begun["url"]), (200, &json!(format!("{}/activate", issuer.url))), "{begun}");
    let poll = || world.post("", "POST", "/v1/login/poll", &json!({"handle": begun["handle"]}));
    assert_eq!(poll().0, 202);
    issuer.activate(begun["user_code"].as_str().unwrap());
    let (code, said) = poll();
    assert_eq!((code, &said["name"]), (200, &json!("dan@example.com")), "{said}");
    let token = said["token"].as_str().unwrap();
    assert_eq!(world.post(token, "POST", "/v1/list/runs", &Value::Null).0, 200);
    assert_eq!(poll().0, 403, "it is over");
    assert_eq!(world.post("", "POST", "/v1/login/poll", &json!({"handle": "x"})).0, 403);
}

/// In the browser, there and back; another site's way back is none.
#[test]
fn the_page_logs_in_with_the_issuer() {
    let (world, issuer) = world();
    issuer.logs_in(person("dan@example.com", &["platform"]), 2);
    let mut tab = Tab::open(&world);
    tab.go(&world.address());
    tab.shows("Log in with 127.0.0.1");
    tab.is_usable("log in with an issuer");
    tab.press(&format!("Log in with {}", issuer.url.trim_start_matches("http://")));
    tab.shows("Nothing waits for you.");
    assert!(tab.text().contains("dan@example.com"));
    assert_eq!(tab.eval("location.href"), format!("{}/", world.address()));
    tab.press("Log out");
    tab.go(&format!("{}/login?state=x&code=y", world.address()));
    tab.shows("This log-in was not started here");
    assert_eq!(tab.complaints, [""; 0]);
}
