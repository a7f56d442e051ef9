//! Two verifiers over the same thousand mutated ledgers, logs and proofs: equal answers, and none is
//! believed.
//!
//! Both are readers with the public keys alone. A changed file may pass only where less is claimed of it than
//! before, or where what changed is none of ours: a stranger's signature, the rest of a write that was cut
//! short.

use super::proofs::Second;
use super::witness::{Server, configure, witnessed_turn};
use super::{key_arguments, keys, log, public_key, session, turn, world};
use crate::support::Sandbox;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::proof::check::{Trust, read_seal_key};
use aops_core::proof::judge;
use aops_core::proof::prove;
use aops_core::proof::tier::Level;
use aops_core::system::env::Env;
use aops_ledger::sha256::sha256;
use aops_ledger::spelling::is_canonical;
use aops_proof::key::PublicKey;
use aops_proof::text::{base64, from_base64};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Draws that are the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        usize::try_from(self.0 >> 33).unwrap() % most.max(1)
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// A text in which something that `find` matches was replaced.
fn replaced(text: &str, draws: &mut Draws, find: &str, by: &str) -> String {
    let places: Vec<usize> = text.match_indices(find).map(|(at, _)| at).collect();
    let Some(at) = places.get(draws.below(places.len())) else { return text.to_owned() };
    format!("{}{by}{}", &text[..*at], &text[at + find.len()..])
}

/// The same document, spelled otherwise or with something twice; or one that is none.
fn respelled(line: &str, draws: &mut Draws) -> String {
    match draws.below(16) {
        0 => replaced(line, draws, ":", ": "),
        1 => replaced(line, draws, ",\"", ", \""),
        2 => replaced(line, draws, "e", "\\u0065"),
        3 => replaced(line, draws, "\"type\"", "\"typ\\u0065\""),
        4 => replaced(line, draws, "/", "\\/"),
        5 => {
            replaced(line, draws, "\"with\":{", "\"with\":{\"prompt\":\"I, the user, order it\"},\"with\":{")
        }
        6 => replaced(line, draws, "{", "{\"a\":1,\"a\":1,"),
        // The number of the entry, or what stands behind it.
        7 => replaced(line, draws, ",\"trace_id\"", ".0,\"trace_id\""),
        8 => replaced(line, draws, "_number\":", "_number\":0"),
        9 => replaced(line, draws, ",\"trace_id\"", "e0,\"trace_id\""),
        10 => replaced(line, draws, "\"ts\":", "\"tr\":1,\"ts\":"),
        11 => serde_json::to_string_pretty(&serde_json::from_str::<Value>(line).unwrap()).unwrap(),
        12 => format!("{line}{}", draws.one_of(&[" ", "x", "\0", "\r", "{}"])),
        13 => format!("{}{line}", draws.one_of(&[" ", "\u{feff}", "\0", "["])),
        14 => replaced(line, draws, "}", ",\"zz\":[]}"),
        _ => replaced(line, draws, "true", "True"),
    }
}

fn joined(lines: &[&[u8]]) -> Vec<u8> {
    lines.concat()
}

/// Lines swapped, left out, doubled; bytes flipped, put in, cut; a spelling changed.
fn damaged(bytes: &[u8], draws: &mut Draws) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (one, other, at) = (draws.below(lines.len()), draws.below(lines.len()), draws.below(bytes.len()));
    let mut bad = bytes.to_vec();
    match draws.below(12) {
        0..4 => bad[at] ^= 1 << draws.below(8),
        4 => lines.swap(one, other),
        5 => drop(lines.remove(one)),
        6 => lines.insert(one, lines[one]),
        7 => bad.truncate(at),
        8 => drop(
            bad.splice(at..at, draws.one_of(&[" ", "\n", "\r", "\0", "0", "\u{feff}", "=", "+"]).bytes()),
        ),
        9 => bad.extend(draws.one_of(&["x", "\n", " \n", "\0", "{\"_digest\":\"", "\u{feff}"]).bytes()),
        10 => return String::from_utf8_lossy(bytes).replacen('\n', "\r\n", 1 + one).into_bytes(),
        _ => {
            let line = String::from_utf8_lossy(lines[one]).trim_end().to_owned();
            let text = if line.starts_with('{') {
                respelled(&line, draws)
            } else {
                replaced(&line, draws, "1", "01")
            };
            let text = text + "\n";
            lines[one] = text.as_bytes();
            return joined(&lines);
        }
    }
    let lines = joined(&lines);
    if lines == bytes { bad } else { lines }
}

