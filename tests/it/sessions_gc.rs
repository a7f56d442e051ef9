//! `sessions gc`: what is old and over goes, with the checkpoints that only it used, and nothing else.

use crate::rollback::told;
use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox, Session, client_pid};
use serde_json::{Value, json};
use std::fs;

/// No process has this id.
const NOBODY: u32 = 2_147_483_646;

/// `sessions gc`, a hundred days from now.
fn later(sandbox: &Sandbox, more: &[&str]) -> Answer {
    let then = (aops_core::system::env::now_ms() + 100 * 86_400_000).to_string();
    let mut command = sandbox.command(BINARY);
    let line =
        command.args(["sessions", "gc", "--older-than", "90d"]).args(more).env("AOPS_TEST_NOW_MS", then);
    Answer::of("", &line.output().unwrap())
}

fn world() -> Sandbox {
    let sandbox = Sandbox::repository("0").of_client(NOBODY);
    sandbox.configure(&format!("mode.level = \"guard\"\n{NO_TRACKER}"));
    sandbox
}

/// A session that changed a file and has ended.
fn over<'a>(sandbox: &'a Sandbox, name: &str) -> Session<'a> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    assert_eq!(session.write(name).code, Some(0));
    assert_eq!(session.stop("Done.").code, Some(0));
    let _ = session.end();
    session
}

fn ids(of: &Value) -> Vec<String> {
    of.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[test]
fn only_old_sessions_that_are_over_are_removed() {
    let sandbox = world();
    let gone = over(&sandbox, "a.txt");
    let blocked = over(&sandbox, "b.txt");
    sandbox.person(&["block", &blocked.id, "--reason", "let me look"]).said(&["blocked"]);
    let open = sandbox.session();
    let _ = open.start("startup");
    let _ = open.prompt("add one more");
    assert_eq!(open.write("c.txt").code, Some(0));
    let damaged = over(&sandbox, "d.txt");
    let ledger = damaged.folder().join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, text.replacen("add a greeting", "add a grudging", 1)).unwrap();
    let before = sandbox.files();

    sandbox.person(&["sessions", "gc", "--yes"]).failed(2, &["--older-than"]);
    sandbox.inside(&["sessions", "gc", "--older-than", "90d", "--yes"]).failed(2, &["person"]);
    later(&sandbox, &[]).failed(2, &["terminal", "--yes"]);
    let young = sandbox.person(&["sessions", "gc", "--older-than", "90d", "--yes", "--json"]).json();
    assert_eq!((ids(&young["removed"]).len(), &young["kept"]), (0, &json!(4)), "{young}");
    let dry = later(&sandbox, &["--dry-run", "--json"]).json();
    assert_eq!(ids(&dry["removed"]), [gone.id.as_str()], "{dry}");
    assert_eq!(sandbox.files(), before, "looking changes nothing");

    let said = later(&sandbox, &["--yes"]);
    let why = [
        format!("kept {}: blocked", blocked.id),
        format!("kept {}: its task is not done", open.id),
        format!("kept {}: damaged: STATE_CHECKSUM_MISMATCH", damaged.id),
        format!("removed {}", gone.id),
    ];
    said.said(&[&why[0], &why[1], &why[2], &why[3], "removed 1 of 4 sessions"]);
    assert!(blocked.folder().exists() && open.folder().exists() && damaged.folder().exists());
    let listed = sandbox.person(&["sessions", "--json"]).json();
    assert!(!listed.to_string().contains(&gone.id) && listed.as_array().unwrap().len() == 3, "{listed}");
    let insights = fs::read_dir(sandbox.data().join("sessions/insights")).unwrap().count();
    assert!(insights >= 1, "what the session came to stays");
}

/// Its absence is recorded, so nobody takes it for tampering; and the session may begin anew.
#[test]
fn a_removed_session_is_told_from_a_lost_one() {
    let sandbox = world();
    let (gone, lost) = (over(&sandbox, "a.txt"), over(&sandbox, "b.txt"));
    fs::remove_dir_all(lost.folder()).unwrap();
    later(&sandbox, &["--yes"]).said(&[&format!("removed {}", gone.id), "removed 1 of 1 session,"]);
    let found = sandbox.person(&["verify", &lost.id]);
    assert!(found.code == Some(4) && found.out.contains("the ledger is missing"), "{found:?}");
    sandbox.person(&["verify", &gone.id]).failed(2, &["removed by a person with `sessions gc`"]);
    let heads = fs::read_to_string(sandbox.config().join("aops/heads.jsonl")).unwrap();
    assert!(heads.contains("removed by a person with `sessions gc`; entry "), "{heads}");
    let _ = lost.start("resume");
    lost.prompt("go on").refused(&["STATE_RECOVERY_FAILED"]);
    let _ = gone.start("resume");
    assert_eq!(gone.prompt("go on").code, Some(0), "it begins anew");
    sandbox.person(&["verify", &gone.id]).said(&["intact:"]);
}

#[test]
fn checkpoints_that_only_it_used_go_with_it() {
    let sandbox = world();
    let gone = over(&sandbox, "a.txt");
    let by_hand = told(&sandbox, &["create"])["id"].as_str().unwrap().to_owned();
    sandbox.put("e.txt", "of the second session\n");
    let kept = over(&sandbox, "b.txt");
    sandbox.person(&["block", &kept.id, "--reason", "let me look"]).said(&["blocked"]);
    let of = |session: &Session| {
        let all = told(&sandbox, &["list"]);
        all.as_array()
            .unwrap()
            .iter()
            .filter(|row| row["id"].as_str().unwrap().starts_with(&session.id))
            .count()
    };
    assert!(of(&gone) > 0 && of(&kept) > 0, "{}", told(&sandbox, &["list"]));
    let said = later(&sandbox, &["--yes", "--json"]).json();
    assert!(said["checkpoints"].as_u64() > Some(0) && of(&gone) < of(&kept), "{said}");
    let left = told(&sandbox, &["list"]).to_string();
    assert!(left.contains(&by_hand) && left.contains(&kept.id), "{left}");
    assert_eq!(told(&sandbox, &["verify"])["ok"], true, "every content that is needed is there");
}

#[test]
fn a_session_whose_client_is_alive_stays() {
    let sandbox = world().of_client(client_pid());
    let alive = over(&sandbox, "a.txt");
    later(&sandbox, &["--yes"])
        .said(&[&format!("kept {}: its client is alive", alive.id), "removed 0 of 1 session,"]);
    assert!(alive.folder().exists());
}
