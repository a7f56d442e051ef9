//! What a line would lose is kept before it runs, and the line passes without a question.

use crate::support::{Answer, Call, NO_TRACKER, Sandbox, Session};
use aops_core::undo::look::{Bounds, Place, Unkept, look as look_at};
use aops_shell::loss::losses;
use aops_shell::syntax::{Ground, cut};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

fn guarded() -> Sandbox {
    let sandbox = Sandbox::repository("0").with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    sandbox.configure(&format!("{NO_TRACKER}[mode]\nlevel = \"guard\"\n"));
    for (name, text) in
        [("a.txt", "one\n"), ("b.txt", "two\n"), ("src/c.txt", "three\n"), (".gitignore", ".env\n*.db\n")]
    {
        sandbox.put(name, text);
    }
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "more"]);
    sandbox
}

fn begun(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("go");
    session
}

fn decision(answer: &Answer) -> Value {
    let json: Value = serde_json::from_str(&answer.out).unwrap_or_default();
    json["hookSpecificOutput"]["permissionDecision"].clone()
}

/// Asks about the line, runs it, and reports its end. What the model reads then.
fn run(session: &Session, sandbox: &Sandbox, line: &str) -> String {
    let call = session.call("Bash", json!({"command": line}));
    let said = session.pre(&call);
    assert_eq!(decision(&said), Value::Null, "{line}: {}", said.out);
    let _ = sandbox.command("bash").args(["-c", line]).current_dir(sandbox.project()).output().unwrap();
    end(session, &call)
}

fn end(session: &Session, call: &Call) -> String {
    let json: Value = serde_json::from_str(&session.post(call).out).unwrap_or_default();
    json["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// The newest keeping.
fn newest(sandbox: &Sandbox) -> Value {
    let shelf = sandbox.project().join(".claude/checkpoints/kept");
    let numbers = fs::read_dir(&shelf)
        .map(|all| all.filter_map(|one| one.ok()?.file_name().to_str()?.parse::<u64>().ok()));
    let newest = numbers.into_iter().flatten().max().unwrap_or_default();
    let text = fs::read_to_string(shelf.join(format!("{newest}/kept.json")));
    text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

fn files(keeping: &Value, sandbox: &Sandbox) -> Vec<String> {
    let root = sandbox.project().canonicalize().unwrap();
    let name = |file: &Value| {
        let path = file["path"].as_str().unwrap();
        path.strip_prefix(root.to_str().unwrap()).unwrap_or(path).trim_start_matches('/').to_owned()
    };
    keeping["files"].as_array().into_iter().flatten().map(name).collect()
}

/// With a slash at its end the link is followed, by `rm` and by `cp`.
#[test]
fn behind_a_link_that_is_followed_the_files_are_kept() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    for (line, link, lost) in [
        ("rm -rf link/", "link", "real/u"),
        ("rm -rf link/.", "link", "real/u"),
        ("rm -rf */link/", "sub/link", "real/u"),
        ("cp -r source/. link/", "link", "real/u"),
        ("cp -r source/. real", "link", "real/u"),
    ] {
        let _ = fs::remove_dir_all(sandbox.project().join("real"));
        sandbox.put("real/u", "mine\n");
        sandbox.put("source/u", "other\n");
        sandbox.put("sub/x", "x\n");
        let link = sandbox.project().join(link);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(sandbox.project().join("real"), &link).unwrap();
        let said = run(&session, &sandbox, line);
        assert!(said.starts_with("kept as "), "{line}: {said}");
        assert!(files(&newest(&sandbox), &sandbox).contains(&lost.to_owned()), "{line}");
    }
    // Without it the link itself goes, and nothing behind it.
    let said = run(&session, &sandbox, "rm -rf link");
    assert!(said.contains("1 file, 0 bytes"), "{said}");
}

/// Git compares what its filter leaves of a file: what that strips is in no commit.
#[test]
fn a_file_that_a_filter_strips_is_kept_as_it_is() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.git(&["config", "filter.strip.clean", "grep -v output || true"]);
    sandbox.put(".gitattributes", "*.ipynb filter=strip\n");
    sandbox.put("n.ipynb", "cell\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "notebook"]);
    sandbox.put("n.ipynb", "cell\noutput\n");
    sandbox.git(&["add", "."]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "git sees no change");
    let said = run(&session, &sandbox, "rm n.ipynb");
    assert!(said.starts_with("kept as "), "{said}");
    sandbox.person(&["undo", "--yes"]).said(&["brought back"]);
    assert_eq!(fs::read_to_string(sandbox.project().join("n.ipynb")).unwrap(), "cell\noutput\n");
}

/// Conflicts that were resolved by hand, and a branch that is pointed elsewhere.
#[test]
fn what_an_abort_drops_and_a_branch_that_is_made_anew_are_kept() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.put("a.txt", "theirs\n");
    sandbox.git(&["commit", "-qam", "theirs"]);
    sandbox.git(&["checkout", "-q", "-"]);
    sandbox.put("a.txt", "ours\n");
    sandbox.git(&["commit", "-qam", "ours"]);
    for verb in ["merge", "cherry-pick", "rebase"] {
        let _ = sandbox.command("git").args([verb, "other"]).output().unwrap();
        sandbox.put("a.txt", "resolved\n");
        let said = run(&session, &sandbox, &format!("git {verb} --abort"));
        assert!(said.starts_with("kept as "), "{verb}: {said}");
        assert!(files(&newest(&sandbox), &sandbox).contains(&"a.txt".to_owned()), "{verb}");
    }
    for line in ["git checkout --ours a.txt", "git checkout -q --theirs -- a.txt", "git restore --ours a.txt"]
    {
        let _ = sandbox.command("git").args(["merge", "other"]).output().unwrap();
        sandbox.put("a.txt", "resolved\n");
        let said = run(&session, &sandbox, line);
        assert!(said.starts_with("kept as "), "{line}: {said}");
        assert!(files(&newest(&sandbox), &sandbox).contains(&"a.txt".to_owned()), "{line}");
        sandbox.git(&["merge", "--abort"]);
    }
    for line in ["git checkout -q -B other HEAD~1", "git switch -q -C other HEAD~1"] {
        sandbox.git(&["switch", "-q", "-C", "other", "HEAD"]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "named by this branch alone"]);
        let said = run(&session, &sandbox, line);
        assert!(said.starts_with("kept as "), "{line}: {said}");
        assert_eq!(newest(&sandbox)["repositories"][0]["refs"][0][0], "refs/heads/other", "{line}");
    }
    assert_eq!(run(&session, &sandbox, "git checkout -q -B fresh"), "", "there was no such branch");
}

