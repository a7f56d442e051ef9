//! Exported heads: what they prove, and what they cost when there are many.

use crate::faults::{LEDGER, STATE, passed};
use crate::support::{Answer, BINARY, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

/// Heads of sessions that ended long ago, as every release wrote them.
fn old_heads(sandbox: &Sandbox, many: usize) {
    let line = |n: usize| {
        format!(
            "{{\"blocked\":false,\"digest\":\"{n:064x}\",\"project\":\"-old-project\",\"sequence_number\":{},\"session_id\":\"00000000-0000-4000-8000-{n:012x}\",\"ts\":\"2026-01-13T10:00:00.123Z\"}}\n",
            n % 500 + 1
        )
    };
    fs::create_dir_all(sandbox.config().join("aops")).unwrap();
    fs::write(sandbox.config().join("aops/heads.jsonl"), (0..many).map(line).collect::<String>()).unwrap();
}

/// System calls, and bytes read and written, of some events of one kind.
#[derive(Debug, Default)]
struct Cost {
    calls: u64,
    bytes: u64,
}

impl Cost {
    fn add(&mut self, sandbox: &Sandbox, event: &str, payload: &Value) {
        let trace = sandbox.tmp().join("trace");
        let mut strace = sandbox.command("strace");
        strace.args(["-f", "-o", trace.to_str().unwrap(), BINARY, event]);
        let output = strace.write_stdin(payload.to_string()).output().expect("`strace` is needed");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let text = fs::read_to_string(&trace).unwrap();
        // A debug build asks before each close whether the file is open; the one that ships does not.
        for line in text.lines().filter(|line| line.contains('(') && !line.contains("F_GETFD")) {
            self.calls += 1;
            let call = line.split_once(' ').map_or("", |(_, call)| call.trim_start());
            if ["read(", "pread64(", "write(", "pwrite64("].iter().any(|name| call.starts_with(name)) {
                self.bytes += line.rsplit_once("= ").and_then(|(_, n)| n.parse::<u64>().ok()).unwrap_or(0);
            }
        }
    }

    fn is_flat(&self, other: &Self) -> bool {
        other.calls * 10 <= self.calls * 12 && other.bytes * 10 <= self.bytes * 12
    }
}

/// Ten prompts and ten stops of one session, after so many others.
fn costs(sessions: usize) -> [Cost; 2] {
    let sandbox = Sandbox::new();
    old_heads(&sandbox, sessions);
    let session = sandbox.session();
    // The first event after an update builds the index.
    passed(&session.start("startup"));
    passed(&session.prompt("go"));
    passed(&session.stop("done"));
    let (mut prompt, mut stop) = (Cost::default(), Cost::default());
    for _ in 0..10 {
        prompt.add(
            &sandbox,
            "UserPromptSubmit",
            &session.payload("UserPromptSubmit", json!({"prompt": "on"})),
        );
        let fields = json!({"stop_hook_active": false, "last_assistant_message": "done"});
        stop.add(&sandbox, "Stop", &session.payload("Stop", fields));
    }
    let heads = fs::read_to_string(sandbox.config().join("aops/heads.jsonl")).unwrap();
    assert!(heads.lines().count() >= sessions + 10, "no head was lost, and each stop exported one");
    let last: Value = serde_json::from_str(heads.lines().last().unwrap()).unwrap();
    assert_eq!(last["session_id"], session.id.as_str());
    [prompt, stop]
}

#[test]
fn a_prompt_and_a_stop_cost_the_same_after_100_000_sessions() {
    let (none, many) = (costs(0), costs(100_000));
    for (event, (none, many)) in ["a prompt", "a stop"].iter().zip(none.iter().zip(&many)) {
        assert!(none.calls > 100 && none.bytes > 1000, "the trace shows the events: {none:?}");
        assert!(none.is_flat(many), "{event}: {none:?} without other sessions, {many:?} after 100,000");
    }
}

/// A session among many others whose ledger was cut: the head proves it, with an index, an odd one and none.
#[test]
fn a_cut_ledger_is_noticed_among_many() {
    let sandbox = Sandbox::new();
    old_heads(&sandbox, 3000);
    let session = sandbox.session();
    passed(&session.start("startup"));
    let before = [LEDGER, STATE].map(|name| fs::read(session.folder().join(name)).unwrap());
    passed(&session.stop("done"));
    let index = sandbox.config().join("aops/heads.index");
    let good = fs::read(&index).unwrap();
    for (case, bytes) in
        [("as it is", good.clone()), ("garbage", vec![0x5a; good.len()]), ("empty", Vec::new())]
    {
        fs::write(&index, bytes).unwrap();
        for (name, bytes) in [LEDGER, STATE].iter().zip(&before) {
            fs::write(session.folder().join(name), bytes).unwrap();
        }
        let answer = session.prompt("go on");
        assert_eq!(answer.code, Some(2), "{case}: {answer:?}");
        answer.refused(&["STATE_RECOVERY_FAILED"]);
    }
    let kept = fs::read_to_string(sandbox.config().join("aops/heads.jsonl")).unwrap();
    assert!(kept.lines().count() > 3000, "no head was lost");
}

/// Two turns of a session: what each of them came to is exported.
fn two_turns(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    passed(&session.start("startup"));
    for prompt in ["go", "go on"] {
        passed(&session.prompt(prompt));
        passed(&session.stop("done"));
    }
    assert_eq!(sandbox.person(&["verify", &session.id]).code, Some(0));
    session
}

fn damaged(answer: &Answer, words: &[&str]) {
    assert!(
        answer.code == Some(4) && words.iter().all(|word| answer.out.contains(word)),
        "{words:?}: {answer:#?}"
    );
}

/// Without heads a cut tail would be invisible, so it is said that they are missing: all of them, or the
/// newest.
#[test]
fn removed_heads_are_noticed() {
    let sandbox = Sandbox::new();
    let session = two_turns(&sandbox);
    let heads = sandbox.config().join("aops/heads.jsonl");
    let text = fs::read_to_string(&heads).unwrap();
    let verify = || sandbox.person(&["verify", &session.id]);
    let missed = |words: &str| damaged(&verify(), &["damaged", "heads.jsonl", words, "--quarantine"]);
    fs::remove_file(&heads).unwrap();
    missed("holds none of this session");
    fs::write(&heads, "").unwrap();
    missed("holds none of this session");
    // A hook that is killed between its entry and its head leaves the last one out.
    let first = text.lines().next().unwrap().to_owned() + "\n";
    fs::write(&heads, &first).unwrap();
    assert_eq!(verify().code, Some(0), "{first}");
    passed(&session.prompt("and on"));
    passed(&session.stop("done"));
    fs::write(&heads, &first).unwrap();
    missed("ends at entry");
    // The session goes on, and its next head proves it again.
    passed(&session.prompt("once more"));
    passed(&session.stop("done"));
    assert_eq!(verify().code, Some(0));
}

/// A session whose folder is gone is named where nobody asks for it.
#[test]
fn sessions_known_only_by_their_heads_are_named() {
    let sandbox = Sandbox::new();
    let (gone, kept) = (two_turns(&sandbox), two_turns(&sandbox));
    sandbox.person(&["verify"]).said(&["intact", &kept.id]);
    fs::remove_dir_all(gone.folder()).unwrap();
    damaged(&sandbox.person(&["verify"]), &["intact", &kept.id, "lost:", &gone.id, "exported head"]);
    let said: Value = serde_json::from_str(&sandbox.person(&["verify", "--json"]).out).unwrap();
    assert_eq!((&said["ok"], &said["lost"]), (&json!(false), &json!([gone.id])), "{said}");
    sandbox.person(&["sessions"]).said(&[&gone.id, "lost: `aops-hook verify ID`"]);
    let listed = sandbox.person(&["sessions", "--json"]).json();
    let lost: Vec<&Value> = listed.as_array().unwrap().iter().filter(|row| row["lost"] == true).collect();
    assert_eq!((lost.len(), &lost[0]["session_id"]), (1, &json!(gone.id)), "{listed}");
    fs::remove_dir_all(kept.folder()).unwrap();
    damaged(&sandbox.person(&["verify"]), &["is missing, but entry"]);
}

/// Its folder is gone, its block is not: every refusal says so and names the way out, which works.
#[test]
fn a_block_whose_folder_is_gone_is_named() {
    let sandbox = Sandbox::new();
    let (gone, kept) = (two_turns(&sandbox), two_turns(&sandbox));
    sandbox.person(&["block", &gone.id, "--reason", "let me look"]).said(&["blocked"]);
    fs::remove_dir_all(gone.folder()).unwrap();
    let call = gone.call("Read", json!({"file_path": "/x"}));
    let way_out = format!("clear-block {}", gone.id);
    let words = ["is blocked (let me look)", way_out.as_str()];
    gone.pre(&call).refused(&words);
    gone.start("resume").warned(&words);
    let listed = sandbox.person(&["sessions", "--json"]).json();
    let row = |id: &str| listed.as_array().unwrap().iter().find(|row| row["session_id"] == id).unwrap();
    let keys = |id: &str| row(id).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&gone.id), keys(&kept.id));
    assert_eq!((&row(&gone.id)["phase"], &row(&gone.id)["outcome"]), (&json!("halted"), &json!("failure")));
    let clear = ["clear-block", &gone.id, "--yes"];
    sandbox.person(&clear).said(&["no longer blocked", "verify", "--quarantine"]);
    sandbox.person(&clear).said(&["was not blocked"]);
    // Nobody took the loss for granted: it is an alarm until a person begins a new ledger.
    damaged(&sandbox.person(&["verify", &gone.id]), &["ends at entry 0, but entry", "was acknowledged"]);
    damaged(&sandbox.person(&["verify"]), &["lost:", &gone.id]);
    damaged(&sandbox.person(&["verify", "--all"]), &[&gone.id]);
    gone.pre(&call).refused(&["ends at entry 0", "--quarantine"]);
    sandbox.person(&["verify", &gone.id, "--quarantine", "--yes"]).said(&["a new ledger has begun"]);
    let _ = gone.start("resume");
    gone.pre(&call).silent();
    sandbox.person(&["verify", &gone.id]).said(&["intact"]);
}

/// The folder that holds the session counts, whatever the client says of its transcript, and the mismatch is
/// recorded once.
#[test]
fn a_transcript_in_another_project_is_recorded() {
    let sandbox = Sandbox::new();
    let session = two_turns(&sandbox);
    let told = || session.entries().iter().filter(|entry| entry.to_string().contains("-some-other")).count();
    let other = sandbox.sessions().with_file_name("-some-other").join(format!("{}.jsonl", session.id));
    let call = session.call("Read", json!({"file_path": "/x", "content": "x"}));
    for (name, fields) in [("PreToolUse", call.fields()), ("SessionStart", json!({"source": "resume"}))] {
        let mut payload = session.payload(name, fields);
        payload["transcript_path"] = json!(other);
        passed(&sandbox.hook(name, &payload));
        assert_eq!(told(), 1, "{name}");
    }
    sandbox.person(&["log", &session.id]).said(&["project folder mismatch", "-some-other"]);
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}
