//! A pull request: a session of the real client commits and pushes; elsewhere, with nothing but the public
//! key, it is checked.

use super::agents::{plan, reflection, review, start};
use super::whole_loop::bash;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::proof::public_key;
use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox};
use serde_json::json;
use std::fs;
use std::path::Path;

/// What `verify-commit` says in another home, of the newest commit of this clone.
fn checked(elsewhere: &Sandbox, clone: &Path, key: &str) -> Answer {
    let mut command = elsewhere.command(BINARY);
    let words = ["verify-commit", "HEAD~1..HEAD", "--key", key, "--require", "A2", "--tests=here"];
    Answer::of("", &command.args(words).current_dir(clone).output().unwrap())
}

#[test]
fn a_pull_request_is_green_elsewhere_and_red_with_one_byte_changed() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(&format!("witness.attest = \"notes\"\nevidence.test = \"sh check.sh\"\n{NO_TRACKER}"));
    sandbox.person(&["key", "init"]).said(&["made the key of log"]);
    let key = public_key(&sandbox).to_string();
    let check = json!({"file_path": sandbox.project().join("check.sh"), "content": "exit 0\n"});
    let model = Model::new([
        start("prompt-hydrator"),
        start("critic"),
        Turn::call("Write", check),
        bash("sh check.sh"),
        start("qa-verifier"),
        start("framework"),
        bash("git add -A && git commit -q -m check"),
        bash("git push -q"),
        Turn::text("All done."),
    ])
    .reporting("prompt-hydrator", &plan("feature-dev"))
    .reporting("critic", &review("PROCEED"))
    .reporting("qa-verifier", &json!({"verdict": "VERIFIED"}))
    .reporting("framework", &reflection());
    Client::guarded(&sandbox, &model).run("add a check").ended("All done.");
    let remote = sandbox.tmp().join("remote.git");
    let remote = remote.to_str().unwrap();
    let there = || sandbox.git(&["ls-remote", remote]).contains("refs/notes/aops-attest");
    sandbox.wait_until("the notes are pushed", there);
    let busy = || sandbox.alive().iter().any(|(_, line)| line.contains("__attest"));
    sandbox.wait_until("nobody attests", || !busy());

    let elsewhere = Sandbox::new();
    let clone = elsewhere.tmp().join("clone");
    let git = |words: &[&str]| {
        let output = elsewhere.command("git").args(words).current_dir(&clone).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    };
    fs::create_dir(&clone).unwrap();
    git(&["clone", "-q", remote, "."]);
    git(&["fetch", "-q", "origin", "refs/notes/aops-attest:refs/notes/aops-attest"]);
    checked(&elsewhere, &clone, &key).said(&[" A2 claude-code 2.1.325, "]);
    fs::write(clone.join("check.sh"), "exit 1\n").unwrap();
    git(&[
        "-c",
        "user.name=o",
        "-c",
        "user.email=o@example.invalid",
        "commit",
        "-q",
        "-a",
        "--amend",
        "-m",
        "check",
    ]);
    let red = checked(&elsewhere, &clone, &key);
    assert!(red.code == Some(1) && red.out.contains(" NONE no attestation"), "{red:#?}");
}
