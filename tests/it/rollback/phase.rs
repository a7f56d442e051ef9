//! Checkpoints the loop takes by itself, and what its session learns of a rollback.

use super::{checkpoint, create, furnish, picture, roll_back, same, told, upset};
use crate::faults::passed;
use crate::support::{BINARY, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

fn ids(sandbox: &Sandbox) -> Vec<String> {
    let list = told(sandbox, &["list"]);
    let name = |row: &Value| row["id"].as_str().unwrap().split_once('/').unwrap().1.to_owned();
    list.as_array().unwrap().iter().map(name).collect()
}

fn write(session: &Session) {
    let call = session.call("Write", json!({"file_path": "x.txt", "content": "x"}));
    session.pre(&call).silent();
    passed(&session.post(&call));
}

fn quiet(sandbox: &Sandbox) {
    sandbox.configure("[audit]\nrate = 0\n");
}

#[test]
fn before_and_after_work() {
    let sandbox = Sandbox::new();
    quiet(&sandbox);
    furnish(&sandbox);
    let session = sandbox.session();
    passed(&session.start("startup"));
    assert_eq!(ids(&sandbox), [""; 0]);
    passed(&session.prompt(". do something"));
    assert_eq!(ids(&sandbox), ["PRE_execute_v1"]);
    let before = picture(&sandbox.project());
    upset(&sandbox);
    for _ in 0..3 {
        write(&session);
    }
    assert_eq!(ids(&sandbox).len(), 1, "a plain call takes none");
    passed(&session.stop("done"));
    assert_eq!(ids(&sandbox), ["PRE_execute_v1", "POST_execute_v1"]);
    passed(&session.prompt(". and something else"));
    assert_eq!(ids(&sandbox), ["PRE_execute_v1", "POST_execute_v1", "PRE_execute_v2"]);

    // The ledger says what each of them is.
    let facts: Vec<Value> =
        session.entries().into_iter().filter(|entry| entry["type"] == "checkpoint").collect();
    assert_eq!(facts.len(), 3);
    for fact in &facts {
        let one = told(&sandbox, &["show", fact["with"]["id"].as_str().unwrap()]);
        assert_eq!(one["digest"], fact["with"]["digest"]);
        assert_eq!(one["identity"]["session_id"], session.id.as_str());
        assert_eq!(one["agents"][0]["name"], "main");
    }
    let last = told(&sandbox, &["show", facts[1]["with"]["id"].as_str().unwrap()]);
    let calls = last["agents"][0]["tool_invocations"].as_array().unwrap();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(
        calls
            .iter()
            .all(|call| call["tool"] == "Write" && call["outcome"] == "COMPLETED" && call["id"].is_string())
    );
    assert_eq!(last["parent"], facts[0]["with"]["id"]);
    // The main agent's last words, and the time of the phase.
    assert_eq!(last["agents"][0]["summary"], "done");
    let first = told(&sandbox, &["show", facts[0]["with"]["id"].as_str().unwrap()]);
    assert_eq!(
        (&last["timing"]["started_at"], &first["timing"]["duration_ms"]),
        (&first["timing"]["created_at"], &json!(0))
    );
    let ms = |key: &str| aops_core::text::time::parse(last["timing"][key].as_str().unwrap()).unwrap();
    assert_eq!(last["timing"]["duration_ms"].as_i64(), Some(ms("created_at") - ms("started_at")));
    roll_back(&sandbox, &format!("{}/PRE_execute_v1", session.id));
    same(&before, &picture(&sandbox.project()), "before the work");
}

/// In mode `strict` the next prompt ends the work: the checkpoint of that is about its own task, not about
/// the prompt.
#[test]
fn the_end_of_a_task_is_told_by_its_own_prompt() {
    let sandbox = Sandbox::new();
    quiet(&sandbox);
    furnish(&sandbox);
    let session = sandbox.working();
    session.write("x.txt").silent();
    passed(&session.prompt("what does it do?"));
    let one = told(&sandbox, &["show", &format!("{}/POST_execute_v1", session.id)]);
    let intake = &one["orchestrator"]["intake_summary"];
    assert_eq!(
        (&intake["prompt"], &one["orchestrator"]["task"]),
        (&json!("add a greeting"), &json!("add a greeting"))
    );
    assert_eq!(
        (&one["orchestrator"]["current_phase"], &one["phase"]),
        (&json!("execute"), &json!("execute"))
    );
    checkpoint(&sandbox, &["verify"]).said(&["intact"]);
    passed(&session.end());
    // Without the loop in between a new task begins at once: each has its own words.
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt(". do something"));
    write(&session);
    passed(&session.prompt(". and something else"));
    let prompt = |id: &str| {
        let one = told(&sandbox, &["show", &format!("{}/{id}", session.id)]);
        (one["orchestrator"]["intake_summary"]["prompt"].clone(), one["orchestrator"]["task_number"].clone())
    };
    assert_eq!(prompt("POST_execute_v1"), (json!(". do something"), json!(1)));
    assert_eq!(prompt("PRE_execute_v2"), (json!(". and something else"), json!(2)));
}