/// A forced refspec points a local branch at another commit, like `branch -f`.
#[test]
fn a_branch_that_a_fetch_moves_is_kept() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    for line in ["git fetch -q . +main:other", "git fetch -q --force . main:refs/heads/other"] {
        sandbox.git(&["checkout", "-q", "other"]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "named by this branch alone"]);
        let tip = sandbox.git(&["rev-parse", "other"]);
        sandbox.git(&["checkout", "-q", "main"]);
        let said = run(&session, &sandbox, line);
        assert!(said.starts_with("kept as "), "{line}: {said}");
        assert_ne!(sandbox.git(&["rev-parse", "other"]), tip, "{line} ran");
        sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
        sandbox.git(&["gc", "-q", "--prune=now"]);
        sandbox.person(&["undo", "--yes"]).said(&["other"]);
        assert_eq!(sandbox.git(&["rev-parse", "other"]), tip, "{line}");
    }
    // A pull changes files as well, and a pattern names no branch.
    for line in ["git pull . +main:other", "git fetch . '+refs/heads/*:refs/heads/*'"] {
        assert_eq!(decision(&session.ask_bash(line)), "ask", "{line}");
    }
    for line in ["git fetch . main:fresh", "git fetch . +main:refs/remotes/x/main"] {
        session.ask_bash(line).silent();
    }
}

/// What a submodule has that is in no commit of its own.
#[test]
fn a_forced_update_of_submodules_is_asked_about_where_it_loses_something() {
    let sandbox = guarded();
    let other = sandbox.tmp().join("other");
    let at = |arguments: &[&str]| {
        let done = sandbox.command("git").args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    };
    at(&["clone", "-q", ".", other.to_str().unwrap()]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", other.to_str().unwrap(), "sub"];
    at(&add);
    sandbox.git(&["commit", "-qm", "submodule"]);
    let session = begun(&sandbox);
    let line = "git submodule update --init --force";
    session.ask_bash(line).silent();
    sandbox.put("sub/a.txt", "mine\n");
    assert_eq!(decision(&session.ask_bash(line)), "ask");
    assert_eq!(decision(&session.ask_bash("git submodule update -f sub")), "ask");
    session.ask_bash("git submodule update --init").silent();
}

/// The file that was moved over another one comes back to its place, and so does the other.
#[test]
fn a_move_over_a_file_is_undone_at_both_places() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    let text = |name: &str| fs::read_to_string(sandbox.project().join(name)).unwrap_or_default();
    sandbox.put("into/u1", "older\n");
    for (line, from, over) in
        [("mv u1 u2", "u1", "u2"), ("mv -f u1 into", "u1", "into/u1"), ("mv a.txt u2", "a.txt", "u2")]
    {
        sandbox.put(from, "one\n");
        sandbox.put(over, "two\n");
        let said = run(&session, &sandbox, line);
        assert!(said.starts_with("kept as "), "{line}: {said}");
        assert_eq!((text(from), text(over)), (String::new(), "one\n".to_owned()), "{line} ran");
        let undone = sandbox.person(&["undo", "--yes"]);
        assert_eq!(undone.code, Some(0), "{line}: {undone:?}");
        assert_eq!((text(from), text(over)), ("one\n".to_owned(), "two\n".to_owned()), "{line}");
    }
    // Nothing is replaced, so nothing is kept.
    sandbox.put("u1", "one\n");
    assert_eq!(run(&session, &sandbox, "mv u1 u3"), "");
}

#[test]
fn what_git_would_discard_is_kept() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    for line in ["git checkout -- a.txt", "git restore a.txt", "git checkout a.txt", "git reset --hard"] {
        sandbox.put("a.txt", "mine\n");
        let said = run(&session, &sandbox, line);
        assert!(
            said.contains("kept as ") && said.contains("1 file, 5 bytes") && said.contains("aops-hook undo"),
            "{line}: {said}"
        );
        let keeping = newest(&sandbox);
        assert_eq!(files(&keeping, &sandbox), ["a.txt"], "{line}");
        assert_eq!(keeping["rule"], "git-discard");
        assert_eq!(fs::read_to_string(sandbox.project().join("a.txt")).unwrap(), "one\n", "{line} ran");
    }
    assert_eq!(run(&session, &sandbox, "git reset --hard"), "", "nothing was lost, and nothing is said");
}

