//! What must fail: each way to make a commit look guarded that is not.

use super::shop::{Log, SEEN, SESSION_ID, Shop, entry, facts, long, witness};
use aops_attest::envelope::{Envelope, ProofLine, keyid};
use aops_attest::statement::{Author, Head, Mode, Statement};
use aops_core::text::sha256::sha256;
use aops_proof::text::{base64, from_base64};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A commit with one change, and a statement about it that nobody has signed yet.
fn one() -> (Shop, String, Statement) {
    let shop = Shop::new();
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("one");
    let statement = shop.statement(&commit, SESSION_ID);
    (shop, commit, statement)
}

/// The same with its note, whose envelope is changed so.
fn with_envelope(change: impl Fn(&mut Value)) -> Shop {
    let (shop, commit, statement) = one();
    let lines = shop.lines(&statement, shop.log.write(&statement), &[]);
    let (envelope, rest) = lines.split_once('\n').unwrap();
    let mut envelope: Value = serde_json::from_str(envelope).unwrap();
    change(&mut envelope);
    shop.note(&commit, &format!("{envelope}\n{rest}"));
    shop
}

fn payload(envelope: &Value) -> String {
    String::from_utf8(from_base64(envelope["payload"].as_str().unwrap()).unwrap()).unwrap()
}

#[test]
fn f01_a_claim_raised_in_the_payload() {
    let shop = with_envelope(|envelope| {
        let raised = payload(envelope).replace("\"attended\":true", "\"attended\":false");
        envelope["payload"] = json!(base64(raised.as_bytes()));
    });
    shop.fails(&[], 4, &["- - SIGNATURE"]);
}

#[test]
fn f02_an_unknown_key() {
    let (mut shop, commit, statement) = one();
    shop.log = Log::new("aops-log.local/stranger", 5);
    shop.add(&commit, &statement, &[]);
    shop.fails(&[], 1, &["- - KEY_UNKNOWN"]);
}

#[test]
fn f03_a_known_name_on_anothers_signature() {
    let (shop, commit, statement) = one();
    let stranger = Log::new("aops-log.local/test", 5);
    let mut envelope = Envelope::sign(&statement, &stranger.key).unwrap();
    envelope.signatures[0].keyid = keyid(shop.log.key.public());
    shop.note(&commit, &envelope.to_line());
    shop.fails(&[], 4, &["- - SIGNATURE"]);
}

#[test]
fn f04_a_note_copied_to_another_commit() {
    let shop = Shop::new();
    let attested = shop.attested("a.txt", long(&[(3, "three")]));
    shop.put("b.txt", "evil\n");
    let other = shop.commit("other");
    shop.note(&other, &shop.note_of(&attested));
    shop.fails(&[], 1, &["commit A2 ok", "- - SUBJECT"]);
}

#[test]
fn f05_an_attested_tree_on_another_parent() {
    let shop = Shop::new();
    let attested = shop.attested("a.txt", long(&[(3, "three")]));
    shop.move_base("b.txt", "work of others\n");
    // The tree as attested takes their work back.
    let tree = format!("{attested}^{{tree}}");
    let taken_back = shop.git(&["commit-tree", "-p", "base", "-m", "again", &tree]);
    shop.git(&["checkout", "-q", "--detach", &taken_back]);
    shop.fails(&[], 1, &["- - PART"]);
}

