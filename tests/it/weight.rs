//! The weight of the loop follows the work: small tasks, follow-ups, outgrowing, evidence, by mode.

use crate::support::{Answer, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

fn in_mode(level: &str, settings: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(&format!("[audit]\nrate = 0.0\n[mode]\nlevel = \"{level}\"\n{settings}"));
    sandbox
}

fn begun(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    session
}

/// So many lines of text.
fn lines(n: usize) -> String {
    (0..n).fold(String::new(), |text, n| text + &format!("line {n}\n"))
}

/// Asks for a write of this text and, where it passes, makes it.
fn put(sandbox: &Sandbox, session: &Session, name: &str, text: &str) -> Answer {
    let file = sandbox.project().join(name);
    let call = session.call("Write", json!({"file_path": file, "content": text}));
    let answer = session.pre(&call);
    if answer.code == Some(0) {
        sandbox.put(name, text);
        let _ = session.post(&call);
    }
    answer
}

/// The turn's end is refused for these debts, in this order, and no others.
fn owes_only(answer: &Answer, debts: &[&str]) {
    let name = |line: &str| Some(line.split_once(". `")?.1.split('`').next()?.to_owned());
    let owed: Vec<String> = answer.reason().lines().filter_map(name).collect();
    assert_eq!(owed, debts, "{answer:?}");
}

fn kinds(session: &Session, kind: &str) -> Vec<Value> {
    session
        .entries()
        .into_iter()
        .filter(|entry| entry["type"] == kind)
        .map(|entry| entry["with"].clone())
        .collect()
}

#[test]
fn a_small_task_needs_no_plan_in_any_mode_below_strict() {
    for mode in ["observe", "guard", "loop"] {
        let sandbox = in_mode(mode, "");
        let session = begun(&sandbox);
        session.prompt("fix the typo").silent();
        let state = session.state();
        assert_eq!((&state["phase"], &state["sandbox"]), (&json!("execute"), &json!("open")), "{mode}");
        assert_eq!(state["state"]["hydration_pending"], false, "{mode}");
        assert_eq!(
            state["task"],
            json!({"intent": "fix the typo", "n": 1, "waiver": null, "writes": 0}),
            "{mode}"
        );
        assert!(kinds(&session, "checkpoint").is_empty(), "{mode}: nothing was changed yet");
        session.write("README.md").silent();
        let taken = kinds(&session, "checkpoint");
        assert_eq!((taken.len(), &taken[0]["trigger"]), (1, &json!("start")), "{mode}");
        session.stop("Done.").silent();
        assert_eq!(session.state()["phase"], "done", "{mode}");
        session.prompt("now another").silent();
        assert_eq!(
            (&session.state()["task"]["n"], &session.state()["task"]["writes"]),
            (&json!(2), &json!(0))
        );
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// What the first edit overwrote is what the checkpoint has.
#[test]
fn the_start_is_kept_before_the_first_change() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("fix the typo").silent();
    session.write("README.md").silent();
    let id = kinds(&session, "checkpoint")[0]["id"].as_str().unwrap().to_owned();
    sandbox.person(&["checkpoint", "rollback", &id, "--yes"]).said(&[]);
    assert_eq!(fs::read_to_string(sandbox.project().join("README.md")).unwrap(), "# a project\n");
}

#[test]
fn a_question_leaves_no_task_behind() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("what is this?").silent();
    session.stop("A project.").silent();
    assert_eq!(session.state()["phase"], "idle");
    session.prompt("and why?").silent();
    assert_eq!(session.state()["task"]["n"], 2);
    assert!(kinds(&session, "checkpoint").is_empty());
}

/// An edit is measured before it is made, and added up over the task.
#[test]
fn too_many_files_are_refused_before_they_are_made() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("add greetings").silent();
    for name in ["a.txt", "b.txt", "c.txt"] {
        put(&sandbox, &session, name, &lines(16)).silent();
    }
    // The same file again counts once, against the task's start.
    put(&sandbox, &session, "c.txt", &lines(18)).silent();
    put(&sandbox, &session, "d.txt", &lines(12)).refused(&[
        "this task has outgrown a small edit (4 files, 62 lines: over both limits, 3 files and 60 lines), so it needs a plan",
        "start the agent `prompt-hydrator`",
        "plan mode",
    ]);
    assert!(!sandbox.project().join("d.txt").exists());
    // The advice is followed: until the report is there, the refusal says who is at work and does not ask for
    // another.
    let input = json!({"subagent_type": "prompt-hydrator", "prompt": "p", "description": "d"});
    let started = session.call("Agent", input);
    assert_eq!(session.pre(&started).code, Some(0));
    put(&sandbox, &session, "d.txt", &lines(9))
        .refused(&["`prompt-hydrator` has been at work", "wait for its report"]);
    let _ = session.post(&started);
    let state = session.state();
    assert_eq!((&state["sandbox"], &state["task"]["writes"]), (&json!("shut"), &json!(4)));
    // From then on every change waits for the plan; what was changed may be committed.
    session.write("a.txt").refused(&["4 files, 62 lines", "prompt-hydrator"]);
    session.bash("git add -A");
    let context = session.hydrate("minor-edit", "new");
    assert!(context.contains("add greetings"), "{context}");
    assert_eq!(session.state()["task"]["n"], 1);
    put(&sandbox, &session, "d.txt", &lines(80)).silent();
    owes_only(&session.stop("Done."), &["qa-verifier"]);
    session.qa("VERIFIED").silent();
    // The commit is the person's: told once.
    let told = session.stop("Done.");
    assert_eq!(told.json()["systemMessage"], "4 files changed, not committed");
    session.stop("Done.").silent();
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

#[test]
fn too_many_lines_are_refused_with_the_figures() {
    let sandbox = in_mode("loop", "");
    sandbox.put("long.txt", &lines(300));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "long"]);
    let session = begun(&sandbox);
    session.prompt("rewrite it").silent();
    put(&sandbox, &session, "long.txt", &lines(180)).silent();
    // 120 are gone, 121 come: 241 against the start, though this edit alone is 121.
    let text = (0..121).fold(lines(180), |text, n| text + &format!("new {n}\n"));
    put(&sandbox, &session, "long.txt", &text)
        .refused(&["(1 file, 241 lines; small is up to 12 files and 240 lines)"]);
    // An edit by its parts is measured too.
    let _ = session.prompt("and now this");
    let file = sandbox.project().join("long.txt");
    let edits = json!([{"old_string": "line 1\n", "new_string": "x\n"}, {"old_string": "line 2\n", "new_string": lines(80)}]);
    let call = session.call("MultiEdit", json!({"file_path": file, "edits": edits}));
    session.pre(&call).refused(&["1 file, "]);
}

