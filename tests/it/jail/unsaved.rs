//! A command whose result is gone says so, to the model and the person; one that only made caches says
//! nothing.

use super::world::Jailed;
use serde_json::json;

const WHY: &str = "ran in a throwaway layer because this task has no plan yet.";
const NEXT: &str = "Start prompt-hydrator, then run it again.";

fn world() -> Jailed {
    let world = Jailed::new();
    world.sandbox.put("Makefile", "build:\n\t@mkdir -p out && echo app > out/app && echo built\n");
    world.sandbox.put(".gitignore", "out/\n*.gen\n");
    world.sandbox.put("a.py", "x=1\n");
    world.sandbox.put("b.py", "y = 1\n");
    world.sandbox.git(&["init", "-q"]);
    world
}

#[test]
fn a_build_that_is_gone_is_said_to_the_model_each_time_and_to_the_person_once() {
    let world = world();
    let session = world.prompted();
    let words = format!("Not saved: \"make build\" {WHY} out/app is gone.");
    let ran = session.ran("make build");
    assert_eq!(
        (ran.out.as_str(), ran.told.as_str()),
        ("built\n", format!("{words} {NEXT}").as_str()),
        "{ran:?}"
    );
    assert!(ran.noticed.starts_with(&words), "{ran:?}");
    assert_eq!(
        ran.step["end"]["under"]["jailed"]["lost"]["files"],
        json!([{"loss": "made", "path": "out/app"}]),
        "{ran:?}"
    );
    let again = session.ran("make build");
    assert_eq!((again.told, again.noticed.as_str()), (ran.told, ""));
    // The next task's person is told again.
    let _ = session.inner.prompt("and now build it");
    assert!(session.ran("make build").noticed.starts_with(&words));
    let log = world.sandbox.person(&["log", &session.inner.id]);
    log.said(&["not saved", "make build", "out/app is gone."]);
    world
        .sandbox
        .person(&["insights", &session.inner.id])
        .said(&["3 completed, 0 failed, 0 denied, 3 not saved"]);
    // Its own advice works.
    session.inner.hydrate("minor-edit", "new");
    let ran = session.ran("make build");
    assert_eq!((ran.told.as_str(), ran.profile().as_str()), ("", "work"), "{ran:?}");
    assert!(world.project().join("out/app").exists());
}

/// A whole folder of packages is one name, also with hundreds of files in it.
#[test]
fn a_generated_folder_that_is_gone_is_one_name() {
    let world = world();
    world.sandbox.put(
        "install.sh",
        "for n in $(seq 60); do mkdir -p node_modules/p$n .venv/lib/p$n; echo x > node_modules/p$n/i.js\n\
         echo x > .venv/lib/p$n/a.py; done; mkdir -p web/dist empty/build; echo x > web/dist/app.js\n",
    );
    let session = world.prompted();
    let ran = session.ran("sh install.sh");
    let words = format!(
        "Not saved: \"sh install.sh\" {WHY} .venv/, node_modules/ and web/dist/app.js are gone. {NEXT}"
    );
    assert_eq!(ran.told, words, "{ran:?}");
    // In a folder that is there, it is the file.
    world.sandbox.put("node_modules/p1/i.js", "x\n");
    let ran = session.ran("sh install.sh");
    assert!(ran.told.contains(".venv/, node_modules/p10/i.js, "), "{ran:?}");
}

#[test]
fn a_formatter_a_migration_and_a_command_that_fails_say_what_is_gone() {
    let world = world();
    world
        .sandbox
        .put("format.py", "open('a.py', 'w').write('x = 1\\n'); open('b.py', 'w').write('y = 1\\n')\n");
    world.sandbox.put(
        "migrate.py",
        "import sqlite3\ndb = sqlite3.connect('db.sqlite3'); db.execute('create table t(x)'); db.commit()\n",
    );
    world.sandbox.put("fix.py", "open('a.py', 'w').write('x = 2\\n'); raise SystemExit(1)\n");
    let session = world.prompted();
    // What was written anew with the same bytes is not lost.
    let ran = session.ran("python3 format.py");
    assert_eq!(
        ran.told,
        format!("Not saved: \"python3 format.py\" {WHY} The changes to a.py are gone. {NEXT}")
    );
    let ran = session.ran("python3 migrate.py");
    assert!(ran.told.contains("db.sqlite3 is gone."), "{ran:?}");
    let ran = session.ran("python3 fix.py");
    assert!(ran.code == Some(1) && ran.told.contains("The changes to a.py are gone."), "{ran:?}");
    // A commit of a script.
    world.sandbox.git(&["config", "user.email", "a@b.c"]);
    world.sandbox.git(&["config", "user.name", "a"]);
    world.sandbox.put("save.sh", "git add -A && git commit -qm all\n");
    let ran = session.ran("sh save.sh");
    assert!(ran.told.contains(".git/") && ran.told.contains("refs/heads/"), "{ran:?}");
}