#[test]
fn files_in_no_commit_are_kept_without_any_rule() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    let before = [(".env", "KEY=1\n"), ("notes/x.txt", "n\n"), ("data.csv", "1,2\n"), ("app.db", "rows\n")];
    let databases = [("data/mine.sqlite3", "rows\n"), ("data/all.dump", "rows\n")];
    for (line, kept) in [
        ("rm -rf notes", &["notes/x.txt"][..]),
        ("rm data.csv", &["data.csv"]),
        ("rm *.csv", &["data.csv"]),
        ("echo X > .env", &[".env"]),
        ("printf X | tee .env", &[".env"]),
        ("cp a.txt .env", &[".env"]),
        ("mv b.txt .env", &[".env"]),
        ("sed -i s/KEY/NO/ .env", &[".env"]),
        ("truncate -s 0 app.db", &["app.db"]),
        ("cd notes && rm x.txt", &["notes/x.txt"]),
        ("rm app.db", &["app.db"]),
        ("rm -rf app.db", &["app.db"]),
        ("rm *.db", &["app.db"]),
        ("rm app.db notes/x.txt", &["app.db", "notes/x.txt"]),
        ("rm -rf data", &["data/all.dump", "data/mine.sqlite3"]),
        ("echo > app.db", &["app.db"]),
        ("rm -rf $(pwd)/notes", &["notes/x.txt"]),
        ("rm -rf \"$(git rev-parse --show-toplevel)/notes\"", &["notes/x.txt"]),
        ("cd src && rm -rf \"$(git rev-parse --show-toplevel)/notes\"", &["notes/x.txt"]),
        ("cd $(git rev-parse --show-toplevel) && rm data.csv", &["data.csv"]),
        ("cd \"$(pwd)/notes\" && rm x.txt", &["notes/x.txt"]),
        ("cd \"$X\" && rm data.csv", &["data.csv"]),
    ] {
        sandbox.git(&["checkout", "-q", "--", "."]);
        for (name, text) in before.into_iter().chain(databases) {
            sandbox.put(name, text);
        }
        let said = run(&session, &sandbox, line);
        let keeping = newest(&sandbox);
        assert_eq!(files(&keeping, &sandbox), kept, "{line}: {said}");
        assert!(said.contains("kept as"), "{line}: {said}");
    }
}

/// A file that is read as program may give any name another meaning. What the words say is kept all the same.
#[test]
fn what_stands_beside_a_sourced_file_is_kept_by_its_words() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    for name in ["setup.sh", "venv/bin/activate", "f"] {
        sandbox.put(name, ": set up\n");
    }
    let before = [
        (".env", "KEY=1\n"),
        ("notes/x.txt", "n\n"),
        ("data.csv", "1,2\n"),
        ("a.txt", "mine\n"),
        ("b.txt", "two\n"),
    ];
    for (line, kept) in [
        ("source setup.sh; echo x > .env", &[".env"][..]),
        (". venv/bin/activate && rm -rf notes", &["notes/x.txt"]),
        ("rm -rf notes && . venv/bin/activate", &["notes/x.txt"]),
        ("set -a; . ./.env; set +a; rm data.csv", &["data.csv"]),
        ("eval \"$(direnv hook bash)\"; rm data.csv", &["data.csv"]),
        (". ./setup.sh; git checkout -- .", &["a.txt"]),
        ("git reset --hard; . ./f", &["a.txt"]),
        ("source venv/bin/activate && cd src && git checkout -- ../a.txt", &["a.txt"]),
    ] {
        for (name, text) in before {
            sandbox.put(name, text);
        }
        let said = run(&session, &sandbox, line);
        assert_eq!(files(&newest(&sandbox), &sandbox), kept, "{line}: {said}");
        assert!(said.contains("kept as"), "{line}: {said}");
    }
    // What the words do not say is asked about.
    sandbox.put("a.txt", "mine\n");
    for line in [". ./setup.sh; cp .env \"$TARGET\"", ". ./setup.sh; eval \"$X\"; git checkout -- ."] {
        assert_eq!(decision(&session.ask_bash(line)), "ask", "{line}");
    }
}

/// Its main repository is gone, so git tells nothing: all of it may be the only copy.
#[test]
fn where_git_fails_everything_is_kept() {
    let sandbox = guarded();
    fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
    sandbox.put(".git", "gitdir: ../gone/.git/worktrees/project\n");
    let session = begun(&sandbox);
    for (line, kept) in [
        ("rm -rf notes", &["notes/deep/y.txt", "notes/x.txt"][..]),
        ("rm notes/x.txt", &["notes/x.txt"]),
        ("echo X > .env", &[".env"]),
        ("rm -rf notes node_modules", &["notes/deep/y.txt", "notes/x.txt"]),
    ] {
        for name in ["notes/x.txt", "notes/deep/y.txt", ".env", "src/c.txt", "node_modules/a/index.js"] {
            sandbox.put(name, "mine\n");
        }
        let said = run(&session, &sandbox, line);
        assert_eq!(files(&newest(&sandbox), &sandbox), kept, "{line}: {said}");
        assert!(said.contains("kept as"), "{line}: {said}");
    }
    let said = session.ask_bash("git checkout -- .");
    assert_eq!(decision(&said), "ask", "{}", said.out);
    assert!(said.out.contains("git could not tell"), "{}", said.out);
}