/// Many files with a line each, or one that is long, are small; both together are not.
#[test]
fn files_or_lines_alone_are_small() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("rename it everywhere").silent();
    for n in 0..12 {
        put(&sandbox, &session, &format!("f{n:02}.txt"), "one\n").silent();
    }
    put(&sandbox, &session, "f12.txt", "one\n")
        .refused(&["(13 files, 13 lines; small is up to 12 files and 240 lines)"]);
    let session = begun(&sandbox);
    session.prompt("add a table").silent();
    put(&sandbox, &session, "long.txt", &lines(240)).silent();
    put(&sandbox, &session, "b.txt", "one\n")
        .refused(&["(2 files, 241 lines; small is up to 12 files and 240 lines)"]);
}

/// What acts elsewhere is what the person asked for: it is no reason for a plan, and danger rules ask where
/// they must.
#[test]
fn what_acts_elsewhere_needs_no_plan() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("open a pull request").silent();
    for line in [
        "gh pr create --fill",
        "git push --force-with-lease",
        "git push --tags",
        "git push origin HEAD:refs/heads/topic",
        "ssh host uptime",
        "curl -X POST https://example.com/hook -d a=b",
    ] {
        session.ask_bash(line).silent();
    }
    let issue = session.call("mcp__github__create_issue", json!({"title": "it fails"}));
    session.pre(&issue).silent();
    let _ = session.post(&issue);
    session.stop("Done.").silent();
    for (line, rule) in [("git push --force", "git-force-push"), ("npm publish", "publish-package")] {
        session.ask_bash(line).refused(&[rule]);
    }
}

/// Temporary and generated files are free in every mode, before there is a plan too, and no work.
#[test]
fn scratch_files_are_free_in_every_mode() {
    let outside = tempfile::tempdir_in("/tmp").unwrap();
    let scratch = outside.path().join("notes.txt").display().to_string();
    for mode in ["observe", "guard", "loop", "strict"] {
        let sandbox = in_mode(mode, "");
        sandbox.put("node_modules/a/index.js", "1\n");
        sandbox.put("src/a.txt", "1\n");
        let session = begun(&sandbox);
        let _ = session.prompt("clean up");
        session.bash("rm -rf node_modules dist .venv");
        session.bash(&format!("echo hi > {scratch} && cat {scratch} && rm -f {scratch}"));
        let write = session.call("Write", json!({"file_path": scratch, "content": "hi\n"}));
        session.pre(&write).silent();
        let _ = session.post(&write);
        let writes = |session: &Session| session.state()["task"]["writes"].as_u64().unwrap_or(0);
        if mode == "loop" || mode == "strict" {
            assert_eq!(writes(&session), 0, "{mode}");
        }
        if mode == "strict" {
            for line in [
                "rm -rf node_modules src",
                "rm -rf /tmp",
                "mv src /tmp/x",
                "rm -rf \"$X\"",
                "rm -rf node_modules/../src",
                "rm -rf dist*",
            ] {
                session.ask_bash(line).refused(&[]);
            }
        }
    }
}

