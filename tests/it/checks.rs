//! `[[check]]`: run before a prompt, a first change, a save, a commit and a stop; each refusal met, its own
//! advice followed, and the way is open.

use crate::support::{Answer, BINARY, Sandbox, Session};
use serde_json::json;
use std::fs;
use std::process::{Command, Stdio};

/// A world whose user has these checks, and a session that may write.
fn checked(config: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(&format!("[audit]\nrate = 0.0\n{config}"));
    sandbox
}

fn working(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    session.hydrate("minor-edit", "new");
    session
}

fn save(sandbox: &Sandbox, session: &Session, name: &str, content: &str) -> Answer {
    let file = sandbox.project().join(name);
    session.pre(&session.call("Write", json!({"file_path": file, "content": content})))
}

fn line(session: &Session, line: &str) -> Answer {
    session.pre(&session.call("Bash", json!({"command": line})))
}

fn runs(session: &Session) -> Vec<(String, String)> {
    let entries = session.entries();
    let checks = entries.iter().filter(|entry| entry["type"] == "check");
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    checks.map(|entry| (text(&entry["with"]["outcome"]), text(&entry["with"]["ending"]))).collect()
}

#[test]
fn a_save_is_judged_by_what_would_be_saved() {
    let sandbox = checked(
        "[[check]]\nid = \"no-todo\"\non = \"save\"\npaths = \"*.txt\"\nrun = 'if grep TODO; then echo \"in $AOPS_PATH\"; exit 3; fi'\n",
    );
    let session = working(&sandbox);
    let said = save(&sandbox, &session, "a.txt", "one\nTODO two\n");
    said.refused(&["check `no-todo` failed (exit 3)", "> TODO two", "a.txt", "hint: repair what it reports"]);
    // Its advice: save it repaired. Files it is not about are not asked about.
    session.write("a.txt").silent();
    save(&sandbox, &session, "a.rs", "TODO").silent();
    sandbox.put("b.txt", "one two one\n");
    let edit = |old: &str, new: &str, all: bool| {
        let file = sandbox.project().join("b.txt");
        let input = json!({"file_path": file, "old_string": old, "new_string": new, "replace_all": all});
        session.pre(&session.call("Edit", input))
    };
    edit("two", "TODO", false).refused(&["no-todo"]);
    edit("one", "TODO", true).refused(&["no-todo"]);
    edit("two", "three", false).silent();
    let edits = json!([{"old_string": "two", "new_string": "2"}, {"old_string": "2", "new_string": "TODO"}]);
    let input = json!({"file_path": sandbox.project().join("b.txt"), "edits": edits});
    session.pre(&session.call("MultiEdit", input)).refused(&["> one TODO one"]);
    assert_eq!(runs(&session)[0], ("INTERVENTION_REQUIRED".to_owned(), "exit 3".to_owned()));
    assert_eq!(session.state()["phase"], "intervene");
}

/// A check of the whole tree: what it complains of is repaired by a command, which is no save.
#[test]
fn a_save_that_waits_for_the_tree_leaves_the_shell_open() {
    let sandbox =
        checked("[[check]]\nid = \"tree\"\non = \"save\"\nrun = \"test -e ok || { echo no ok; exit 1; }\"\n");
    let session = working(&sandbox);
    session.write("a.txt").refused(&["> no ok", "by a shell command"]);
    session.bash("touch ok");
    session.write("a.txt").silent();
}

