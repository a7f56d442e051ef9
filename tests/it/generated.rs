//! Generated files are nobody's work: a virtual environment and `node_modules` in a repository without a
//! `.gitignore`.

use crate::support::Sandbox;
use serde_json::json;

fn in_mode(level: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(&format!(
        "[audit]\nrate = 0.0\n[mode]\nlevel = \"{level}\"\n[gates]\ncommit = \"enforce\"\n"
    ));
    sandbox
}

/// A shell line that a session runs, as unknown to us as `pip install` is.
const MAKES: &str = "sh make.sh";
const SCRIPT: &str = "for n in $(seq 40); do mkdir -p .venv/lib/p$n node_modules/p$n/dist sub/__pycache__ target/debug\n\
    seq 50 > .venv/lib/p$n/m.py; seq 50 > node_modules/p$n/dist/i.js; seq 9 > sub/__pycache__/m$n.pyc; seq 9 > target/debug/o$n\ndone\n\
    mkdir -p .pytest_cache coverage .cache dist build && seq 900 | tee app.sqlite3 app.db-wal dist/x build/x coverage/x .cache/x .pytest_cache/x > .coverage\n";

fn checkpoint_files(sandbox: &Sandbox) -> Vec<String> {
    let id = sandbox.person(&["checkpoint", "create", "--json"]).json()["id"].as_str().unwrap().to_owned();
    let shown = sandbox.person(&["checkpoint", "show", &id, "--json"]).json();
    let files = shown["artifacts"]["files"].as_array().or(shown["files"].as_array()).unwrap().clone();
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn generated_files_are_nobodys_work() {
    for mode in ["loop", "strict"] {
        let sandbox = in_mode(mode);
        sandbox.put("make.sh", SCRIPT);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", "script"]);
        sandbox.git(&["push", "-q"]);
        let session = sandbox.begun("set it up");
        session.hydrate("minor-edit", "new");
        session.bash(MAKES);
        if mode == "loop" {
            assert_eq!(session.state()["task"]["writes"], 0, "nothing that counts was changed");
        }
        session.write("a.txt").silent();
        session.qa("VERIFIED").silent();
        session.reflect().silent();
        let stop = session.stop("Done.");
        stop.refused(&["`commit`", "a.txt"]);
        for made in [".venv", "node_modules", "target", "dist", "app.", "cache"] {
            assert!(!stop.reason().contains(made), "{mode}: {made} in {}", stop.reason());
        }
        assert_eq!(checkpoint_files(&sandbox), ["README.md", "a.txt", "make.sh"], "{mode}");
        session.bash("git add a.txt && git commit -q -m a && git push -q");
        session.stop("Done.").silent();
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// A task that made them alone owes nothing and is small, also by edits.
#[test]
fn generated_files_have_no_weight() {
    let sandbox = in_mode("loop");
    sandbox.put("make.sh", SCRIPT);
    let session = sandbox.begun("set it up");
    session.bash(MAKES);
    session.write("node_modules/p1/patch.js").silent();
    let state = session.state();
    assert_eq!((&state["task"]["writes"], &state["sandbox"]), (&json!(0), &json!("open")));
    session.stop("Done.").silent();
    // No two sessions wait for each other there.
    let (one, two) = (sandbox.begun("build"), sandbox.begun("build"));
    one.write("dist/out.js").silent();
    two.write("dist/out.js").silent();
}

#[test]
fn what_git_tracks_is_work_whatever_its_folder_is_called() {
    let sandbox = in_mode("loop");
    for name in ["dist/kept.js", "build/.gitkeep", "src/build/mod.rs"] {
        sandbox.put(name, "1\n");
    }
    sandbox.git(&["add", "-Af"]);
    sandbox.git(&["commit", "-q", "-m", "kept"]);
    let session = sandbox.begun("change it");
    let writes = || session.state()["task"]["writes"].clone();
    for (n, name) in ["dist/kept.js", "dist/new.js", "src/build/new.rs"].into_iter().enumerate() {
        session.write(name).silent();
        assert_eq!(writes(), 2 * n + 1, "{name}");
        session.bash(&format!("sh -c 'echo x >> {name}'"));
        assert_eq!(writes(), 2 * n + 2, "{name}");
    }
    session.bash("sh -c 'echo x > build/out'");
    assert_eq!(writes(), 6, "the folder is kept, its content is generated");
    let kept = checkpoint_files(&sandbox);
    for name in ["dist/kept.js", "dist/new.js", "src/build/new.rs", "build/.gitkeep"] {
        assert!(kept.iter().any(|path| path == name), "{name} in {kept:?}");
    }
    assert!(!kept.iter().any(|path| path == "build/out"), "{kept:?}");
    session.hydrate("minor-edit", "continue");
    session.write("a.txt").silent();
    session.qa("VERIFIED").silent();
    session.stop("Done.").refused(&["`commit`", "dist/kept.js", "dist/new.js", "src/build/new.rs"]);
}

/// A virtual environment is known by its `pyvenv.cfg`, whatever its name; without one a folder is a folder.
#[test]
fn a_virtual_environment_of_any_name_is_nobodys_work() {
    const ENVIRONMENT: &str = "for d in env tools/myenv; do mkdir -p $d/lib/p && echo 'home = /usr/bin' > $d/pyvenv.cfg\n\
        for n in $(seq 60); do seq 50 > $d/lib/p/m$n.py; done\ndone\n";
    for mode in ["loop", "strict"] {
        let sandbox = in_mode(mode);
        sandbox.put("make.sh", ENVIRONMENT);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", "script"]);
        sandbox.git(&["push", "-q"]);
        let session = sandbox.begun("set it up");
        if mode == "strict" {
            session.hydrate("minor-edit", "new");
        }
        session.bash(MAKES);
        session.write("a.txt").silent();
        if mode == "loop" {
            assert_eq!(session.state()["sandbox"], "open");
            session.hydrate("minor-edit", "new");
        }
        session.qa("VERIFIED").silent();
        session.reflect().silent();
        session.stop("Done.").refused(&["by name: a.txt"]);
        let stop = session.stop("Done.");
        assert!(!stop.reason().contains("env"), "{mode}: {}", stop.reason());
        assert_eq!(checkpoint_files(&sandbox), ["README.md", "a.txt", "make.sh"], "{mode}");
        session.bash("git add a.txt && git commit -q -m a && git push -q");
        session.stop("Done.").silent();
        // The next session finds it there, and takes it away again.
        if mode == "loop" {
            let next = sandbox.begun("remove it");
            next.bash("rm -rf env tools");
            assert_eq!(
                (&next.state()["task"]["writes"], &next.state()["sandbox"]),
                (&json!(0), &json!("open"))
            );
        }
    }
}