/// A link, a second name and what git tracks lead to work, whatever the folder is called.
#[test]
fn scratch_that_leads_to_work_is_work() {
    let sandbox = in_mode("strict", "");
    let outside = tempfile::tempdir_in("/tmp").unwrap();
    let place = |name: &str| outside.path().join(name).display().to_string();
    for name in ["src/a.txt", "src/b.txt", "dist/kept.js", "build/.gitkeep"] {
        sandbox.put(name, "1\n");
    }
    sandbox.git(&["add", "-Af"]);
    sandbox.git(&["commit", "-q", "-m", "work"]);
    std::os::unix::fs::symlink(sandbox.project().join("src"), place("link")).unwrap();
    fs::hard_link(sandbox.project().join("src/b.txt"), place("name")).unwrap();
    let session = begun(&sandbox);
    let _ = session.prompt("clean up");
    for line in [
        &format!("echo x > {}/a.txt", place("link")),
        &format!("echo x > {}", place("name")),
        "rm -rf dist",
        "touch dist/new.js",
    ] {
        session.ask_bash(line).refused(&["prompt-hydrator"]);
    }
    session.ask_bash("rm -rf build/x").silent();
}

/// A command is measured after it ran: then the next change is refused, and what was made stays.
#[test]
fn a_command_is_measured_after_it_ran() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("make files").silent();
    session.bash("for n in 1 2 3 4 5; do seq 28 > f$n; done");
    assert_eq!(session.state()["sandbox"], "shut");
    session
        .ask_bash("touch more")
        .refused(&["(5 files, 140 lines: over both limits, 3 files and 60 lines)", "edits so far are kept"]);
    assert!(sandbox.project().join("f5").exists());
    // Large work that had no plan is verified all the same.
    owes_only(&session.stop("Done."), &["qa-verifier"]);
    session.hydrate("feature-dev", "new");
    session.write("f1").refused(&["critic"]);
    session.critic("PROCEED").silent();
    session.write("f1").silent();
}

#[test]
fn commands_that_change_ignored_files_only_are_no_work() {
    let sandbox = in_mode("loop", "[[check]]\nid = \"never\"\non = \"stop\"\nrun = \"false\"\n");
    sandbox.put(".gitignore", "target/\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "ignore"]);
    let session = begun(&sandbox);
    session.prompt("do the tests pass?").silent();
    session.bash("mkdir -p target && seq 900 > target/out");
    session.write("target/more").silent();
    assert_eq!(
        (&session.state()["task"]["writes"], &session.state()["sandbox"]),
        (&json!(0), &json!("open"))
    );
    session.stop("They do.").silent();
}

/// An edit of such a file has no weight either, also where no checkpoint shows what a call changed.
#[test]
fn an_edit_of_an_ignored_or_generated_file_is_no_work() {
    for (settings, repository) in [("", true), ("[checkpoint]\ninteractive = \"off\"\n", true), ("", false)] {
        let sandbox = if repository { Sandbox::repository("0.0") } else { Sandbox::new() };
        sandbox.configure(&format!("[audit]\nrate = 1.0\ngrace = 0\n[mode]\nlevel = \"loop\"\n{settings}"));
        sandbox.put(".gitignore", "*.log\n");
        let session = begun(&sandbox);
        let _ = session.prompt("look at it");
        session.hydrate("minor-edit", "new");
        for name in ["node_modules/x.js", "x.log", "dist/y.js"] {
            put(&sandbox, &session, name, "x\n").silent();
        }
        assert_eq!(session.state()["task"]["writes"], 0, "{settings}{repository}");
        assert_eq!(session.state()["audit"]["drawn"], 0, "{settings}{repository}");
        session.stop("Looked.").silent();
        put(&sandbox, &session, "src/x.js", "x\n").silent();
        assert_eq!(session.state()["task"]["writes"], 1, "{settings}{repository}");
    }
}

/// What the task ignores itself is its work all the same; what the project ignored before is nobody's.
#[test]
fn an_ignore_rule_of_the_task_hides_no_edit() {
    let sandbox = in_mode("loop", "");
    sandbox.put(".gitignore", "notes/\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "ignore"]);
    let session = begun(&sandbox);
    let _ = session.prompt("build the thing");
    put(&sandbox, &session, "notes/one", "one\n").silent();
    assert_eq!(session.state()["task"]["writes"], json!(0));
    put(&sandbox, &session, ".gitignore", "notes/\nhidden/\n").silent();
    put(&sandbox, &session, "hidden/one", "one\n").silent();
    put(&sandbox, &session, "notes/two", "two\n").silent();
    assert_eq!(session.state()["task"]["writes"], json!(2));
    put(&sandbox, &session, "hidden/two", &lines(61)).silent();
    session.write("hidden/three").refused(&["outgrown"]);
}

/// With a plan too: tests and builds are no work, so they are neither verified nor audited, and undo no
/// verification.
#[test]
fn commands_that_change_nothing_are_no_work_in_a_planned_task() {
    let sandbox = in_mode("loop", "");
    sandbox
        .configure("[audit]\nrate = 1\ngrace = 9\n[mode]\nlevel = \"loop\"\n[tracker]\ncommand = \"none\"\n");
    fs::write(sandbox.project().join(".gitignore"), "target\n").unwrap();
    fs::write(sandbox.project().join("t.sh"), "#!/bin/sh\nmkdir -p target && date > target/out\n").unwrap();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "tests"]);
    let session = begun(&sandbox);
    let _ = session.prompt("add a greeting, and test it");
    session.hydrate("minor-edit", "new");
    let writes = || session.state()["task"]["writes"].clone();
    session.bash("sh t.sh");
    session.bash("mkdir -p target && seq 900 > target/more");
    assert_eq!((writes(), &session.state()["audit"]["drawn"]), (json!(0), &json!(0)));
    put(&sandbox, &session, "a.txt", "one\n").silent();
    session.bash("sh t.sh");
    assert_eq!(writes(), json!(1));
    // What does change a file is work, also the same file again.
    session.bash("sh -c 'echo two > a.txt'");
    session.bash("sh -c 'echo three > a.txt'");
    assert_eq!(writes(), json!(3));
    session.qa("VERIFIED").silent();
    session.bash("sh t.sh");
    assert_eq!((writes(), &session.state()["sandbox"]), (json!(3), &json!("open")));
    assert_eq!(session.state()["phase"], "reflect", "what was verified still is");
    // What acts elsewhere leaves the tree as it is, and is work.
    let elsewhere = session.call("Bash", json!({"command": "gh pr comment 7 --body done"}));
    session.pre(&elsewhere).silent();
    let _ = session.post(&elsewhere);
    assert_eq!(writes(), json!(4));
}