/// In the place of `crontab`, with its table in a file.
const CRONTAB: &str = "#!/bin/sh\ncase \"$1\" in\n\
    -l) [ -s ~/table ] && exec cat ~/table; echo 'no crontab for me' >&2; exit 1;;\n\
    -r) rm -f ~/table;;\n-) cat > ~/table;;\n*) cat \"$1\" > ~/table;;\nesac\n";

/// A new table starts commands, so a person is asked; the old one comes back, or none.
#[test]
fn the_table_of_crontab_is_kept() {
    let sandbox = guarded();
    let bin = sandbox.tmp().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("crontab"), CRONTAB).unwrap();
    fs::set_permissions(bin.join("crontab"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), crate::support::path().to_string_lossy());
    let sandbox = sandbox.with("PATH", path);
    let table = sandbox.home().join("table");
    sandbox.put("new.txt", "1 * * * * new\n");
    let session = begun(&sandbox);
    for line in ["crontab -r", "crontab new.txt", "cat new.txt | crontab -"] {
        fs::write(&table, "0 * * * * old\n").unwrap();
        let call = session.call("Bash", json!({"command": line}));
        assert_eq!(decision(&session.pre(&call)), "ask", "{line}");
        let _ = sandbox.command("bash").args(["-c", line]).output().unwrap();
        let said = end(&session, &call);
        assert!(said.contains("the table of `crontab`"), "{line}: {said}");
        let left = fs::read_to_string(&table).ok();
        assert_ne!(left.as_deref(), Some("0 * * * * old\n"), "{line}");
        let number = said.split("kept as ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
        let now = || fs::read_to_string(&table).ok();
        let present = crate::undo::brought(&sandbox, number);
        assert_eq!(now().as_deref(), Some("0 * * * * old\n"), "{line}");
        crate::undo::brought(&sandbox, present);
        assert_eq!(now(), left, "{line}");
    }
    fs::remove_file(&table).unwrap();
    let call = session.call("Bash", json!({"command": "crontab new.txt"}));
    let _ = session.pre(&call);
    assert_eq!(end(&session, &call), "", "there was none");
}

/// They hold nothing that could be kept, and that is said.
#[test]
fn pipes_and_sockets_are_named() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.put("run/x.txt", "x\n");
    let _socket = std::os::unix::net::UnixListener::bind(sandbox.project().join("run/s.sock")).unwrap();
    drop(sandbox.command("mkfifo").arg(sandbox.project().join("run/pipe")).assert().success());
    let said = run(&session, &sandbox, "rm -rf run");
    assert!(said.contains("1 file, 2 bytes") && said.contains("not 2 pipes or sockets"), "{said}");
    sandbox.person(&["undo", "list"]).said(&["not 2 pipes or sockets"]);
    sandbox.put("run/y.txt", "y\n");
    assert!(!run(&session, &sandbox, "rm -rf run").contains("pipe"));
    // Alone there is nothing to bring back, and nothing is said.
    drop(sandbox.command("mkfifo").arg(sandbox.project().join("pipe")).assert().success());
    assert_eq!(run(&session, &sandbox, "rm pipe"), "");
    assert!(!sandbox.project().join("pipe").exists());
}

