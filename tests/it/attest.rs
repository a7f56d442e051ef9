//! Commits of sessions carry a statement: what it says, who wrote what, and what is never in it.

mod cost;
mod cut;
mod harmless;
mod index;
mod killed;
mod prompt;
mod secrets;

use crate::proof::public_key;
use crate::support::{Answer, NO_TRACKER, Sandbox, Session};
use aops_attest::envelope::{Lines, Signed};
use aops_attest::statement::{Annotations, Author, By, CommittedBy, Mode, Statement, Verdict};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const NOTES: &str = "refs/notes/aops-attest";
/// For one statement, its note and the look whether the work is pushed.
const MOST_GITS: usize = 6;

/// A repository with a key, in which commits are attested and nothing else runs in the background.
pub(crate) fn world() -> Sandbox {
    let sandbox = Sandbox::repository("0");
    configure(&sandbox, "");
    sandbox.person(&["key", "init"]).said(&["made the key of log aops-log.local/"]);
    sandbox
}

fn configure(sandbox: &Sandbox, more: &str) {
    sandbox.configure(&format!("mode.level = \"guard\"\nwitness.attest = \"notes\"\n{NO_TRACKER}{more}"));
}

#[track_caller]
fn passes(answer: &Answer) {
    assert!(answer.code == Some(0) && !answer.out.contains("\"deny\""), "{answer:#?}");
}

/// A shell command of the session, which is really run.
#[track_caller]
pub(crate) fn bash(sandbox: &Sandbox, session: &Session, line: &str) {
    let call = session.call("Bash", json!({"command": line}));
    passes(&session.pre(&call));
    let output = sandbox.command("sh").args(["-c", line]).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    passes(&session.post(&call));
}

/// A file that the session writes with a tool of the client.
#[track_caller]
fn write(sandbox: &Sandbox, session: &Session, name: &str, text: &str) {
    let path = sandbox.project().join(name);
    let call = session.call("Write", json!({"file_path": path, "content": text}));
    passes(&session.pre(&call));
    sandbox.put(name, text);
    passes(&session.post(&call));
}

/// A session whose commit is attested; its folder.
pub(crate) fn attested_session() -> (Sandbox, PathBuf) {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    bash(&sandbox, &session, "echo more >> README.md && git commit -qam greeting");
    let _ = note(&sandbox, &head(&sandbox), 1);
    let folder = session.folder();
    (sandbox, folder)
}

pub(crate) fn head(sandbox: &Sandbox) -> String {
    sandbox.git(&["rev-parse", "HEAD"]).trim_end().to_owned()
}

/// The lines of a commit's note, once there are so many statements among them.
#[track_caller]
pub(crate) fn note(sandbox: &Sandbox, commit: &str, statements: usize) -> Lines {
    let text =
        || sandbox.command("git").args(["notes", "--ref", NOTES, "show", commit]).output().unwrap().stdout;
    let lines = || Lines::parse(&text()).unwrap();
    sandbox.wait_until("the commit is attested", || lines().proofs.len() >= statements);
    idle(sandbox);
    lines()
}

/// Nobody attests any more.
#[track_caller]
fn idle(sandbox: &Sandbox) {
    let busy = || sandbox.alive().iter().any(|(_, line)| line.contains("__attest"));
    sandbox.wait_until("nobody attests", || !busy());
}

/// The statements about a commit; each signature holds.
#[track_caller]
fn statements(sandbox: &Sandbox, commit: &str, count: usize) -> Vec<Statement> {
    let (lines, keys) = (note(sandbox, commit, count), [public_key(sandbox)]);
    assert_eq!((lines.envelopes.len(), lines.proofs.len()), (count, count), "{lines:?}");
    let read = |envelope: &aops_attest::envelope::Envelope| {
        let text = envelope.text().unwrap();
        assert_eq!(envelope.signer(&text, &keys), Signed::By(&keys[0]));
        let statement = Statement::parse(&text).unwrap();
        assert_eq!(statement.commit(), commit);
        statement
    };
    lines.envelopes.iter().map(read).collect()
}

