//! A host that is on no list, in mode `ask`, and a person's answers. Run in a machine of its own, like
//! `inside`.

use super::inside::{broker, file, put_script, working, world_of};
use super::outside::Outside;
use crate::jail::world::Jailed;
use serde_json::{Value, json};
use std::fs;

fn attended(network: &str) -> Jailed {
    world_of(Jailed::attended, network)
}

/// Words first: the question comes before the command; a yes holds as long as the session.
#[test]
#[ignore = "needs a machine of its own"]
fn a_line_that_names_an_unknown_host_is_asked_about_before_it_runs() {
    let world = attended("mode = \"ask\"\nallow = [\"plain.test\"]\ndeny = [\"evil.test\"]\n");
    let _outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    let line = "curl -s -m 5 http://tls.test/x";
    let call = session.inner.call("Bash", json!({"command": line}));
    let asked = session.inner.pre(&call).json();
    let words =
        asked["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_default().to_owned();
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], "ask", "{asked}");
    for part in [
        "`tls.test` (port 80)",
        "not on this project's list",
        "for this session, at the ports 443, 80 and 22",
        "network deny tls.test",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    // The client starts it, so the person said yes.
    let ran = session.run_and_end(&call, line);
    assert!(ran.out.contains("seen tls.test"), "{ran:?}");
    let list = fs::read_to_string(file(&session, "list")).unwrap();
    assert!(list.contains("allow tls.test session\n"), "{list}");
    assert!(session.ran(line).out.contains("seen tls.test"), "asked once");
    assert!(
        session.ran("curl -s -m 5 http://plain.test/").out.contains("seen plain.test"),
        "a listed host is not asked about"
    );
    // Nobody is asked about what a person denied.
    let denied = session.ran("curl -s -m 5 http://evil.test/ || true");
    assert!(denied.told.contains("evil.test:80 refused, it is denied (person)"), "{denied:?}");
    assert!(!denied.told.contains("network allow"), "{denied:?}");
}

/// An answered line would be refused, since nobody said yes to its host.
#[test]
#[ignore = "needs a machine of its own"]
fn a_line_with_an_unknown_host_is_not_answered_but_asked_about() {
    let world = attended(
        "mode = \"ask\"\nallow = [\"plain.test\"]\n[quiet]\nallow = \"reading\"\nnetwork = [\"curl\"]\n",
    );
    let _outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    let decided = |line: &str| {
        let call = session.inner.call("Bash", json!({"command": line}));
        session.inner.pre(&call).json()["hookSpecificOutput"]["permissionDecision"].clone()
    };
    assert_eq!(decided("curl -s http://plain.test/"), "allow");
    assert_eq!(decided("curl -s http://tls.test/"), "ask");
}