#[test]
fn what_is_never_small_needs_a_plan() {
    for (name, why) in [
        ("Cargo.lock", "it changes `Cargo.lock`, and a change of `*.lock` is never small (`small.never`"),
        ("db/migrations/1.sql", "`db/migrations/1.sql`"),
        ("db/migrate/1_add.rb", "`**/db/migrate`"),
        ("src/db/migrate/1_add.rb", "`**/db/migrate`"),
        (".github/workflows/ci.yml", "ci.yml"),
        (".travis.yml", "`.travis.yml`"),
        (".gitea/workflows/ci.yml", "`.gitea/workflows`"),
        ("npm-shrinkwrap.json", "`npm-shrinkwrap.json`"),
        ("config/Secrets.toml", "Secrets.toml"),
    ] {
        let sandbox = in_mode("loop", "");
        let session = begun(&sandbox);
        session.prompt("change it").silent();
        session.write(name).refused(&["outgrown a small edit", why, "prompt-hydrator"]);
        session.hydrate("minor-edit", "new");
        session.write(name).silent();
    }
}

/// The command ran and left this file.
fn ran(sandbox: &Sandbox, session: &Session, line: &str, name: &str, text: &str) {
    let call = session.call("Bash", json!({"command": line}));
    session.pre(&call).silent();
    sandbox.put(name, text);
    let _ = session.post(&call);
}

/// What a package manager writes beside a change of two lines is no part of the task's size; what a hand
/// writes is.
#[test]
fn a_lock_file_that_a_package_manager_wrote_has_no_weight() {
    for (line, name) in [
        ("npm install zod", "package-lock.json"),
        ("cargo add serde", "Cargo.lock"),
        ("uv add httpx", "uv.lock"),
        ("go get example.com/x", "sub/go.sum"),
    ] {
        let sandbox = in_mode("loop", "");
        let session = begun(&sandbox);
        session.prompt("add a dependency").silent();
        session.write("src.txt").silent();
        ran(&sandbox, &session, line, name, &lines(900));
        session.write("other.txt").silent();
        session.bash(&format!("git add {name} && git commit -qm lock"));
        assert_eq!(session.state()["sandbox"], "open", "{line}");
        session.stop("Done.").silent();
        let session = sandbox.begun("change it by hand");
        ran(&sandbox, &session, &format!("sed -i s/a/b/ {name}"), name, &lines(901));
        session.ask_bash("touch more").refused(&["outgrown a small edit", "small.never"]);
    }
}