#[test]
fn a_commit_waits_for_its_check() {
    let sandbox = checked(
        "[[check]]\nid = \"lint\"\non = \"commit\"\npaths = \"*.txt\"\nrun = \"sh lint.sh\"\noutcome = \"INTERVENTION_REQUIRED\"\n",
    );
    sandbox.put(
        "lint.sh",
        "seq 100; echo 'key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789' >&2; exit 1\n",
    );
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "lint"]);
    let session = working(&sandbox);
    // Nothing it is about has changed.
    line(&session, "git commit -m x --allow-empty").silent();
    session.write("a.txt").silent();
    for commit in
        ["git commit -m x", "git -C . -c user.name=t commit -m x", "true && sh -c 'git commit -m x'"]
    {
        let said = line(&session, commit);
        said.refused(&[
            "check `lint` failed (exit 1)",
            "guards this commit",
            "> 100\n",
            "hint: run `sh lint.sh`",
        ]);
        assert!(said.err.len() < 1000 && !said.err.contains("> 50\n"), "only its end: {}", said.err);
        assert!(!said.err.contains("abcdefghijkl"), "a secret: {}", said.err);
    }
    line(&session, "git log --grep commit").silent();
    // Its advice: repair, then try again.
    sandbox.put("lint.sh", "exit 0\n");
    line(&session, "git commit -m x").silent();
    assert!(runs(&session).contains(&("PASS".to_owned(), "exit 0".to_owned())));
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

const READY: &str = "id = \"ready\"\nrun = \"echo no ok; test -e ok\"\n";