#[test]
fn switched_off_nothing_is_taken() {
    let sandbox = Sandbox::new();
    sandbox.configure("[checkpoint]\ninteractive = \"off\"\n");
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt(". do something"));
    assert!(!sandbox.project().join(".claude").exists());
}

#[test]
fn a_running_session_is_told_once() {
    let sandbox = Sandbox::new();
    quiet(&sandbox);
    furnish(&sandbox);
    let (session, other) = (sandbox.session(), sandbox.session());
    for one in [&session, &other] {
        passed(&one.start("startup"));
    }
    passed(&session.prompt(". do something"));
    upset(&sandbox);
    write(&session);
    passed(&session.stop("done"));
    assert_eq!(session.state()["phase"], "done");
    let id = format!("{}/PRE_execute_v1", session.id);
    let archive = roll_back(&sandbox, &id);
    assert_eq!(session.state()["phase"], "execute", "the loop went back too");
    assert_eq!(other.state()["phase"], "idle", "another session's loop did not");
    let log = sandbox.person(&["log", &session.id]);
    assert!(log.out.contains(&format!("to {id} by a person, done")), "{log:?}");
    for one in [&session, &other] {
        let call = one.call("Read", json!({"file_path": "a.txt"}));
        let said = one.pre(&call);
        let context = said.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
        assert!(
            context.contains(&id) && context.contains(&archive) && context.contains("hint:"),
            "{context}"
        );
        one.post(&call).silent();
        one.pre(&one.call("Read", json!({"file_path": "a.txt"}))).silent();
    }
    checkpoint(&sandbox, &["verify"]).said(&["intact"]);
    sandbox.person(&["verify", &session.id]).said(&[""]);
}

#[test]
fn only_the_state_goes_back() {
    let sandbox = Sandbox::new();
    quiet(&sandbox);
    furnish(&sandbox);
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt(". do something"));
    upset(&sandbox);
    write(&session);
    passed(&session.stop("done"));
    let upset = picture(&sandbox.project());
    let said = told(&sandbox, &["rollback", "PRE_execute_v1", "--state-only", "--yes"]);
    assert_eq!((&said["archive"], session.state()["phase"].as_str()), (&Value::Null, Some("execute")));
    same(&upset, &picture(&sandbox.project()), "the files stay");
    assert_eq!(
        told(&sandbox, &["show", "PRE_execute_v2"])["parent"],
        format!("{}/PRE_execute_v1", session.id)
    );
}

/// `checkpoint.intervene`: work in which issues were found goes, our own configuration stays.
#[test]
fn the_policy_undoes_work_with_issues() {
    let sandbox = Sandbox::new();
    quiet(&sandbox);
    sandbox.configure("[audit]\nrate = 0\n[checkpoint]\nintervene = \"rollback\"\n");
    furnish(&sandbox);
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt("make it better"));
    let report = |kind: &str, block: Value| {
        let id = format!("a{}", session.entries().len());
        passed(&session.begin_agent(&id, kind));
        let words = format!("```aops\n{block}\n```");
        let fields = json!({"agent_id": id, "agent_type": kind, "last_assistant_message": words});
        session.event("SubagentStop", fields)
    };
    let plan = json!({"workflow": "minor-edit", "intent": "i", "task": "new", "acceptance_criteria": [], "steps": []});
    report("prompt-hydrator", plan).silent();
    let before = picture(&sandbox.project());
    upset(&sandbox);
    sandbox.put(".claude/settings.json", "{}\n");
    let worked = picture(&sandbox.project());
    write(&session);
    assert_eq!(session.stop("done").code, Some(2));
    let said = report("qa-verifier", json!({"verdict": "ISSUES", "issues": ["it is worse"]}));
    let words = said.json()["systemMessage"].as_str().unwrap().to_owned();
    assert!(words.contains("rolled back to") && words.contains("hint:"), "{words}");
    let mut now = picture(&sandbox.project());
    assert!(now.remove(&b".claude/settings.json"[..]).is_some(), "settings stay");
    same(&before, &now, "the work is gone");
    assert_eq!(session.state()["phase"], "execute");
    let told = session.pre(&session.call("Read", json!({"file_path": "a.txt"})));
    assert!(told.out.contains("the policy `checkpoint.intervene` rolled"), "{told:?}");
    // The advice brings it back.
    let advice = words.rsplit_once("rollback ").unwrap().1.trim_end_matches('`').to_owned();
    roll_back(&sandbox, &advice);
    same(&worked, &picture(&sandbox.project()), "the work is back");
}