fn facts(statement: &Statement) -> &Annotations {
    statement.session().unwrap().1
}

/// Path and author of each file.
fn authors(statement: &Statement) -> Vec<(String, Author)> {
    facts(statement).files.iter().flatten().map(|file| (file.path.clone(), file.by)).collect()
}

#[test]
fn a_commit_of_a_call_carries_its_statement() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "src/hello.txt", "hello\nworld\n");
    bash(&sandbox, &session, "echo more >> README.md");
    bash(&sandbox, &session, "git add -A && git commit -q -m greeting");
    let commit = head(&sandbox);
    let found = statements(&sandbox, &commit, 1);
    let facts = facts(&found[0]);
    assert_eq!((facts.committed.by, facts.committed.late), (CommittedBy::Call, false));
    assert_eq!(facts.tree, sandbox.git(&["rev-parse", "HEAD^{tree}"]).trim_end());
    assert_eq!(facts.repository.root_commit, sandbox.git(&["rev-parse", "HEAD~1"]).trim_end());
    let both = [("README.md".to_owned(), Author::Session), ("src/hello.txt".to_owned(), Author::Session)];
    assert_eq!(authors(&found[0]), both);
    let lines: Vec<u64> = facts.files.iter().flatten().map(|file| file.lines.session).collect();
    assert_eq!((lines, facts.outside.len()), (vec![1, 2], 0));
    assert_eq!((facts.mode, facts.sessions.as_slice()), (Mode::Guard, &[session.id.clone()][..]));
    assert_eq!((facts.jail.commands, facts.jail.unjailed), (2, 2), "nothing holds commands in this test");
    let named = found[0].session().unwrap().0.digest.sha256.clone().unwrap();
    let last = &session.entries()[usize::try_from(facts.entries.to).unwrap() - 1];
    assert_eq!((&last["type"], &last["_digest"]), (&json!("commit"), &json!(named)));
    // Anyone repeats the digest of the change.
    let line =
        "git diff-tree -r -z --no-renames --full-index --no-commit-id HEAD~1 HEAD | sha256sum | cut -c1-64";
    let change = sandbox.command("sh").args(["-c", line]).output().unwrap().stdout;
    assert_eq!(found[0].change(), String::from_utf8(change).unwrap().trim_end());
    assert_eq!(sandbox.person(&["verify", "--all", "--json"]).json()["ok"], true);
    let key = public_key(&sandbox).to_string();
    sandbox
        .person(&["verify-commit", "HEAD~1..HEAD", "--key", &key, "--require", "A0,no-outside"])
        .said(&["A0"]);
}

#[test]
fn a_commit_by_hand_is_attested_as_such() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "hello.txt", "hello\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "by hand"]);
    passes(&session.stop("done"));
    let found = statements(&sandbox, &head(&sandbox), 1);
    assert_eq!(facts(&found[0]).committed.by, CommittedBy::Outside);
    assert_eq!(authors(&found[0]), [("hello.txt".to_owned(), Author::Session)], "as the session left it");
}

/// An edit between two calls, before the first or after the last one is somebody else's, whatever hides it.
#[test]
fn what_others_wrote_is_named() {
    let sandbox = world();
    sandbox.put("before.txt", "one\n");
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "mixed.txt", "one\n");
    sandbox.put("mixed.txt", "one\ntwo\n");
    write(&sandbox, &session, "mixed.txt", "one\ntwo\nthree\n");
    write(&sandbox, &session, "own.txt", "own\n");
    write(&sandbox, &session, "covered.txt", "own\n");
    sandbox.put("covered.txt", "own\nby hand\n");
    // A command writes the file again, so that its time is the command's.
    bash(&sandbox, &session, "cp covered.txt x && cat x > covered.txt && rm x");
    bash(&sandbox, &session, "echo more >> before.txt");
    sandbox.put("after.txt", "after\n");
    bash(&sandbox, &session, "git add -A && git commit -q -m all");
    let found = statements(&sandbox, &head(&sandbox), 1);
    let named = |name: &str, by| (name.to_owned(), by);
    let wanted = [
        named("after.txt", Author::Outside),
        named("before.txt", Author::Mixed),
        named("covered.txt", Author::Mixed),
        named("mixed.txt", Author::Mixed),
        named("own.txt", Author::Session),
    ];
    assert_eq!(authors(&found[0]), wanted);
    assert_eq!(facts(&found[0]).outside, ["after.txt", "before.txt", "covered.txt", "mixed.txt"]);
    let mixed = facts(&found[0]).files.iter().flatten().find(|file| file.path == "mixed.txt").unwrap();
    assert_eq!((mixed.lines.session, mixed.lines.outside), (2, 1));
}