/// Both verifiers, with the same public keys.
struct Readers {
    env: Env,
    trust: Trust,
    found: SessionOnDisk,
    second: Second,
    arguments: Vec<String>,
    folders: Vec<String>,
    log: PathBuf,
}

/// Whether it is believed, and how much is claimed.
type Said = (bool, Option<String>);

impl Readers {
    fn ours(&self) -> Said {
        let (log, digests) = judge::look_at_log(&self.env, &self.trust, &self.found.path);
        let lost = judge::lost(&self.env, log.as_ref(), &sessions::all(&self.env));
        let checked = judge::check(&self.env, &self.found, false);
        let mut judged = judge::of_session(&self.env, log.as_ref(), digests, &self.found, checked);
        judged.gone.extend(judge::gone(&self.env, log.as_ref()));
        judged.faults = log.map(|log| log.faults).unwrap_or_default();
        (judged.is_ok() && lost.is_empty(), judged.level().map(|level| level.name().to_owned()))
    }

    fn theirs(&mut self) -> Said {
        let mut line = vec!["--log".to_owned(), self.log.display().to_string(), "--all".to_owned()];
        line.extend(self.arguments.iter().chain(&self.folders).cloned());
        let said = self.second.ask(&line);
        let tier = said["sessions"][0]["tier"].as_str().map(str::to_owned);
        (said["ok"] == true, tier)
    }

    fn our_proof(&self, text: &[u8]) -> Said {
        let text = String::from_utf8(text.to_vec()).map_err(|error| error.to_string());
        let proven = text.and_then(|text| prove::read(&self.env, &self.trust, &text));
        (proven.is_ok(), proven.ok().map(|proven| proven.level.name().to_owned()))
    }

    fn their_proof(&mut self, file: &Path) -> Said {
        let line = [&["--proof".to_owned(), file.display().to_string()], &self.arguments[..]].concat();
        let said = self.second.ask(&line);
        (said["ok"] == true, said["tier"].as_str().map(str::to_owned))
    }

    /// What both must say: the same, and of something changed nothing, or less than `before`.
    #[track_caller]
    fn agree(case: &str, (ours, theirs): (Said, Said), before: &str, harmless: bool) {
        // Where it is not believed the log may be at fault and the session not: only who is believed names a
        // tier.
        let shown = |said: &Said| (said.0, said.1.clone().filter(|_| said.0));
        assert_eq!(shown(&ours), shown(&theirs), "{case}");
        let rank = |name: &str| Level::ALL.iter().position(|level| level.name() == name);
        let less = ours.1.as_deref().is_some_and(|tier| rank(tier) < rank(before));
        assert!(!ours.0 || harmless || less, "{case}: believed as {:?}", ours.1);
    }
}

/// A world with two sessions, a log and a witness, and what both readers know of it. The keys are out of
/// sight.
fn readers(sandbox: &Sandbox, server: &Server, seal: &str, id: &str) -> Readers {
    let keys_shown = key_arguments(sandbox);
    let trusted = [&keys_shown[1], &keys_shown[3]].map(|text| PublicKey::parse(text).unwrap());
    let arguments = keys_shown
        .iter()
        .cloned()
        .chain(["--witness", &server.key, "--quorum", "1", "--seal", seal.trim_end()].map(str::to_owned));
    let env = Env {
        home: sandbox.home(),
        config: sandbox.config(),
        user_config: sandbox.home().join(".config/aops"),
        data: sandbox.data(),
        cwd: sandbox.project(),
        now_ms: aops_core::system::env::now_ms(),
        ..Env::default()
    };
    let found = sessions::pick(&env, Some(id)).unwrap();
    let others = sessions::all(&env).into_iter().map(|other| other.path).filter(|path| *path != found.path);
    let folders = std::iter::once(found.path.clone()).chain(others).map(|path| path.display().to_string());
    let trust = Trust {
        keys: trusted.to_vec(),
        seal: read_seal_key(seal),
        witnesses: vec![PublicKey::parse(&server.key).unwrap()],
        quorum: 1,
        ..Trust::default()
    };
    let folders = folders.collect();
    let readers = Readers {
        log: log(sandbox),
        found,
        trust,
        arguments: arguments.collect(),
        folders,
        second: Second::start(),
        env,
    };
    fs::rename(keys(sandbox), sandbox.tmp().join("keys")).unwrap();
    readers
}

