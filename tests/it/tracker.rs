//! The tracker: a detached refresher that is always gone in time, and a queue that writes each item once.

mod closing;
mod hydration;
mod learning;
mod minibeads;
mod real_client;
mod runs;
mod world;

use aops_core::briefing::tracker::{self, Item, Snapshot, Why};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;
use world::World;

fn issue(title: &str) -> Item {
    let labels = vec!["aops".to_owned(), "halt".to_owned()];
    let body = format!("- about {title}\nand more");
    Item::Issue { title: title.to_owned(), body, kind: "task".to_owned(), priority: 1, labels }
}

/// A tracker that answers when the test says so.
const WAITING: &str = r#"until [ -e "$HOME/go" ]; do sleep 0.02; done; echo bd version 1.0.5"#;

fn ids(part: &tracker::Part) -> Vec<&str> {
    part.issues.iter().map(|issue| issue.id.as_str()).collect()
}

fn why(snapshot: &Snapshot) -> Option<Why> {
    snapshot.trouble.as_ref().map(|trouble| trouble.why)
}

/// A script that answers as `bd` did when it was recorded, and writes down how it was asked.
fn recorded(version: &str, envelope: bool) -> World {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bd").join(version);
    let ready = if envelope { "ready_envelope" } else { "ready" };
    World::scripted(&format!(
        r#"cd {}
echo "$* | $BD_EXPORT_AUTO $BD_DISABLE_METRICS $BD_NO_HOOKS $BEADS_DOLT_AUTO_START | $(cat | wc -c)" >> "$HOME/asked"
case "$*" in
  --version) cat version.txt;;
  ready*) cat {ready}.json;;
  blocked*) cat blocked.json;;
  "list --status in_progress"*) cat update_claim.json 2>/dev/null || echo '[]';;
  *) echo "unknown command" >&2; exit 1;;
esac"#,
        fixtures.display()
    ))
}

#[test]
fn a_snapshot_of_bd_is_taken_without_its_side_effects() {
    for (version, envelope) in [("1.0.3", false), ("1.0.5", false), ("1.0.5", true)] {
        let world = recorded(version, envelope);
        assert_eq!(world.snapshot().headline(0), "not asked yet");
        let seen = world.refresh();
        assert_eq!(why(&seen), None, "{seen:?}");
        assert_eq!(seen.tool, Some(format!("bd {version}")));
        assert_eq!((seen.ready.total, seen.blocked.total, seen.ready.complete), (3, 1, true));
        assert_eq!(seen.in_progress.total, usize::from(version == "1.0.5"));
        let age = world.env().now_ms - seen.taken_ms.unwrap();
        assert!((0..20_000).contains(&age), "{age}");
        let asked = fs::read_to_string(world.sandbox.home().join("asked")).unwrap();
        let quiet = "| false 1 1 0 | 0";
        let expected = [
            format!("--version {quiet}"),
            format!("ready --json --limit 0 {quiet}"),
            format!("blocked --json {quiet}"),
            format!("list --status in_progress --json --limit 0 {quiet}"),
        ];
        let asked: Vec<&str> = asked.lines().collect();
        assert_eq!(asked[..4], expected);
        assert!(
            asked[4].starts_with("list --all --json --limit 0 --updated-after=") && asked.len() == 5,
            "{asked:?}"
        );
    }
}