/// Work that was given up, with everything committed, is over: the next prompt begins a small task, and
/// nothing is said again.
#[test]
fn a_task_that_was_given_up_haunts_no_later_prompt() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("add a column").silent();
    ran(&sandbox, &session, "rails generate migration AddName", "db/migrate/1_add.rb", "add\n");
    for _ in 0..3 {
        session.stop("Done.").refused(&["qa-verifier"]);
    }
    let let_go = session.stop("Done.");
    assert!(let_go.out.contains("ended unfinished after 3 refusals"), "{let_go:?}");
    session.prompt("thanks, what does it do?").silent();
    session.stop("It checks forms.").silent();
    session.prompt("fix the typo").silent();
    session.write("README.md").silent();
    session.stop("Done.").silent();
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

#[test]
fn the_limits_are_the_users() {
    let sandbox = in_mode("loop", "[small]\nfiles = 1\nlines = 3\nnever = [\"docs\"]\n");
    let session = begun(&sandbox);
    session.prompt("change it").silent();
    put(&sandbox, &session, "Cargo.lock", &lines(12)).silent();
    put(&sandbox, &session, "Cargo.lock", &lines(13))
        .refused(&["(1 file, 13 lines; small is up to 4 files and 12 lines)"]);
    let _ = session.prompt(". leave it");
    let _ = session.stop("Done.");
    session.prompt("the docs").silent();
    put(&sandbox, &session, "docs/a.md", "a\n").refused(&["docs/a.md"]);
}

/// A prompt while the task is unfinished is part of it; after its end a new one begins.
#[test]
fn a_follow_up_continues_the_task() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("add a greeting").silent();
    session.write("a.txt").silent();
    // Interrupted: there was no Stop.
    session.prompt("in French, please").silent();
    assert_eq!((&session.state()["task"]["n"], &session.state()["task"]["writes"]), (&json!(1), &json!(1)));
    session.hydrate("feature-dev", "continue");
    session.critic("PROCEED").silent();
    session.prompt("and in German").said(&["ended without its Stop hook"]);
    let state = session.state();
    assert_eq!(
        (&state["task"]["n"], &state["sandbox"], &state["phase"]),
        (&json!(1), &json!("open"), &json!("execute"))
    );
    assert_eq!(state["hydration"]["critic_verdict"], "PROCEED");
    session.write("b.txt").silent();
    session.stop("Done.").refused(&["qa-verifier"]);
    session.prompt("what is left?").said(&["ended without its Stop hook"]);
    session.stop("QA.").refused(&["qa-verifier"]);
    session.qa("VERIFIED").silent();
    session.bash("git add -A && git commit -q -m x");
    session.stop("Done.").silent();
    session.prompt("fix the typo").silent();
    assert_eq!(
        (&session.state()["task"]["n"], &session.state()["hydration"]["hydrated_intent"]),
        (&json!(2), &Value::Null)
    );
}

/// A question that was answered owes nothing, so the next prompt begins a small task; one that the worker
/// changed files for goes on.
#[test]
fn after_an_answered_question_a_small_task_begins() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("what is this?").silent();
    session.hydrate("simple-question", "new");
    session.write("README.md").refused(&["must not change anything"]);
    session.stop("A project.").silent();
    session.prompt("fix the typo").silent();
    let task = session.state()["task"].clone();
    assert_eq!((&task["n"], &task["intent"]), (&json!(2), &json!("fix the typo")));
    session.write("README.md").silent();
    session.hydrate("simple-question", "continue");
    session.prompt("and another").silent();
    assert_eq!((&session.state()["task"]["n"], &session.state()["task"]["writes"]), (&json!(2), &json!(1)));
    // A person who lowers the mode after a question is not held by it.
    sandbox.configure("[audit]\nrate = 0.0\n");
    let session = begun(&sandbox);
    let _ = session.prompt("what is this?");
    session.hydrate("simple-question", "new");
    session.stop("A project.").silent();
    sandbox.configure("[audit]\nrate = 0.0\n[mode]\nlevel = \"loop\"\n");
    session.prompt("fix the typo").silent();
    session.write("other.md").silent();
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// A small task owes no commit, and neither does the planned one after it owe the files of the small one.
#[test]
fn a_planned_task_commits_its_own_files_only() {
    let sandbox = in_mode("loop", "[gates]\ncommit = \"enforce\"\n");
    let session = begun(&sandbox);
    session.prompt("fix the typo").silent();
    put(&sandbox, &session, "typo.txt", "mended\n").silent();
    session.stop("Done.").silent();
    session.prompt("add a greeting").silent();
    session.hydrate("minor-edit", "new");
    put(&sandbox, &session, "greeting.txt", "hello\n").silent();
    let refused = session.stop("Done.");
    refused.refused(&["qa-verifier", "commit", "greeting.txt"]);
    assert!(!refused.err.contains("typo.txt"), "{}", refused.err);
    put(&sandbox, &session, "typo.txt", "mended again\n").silent();
    session.stop("Done.").refused(&["qa-verifier", "greeting.txt, typo.txt"]);
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// A hydrator that was started before the follow-up came still plans the task.
#[test]
fn a_follow_up_does_not_void_the_plan_under_way() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("add a greeting").silent();
    session.begin_agent("h1", "prompt-hydrator").said(&["Context"]);
    session.prompt("in French").silent();
    let plan = json!({"workflow": "minor-edit", "intent": "greet", "task": "new", "acceptance_criteria": ["c"], "steps": ["s"]});
    session.stop_agent("h1", "prompt-hydrator", &crate::support::fenced(plan)).silent();
    assert_eq!(session.state()["state"]["current_workflow"], "minor-edit");
}

