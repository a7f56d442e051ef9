//! What `docs/ci.md` and the files of `ci/` show works as it stands.

use super::shop::{SEEN, SESSION_ID, Shop, long, witness};
use crate::pages::{blocks, read};
use crate::support::BINARY;
use aops_attest::statement::{Builder, BuilderKind, Mode};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A pull request: `base` and an attested commit after it; the program and `ci/` as a job has them.
fn job() -> (Shop, String) {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    let folder = shop.sandbox.tmp().join("bin");
    fs::create_dir(&folder).unwrap();
    symlink(BINARY, folder.join("aops-hook")).unwrap();
    fs::write(shop.folder.join(".git/info/exclude"), "ci\nreports\nattest.*\n").unwrap();
    symlink(root().join("ci"), shop.folder.join("ci")).unwrap();
    let path = shop.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    (shop, format!("{}:{}", folder.display(), path.into_string().unwrap()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Runs a script as a step of a job: exit code, output, and what it wrote as the summary.
fn step(shop: &Shop, path: &str, script: &str, more: &[(&str, &str)]) -> (i32, String, String) {
    let summary = shop.sandbox.tmp().join("summary.md");
    let _ = fs::remove_file(&summary);
    let mut command = shop.sandbox.command("bash");
    let command =
        command.args(["-e", "-o", "pipefail", "-c", script]).env("PATH", path).current_dir(&shop.folder);
    let command = command.env("BASE", shop.git(&["rev-parse", "base"])).env("HEAD", shop.head());
    let command = command.env("HEAD_REPO", &shop.folder).env("GITHUB_STEP_SUMMARY", &summary);
    let output = command.envs(more.iter().copied()).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), said, fs::read_to_string(&summary).unwrap_or_default())
}

/// What a verifier of provenance compares.
#[test]
fn the_page_names_the_builder() {
    let page = read("docs/attest.md");
    let strict = Builder::of(BuilderKind::Session(Mode::Strict), "0.2.0").id;
    assert!(page.contains(&format!("`{strict}`")), "{strict}");
    for kind in Mode::ALL.map(BuilderKind::Session).into_iter().chain([BuilderKind::Run]) {
        let id = Builder::of(kind, "0.2.0").id;
        let name = id.rsplit('/').nth(1).unwrap();
        assert!(page.contains(&format!("`{name}`")) && id == strict.replace("strict", name), "{id}");
    }
}

/// Each script of the page, in its order.
#[test]
fn the_scripts_of_the_page_run() {
    let (shop, path) = job();
    shop.sandbox.configure("[mode]\nlevel = \"guard\"\n");
    let session = shop.sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("what is here?");
    let _ = session.stop("nothing");
    let page = read("docs/ci.md");
    let scripts = blocks(&page, "bash");
    assert_eq!(scripts.len(), 4, "{scripts:?}");
    for script in &scripts {
        let (code, said, _) = step(&shop, &path, script, &[]);
        assert_eq!(code, 0, "{script}\n{said}");
    }
    for file in [
        "reports/session.html", "reports/session.jsonl", "reports/insights.json", "attest.sarif",
        "attest.xml",
    ] {
        assert!(fs::metadata(shop.folder.join(file)).is_ok_and(|file| file.len() > 50), "{file}");
    }
}

/// The step of the page passes for an attested commit and fails for another.
#[test]
fn the_workflow_of_the_page_decides() {
    let (shop, path) = job();
    let yaml = blocks(&read("docs/ci.md"), "yaml").concat();
    let script = yaml.split_once("run: |\n").unwrap().1.split_once("  env:").unwrap().0.replace("120s", "1s");
    let (code, said, summary) = step(&shop, &path, &script, &[]);
    assert!(
        code == 0 && summary.starts_with("**Guarded: 1 of 1 commit, lowest level A2.**"),
        "{said}{summary}"
    );
    shop.put("b.txt", "by hand\n");
    shop.commit("by hand");
    let (code, said, summary) = step(&shop, &path, &script, &[]);
    assert!(code == 1 && summary.starts_with("**Guarded: 1 of 2 commits"), "{said}{summary}");
}

/// With the program, and without it.
#[test]
fn the_action_checks_a_pull_request() {
    let (shop, path) = job();
    let script = format!("bash {}/check.sh", root().join("ci").display());
    let summary = shop.sandbox.tmp().join("attest.md").display().to_string();
    let wishes = [("SUMMARY", summary.as_str()), ("REQUIRE", "A2"), ("WAIT", "1s")];
    let (code, said, shown) = step(&shop, &path, &script, &wishes);
    assert!(
        code == 0 && said.contains(" A2 claude-code") && shown.contains("**Guarded: 1 of 1"),
        "{said}{shown}"
    );
    let bare = path.split_once(':').unwrap().1;
    let (code, said, _) = step(&shop, bare, &script, &wishes);
    assert!(code == 0 && said.contains("is not installed") && said.contains(" A2 claude-code"), "{said}");
    let (code, said, _) = step(&shop, &path, &script, &[("PROGRAM", "file:///nowhere")]);
    assert!(code == 2 && said.contains("without its digest"), "{said}");
    let program = format!("file://{BINARY}");
    let (code, said, _) = step(&shop, bare, &script, &[("PROGRAM", &program), ("SHA256", &"0".repeat(64))]);
    assert!(code != 0 && !said.contains(" A2 "), "another program than the pinned one is not run: {said}");
    shop.put("b.txt", "by hand\n");
    shop.commit("by hand");
    let error = format!("::error title=attest::{} no attestation  (by hand)", &shop.head()[..9]);
    for path in [&path, bare] {
        let (code, said, _) = step(&shop, path, &script, &wishes);
        assert!(code == 1 && said.contains(&error), "{path}: {said}");
    }
}

/// What the Action's inputs name counts without the program too.
#[test]
fn the_action_without_the_program_takes_its_inputs() {
    let (shop, path) = job();
    let bare = path.split_once(':').unwrap().1;
    let script = format!("bash {}/check.sh", root().join("ci").display());
    let run = |more: &[(&str, &str)]| step(&shop, bare, &script, &[&[("WAIT", "1s")], more].concat());
    let (code, said, _) = run(&[("REQUIRE", "A1,tests")]);
    assert!(code == 0 && said.contains(" A2 claude-code"), "{said}");
    let (code, said, _) = run(&[("REQUIRE", "A1,witnessed")]);
    assert!(code == 1 && said.contains("not witnessed"), "{said}");
    assert_eq!(run(&[("REQUIRE", "A4")]).0, 2);
    shop.put("b.txt", "by hand\n");
    shop.commit("by hand");
    assert_eq!((run(&[]).0, run(&[("PEOPLE", "any")]).0), (1, 0));
    // The notes come while it waits: the repository that has them is named a little late.
    shop.git(&["reset", "-q", "--hard", "HEAD^"]);
    let note = shop.note_of("HEAD");
    let fork = shop.sandbox.tmp().join("fork.git");
    shop.git(&["clone", "-q", "--bare", ".", fork.to_str().unwrap()]);
    shop.git(&["push", "-q", fork.to_str().unwrap(), "refs/notes/aops-attest:refs/notes/later"]);
    shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
    // The second fetch finds them: the first one's end puts them there.
    let git = "git() { command git \"$@\"; local code=$?; if [[ $1 == fetch ]]; then command git -C \"$HEAD_REPO\" update-ref \
        refs/notes/aops-attest refs/notes/later; fi; return $code; }; export -f git; ";
    let script = format!("{git}{script}");
    let wishes = [("WAIT", "60s"), ("HEAD_REPO", fork.to_str().unwrap())];
    let (code, said, _) = step(&shop, bare, &script, &wishes);
    assert!(code == 0 && said.contains(" A2 claude-code"), "{said}");
    assert_eq!(shop.note_of("HEAD"), note);
}

/// A person approves with one command; the owner of the log's key cannot, and an agent's client is turned
/// away.
#[test]
fn a_person_approves_a_range() {
    let (shop, path) = job();
    let (row, key) = shop.person("grace");
    shop.git(&["checkout", "-q", "base"]);
    shop.put(".aops/signers", shop.list(&[row]));
    shop.commit("the list");
    shop.git(&["rebase", "-q", "base", "main"]);
    let eye = witness("witness.example", 9);
    let commit = shop.head();
    shop.add(&commit, &shop.statement(&commit, SESSION_ID), &[(&eye, SEEN)]);
    let eye = eye.public().to_string();
    let words = ["base..HEAD", "--signers", "base:.aops/signers", "--require", "A4", "--witness", &eye];
    assert_eq!(shop.run(&words).code, Some(1));
    let script = format!("bash ci/approve.sh base..HEAD {}", key.display());
    let (code, said, _) = step(&shop, &path, &script, &[("CLAUDECODE", "1")]);
    assert!(code == 2 && said.contains("an approval is a person's"), "{said}");
    let before = shop.note_of("HEAD");
    let (code, said, _) = step(&shop, &path, &script, &[]);
    assert!(code == 0 && said.contains("approved ") && shop.note_of("HEAD").starts_with(&before), "{said}");
    shop.run(&words).said(&[" A4 claude-code"]);
}

/// The request's own ref has the commits as they were pushed: a squash on the target branch is bound by them,
/// also where the base has one of them already, so that they cannot be made again from it.
#[test]
fn the_action_fetches_the_originals() {
    let (mut shop, path) = job();
    shop.attested("a.txt", long(&[(3, "three"), (20, "twenty")]));
    shop.git(&["update-ref", "refs/pull/7/head", "HEAD"]);
    shop.move_base("a.txt", &long(&[(3, "three"), (38, "moved")]));
    shop.squash();
    // The forge keeps no branch of the request.
    shop.git(&["branch", "-q", "-D", "main"]);
    let forge = format!("file://{}", shop.folder.display());
    let clone = shop.sandbox.tmp().join("checked");
    shop.git(&["clone", "-q", "--branch", "squashed", &forge, clone.to_str().unwrap()]);
    shop.folder = clone;
    shop.git(&["fetch", "-q", "origin", "base:base"]);
    let script = format!("bash {}/check.sh", root().join("ci").display());
    let wishes = [("REQUIRE", "A2"), ("WAIT", "1s"), ("HEAD_REPO", forge.as_str())];
    assert_eq!(step(&shop, &path, &script, &wishes).0, 1);
    let (code, said, _) =
        step(&shop, &path, &script, &[&wishes[..], &[("ORIGINALS", "refs/pull/7/head")]].concat());
    assert!(code == 0 && said.contains(" A2 claude-code"), "{said}");
    for (file, own) in [
        ("ci/action.yml", "refs/pull/${{"),
        ("ci/gitlab.yml", "refs/merge-requests/$CI_MERGE_REQUEST_IID/head"),
    ] {
        assert!(read(file).contains(&format!("ORIGINALS: {own}")), "{file}");
    }
}

/// The job of the template, as its runner would run it.
#[test]
fn the_template_for_gitlab_checks_a_merge_request() {
    let (shop, path) = job();
    let text = read("ci/gitlab.yml");
    let rest = text.split_once("  script:\n").unwrap().1;
    let items = rest.lines().take_while(|line| line.starts_with("    - "));
    let script = items.map(|line| line.trim_start_matches("    - ")).collect::<Vec<_>>().join("\n");
    let report = shop.folder.join("attest.xml").display().to_string();
    let run = |path: &str, more: &[(&str, &str)]| {
        step(&shop, path, &script, &[&[("REPORT", report.as_str()), ("WAIT", "1s")], more].concat())
    };
    let (code, said, _) = run(&path, &[("REQUIRE", "A2")]);
    assert_eq!(code, 0, "{said}");
    assert!(fs::read_to_string(&report).unwrap().contains("failures=\"0\""));
    let (code, _, _) = run(&path, &[("REQUIRE", "A3")]);
    assert!(code == 1 && fs::read_to_string(&report).unwrap().contains("type=\"WITNESS\""));
    // Without the program, and with a pinned one.
    let bare = path.split_once(':').unwrap().1;
    let (code, said, _) = run(bare, &[("REQUIRE", "A2,tests")]);
    assert!(code == 0 && said.contains("is not installed"), "{said}");
    assert_eq!(run(bare, &[("PROGRAM", &format!("file://{BINARY}"))]).0, 2);
    shop.put("b.txt", "by hand\n");
    shop.commit("by hand");
    for path in [&path, bare] {
        assert_eq!((run(path, &[]).0, run(path, &[("PEOPLE", "any")]).0), (1, 0));
    }
    let (code, _, _) = run(&path, &[("PEOPLE", "any"), ("WITNESSES", "no key")]);
    assert_eq!(code, 2, "what WITNESSES names is given to the program");
}

/// A session that was refused is not green, though it ended well; one that did its work is.
#[test]
fn the_gate_of_the_page_reads_refusals() {
    let gate = blocks(&read("docs/ci.md"), "bash")
        .into_iter()
        .find(|script| script.contains("case $outcome"))
        .unwrap();
    let judged = |mode: &str, line: &str, waits: bool| {
        let (shop, path) = job();
        shop.sandbox.configure("[mode]\nlevel = \"guard\"\n");
        let session = shop.sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt("publish it");
        let call = session.call("Bash", json!({"command": line}));
        let mut payload = session.payload("PreToolUse", call.fields());
        payload["permission_mode"] = json!(mode);
        let _ = shop.sandbox.hook("PreToolUse", &payload);
        if waits {
            // The client opens a dialog of its own, and nobody is there.
            let _ =
                session.event("PermissionRequest", json!({"tool_name": "Bash", "tool_input": call.input}));
        }
        let _ = session.stop("done");
        let (code, said, _) = step(&shop, &path, &gate, &[]);
        (code, said)
    };
    let (code, said) = judged("acceptEdits", "ls", false);
    assert!(code == 0 && said.contains("outcome: completed"), "{said}");
    let (code, said) = judged("dontAsk", "git push --force", false);
    assert!(code == 1 && said.contains("refused: 1"), "{said}");
    let (code, said) = judged("acceptEdits", "make deploy", true);
    assert!(code == 1 && said.contains("outcome: completed") && said.contains("not approved: 1"), "{said}");
}
