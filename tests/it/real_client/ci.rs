//! What `docs/ci.md` shows, in the real client: the job's install, its `claude -p`, and the gate after it.

use super::whole_loop::bash;
use crate::client::{client_variables, install};
use crate::model::{Model, Turn};
use crate::pages::{blocks, read, split};
use crate::support::{Answer, BINARY, Sandbox};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

/// A job of the page: this is what the model does in it. What the gate says.
fn judged(sandbox: &Sandbox, done: Turn) -> (i32, String) {
    let page = read("docs/ci.md");
    let console = blocks(&page, "console").concat();
    let installing = console.lines().find_map(|line| line.strip_prefix("$ aops-hook install")).unwrap();
    let words = split(installing);
    let words: Vec<&str> = ["install"].into_iter().chain(words.iter().map(String::as_str)).collect();
    sandbox.person(&words).said(&["registered"]);
    let bin = sandbox.tmp().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(install::program(), bin.join("claude")).unwrap();
    symlink(BINARY, bin.join("aops-hook")).unwrap();
    let others = sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    let path = format!("{}:{}", bin.display(), others.into_string().unwrap());
    let model = Model::new([done, Turn::text("All done.")]);
    let run = |script: &str| {
        let mut command = sandbox.command("bash");
        command.args(["-e", "-o", "pipefail", "-c", script]).envs(client_variables(&model));
        Answer::of("", &command.env("PATH", &path).current_dir(sandbox.project()).output().unwrap())
    };
    let starting = blocks(&page, "sh").into_iter().find(|script| script.contains("claude -p")).unwrap();
    let ran = run(&starting);
    assert!(ran.code == Some(0) && ran.out.contains("All done."), "{ran:#?}");
    assert_eq!(model.astray(), [""; 0], "{ran:#?}");
    let gate = blocks(&page, "bash").into_iter().find(|script| script.contains("case $outcome")).unwrap();
    let said = run(&gate);
    (said.code.unwrap(), format!("{}{}", said.out, said.err))
}

#[test]
fn a_job_that_did_its_work_is_green() {
    let sandbox = Sandbox::repository("0");
    let file = sandbox.project().join("CHANGELOG.md");
    let write = Turn::call("Write", json!({"file_path": file, "content": "# Changes\n"}));
    let (code, said) = judged(&sandbox, write);
    assert!(code == 0 && said.contains("outcome: completed"), "{said}");
    assert_eq!(fs::read_to_string(file).unwrap(), "# Changes\n");
}

/// The client ends well all the same.
#[test]
fn a_job_that_was_refused_is_not_green() {
    let sandbox = Sandbox::repository("0");
    let before = sandbox.git(&["ls-remote", "origin"]);
    let (code, said) = judged(&sandbox, bash("git push --force origin HEAD~0:main"));
    assert!(code == 1 && said.contains("refused: 1"), "{said}");
    assert_eq!(sandbox.git(&["ls-remote", "origin"]), before);
}

/// Nobody is there to say yes: the client refuses by itself.
#[test]
fn a_job_that_waited_for_an_approval_is_not_green() {
    let sandbox = Sandbox::repository("0");
    sandbox.put("Makefile", "deploy:\n\ttouch deployed\n");
    let (code, said) = judged(&sandbox, bash("make deploy"));
    assert!(code == 1 && said.contains("not approved: 1"), "{said}");
    assert!(!sandbox.project().join("deployed").exists());
}