/// Git takes a tag for the branch of the same name, and whoever made the commits may have made the tag.
#[test]
fn a_tag_by_the_name_of_the_base_shortens_no_range() {
    let shop = Shop::new();
    shop.put("evil.txt", "unattested\n");
    shop.commit("evil");
    let attested = shop.attested("a.txt", long(&[(3, "three")]));
    let checked = |range: &str, list: &str| shop.run(&[range, "--signers", &format!("{list}:.aops/signers")]);
    assert_eq!(checked("base..HEAD", "base").code, Some(1));
    for (tag, range, list) in [
        ("base", "base..HEAD", "refs/heads/base"),
        ("base", "base~0..HEAD", "refs/heads/base"),
        ("base", "refs/heads/base..HEAD", "base"),
        (&attested[..8], &*format!("refs/heads/base..{}", &attested[..8]), "refs/heads/base"),
    ] {
        shop.git(&["tag", tag, "HEAD~1"]);
        checked(range, list).failed(3, &["is ambiguous", &format!("refs/tags/{tag}")]);
        assert_eq!(checked("refs/heads/base..HEAD", "refs/heads/base").code, Some(1), "the hint works");
        shop.git(&["tag", "-d", tag]);
    }
}

/// A commit with this content of the one file, in the place of the attested one.
fn instead(attested: &[u8], other: &[u8]) -> Shop {
    let shop = Shop::new();
    shop.attested("code", attested);
    shop.git(&["checkout", "-q", "-b", "other", "base"]);
    shop.put("code", other);
    shop.commit("change code");
    shop
}

#[test]
fn f06_only_the_indentation_differs() {
    let shop = instead(b"if a:\n    b()\n    c()\n", b"if a:\n    b()\nc()\n");
    shop.fails(&[], 1, &["- - NONE"]);
}

/// The same lines are added, in another function.
#[test]
fn f07_the_same_hunk_in_another_function() {
    let body = |at: usize| -> String {
        let line = |n: usize| if n == at { "  check()\n" } else { "  pass\n" };
        (0..2).fold(String::new(), |text, f| {
            text + &format!("def f{f}():\n") + &(0..9).map(|n| line(f * 9 + n)).collect::<String>()
        })
    };
    let shop = Shop::new();
    shop.put("f.py", body(99));
    shop.commit("before");
    shop.git(&["branch", "-f", "base"]);
    shop.attested("f.py", body(4));
    shop.git(&["checkout", "-q", "-b", "other", "base"]);
    shop.put("f.py", body(13));
    shop.commit("change f.py");
    shop.fails(&[], 1, &["- - NONE"]);
}

#[test]
fn f08_another_binary() {
    instead(b"\x00\x01\x02", b"\x00\x01\x03").fails(&[], 1, &["- - NONE"]);
}

#[test]
fn f09_made_executable() {
    let shop = Shop::new();
    shop.attested("code", "echo\n");
    shop.git(&["checkout", "-q", "-b", "other", "base"]);
    shop.put("code", "echo\n");
    fs::set_permissions(shop.folder.join("code"), fs::Permissions::from_mode(0o755)).unwrap();
    shop.commit("change code");
    shop.fails(&[], 1, &["- - NONE"]);
}

#[test]
fn f10_a_file_more_by_amend() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.put("more", "x\n");
    shop.git(&["add", "more"]);
    shop.git(&["commit", "-q", "--amend", "--no-edit"]);
    shop.fails(&[], 1, &["- - PART"]);
}

#[test]
fn f11_squashed_with_an_unattested_commit() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.put("b.txt", "evil\n");
    shop.commit("by hand");
    shop.squash();
    shop.fails(&[], 1, &["- - PART"]);
}

#[test]
fn f12_the_same_in_the_same_file() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.put("a.txt", long(&[(3, "three"), (30, "evil")]));
    shop.commit("by hand");
    shop.squash();
    shop.fails(&[], 1, &["- - NONE"]);
}

#[test]
fn f13_a_merge_with_changes_of_its_own() {
    let shop = Shop::with_side();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
    shop.put("evil", "x\n");
    shop.commit("merge");
    shop.fails(&[], 1, &["commit A2 ok", "commit A2 ok", "- - MERGE_OWN"]);
}

/// `git merge -s ours` drops what the other side did.
#[test]
fn f13_a_merge_that_drops_a_side() {
    let shop = Shop::with_side();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.git(&["merge", "-q", "-s", "ours", "-m", "merge", "side"]);
    shop.fails(&[], 1, &["commit A2 ok", "commit A2 ok", "- - MERGE_OWN"]);
}

