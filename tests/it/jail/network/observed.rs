//! From a mode that only notes to a list that holds. Run in a machine of its own, like `inside`.

use super::inside::{counts, file, hello, put_script, working, world_of};
use super::outside::Outside;
use crate::jail::world::Jailed;
use serde_json::json;
use std::fs;

const DAY_MS: i64 = 24 * 3600 * 1000;

/// A person is told of the hosts after a week, once; a yes holds commands to them, those at private addresses
/// too, and in a session that runs.
#[test]
#[ignore = "needs a machine of its own"]
fn after_a_week_what_was_seen_can_be_held() {
    let world = world_of(Jailed::attended, "mode = \"observe\"\n");
    let outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    assert!(world.sandbox.person(&["network", "hold", "--yes"]).out.contains("no session on this machine"));
    let tls = |name: &str| format!("print(reach('{name}', 443, bytes.fromhex('{}')))\n", hello(name));
    let database = "print(reach('127.0.0.1', 5432, b'hello'))\n";
    put_script(&world, "both.py", &format!("{}{}{database}", tls("tls.test"), tls("inner.test")));
    let own = "b'database 127.0.0.1 hello'\n";
    let both = format!("b'answered by 93.184.216.1:443'\nb'answered by 10.9.8.7:443'\n{own}");
    assert_eq!(session.ran("python3 both.py").out, both);
    world.sandbox.wait_until("they are noted", || counts(&session).rows().count() == 3);

    let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let start = |days: i64| {
        let at = (now + days * DAY_MS).to_string();
        let given = json!({
            "hook_event_name": "SessionStart", "session_id": format!("00000000-0000-4000-8000-{days:012}"),
            "cwd": world.project(), "transcript_path": "", "source": "startup",
        });
        let mut command = world.sandbox.command(crate::support::BINARY);
        command.arg("SessionStart").envs(world.sandbox.inside_client()).env("AOPS_TEST_NOW_MS", at);
        command.env("CLAUDE_CODE_SESSION_ATTENDED", "1").write_stdin(given.to_string());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let proposal = "in 1 session your commands reached 3 hosts; `aops-hook network hold` shows them";
    assert!(!start(1).contains("network hold"), "too early");
    let said = start(8);
    assert!(said.contains(proposal), "{said}");
    assert!(!start(9).contains("network hold"), "it was told yesterday");

    let person = |words: &[&str]| world.sandbox.person(words);
    assert_eq!(person(&["network", "hold"]).code, Some(2), "no person is there");
    let shown = person(&["network", "hold", "--yes"]);
    shown.said(&[
        "in 1 session your commands reached 3 hosts",
        "private address",
        "this machine",
        "no other",
    ]);
    let text = fs::read_to_string(world.sandbox.home().join(".config/aops/config.toml")).unwrap();
    for part in ["mode = \"list\"", "\"tls.test\"", "private = [\"inner.test\"]", "local = [5432]"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let list = fs::read_to_string(file(&session, "list")).unwrap();
    assert!(list.starts_with("mode list\n") && list.contains("allow inner.test person"), "{list}");
    put_script(&world, "evil.py", &format!("{}{database}{}", tls("inner.test"), tls("evil.test")));
    let denied = "b'\\x15\\x03\\x03\\x00\\x02\\x021'";
    assert_eq!(session.ran("python3 evil.py").out, format!("b'answered by 10.9.8.7:443'\n{own}{denied}\n"));
    assert!(!outside.escaped().iter().any(|one| one.contains("66")), "{:?}", outside.escaped());
}