#[test]
fn a_test_run_that_made_only_by_products_says_nothing() {
    let world = world();
    world.sandbox.put("test_a.py", "import b\n\ndef test_b():\n    assert b.y == 1\n");
    world.sandbox.put(
        "check.py",
        "import os, b\n\
         for path in ['.pytest_cache/v', 'target/debug/deps', 'coverage', 'src']: os.makedirs(path, exist_ok=True)\n\
         for path in ['.pytest_cache/v/x', 'target/debug/app', 'coverage/index.html', 'junit.xml', 'src/a.gen']: open(path, 'w')\n",
    );
    world
        .sandbox
        .put("Makefile", "test:\n\t@python3 check.py && echo tested\nsnap: test\n\t@echo x > new.snap\n");
    let session = world.prompted();
    for line in ["make test", "make -s test 2>&1 | tail -3", "python3 -c 'import b'"] {
        let ran = session.ran(line);
        assert_eq!((ran.code, ran.told.as_str(), ran.noticed.as_str()), (Some(0), "", ""), "{line}: {ran:?}");
        assert_eq!(ran.profile(), "trial");
    }
    // Nothing is lost that anybody would miss, but whoever reads the log knows where it ran.
    let log = world.sandbox.person(&["log", &session.inner.id]).out;
    assert_eq!(
        log.lines().filter(|line| line.contains(" done ") && line.contains("[throwaway layer]")).count(),
        3,
        "{log}"
    );
    // The same files are results of something else, and what is neither made again nor ignored is always one.
    let ran = session.ran("make -s -f Makefile snap");
    assert!(ran.told.contains("new.snap") && ran.told.contains("target/debug/app"), "{ran:?}");
    world.sandbox.put("Makefile", "test:\n\t@echo x > new.snap\n");
    assert!(session.ran("make test").told.contains("new.snap is gone."));
}

/// Temporary files are nobody's; what the line prints there is named, since the layer takes it along.
#[test]
fn an_unknown_command_may_print_into_a_temporary_file() {
    let world = world();
    world.sandbox.put("say.py", "print('hello')\n");
    let session = world.prompted();
    let out = world.sandbox.tmp().join("out.txt").display().to_string();
    let ran = session.ran(&format!("python3 say.py > {out} && cat {out}"));
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.profile().as_str()),
        (Some(0), "hello\n", "trial"),
        "{ran:?}"
    );
    assert!(ran.told.contains(&format!("{out} is gone.")) && ran.told.ends_with(NEXT), "{ran:?}");
    assert!(!std::path::Path::new(&out).exists());
    for line in ["python3 say.py > out.txt", "python3 say.py > ~/out.txt", "python3 say.py > \"$OUT\""] {
        session.inner.ask_bash(line).refused(&["plan"]);
    }
}

/// A layer has no network, and nothing in the command's own words says so.
#[test]
fn a_command_that_fails_without_the_network_says_why() {
    let world = world();
    let ask = "import socket\nsocket.create_connection(('example.org', 80))\n";
    world.sandbox.put("ask.py", ask);
    world.sandbox.put("broken.py", "raise SystemExit('no such key')\n");
    let session = world.prompted();
    let failed = |line: &str, error: &str, agent: Option<(&str, &str)>| {
        let mut call = session.inner.call("Bash", json!({"command": line}));
        if let Some((id, kind)) = agent {
            call = call.by(id, kind);
        }
        session.inner.pre(&call).silent();
        session.keeper();
        let ran = session.line(line).output().unwrap();
        assert!(!ran.status.success(), "{ran:?}");
        session.inner.fail(&call, &format!("Exit code 1\n{error}"))
    };
    let unreached = "socket.gaierror: [Errno -3] Temporary failure in name resolution";
    let words = "No network: \"python3 ask.py\" failed in a throwaway layer, which has none";
    let said = failed("python3 ask.py", unreached, None).json();
    let because = format!("{words}, because this task has no plan yet.");
    let to_model = |said: &serde_json::Value| said["hookSpecificOutput"]["additionalContext"].clone();
    assert_eq!(to_model(&said), format!("{because} {NEXT}"), "{said}");
    assert!(said["systemMessage"].as_str().unwrap().starts_with(&because), "{said}");
    let again = failed("python3 ask.py", unreached, None).json();
    assert_eq!((to_model(&again), again["systemMessage"].clone()), (to_model(&said), json!(null)));
    // What the network does not explain is the command's own failure.
    failed("python3 broken.py", "no such key", None).silent();
    session.inner.hydrate("minor-edit", "new");
    let _ = session.inner.begin_agent("a1", "qa-verifier");
    let _ = session.inner.prompt("go on");
    let said = failed("python3 ask.py", unreached, Some(("a1", "qa-verifier"))).json();
    let told = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.starts_with(&format!("{words}, like every command of `qa-verifier`.")), "{said}");
    assert!(told.contains("name in your report what you could not try"), "{said}");
    assert!(said["systemMessage"].as_str().unwrap().contains("`[jail] test_network = true`"), "{said}");
    world.sandbox.person(&["verify", &session.inner.id]).said(&["intact"]);
}

/// A command that makes its own jail says the same.
#[test]
fn the_same_is_said_where_no_jail_waits() {
    let world = world();
    let session = world.prompted();
    let call = session.inner.call("Bash", json!({"command": "make build"}));
    session.inner.pre(&call).silent();
    session.keeper();
    std::fs::remove_file(session.prepared()).unwrap();
    assert!(session.line("make build").output().unwrap().status.success());
    let said = session.inner.post(&call).json();
    assert_eq!(said["decision"], "block", "{said}");
    assert!(said["reason"].as_str().unwrap().contains("out/app is gone."), "{said}");
}

/// What a reviewer tries out is meant to be gone: it learns so, and the person is not bothered.
#[test]
fn a_reviewer_is_told_without_a_next_step() {
    let world = world();
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let _ = session.inner.begin_agent("a1", "qa-verifier");
    let ran = session.ran_by("make build", Some(("a1", "qa-verifier")));
    assert_eq!(ran.profile(), "trial", "{ran:?}");
    assert!(ran.told.contains("like every command of `qa-verifier`. out/app is gone."), "{ran:?}");
    assert!(ran.noticed.is_empty() && !ran.told.contains("Start"), "{ran:?}");
}
