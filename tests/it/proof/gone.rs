//! What is gone is an alarm as long as anything remembers it: removed in every combination.

use super::witness::{Server, configure, witnessed_turn};
use super::{keys, log, public_key, session, turn, verify, world};
use crate::support::{Answer, Sandbox, Session};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// What can be removed, and what of it remembers the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    Log,
    Keys,
    Heads,
    Folder,
    State,
    Index,
    Late,
    Witness,
    Git,
}

const ALL: [Thing; 9] = [
    Thing::Log,
    Thing::Keys,
    Thing::Heads,
    Thing::Folder,
    Thing::State,
    Thing::Index,
    Thing::Late,
    Thing::Witness,
    Thing::Git,
];
/// Whose loss is an alarm; the others can be made again.
const MISSED: [Thing; 4] = [Thing::Log, Thing::Keys, Thing::Heads, Thing::Folder];

impl Thing {
    fn paths(self, sandbox: &Sandbox, session: &Path) -> Vec<PathBuf> {
        let (aops, log) = (sandbox.config().join("aops"), log(sandbox));
        let of_log = |wanted: fn(&str) -> bool| {
            let items = fs::read_dir(&log).into_iter().flatten().flatten();
            let names = items.map(|item| item.file_name().into_string().unwrap()).filter(|name| wanted(name));
            names.map(|name| log.join(name)).collect()
        };
        match self {
            Thing::Log => of_log(|name| name != "late" && !name.starts_with("witness")),
            Thing::Late => vec![log.join("late")],
            Thing::Witness => of_log(|name| name.starts_with("witness")),
            Thing::Keys => vec![keys(sandbox)],
            Thing::Heads => vec![aops.join("heads.jsonl")],
            Thing::Index => {
                vec![aops.join("heads.index"), aops.join("heads.lock"), session.join("calls.index")]
            }
            Thing::Folder => vec![session.to_owned()],
            Thing::State => vec![session.join("session-state.json")],
            Thing::Git => vec![sandbox.project().join(".git/refs/notes")],
        }
    }
}

/// A session whose end is signed, sealed and witnessed, and all that remembers it.
fn everything(sandbox: &Sandbox) -> (Session<'_>, Server) {
    let one = session(sandbox);
    let index = sandbox.config().join("aops/heads.index");
    for _ in 0..40 {
        if !index.exists() {
            turn(&one);
        }
    }
    assert!(index.exists(), "so many heads have an index");
    let server = Server::start(&sandbox.tmp().join("w"), &[&public_key(sandbox).to_string()]);
    configure(sandbox, &[&server], 1);
    witnessed_turn(sandbox, &one);
    fs::create_dir_all(log(sandbox).join("late")).unwrap();
    fs::write(log(sandbox).join("late/x"), format!("{}\n{}", one.folder().display(), one.id)).unwrap();
    let checkpoint = fs::read_to_string(log(sandbox).join("checkpoint")).unwrap();
    for line in [
        &["init", "-q"][..],
        &["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"],
        &[
            "-c", "user.name=x", "-c", "user.email=x@x", "notes", "--ref", "aops", "append", "-m",
            &checkpoint, "HEAD",
        ],
    ] {
        assert!(sandbox.command("git").args(line).output().unwrap().status.success(), "{line:?}");
    }
    (one, server)
}

/// Moves these out of the way, looks, and puts them back.
fn without<T>(sandbox: &Sandbox, folder: &Path, things: &[Thing], look: impl FnOnce() -> T) -> T {
    let away = sandbox.tmp().join("away");
    fs::create_dir_all(&away).unwrap();
    // What lies in the session's folder goes first, and comes back last.
    let order = things.iter().rev().chain([]).filter(|thing| **thing != Thing::Folder);
    let paths: Vec<PathBuf> = order
        .chain(things.iter().filter(|thing| **thing == Thing::Folder))
        .flat_map(|thing| thing.paths(sandbox, folder))
        .filter(|path| path.symlink_metadata().is_ok())
        .collect();
    for (n, path) in paths.iter().enumerate() {
        fs::rename(path, away.join(n.to_string())).unwrap();
    }
    let empty = fs::read_dir(log(sandbox)).is_ok_and(|mut items| items.next().is_none());
    if empty {
        fs::remove_dir(log(sandbox)).unwrap();
    }
    let said = look();
    fs::create_dir_all(log(sandbox)).unwrap();
    for (n, path) in paths.iter().enumerate().rev() {
        fs::rename(away.join(n.to_string()), path).unwrap();
    }
    said
}

