//! A damaged ledger looks healthy nowhere.

use super::{keys, log, session, world};
use serde_json::Value;
use std::fs;

#[test]
fn damage_is_shown_wherever_a_session_is() {
    let sandbox = world();
    let one = session(&sandbox);
    sandbox.person(&["status", &one.id]).said(&["mode"]);
    assert!(!sandbox.person(&["status", &one.id]).out.contains("damaged"));
    assert!(!sandbox.person(&["sessions"]).out.contains("damaged"));
    assert_eq!(sandbox.person(&["sessions", "--json"]).json()[0]["damage"], Value::Null);
    assert_eq!(sandbox.person(&["report", "--json"]).json()["damaged"], 0);
    assert!(!sandbox.person(&["insights", &one.id]).out.contains("damaged"));
    assert!(sandbox.person(&["doctor"]).out.contains("1 ledger intact"));

    let ledger = one.folder().join("ledger.jsonl");
    let good = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, good.replacen("go on", "go of", 1)).unwrap();
    sandbox.person(&["status", &one.id]).said(&["damaged", "STATE_CHECKSUM_MISMATCH"]);
    assert!(sandbox.person(&["status", &one.id, "--json"]).json()["damage"].is_string());
    sandbox.person(&["sessions"]).said(&["damaged: `aops-hook verify`"]);
    assert!(sandbox.person(&["sessions", "--json"]).json()[0]["damage"].is_string());
    assert_eq!(sandbox.person(&["report", "--json"]).json()["damaged"], 1);
    let page = sandbox.tmp().join("page.html");
    sandbox.person(&["report", "-o", page.to_str().unwrap()]).said(&["wrote"]);
    assert!(fs::read_to_string(&page).unwrap().contains("1 damaged ledger"));
    let insights = sandbox.person(&["insights", &one.id]);
    assert!(insights.code == Some(4) && insights.err.contains("STATE_CHECKSUM_MISMATCH"), "{insights:?}");
    for arguments in [&["log", &one.id][..], &["log", &one.id, "--json"]] {
        let shown = sandbox.person(arguments);
        assert!(shown.out.contains("go of") && shown.code == Some(4), "{shown:?}");
        assert!(shown.err.contains("STATE_CHECKSUM_MISMATCH"), "{shown:?}");
    }
    let doctor = sandbox.person(&["doctor"]);
    assert!(doctor.code == Some(4) && doctor.out.contains("is damaged"), "{doctor:?}");
    fs::write(&ledger, good).unwrap();

    // The log itself.
    let leaves = log(&sandbox).join("leaves");
    let good = fs::read(&leaves).unwrap();
    fs::write(&leaves, &good[..good.len() - 32]).unwrap();
    sandbox.person(&["status", &one.id]).said(&["log", "damaged: the log has"]);
    let doctor = sandbox.person(&["doctor"]);
    assert!(
        doctor.code == Some(4) && doctor.out.contains("the log over all sessions is damaged"),
        "{doctor:?}"
    );
    fs::write(&leaves, good).unwrap();
    assert!(keys(&sandbox).exists());
    assert!(sandbox.person(&["doctor"]).out.contains("1 ledger intact"));
}
