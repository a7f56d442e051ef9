//! Whoever attests is killed, at every system call of its own: a commit has an attestation that verifies, or
//! none, and the next one makes it.

use super::{bash, head, idle, note, passes, statements, world, write};
use crate::faults::strace::Point;
use crate::proof::public_key;
use crate::support::{BINARY, Sandbox};
use aops_attest::envelope::Lines;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A session with a commit that nobody attested yet, kept aside.
struct Scene {
    sandbox: Sandbox,
    folder: PathBuf,
    trace: String,
    commit: String,
}

impl Scene {
    fn new() -> Self {
        let sandbox = world();
        let session = sandbox.begun("add a greeting");
        write(&sandbox, &session, "a.txt", "a\n");
        // Without a key nobody signs.
        let (keys, aside) = (crate::proof::keys(&sandbox), sandbox.tmp().join("keys"));
        fs::rename(&keys, &aside).unwrap();
        bash(&sandbox, &session, "git add -A && git commit -q -m one");
        idle(&sandbox);
        fs::rename(&aside, &keys).unwrap();
        let (folder, trace, commit) = (session.folder(), session.id.clone(), head(&sandbox));
        drop(session);
        let scene = Self { sandbox, folder, trace, commit };
        for (from, to) in scene.places() {
            scene.copy(&from, &to);
        }
        scene
    }

    fn places(&self) -> [(PathBuf, PathBuf); 2] {
        [(self.sandbox.home(), "home"), (self.sandbox.project(), "project")]
            .map(|(place, name)| (place, self.sandbox.tmp().join("aside").join(name)))
    }

    fn copy(&self, from: &PathBuf, to: &PathBuf) {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let output =
            self.sandbox.command("cp").arg("-a").arg(from).arg(to).current_dir("/").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn put_back(&self) {
        for (place, aside) in self.places() {
            fs::remove_dir_all(&place).unwrap();
            self.copy(&aside, &place);
        }
    }

    /// Whoever attests, under `strace` with these options where there are some; whether it came to its end.
    fn attest(&self, options: &[&str]) -> bool {
        let mut command = self.sandbox.command(if options.is_empty() { BINARY } else { "strace" });
        command.args(options);
        if !options.is_empty() {
            command.arg(BINARY);
        }
        let command = command.arg("__attest").arg(&self.folder).arg(&self.trace).current_dir("/");
        let output = command.output().expect("`strace` is needed: install the package of that name");
        output.status.success()
    }

    /// Every system call of the one that attests, from the first that looks at the session on.
    fn points(&self) -> Vec<Point> {
        let trace = self.sandbox.tmp().join("trace");
        assert!(self.attest(&["-o", trace.to_str().unwrap()]), "it passes when nothing fails");
        self.put_back();
        let text = fs::read_to_string(&trace).unwrap();
        let (mut counts, mut points, mut begun) = (BTreeMap::new(), Vec::new(), false);
        for line in text.lines() {
            let Some((call, _)) =
                line.split_once('(').filter(|(name, _)| !name.is_empty() && !name.contains(' '))
            else {
                continue;
            };
            let nth = counts.entry(call.to_owned()).and_modify(|n| *n += 1).or_insert(1_usize);
            begun |= line.contains(self.folder.to_str().unwrap());
            if begun && call != "exit_group" {
                points.push(Point { call: call.to_owned(), nth: *nth });
            }
        }
        points
    }

    fn lines(&self) -> Lines {
        let mut git = self.sandbox.command("git");
        let show = git.args(["notes", "--ref", "refs/notes/aops-attest", "show", &self.commit]);
        Lines::parse(&show.output().unwrap().stdout).unwrap()
    }

    #[track_caller]
    fn verifies(&self, case: &str) {
        let key = public_key(&self.sandbox).to_string();
        let answer =
            self.sandbox.person(&["verify-commit", &self.commit, "--key", &key, "--require", "no-outside"]);
        assert_eq!(answer.code, Some(0), "{case}: {answer:#?}");
    }

    /// Killed here: what is there verifies, and who comes next makes the rest.
    #[track_caller]
    fn holds(&self, point: &Point) {
        let case = format!("killed at {} number {}", point.call, point.nth);
        let inject = format!("inject={}:signal=KILL:when={}", point.call, point.nth);
        let _ = self.attest(&["-o", "/dev/null", "-e", &inject]);
        idle(&self.sandbox);
        if !self.lines().envelopes.is_empty() {
            self.verifies(&case);
        }
        assert!(self.attest(&[]), "{case}: the next one works");
        self.verifies(&case);
        let lines = self.lines();
        assert_eq!((lines.envelopes.len(), lines.proofs.len()), (1, 1), "{case}: once");
        assert_eq!(self.sandbox.person(&["verify", "--all", "--json"]).json()["ok"], true, "{case}");
        assert!(
            fs::read_dir(self.folder.join("attest")).unwrap().count() <= 1,
            "{case}: nothing is left but the lock"
        );
        self.put_back();
    }
}

#[test]
fn killed_at_a_sample_of_system_calls() {
    let scene = Scene::new();
    let points = scene.points();
    assert!(points.len() > 100, "{}", points.len());
    // Those that put something in its place, and some of the others.
    let places = ["rename", "renameat2", "fdatasync", "fsync", "write", "ftruncate", "unlink", "unlinkat"];
    let (changes, others): (Vec<&Point>, Vec<&Point>) =
        points.iter().partition(|point| places.contains(&point.call.as_str()));
    for point in
        changes.iter().step_by(changes.len().div_ceil(10)).chain(others.iter().step_by(others.len() / 4))
    {
        scene.holds(point);
    }
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn killed_at_every_system_call() {
    let scene = Scene::new();
    scene.points().iter().for_each(|point| scene.holds(point));
}

/// The entry is written and the note is not: the turn after makes it, although its own commits are others or
/// none.
#[test]
fn what_was_not_published_is_published_at_the_next_turn() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    write(&sandbox, &session, "a.txt", "a\n");
    let lock = sandbox.project().join(".git/aops-attest.lock");
    fs::create_dir(&lock).unwrap();
    bash(&sandbox, &session, "git add -A && git commit -q -m one");
    idle(&sandbox);
    passes(&session.stop("done"));
    idle(&sandbox);
    let commit = head(&sandbox);
    assert!(session.entries().iter().any(|entry| entry["type"] == "attest"), "it is recorded");
    assert!(!sandbox.git(&["for-each-ref"]).contains(super::NOTES), "and hindered");
    fs::remove_dir(&lock).unwrap();
    let _ = session.prompt("what did you do?");
    passes(&session.stop("I added a greeting"));
    let _ = note(&sandbox, &commit, 1);
    let _ = statements(&sandbox, &commit, 1);
}