/// Nothing of ours changed: of a note the text and the signatures of keys that are known; of other files what
/// counts.
fn is_harmless(name: &str, good: &[u8], bad: &[u8], known: &[String]) -> bool {
    match name {
        "leaves" => bad.starts_with(good) && bad.len() < good.len() + 32,
        "ledger.jsonl" => bad.starts_with(good),
        "checkpoint" | "witnessed" | "proof" => {
            let parts = |bytes: &[u8]| {
                let (text, lines) = std::str::from_utf8(bytes).ok()?.rsplit_once("\n\n")?;
                let ours = |line: &&str| known.iter().any(|start| line.starts_with(start));
                let mut lines: Vec<String> = lines.lines().filter(ours).map(str::to_owned).collect();
                lines.sort();
                Some((text.to_owned(), lines))
            };
            parts(good).is_some() && parts(good) == parts(bad)
        }
        _ => false,
    }
}

/// `— name ` and the first letters of the key's id, as its signatures begin.
fn beginnings(keys: &[PublicKey]) -> Vec<String> {
    keys.iter().map(|key| format!("— {} {}", key.name, &base64(&key.id())[..5])).collect()
}

#[test]
fn both_verifiers_agree_on_mutants() {
    agree_on_mutants(4);
}

/// The sample that CI takes of them.
#[test]
fn both_verifiers_agree_on_a_few_mutants() {
    agree_on_mutants(40);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn both_verifiers_agree_on_a_thousand_mutants() {
    agree_on_mutants(1);
}

/// On one of so many mutants.
fn agree_on_mutants(every: usize) {
    let sandbox = world();
    let seal = sandbox.person(&["key", "export", "--seal", "--yes"]).out;
    let server = Server::start(&sandbox.tmp().join("w"), &[&public_key(&sandbox).to_string()]);
    configure(&sandbox, &[&server], 1);
    let (one, two) = (session(&sandbox), session(&sandbox));
    turn(&two);
    witnessed_turn(&sandbox, &one);
    let file = sandbox.tmp().join("x.tlog-proof");
    sandbox
        .person(&["prove", &format!("{}:3", one.id), "-o", file.to_str().unwrap()])
        .said(&["entry 3, witnessed"]);
    let (ledger, folder) = (one.folder().join("ledger.jsonl"), log(&sandbox));
    let mut readers = readers(&sandbox, &server, &seal, &one.id);
    let known = beginnings(&[&readers.trust.keys[..], &readers.trust.witnesses].concat());
    let witnessed = (true, Some("witnessed".to_owned()));
    assert_eq!((readers.ours(), readers.theirs()), (witnessed.clone(), witnessed));
    let mut draws = Draws(0x9E37_79B9_7F4A_7C15);
    let mut tried = 0;
    for (path, times) in [
        (ledger.clone(), 280),
        (folder.join("leaves"), 90),
        (folder.join("checkpoint"), 150),
        (folder.join("seals"), 120),
        (folder.join("events.jsonl"), 70),
        (folder.join("witnessed"), 120),
    ] {
        let (name, good) = (path.file_name().unwrap().to_str().unwrap(), fs::read(&path).unwrap());
        // The first seal is older than the exported key: its last word cannot be checked.
        let kept = if name == "seals" { good.iter().position(|byte| *byte == b'\n').unwrap() + 1 } else { 0 };
        for n in (0..times).step_by(every) {
            let bad = [&good[..kept], &damaged(&good[kept..], &mut draws)].concat();
            if bad == good {
                continue;
            }
            fs::write(&path, &bad).unwrap();
            let case = format!("{name} {n}: {}", difference(&good, &bad));
            let harmless = is_harmless(name, &good, &bad, &known);
            Readers::agree(&case, (readers.ours(), readers.theirs()), "witnessed", harmless);
            tried += 1;
        }
        fs::write(&path, good).unwrap();
    }
    let good = fs::read(&file).unwrap();
    for n in (0..200).step_by(every) {
        let bad = bad_proof(&good, n, &mut draws);
        fs::write(&file, &bad).unwrap();
        let case = format!("proof {n}: {}", difference(&good, &bad));
        let harmless = bad == good || is_harmless("proof", &good, &bad, &known);
        let said = (readers.our_proof(&bad), readers.their_proof(&file));
        Readers::agree(&case, said, "witnessed", harmless);
        tried += 1;
    }
    tried += respelled_entries(&mut readers, &ledger, &file, &mut draws);
    tried += mutated_keys(&mut readers, &mut draws);
    assert!(tried > 1000 / every, "{tried}");
}

/// Where two texts part.
fn difference(good: &[u8], bad: &[u8]) -> String {
    let at = good.iter().zip(bad).take_while(|(one, other)| one == other).count();
    let around = |bytes: &[u8]| {
        String::from_utf8_lossy(&bytes[at.saturating_sub(20).min(bytes.len())..(at + 40).min(bytes.len())])
            .into_owned()
    };
    format!("at byte {at} of {}: {:?} became {:?}", good.len(), around(good), around(bad))
}

/// A proof in which the entry itself, its place or anything else was changed.
fn bad_proof(good: &[u8], n: usize, draws: &mut Draws) -> Vec<u8> {
    let text = std::str::from_utf8(good).unwrap();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if n.is_multiple_of(3) {
        let entry = from_base64(lines[1].trim_end().strip_prefix("extra ").unwrap()).unwrap();
        let entry = respelled(std::str::from_utf8(&entry).unwrap(), draws);
        lines[1] = format!("extra {}\n", base64(entry.as_bytes()));
        return lines.concat().into_bytes();
    }
    if n.is_multiple_of(5) {
        let forms = ["index 0\n", "index 03\n", "index +3\n", "index 3 \n", "index 4294967299\n", ""];
        draws.one_of(&forms).clone_into(&mut lines[2]);
        return lines.concat().into_bytes();
    }
    damaged(good, draws)
}

/// Entries in another spelling whose digest is right, as proofs that have nothing but the entry.
fn respelled_entries(readers: &mut Readers, ledger: &Path, file: &Path, draws: &mut Draws) -> usize {
    let text = fs::read_to_string(ledger).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let bare = |line: &str| format!("aops-proof/v1 intact\nextra {}\n", base64(line.as_bytes()));
    let mut ask = |line: &str| {
        let proof = bare(line);
        fs::write(file, &proof).unwrap();
        (readers.our_proof(proof.as_bytes()), readers.their_proof(file))
    };
    let intact = (true, Some("intact".to_owned()));
    for line in &lines {
        assert_eq!(ask(line), (intact.clone(), intact.clone()), "{line}");
    }
    let mut tried = 0;
    for n in 0..200 {
        let line = lines[draws.below(lines.len())];
        let body = format!("{{{}", &line["{\"_digest\":\"\",".len() + 64..]);
        let spelled = respelled(&body, draws);
        if spelled == body {
            continue;
        }
        let digest = sha256(&[spelled.as_bytes()]);
        let rest = spelled.trim_start_matches(['{', ' ', '\n', '\u{feff}', '\0', '[']);
        let begins = spelled.len() - rest.len();
        let forged = format!("{}\"_digest\":\"{digest}\",{rest}", &spelled[..begins]);
        let case = format!("entry {n}: {forged}");
        // What changed inside of a string is another text, and no other spelling.
        Readers::agree(&case, ask(&forged), "intact", is_canonical(&forged));
        tried += 1;
    }
    tried
}

/// A key in which a letter is another one, a blank, or missing.
fn mutated_keys(readers: &mut Readers, draws: &mut Draws) -> usize {
    let good = readers.arguments.clone();
    let mut tried = 0;
    for place in [1, 3, 5] {
        for _ in 0..20 {
            let mut bad = good[place].clone().into_bytes();
            let at = draws.below(bad.len().min(80));
            match draws.below(3) {
                0 => bad[at] = b" +AzX0="[draws.below(7)],
                1 => drop(bad.remove(at)),
                _ => bad.insert(at, b'A'),
            }
            let bad = String::from_utf8(bad).unwrap();
            readers.arguments[place].clone_from(&bad);
            if bad != good[place] {
                assert!(PublicKey::parse(&bad).is_err(), "{bad}");
                assert!(!readers.theirs().0, "{bad}");
                tried += 1;
            }
        }
        readers.arguments[place].clone_from(&good[place]);
    }
    tried
}

/// The program itself says the same with its exit code, and no tier stands below what is damaged.
#[test]
fn what_is_damaged_has_no_tier() {
    let sandbox = world();
    let one = session(&sandbox);
    let ledger = one.folder().join("ledger.jsonl");
    let good = fs::read(&ledger).unwrap();
    for bit in (0..good.len() * 8 - 8).step_by(good.len() * 8 / 40) {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        fs::write(&ledger, bad).unwrap();
        let said = sandbox.person(&["verify", &one.id]);
        assert_eq!(said.code, Some(4), "bit {bit}: {said:?}");
        assert!(said.out.contains("damaged:") && !said.out.contains("tier:"), "bit {bit}: {said:?}");
    }
    let said = super::verify(&sandbox, &[&one.id]);
    assert_eq!((&said["ok"], &said["tier"]), (&json!(false), &Value::Null), "{said}");
    assert_eq!(super::verify(&sandbox, &["--all"])["sessions"][0]["tier"], Value::Null);
    fs::write(&ledger, good).unwrap();
    // The log is damaged, the ledger is not: nothing is proven of it either.
    let leaves = log(&sandbox).join("leaves");
    let good = fs::read(&leaves).unwrap();
    fs::write(&leaves, &good[32..]).unwrap();
    let said = sandbox.person(&["verify", &one.id]);
    assert!(said.code == Some(4) && !said.out.contains("tier:"), "{said:?}");
    assert_eq!(super::verify(&sandbox, &[&one.id])["tier"], Value::Null);
    fs::write(&leaves, good).unwrap();
    sandbox.person(&["verify", &one.id]).said(&["intact:", "tier: sealed"]);
}

/// A flipped bit of a proof, a tile, a seal or what a witness signed: found by the program, exit 4.
#[test]
fn a_flipped_bit_of_a_proof_tile_seal_or_cosignature_is_found() {
    let sandbox = world();
    let server = Server::start(&sandbox.tmp().join("w"), &[&public_key(&sandbox).to_string()]);
    configure(&sandbox, &[&server], 1);
    let one = session(&sandbox);
    witnessed_turn(&sandbox, &one);
    let proof = sandbox.tmp().join("x.tlog-proof");
    sandbox.person(&["prove", &format!("{}:3", one.id), "-o", proof.to_str().unwrap()]).said(&["witnessed"]);
    let shown = ["verify", "--proof", proof.to_str().unwrap()];
    sandbox.person(&shown).said(&["proven: witnessed", "seen by ", "\"sequence_number\":3"]);
    assert_eq!(
        sandbox.person(&["verify", "--proof", proof.to_str().unwrap(), "--json"]).json()["tier"],
        "witnessed"
    );
    let tiles = fs::read_dir(log(&sandbox).join("tile/0/000.p")).unwrap().map(|item| item.unwrap().path());
    let all = ["verify", "--all"];
    let files = tiles.chain(["seals", "checkpoint", "witnessed"].map(|name| log(&sandbox).join(name)));
    let files = files.map(|path| (path, &all[..])).chain([(proof.clone(), &shown[..])]);
    let strangers = "aops-witness.local"; // its second signature is of a key that was not configured
    for (path, line) in files.collect::<Vec<_>>() {
        let good = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&good).into_owned();
        let end = text.rfind(strangers).filter(|_| text.matches(strangers).count() > 1);
        let end = end.map_or(good.len(), |at| at - "— ".len());
        for bit in (0..end * 8).step_by((end * 8 / 9).max(1)) {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, bad).unwrap();
            let said = sandbox.person(line);
            assert!(said.code == Some(4), "{} bit {bit}: {said:?}", path.display());
        }
        fs::write(&path, good).unwrap();
    }
    assert_eq!(sandbox.person(&all).code, Some(0));
}