#[test]
fn a_snapshot_is_private_and_reads_of_a_real_tracker_change_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::real();
    world.mb(&["create", "--title=first", "--priority=0", "--type=bug"]);
    world.mb(&["create", "--title=second", "--deps=demo-1"]);
    world.mb(&["create", "--title=third"]);
    world.mb(&["update", "demo-3", "--status=in_progress"]);
    for n in 4..160 {
        world.mb(&["create", &format!("--title=more {n}")]);
    }
    let before = world.tree();
    let seen = world.refresh();
    assert_eq!(world.tree(), before);
    assert_eq!(why(&seen), None, "{seen:?}");
    assert_eq!((seen.ready.total, seen.ready.issues.len()), (157, 20), "no silent limit");
    assert_eq!((ids(&seen.blocked), ids(&seen.in_progress)), (vec!["demo-2"], vec!["demo-3"]));
    assert_eq!(seen.blocked.issues[0].blocked_by, ["demo-1"]);
    let file = tracker::snapshot_file(&world.env(), &world.project());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let folder = fs::metadata(tracker::folder(&world.env())).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_missing_or_foreign_tracker_is_a_line_that_says_so() {
    let line = |world: World| {
        let seen = world.refresh();
        (why(&seen).unwrap(), world.sandbox.scrub(&seen.headline(0)))
    };
    let mut none = World::scripted("");
    none.command = "no-such-tracker".to_owned();
    assert_eq!(line(none), (Why::NoTool, "no `no-such-tracker` here; the loop works without it".to_owned()));
    let mut empty = World::real();
    fs::remove_dir_all(empty.sandbox.project().join(".minibeads")).unwrap();
    empty.command = minibeads::program().to_str().unwrap().to_owned();
    assert_eq!(line(empty), (Why::NoDatabase, "`mb 0.25.0`: this project has no issues yet".to_owned()));
    let other = line(World::scripted("echo bd 0.1.26; touch \"$HOME/asked-$1\""));
    let words =
        "`[sandbox]/home/bd` is not understood: another program of that name: it calls itself `bd 0.1.26`";
    assert_eq!(other, (Why::NotUnderstood, words.to_owned()));
    let odd = "[ \"$1\" = --version ] && echo bd version 9.0 || echo '{\"things\":[]}'";
    assert_eq!(line(World::scripted(odd)).0, Why::NotUnderstood);
    let broken =
        "[ \"$1\" = --version ] && echo bd version 9.0 || { echo '{\"error\":\"disk on fire\"}'; exit 1; }";
    assert_eq!(line(World::scripted(broken)), (Why::Failed, "`bd 9.0` failed: disk on fire".to_owned()));
}

/// A wrapper that answers a list to everything, to `--version` too: its answers are what counts.
#[test]
fn a_tracker_that_does_not_tell_its_version_is_asked() {
    let list = r#"[{"id":"bd-7","title":"greet","status":"open","priority":1,"issue_type":"task"}]"#;
    let seen = World::scripted(&format!("echo '{list}'")).refresh();
    assert_eq!((why(&seen), ids(&seen.ready)), (None, vec!["bd-7"]), "{seen:?}");
    let silent = World::scripted(&format!("[ \"$1\" = --version ] && exit 1; echo '{list}'")).refresh();
    assert_eq!((why(&silent), ids(&silent.ready)), (None, vec!["bd-7"]), "{silent:?}");
    let foreign = World::scripted("true").refresh();
    assert_eq!(why(&foreign), Some(Why::NotUnderstood), "{foreign:?}");
}

#[test]
fn a_slow_tracker_delays_no_hook_and_leaves_nothing_behind() {
    let world = World::scripted("sleep 601 & sleep 600").with("AOPS_TEST_REFRESH_MS", "2000");
    // The start returns with its streams closed, and a snapshot is read, while the tracker runs on.
    world.start();
    world.wait_until("the tracker runs", || world.runs("sleep 601"));
    assert_eq!(world.snapshot().headline(0), "not asked yet");
    let seen = world.refresh();
    assert_eq!((why(&seen), world.alive()), (Some(Why::TimedOut), vec![]));
    assert_eq!(seen.headline(0), "the tracker did not answer in time");
}

#[test]
fn an_earlier_snapshot_survives_a_slow_tracker() {
    let script = r#"case "$*" in --version) echo bd version 1.0.5;; *) [ -e "$HOME/slow" ] && sleep 600; echo '[]';; esac"#;
    let world = World::scripted(script).with("AOPS_TEST_REFRESH_MS", "900");
    let first = world.refresh();
    assert_eq!(why(&first), None, "{first:?}");
    fs::write(world.sandbox.home().join("slow"), "").unwrap();
    let second = world.refresh();
    assert_eq!((why(&second), second.taken_ms), (Some(Why::TimedOut), first.taken_ms));
}

