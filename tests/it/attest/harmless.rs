//! What is no tampering: what a hook leaves that was killed or found no place to write.

use super::{facts, head, idle, passes, statements, world};
use crate::proof::public_key;
use crate::support::{Answer, BINARY, Sandbox, Session};
use serde_json::{Value, json};

/// A file that the session writes, without a start of the session before; its end is recorded late.
fn written(sandbox: &Sandbox, session: &Session) {
    let path = sandbox.project().join("hello.txt");
    let call = session.call("Write", json!({"file_path": path, "content": "hello\n"}));
    let answer = session.pre(&call);
    assert!(answer.code == Some(0) && answer.out.contains("did not see this session start"), "{answer:#?}");
    sandbox.put("hello.txt", "hello\n");
    let mut fields = call.fields();
    fields["tool_response"] = json!({"content": "hello\n"});
    let payload = session.payload("PostToolUse", fields).to_string();
    let mut command = sandbox.command("bash");
    let script = "ulimit -n 4 && exec \"$0\" PostToolUse";
    command.args(["-c", script, BINARY]).envs(sandbox.inside_client()).write_stdin(payload);
    let answer = Answer::of("PostToolUse", &command.output().unwrap());
    assert!(format!("{}{}", answer.out, answer.err).contains("is kept"), "{answer:#?}");
}

fn committed(sandbox: &Sandbox, session: &Session) -> String {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "by hand"]);
    passes(&session.stop("done"));
    idle(sandbox);
    head(sandbox)
}

/// What the ledger holds of these.
fn kinds(session: &Session) -> Vec<Value> {
    let entries = session.entries();
    let violations = entries.iter().filter(|entry| entry["type"] == "violation");
    violations.map(|entry| entry["with"]["kind"].clone()).collect()
}

#[test]
fn what_a_killed_hook_leaves_is_no_tampering() {
    let sandbox = world();
    let session = sandbox.session();
    written(&sandbox, &session);
    let commit = committed(&sandbox, &session);
    assert_eq!(kinds(&session), ["unstarted", "late"], "{:#?}", session.entries());
    let found = statements(&sandbox, &commit, 1);
    let facts = facts(&found[0]);
    assert_eq!((facts.entries.from, facts.tampering), (1, 0), "both are in the span");
    let key = public_key(&sandbox).to_string();
    let words = ["verify-commit", "HEAD", "--key", &key, "--people", "none", "--require"];
    sandbox.person(&[&words[..], &["A1"]].concat()).said(&["A1"]);
    // A call that nobody was asked about is.
    let call = session.call("Write", json!({"file_path": sandbox.project().join("b.txt"), "content": "b\n"}));
    sandbox.put("b.txt", "b\n");
    let _ = session.post(&call);
    let second = committed(&sandbox, &session);
    assert!(super::facts(&statements(&sandbox, &second, 1)[0]).tampering > 0, "{:#?}", session.entries());
    assert_eq!(sandbox.person(&[&words[..], &["A1"]].concat()).code, Some(1));
}