#[test]
fn f14_half_of_an_attested_change() {
    let shop = Shop::new();
    shop.put("lock", "checked\n");
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.git(&["checkout", "-q", "-b", "half", "base"]);
    shop.put("a.txt", long(&[(3, "three")]));
    shop.commit("half");
    shop.fails(&[], 1, &["- - PART"]);
}

#[test]
fn f15_tests_of_another_tree() {
    let (shop, commit, _) = one();
    let other = shop.git(&["rev-parse", "base^{tree}"]);
    shop.attest(&commit, |statement| facts(statement).tests[0].tree.clone_from(&other));
    shop.passes(&[], &["commit A1 ok"]);
    shop.fails(&["--require", "A2"], 1, &["commit A1 LEVEL"]);
    shop.fails(&["--tests"], 1, &["commit A1 PROPERTY"]);
}

#[test]
fn f16_the_proof_of_another_entry() {
    let (shop, commit, statement) = one();
    let mut other = statement.clone();
    facts(&mut other).attended = false;
    let other = shop.log.write(&other);
    let envelope = Envelope::sign(&statement, &shop.log.key).unwrap().to_line();
    for at in [0, other] {
        let proof = ProofLine::of(&statement.to_json(), shop.log.proof(at, &[]).to_string());
        shop.note(&commit, &format!("{envelope}\n{}\n", proof.to_line()));
    }
    shop.fails(&[], 4, &["- - LOG"]);
}

#[test]
fn f17_signed_but_never_in_the_log() {
    let (shop, commit, statement) = one();
    shop.note(&commit, &Envelope::sign(&statement, &shop.log.key).unwrap().to_line());
    shop.fails(&[], 1, &["- - LOG"]);
}

/// The checkpoint is of another log, or signed with one algorithm alone.
#[test]
fn f17_in_a_log_that_nobody_vouches_for() {
    let (mut shop, commit, statement) = one();
    let envelope = Envelope::sign(&statement, &shop.log.key).unwrap().to_line();
    let at = shop.log.write(&statement);
    let mut proof = shop.log.proof(at, &[]);
    proof.note.signatures.truncate(1);
    shop.note(
        &commit,
        &format!("{envelope}\n{}\n", ProofLine::of(&statement.to_json(), proof.to_string()).to_line()),
    );
    shop.fails(&[], 4, &["- - LOG"]);
    shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
    shop.log = Log::new("aops-log.local/other", 8);
    let at = shop.log.write(&statement);
    let proof = ProofLine::of(&statement.to_json(), shop.log.proof(at, &[]).to_string());
    shop.note(&commit, &format!("{envelope}\n{}\n", proof.to_line()));
    shop.fails(&[], 4, &["- - LOG"]);
}

/// The entry that names the statement says that it is about other entries, or does not come after them.
#[test]
fn f17_another_place_in_the_ledger() {
    let (shop, commit, statement) = one();
    let (product, facts) = statement.session().unwrap();
    let (last, prev) = (facts.entries.to, product.digest.sha256.clone().unwrap());
    let (digest, other) = (sha256(&[statement.to_json().as_bytes()]), "ab".repeat(32));
    let envelope = Envelope::sign(&statement, &shop.log.key).unwrap().to_line();
    let noted = |prev: &str, seq: u64, last: u64| {
        let with = json!({"commit": commit, "last_entry": last, "statement_sha256": digest}).to_string();
        let at = shop.log.append(entry(prev, seq, "attest", &with));
        let proof = ProofLine::of(&statement.to_json(), shop.log.proof(at, &[]).to_string());
        let _ = shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
        shop.note(&commit, &format!("{envelope}\n{}\n", proof.to_line()));
    };
    for (prev, seq, said) in [(&prev, last + 1, last - 1), (&prev, last, last), (&other, last + 1, last)] {
        noted(prev, seq, said);
        shop.fails(&[], 4, &["- - LOG"]);
    }
    // Something came between the commit and its attestation.
    noted(&other, last + 2, last);
    shop.passes(&[], &["commit A2 ok"]);
    noted(&prev, last + 1, last);
    shop.passes(&[], &["commit A2 ok"]);
}

