//! Keys that are gone or others, files that are cut, gone or no files: each is damage, named, hides nothing
//! else, and a person's way out works. Nothing is waited for.

use super::proofs::second;
use super::{ended, key_arguments, keys, log, session, turn, verify, world};
use crate::support::{Answer, Sandbox, Session};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The commands that a person asks: each is an alarm, with these words.
#[track_caller]
fn alarms(sandbox: &Sandbox, words: &[&str], case: &str) {
    for line in [&["verify"][..], &["verify", "--all"], &["doctor"]] {
        let said = sandbox.person(line);
        assert_eq!(said.code, Some(4), "{case}: {line:?}: {said:#?}");
        assert!(
            words.iter().all(|word| said.out.contains(word)),
            "{case}: {line:?} without {words:?}: {said:#?}"
        );
        assert!(!said.out.contains("tier:"), "{case}: {said:#?}");
    }
}

/// The turn ends, and says that nothing was signed.
#[track_caller]
fn signs_nothing(sandbox: &Sandbox, one: &Session, case: &str) {
    let before = fs::read(log(sandbox).join("checkpoint")).unwrap();
    let _ = one.prompt("go on");
    let said = one.stop("done");
    assert!(said.code == Some(0) && said.out.contains("the log was not signed"), "{case}: {said:?}");
    assert_eq!(fs::read(log(sandbox).join("checkpoint")).unwrap(), before, "{case}: nothing is signed");
}

#[track_caller]
fn is_sealed(sandbox: &Sandbox, one: &Session, case: &str) {
    turn(one);
    let said = verify(sandbox, &["--all"]);
    assert_eq!(
        (&said["ok"], &said["sessions"][0]["tier"]),
        (&json!(true), &json!("sealed")),
        "{case}: {said}"
    );
}

type Attack<'a> = &'a dyn Fn(&Sandbox);

/// What can become of the keys while their state or the log still names them.
#[test]
fn with_another_key_than_those_that_the_log_names_nothing_is_signed() {
    let other = world();
    let take = |sandbox: &Sandbox, name: &str| {
        fs::copy(keys(&other).join(name), keys(sandbox).join(name)).unwrap();
    };
    let forget = |sandbox: &Sandbox| {
        let path = keys(sandbox).join("seal.json");
        let mut state: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert!(state.as_object_mut().unwrap().remove("signers").is_some(), "{state}");
        fs::write(path, state.to_string()).unwrap();
    };
    let remove = |sandbox: &Sandbox, name: &str| fs::remove_file(keys(sandbox).join(name)).unwrap();
    let attacks: [(&str, &str, Attack); 6] = [
        ("ml-dsa.key is gone", "`ml-dsa.key`, a key that signs it, is missing", &|world| {
            remove(world, "ml-dsa.key");
        }),
        (
            "it is gone, and an earlier version signed",
            "`ml-dsa.key`, a key that signs it, is missing",
            &|world| {
                remove(world, "ml-dsa.key");
                forget(world);
            },
        ),
        ("it is gone with the state", "`ml-dsa.key`, a key that signs it, is missing", &|world| {
            remove(world, "ml-dsa.key");
            remove(world, "seal.json");
        }),
        ("another ml-dsa.key", "`ml-dsa.key` is not the key that signs it", &|world| {
            take(world, "ml-dsa.key");
        }),
        ("another note.key", "`note.key` is not the key that signs it", &|world| take(world, "note.key")),
        ("both are others", "is not the key that signs it", &|world| {
            take(world, "note.key");
            take(world, "ml-dsa.key");
        }),
    ];
    for (case, words, attack) in attacks {
        let sandbox = world();
        let (one, origin) = (session(&sandbox), super::public_key(&sandbox).name);
        attack(&sandbox);
        alarms(&sandbox, &[words, "`aops-hook key rotate`"], case);
        signs_nothing(&sandbox, &one, case);
        // The way out that is told: the log goes on, says what was lost, and no stranger vouches for
        // anything.
        let strangers = fs::read_to_string(keys(&sandbox).join("note.key")).unwrap();
        sandbox.person(&["key", "rotate", "--yes"]).said(&["tell your witnesses"]);
        assert_eq!(super::public_key(&sandbox).name, origin, "{case}: it is the same log");
        is_sealed(&sandbox, &one, case);
        let events = fs::read_to_string(log(&sandbox).join("events.jsonl")).unwrap();
        assert!(events.contains("\"lost\":["), "{case}: {events}");
        if case.contains("other") && strangers == fs::read_to_string(keys(&other).join("note.key")).unwrap() {
            let trusted = fs::read_to_string(keys(&sandbox).join("old.pub")).unwrap_or_default();
            assert!(!trusted.contains(&super::public_key(&other).name), "{case}: {trusted}");
        }
    }
}