/// Before a model runs: what the agent can repair it is told; what is the person's keeps the prompt back.
#[test]
fn a_prompt_waits_for_its_check() {
    for outcome in ["ASK_USER", "HALT"] {
        let sandbox = checked(&format!("[[check]]\n{READY}on = \"prompt\"\noutcome = \"{outcome}\"\n"));
        let session = sandbox.session();
        let _ = session.start("startup");
        let said = session.prompt("make hello.txt");
        said.refused(&[
            "check `ready` failed (exit 1)",
            "this prompt was not sent",
            "> no ok",
            "begins with `.`",
        ]);
        assert_eq!(runs(&session), [(outcome.to_owned(), "exit 1".to_owned())]);
        assert_eq!(session.state()["state"]["hydration_pending"], false, "the model never saw it");
        // Its advice, both ways; what is not a person's prompt goes without.
        let _ = session.event("UserPromptSubmit", json!({"prompt": "<task-notification>done"}));
        session.prompt(". make hello.txt").silent();
        session.write("a.txt").silent();
        assert_eq!(runs(&session).len(), 1);
        sandbox.put("ok", "");
        session.prompt("make hello.txt").said(&["prompt-hydrator"]);
        assert_eq!(runs(&session)[1], ("PASS".to_owned(), "exit 0".to_owned()));
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
    let sandbox = checked(&format!("[[check]]\n{READY}on = \"prompt\"\n"));
    let session = sandbox.session();
    let _ = session.start("startup");
    let said = session.prompt("make hello.txt");
    said.said(&["Before this prompt the check `ready` failed (exit 1).", "> no ok", "prompt-hydrator"]);
    sandbox.person(&["waive", "checks", "--for", "10m", "--reason", "later", "--yes"]).said(&["checks"]);
    let said = session.prompt("make hello.txt");
    assert!(!said.out.contains("ready"), "{said:?}");
}

/// Before the sandbox is left: once in a task, at its first change.
#[test]
fn the_first_change_of_a_task_waits_for_its_check() {
    let check = format!("[[check]]\n{READY}on = \"sandbox\"\n");
    let sandbox = checked(&check);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    session.write("a.txt").refused(&["prompt-hydrator"]);
    line(&session, "cat README.md").silent();
    assert_eq!(runs(&session), [], "nothing leaves the sandbox yet");
    session.hydrate("minor-edit", "new");
    line(&session, "cat README.md").silent();
    for change in [session.write("a.txt"), line(&session, "touch b.txt")] {
        change.refused(&[
            "check `ready` failed (exit 1)",
            "nothing is changed yet",
            "> no ok",
            "hint: tell the user",
        ]);
    }
    // Its advice: the turn can end, the user mends it, and the work goes on.
    session.stop("The check says: no ok.").silent();
    sandbox.put("ok", "");
    session.write("a.txt").silent();
    fs::remove_file(sandbox.project().join("ok")).unwrap();
    session.write("b.txt").silent();
    let all = runs(&session);
    let passes = all.iter().filter(|(outcome, _)| outcome == "PASS").count();
    assert_eq!((all.len(), passes), (3, 1), "{all:?}");
    let _ = session.prompt("and another");
    session.hydrate("minor-edit", "new");
    session.write("c.txt").refused(&["nothing is changed yet"]);
    // A task that a person waived has no sandbox to leave.
    let _ = session.prompt(". do it");
    session.write("c.txt").silent();
    let sandbox = checked(&format!("{check}outcome = \"HALT\"\n"));
    let session = working(&sandbox);
    session.write("a.txt").refused(&["that ends the work here", "> no ok"]);
    assert_eq!(session.state()["phase"], "halted");
}

#[test]
fn a_stop_owes_its_checks_first() {
    let sandbox = checked(
        "[[check]]\nid = \"tests\"\non = \"stop\"\nrun = \"echo 3 tests failed; test -e ok\"\n[[check]]\nid = \"docs\"\non = \"stop\"\nrun = \"true\"\n",
    );
    let session = working(&sandbox);
    session.stop("Nothing was changed.").silent();
    session.write("a.txt").silent();
    let said = session.stop("Done.");
    said.refused(&[
        "1. `checks`: repair",
        "`tests` (exit 1: 3 tests failed), run as `echo",
        "2. `qa-verifier`",
        "4. `commit`",
    ]);
    assert!(!said.err.contains("`docs`") && said.err.chars().count() < 1500, "{}", said.err);
    assert_eq!(session.state()["stop"]["owed"][0], "checks");
    assert_eq!(session.state()["phase"], "intervene");
    // Its advice.
    session.bash("touch ok");
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add -A && git commit -q -m x && git push -q");
    session.stop("Done.").silent();
    assert_eq!(session.state()["phase"], "done");
}

/// A checkpoint says how the checks of the task ended, each with its last word.
#[test]
fn checkpoints_say_how_checks_ended() {
    let sandbox = checked(
        "[[check]]\nid = \"tests\"\non = \"stop\"\nrun = \"test -e ok\"\n[[check]]\nid = \"docs\"\non = \"stop\"\nrun = \"true\"\n[[check]]\nid = \"never\"\non = \"commit\"\nrun = \"true\"\n",
    );
    let session = working(&sandbox);
    let governance = || {
        let id = sandbox.person(&["checkpoint", "create", "--json"]);
        let id: serde_json::Value = serde_json::from_str(&id.out).unwrap();
        let id = id["id"].as_str().unwrap().to_owned();
        let shown = sandbox.person(&["checkpoint", "show", &id, "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
        shown["governance"].clone()
    };
    assert_eq!(governance()["checks"], json!([]));
    session.write("a.txt").silent();
    assert_eq!(session.stop("Done.").code, Some(2));
    let docs = json!({"name": "docs", "outcome": "PASS", "reason": null});
    let tests = json!({"name": "tests", "outcome": "INTERVENTION_REQUIRED", "reason": "exit 1"});
    let said = governance();
    assert_eq!((&said["checks"], &said["passed"]), (&json!([docs, tests]), &json!(false)));
    // The one that was taken as the check sent the work back says it too.
    let rows = sandbox.person(&["checkpoint", "list", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&rows.out).unwrap();
    let own = format!("{}/POST_execute", session.id);
    let mut rows = rows.as_array().unwrap().iter();
    let id = rows.find_map(|row| row["id"].as_str().filter(|id| id.starts_with(&own))).unwrap();
    sandbox.person(&["checkpoint", "show", id]).said(&["check     tests INTERVENTION_REQUIRED exit 1"]);
    session.bash("touch ok");
    let _ = session.stop("Done.");
    let tests = json!({"name": "tests", "outcome": "PASS", "reason": null});
    assert_eq!(governance()["checks"], json!([docs, tests]));
    let _ = session.prompt("another thing");
    session.hydrate("minor-edit", "new");
    assert_eq!(governance()["checks"], json!([]), "another task");
}

#[test]
fn a_stop_that_no_work_can_satisfy_is_let_go() {
    let sandbox = checked("[[check]]\nid = \"never\"\non = \"stop\"\nrun = \"false\"\n");
    let session = working(&sandbox);
    session.write("a.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add -A && git commit -q -m x && git push -q");
    for _ in 0..3 {
        session.stop("Done.").refused(&["1. `checks`", "`never`"]);
    }
    assert!(session.stop("Done.").json()["systemMessage"].as_str().unwrap().contains("checks"));
}

#[test]
fn a_hanging_check_is_cut_off_with_all_it_started() {
    let sandbox = checked(
        "[[check]]\nid = \"slow\"\non = \"commit\"\nrun = \"echo before; sleep 601 & sleep 600\"\ntimeout_ms = 3000\n",
    );
    let session = working(&sandbox);
    let said = line(&session, "git commit -m x");
    said.refused(&[
        "check `slow` did not end within 3000 ms",
        "> before",
        "`timeout_ms` of `slow`",
        "ask them",
    ]);
    sandbox.wait_until("the check and its child are gone", || sandbox.alive().is_empty());
    assert_eq!(runs(&session), [("INTERVENTION_REQUIRED".to_owned(), "cut off".to_owned())]);
    // Its advice: ask the user, who can lift it for a while.
    sandbox
        .person(&["waive", "checks", "--for", "10m", "--reason", "slow machine", "--yes"])
        .said(&["checks"]);
    line(&session, "git commit -m x").silent();
}

/// The client ends a hook with a signal to its group; the check is in a group of its own.
#[test]
fn a_check_ends_with_its_hook() {
    let sandbox = checked("[[check]]\nid = \"slow\"\non = \"commit\"\nrun = \"touch began; sleep 600\"\n");
    let session = working(&sandbox);
    let call = session.call("Bash", json!({"command": "git commit -m x"}));
    let mut hook = start(&sandbox, &session, &call.id);
    sandbox.wait_until("it began", || sandbox.project().join("began").exists());
    let pid = hook.id().to_string();
    sandbox.command("kill").args(["-TERM", &pid]).assert().success();
    let _ = hook.wait().unwrap();
    sandbox.wait_until("the check is gone", || sandbox.alive().is_empty());
}

#[test]
fn other_events_are_answered_while_a_check_runs() {
    let sandbox = checked(
        "[[check]]\nid = \"slow\"\non = \"commit\"\nrun = \"touch began; until test -e go; do sleep 0.05; done\"\n",
    );
    let session = working(&sandbox);
    let call = session.call("Bash", json!({"command": "git commit -m x"}));
    let hook = start(&sandbox, &session, &call.id);
    sandbox.wait_until("it began", || sandbox.project().join("began").exists());
    let read = session.call("Read", json!({"file_path": sandbox.project().join("README.md")}));
    session.pre(&read).silent();
    sandbox.put("go", "");
    let done = hook.wait_with_output().unwrap();
    assert!(done.status.success() && done.stdout.is_empty(), "{done:?}");
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// The hook for a commit, running on its own.
#[expect(clippy::disallowed_methods, reason = "runs the program under test")]
fn start(sandbox: &Sandbox, session: &Session, id: &str) -> std::process::Child {
    let fields =
        json!({"tool_name": "Bash", "tool_input": {"command": "git commit -m x"}, "tool_use_id": id});
    let payload = session.payload("PreToolUse", fields).to_string();
    let file = sandbox.tmp().join("payload.json");
    fs::write(&file, payload).unwrap();
    Command::new(BINARY)
        .arg("PreToolUse")
        .env_clear()
        .envs(sandbox.environment())
        .current_dir(sandbox.project())
        .stdin(fs::File::open(file).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

const BAD: &str = "[[check]]\nid = \"bad\"\non = \"commit\"\nrun = \"echo said; false\"\n";

#[test]
fn asking_is_for_those_who_can_be_asked() {
    let sandbox = checked(&format!("{BAD}outcome = \"ASK_USER\"\n"));
    let session = working(&sandbox);
    line(&session, "git commit -m x").refused(&["check `bad` failed"]);
    let sandbox = checked(&format!(
        "{BAD}outcome = \"ASK_USER\"\n[[check]]\nid = \"late\"\non = \"stop\"\nrun = \"false\"\noutcome = \"ASK_USER\"\n[gates]\nqa = \"off\"\nreflect = \"off\"\nclose = \"off\"\n"
    ));
    let session = working(&sandbox);
    session.write("a.txt").silent();
    session.stop("Done.").refused(&["1. `checks`"]);
    let attended = |name: &str, fields| {
        let payload = session.payload(name, fields).to_string();
        let mut hook = sandbox.command(BINARY);
        hook.arg(name).env("CLAUDE_CODE_SESSION_ATTENDED", "1").write_stdin(payload);
        Answer::of(name, &hook.output().unwrap()).json()
    };
    let call = session.call("Bash", json!({"command": "git commit -m x"}));
    let asked = attended(
        "PreToolUse",
        json!({"tool_name": "Bash", "tool_input": {"command": "git commit -m x"}, "tool_use_id": call.id, "permission_mode": "default"}),
    );
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], "ask", "{asked}");
    let words = asked["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(
        words.contains("Your check `bad` failed") && !words.contains("hint:"),
        "it speaks to the person: {words}"
    );
    // The end of a turn is the person's turn anyway: they are told.
    let stopped = attended(
        "Stop",
        json!({"stop_hook_active": false, "background_tasks": [], "permission_mode": "default"}),
    );
    assert!(stopped["systemMessage"].as_str().unwrap().contains("check `late` failed"), "{stopped}");
    assert_eq!(stopped["decision"], json!(null));
}

/// The turn ends with a question to the person, so its task is not done, and no success.
#[test]
fn a_task_whose_check_asks_the_person_is_not_done() {
    let late = "[[check]]\nid = \"late\"\non = \"stop\"\nrun = \"test -e fixed\"\noutcome = \"ASK_USER\"\n";
    for mode in ["loop", "strict"] {
        let sandbox = checked(late).with("CLAUDE_CODE_SESSION_ATTENDED", "1");
        sandbox.configure(&format!(
            "audit.rate = 0\nmode.level = \"{mode}\"\n{late}[gates]\nqa = \"off\"\nreflect = \"off\"\nclose = \"off\"\n"
        ));
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt("add a greeting");
        if mode == "strict" {
            session.hydrate("minor-edit", "new");
        }
        session.write("a.txt").silent();
        session.stop("Done.").said(&["check `late` failed"]);
        let outcome = || sandbox.person(&["insights", "--json"]).json()["outcome"].clone();
        assert_eq!((&session.state()["phase"], outcome()), (&json!("execute"), json!("partial")), "{mode}");
        // The person's answer goes on with the task.
        let _ = session.prompt("go on");
        if mode == "strict" {
            session.hydrate("minor-edit", "continue");
        }
        assert_eq!(session.state()["task"]["writes"], 1, "{mode}");
        sandbox.put("fixed", "");
        session.stop("Done.").silent();
        assert_eq!(session.state()["phase"], "done", "{mode}");
        if mode == "loop" {
            assert_eq!(outcome(), "success");
        }
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// A small task that was let go with a check that still fails is no success.
#[test]
fn a_small_task_that_was_let_go_is_no_success() {
    let sandbox = checked("[[check]]\nid = \"late\"\non = \"stop\"\nrun = \"false\"\n");
    sandbox.configure(
        "audit.rate = 0\nmode.level = \"loop\"\n[[check]]\nid = \"late\"\non = \"stop\"\nrun = \"false\"\n",
    );
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("fix the typo");
    session.write("a.txt").silent();
    for _ in 0..3 {
        session.stop("Done.").refused(&["late"]);
    }
    for _ in 0..2 {
        let _ = session.stop("Done.");
        assert_eq!(sandbox.person(&["insights", "--json"]).json()["outcome"], "partial");
    }
}

#[test]
fn a_halt_ends_the_work_until_the_next_prompt() {
    let sandbox = checked(&format!("{BAD}outcome = \"HALT\"\n"));
    let session = working(&sandbox);
    session.write("a.txt").silent();
    let said = line(&session, "git commit -m x");
    said.refused(&["check `bad` failed (exit 1) before this commit", "> said", "tell the user"]);
    assert!(said.out.contains("\"continue\":false"), "{said:?}");
    assert_eq!((&session.state()["phase"], &session.state()["sandbox"]), (&json!("halted"), &json!("shut")));
    session.write("b.txt").refused(&["check `bad` failed"]);
    session.stop("Told.").silent();
    // Its advice: the next prompt begins anew.
    let _ = session.prompt("again");
    session.hydrate("minor-edit", "new");
    session.write("b.txt").silent();
    let stops = checked("[[check]]\nid = \"bad\"\non = \"stop\"\nrun = \"false\"\noutcome = \"HALT\"\n");
    let session = working(&stops);
    session.write("a.txt").silent();
    let let_go = session.stop("Done.");
    assert!(let_go.json()["systemMessage"].as_str().unwrap().contains("check `bad` failed"), "{let_go:?}");
    assert_eq!(session.state()["phase"], "halted");
}

#[test]
fn levels_and_waivers_hold_for_checks_too() {
    for (config, runs_it) in [("[gates]\nchecks = \"warn\"\n", true), ("[gates]\nchecks = \"off\"\n", false)]
    {
        let sandbox = checked(&format!("{BAD}outcome = \"HALT\"\n{config}"));
        let session = working(&sandbox);
        let said = line(&session, "git commit -m x");
        assert_eq!(said.code, Some(0), "{config}: {said:?}");
        assert_eq!(said.out.contains("check `bad` failed"), runs_it, "{config}: {said:?}");
        assert_eq!(!runs(&session).is_empty(), runs_it, "{config}");
        assert_ne!(session.state()["phase"], "halted", "{config}");
    }
    let sandbox = checked(BAD);
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt(". just do it").silent();
    line(&session, "git commit -m x").silent();
    assert_eq!(runs(&session), []);
}

/// Nothing is started for a call that is refused anyway, nor for a dry run.
#[test]
fn no_check_is_run_in_vain() {
    let sandbox = checked("[[check]]\nid = \"bad\"\non = \"commit\"\nrun = \"touch ran; exit 1\"\n");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    line(&session, "git commit -m x").refused(&["plan"]);
    session.hydrate("minor-edit", "new");
    let call =
        json!({"tool_name": "Bash", "tool_input": {"command": "git commit -m x"}, "tool_use_id": "t1"});
    let payload = sandbox.tmp().join("payload.json");
    fs::write(&payload, session.payload("PreToolUse", call).to_string()).unwrap();
    sandbox.person(&["simulate", payload.to_str().unwrap()]).said(&["check `bad` would be run first"]);
    assert!(!sandbox.project().join("ran").exists());
    line(&session, "git commit -m x").refused(&["check `bad`"]);
    fs::remove_file(sandbox.project().join("ran")).unwrap();
    let again = sandbox.person(&["replay", &session.id, "--json"]).json();
    assert_eq!(again["changed"], json!([]), "{again:#}");
    assert!(!sandbox.project().join("ran").exists(), "replayed for real");
}

#[test]
fn more_time_than_the_client_has_is_refused_by_file_and_line() {
    let sandbox = checked("");
    let check = |id: &str, ms: u64| {
        format!("[[check]]\nid = \"{id}\"\non = \"stop\"\nrun = \"true\"\ntimeout_ms = {ms}\n")
    };
    sandbox.configure(&(check("a", 300_000) + &check("b", 240_001)));
    let said = sandbox.person(&["policy"]);
    said.failed(2, &["config.toml:10:14: `check.timeout_ms`", "540001 ms", "540000 ms"]);
    sandbox.configure(&(check("a", 300_000) + &check("b", 240_000)));
    sandbox.person(&["policy"]).said(&["check.b"]);
    // The first change of a task may be a save: one event waits for both.
    let of = |on: &str, ms: u64| check(on, ms).replace("\"stop\"", &format!("\"{on}\""));
    sandbox.configure(&(of("save", 300_000) + &of("commit", 300_000) + &of("sandbox", 240_001)));
    sandbox.person(&["policy"]).failed(2, &["config.toml:15:14: `check.timeout_ms`", "540000 ms"]);
    sandbox.configure(&(of("save", 300_000) + &of("commit", 300_000) + &of("prompt", 540_000)));
    sandbox.person(&["policy"]).said(&["check.prompt"]);
}