#[test]
fn a_test_that_must_be_seen_to_pass() {
    let sandbox = in_mode("loop", "[evidence]\ntest = \"sh test.sh\"\n[stop]\nrefusals = 9\n");
    sandbox.put("test.sh", "exit 0\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "test"]);
    let session = begun(&sandbox);
    session.prompt("fix it").silent();
    session.write("a.txt").silent();
    session.stop("Done.").refused(&["1. `evidence`: run `sh test.sh`"]);
    let failed = session.call("Bash", json!({"command": "sh test.sh"}));
    session.pre(&failed).silent();
    session.fail(&failed, "Exit code 1").silent();
    session.stop("Done.").refused(&["`evidence`"]);
    session.bash("sh test.sh || true");
    session.stop("Done.").refused(&["`evidence`"]);
    // The client put it into the background, or stopped it: that it succeeded is not known.
    for (field, value) in [("backgroundTaskId", json!("b1")), ("interrupted", json!(true))] {
        let call = session.call("Bash", json!({"command": "sh test.sh"}));
        session.pre(&call).silent();
        let mut ended = call.fields();
        ended["tool_response"] = json!({"stdout": "", "stderr": "", "interrupted": false});
        ended["tool_response"][field] = value;
        session.event("PostToolUse", ended).silent();
        session.stop("Done.").refused(&["`evidence`"]);
    }
    session.bash("sh test.sh");
    session.write("b.txt").silent();
    session.stop("Done.").refused(&["`evidence`"]);
    session.bash("cd . && sh test.sh 2>&1");
    session.stop("Done.").silent();
    assert_eq!(session.state()["phase"], "done");
}

/// A task that went smoothly is reflected on by us, one with friction by the agent.
#[test]
fn a_smooth_task_is_reflected_on_from_the_ledger() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("fix the typo").silent();
    session.write("README.md").silent();
    session.stop("Done.").silent();
    let stop = kinds(&session, "event").into_iter().rfind(|seen| seen["event"] == "Stop").unwrap();
    let reflection = &stop["what"]["stopped"]["reflection"];
    assert_eq!((&reflection["request"], &reflection["followed"]), (&json!("fix the typo"), &json!("Yes")));
    assert!(
        session.state()["insights"]["reflection"]["accomplishment"]
            .as_str()
            .unwrap()
            .contains("fix the typo")
    );

    session.prompt("add a feature").silent();
    session.hydrate("feature-dev", "new");
    session.critic("REVISE").silent();
    session.hydrate("feature-dev", "new");
    session.critic("PROCEED").silent();
    session.write("a.txt").silent();
    session.qa("VERIFIED").silent();
    owes_only(&session.stop("Done."), &["framework"]);
    session.reflect().silent();
    session.bash("git add -A && git commit -q -m x");
    session.stop("Done.").silent();
}

/// Every gate holds by itself: with no sandbox, work without a plan is verified.
#[test]
fn a_gate_by_itself() {
    for (mode, gates, owed) in [
        (
            "strict",
            "sandbox = \"off\"",
            &["1. `qa-verifier`", "2. `framework`", "3. `commit`", "4. `push`"][..],
        ),
        ("strict", "sandbox = \"off\"\nreflect = \"off\"\nclose = \"off\"", &["1. `qa-verifier`"]),
        ("guard", "qa = \"enforce\"", &["1. `qa-verifier`"]),
        ("guard", "reflect = \"enforce\"", &["1. `framework`"]),
        ("observe", "commit = \"enforce\"", &["1. `commit`"]),
        ("observe", "qa = \"enforce\"\npush = \"enforce\"", &["1. `qa-verifier`", "2. `push`"]),
        ("loop", "sandbox = \"off\"\nqa = \"enforce\"", &["1. `qa-verifier`"]),
    ] {
        let sandbox = in_mode(mode, &format!("[gates]\n{gates}\n"));
        let session = begun(&sandbox);
        let _ = session.prompt("make hello.txt");
        session.write("hello.txt").silent();
        session.stop("Done.").refused(owed);
        session.qa("VERIFIED").silent();
        session.reflect().silent();
        session.bash("git add -A && git commit -q -m x && git push -q");
        session.stop("Done.").silent();
    }
}

