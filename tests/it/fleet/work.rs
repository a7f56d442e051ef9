//! Runs that any machine may take: driven, killed, taken over, asked about.

#![expect(clippy::disallowed_methods, reason = "workers that are killed on the way")]

use super::postgres::Postgres;
use crate::support::{BINARY, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A repository that every machine can clone, and a folder in which steps leave their effects.
pub(super) struct Farm {
    pub(super) postgres: Postgres,
    pub(super) person: Sandbox,
    pub(super) effects: PathBuf,
}

/// Each step says that it began, has its effect once by its key, and may wait for a file.
pub(super) const STEP: &str = r#"echo "$AOPS_RUN $AOPS_STEP $AOPS_IDEMPOTENCY_KEY" >> "$EFFECTS/starts"; "#;
pub(super) const EFFECT: &str = r#"if ( set -C; : > "$EFFECTS/$AOPS_IDEMPOTENCY_KEY" ) 2>/dev/null; then echo "$AOPS_RUN $AOPS_STEP" >> "$EFFECTS/log"; fi; "#;
const WAIT: &str = r#"while ! test -e "$EFFECTS/go"; do sleep 0.05; done; "#;

fn workflow(steps: &[(&str, &str)]) -> String {
    let step = |(id, line): &(&str, &str)| {
        format!(
            "  - id: {id}\n    name: {id}\n    description: do {id}\n    run: '{}'\n",
            line.replace('\'', "''")
        )
    };
    let steps: String = steps.iter().map(step).collect();
    format!(
        "---\nid: w\ntitle: T\ntype: workflow\ncategory: test\ndependencies: []\nsteps:\n{steps}---\n\n# T\n"
    )
}

impl Farm {
    pub(super) fn new(steps: &[(&str, &str)]) -> Self {
        let (postgres, person) = (Postgres::with_tables(), Sandbox::new());
        let effects = person.tmp().join("effects");
        fs::create_dir(&effects).unwrap();
        let farm = Self { postgres, person, effects };
        farm.postgres.configure(&farm.person, "");
        farm.person.put(".aops/workflows/w.md", &workflow(steps));
        farm.person.put("README.md", "# a project\n");
        let origin = farm.person.tmp().join("origin.git");
        farm.git(&["init", "-q", "--bare", "-b", "main", origin.to_str().unwrap()]);
        farm.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [("user.email", "t@example.invalid"), ("user.name", "t")] {
            farm.git(&["config", key, value]);
        }
        farm.git(&["add", "-A"]);
        farm.git(&["commit", "-q", "-m", "work"]);
        farm.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
        farm.git(&["push", "-q", "-u", "origin", "main"]);
        farm
    }

    pub(super) fn git(&self, args: &[&str]) {
        let output = self.person.command("git").args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    /// A machine of its own that shares the database.
    pub(super) fn machine(&self) -> Sandbox {
        let machine = Sandbox::new().with("EFFECTS", &self.effects);
        self.postgres.configure(&machine, "");
        machine
    }

    pub(super) fn enqueue(&self, more: &[&str]) -> String {
        let said = self
            .person
            .person(&[&["run", "make it so", "--workflow", "w", "--enqueue", "--json"], more].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        let said: Value = serde_json::from_str(&said.out).unwrap();
        said[0]["run_id"].as_str().unwrap().to_owned()
    }

    /// State and outcome of a run.
    pub(super) fn state(&self, run: &str) -> String {
        self.postgres.sql(&format!("select concat_ws(' ', state, outcome) from aops.runs where id = '{run}'"))
    }

    /// The leases of dead workers run out.
    pub(super) fn expire(&self) {
        self.postgres.sql("update aops.runs set lease = now() - interval '1 hour' where state = 'running'");
    }

    pub(super) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.effects.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn started(&self, step: &str) -> Vec<String> {
        self.lines("starts").into_iter().filter(|line| line.contains(&format!(" {step} "))).collect()
    }
}

/// A worker that the test does not wait for.
pub(super) fn start_worker(machine: &Sandbox, more: &[&str]) -> Child {
    Command::new(BINARY)
        .arg("worker")
        .args(more)
        .env_clear()
        .envs(machine.environment())
        .current_dir(machine.project())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(super) fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Ends everything that runs on a machine, as a power cut does.
fn cut_power(machine: &Sandbox) {
    for (pid, _) in machine.alive() {
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    machine.wait_until("nothing runs there", || machine.alive().is_empty());
}

#[track_caller]
pub(super) fn work(machine: &Sandbox) -> Vec<Value> {
    let said = machine.person(&["worker", "--once", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_run_is_taken_driven_and_finished() {
    let farm = Farm::new(&[
        ("one", &format!("{STEP}echo hi > made.txt")),
        ("two", &format!("{STEP}cat made.txt >> \"$EFFECTS/seen\"")),
    ]);
    // As a remote may be written: from the top of the repository.
    farm.git(&["remote", "set-url", "origin", "../tmp/origin.git"]);
    let (first, second) = (farm.enqueue(&[]), farm.enqueue(&["--priority", "3", "--label", "gpu,big"]));
    let machine = farm.machine();
    let said = work(&machine);
    let left = said.iter().find(|line| line["event"] == "left").unwrap();
    assert_eq!((&left["run_id"], &left["state"]), (&first.as_str().into(), &"PASS".into()), "{said:?}");
    assert_eq!((farm.state(&first), farm.state(&second)), ("done PASS".to_owned(), "waiting".to_owned()));
    assert_eq!(farm.lines("seen"), ["hi"]);
    assert!(
        !farm.person.project().join("made.txt").exists(),
        "the tree of the person who asked is left alone"
    );
    let trees = machine.home().join(".local/state/aops/runs");
    assert_eq!(fs::read_dir(trees).unwrap().count(), 0, "nothing is left behind");
    let labels = farm
        .postgres
        .sql(&format!("select array_to_string(labels, ' ') from aops.runs where id = '{second}'"));
    assert_eq!(labels, "gpu big");
    let said = machine.person(&["worker", "--once", "--labels", "gpu,big"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(farm.state(&second), "done PASS");
    let steps = farm
        .postgres
        .sql(&format!("select line::json->>'kind' from aops.steps where run = '{first}' order by seq"));
    assert_eq!(steps.replace('\n', " "), "INIT STEP DONE STEP DONE DELIVERED TERMINAL");
}

/// A checkout of CI has a token in the address of its remote: it goes nowhere.
#[test]
fn a_password_in_the_address_of_a_remote_is_left_out() {
    let farm = Farm::new(&[("one", "true")]);
    farm.git(&["remote", "set-url", "origin", "https://me:s3cret@git.invalid/x.git"]);
    let said = farm.person.person(&["run", "x", "--workflow", "w", "--enqueue"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("were left out") && said.out.contains("credential helper"), "{said:?}");
    assert_eq!(farm.postgres.sql("select repository from aops.runs"), "https://git.invalid/x.git");
    // A row of an older version has it: it is shown nowhere.
    farm.postgres.sql("update aops.runs set repository = 'https://me:s3cret@git.invalid/x.git'");
    let machine = farm.machine();
    let told = format!("fleet.announce = 'cat > \"{}\"'\n", farm.effects.join("told").display());
    farm.postgres.configure(&machine, &told);
    let _ = work(&machine);
    let told = fs::read_to_string(farm.effects.join("told")).unwrap();
    let asked = farm.person.person(&["fleet", "approvals", "--json"]).out;
    let stored =
        farm.postgres.sql("select question, reason from aops.approvals join aops.runs on run = runs.id");
    for said in [&told, &asked, &stored] {
        assert!(said.contains("git.invalid") && !said.contains("s3cret"), "{said}");
    }
}

/// What cannot be run elsewhere is refused at once.
#[test]
fn a_run_that_no_machine_could_take_is_refused() {
    let farm = Farm::new(&[("one", "true")]);
    let refused = |more: &[&str], words: &[&str]| {
        farm.person.person(&[&["run", "x", "--enqueue", "--workflow"], more].concat()).failed(2, words);
    };
    refused(&["nonsense"], &["there is no workflow `nonsense`"]);
    farm.person.put("new.txt", "x");
    refused(&["w"], &["the repository is not clean"]);
    farm.git(&["add", "-A"]);
    farm.git(&["commit", "-q", "-m", "more"]);
    refused(&["w"], &["is not pushed", "hint: `git push`"]);
    farm.git(&["push", "-q"]);
    refused(&["w", "--context", "/etc/hostname"], &["outside of the project"]);
    farm.postgres.configure(&farm.person, "fleet.queue_max = 1\n");
    farm.enqueue(&[]);
    farm.person
        .person(&["run", "x", "--enqueue", "--workflow", "w"])
        .failed(1, &["1 runs wait already", "`fleet.queue_max`"]);
}

/// The whole machine dies in step two. Another one has what step one left, and begins step two again with the
/// same key.
#[test]
fn another_machine_goes_on_where_the_first_one_died() {
    let two = format!(
        "{STEP}{WAIT}{EFFECT}cat made.txt deep/x >> \"$EFFECTS/seen\"; git log --format=%s -1 >> \"$EFFECTS/seen\""
    );
    let one = format!(
        "{STEP}{EFFECT}mkdir deep; echo deep > deep/x; git add -A; git -c user.name=t -c user.email=t@t commit -q -m inner; echo loose > made.txt"
    );
    let farm = Farm::new(&[("one", &one), ("two", &two)]);
    let run = farm.enqueue(&[]);
    let (first, second) = (farm.machine(), farm.machine());
    let worker = start_worker(&first, &[]);
    farm.person.wait_until("step two runs", || farm.started("two").len() == 1);
    kill(worker);
    cut_power(&first);
    farm.expire();
    fs::write(farm.effects.join("go"), "").unwrap();
    let _ = work(&second);
    assert_eq!(farm.state(&run), "done PASS");
    assert_eq!(farm.lines("seen"), ["loose", "deep", "inner"]);
    assert_eq!(farm.lines("log"), [format!("{run} one"), format!("{run} two")]);
    let (one, two) = (farm.started("one"), farm.started("two"));
    assert_eq!((one.len(), two.len()), (1, 2), "a step that is done is not begun again");
    assert_eq!(two[0], two[1], "the same key");
    let left = first.home().join(".local/state/aops/runs").join(&run);
    for folder in [&left, &left.join("tree")] {
        assert_eq!(
            fs::metadata(folder).unwrap().permissions().mode() & 0o777,
            0o700,
            "nobody else looks into it"
        );
    }
    let _ = work(&first);
    assert!(!left.exists(), "its tree here is of no use to anybody");
}

/// A worker dies when its step is done and the database does not know it yet. What that step left is there
/// when the next step begins on another machine.
#[test]
fn a_tree_that_was_never_sent_is_sent_with_the_next_step() {
    let one = format!("{STEP}echo 1 > made; while ! test -e \"$EFFECTS/one\"; do sleep 0.05; done");
    let two = format!("{STEP}{WAIT}cat made >> \"$EFFECTS/seen\"");
    let mut farm = Farm::new(&[("one", &one), ("two", &two)]);
    let run = farm.enqueue(&[]);
    let (first, second) = (farm.machine(), farm.machine());
    let worker = start_worker(&first, &[]);
    farm.person.wait_until("step one runs", || farm.started("one").len() == 1);
    farm.postgres.kill();
    fs::write(farm.effects.join("one"), "").unwrap();
    let folder = first.home().join(".local/state/aops/runs").join(&run).join("tree/artifacts/loop_state");
    let ledger = || fs::read_to_string(folder.join("attempt_ledger.jsonl")).unwrap_or_default();
    first.wait_until("step one is done", || ledger().contains("\"kind\":\"DONE\""));
    kill(worker);
    farm.postgres.start_again();
    farm.expire();
    let worker = start_worker(&first, &[]);
    farm.person.wait_until("step two runs", || farm.started("two").len() == 1);
    kill(worker);
    cut_power(&first);
    farm.expire();
    fs::write(farm.effects.join("go"), "").unwrap();
    let _ = work(&second);
    assert_eq!((farm.state(&run), farm.lines("seen")), ("done PASS".to_owned(), vec!["1".to_owned()]));
}

/// Only the worker dies: the next one on that machine takes the running step over.
#[test]
fn a_running_step_is_taken_over_on_its_machine() {
    let farm = Farm::new(&[("one", &format!("{STEP}{WAIT}echo done >> \"$EFFECTS/log\""))]);
    let run = farm.enqueue(&[]);
    let (machine, other) = (farm.machine(), farm.machine());
    let worker = start_worker(&machine, &[]);
    farm.person.wait_until("the step runs", || !farm.started("one").is_empty());
    kill(worker);
    farm.postgres.sql("update aops.runs set lease = now() - interval '1 second'");
    let _ = work(&other);
    assert_eq!(farm.state(&run), "running", "its machine comes first");
    let worker = start_worker(&machine, &["--once"]);
    farm.person.wait_until("it has a new lease", || farm.postgres.sql("select fence from aops.runs") == "2");
    fs::write(farm.effects.join("go"), "").unwrap();
    farm.person.wait_until("it is done", || farm.state(&run) == "done PASS");
    assert_eq!((farm.started("one").len(), farm.lines("log").len()), (1, 1), "begun once, done once");
    assert!(worker.wait_with_output().unwrap().status.success());
}

/// A worker that learns that its run is another's ends its step and writes nothing; one that is asked to end
/// gives it back.
#[test]
fn a_fenced_worker_stops_and_an_ended_one_gives_back() {
    let farm = Farm::new(&[("one", &format!("{STEP}{WAIT}{EFFECT}"))]);
    let run = farm.enqueue(&[]);
    let machine = farm.machine();
    let worker = start_worker(&machine, &["--lease", "1s"]);
    farm.person.wait_until("the step runs", || !farm.started("one").is_empty());
    let said = farm.person.person(&["fleet", "block", &run, "--note", "not now", "--yes"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    machine.wait_until("the step is ended", || machine.alive().len() == 1);
    assert_eq!(farm.state(&run), "done BLOCKED");
    let lines = farm.postgres.sql("select count(*) from aops.steps");
    let gc = ["runs", "gc", "--older-than", "1h", "--yes", "--json"];
    assert_eq!(machine.person(&gc).json()["trees"], Value::Null, "a person may want to look at it");
    farm.postgres.sql("update aops.runs set changed = now() - interval '2 hours'");
    assert_eq!(machine.person(&gc).json()["trees"], 1);
    assert!(!machine.home().join(".local/state/aops/runs").join(&run).exists());
    let next = farm.enqueue(&[]);
    farm.person.wait_until("it works on the next", || {
        farm.lines("starts").iter().any(|line| line.starts_with(&next))
    });
    assert_eq!(farm.postgres.sql(&format!("select count(*) from aops.steps where run = '{run}'")), lines);
    kill_process(Pid::from_raw(i32::try_from(worker.id()).unwrap()).unwrap(), Signal::TERM).unwrap();
    assert!(worker.wait_with_output().unwrap().status.success());
    assert_eq!(farm.state(&next), "waiting", "given back");
    fs::write(farm.effects.join("go"), "").unwrap();
    let _ = work(&farm.machine());
    assert_eq!(farm.state(&next), "done PASS");
    assert_eq!(farm.lines("log"), [format!("{next} one")]);
}

/// A paused run has no worker; the answer may come from any machine, and counts for this question alone.
#[test]
fn a_question_is_answered_from_another_machine() {
    let once =
        r#"test -e "$EFFECTS/killed-$AOPS_STEP" || { : > "$EFFECTS/killed-$AOPS_STEP"; kill -9 $$; }; "#;
    let farm =
        Farm::new(&[("one", &format!("{STEP}{once}{EFFECT}")), ("two", &format!("{STEP}{once}{EFFECT}"))]);
    let run = farm.enqueue(&[]);
    let second = farm.machine().with("USER", "somebody-else").with("LOGNAME", "somebody-else");
    let first = farm.machine();
    for (n, step) in ["one", "two"].into_iter().enumerate() {
        let said = work(&first);
        let left = said.iter().find(|line| line["event"] == "left").unwrap();
        assert_eq!(left["state"], "PAUSED", "{said:?}");
        assert_eq!(farm.state(&run), "paused");
        assert!(!work(&second).iter().any(|line| line["event"] == "left"), "it waits without a worker");
        let asked = farm.person.person(&["fleet", "approvals", "--json"]);
        let asked: Value = serde_json::from_str(&asked.out).unwrap();
        assert!(asked[0]["question"].as_str().unwrap().contains(&format!("`{step}` was killed")), "{asked}");
        let id = asked[0]["id"].as_str().unwrap();
        // Once by the verb of the fleet, once by the verb of runs.
        let said = if n == 0 {
            second.person(&["fleet", "approve", id, "--note", "go on", "--yes"])
        } else {
            second.person(&["resolve", &run, "--approve", "--note", "go on", "--yes"])
        };
        assert_eq!(said.code, Some(0), "{said:?}");
        second.person(&["fleet", "approve", id, "--yes"]).failed(2, &["is not open"]);
    }
    let _ = work(&second);
    assert_eq!(farm.state(&run), "done PASS");
    assert_eq!(farm.lines("log"), [format!("{run} one"), format!("{run} two")]);
    let who = farm
        .postgres
        .sql("select line::json->'with'->>'by' from aops.steps where line like '%RESOLVED%' order by seq");
    assert_eq!(who.lines().count(), 2);
    assert!(who.lines().all(|line| line.contains(" at 20")), "who and when is in the ledger: {who}");
    assert!(!who.contains("somebody-else") && who.contains('@'), "a variable says nothing of it: {who}");
    // A rejected run ends.
    let run = farm.enqueue(&[]);
    fs::remove_file(farm.effects.join("killed-one")).unwrap();
    let _ = work(&second);
    let said = farm.person.person(&["fleet", "reject", &run, "--note", "no", "--yes"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let _ = work(&first);
    assert_eq!(farm.state(&run), "done BLOCKED");
    let shown = farm.person.person(&["runs", "--fleet", "--json"]);
    assert!(shown.out.contains("a person rejected step `one`: no"), "{shown:?}");
}

/// A question is announced, signed, with a token that answers it once.
#[test]
fn a_question_is_announced_with_a_signature_and_a_token() {
    let farm = Farm::new(&[("one", r#"test -e "$EFFECTS/x" || { : > "$EFFECTS/x"; kill -9 $$; }"#)]);
    let run = farm.enqueue(&[]);
    let machine = farm.machine();
    let announce = r#"fleet.announce = 'cat > "$EFFECTS/told"; echo "$AOPS_SIGNATURE" > "$EFFECTS/signed"'"#;
    farm.postgres.configure(&machine, &format!("{announce}\nfleet.page = \"https://approve.example/\"\n"));
    farm.postgres.configure(&farm.person, &format!("{announce}\n"));
    let _ = work(&machine);
    let told = fs::read_to_string(farm.effects.join("told")).unwrap();
    let key = fs::read_to_string(machine.config().join("aops/keys/fleet.key")).unwrap();
    let wanted = aops_fleet::approval::sign(key.trim().as_bytes(), told.as_bytes());
    assert_eq!(farm.lines("signed"), [format!("sha256={wanted}")]);
    let mut openssl = farm.person.command("openssl");
    openssl.args(["dgst", "-sha256", "-hmac", key.trim()]).write_stdin(told.clone());
    let other = String::from_utf8(openssl.output().unwrap().stdout).unwrap();
    assert!(other.trim_end().ends_with(&wanted), "as openssl computes it: {other}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["run"], run.as_str());
    let token = told["token"].as_str().unwrap();
    assert_eq!(told["link"], format!("https://approve.example/#{token}"));
    assert_eq!(farm.person.person(&["fleet", "approve", token, "--yes"]).code, Some(0));
    farm.person.person(&["fleet", "approve", token, "--yes"]).failed(2, &["is not open"]);
    let _ = work(&machine);
    assert_eq!(farm.state(&run), "done PASS");
}

/// A repository that is gone asks a person; nothing is lost.
#[test]
fn a_repository_that_cannot_be_cloned_asks() {
    let farm = Farm::new(&[("one", &format!("{STEP}{EFFECT}"))]);
    let run = farm.enqueue(&[]);
    let (origin, away) = (farm.person.tmp().join("origin.git"), farm.person.tmp().join("away.git"));
    fs::rename(&origin, &away).unwrap();
    let machine = farm.machine();
    let _ = work(&machine);
    assert_eq!(farm.state(&run), "paused");
    farm.person.person(&["fleet", "approvals"]).said(&["git clone", "may it be tried again?"]);
    fs::rename(&away, &origin).unwrap();
    assert_eq!(farm.person.person(&["fleet", "approve", &run, "--yes"]).code, Some(0));
    let _ = work(&machine);
    assert_eq!(farm.state(&run), "done PASS");
}

/// The database goes away and comes back while a step runs.
#[test]
fn a_worker_waits_for_the_database() {
    let mut farm =
        Farm::new(&[("one", &format!("{STEP}{WAIT}{EFFECT}")), ("two", &format!("{STEP}{EFFECT}"))]);
    let run = farm.enqueue(&[]);
    let machine = farm.machine();
    let worker = start_worker(&machine, &["--once"]);
    farm.person.wait_until("the step runs", || !farm.started("one").is_empty());
    farm.postgres.kill();
    fs::write(farm.effects.join("go"), "").unwrap();
    farm.person.wait_until("the step has its effect", || !farm.lines("log").is_empty());
    farm.postgres.start_again();
    farm.person.wait_until("the run is done", || farm.state(&run) == "done PASS");
    assert!(worker.wait_with_output().unwrap().status.success());
    assert_eq!((farm.lines("starts").len(), farm.lines("log").len()), (2, 2));
}