#[test]
fn a_note_key_that_is_gone_alone_is_an_alarm_too() {
    let sandbox = world();
    let one = session(&sandbox);
    let shown = key_arguments(&sandbox);
    fs::remove_file(keys(&sandbox).join("note.key")).unwrap();
    alarms(
        &sandbox,
        &["the keys that signed it are no longer on this machine", "`aops-hook key init`"],
        "note.key",
    );
    let named: Vec<&str> = ["verify", "--all"].into_iter().chain(shown.iter().map(String::as_str)).collect();
    let said = sandbox.person(&named);
    assert!(said.code == Some(4) && said.out.contains("are no longer"), "who names the keys: {said:?}");
    sandbox.person(&["key", "init"]).said(&["made the key"]);
    is_sealed(&sandbox, &one, "made anew");
}

/// What can stand in the place of a file.
const KINDS: [&str; 6] = ["folder", "dangling link", "link", "FIFO", "socket", "device"];

/// Puts it there; `false` where this user cannot.
fn put(kind: &str, path: &Path) -> bool {
    let aside = path.with_extension("aside");
    fs::rename(path, &aside).unwrap();
    let made = match kind {
        "folder" => fs::create_dir(path).is_ok(),
        "dangling link" => symlink("/nowhere/at/all", path).is_ok(),
        "link" => symlink(&aside, path).is_ok(),
        "FIFO" => mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).is_ok(),
        // A path may be longer than a socket's name.
        "socket" => {
            let short = std::env::temp_dir().join(format!("aops-odd-{}", std::process::id()));
            let made = UnixListener::bind(&short).is_ok() && fs::rename(&short, path).is_ok();
            let _ = fs::remove_file(short);
            made
        }
        _ => mknodat(CWD, path, FileType::CharacterDevice, Mode::RWXU, rustix::fs::makedev(1, 3)).is_ok(),
    };
    if !made {
        fs::rename(aside, path).unwrap();
    }
    made
}

fn put_back(path: &Path) {
    let removed =
        if path.symlink_metadata().unwrap().is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
    removed.unwrap();
    fs::rename(path.with_extension("aside"), path).unwrap();
}

/// The newest partial tile.
fn tile(sandbox: &Sandbox) -> PathBuf {
    let (size, _) = super::checkpoint(sandbox);
    log(sandbox).join(format!("tile/0/000.p/{size}"))
}

#[track_caller]
fn answers(answer: &Answer, case: &str) {
    assert!(answer.code.is_some(), "{case}: {answer:?}");
}

/// A session's folder is a folder, for both verifiers.
#[test]
fn a_folder_that_is_a_link_is_no_session() {
    let sandbox = world();
    let one = session(&sandbox);
    let folder = one.folder();
    let aside = sandbox.home().join("aside");
    fs::rename(&folder, &aside).unwrap();
    symlink(&aside, &folder).unwrap();
    let said = sandbox.person(&["verify", "--all"]);
    assert!(said.code == Some(4) && said.out.contains("in the log and nowhere else"), "{said:?}");
    assert_eq!(second(&[&folder.to_string_lossy()])["code"], "STATE_STORAGE_FAILED");
}