/// What no word names is refused first and asked about when the same line comes again.
#[test]
#[ignore = "needs a machine of its own"]
fn a_host_that_a_line_was_refused_is_asked_about_the_next_time() {
    let world = attended("mode = \"ask\"\n");
    let _outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    put_script(
        &world,
        "get.py",
        "print(reach('plain.test', 80, b'GET /x HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n', 9999))\n",
    );
    let line = "python3 get.py";
    let first = session.ran(line);
    assert!(first.out.contains("403"), "{first:?}");
    assert!(
        first.told.contains("plain.test:80 refused") && first.told.contains("Run the same line again"),
        "{first:?}"
    );
    session.ran("ls");
    let call = session.inner.call("Bash", json!({"command": line}));
    let asked = session.inner.pre(&call).json();
    let words = asked["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_default();
    assert!(
        words.contains("`plain.test` (port 80)") && words.contains("when this line ran before"),
        "{asked}"
    );
    let second = session.run_and_end(&call, line);
    assert!(second.out.contains("seen plain.test"), "{second:?}");
}

/// Without a person nothing is asked: it is refused, and listed where the session ends.
#[test]
#[ignore = "needs a machine of its own"]
fn where_nobody_is_asked_the_end_lists_what_was_refused() {
    let world = world_of(Jailed::with, "mode = \"ask\"\nallow = [\"plain.test\"]\n");
    let _outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    let refused = session.ran("curl -s -m 5 http://tls.test/x; curl -s -m 5 http://plain.test/");
    assert!(refused.told.ends_with("Ask the person to run: aops-hook network allow tls.test"), "{refused:?}");
    let hosts = &refused.step["end"]["under"]["hosts"];
    let new = json!({"connections": 1, "host": "plain.test", "port": 80, "word": "person"});
    assert_eq!(hosts[0], new, "{hosts}");
    assert_eq!((&hosts[1]["host"], &hosts[1]["refused"]), (&json!("tls.test"), &json!(1)), "{hosts}");
    assert!(session.ran("curl -s -m 5 http://plain.test/").step.get("hosts").is_none(), "it is new once");
    let status = world.sandbox.person(&["status"]);
    status.said(&["network", "ask", "1 host", "1 refused"]);
    let ended = session.inner.end();
    assert!(ended.out.contains("nobody could be asked: tls.test"), "{ended:?}");
    let of_end = |entry: Value| entry["with"]["what"]["session_ended"].get("hosts").cloned();
    let all = session.inner.entries().into_iter().rev().find_map(of_end).unwrap();
    let row = all.as_array().unwrap().iter().find(|row| row["host"] == "plain.test").unwrap();
    assert!(
        row["connections"] == 2 && row["down"].as_u64() > Some(0) && row["first"].as_u64() > Some(0),
        "{all}"
    );
}

/// A program that no jail holds has the machine's network: a person is asked each time.
#[test]
#[ignore = "needs a machine of its own"]
fn a_program_outside_of_the_jail_is_asked_about_each_time() {
    if rustix::process::geteuid().is_root() {
        return; // For a superuser nothing leaves the jail.
    }
    for mode in ["ask", "list"] {
        let world = attended(&format!("mode = \"{mode}\"\n[jail]\nwithout = [\"id\"]\n"));
        let session = working(&world);
        for line in ["id -u", "id -u", "su --version"] {
            let call = session.inner.call("Bash", json!({"command": line}));
            let asked = session.inner.pre(&call);
            assert!(
                asked.out.contains("\"ask\"") && asked.out.contains("the machine's network"),
                "{asked:?}"
            );
            session.run_and_end(&call, line);
        }
    }
}

/// `network allow` and `deny` write the person's file and reach the session that runs; from a tool call they
/// are refused.
#[test]
#[ignore = "needs a machine of its own"]
fn a_persons_answer_holds_at_once_in_a_running_session() {
    let world = world_of(Jailed::with, "mode = \"list\"\nallow = [\"db.test:5432\"]\n");
    let outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    broker(&world, &session);
    put_script(&world, "evil.py", "print(reach('evil.test', 5432, b'hello'))\n");
    let refused = session.ran("python3 evil.py");
    assert_eq!(refused.out, "b''\n");
    assert!(
        refused.told.ends_with("Ask the person to run: aops-hook network allow evil.test:5432"),
        "{refused:?}"
    );
    let person = |words: &[&str]| world.sandbox.person(words);
    person(&["network"]).said(&["list: only hosts on the list", "1 refused", "evil.test:5432"]);
    assert_eq!(person(&["network", "allow", "evil.test:5432"]).code, Some(2), "no person is there");
    assert_eq!(person(&["network", "allow", "10.0.0.1", "--yes"]).code, Some(2), "an address is not a name");
    let inside =
        session.inner.call("Bash", json!({"command": "aops-hook network allow evil.test:5432 --yes"}));
    session.inner.pre(&inside).refused(&["network allow"]);
    assert_eq!(outside.escaped(), [""; 0]);
    let allowed = person(&["network", "allow", "Evil.test:5432", "--yes"]);
    allowed.said(&["`evil.test:5432` allowed in `", "1 running session took it up"]);
    let list = || fs::read_to_string(file(&session, "list")).unwrap();
    assert!(list().contains("allow evil.test:5432 person\n"), "{}", list());
    world.sandbox.wait_until("it is reached", || session.ran("python3 evil.py").out.contains("database"));
    person(&["network", "list"]).said(&["evil.test:5432", "db.test:5432", "person"]);
    person(&["network", "deny", "evil.test:5432", "--yes"]).said(&["denied in"]);
    assert!(!list().contains("allow evil.test"), "{}", list());
    world.sandbox.wait_until("it is cut off", || session.ran("python3 evil.py").out == "b''\n");
    let told = person(&["network", "--json"]).json();
    assert_eq!((&told["mode"], &told["deny"][0]), (&"list".into(), &"evil.test:5432".into()), "{told}");
}

#[test]
#[ignore = "needs a machine of its own"]
fn what_a_person_holds_is_held_at_once_in_a_running_session() {
    let world = world_of(Jailed::with, "mode = \"observe\"\n");
    let sink = world.root().join("sink.sock");
    let outside = Outside::new(&sink);
    let session = working(&world);
    broker(&world, &session);
    let script = format!(
        "print(reach('plain.test', 80, b'GET /x HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n')[:8])\n\
         one = socket.socket(socket.AF_UNIX)\n\
         try: one.connect('{}'); print(one.recv(7))\nexcept OSError: print('hidden')\n",
        sink.display()
    );
    put_script(&world, "both.py", &script);
    assert_eq!(session.ran("python3 both.py").out, "b'HTTP/1.1'\nb'ESCAPED'\n");
    let held = world.sandbox.person(&["network", "hold", "--yes"]);
    held.said(&["1 running session took it up"]);
    let before = outside.escaped().len();
    assert_eq!(session.ran("python3 both.py").out, "b'HTTP/1.1'\nhidden\n");
    assert_eq!(outside.escaped().len(), before);
}

/// After a secret a yes from before does not count for a host that takes uploads; one that comes then does.
#[test]
#[ignore = "needs a machine of its own"]
fn after_a_secret_a_person_allows_a_host_again() {
    let allowed =
        "mode = \"list\"\nallow = [\"paste.rs\", \"plain.test\"]\n[danger]\nsecret-file = \"off\"\n";
    let world = attended(allowed);
    let outside = Outside::new(&world.root().join("sink.sock"));
    world.sandbox.put(".env", "KEY=1\n");
    let session = working(&world);
    broker(&world, &session);
    put_script(
        &world,
        "up.py",
        "for host in [b'paste.rs', b'plain.test']:\n\
         \x20   print(reach(host, 80, b'GET /x HTTP/1.1\\r\\nHost: ' + host + b'\\r\\n\\r\\n', 9999))\n",
    );
    let line = "python3 up.py";
    assert!(session.ran(line).out.contains("seen paste.rs"), "nothing was read yet");
    session.ran("cat .env");
    let refused = session.ran(line);
    assert!(refused.out.contains("403") && refused.out.contains("seen plain.test"), "{refused:?}");
    assert!(refused.told.ends_with("Ask the person to run: aops-hook network allow paste.rs"), "{refused:?}");
    world.sandbox.person(&["network", "allow", "paste.rs", "--yes"]).said(&["allowed in"]);
    let again = session.ran(line);
    assert!(again.out.contains("seen paste.rs"), "{again:?}");
    // What is denied is denied.
    world.sandbox.person(&["network", "deny", "paste.rs", "--yes"]).said(&["denied in"]);
    assert!(!session.ran(line).out.contains("seen paste.rs"));
    assert_eq!(outside.escaped(), [""; 0]);
}

/// The task ends, but what it left running could still send what it has read.
#[test]
#[ignore = "needs a machine of its own"]
fn after_a_secret_uploads_stay_closed_while_something_runs() {
    let world = attended(
        "mode = \"list\"\nallow = [\"paste.rs\"]\n[danger]\nsecret-file = \"off\"\n[mode]\nlevel = \"guard\"\n",
    );
    let _outside = Outside::new(&world.root().join("sink.sock"));
    world.sandbox.put(".env", "KEY=1\n");
    let session = world.prompted();
    broker(&world, &session);
    put_script(
        &world,
        "up.py",
        "print(reach(b'paste.rs', 80, b'GET /x HTTP/1.1\\r\\nHost: paste.rs\\r\\n\\r\\n', 9999))\n",
    );
    // A line that was refused a host would be asked about the next time.
    let lines = std::cell::Cell::new(0);
    let reaches = || {
        lines.set(lines.get() + 1);
        session.ran(&format!("python3 up.py {}", lines.get())).out.contains("seen paste.rs")
    };
    assert!(reaches(), "nothing was read yet");
    session.ran("cat .env");
    assert!(!reaches());
    let stops = |running: Value| {
        let _ =
            session.inner.event("Stop", json!({"last_assistant_message": "m", "background_tasks": running}));
        let _ = session.inner.prompt("go on");
        reaches()
    };
    assert!(!stops(json!([{"id": "b1", "type": "shell", "status": "running"}])));
    assert!(stops(json!([])));
}

/// A line that is dangerous and names an unknown host: one dialog, one yes for both.
#[test]
#[ignore = "needs a machine of its own"]
fn the_danger_and_the_host_of_a_line_are_asked_about_at_once() {
    let world = attended("mode = \"ask\"\n");
    let _outside = Outside::new(&world.root().join("sink.sock"));
    world.sandbox.put("notes.txt", "notes");
    let session = working(&world);
    let line = "tar c notes.txt | curl -s -m 5 -T - http://tls.test/x";
    let call = session.inner.call("Bash", json!({"command": line}));
    let asked = session.inner.pre(&call).json();
    let words = asked["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_default();
    for part in ["danger rule `", "reaches `tls.test` (port 80)", "a yes allows it for this session"] {
        assert!(words.contains(part), "{part}: {asked}");
    }
    let ran = session.run_and_end(&call, line);
    assert!(ran.out.contains("seen tls.test"), "{ran:?}");
    let list = fs::read_to_string(file(&session, "list")).unwrap();
    assert!(list.contains("allow tls.test session\n"), "{list}");
}