#[test]
fn an_amended_commit_has_a_statement_of_its_own() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "a.txt", "a\n");
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    let first = head(&sandbox);
    let _ = statements(&sandbox, &first, 1);
    write(&sandbox, &session, "b.txt", "b\n");
    bash(&sandbox, &session, "git add -A && git commit -q --amend -m two");
    let second = head(&sandbox);
    let found = statements(&sandbox, &second, 1);
    let both = [("a.txt".to_owned(), Author::Session), ("b.txt".to_owned(), Author::Session)];
    assert_eq!((authors(&found[0]), first == second), (both.to_vec(), false));
}

#[test]
fn a_commit_of_two_sessions_has_a_statement_of_each() {
    let sandbox = world();
    let (one, two) = (sandbox.begun("one"), sandbox.begun("two"));
    write(&sandbox, &one, "one.txt", "one\n");
    write(&sandbox, &two, "two.txt", "two\n");
    bash(&sandbox, &two, "git add -A && git commit -q -m both");
    let commit = head(&sandbox);
    let _ = note(&sandbox, &commit, 1);
    passes(&one.stop("done"));
    let found = statements(&sandbox, &commit, 2);
    for (session, own, other) in [(&one, "one.txt", "two.txt"), (&two, "two.txt", "one.txt")] {
        let said = found.iter().find(|said| facts(said).sessions == [session.id.clone()]).unwrap();
        let mut wanted = vec![(own.to_owned(), Author::Session), (other.to_owned(), Author::Outside)];
        wanted.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(authors(said), wanted);
    }
}

#[test]
fn nothing_is_recorded_or_written_where_it_is_off() {
    let sandbox = world();
    sandbox.configure(&format!("mode.level = \"guard\"\n{NO_TRACKER}"));
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "a.txt", "a\n");
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    passes(&session.stop("done"));
    idle(&sandbox);
    let told = session
        .entries()
        .iter()
        .any(|entry| entry["type"] == "commit" || entry["with"].get("observed").is_some());
    assert!(!told, "{:#?}", session.entries());
    assert!(!sandbox.git(&["for-each-ref"]).contains(NOTES));
    let commit = head(&sandbox);
    sandbox.person(&["attest", &commit]).failed(2, &["no session here recorded commit", "witness.attest"]);
}

/// A test that failed on a tree is told as one that passed is.
#[test]
fn a_test_is_told_however_it_ended() {
    let sandbox = world();
    configure(&sandbox, "evidence.test = \"sh check.sh\"\n");
    let session = sandbox.begun("add a check");
    write(&sandbox, &session, "check.sh", "exit 0\n");
    bash(&sandbox, &session, "sh check.sh");
    let call = session.call("Bash", json!({"command": "sh check.sh"}));
    passes(&session.pre(&call));
    passes(&session.fail(&call, "Exit code 3\nno"));
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    let found = statements(&sandbox, &head(&sandbox), 1);
    let facts = facts(&found[0]);
    let told: Vec<(i64, bool)> =
        facts.tests.iter().map(|test| (test.exit, test.tree == facts.tree)).collect();
    assert_eq!(told, [(0, true), (3, true)]);
}