/// Many changed files: their contents are one file beside what lists them.
#[test]
fn many_copies_are_one_file_and_come_back() {
    let sandbox = guarded();
    let noise: String = (0..9_000_u64).map(|n| char::from(33 + (n * n * 31 % 89) as u8)).collect();
    let contents = |edit: &str| {
        let small = (0..40).map(|n| (format!("many/{n}.txt"), format!("{edit} {n}\n").repeat(n + 1)));
        let large = ("large.txt".to_owned(), format!("{edit}{}", "x".repeat(2 << 20)));
        small.chain([large, ("noise.txt".to_owned(), format!("{edit}{noise}"))]).collect::<Vec<_>>()
    };
    let put = |edit: &str| contents(edit).iter().for_each(|(name, text)| drop(sandbox.put(name, text)));
    put("committed");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "many"]);
    put("edited");
    let tool = sandbox.project().join("many/7.txt");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(sandbox.project().join("many/8.txt")).unwrap();
    let session = begun(&sandbox);
    assert!(run(&session, &sandbox, "git checkout -- .").contains("kept as 1: 41 files"));
    let kept = sandbox.project().join(".claude/checkpoints/kept/1");
    let mut names: Vec<_> = fs::read_dir(&kept).unwrap().map(|one| one.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["kept.json", "left.json", "pack"]);
    assert_eq!(newest(&sandbox)["schema"], 2, "an earlier build does not know it");
    sandbox.person(&["undo", "show", "1", "--files"]).said(&["many/39.txt"]);
    sandbox.person(&["undo", "show", "1", "--diff"]).said(&["+edited 39"]);
    // Nothing is begun that cannot be finished.
    let pack = fs::read(kept.join("pack")).unwrap();
    let mut damaged = pack.clone();
    damaged[pack.len() / 2] ^= 1;
    for (bytes, why) in [(&damaged[..], "damaged"), (&pack[..9], "missing")] {
        fs::write(kept.join("pack"), bytes).unwrap();
        let said = sandbox.person(&["undo", "1", "--yes"]);
        assert!(said.code != Some(0) && said.err.contains(&format!("its content is {why}")), "{said:?}");
        assert!(fs::read_to_string(&tool).unwrap().starts_with("committed 7"));
    }
    fs::write(kept.join("pack"), &pack).unwrap();
    let is_back = |folder: &Path| {
        for (name, text) in contents("edited") {
            let there = fs::read_to_string(folder.join(&name)).ok();
            assert_eq!(there, Some(text).filter(|_| name != "many/8.txt"), "{name}");
        }
        let about = folder.join("many/7.txt").metadata().unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o755);
    };
    let aside = sandbox.tmp().join("aside");
    assert_eq!(sandbox.person(&["undo", "1", "--to", aside.to_str().unwrap()]).code, Some(0));
    is_back(&aside);
    let said = sandbox.person(&["undo", "1", "--yes"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    is_back(&sandbox.project());
    // The undo can be taken back as well.
    let said = sandbox.person(&["undo", "2", "--yes"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(fs::read_to_string(&tool).unwrap().starts_with("committed 7"));
}

/// Before a call only times are compared: what git calls changed is always among what that finds.
#[test]
fn a_quick_look_finds_no_less_than_git() {
    let sandbox = guarded();
    let (env, project) = (crate::undo::hand::env(&sandbox), sandbox.project());
    let put = |name: &str, text: &str| sandbox.put(name, text);
    let git = |words: &[&str]| drop(sandbox.git(words));
    let bounds = Bounds { files: 1000, bytes: 1 << 30, look: Duration::from_mins(1) };
    let home = sandbox.home().display().to_string();
    let cwd = project.display().to_string();
    let same = |what: &str, touched: usize| {
        for line in ["git checkout -- .", "git reset --hard", "git reset --hard HEAD~1", "git checkout -f ."]
        {
            let ground = Ground { cwd: &cwd, home: &home, variables: &[] };
            let losses = losses(&cut(line, &ground)).unwrap();
            let look = |quick| {
                let place =
                    Place { env: &env, root: &project, cwd: &project, rules: &["git-discard"], quick };
                let found = look_at(place, &losses, bounds);
                found.map(|found| found.files().map(|(path, _)| path.to_owned()).collect::<Vec<_>>())
            };
            let (quick, whole) = (look(true), look(false));
            if let (Ok(quick), Ok(whole)) = (&quick, &whole) {
                let missed = whole.iter().filter(|path| !quick.contains(path)).count();
                assert_eq!((missed, quick.len()), (0, whole.len() + touched), "{what}: {line}: {quick:?}");
            }
            assert_eq!(quick.is_ok(), whole.is_ok(), "{what}: {line}: {quick:?} {whole:?}");
        }
    };
    same("clean", 0);
    put("a.txt", "edited\n");
    same("edited", 0);
    git(&["add", "a.txt"]);
    same("staged", 0);
    put("a.txt", "edited again\n");
    fs::remove_file(project.join("b.txt")).unwrap();
    same("both, and one is gone", 0);
    put("new.txt", "new\n");
    git(&["add", "-N", "new.txt"]);
    same("meant to be added", 0);
    git(&["add", "."]);
    git(&["mv", "src/c.txt", "src/d.txt"]);
    same("added and moved", 0);
    git(&["commit", "-qm", "x"]);
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::options().append(true).open(project.join("a.txt")).unwrap().set_modified(long_ago).unwrap();
    same("touched", 1);
    git(&["update-index", "--assume-unchanged", "a.txt"]);
    put("a.txt", "behind git's back\n");
    same("not looked at", 0);
    git(&["update-index", "--no-assume-unchanged", "a.txt"]);
    git(&["update-index", "--skip-worktree", "a.txt"]);
    same("left out", 0);
    git(&["update-index", "--no-skip-worktree", "a.txt"]);
    git(&["checkout", "-q", "-f", "."]);
    git(&["checkout", "-q", "-b", "side"]);
    put("a.txt", "side\n");
    git(&["commit", "-qam", "side"]);
    git(&["checkout", "-q", "-"]);
    put("a.txt", "main\n");
    git(&["commit", "-qam", "main"]);
    let _ = sandbox.command("git").args(["merge", "-q", "side"]).output().unwrap();
    same("in a conflict", 0);
}

/// The person reads how much it is, as far as it was counted.
#[test]
fn what_is_too_much_is_asked_about_with_figures() {
    let sandbox = guarded();
    for n in 0..300 {
        sandbox.put(&format!("many/{n}"), "x");
    }
    let home = sandbox.home().display().to_string();
    let cwd = sandbox.project().display().to_string();
    let losses = losses(&cut("rm -rf many", &Ground { cwd: &cwd, home: &home, variables: &[] })).unwrap();
    let env = crate::undo::hand::env(&sandbox);
    let place =
        Place { env: &env, root: &sandbox.project(), cwd: &sandbox.project(), rules: &[], quick: false };
    let looked = |files: usize, look: Duration| {
        look_at(place, &losses, Bounds { files, bytes: 1 << 30, look }).unwrap_err().to_string()
    };
    assert_eq!(looked(200, Duration::from_mins(1)), "at least 201 files, 201 bytes, in no commit");
    // Git takes longer than that, and what is much is not counted on.
    let slow = looked(290, Duration::from_micros(100));
    assert!(slow.ends_with("than can be counted in time"), "{slow}");
    let counted = Unkept::Slow { files: 1_001, bytes: 0 }.to_string();
    assert_eq!(counted, "at least 1,001 files, 0 bytes, in no commit, more than can be counted in time");
}

/// What was kept within a day stays; then a person is asked again.
#[test]
fn a_full_store_is_asked_about() {
    let sandbox = guarded();
    sandbox.configure(&format!("{NO_TRACKER}[mode]\nlevel = \"guard\"\n[undo]\nkeep_mb = 1\n"));
    let session = begun(&sandbox);
    for (name, size) in [("small.bin", 1 << 18), ("large.bin", 3 << 18)] {
        sandbox.put(name, &"x".repeat(size));
        assert!(run(&session, &sandbox, &format!("rm {name}")).contains("kept as "), "{name}");
    }
    sandbox.put("data.csv", "1,2\n");
    let said = session.ask_bash("rm data.csv");
    assert_eq!(decision(&said), "ask", "{}", said.out);
    assert!(
        said.out.contains("1 MB were kept within a day") && said.out.contains("undo.keep_mb"),
        "{}",
        said.out
    );
    sandbox.put("a.txt", "mine\n");
    let said = session.ask_bash("git checkout -- a.txt");
    assert_eq!(decision(&said), "ask", "{}", said.out);
    assert!(said.out.contains("cannot be kept: 1 MB were kept"), "{}", said.out);
}

/// The fact says how much might have been kept.
#[test]
fn the_fact_of_a_keeping_has_its_bounds() {
    let sandbox = guarded();
    sandbox.configure(&format!("{NO_TRACKER}[mode]\nlevel = \"guard\"\n[undo]\nfiles = 77\n"));
    let session = begun(&sandbox);
    sandbox.put("a.txt", "mine\n");
    let _ = run(&session, &sandbox, "git checkout -- a.txt");
    let kept = session.entries().pop().unwrap()["with"]["end"]["under"]["kept"].clone();
    assert_eq!(kept["bounds"], json!({"files": 77, "look_ms": 300, "mb": 256}), "{kept}");
    assert_eq!((&kept["number"], &kept["rule"]), (&json!(1), &json!("git-discard")));
}

#[test]
fn what_a_commit_has_or_a_tool_makes_is_not_kept() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.put("node_modules/x/index.js", "x\n");
    sandbox.put("src/__pycache__/a.pyc", "x\n");
    for line in [
        "echo new > a.txt",
        "sed -i s/one/two/ a.txt",
        "rm -rf node_modules",
        "rm -rf src/__pycache__",
        "echo x > new.txt",
        "echo x >> .env",
        "cat a.txt > /dev/null",
    ] {
        assert_eq!(run(&session, &sandbox, line), "", "{line}");
    }
    assert_eq!(newest(&sandbox), Value::Null);
}

#[test]
fn stashes_branches_and_working_trees_are_kept() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.put("a.txt", "stashed\n");
    sandbox.git(&["stash", "-q"]);
    let said = run(&session, &sandbox, "git stash drop");
    assert!(said.contains("1 stash"), "{said}");
    assert_eq!(newest(&sandbox)["repositories"][0]["stashes"].as_array().unwrap().len(), 1);
    sandbox.git(&["checkout", "-qb", "topic"]);
    sandbox.put("t.txt", "t\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "topic"]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["checkout", "-q", "-"]);
    let said = run(&session, &sandbox, "git branch -D topic");
    assert!(said.contains("branch `topic`"), "{said}");
    // Nothing else holds the commit, and no sweep takes it.
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(sandbox.git(&["cat-file", "-t", tip.trim()]).trim(), "commit");
    sandbox.git(&["worktree", "add", "-q", "../other"]);
    fs::write(sandbox.project().join("../other/new.txt"), "new\n").unwrap();
    let said = run(&session, &sandbox, "git worktree remove --force ../other");
    assert!(said.contains("the working tree"), "{said}");
    assert!(files(&newest(&sandbox), &sandbox).iter().any(|name| name.ends_with("/other/new.txt")));
}

/// What was kept may be a secret: no tool reads it unasked.
#[test]
fn what_was_kept_is_shown_to_no_tool() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.put(".env", "KEY=1\n");
    assert!(run(&session, &sandbox, "echo x > .env").contains("kept as 1"));
    let shelf = sandbox.project().join(".claude/checkpoints");
    let blobs = fs::read_dir(shelf.join("blobs")).unwrap().next().unwrap().unwrap().path();
    let blob = fs::read_dir(blobs).unwrap().next().unwrap().unwrap().path();
    for path in [shelf.join("kept/1/kept.json"), blob] {
        let read = session.pre(&session.call("Read", json!({"file_path": path})));
        assert_eq!(decision(&read), "ask", "{}", path.display());
        let cat = session.ask_bash(&format!("cat {}", path.display()));
        assert_eq!(decision(&cat), "ask", "{}", path.display());
        let removed = session.ask_bash(&format!("rm {}", path.display()));
        removed.refused(&["where checkpoints are kept"]);
    }
    sandbox.inside(&["undo", "1", "--yes"]).failed(2, &["hint: "]);
}

/// What was kept and brought back is counted once, where a person looks: the rules, the insights, the week.
#[test]
fn what_was_kept_and_brought_back_is_counted() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.put("a.txt", "mine\n");
    let _ = run(&session, &sandbox, "git reset --hard");
    sandbox.person(&["undo", "--yes"]).said(&[]);
    // The agent is told, and that is no second one.
    let _ = session.prompt("and now?");
    session.stop("done").silent();
    let insights: Value = serde_json::from_str(&sandbox.person(&["insights", "--json"]).out).unwrap();
    let (undone, rule) = (&insights["undone"], &insights["rules"]["danger:git-discard"]);
    assert_eq!((undone, &rule["kept"], &rule["refused"]), (&json!(1), &json!(1), &json!(0)), "{insights}");
    sandbox.person(&["danger", "git-discard"]).said(&["1 kept"]);
    let text = "this week: work kept before 1 command, 1 undone";
    let told = sandbox.session().start("startup").json();
    assert!(told["systemMessage"].as_str().unwrap().lines().any(|line| line == text), "{told}");
}