/// No turn of a blocked session may end, so its report is not left to the end of one. The tracker is a script
/// that keeps what it is asked.
#[test]
fn a_halt_is_told_to_the_tracker_at_once() {
    let script = r#"case "$*" in --version) echo bd version 1.0.5;; create*) echo "$*" >> "$HOME/made"; echo '{"id":"p-1"}';; *) echo '[]';; esac"#;
    let world = World::scripted(script);
    world.sandbox.configure(&format!("[tracker]\ncommand = \"{}\"\n", world.command));
    world.sandbox.put(".beads/issues.jsonl", "");
    let session = world.sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("go");
    let _ = session.agent("custodiet", serde_json::json!({"verdict": "BLOCK", "violation": "scope left"}));
    let made = world.sandbox.home().join("made");
    world.wait_until("the report is in the tracker", || {
        fs::read_to_string(&made).is_ok_and(|text| text.contains("Halt:"))
    });
}

/// The refresher leads a session and group of its own: the client kills a hook's group at its time-out.
#[test]
fn the_refresher_is_out_of_reach_of_its_starter() {
    let world = World::scripted(WAITING);
    world.start();
    let line = |verb: &str| world.alive().into_iter().find(|(_, line)| line.contains(&format!(" {verb} ")));
    world.wait_until("both run", || line("__refresh").is_some() && line("__refresh-work").is_some());
    let (watcher, worker) = (line("__refresh").unwrap().0, line("__refresh-work").unwrap().0);
    let standing = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let after: Vec<i32> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .skip(2)
            .take(2)
            .map(|n| n.parse().unwrap())
            .collect();
        (after[0], after[1])
    };
    assert_eq!(standing(watcher), (watcher, watcher), "group and session");
    assert_eq!(standing(worker), (worker, watcher));
    // Starting the worker holds a socket for the moment of its exec: what counts is that none stays.
    let only_null = || {
        let files = fs::read_dir(format!("/proc/{watcher}/fd")).into_iter().flatten().flatten();
        let open: Vec<_> = files.filter_map(|file| fs::read_link(file.path()).ok()).collect();
        open.len() >= 3 && open.iter().all(|file| file == Path::new("/dev/null"))
    };
    world.wait_until("the watcher holds nothing but /dev/null", only_null);
    assert!(line("__refresh").is_some(), "it held them to its end");
    fs::write(world.sandbox.home().join("go"), "").unwrap();
    world.wait_until("it ends", || world.alive().is_empty());
}

#[test]
fn open_files_of_its_starter_are_closed() {
    let world = World::scripted(WAITING);
    let line = r#"exec 7>"$HOME/held"; exec "$0" "$@""#;
    let start = [aops_binary(), "__refresh-start", &world.project(), &world.command].map(str::to_owned);
    let said = world.sandbox.command("/bin/sh").arg("-c").arg(line).args(start).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    world.wait_until("the tracker runs", || world.runs("/bd --version"));
    let held = world.sandbox.home().join("held");
    for (pid, line) in world.alive() {
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        let holds = files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|to| to == held));
        assert!(!holds, "{line}");
    }
    fs::write(world.sandbox.home().join("go"), "").unwrap();
    world.wait_until("it ends", || world.alive().is_empty());
}

fn aops_binary() -> &'static str {
    crate::support::BINARY
}