/// In a worktree, with `HEAD` on no branch, with ids of SHA-256, with refs in tables.
#[test]
fn every_kind_of_repository_is_attested() {
    let sandbox = world();
    let place = sandbox.tmp().join("long");
    let folder = place.to_str().unwrap();
    sandbox.git(&["init", "-q", "-b", "main", "--object-format=sha256", folder]);
    let by = ["-C", folder, "-c", "user.name=o", "-c", "user.email=o@example.invalid"];
    sandbox.git(&[&by[..], &["commit", "-q", "--allow-empty", "-m", "start"]].concat());
    let side = sandbox.tmp().join("side");
    sandbox.git(&["worktree", "add", "-q", "--detach", side.to_str().unwrap()]);
    let tables = sandbox.tmp().join("tables");
    let init = ["init", "-q", "-b", "main", "--ref-format=reftable", tables.to_str().unwrap()];
    // Before version 2.45 git knows no such tables.
    let knows_tables = sandbox.command("git").args(init).output().unwrap().status.success();
    if knows_tables {
        let by = ["-C", tables.to_str().unwrap(), "-c", "user.name=o", "-c", "user.email=o@example.invalid"];
        sandbox.git(&[&by[..], &["commit", "-q", "--allow-empty", "-m", "start"]].concat());
    }
    for place in [Some(&place), Some(&side), Some(&tables).filter(|_| knows_tables)].into_iter().flatten() {
        let session = sandbox.begun("work there");
        let there = |event: &str, fields: serde_json::Value| {
            let mut payload = session.payload(event, fields);
            payload["cwd"] = json!(place);
            passes(&sandbox.hook(event, &payload));
        };
        let line = "echo a > a.txt && git add -A && git -c user.name=o -c user.email=o@x commit -q -m one";
        let call = session.call("Bash", json!({"command": line}));
        there("PreToolUse", call.fields());
        let mut command = sandbox.command("sh");
        assert!(command.args(["-c", line]).current_dir(place).output().unwrap().status.success());
        let mut fields = call.fields();
        fields["tool_response"] = json!({"stdout": ""});
        there("PostToolUse", fields);
        let git = |args: &[&str]| {
            let output = sandbox.command("git").args(args).current_dir(place).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let commit = git(&["rev-parse", "HEAD"]).trim_end().to_owned();
        let lines = || Lines::parse(git(&["notes", "--ref", NOTES, "show", &commit]).as_bytes()).unwrap();
        sandbox.wait_until("the commit is attested", || lines().proofs.len() == 1);
        idle(&sandbox);
        let said = Statement::parse(&lines().envelopes[0].text().unwrap()).unwrap();
        assert_eq!((said.commit(), facts(&said).outside.len()), (commit.as_str(), 0));
        assert_eq!(authors(&said), [("a.txt".to_owned(), Author::Session)]);
    }
}

/// A statement that could not be made at its time is made by the next turn, or by a person.
#[test]
fn what_was_killed_is_made_up_for() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "a.txt", "a\n");
    // Without a key nobody signs.
    let (keys, aside) = (crate::proof::keys(&sandbox), sandbox.tmp().join("keys"));
    fs::rename(&keys, &aside).unwrap();
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    idle(&sandbox);
    let commit = head(&sandbox);
    assert!(!sandbox.git(&["for-each-ref"]).contains(NOTES));
    fs::rename(&aside, &keys).unwrap();
    passes(&session.stop("done"));
    let found = statements(&sandbox, &commit, 1);
    assert!(!facts(&found[0]).committed.late);
    // The ref is lost: a person makes the attestation again.
    sandbox.git(&["update-ref", "-d", NOTES]);
    let file = sandbox.tmp().join("a.intoto.jsonl");
    sandbox.person(&["attest", "HEAD", "-o", file.to_str().unwrap()]).said(&["2 lines about commit"]);
    let lines = Lines::parse(&fs::read(&file).unwrap()).unwrap();
    let late = Statement::parse(&lines.envelopes[0].text().unwrap()).unwrap();
    assert_eq!(
        (facts(&late).committed.late, authors(&late)),
        (true, vec![("a.txt".to_owned(), Author::Session)])
    );
}