#[test]
fn what_cannot_be_kept_is_asked_about() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.put("a.txt", "mine\n");
    sandbox.put(".env", "KEY=1\n");
    for line in [
        // Something else in the line cannot be undone.
        "git checkout -- a.txt && git push --force",
        // Only the running shell knows it.
        "cp .env \"$TARGET\"",
        // It shows the secret, whatever it overwrites.
        "cat .env > out.txt",
        "mv .env elsewhere",
        "python3 -c 'import os; os.system(\"git reset --hard\")'",
    ] {
        let said = session.ask_bash(line);
        assert_eq!(decision(&said), "ask", "{line}: {}", said.out);
    }
    for n in 0..40 {
        for m in 0..150 {
            sandbox.put(&format!("many/{n}/{m}"), "x");
        }
    }
    let said = session.ask_bash("rm -rf many");
    assert_eq!(decision(&said), "ask", "{}", said.out);
    assert!(
        said.out.contains("files") && said.out.contains("in no commit") && said.out.contains("the only copy"),
        "{}",
        said.out
    );
    let nobody = guarded();
    let nobody = nobody.with("CLAUDE_CODE_SESSION_ATTENDED", "0");
    nobody.put("a.txt", "mine\n");
    let session = begun(&nobody);
    assert!(run(&session, &nobody, "git checkout -- a.txt").contains("kept as 1"), "a person is not needed");
}