#[test]
fn of_two_refreshers_one_works_and_looks_once_more() {
    let script = r#"case "$*" in --version) echo begin >> "$HOME/log"; sleep 0.3; echo bd version 1.0.5;;
        "list --status"*) echo '[]'; echo end >> "$HOME/log";; *) echo '[]';; esac"#;
    let world = World::scripted(script);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| world.start());
        }
    });
    world.wait_until("all are gone", || world.alive().is_empty());
    let log = fs::read_to_string(world.sandbox.home().join("log")).unwrap();
    let rounds = log.matches("begin").count();
    assert_eq!(log, "begin\nend\n".repeat(rounds), "never two at once");
    assert!(
        (2..=4).contains(&rounds),
        "those who came too late are heard, but not each on its own: {rounds}"
    );
}

fn described(world: &World) -> BTreeMap<String, Vec<String>> {
    let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for issue in world.mb(&["list"]).as_array().unwrap() {
        let text = issue["description"].as_str().unwrap();
        let key = text.split("aops-key: ").nth(1).unwrap_or_default();
        by_key.entry(key.to_owned()).or_default().push(issue["id"].as_str().unwrap().to_owned());
    }
    by_key
}

#[test]
fn items_are_written_in_a_real_tracker_once() {
    let world = World::real();
    world.mb(&["create", "--title=theirs"]);
    let made = world.enqueue(issue("--halt: scope left"));
    let seen = world.refresh();
    assert_eq!((seen.waiting, world.waiting(), why(&seen)), (0, 0, None));
    assert_eq!((seen.ready.total, seen.ours), (1, 1), "what was written is counted in the same snapshot");
    let show = world.mb(&["show", "demo-2"]);
    assert_eq!(
        (&show[0]["title"], &show[0]["labels"]),
        (&"--halt: scope left".into(), &serde_json::json!(["aops", "halt"]))
    );
    let body = format!("- about --halt: scope left\nand more\n\naops-key: {made}");
    assert_eq!(show[0]["description"], Value::from(body));

    // A crash between writing and taking it off the queue: only the tracker remembers.
    fs::remove_dir_all(tracker::folder(&world.env()).join("done")).unwrap();
    assert_eq!(world.enqueue(issue("--halt: scope left")), made);
    world.mb(&["close", "demo-2"]);
    world.refresh();
    assert_eq!((world.waiting(), described(&world)[&made].clone()), (0, vec!["demo-2".to_owned()]));
}

#[test]
fn items_wait_for_a_tracker_that_is_not_there_and_a_refusal_is_kept() {
    let mut world = World::real();
    let program = std::mem::replace(&mut world.command, "no-such-tracker".to_owned());
    world.enqueue(issue("kept"));
    let Item::Issue { title, body, priority, labels, .. } = issue("refused");
    world.enqueue(Item::Issue { title, body, kind: "no-such-type".to_owned(), priority, labels });
    let seen = world.refresh();
    assert_eq!((world.waiting(), seen.waiting), (2, 2));
    assert!(seen.headline(0).ends_with("2 of our own still to be written"), "{}", seen.headline(0));
    world.command = program;
    let seen = world.refresh();
    assert_eq!((seen.waiting, seen.ours, seen.ready.total), (1, 1, 0));
    let left = tracker::queue::waiting(&world.env(), &world.project()).remove(0);
    assert_eq!(left.tries, 1);
    assert!(
        left.reason.as_deref().is_some_and(|r| r.starts_with("`mb 0.25.0` failed:")),
        "{:?}",
        left.reason
    );
    world.refresh();
    assert_eq!(tracker::queue::waiting(&world.env(), &world.project())[0].tries, 1, "not before its time");
}

#[test]
fn an_item_is_looked_for_again_if_the_tracker_fails_once() {
    let script = r#"case "$*" in
  --version) echo "bd version 1.0.5 (x)";;
  create*) echo '{"id":"demo-7"}';;
  *--desc-contains=*) [ -e "$HOME/asked" ] || { touch "$HOME/asked"; echo "missing frontmatter" >&2; exit 1; }
    echo '[]';;
  *) echo '[]';; esac"#;
    let world = World::scripted(script);
    world.enqueue(issue("a"));
    let seen = world.refresh();
    assert_eq!((world.waiting(), why(&seen)), (0, None));
}