#[test]
fn what_is_no_file_is_damage_of_its_own_and_hides_nothing() {
    let sandbox = world();
    let (one, two) = (session(&sandbox), session(&sandbox));
    // Another session is damaged as well.
    let ledger = two.folder().join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, text.replacen("go on", "go no", 1)).unwrap();
    let (folder, theirs) = (log(&sandbox), key_arguments(&sandbox));
    let heads = sandbox.config().join("aops/heads.jsonl");
    let of_log = ["leaves", "checkpoint", "seals", "events.jsonl"].map(|name| folder.join(name));
    let all = of_log.into_iter().chain([tile(&sandbox), heads, one.folder().join("ledger.jsonl")]);
    for path in all.collect::<Vec<_>>() {
        let name = path.file_name().unwrap().to_str().unwrap();
        for kind in KINDS {
            if !put(kind, &path) {
                continue;
            }
            let case = format!("{kind} as {name}");
            let said = sandbox.person(&["verify", "--all"]);
            assert_eq!(said.code, Some(4), "{case}: {said:#?}");
            assert!(said.out.contains(name), "{case} is not named: {said:#?}");
            let mismatch = format!("damaged: {}: STATE_CHECKSUM_MISMATCH", two.id);
            assert!(said.out.contains(&mismatch), "{case}: the other's damage is hidden: {said:#?}");
            for line in [&["verify", &one.id][..], &["doctor"]] {
                let said = sandbox.person(line);
                assert!(said.code == Some(4) && !said.out.contains("tier:"), "{case}: {line:?}: {said:#?}");
            }
            let said = sandbox.person(&["prove", &format!("{}:2", one.id)]);
            assert!(name == "heads.jsonl" || said.code != Some(0), "{case}: {said:#?}");
            if name != "heads.jsonl" {
                let folders = [one.folder(), two.folder()].map(|path| path.display().to_string());
                let line = ["--log", folder.to_str().unwrap(), "--all", &folders[0]];
                let keys = theirs.each_ref().map(String::as_str);
                assert_eq!(second(&[&line[..], &keys[..]].concat())["ok"], false, "{case}");
            }
            let _ = sandbox.person(&["status"]);
            put_back(&path);
        }
    }
    fs::write(&ledger, text).unwrap();
    assert_eq!(verify(&sandbox, &["--all"])["ok"], true, "all is as it was");
}

/// No event waits for any of these files either.
#[test]
fn no_event_waits_for_what_is_no_file() {
    let sandbox = world();
    let one = session(&sandbox);
    let aops = sandbox.config().join("aops");
    let names = ["log/leaves", "log/checkpoint", "log/seals", "log/events.jsonl", "log/.lock", "heads.jsonl"];
    let secret = ["keys/note.key", "keys/ml-dsa.key", "keys/seal.json"];
    let record = fs::read_dir(aops.join("log/sessions")).unwrap().next().unwrap().unwrap().path();
    let all = names.iter().chain(&secret).map(|name| aops.join(name)).chain([tile(&sandbox), record]);
    for path in all.collect::<Vec<_>>() {
        let case = format!("FIFO as {}", path.display());
        assert!(put("FIFO", &path), "{case}");
        let call = one.call("Read", json!({"file_path": "/x"}));
        for answer in [one.prompt("go on"), one.pre(&call), one.post(&call), one.stop("done")] {
            answers(&answer, &case);
        }
        for line in [
            &["status"][..],
            &["verify"],
            &["verify", "--all"],
            &["doctor"],
            &["sessions"],
            &["report"],
            &["key", "show"],
        ] {
            answers(&sandbox.person(line), &case);
        }
        put_back(&path);
    }
}

/// Another kind of file as a key: told, and what is told to be done works.
#[test]
fn a_key_that_is_no_file_is_told_with_a_way_out() {
    for (name, next) in [
        ("note.key", Some(&["key", "init"][..])),
        ("ml-dsa.key", Some(&["key", "rotate", "--yes"])),
        ("seal.json", None),
    ] {
        for kind in ["FIFO", "folder", "dangling link"] {
            let (sandbox, case) = (world(), format!("{kind} as {name}"));
            let one = session(&sandbox);
            let path = keys(&sandbox).join(name);
            assert!(put(kind, &path), "{case}");
            alarms(&sandbox, &[name, "move it out of `aops/keys`"], &case);
            signs_nothing(&sandbox, &one, &case);
            fs::rename(&path, sandbox.tmp().join("moved")).unwrap();
            if let Some(next) = next {
                alarms(&sandbox, &[&format!("`aops-hook {} {}`", next[0], next[1])], &case);
                assert_eq!(sandbox.person(next).code, Some(0), "{case}");
            }
            is_sealed(&sandbox, &one, &case);
        }
    }
    // The other way out works with whatever lies there.
    let sandbox = world();
    let one = session(&sandbox);
    assert!(
        put("FIFO", &keys(&sandbox).join("note.key")) && put("folder", &keys(&sandbox).join("seal.json"))
    );
    sandbox.person(&["key", "rotate", "--new-log", "--yes"]).said(&["another has begun"]);
    is_sealed(&sandbox, &one, "another log");
}