/// The head that the statement names is another log's, or came later than the entry.
#[test]
fn f17_another_head_of_the_log() {
    let (shop, commit, _) = one();
    let head = |origin: &str, size: u64| Head { origin: origin.to_owned(), size, root: base64(&[7; 32]) };
    let own = shop.log.key.public().name.clone();
    for wrong in
        [head("aops-log.local/other", 1), head(&own, 99), Head { root: "AAAA".to_owned(), ..head(&own, 1) }]
    {
        shop.attest(&commit, |statement| facts(statement).log = Some(wrong));
        shop.fails(&[], 4, &["- - LOG"]);
        shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
    }
    shop.attest(&commit, |statement| facts(statement).log = Some(head(&own, 3)));
    shop.passes(&[], &["commit A2 ok"]);
}

#[test]
fn f18_a_witness_of_ones_own() {
    let (shop, commit, statement) = one();
    let (eye, own) = (witness("witness.example", 9), witness("witness.example", 10));
    shop.add(&commit, &statement, &[(&own, SEEN)]);
    let eye = eye.public().to_string();
    shop.fails(&["--witness", &eye, "--require", "A3"], 1, &["commit A2 WITNESS"]);
    shop.fails(&["--witness", &eye, "--require", "A1,witnessed"], 1, &["commit A2 WITNESS"]);
    let own = own.public().to_string();
    // One of two is not all, but a quorum of one.
    shop.fails(&["--witness", &eye, "--witness", &own, "--require", "witnessed"], 1, &["commit A2 WITNESS"]);
    let other = witness("eye.example", 11).public().to_string();
    shop.passes(
        &["--witness", &own, "--witness", &other, "--quorum", "1", "--require", "A3"],
        &["commit A3 ok"],
    );
}

#[test]
fn f19_a_cosignature_of_another_checkpoint() {
    let (shop, commit, statement) = one();
    let eye = witness("witness.example", 9);
    let older = shop.log.head(&[(&eye, SEEN)]);
    let at = shop.log.write(&statement);
    let mut proof = shop.log.proof(at, &[]);
    proof.note.signatures.push(older.signatures.last().unwrap().clone());
    let envelope = Envelope::sign(&statement, &shop.log.key).unwrap().to_line();
    shop.note(
        &commit,
        &format!("{envelope}\n{}\n", ProofLine::of(&statement.to_json(), proof.to_string()).to_line()),
    );
    shop.fails(&["--witness", &eye.public().to_string(), "--require", "A3"], 4, &["- - WITNESS"]);
}

#[test]
fn f20_another_payload_type() {
    with_envelope(|envelope| envelope["payloadType"] = json!("application/json")).fails(
        &[],
        1,
        &["- - FORM"],
    );
}

/// One reader sees the first, another the last.
#[test]
fn f21_a_name_twice() {
    let (shop, commit, statement) = one();
    let line = shop.lines(&statement, shop.log.write(&statement), &[]);
    shop.note(&commit, &line.replacen('{', "{\"payload\":\"e30=\",", 1));
    shop.fails(&[], 1, &["- - FORM"]);
    let shop = with_envelope(|envelope| {
        let twice =
            payload(envelope).replace("\"mode\":\"strict\"", "\"mode\":\"observe\",\"mode\":\"strict\"");
        envelope["payload"] = json!(base64(twice.as_bytes()));
    });
    shop.fails(&[], 1, &["- - FORM"]);
}