/// What goes may be the work of the other session.
#[test]
fn a_folder_that_another_session_works_in_is_asked_about() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    sandbox.put("a.txt", "mine\n");
    let other = begun(&sandbox);
    let said = session.ask_bash("git checkout -- a.txt");
    assert_eq!(decision(&said), "ask", "{}", said.out);
    assert!(said.out.contains("another session works in this folder"), "{}", said.out);
    // A person tries the line: there are two sessions in which it could run, and then one.
    let tried = sandbox.person(&["test", "git checkout -- a.txt"]);
    assert!(tried.out.contains("another session works in this folder"), "{}", tried.out);
    let _ = other.event("SessionEnd", json!({"reason": "other"}));
    let tried = sandbox.person(&["test", "git checkout -- a.txt"]);
    assert!(!tried.out.contains("another session"), "{}", tried.out);
    assert!(run(&session, &sandbox, "git checkout -- a.txt").contains("kept as 1"));
}

/// The person said no, or pressed Esc: the file is theirs and the agent's again, and not a second name of
/// what was kept.
#[test]
fn a_file_that_a_refused_call_left_may_be_edited() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    let refuse: [fn(&Session, &Call); 3] = [
        |session, call| drop(session.batch(&[call])),
        |session, _| drop(session.prompt("leave it")),
        |session, _| drop(session.stop("Done.")),
    ];
    for (n, refuse) in refuse.into_iter().enumerate() {
        let name = format!("notes{n}.txt");
        let path = sandbox.put(&name, "untracked\n");
        let call = session.call("Bash", json!({"command": format!("rm {name}")}));
        session.pre(&call).silent();
        assert_eq!(newest(&sandbox)["call_id"], json!(call.id), "{name} is kept");
        refuse(&session, &call);
        assert!(path.exists());
        session.write(&name).silent();
        session.bash(&format!("rm {name}x; echo more >> {name}"));
        assert_eq!(newest(&sandbox)["call_id"], json!(call.id), "{name}: what was kept is still there");
    }
}

/// A second name of a removed file is a copy of it only if nothing in the line can still write to it.
#[test]
fn what_a_line_can_reach_after_its_removal_is_copied() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    for line in [
        "touch notes.txt; rm notes.txt",
        "ln notes.txt n2; rm notes.txt; : > n2",
        "cp -l notes.txt n2; rm notes.txt; truncate -s 0 n2",
        "exec 3>>notes.txt; rm notes.txt; echo more >&3",
    ] {
        sandbox.put("notes.txt", "mine\n");
        let said = run(&session, &sandbox, line);
        assert!(said.starts_with("kept as "), "{line}: {said}");
        assert!(!sandbox.project().join("notes.txt").exists(), "{line}");
        let back = sandbox.person(&["undo", "--yes", "--force"]);
        let text = fs::read_to_string(sandbox.project().join("notes.txt")).unwrap_or_default();
        assert_eq!(text, "mine\n", "{line}: {back:?}");
        let _ = fs::remove_file(sandbox.project().join("n2"));
    }
    // Its own name is gone, and nobody had another: nothing is copied.
    sandbox.put("notes.txt", "mine\n");
    let _ = run(&session, &sandbox, "rm notes.txt && true");
    assert!(newest(&sandbox)["files"][0]["content"]["link"].is_object(), "{}", newest(&sandbox));
}