/// A commit whose objects are gone keeps no later one from its attestation.
#[test]
fn a_commit_that_is_gone_hinders_no_other() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    let (keys, aside) = (crate::proof::keys(&sandbox), sandbox.tmp().join("keys"));
    fs::rename(&keys, &aside).unwrap();
    bash(&sandbox, &session, "echo a > a.txt && git add -A && git commit -q -m gone");
    let gone = head(&sandbox);
    idle(&sandbox);
    // By hand, as one who cleans up.
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    assert!(!sandbox.command("git").args(["cat-file", "-e", &gone]).output().unwrap().status.success());
    bash(&sandbox, &session, "echo b > b.txt && git add -A && git commit -q -m here");
    idle(&sandbox);
    fs::rename(&aside, &keys).unwrap();
    passes(&session.stop("done"));
    let _ = statements(&sandbox, &head(&sandbox), 1);
}

/// Its note waits for witnesses and was lost: it is written again, as it was.
#[test]
fn a_lost_note_that_waits_for_witnesses_is_written_again() {
    let sandbox = world();
    let eye = crate::verify_commit::shop::witness("witness.example", 9).public().to_string();
    // Nobody listens there.
    configure(&sandbox, &format!("witness.url = [\"http://127.0.0.1:9\"]\nwitness.key = [\"{eye}\"]\n"));
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "a.txt", "a\n");
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    let before = statements(&sandbox, &head(&sandbox), 1);
    sandbox.git(&["update-ref", "-d", NOTES]);
    sandbox.person(&["attest", "HEAD"]).said(&["has 2 lines in `refs/notes/aops-attest`"]);
    assert_eq!(statements(&sandbox, &head(&sandbox), 1), before);
}

/// What a person or an agent resolves in a rebase is a change of its own.
#[test]
fn a_conflict_resolved_in_a_rebase_is_attested() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    bash(
        &sandbox,
        &session,
        "git checkout -q -b side && echo side > a.txt && git add -A && git commit -q -m side",
    );
    let _ = statements(&sandbox, &head(&sandbox), 1);
    bash(&sandbox, &session, "git checkout -q - && echo main > a.txt && git add -A && git commit -q -m main");
    let _ = statements(&sandbox, &head(&sandbox), 1);
    bash(&sandbox, &session, "git checkout -q side && { git rebase -q @{-1} || true; }");
    write(&sandbox, &session, "a.txt", "both\n");
    bash(&sandbox, &session, "git add a.txt && GIT_EDITOR=true git rebase --continue");
    let commit = head(&sandbox);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]).trim_end(), "side");
    let found = statements(&sandbox, &commit, 1);
    assert_eq!(authors(&found[0]), [("a.txt".to_owned(), Author::Session)]);
}

/// Over 500 files the list is left out; the digest of the change still binds it.
#[test]
fn a_commit_of_many_files_has_no_list() {
    let sandbox = world();
    let session = sandbox.begun("generate them");
    bash(&sandbox, &session, "mkdir many && for n in $(seq 501); do echo $n > many/$n.txt; done");
    bash(&sandbox, &session, "git add -A && git commit -q -m many");
    let found = statements(&sandbox, &head(&sandbox), 1);
    assert!(facts(&found[0]).files.is_none());
    let key = public_key(&sandbox).to_string();
    sandbox.person(&["verify-commit", "HEAD~1..HEAD", "--key", &key]).said(&["A0"]);
    // Who wrote what is not known, so nothing is claimed.
    let words =
        ["verify-commit", "HEAD~1..HEAD", "--key", &key, "--require", "no-outside", "--people", "none"];
    assert_eq!(sandbox.person(&words).code, Some(1));
}

/// The notes are pushed where the commit is.
#[test]
fn notes_follow_the_work() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "a.txt", "a\n");
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    let _ = note(&sandbox, &head(&sandbox), 1);
    bash(&sandbox, &session, "git push -q");
    let remote = sandbox.tmp().join("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.wait_until("the notes are pushed", || sandbox.git(&["ls-remote", remote]).contains(NOTES));
    idle(&sandbox);
}