/// The same change in a repository with another beginning.
#[test]
fn f22_another_repository() {
    let (shop, commit, _) = one();
    shop.attest(&commit, |statement| {
        facts(statement).repository.root_commit = "ab".repeat(20);
    });
    shop.fails(&[], 1, &["- - SUBJECT"]);
    // A commit that somebody brought here, with a history of its own.
    let (shop, commit, _) = one();
    let tree = shop.git(&["rev-parse", "HEAD^{tree}"]);
    let strange = shop.git(&["commit-tree", "-m", "elsewhere", &tree]);
    shop.attest(&commit, |statement| facts(statement).repository.root_commit.clone_from(&strange));
    shop.fails(&[], 1, &["- - SUBJECT"]);
}

#[test]
fn f23_replaced_objects() {
    let shop = Shop::new();
    let attested = shop.attested("a.txt", long(&[(3, "three")]));
    shop.git(&["checkout", "-q", "-b", "evil", "base"]);
    shop.put("a.txt", long(&[(3, "evil")]));
    let evil = shop.commit("evil");
    shop.git(&["replace", &evil, &attested]);
    assert_eq!(shop.git(&["show", "-s", "--format=%s", "HEAD"]), "change a.txt", "git itself is deceived");
    shop.fails(&[], 1, &["- - NONE"]);
}

/// What a tree says about diffs, merges and submodules has no say.
#[test]
fn f23_attributes_and_submodules() {
    let shop = Shop::new();
    shop.attested(".gitattributes", "*.txt diff=odd merge=union\n");
    shop.git(&["config", "diff.odd.textconv", "true"]);
    shop.git(&["config", "diff.odd.command", "true"]);
    shop.attested(".gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = x\n\tignore = all\n");
    let zero = shop.head();
    shop.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{zero},m")]);
    shop.git(&["commit", "-q", "-m", "m"]);
    shop.git(&["branch", "-f", "base"]);
    let other = shop.head();
    shop.put("a.txt", long(&[(3, "evil")]));
    shop.git(&["add", "a.txt"]);
    shop.git(&["update-index", "--cacheinfo", &format!("160000,{other},m")]);
    shop.git(&["commit", "-q", "-m", "moved"]);
    let records = shop.git(&["diff-tree", "-r", "--ignore-submodules=none", "--name-only", "base", "HEAD"]);
    assert_eq!(records, "a.txt\nm");
    shop.fails(&[], 1, &["- - NONE"]);
}

#[test]
fn f24_a_key_above_what_it_may() {
    let shop = Shop::new();
    shop.trust(shop.list(&[]).replace("\"may\":\"A4\"", "\"may\":\"A1\""));
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.passes(&["--require", "A1"], &["commit A1 ok"]);
    shop.fails(&["--require", "A2"], 1, &["commit A1 LEVEL"]);
    shop.fails(&["--require", "A1,qa"], 1, &["commit A1 PROPERTY"]);
}

#[test]
fn f25_edits_by_hand_taken_for_a2() {
    for by in [Author::Mixed, Author::Outside] {
        let (shop, commit, _) = one();
        shop.attest(&commit, |statement| facts(statement).files.as_mut().unwrap()[0].by = by);
        shop.passes(&[], &["commit A1 ok"]);
        shop.fails(&["--require", "A2"], 1, &["commit A1 LEVEL"]);
    }
    let (shop, commit, _) = one();
    shop.attest(&commit, |statement| facts(statement).outside.push("a.txt".to_owned()));
    shop.fails(&["--require", "no-outside"], 1, &["commit A1 PROPERTY"]);
}

#[test]
fn f26_no_attestation() {
    one().0.fails(&[], 1, &["- - NONE"]);
}