/// Git takes a name for a path if no commit has it: what differs there is kept, whatever the name looks like.
#[test]
fn a_checkout_of_a_path_without_its_sign_is_kept() {
    let sandbox = guarded();
    for name in ["LICENSE", "dir/sub/d.txt"] {
        sandbox.put(name, "committed\n");
    }
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "names"]);
    sandbox.git(&["branch", "topic"]);
    let session = begun(&sandbox);
    let here = sandbox.project();
    let absolute = format!("git checkout {}", here.display());
    for (line, lost) in [
        ("git checkout LICENSE", "LICENSE"),
        ("git checkout -q LICENS?", "LICENSE"),
        ("git checkout src", "src/c.txt"),
        ("git checkout dir", "dir/sub/d.txt"),
        ("cd dir/sub && git checkout ..", "dir/sub/d.txt"),
        ("git -C dir checkout ..", "dir/sub/d.txt"),
        ("git checkout $PWD", "src/c.txt"),
        (&absolute, "src/c.txt"),
        ("git checkout \"$(pwd)\"", "src/c.txt"),
        ("git checkout ':(top)'", "src/c.txt"),
        ("git checkout a.t*", "a.txt"),
        ("git add b.txt && git checkout src", "src/c.txt"),
    ] {
        sandbox.put(lost, "edited\n");
        assert!(run(&session, &sandbox, line).contains("kept as"), "{line}");
        assert_eq!(files(&newest(&sandbox), &sandbox), [lost], "{line}");
    }
    sandbox.put("src/c.txt", "edited\n");
    for line in [
        "git checkout topic", "git checkout -", "git checkout -b src2", "git checkout HEAD~0",
        "git switch topic",
    ] {
        assert_eq!(run(&session, &sandbox, line), "", "{line}: a switch loses nothing");
    }
    assert_eq!(fs::read_to_string(here.join("src/c.txt")).unwrap(), "edited\n");
}

/// Names that a pattern gives to `xargs`, and names that it puts into a line.
#[test]
fn what_a_pattern_hands_over_in_a_pipe_is_kept() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    for line in [
        "echo no*.txt | xargs rm",
        "printf '%s\\n' no*.txt | xargs rm",
        "printf '%s\\0' no*.txt | xargs -0 rm",
        "echo no* | xargs truncate -s0",
        "echo n*.txt | xargs unlink",
        "echo notes.txt | xargs -I{} sh -c 'rm {}'",
        "echo notes.txt | xargs -I{} sh -c '> {}'",
        "echo no*.txt | xargs -I{} sh -c 'rm {}'",
        "tar cf notes.txt a.txt",
        "git log --output=notes.txt",
        "sed 's/o/0/w notes.txt' a.txt",
    ] {
        sandbox.put("notes.txt", "only here\n");
        assert!(run(&session, &sandbox, line).contains("kept as"), "{line}");
        assert_eq!(files(&newest(&sandbox), &sandbox), ["notes.txt"], "{line}");
    }
}

/// Bundles of options and names instead of paths.
#[test]
fn a_branch_or_worktree_by_any_spelling_is_kept_or_asked_about() {
    let sandbox = guarded();
    sandbox.git(&["tag", "start"]);
    let session = begun(&sandbox);
    for line in [
        "git switch -qC topic HEAD~1",
        "git checkout -qB topic HEAD~1",
        "git worktree add -q -f -B topic ../wt2 HEAD~1",
    ] {
        sandbox.git(&["checkout", "-q", "--detach", "start"]);
        sandbox.git(&["branch", "-qf", "topic", "start"]);
        assert!(run(&session, &sandbox, line).contains("branch `topic`"), "{line}");
    }
    sandbox.git(&["worktree", "add", "-q", "--detach", "../wt"]);
    fs::write(sandbox.project().join("../wt/a.txt"), "edited\n").unwrap();
    assert!(run(&session, &sandbox, "git worktree remove -f wt").contains("the working tree"));
    for line in [
        "git worktree add -q ../wt9 topic; git -C ../wt9 reset --hard HEAD~1",
        "git symbolic-ref refs/heads/topic refs/heads/main",
        "git fetch -up . 'refs/heads/*:refs/heads/*'",
    ] {
        assert_eq!(decision(&session.ask_bash(line)), "ask", "{line}");
    }
}

/// What is kept without a rule counts like the rest, and nobody is offered an undo that was done.
#[test]
fn what_is_kept_without_a_rule_is_counted_too() {
    let sandbox = guarded();
    let session = begun(&sandbox);
    for (number, line) in ["rm notes.txt", "git reset --hard", "echo x > notes.txt"].iter().enumerate() {
        sandbox.put("notes.txt", &format!("the only copy, {number}\n"));
        sandbox.put("a.txt", "mine\n");
        let _ = run(&session, &sandbox, line);
    }
    let listed = sandbox.person(&["undo", "list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed:#}");
    session.stop("done").silent();
    let insights = sandbox.person(&["insights", "--json"]).json();
    let kept = |rule: &str| insights["rules"][format!("danger:{rule}")]["kept"].clone();
    assert_eq!((kept("only-copy"), kept("git-discard")), (json!(2), json!(1)), "{insights:#}");
    sandbox.person(&["report"]).said(&["work kept before 3 commands"]);
    sandbox.person(&["status"]).said(&["3 times; `aops-hook undo 3` brings back the last"]);
    let _ = sandbox.person(&["undo", "--yes"]);
    let said = sandbox.person(&["status"]).out;
    assert!(said.contains("3 times; the last, 3, was brought back; `aops-hook undo list`"), "{said}");
}
