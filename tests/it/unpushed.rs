//! Mode `strict` owes the push of what the task committed. Commits of the person that would go with it are the
//! person's to publish.

use crate::support::{Answer, Sandbox, Session};

/// The person commits in a terminal of their own, at a time of their own.
fn person_commits(sandbox: &Sandbox, name: &str) {
    sandbox.put(name, "by the person\n");
    let git = |arguments: &[&str]| {
        let mut command = sandbox.command("git");
        command
            .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
            .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z");
        command.args(arguments).current_dir(sandbox.project()).assert().success();
    };
    git(&["add", name]);
    git(&["commit", "-q", "-m", name]);
}

/// Verified, reflected on and committed.
fn commits(session: &Session, name: &str) {
    session.write(name).silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash(&format!("git add {name} && git commit -q -m {name}"));
}

/// Nothing is owed, and the person reads why nothing was pushed.
#[track_caller]
fn ends_unpushed(stop: &Answer) {
    assert_eq!(stop.code, Some(0), "{stop:?}");
    let told = stop.json()["systemMessage"].as_str().unwrap_or_default().to_owned();
    let words = "not pushed: this branch has 1 commit that this session did not make\nhint: `git push` ";
    assert!(told.contains(words), "{told}");
}

#[test]
fn a_commit_that_was_there_before_is_not_pushed_with_the_tasks_own() {
    let sandbox = Sandbox::repository("0.0");
    person_commits(&sandbox, "mine.txt");
    let session = sandbox.begun("add a greeting");
    session.hydrate("minor-edit", "new");
    commits(&session, "hello.txt");
    ends_unpushed(&session.stop("Done."));
    assert_eq!(session.state()["phase"], "done");
    // It is told once; once the person has pushed it, the next task owes its own push again.
    sandbox.git(&["push", "-q"]);
    let _ = session.prompt("one more");
    session.hydrate("minor-edit", "new");
    commits(&session, "bye.txt");
    session.stop("Done.").refused(&["1. `push`: run `git push`; 1 commit is not pushed"]);
    session.bash("git push -q");
    session.stop("Done.").silent();
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// However the task moves it.
#[test]
fn a_rebase_makes_a_commit_of_the_person_not_the_tasks_own() {
    let sandbox = Sandbox::repository("0.0");
    person_commits(&sandbox, "mine.txt");
    let session = sandbox.begun("add a greeting");
    session.hydrate("minor-edit", "new");
    commits(&session, "hello.txt");
    session.bash("git rebase -q --force-rebase origin/main");
    ends_unpushed(&session.stop("Done."));
}

#[test]
fn what_the_person_commits_meanwhile_is_not_owed() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.begun("add a greeting");
    session.hydrate("minor-edit", "new");
    commits(&session, "hello.txt");
    person_commits(&sandbox, "mine.txt");
    ends_unpushed(&session.stop("Done."));
}

/// A new branch without an upstream: what no remote has counts.
#[test]
fn a_branch_of_the_person_is_not_published_by_a_task() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.git(&["switch", "-q", "-c", "topic"]);
    person_commits(&sandbox, "mine.txt");
    let session = sandbox.begun("add a greeting");
    session.hydrate("minor-edit", "new");
    commits(&session, "hello.txt");
    ends_unpushed(&session.stop("Done."));
    // One that the task made itself is owed.
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.begun("add a greeting");
    session.hydrate("minor-edit", "new");
    session.bash("git switch -q -c topic");
    commits(&session, "hello.txt");
    session.stop("Done.").refused(&["1. `push`: run `git push -u origin topic`"]);
}