#[test]
fn f27_a_key_added_by_the_range_itself() {
    let mut shop = Shop::new();
    let old = shop.list(&[]);
    shop.log = Log::new("aops-log.local/mine", 5);
    shop.put(".aops/signers", old + &shop.list(&[]));
    let adds = shop.commit("my key");
    shop.attest(&adds, |_| {});
    shop.attested("a.txt", long(&[(3, "evil")]));
    shop.fails(&[], 1, &["- - KEY_UNKNOWN", "- - KEY_UNKNOWN"]);
    for inside in ["HEAD:.aops/signers", "HEAD~1:.aops/signers"] {
        shop.refuses(&["base..HEAD", "--signers", inside], 2, &["could name its own signers"]);
    }
    shop.refuses(&["HEAD", "--signers", "HEAD:.aops/signers"], 2, &["could name its own signers"]);
}

#[test]
fn f28_the_note_taken_away() {
    let shop = Shop::new();
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("one");
    shop.attest(&commit, |statement| facts(statement).mode = Mode::Observe);
    shop.fails(&["--require", "A1"], 1, &["commit A0 LEVEL"]);
    shop.git(&["notes", "--ref", "aops-attest", "remove", &commit]);
    shop.fails(&["--require", "A1"], 1, &["- - NONE"]);
}

#[test]
fn f29_an_approval_by_the_owner_or_of_another_change() {
    let shop = Shop::new();
    let ((ada, own), (grace, other), (_, stranger)) =
        (shop.person("ada"), shop.person("grace"), shop.person("mallory"));
    shop.trust(shop.list(&[ada, grace]));
    let eye = witness("witness.example", 9);
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("one");
    shop.add(&commit, &shop.statement(&commit, SESSION_ID), &[(&eye, SEEN)]);
    let (records, eye) = (shop.records(&commit), eye.public().to_string());
    let mut of_another = shop.approval(&other, &shop.records("base"));
    of_another.change = shop.approval(&own, &records).change;
    for approval in [shop.approval(&own, &records), shop.approval(&stranger, &records), of_another] {
        shop.note(&commit, &approval.to_line());
        shop.fails(&["--require", "A4", "--witness", &eye], 1, &["commit A3 LEVEL"]);
    }
    shop.note(&commit, &shop.approval(&other, &records).to_line());
    shop.passes(&["--require", "A4", "--witness", &eye], &["commit A4 ok"]);
}

#[test]
fn f30_a_key_that_is_over_without_a_witnesss_time() {
    let shop = Shop::new();
    shop.trust(shop.list(&[]).replace("\"may\":\"A4\"", "\"may\":\"A4\",\"until\":\"2025-11-30\""));
    let eye = witness("witness.example", 9);
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("one");
    // The session says a time before the end; a witness saw it after.
    shop.add(&commit, &shop.statement(&commit, SESSION_ID), &[(&eye, SEEN + 30 * 86_400)]);
    shop.fails(&[], 1, &["- - KEY_UNKNOWN"]);
    shop.fails(&["--witness", &eye.public().to_string()], 1, &["- - KEY_UNKNOWN"]);
}

#[test]
fn f31_a_note_without_bound() {
    let (shop, commit, statement) = one();
    let lines = shop.lines(&statement, shop.log.write(&statement), &[]);
    for padding in
        ["x".repeat(10 << 20), "{\"aops\":\"approval\",\"for\":\"x\",\"signature\":\"x\"}\n".repeat(10_000)]
    {
        shop.note(&commit, &format!("{lines}{padding}\n"));
        shop.fails(&[], 1, &["- - FORM"]);
        shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
    }
    shop.note(&commit, &lines);
    shop.passes(&[], &["commit A2 ok"]);
}