#[test]
fn an_item_whose_answer_was_lost_is_found_again() {
    let script = r#"case "$*" in
  --version) echo "bd version 1.0.5 (x)";;
  *--desc-contains=*) [ -e "$HOME/made" ] && cat "$HOME/made" || echo '[]';;
  create*) [ -e "$HOME/made" ] && exit 3
    key=$(printf '%s' "$*" | sed -n 's/.*aops-key: \([0-9a-f]*\).*/\1/p')
    printf '[{"id":"demo-7","title":"a","description":"aops-key: %s"}]' "$key" > "$HOME/made"; exit 1;;
  *) echo '[]';; esac"#;
    let world = World::scripted(script);
    world.enqueue(issue("a"));
    world.refresh();
    assert_eq!(world.waiting(), 1, "it was written, but its answer was lost");
    let later = (world.env().now_ms + 3_600_000).to_string();
    let world = world.with("AOPS_TEST_NOW_MS", &later);
    world.refresh();
    assert_eq!(world.waiting(), 0);
    let done = fs::read_dir(tracker::folder(&world.env()).join("done")).unwrap().next().unwrap().unwrap();
    assert_eq!(fs::read_to_string(done.path()).unwrap(), "demo-7", "found, and not written again");
}

#[test]
fn no_kill_loses_an_item_or_doubles_it() {
    killed_at_random(10);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn no_kill_of_many_loses_an_item_or_doubles_it() {
    killed_at_random(80);
}

/// Killed at random points, watcher or worker: each item ends in the tracker, exactly once.
fn killed_at_random(rounds: u32) {
    let mut world = World::real();
    // Slower than it is, before and after the work: kills fall between the steps, and a write outlives its
    // worker.
    let slower = world.sandbox.home().join("slower");
    let script = r#"case "$*" in *create*) sleep 0.1;; esac; mb "$@"; r=$?; sleep 0.02; exit $r"#;
    fs::write(&slower, format!("#!/bin/sh\n{}\n", script.replace("mb ", &format!("{} ", world.command))))
        .unwrap();
    fs::set_permissions(&slower, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    slower.to_str().unwrap().clone_into(&mut world.command);
    let mut random = 88_172_645_463_325_252_u64;
    let mut draw = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut keys, mut kills) = (Vec::new(), 0);
    for round in 0..rounds {
        keys.extend((0..3).map(|n| world.enqueue(issue(&format!("item {round}.{n}")))));
        // Some are asked for at once, so that one begins as soon as another is killed.
        for _ in 0..=draw(2) {
            world.start();
        }
        let verb = if draw(4) == 0 { "__refresh" } else { "__refresh-work" };
        world.wait_until("it runs, or has ended", || {
            world.alive().is_empty() || world.alive().iter().any(|(_, l)| l.contains(verb))
        });
        thread::sleep(Duration::from_millis(draw(400)));
        kills += u32::from(world.kill(verb));
    }
    assert!(kills * 3 >= rounds, "only {kills} kills fell where they were meant to");
    world.wait_until("nothing runs", || world.alive().is_empty());
    while world.waiting() > 0 {
        let before = world.waiting();
        world.refresh();
        assert!(world.waiting() < before, "no progress: {:?}", world.snapshot());
    }
    let written = described(&world);
    let wrong: Vec<_> = keys.iter().filter(|key| written.get(*key).map(Vec::len) != Some(1)).collect();
    assert_eq!((wrong.len(), written.len()), (0, keys.len()), "{wrong:?} of {kills} kills");
    assert!(tracker::queue::list(&world.env(), "aside", &world.project()).is_empty());
}

#[test]
fn the_verbs_of_the_refresher_are_in_no_help() {
    let world = World::scripted("");
    let said = world.sandbox.command(aops_binary()).arg("--help").output().unwrap();
    assert!(said.status.success() && !String::from_utf8_lossy(&said.stdout).contains("refresh"), "{said:?}");
}
