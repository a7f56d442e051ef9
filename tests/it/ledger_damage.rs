//! A ledger that was cut or changed: mended where a kill explains it, refused where nothing does, never
//! believed.

use crate::faults::ID;
use crate::faults::{self, Files, LEDGER, STATE, Workshop, passed, put_back, python_verifier, sound, walk};
use crate::support::Sandbox;
use aops_core::ledger::open::Ledger;
use aops_core::ledger::sessions;
use aops_core::model::call::{CallKey, CallState};
use aops_core::model::error::Code;
use aops_core::session::fold::Session;
use aops_core::text::stored::digest_of;
use serde_json::json;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A small ledger with a bit of everything, and every version of its files after each event.
fn versions(workshop: &Workshop) -> Vec<Files> {
    let events = [
        ("SessionStart", json!({"source": "startup"})),
        ("PreToolUse", faults::tool("a")),
        ("UserPromptSubmit", json!({"prompt": "größer ist 🦀 \"better\""})),
    ];
    let versions = events.iter().map(|(name, fields)| {
        workshop.event(name, fields).unwrap();
        workshop.files()
    });
    versions.collect()
}

/// Where each batch of a ledger ends.
fn marks(ledger: &[u8]) -> Vec<usize> {
    let (mut at, mut marks) = (0, Vec::new());
    for line in ledger.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        let entry: serde_json::Value = serde_json::from_slice(line).unwrap();
        marks.extend(entry["state_digest"].is_string().then_some(at));
    }
    marks
}