#[test]
fn f32_a_shallow_clone_or_an_empty_range() {
    let mut shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    let key = shop.log.public();
    shop.refuses(&["base..base", "--key", &key], 3, &["cannot be checked", "has no commit"]);
    shop.refuses(&["HEAD..base", "--key", &key], 3, &["cannot be checked"]);
    shop.refuses(&["nowhere..HEAD", "--key", &key], 3, &["cannot be checked"]);
    let told = shop.run(&["nowhere..HEAD", "--key", &key, "--json"]);
    let said: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(
        (told.code, &said["ok"], &said["code"]),
        (Some(3), &json!(false), &json!("OBJECTS")),
        "{told:#?}"
    );
    shop.refuses(&["base..HEAD"], 2, &["whose word counts", "--signers"]);
    shop.refuses(&["--all", "--key", &key], 2, &["--all"]);
    shop.refuses(&["base..HEAD", "--key", &key, "--require", "A9"], 2, &["neither a level nor a property"]);
    let clone = shop.sandbox.tmp().join("clone");
    let from = format!("file://{}", shop.folder.display());
    shop.git(&["clone", "-q", "--depth", "1", &from, clone.to_str().unwrap()]);
    shop.folder = clone;
    shop.git(&["fetch", "-q", "origin", "refs/notes/aops-attest:refs/notes/aops-attest"]);
    shop.refuses(&["HEAD", "--key", &key], 3, &["shallow", "--unshallow"]);
    shop.folder = shop.sandbox.tmp();
    shop.refuses(&["HEAD", "--key", &key], 3, &["not a git repository"]);
}

/// Content of a commit is gone, as in a damaged or partial clone.
#[test]
fn f32_objects_that_are_missing() {
    let shop = Shop::new();
    let commit = shop.attested("a.txt", long(&[(3, "three")]));
    let tree = shop.git(&["rev-parse", "HEAD^{tree}"]);
    for id in [tree, commit] {
        let (folder, name) = id.split_at(2);
        fs::remove_file(shop.folder.join(".git/objects").join(folder).join(name)).unwrap();
        let key = shop.log.public();
        shop.refuses(&["base..main", "--key", &key], 3, &["cannot be checked"]);
    }
}

#[test]
fn f33_an_entry_that_says_observe() {
    let (shop, commit, _) = one();
    shop.attest(&commit, |statement| facts(statement).mode = Mode::Observe);
    shop.passes(&[], &["commit A0 ok"]);
    shop.fails(&["--require", "A1"], 1, &["commit A0 LEVEL"]);
}

#[test]
fn f34_a_file_turned_into_a_link() {
    let shop = Shop::new();
    shop.attested("target", "/etc/passwd");
    shop.git(&["checkout", "-q", "-b", "other", "base"]);
    symlink("/etc/passwd", shop.folder.join("target")).unwrap();
    shop.commit("link");
    let side = |rev: &str| shop.git(&["ls-tree", rev, "target"]);
    assert_eq!(side("main").get(12..), side("HEAD").get(12..), "the same blob");
    shop.fails(&[], 1, &["- - NONE"]);
}

/// A copy of an attested commit with a byte, a mode or a file more is never bound, wherever it stands.
#[test]
fn copies_with_something_changed_are_never_bound() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.attested("dir/c.txt", "new\n");
    shop.attested("a.txt", long(&[(3, "three"), (20, "twenty")]));
    shop.move_base("a.txt", &long(&[(38, "moved")]));
    shop.git(&["rebase", "-q", "base", "main"]);
    let originals = shop.git(&["rev-list", "--reverse", "base..main"]);
    for original in originals.lines() {
        let name = shop.git(&["diff-tree", "--no-commit-id", "--name-only", "-r", original]);
        for change in ["byte", "mode", "file"] {
            shop.git(&["checkout", "-q", "--detach", original]);
            let file = shop.folder.join(&name);
            match change {
                "byte" => {
                    fs::write(&file, fs::read_to_string(&file).unwrap().replacen('\n', " \n", 1)).unwrap();
                }
                "mode" => fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap(),
                _ => shop.put("more", ""),
            }
            shop.git(&["add", "-A"]);
            shop.git(&["commit", "-q", "--amend", "--no-edit"]);
            let (code, found) = shop.found(&["HEAD"]);
            assert!(code == 1 && found[0].starts_with("- - "), "{change} of {name}: {found:?}");
        }
        let (code, found) = shop.found(&[original]);
        assert!(code == 0 && !found[0].starts_with("- "), "{found:?}");
    }
}