/// A branch of a fork: the notes go where it was pushed, and not to what it came from.
#[test]
fn notes_follow_the_work_into_a_fork() {
    let sandbox = world();
    let fork = sandbox.tmp().join("fork.git");
    let fork = fork.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", "-b", "main", fork]);
    sandbox.git(&["remote", "add", "fork", fork]);
    sandbox.git(&["checkout", "-q", "-b", "feature", "--track", "origin/main"]);
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "a.txt", "a\n");
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    let _ = note(&sandbox, &head(&sandbox), 1);
    bash(&sandbox, &session, "git push -q fork feature");
    sandbox.wait_until("the notes are pushed", || sandbox.git(&["ls-remote", fork]).contains(NOTES));
    idle(&sandbox);
    assert!(!sandbox.git(&["ls-remote", "origin"]).contains(NOTES));
}

/// Another clone pushed notes meanwhile: what both have is there, and both verify.
#[test]
fn the_notes_of_two_machines_become_one() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "a.txt", "a\n");
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    let commit = head(&sandbox);
    let own = note(&sandbox, &commit, 1);
    // The other one has a note for the same commit, and one for another.
    let line = r#"{"aops":"approval","for":"x","signature":"y"}"#;
    for of in [&commit, &sandbox.git(&["rev-parse", "HEAD~1"]).trim_end().to_owned()] {
        sandbox.git(&["notes", "--ref", "refs/notes/elsewhere", "add", "-m", line, of]);
    }
    sandbox.git(&["push", "-q", "origin", "refs/notes/elsewhere:refs/notes/aops-attest"]);
    bash(&sandbox, &session, "git push -q");
    let both = || {
        sandbox.git(&["fetch", "-q", "origin", "+refs/notes/aops-attest:refs/notes/seen"]);
        let show = sandbox
            .command("git")
            .args(["notes", "--ref", "refs/notes/seen", "show", &commit])
            .output()
            .unwrap();
        Lines::parse(&show.stdout).unwrap()
    };
    sandbox.wait_until("the notes are one", || !both().envelopes.is_empty());
    idle(&sandbox);
    assert_eq!((both().envelopes, both().approvals.len()), (own.envelopes, 1));
    let key = public_key(&sandbox).to_string();
    sandbox.person(&["verify-commit", "HEAD", "--key", &key]).said(&["A0"]);
}

/// A verdict or a test about the same tree that comes after the commit is in a second statement, at the
/// turn's end.
#[test]
fn what_is_said_about_the_same_tree_later_is_added() {
    let sandbox = world();
    configure(&sandbox, "evidence.test = \"sh check.sh\"\n");
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "check.sh", "exit 0\n");
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    let commit = head(&sandbox);
    let first = statements(&sandbox, &commit, 1);
    assert_eq!(facts(&first[0]).tests, []);
    bash(&sandbox, &session, "sh check.sh");
    passes(&session.stop("done"));
    let found = statements(&sandbox, &commit, 2);
    let test = found.iter().find_map(|said| facts(said).tests.first()).unwrap();
    assert_eq!((test.exit, &test.tree), (0, &facts(&first[0]).tree));
    // Nothing new is said.
    passes(&session.stop("done"));
    let _ = statements(&sandbox, &commit, 2);
}

/// The same of a verdict. One that comes after a further change is about something else.
#[test]
fn a_verdict_about_the_committed_tree_is_added() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "a.txt", "a\n");
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    let commit = head(&sandbox);
    assert_eq!(facts(&statements(&sandbox, &commit, 1)[0]).qa, None);
    let _ = session.qa("VERIFIED");
    passes(&session.stop("done"));
    let found = statements(&sandbox, &commit, 2);
    let qa = found.iter().find_map(|said| facts(said).qa.as_ref()).unwrap();
    assert_eq!((qa.verdict, qa.by, qa.after), (Verdict::Verified, By::QaVerifier, true));
    let key = public_key(&sandbox).to_string();
    sandbox.person(&["verify-commit", "HEAD", "--key", &key, "--require", "A0,qa"]).said(&["A0"]);

    let _ = session.prompt("one more");
    bash(&sandbox, &session, "echo b > b.txt && git add -A && git commit -q -m two");
    let second = head(&sandbox);
    let _ = statements(&sandbox, &second, 1);
    write(&sandbox, &session, "b.txt", "other\n");
    let _ = session.qa("VERIFIED");
    passes(&session.stop("done"));
    let _ = statements(&sandbox, &second, 1);
}