#[track_caller]
fn is_alarm(answer: &Answer, what: &str) {
    assert_eq!(answer.code, Some(4), "{what}: {answer:#?}");
    let words = ["gone", "lost:", "was removed", "covers", "remembers"];
    assert!(words.iter().any(|word| answer.out.contains(word)), "{what}: {answer:#?}");
    assert!(!answer.out.contains("tier:"), "{what}: {answer:#?}");
}

#[test]
fn what_is_gone_is_an_alarm_as_long_as_anything_remembers_it() {
    let sandbox = world();
    let (one, _server) = everything(&sandbox);
    let folder = one.folder();
    assert_eq!(sandbox.person(&["verify", "--all", "--git"]).code, Some(0), "all is there");
    for mask in 0..1_u32 << ALL.len() {
        let gone: Vec<Thing> = (0..ALL.len()).filter(|at| mask & 1 << at != 0).map(|at| ALL[at]).collect();
        let inside = gone.iter().any(|thing| matches!(thing, Thing::State));
        if inside && gone.contains(&Thing::Folder) {
            continue; // the state goes with its folder
        }
        let line =
            if gone.contains(&Thing::Git) { &["verify", "--all"][..] } else { &["verify", "--all", "--git"] };
        let said = without(&sandbox, &folder, &gone, || sandbox.person(line));
        let missed = gone.iter().any(|thing| MISSED.contains(thing));
        // The state goes with its folder.
        let goes =
            |thing: &Thing| gone.contains(thing) || *thing == Thing::State && gone.contains(&Thing::Folder);
        let remembered = !ALL.iter().all(goes);
        if missed && remembered {
            is_alarm(&said, &format!("{gone:?}"));
        } else {
            assert_eq!(said.code, Some(0), "{gone:?}: {said:#?}");
        }
    }
    assert_eq!(sandbox.person(&["verify", "--all", "--git"]).code, Some(0), "all is there again");
}

/// Everything that remembers the cut part is gone, but for the log's own leaves.
#[test]
fn a_history_that_was_cut_is_an_alarm_for_every_session() {
    let sandbox = world();
    let (one, other) = (session(&sandbox), session(&sandbox));
    let ledger = one.folder().join("ledger.jsonl");
    let before = fs::read(&ledger).unwrap();
    turn(&one);
    fs::write(&ledger, before).unwrap();
    for gone in ["session-state.json", ".session-state.spare", "calls.index"] {
        let _ = fs::remove_file(one.folder().join(gone));
    }
    fs::remove_dir_all(log(&sandbox).join("sessions")).unwrap();
    for name in ["heads.jsonl", "heads.index"] {
        let _ = fs::remove_file(sandbox.config().join("aops").join(name));
    }
    for id in [&one.id, &other.id] {
        let said = sandbox.person(&["verify", id]);
        assert!(said.code == Some(4) && said.out.contains("nowhere else"), "{said:?}");
        assert!(!said.out.contains("tier: sealed"), "{said:?}");
        sandbox.person(&["prove", &format!("{id}:1")]).failed(2, &["nowhere else"]);
    }
}