/// A sandbox that a file names shuts at every prompt, whatever the mode.
#[test]
fn a_named_sandbox_shuts_in_guard_too() {
    let sandbox = in_mode("guard", "[gates]\nsandbox = \"enforce\"\n");
    let session = begun(&sandbox);
    let _ = session.prompt("make hello.txt");
    session.write("hello.txt").refused(&["prompt-hydrator"]);
    session.hydrate("minor-edit", "new");
    session.write("hello.txt").silent();
    session.stop("Done.").silent();
}

/// In strict mode the sandbox shuts again at a task's end; a Stop without work ends none.
#[test]
fn in_strict_mode_a_done_task_shuts_the_sandbox() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.stop("What shall I greet with?").silent();
    session.write("a.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add -A && git commit -q -m x && git push -q");
    session.stop("Done.").silent();
    let state = session.state();
    assert_eq!((&state["phase"], &state["sandbox"]), (&json!("done"), &json!("shut")));
    // A background command ends, and the agent wants to go on.
    let _ = session.event("UserPromptSubmit", json!({"prompt": "<task-notification>done"}));
    session.write("a.txt").refused(&["prompt-hydrator"]);
    session.hydrate("minor-edit", "continue");
    session.write("a.txt").silent();
}

/// Plan mode, from the call that ends it to its end; the answer of the end.
pub(crate) fn plan_mode(
    sandbox: &Sandbox,
    session: &Session,
    attended: bool,
    mode: &str,
    plan: &str,
) -> Answer {
    let event = |name: &str, fields: Value| {
        let payload = session.payload(name, fields).to_string();
        let mut hook = sandbox.command(crate::support::BINARY);
        hook.arg(name)
            .env("CLAUDE_CODE_SESSION_ATTENDED", if attended { "1" } else { "0" })
            .write_stdin(payload);
        Answer::of(name, &hook.output().unwrap())
    };
    let file = sandbox.config().join("plans/quiet-fox.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, plan).unwrap();
    let id = format!("toolu_plan{}", session.entries().len());
    let call =
        json!({"tool_name": "ExitPlanMode", "tool_input": {}, "tool_use_id": id, "permission_mode": mode});
    event("PreToolUse", call.clone()).silent();
    let mut asked = call.clone();
    asked.as_object_mut().unwrap().remove("tool_use_id");
    event("PermissionRequest", asked).silent();
    let mut done = call;
    done["permission_mode"] = json!("acceptEdits");
    done["tool_response"] = json!({"plan": null, "isAgent": false, "filePath": file});
    event("PostToolUse", done)
}

pub(crate) const PLAN: &str = "# Greet the world\n\n## Steps\n1. write it\n\n## Verification\n- it greets\n";

/// A plan that a person approved is in force, reviewed by that person, in every mode that asks for plans.
#[test]
fn an_approved_plan_is_in_force() {
    for mode in ["loop", "strict"] {
        let sandbox = in_mode(mode, "");
        let session = begun(&sandbox);
        let _ = session.prompt("greet the world");
        if mode == "loop" {
            put(&sandbox, &session, "big.txt", &lines(290)).refused(&["plan mode"]);
        } else {
            session.write("big.txt").refused(&["prompt-hydrator"]);
        }
        let approved = plan_mode(&sandbox, &session, true, "plan", PLAN);
        // In strict the prompt came with it.
        match mode {
            "loop" => approved.said(&["Once all changes are made, start the agent `qa-verifier`"]),
            _ => approved.silent(),
        }
        let state = session.state();
        assert_eq!((&state["phase"], &state["sandbox"]), (&json!("execute"), &json!("open")), "{mode}");
        assert_eq!(state["state"]["current_workflow"], "feature-dev", "{mode}");
        assert_eq!(state["hydration"]["acceptance_criteria"], json!(["it greets"]), "{mode}");
        assert!(
            state["hydration"]["hydrated_intent"].as_str().unwrap().contains("Greet the world"),
            "{mode}"
        );
        let status = sandbox.person(&["status", &session.id, "--json"]).json();
        assert_eq!(status["planned"], true, "{mode}");
        put(&sandbox, &session, "big.txt", &lines(90)).silent();
        session.stop("Done.").refused(&["1. `qa-verifier`"]);
        let (context, _) = session.agent_reports("qa-verifier", "nothing yet");
        assert!(context.contains("it greets") && context.contains("Greet the world"), "{context}");
    }
}

/// In plan mode the client and the person make the plan: nobody is sent to an agent for one.
#[test]
fn plan_mode_is_the_clients_own() {
    for mode in ["loop", "strict"] {
        let sandbox = in_mode(mode, "");
        let session = begun(&sandbox);
        let planning = |name: &str, fields: Value| {
            let mut payload = session.payload(name, fields);
            payload["permission_mode"] = json!("plan");
            sandbox.hook(name, &payload)
        };
        let told = planning("UserPromptSubmit", json!({"prompt": "greet the world"}));
        assert!(
            !told.out.contains("prompt-hydrator") && told.out.contains("ExitPlanMode") == (mode == "strict"),
            "{told:?}"
        );
        let big = json!({"file_path": sandbox.project().join("big.txt"), "content": lines(290)});
        let call = json!({"tool_name": "Write", "tool_use_id": "t-big", "tool_input": big});
        let refused = planning("PreToolUse", call);
        refused.refused(&["has not approved the plan", "hint: finish the plan in plan mode", "ExitPlanMode"]);
        assert!(!refused.err.contains("prompt-hydrator"), "{refused:?}");
        // The way that it names works.
        let _ = plan_mode(&sandbox, &session, true, "plan", PLAN);
        put(&sandbox, &session, "big.txt", &lines(290)).silent();
    }
}

/// Until a start of the session is seen, a hook may be the one that approves it.
#[test]
fn an_approved_plan_counts_once_a_start_was_seen() {
    for mode in ["loop", "strict"] {
        let sandbox = in_mode(mode, "");
        let session = sandbox.session();
        let _ = session.prompt("greet the world");
        let _ = plan_mode(&sandbox, &session, true, "plan", PLAN);
        assert_ne!(session.state()["hydration"]["acceptance_criteria"], json!(["it greets"]), "{mode}");
        assert_eq!(put(&sandbox, &session, "big.txt", &lines(290)).code, Some(2), "{mode}");
        let _ = session.start("resume");
        let _ = plan_mode(&sandbox, &session, true, "plan", PLAN);
        put(&sandbox, &session, "big.txt", &lines(290)).silent();
    }
}

#[test]
fn an_approved_plan_may_name_its_workflow() {
    let sandbox = in_mode("strict", "");
    let session = begun(&sandbox);
    let _ = session.prompt("find the bug");
    plan_mode(&sandbox, &session, true, "plan", "Find the bug.\n\nWorkflow: `debugging`\n").silent();
    assert_eq!(session.state()["state"]["current_workflow"], "debugging");
    session.write("a.txt").silent();
}

/// Where no person was asked it is just a plan.
#[test]
fn a_plan_that_nobody_approved_opens_nothing() {
    for (attended, mode) in [(false, "plan"), (true, "bypassPermissions"), (true, "auto")] {
        let sandbox = in_mode("strict", "");
        let session = begun(&sandbox);
        let _ = session.prompt("greet the world");
        plan_mode(&sandbox, &session, attended, mode, PLAN).silent();
        session.write("a.txt").refused(&["prompt-hydrator"]);
        assert_eq!(session.state()["hydration"]["hydrated_intent"], Value::Null, "{mode}");
    }
    // Without a question of the client there was none to a person.
    let sandbox = in_mode("strict", "");
    let session = begun(&sandbox);
    let _ = session.prompt("greet the world");
    let call = session.call("ExitPlanMode", json!({}));
    session.pre(&call).silent();
    session.post(&call).silent();
    session.write("a.txt").refused(&["prompt-hydrator"]);
}

/// The project raises the mode, or a person lowers it, while a task runs.
#[test]
fn the_mode_may_change_while_a_task_runs() {
    let sandbox = in_mode("loop", "");
    let session = begun(&sandbox);
    session.prompt("add a greeting").silent();
    session.write("a.txt").silent();
    sandbox.configure("[audit]\nrate = 0.0\n");
    let _ = session.prompt("go on");
    session.write("b.txt").refused(&["prompt-hydrator"]);
    session.hydrate("minor-edit", "continue");
    assert_eq!((&session.state()["task"]["n"], &session.state()["task"]["writes"]), (&json!(1), &json!(1)));
    session.write("b.txt").silent();
    session.stop("Done.").refused(&["qa-verifier", "framework", "commit", "push"]);
    let _ = session.prompt("go on");
    sandbox.configure("[audit]\nrate = 0.0\n[mode]\nlevel = \"loop\"\n");
    session.prompt("go on, then").silent();
    let state = session.state();
    assert_eq!((&state["sandbox"], &state["task"]["n"]), (&json!("open"), &json!(1)));
    owes_only(&session.stop("Done."), &["qa-verifier"]);
    sandbox.configure("[audit]\nrate = 0.0\n[mode]\nlevel = \"guard\"\n");
    session.prompt("leave it").said(&["ended without its Stop hook"]);
    session.stop("Done.").silent();
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}