/// A ledger that is not a file is set aside as any other damaged one.
#[test]
fn a_ledger_that_is_no_file_is_set_aside() {
    for kind in ["folder", "FIFO", "dangling link"] {
        let sandbox = world();
        let one = session(&sandbox);
        assert!(put(kind, &one.folder().join("ledger.jsonl")));
        let said = sandbox.person(&["verify", &one.id]);
        assert!(said.code == Some(4) && said.out.contains("--quarantine"), "{kind}: {said:?}");
        sandbox.person(&["verify", &one.id, "--quarantine", "--yes"]).said(&["set aside as"]);
        is_sealed(&sandbox, &one, kind);
    }
}

/// The program, with its keys at hand, and the second verifier say the same of what is cut, gone or too much.
#[test]
fn both_verifiers_agree_on_what_is_cut_or_gone() {
    let sandbox = world();
    let (one, two) = (session(&sandbox), session(&sandbox));
    turn(&one);
    let (folder, theirs) = (log(&sandbox), key_arguments(&sandbox));
    let folders = [one.folder(), two.folder()].map(|path| path.display().to_string());
    let ask = || {
        let line = ["--log", folder.to_str().unwrap(), "--all", &folders[0], &folders[1]];
        second(&[&line[..], &theirs.each_ref().map(String::as_str)[..]].concat())
    };
    assert_eq!((&verify(&sandbox, &["--all"])["ok"], &ask()["ok"]), (&json!(true), &json!(true)));
    let files = ["seals", "leaves", "events.jsonl", "checkpoint"].map(|name| folder.join(name));
    for path in files.into_iter().chain([tile(&sandbox)]) {
        let good = fs::read(&path).unwrap();
        let last = good[..good.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let cuts = [
            Some(0),
            Some(1),
            Some(good.len() / 2),
            Some(last),
            Some(good.len() - 32),
            Some(good.len() - 1),
            None,
        ];
        for cut in cuts {
            match cut {
                Some(long) => fs::write(&path, &good[..long]).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let case = format!("{} cut to {cut:?} of {}", path.display(), good.len());
            let (said, other) = (verify(&sandbox, &["--all"]), ask());
            assert_eq!((&said["ok"], &other["ok"]), (&json!(false), &json!(false)), "{case}: {said} {other}");
            let (said, proof) =
                (verify(&sandbox, &[&one.id]), sandbox.person(&["prove", &format!("{}:2", one.id)]));
            assert!(said["ok"] == false && said["tier"].is_null(), "{case}: {said}");
            assert!(proof.code != Some(0), "{case}: {proof:?}");
            assert_eq!(sandbox.person(&["doctor"]).code, Some(4), "{case}");
            fs::write(&path, &good).unwrap();
        }
    }
    for (name, bytes) in [
        ("tile/0/001", &[7; 32][..]),
        ("tile/0/000", &[7; 64]),
        ("tile/1/000.p/1", &[7; 32]),
        ("tile/x", b""),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let (said, other) = (verify(&sandbox, &["--all"]), ask());
        assert_eq!((&said["ok"], &other["ok"]), (&json!(false), &json!(false)), "{name}: {said} {other}");
        fs::remove_file(&path).unwrap();
    }
    assert_eq!((&verify(&sandbox, &["--all"])["ok"], &ask()["ok"]), (&json!(true), &json!(true)));
}

/// What is told of tiles works: they are made again.
#[test]
fn tiles_are_made_again() {
    for harm in ["gone", "a link", "another"] {
        let sandbox = world();
        let one = session(&sandbox);
        let tiles = log(&sandbox).join("tile");
        match harm {
            "gone" => fs::remove_dir_all(&tiles).unwrap(),
            "a link" => assert!(put("link", &tiles)),
            _ => fs::write(tile(&sandbox), [0; 32]).unwrap(),
        }
        alarms(&sandbox, &["do not match the leaves", "`aops-hook key rotate`"], harm);
        sandbox.person(&["key", "rotate", "--yes"]).said(&["tell your witnesses"]);
        is_sealed(&sandbox, &one, harm);
        ended(&one.stop("done"));
    }
}