/// By every command that shows damage, and with the words for what is gone.
#[test]
fn what_is_gone_is_named_by_every_command() {
    let sandbox = world();
    let one = session(&sandbox);
    turn(&one);
    let (folder, id) = (one.folder(), one.id.clone());
    assert!(!sandbox.person(&["doctor"]).out.contains("bad  ledgers"));
    for (gone, words) in [
        (&[Thing::Log][..], &["missing"][..]),
        (&[Thing::Keys], &["the keys that signed it are no longer on this machine"]),
        (&[Thing::Heads], &["heads.jsonl"]),
        (&[Thing::Folder], &[&id]),
        (&[Thing::Log, Thing::Keys], &["the log `aops-log.local/", "is missing", "remembers"]),
        (&[Thing::Log, Thing::Keys, Thing::Heads], &["is missing", "remembers"]),
        (&[Thing::Log, Thing::Keys, Thing::Folder], &[&id, "is missing"]),
        (&[Thing::Heads, Thing::Folder], &[&id]),
        (&[Thing::Log, Thing::Heads, Thing::Folder], &["it is missing, but what was signed last covers"]),
    ] {
        let lines = [&["verify"][..], &["verify", "--all"], &["doctor"]];
        for said in without(&sandbox, &folder, gone, || lines.map(|line| sandbox.person(line))) {
            assert_eq!(said.code, Some(4), "{gone:?}: {said:#?}");
            assert!(words.iter().all(|word| said.out.contains(word)), "{gone:?}: {said:#?}");
            assert!(!said.out.contains("tier:") && !said.out.contains("all is well"), "{gone:?}: {said:#?}");
        }
        if !gone.contains(&Thing::Folder) {
            let lines = [&["status"][..], &["sessions"], &["report"]];
            let said = without(&sandbox, &folder, gone, || lines.map(|line| sandbox.person(line)));
            let shows = said.map(|said| said.out.contains("damaged"));
            assert!(shows[0], "{gone:?}: status");
            assert!(
                shows[1] && shows[2] || !gone.contains(&Thing::Log) || !gone.contains(&Thing::Keys),
                "{gone:?}: {shows:?}"
            );
        }
    }
    assert_eq!(sandbox.person(&["verify", "--all"]).code, Some(0));
}

/// A person's ways out work, and are in the log.
#[test]
fn a_person_gives_up_a_log_that_is_gone() {
    let sandbox = world();
    let one = session(&sandbox);
    turn(&one);
    let origin = public_key(&sandbox).name;
    fs::remove_dir_all(log(&sandbox)).unwrap();
    assert_eq!(sandbox.person(&["verify", "--all"]).code, Some(4));
    sandbox.person(&["key", "rotate", "--new-log", "--yes"]).said(&["another has begun"]);
    let said = verify(&sandbox, &["--all"]);
    assert_eq!(said["ok"], true, "{said}");
    assert!(
        fs::read_to_string(log(&sandbox).join("events.jsonl")).unwrap().contains(&origin),
        "it says instead of which"
    );
    turn(&one);
    assert_eq!(verify(&sandbox, &[&one.id])["tier"], "sealed");
    // Log and keys: only heads and ledgers know of them.
    for path in [log(&sandbox), keys(&sandbox)] {
        fs::remove_dir_all(path).unwrap();
    }
    assert_eq!(verify(&sandbox, &["--all"])["ok"], false);
    sandbox.person(&["key", "init"]).said(&["made the key"]);
    turn(&one);
    let said = verify(&sandbox, &["--all"]);
    assert_eq!((&said["ok"], &said["sessions"][0]["tier"]), (&json!(true), &json!("sealed")), "{said}");
    // A cut, an emptied and a broken seal.
    let seal = keys(&sandbox).join("seal.json");
    let good = fs::read(&seal).unwrap();
    for bad in [&b""[..], b"{}", &good[..good.len() / 2]] {
        fs::write(&seal, bad).unwrap();
        let said = sandbox.person(&["verify", "--all"]);
        assert!(said.code == Some(4) && said.out.contains("seal.json"), "{said:?}");
    }
    fs::write(&seal, good).unwrap();
    fs::remove_dir_all(log(&sandbox)).unwrap();
    fs::write(log(&sandbox), "x").unwrap();
    assert_eq!(sandbox.person(&["verify", &one.id]).code, Some(4), "a log that cannot be read");
}