/// One state file per cut, in rotation.
#[test]
fn cut_at_every_byte() {
    cut_everywhere(1);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn cut_at_every_byte_with_each_state_file() {
    cut_everywhere(3);
}

/// The ledger cut at every byte, with so many of the three state files that may be beside it.
fn cut_everywhere(with: usize) {
    let workshop = Workshop::new();
    let versions = versions(&workshop);
    let last = versions.last().unwrap();
    let marks = marks(&last[LEDGER]);
    let (older, newest) = (1, versions.len() - 1);
    for cut in 0..=last[LEDGER].len() {
        let states =
            [(None, 0), (Some(older), versions[older][LEDGER].len()), (Some(newest), last[LEDGER].len())];
        for (state, proven) in states.into_iter().cycle().skip(cut % 3).take(with) {
            let mut files = Files::from([(LEDGER.to_owned(), last[LEDGER][..cut].to_vec())]);
            files.extend(state.map(|n: usize| (STATE.to_owned(), versions[n][STATE].clone())));
            put_back(&workshop.folder(), &files);
            let told = workshop.pre("next");
            let case = format!("cut at {cut}, state {state:?}");
            if cut < proven {
                let failure = told.expect_err(&case);
                assert_eq!(failure.code, Code::RecoveryFailed, "{case}: {failure}");
                assert_eq!(workshop.file(LEDGER), files[LEDGER], "{case}: a refusal changes nothing");
                continue;
            }
            told.unwrap_or_else(|failure| panic!("{case}: {failure}"));
            mended(&workshop, &files[LEDGER], &marks, &case);
        }
    }
}

/// All whole batches are still there, the rest is kept beside, and the ledger says so.
fn mended(workshop: &Workshop, cut: &[u8], marks: &[usize], case: &str) {
    let kept = marks.iter().copied().filter(|mark| *mark <= cut.len()).max().unwrap_or(0);
    let bytes = sound(ID, &workshop.folder());
    assert_eq!(bytes[..kept], cut[..kept], "{case}: an acknowledged entry changed");
    assert!(faults::steps(&bytes).contains_key("next"), "{case}: the next event was recorded");
    let torn: Vec<Vec<u8>> =
        workshop.files().into_iter().filter(|(name, _)| name.starts_with("torn-")).map(|(_, b)| b).collect();
    if kept == cut.len() {
        assert!(torn.is_empty(), "{case}: nothing was torn");
        return;
    }
    assert_eq!(torn, [&cut[kept..]], "{case}: the cut bytes are kept");
    let entries = faults::entries(&bytes[kept..]);
    let said = entries.iter().any(|entry| entry["with"]["torn_bytes"] == cut.len() - kept);
    assert!(said || kept == 0, "{case}: the repair is an entry");
}

/// One bit in three meets every byte.
#[test]
fn flipped_bits_of_the_ledger_are_seen() {
    flipped_ledger(3);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn every_flipped_bit_of_the_ledger_is_seen() {
    flipped_ledger(1);
}

fn flipped_ledger(stride: usize) {
    let workshop = Workshop::new();
    let versions = versions(&workshop);
    let ledger = &versions.last().unwrap()[LEDGER];
    let whole = walk(ID, ledger).unwrap().0.folded;
    let mut flipped = ledger.clone();
    for bit in (0..ledger.len() * 8).step_by(stride) {
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok((walk, _)) = walk(ID, &flipped) {
            assert!(walk.folded.seq < whole.seq, "bit {bit} was not seen");
            let tail = ledger.len() * 8 - 8;
            assert!(bit >= tail, "bit {bit} in the middle looks like a tear");
        }
        flipped[bit / 8] ^= 1 << (bit % 8);
    }
}

/// What an event takes from an older entry is proven by that entry's digest: how a call ended that is asked
/// for again. With and without an index of ended calls; and `verify` finds it in each case.
#[test]
fn a_flipped_bit_in_the_middle_is_found_where_it_is_read() {
    for calls in [3, 30] {
        let workshop = Workshop::new();
        workshop.event("SessionStart", &json!({"source": "startup"})).unwrap();
        for n in 0..calls {
            workshop.pre(&format!("call-{n:02}")).unwrap();
            workshop.post(&format!("call-{n:02}")).unwrap();
        }
        let key = CallKey::of("Read", "call-01");
        let folder = workshop.folder();
        let asked = || Ledger::at(&workshop.env, &folder, ID)?.past_call(&key);
        assert_eq!(asked().unwrap().unwrap().to, CallState::Completed);
        let files = workshop.files();
        let good = &files[LEDGER];
        let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
        let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
        let ends = |line: &&[u8]| text(line).contains("call-01") && text(line).contains("\"COMPLETED\"");
        let at = lines.iter().position(ends).unwrap();
        let from = lines[..at].concat().len();
        let id = from + text(lines[at]).find("\"id\":\"call-01").unwrap();
        for bit in (from * 8..(from + lines[at].len() - 1) * 8).step_by(11) {
            let mut flipped = good.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            put_back(&folder, &files);
            fs::write(folder.join(LEDGER), &flipped).unwrap();
            let case = format!("{calls} calls, bit {}", bit - from * 8);
            match asked() {
                Err(failure) => assert_eq!(failure.code, Code::ChecksumMismatch, "{case}"),
                Ok(said) => assert!(calls == 3 && (id..id + 14).contains(&(bit / 8)), "{case}: {said:?}"),
            }
            let found = sessions::on_disk(folder.clone()).unwrap();
            let checked = sessions::check(&workshop.env, &found).unwrap();
            assert!(checked.failure.is_some(), "{case}: `verify` finds it");
        }
    }
}

/// Nothing of that part is needed, but the ledger was written to since we did: no call passes, and none is
/// answered in a person's place. Where every entry is as it was, the session goes on.
#[test]
fn what_another_program_writes_is_found_by_the_next_event() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\n");
    let session = sandbox.begun("do the first thing");
    let call = session.call("Read", json!({"file_path": "/x"}));
    session.pre(&call).silent();
    let _ = session.post(&call);
    let (ledger, state) = (session.folder().join(LEDGER), session.folder().join(STATE));
    // The kernel's clock for files may be coarse.
    let write = |text: &str| {
        let changed = |path| fs::metadata(path).map(|about| (about.ctime(), about.ctime_nsec())).unwrap();
        fs::write(&ledger, text).unwrap();
        while changed(&ledger) <= changed(&state) {
            fs::write(&ledger, text).unwrap();
        }
    };
    let replaced = |good: &str| good.replacen("do the first thing", "do the worst thing", 1);
    let swapped = |good: &str| {
        let lines: Vec<&str> = good.split_inclusive('\n').collect();
        [lines[0], lines[2], lines[1]].concat() + &lines[3..].concat()
    };
    let ways: [&dyn Fn(&str) -> String; 2] = [&replaced, &swapped];
    for way in ways {
        let good = fs::read_to_string(&ledger).unwrap();
        let damaged = way(&good);
        assert!(damaged.len() == good.len() && damaged != good);
        write(&damaged);
        let next = session.call("Read", json!({"file_path": "/y"}));
        session.pre(&next).refused(&[
            "STATE_CHECKSUM_MISMATCH",
            "changed by another program",
            "--quarantine",
        ]);
        session.stop("Done.").warned(&["STATE_CHECKSUM_MISMATCH"]);
        write(&good);
        session.pre(&next).silent();
        let _ = session.post(&next);
        assert!(fs::read_to_string(&ledger).unwrap().starts_with(&good));
    }
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// One bit in five meets every byte.
#[test]
fn flipped_bits_of_the_state_change_nothing() {
    flipped_state(5);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn every_flipped_bit_of_the_state_changes_nothing() {
    flipped_state(1);
}

fn flipped_state(stride: usize) {
    let workshop = Workshop::new();
    let versions = versions(&workshop);
    let files = versions.last().unwrap();
    let truth = workshop.found().unwrap();
    let mut flipped = files[STATE].clone();
    for bit in (0..flipped.len() * 8).step_by(stride) {
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(workshop.folder().join(STATE), &flipped).unwrap();
        fs::write(workshop.folder().join(LEDGER), &files[LEDGER]).unwrap();
        let found = workshop.found().unwrap_or_else(|failure| panic!("bit {bit}: {failure}"));
        rebuilt(&found, &truth, &format!("bit {bit}"));
        flipped[bit / 8] ^= 1 << (bit % 8);
    }
}

/// The same session, but for the entry that tells of the repair.
pub(crate) fn rebuilt(found: &Session, truth: &Session, case: &str) {
    assert!(found.seq == truth.seq || found.seq == truth.seq + 1, "{case}: {} entries", found.seq);
    assert_eq!(digest_of(&found.state), digest_of(&truth.state), "{case}");
    let mut memory = found.memory.clone();
    memory.proof.synced = truth.memory.proof.synced;
    assert_eq!(memory, truth.memory, "{case}");
}

#[test]
fn the_binary_says_what_the_library_says() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    for _ in 0..3 {
        let call = session.call("Read", json!({"file_path": "/x"}));
        session.pre(&call).silent();
        session.post(&call).silent();
    }
    let path = session.folder().join(LEDGER);
    let good = fs::read(&path).unwrap();
    let report = |sandbox: &Sandbox| {
        let answer = sandbox.person(&["verify", &session.id, "--json"]);
        (answer.code, serde_json::from_str::<serde_json::Value>(&answer.out).unwrap())
    };
    assert_eq!(report(&sandbox).0, Some(0));
    for byte in (0..good.len() - 1).step_by(97) {
        let mut bad = good.clone();
        bad[byte] ^= 0x04;
        fs::write(&path, &bad).unwrap();
        let (code, said) = report(&sandbox);
        let damage = walk(&session.id, &bad).expect_err("a changed byte");
        assert_eq!(code, Some(4), "byte {byte}: {said}");
        assert_eq!(said["code"], Code::from(damage.kind).name(), "byte {byte}: {said}");
        assert_eq!(said["seq"], damage.seq, "byte {byte}: {said}");
        assert_eq!(fs::read(&path).unwrap(), bad, "`verify` never writes");
    }
}

/// Ledger lines reordered, repeated, left out, put together from two sessions, or replaced by NUL bytes.
#[test]
fn no_splice_is_taken_for_a_tear() {
    let (workshop, mut other) = (Workshop::new(), Workshop::new());
    other.env.now_ms += 1;
    let files = versions(&workshop).pop().unwrap();
    versions(&other);
    let lines: Vec<&[u8]> = files[LEDGER].split_inclusive(|byte| *byte == b'\n').collect();
    let foreign = other.file(LEDGER);
    let foreign: Vec<&[u8]> = foreign.split_inclusive(|byte| *byte == b'\n').collect();
    let (n, cut) = (lines.len(), files[LEDGER].len() - 40);
    let cases: Vec<(&str, Vec<u8>, Code)> = vec![
        ("one left out", [&lines[..2], &lines[3..]].concat().concat(), Code::SequenceGap),
        ("one twice", [&lines[..3], &lines[2..]].concat().concat(), Code::SequenceGap),
        (
            "two exchanged",
            [&lines[..2], &[lines[3], lines[2]], &lines[4..]].concat().concat(),
            Code::SequenceGap,
        ),
        (
            "the end of another ledger",
            [&lines[..n - 1], &foreign[n - 1..]].concat().concat(),
            Code::ChecksumMismatch,
        ),
        ("NUL bytes after it", [&files[LEDGER][..], &[0; 64]].concat(), Code::ChecksumMismatch),
        ("NUL bytes in a tear", [&files[LEDGER][..cut], &[0; 64]].concat(), Code::ChecksumMismatch),
        ("words after it", [&files[LEDGER][..], b"{}"].concat(), Code::ChecksumMismatch),
        ("an empty line after it", [&files[LEDGER][..], b"\n"].concat(), Code::ChecksumMismatch),
    ];
    for (case, ledger, code) in cases {
        put_back(&workshop.folder(), &Files::from([(LEDGER.to_owned(), ledger.clone())]));
        let failure = workshop.pre("next").expect_err(case);
        assert_eq!(failure.code, code, "{case}: {failure}");
        assert_eq!(workshop.file(LEDGER), ledger, "{case}: a refusal changes nothing");
    }
}

/// A state written by somebody who knows the form, but not what the ledger commits to.
#[test]
fn an_edited_state_is_rebuilt_and_only_a_block_in_it_counts() {
    let workshop = Workshop::new();
    let files = versions(&workshop).pop().unwrap();
    let truth = workshop.found().unwrap();
    let path = workshop.folder().join(STATE);
    let text = String::from_utf8(files[STATE].clone()).unwrap();
    let edited = text.replace("\"sandbox\": \"shut\"", "\"sandbox\": \"open\"");
    assert_ne!(edited, text);
    fs::write(&path, resealed(&edited)).unwrap();
    assert_eq!(digest_of(&workshop.found().unwrap().state), digest_of(&truth.state));
    let blocked = text.replace("\"custodiet_blocked\": false", "\"custodiet_blocked\": true");
    fs::write(&path, blocked).unwrap();
    workshop.event("Notification", &json!({})).unwrap();
    assert!(workshop.found().unwrap().blocked().is_some());
    let bytes = sound(ID, &workshop.folder());
    assert!(faults::entries(&bytes).iter().any(|entry| entry["type"] == "block"));
}

/// The digest of the file made right again, as a careful forger would.
fn resealed(text: &str) -> String {
    let mut state: aops_core::session::state::State = serde_json::from_str(text).unwrap();
    state.digest = None;
    state.digest = Some(digest_of(&state));
    serde_json::to_string_pretty(&state).unwrap()
}

#[test]
fn a_second_verifier_agrees() {
    let workshop = Workshop::new();
    let files = versions(&workshop).pop().unwrap();
    let ledger = &files[LEDGER];
    let mut cases = vec![("whole".to_owned(), ledger.clone())];
    for at in (1..ledger.len()).step_by(7) {
        let mut changed = ledger.clone();
        changed[at] ^= 1;
        cases.push((format!("byte {at} changed"), changed));
        cases.push((format!("cut at {at}"), ledger[..at].to_vec()));
    }
    let folders: Vec<_> = (0..cases.len()).map(|n| workshop.path().join(format!("case-{n}"))).collect();
    for (folder, (_, bytes)) in folders.iter().zip(&cases) {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join(LEDGER), bytes).unwrap();
    }
    fs::write(folders[0].join(STATE), &files[STATE]).unwrap();
    let said = python_verifier::verify(&folders);
    assert_eq!(said.len(), cases.len());
    for ((case, bytes), theirs) in cases.iter().zip(said) {
        let (code, entries, torn) = ours(bytes);
        assert_eq!(theirs["code"].as_str(), code, "{case}: {theirs}");
        if code.is_none() {
            assert_eq!(
                (&theirs["entries"], &theirs["torn_bytes"]),
                (&json!(entries), &json!(torn)),
                "{case}"
            );
        }
    }
}

/// Our own verdict on these bytes: a code, or entries and bytes after the last mark.
fn ours(bytes: &[u8]) -> (Option<&'static str>, u64, usize) {
    match walk(ID, bytes) {
        Err(damage) => (Some(Code::from(damage.kind).name()), 0, 0),
        Ok((_, rest)) if !aops_core::ledger::chain::is_tear(&bytes[bytes.len() - rest..]) => {
            (Some(Code::ChecksumMismatch.name()), 0, 0)
        }
        Ok((walk, rest)) => (None, walk.folded.seq, rest),
    }
}