/// Each git call takes milliseconds.
#[test]
fn a_statement_starts_few_gits() {
    let sandbox = world();
    let session = sandbox.begun("add files");
    let (keys, aside) = (crate::proof::keys(&sandbox), sandbox.tmp().join("keys"));
    let count = sandbox.tmp().join("count");
    let real = sandbox.command("sh").args(["-c", "command -v git"]).output().unwrap().stdout;
    let real = String::from_utf8(real).unwrap();
    let folder = sandbox.tmp().join("bin");
    fs::create_dir(&folder).unwrap();
    let text = format!("#!/bin/sh\necho \"$*\" >> {}\nexec {} \"$@\"\n", count.display(), real.trim());
    fs::write(folder.join("git"), text).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let (_, others) = sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap();
    let path = format!("{}:{}", folder.display(), others.to_str().unwrap());
    // The first note, and one beside others.
    for n in 1..=3 {
        fs::rename(&keys, &aside).unwrap();
        let line =
            format!("for i in 0 1 2 3; do echo {n} $i > $i.txt; done; git add -A && git commit -qm {n}");
        bash(&sandbox, &session, &line);
        idle(&sandbox);
        fs::rename(&aside, &keys).unwrap();
        let _ = fs::remove_file(&count);
        let mut command = sandbox.command(crate::support::BINARY);
        command.arg("__attest").arg(session.folder()).arg(&session.id).env("PATH", &path);
        assert!(command.output().unwrap().status.success());
        let _ = statements(&sandbox, &head(&sandbox), 1);
        let started = fs::read_to_string(&count).unwrap();
        assert!(started.lines().count() <= MOST_GITS, "{started}");
    }
}

#[test]
fn a_note_with_ten_files_is_small() {
    let sandbox = world();
    let session = sandbox.begun("add files");
    for n in 0..10 {
        write(&sandbox, &session, &format!("src/module_{n}/file_{n}.txt"), &format!("{n}\n"));
    }
    bash(&sandbox, &session, "git add -A && git commit -q -m ten");
    let commit = head(&sandbox);
    let _ = statements(&sandbox, &commit, 1);
    let bytes = sandbox.git(&["notes", "--ref", NOTES, "show", &commit]).len();
    assert!(bytes <= 16 << 10, "{bytes} bytes");
}

#[test]
fn nothing_of_the_conversation_is_in_a_statement() {
    let sandbox = world();
    let secret = format!("sk-ant-{}", "A1b2C3d4E5f6G7h8I9j0".repeat(3));
    let session = sandbox.begun(&format!("the prompt says PROMPTWORD {secret}"));
    write(&sandbox, &session, "a.txt", &format!("CONTENTWORD {secret}\n"));
    bash(&sandbox, &session, "echo OUTPUTWORD > /dev/null # COMMANDWORD");
    write(&sandbox, &session, "../tmp/elsewhere-OUTSIDEWORD.txt", "x\n");
    bash(&sandbox, &session, &format!("git add -A && git commit -q -m 'MESSAGEWORD {secret}'"));
    let found = statements(&sandbox, &head(&sandbox), 1);
    let text = found[0].to_json();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let places = [sandbox.home(), sandbox.project()].map(|path| path.to_str().unwrap().to_owned());
    let words =
        ["PROMPTWORD", "CONTENTWORD", "OUTPUTWORD", "COMMANDWORD", "OUTSIDEWORD", "MESSAGEWORD", "A1b2"];
    for word in words.into_iter().chain(places.iter().map(String::as_str)).chain([host.trim()]) {
        assert!(!text.contains(word), "{word}: {text}");
    }
}