/// A session whose checkpoint was edited together with its witness is still betrayed by its ledger.
#[test]
fn the_ledger_is_the_last_witness() {
    let sandbox = Sandbox::new();
    quiet(&sandbox);
    furnish(&sandbox);
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt(". do something"));
    let id = format!("{}/PRE_execute_v1", session.id);
    let file = sandbox.project().join(format!(".claude/checkpoints/run-{}/PRE_execute_v1.json", session.id));
    let mut forged: aops_core::checkpoint::form::Checkpoint =
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let old = forged.digest.clone().unwrap();
    forged.artifacts.files.remove(0);
    let (forged, text) = aops_core::checkpoint::form::text::seal(forged, None);
    fs::write(&file, text.pieces().concat()).unwrap();
    let witness =
        fs::read_dir(sandbox.config().join("aops/checkpoints")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&witness).unwrap().replace(&old, forged.digest.as_ref().unwrap());
    fs::write(&witness, text).unwrap();
    let was = picture(&sandbox.project());
    checkpoint(&sandbox, &["rollback", &id, "--yes"]).failed(4, &["STATE_CHECKSUM_MISMATCH", "ledger"]);
    assert_eq!(checkpoint(&sandbox, &["verify"]).code, Some(4));
    same(&was, &picture(&sandbox.project()), "refused");
}

/// What did not change is not read: at most a handful of files of two thousand are opened.
/// Contents are kept under their SHA-256, equal ones once for all checkpoints.
#[test]
fn contents_are_named_by_their_digest() {
    let sandbox = Sandbox::new();
    for name in ["a.txt", "b.txt"] {
        sandbox.put(name, "the same\n");
    }
    create(&sandbox);
    let blobs = sandbox.project().join(".claude/checkpoints/blobs");
    let kept = || -> Vec<String> {
        let folders = fs::read_dir(&blobs).unwrap().map(|folder| folder.unwrap().path());
        let of = |folder: std::path::PathBuf| {
            let start = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let files =
                fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            files.map(|name| format!("{start}{name}")).collect::<Vec<_>>()
        };
        let mut all: Vec<String> = folders.flat_map(of).collect();
        all.sort();
        all
    };
    let digest = |text: &str| aops_core::text::sha256::sha256(&[text.as_bytes()]);
    assert_eq!(kept(), [digest("the same\n")]);
    sandbox.put("b.txt", "another\n");
    create(&sandbox);
    let mut both = [digest("the same\n"), digest("another\n")];
    both.sort();
    assert_eq!(kept(), both);
}

#[test]
fn what_did_not_change_is_not_read() {
    let sandbox = Sandbox::new();
    quiet(&sandbox);
    for n in 0..2000 {
        sandbox.put(&format!("many/{}/{n}.txt", n % 40), &format!("file {n}\n"));
    }
    create(&sandbox);
    // A file that changed within 50 ms of the file system's clock is read again.
    let (last, clock) = (sandbox.project().join("many/39/1999.txt"), sandbox.tmp().join("clock"));
    let modified = |path: &std::path::Path| fs::metadata(path).unwrap().modified().unwrap();
    let settled = modified(&last) + std::time::Duration::from_millis(60);
    while fs::write(&clock, "").is_ok() && modified(&clock) < settled {}
    create(&sandbox);
    let session = sandbox.session();
    passed(&session.start("startup"));
    sandbox.put("many/7/7.txt", "changed\n");
    let trace = sandbox.tmp().join("trace");
    let payload = session.payload("UserPromptSubmit", json!({"prompt": ". work"}));
    let mut strace = sandbox.command("strace");
    strace
        .args(["-f", "-e", "trace=openat,openat2,open", "-o"])
        .arg(&trace)
        .args([BINARY, "UserPromptSubmit"]);
    let output = strace.write_stdin(payload.to_string()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(&trace).unwrap();
    let opened: Vec<&str> = text.lines().filter(|line| line.contains(".txt\"")).collect();
    assert!(opened.len() == 1 && opened[0].contains("7/7.txt"), "{opened:?}");
    assert_eq!(ids(&sandbox).len(), 3);
}
