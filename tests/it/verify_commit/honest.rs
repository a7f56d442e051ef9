//! What must pass: the ways on which honest commits travel.

use super::shop::{Log, SEEN, SESSION_ID, Shop, facts, long, witness};
use aops_attest::statement::{Author, Builder, BuilderKind, CommittedBy};
use aops_proof::key::SecretKey;
use std::fs;
use std::time::UNIX_EPOCH;

#[test]
fn as_committed() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.passes(&["--require", "A2", "--tests=here"], &["commit A2 ok"]);
}

#[test]
fn a_message_amended() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.git(&["commit", "-q", "--amend", "-m", "other words"]);
    shop.passes(&["--require", "A2"], &["change A2 ok"]);
}

#[test]
fn rebased_while_other_files_moved() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.attested("c.txt", "new\n");
    shop.move_base("b.txt", "b moved\n");
    shop.git(&["rebase", "-q", "base", "main"]);
    shop.passes(&["--require", "A2"], &["change A2 ok", "change A2 ok"]);
    // The tests ran on the tree of before.
    shop.fails(&["--tests=here"], 1, &["change A2 PROPERTY", "change A2 PROPERTY"]);
}

#[test]
fn rebased_while_the_same_file_changed_elsewhere() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.attested("a.txt", long(&[(3, "three"), (20, "twenty")]));
    shop.move_base("a.txt", &long(&[(38, "moved")]));
    shop.git(&["rebase", "-q", "base", "main"]);
    shop.passes(&["--require", "A2"], &["replay A2 ok", "replay A2 ok"]);
}

#[test]
fn a_cherry_pick() {
    let shop = Shop::new();
    let picked = shop.attested("a.txt", long(&[(3, "three")]));
    shop.git(&["checkout", "-q", "-b", "release", "base"]);
    shop.put("b.txt", "b of the release\n");
    let own = shop.commit("release");
    shop.attest(&own, |_| {});
    shop.git(&["cherry-pick", &picked]);
    shop.passes(&["--require", "A2"], &["commit A2 ok", "change A2 ok"]);
}

#[test]
fn a_merge_that_adds_nothing() {
    let shop = Shop::with_side();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let (code, mut found) = shop.found(&["base..HEAD", "--require", "A2"]);
    assert_eq!((code, found.pop().unwrap().as_str()), (0, "merge - ok"));
    assert_eq!(found, ["commit A2 ok", "commit A2 ok"]);
}

#[test]
fn a_merge_whose_conflict_a_session_resolved() {
    let shop = Shop::with_side();
    shop.attested("b.txt", "b of main\n");
    let merge =
        shop.sandbox.command("git").args(["merge", "-q", "side"]).current_dir(&shop.folder).output().unwrap();
    assert!(!merge.status.success());
    shop.put("b.txt", "b of both\n");
    let resolved = shop.commit("merge");
    shop.fails(&[], 1, &["commit A2 ok", "commit A2 ok", "- - MERGE_OWN"]);
    shop.attest(&resolved, |_| {});
    shop.passes(&["--require", "A2"], &["commit A2 ok", "commit A2 ok", "commit A2 ok"]);
}

#[test]
fn a_squash_of_three_on_a_moved_base() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.attested("a.txt", long(&[(3, "three"), (20, "twenty")]));
    shop.attested("c.txt", "new\n");
    shop.move_base("b.txt", "b moved\n");
    shop.squash();
    shop.passes(&["--require", "A2"], &["steps A2 ok"]);
}

#[test]
fn a_squash_where_the_base_changed_the_same_file() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.attested("c.txt", "new\n");
    shop.attested("a.txt", long(&[(3, "three"), (20, "twenty")]));
    shop.move_base("a.txt", &long(&[(38, "moved")]));
    shop.squash();
    shop.passes(&["--require", "A2"], &["replay A2 ok"]);
}

/// A long branch whose base changed the same files: all of it, and its beginning alone.
#[test]
fn a_squash_of_many_and_of_a_beginning() {
    let shop = Shop::new();
    let mut changed = Vec::new();
    let words: Vec<String> = (0..12).map(|n| format!("changed {n}")).collect();
    for (n, word) in words.iter().enumerate() {
        changed.push((n + 2, word.as_str()));
        shop.attested("a.txt", long(&changed));
    }
    shop.move_base("a.txt", &long(&[(38, "moved")]));
    for (name, tip) in [("whole", "main"), ("beginning", "main~5")] {
        shop.git(&["checkout", "-q", "-b", name, "base"]);
        shop.git(&["merge", "-q", "--squash", tip]);
        shop.commit(name);
        shop.passes(&["--require", "A2"], &["replay A2 ok"]);
    }
}

#[test]
fn the_lowest_of_a_squash_counts() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.put("c.txt", "new\n");
    let second = shop.commit("second");
    shop.attest(&second, |statement| facts(statement).qa = None);
    shop.squash();
    shop.passes(&[], &["steps A1 ok"]);
    shop.fails(&["--require", "A2"], 1, &["steps A1 LEVEL"]);
}

/// Each statement calls the other session's file `outside`.
#[test]
fn two_sessions_in_one_commit() {
    let shop = Shop::new();
    shop.put("a.txt", long(&[(3, "three")]));
    shop.put("b.txt", "b of another session\n");
    let commit = shop.commit("both");
    for (session, other) in [(SESSION_ID, "b.txt"), ("77777777-0000-4000-8000-000000000002", "a.txt")] {
        let mut statement = shop.statement(&commit, session);
        let facts = facts(&mut statement);
        facts.outside = vec![other.to_owned()];
        let file = facts.files.as_mut().unwrap().iter_mut().find(|file| file.path == other).unwrap();
        file.by = Author::Outside;
        shop.add(&commit, &statement, &[]);
        let expected = if session == SESSION_ID { "commit A1 ok" } else { "commit A2 ok" };
        shop.passes(&[], &[expected]);
    }
    shop.passes(&["--require", "A2,no-outside"], &["commit A2 ok"]);
}

/// A session that was open beside saw the commit and did nothing to it.
#[test]
fn a_session_that_only_looked_on_lowers_nothing() {
    let shop = Shop::new();
    let commit = shop.attested("a.txt", long(&[(3, "three")]));
    let mut other = shop.statement(&commit, "77777777-0000-4000-8000-000000000002");
    let said = facts(&mut other);
    (said.plan, said.qa, said.outside) = (None, None, vec!["a.txt".to_owned()]);
    said.files.as_mut().unwrap()[0].by = Author::Outside;
    shop.add(&commit, &other, &[]);
    shop.passes(&["--require", "A2"], &["commit A2 ok"]);
}

/// The statement of the turn's end adds what was not known at the commit.
#[test]
fn a_second_statement_only_raises() {
    let shop = Shop::new();
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("one");
    shop.attest(&commit, |statement| facts(statement).qa = None);
    shop.passes(&[], &["commit A1 ok"]);
    shop.attest(&commit, |statement| facts(statement).entries.to = 23);
    shop.passes(&["--require", "A2"], &["commit A2 ok"]);
}

#[test]
fn another_clone_without_a_network() {
    let mut shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.enter_clone("clone");
    shop.git(&["fetch", "-q", "origin", "base:base"]);
    shop.fails(&[], 1, &["- - NONE"]);
    shop.git(&["fetch", "-q", "origin", "refs/notes/aops-attest:refs/notes/aops-attest"]);
    shop.git(&["remote", "remove", "origin"]);
    shop.passes(&["--require", "A2"], &["commit A2 ok"]);
}

#[test]
fn waiting_fetches_the_notes() {
    let mut shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.enter_clone("clone");
    shop.git(&["fetch", "-q", "origin", "base:base"]);
    let answer =
        shop.run(&["base..HEAD", "--signers", "base:.aops/signers", "--wait", "60s", "--require", "A2"]);
    answer.said(&["A2 claude-code 2.1.325, claude-opus-4-6  change a.txt"]);
}

/// The clone's own remote has no notes; the fork that the commits come from has.
#[test]
fn waiting_fetches_the_notes_of_a_fork() {
    let mut shop = Shop::new();
    let (here, fork) = shop.enter_clone("fork");
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.folder = here;
    let _ = shop.enter_clone("checked");
    shop.git(&["fetch", "-q", "origin", "base:base"]);
    shop.git(&["pull", "-q", &fork, "main"]);
    let words = ["base..HEAD", "--signers", "base:.aops/signers", "--require", "A2", "--wait"];
    assert_eq!(shop.run(&[&words[..], &["1s"]].concat()).code, Some(1));
    shop.run(&[&words[..], &["60s", "--notes", &fork]].concat()).said(&["A2 claude-code 2.1.325"]);
    shop.run(&[&words[..], &["60s", "--notes", "--upload-pack=x"]].concat()).failed(2, &[]);
}

/// Waiting does not make a wrong signature right.
#[test]
fn waiting_ends_at_a_forgery() {
    let shop = Shop::new();
    let commit = shop.attested("a.txt", long(&[(3, "three")]));
    let note = shop.note_of(&commit).replacen("\"sig\":\"", "\"sig\":\"AAAA", 1);
    shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
    shop.note(&commit, &note);
    // Ten minutes: a test that waited for it would be ended.
    let answer = shop.run(&["base..HEAD", "--signers", "base:.aops/signers", "--wait", "600s"]);
    assert!(answer.code == Some(4) && answer.out.contains("SIGNATURE"), "{answer:#?}");
}

#[test]
fn the_notes_of_two_clones_merged() {
    let mut shop = Shop::new();
    let first = shop.attested("a.txt", long(&[(3, "three")]));
    let (here, to) = shop.enter_clone("clone");
    shop.attested("b.txt", "b of the clone\n");
    shop.attest(&first, |statement| facts(statement).entries.to = 40);
    shop.folder = here;
    shop.attest(&first, |statement| facts(statement).entries.to = 30);
    shop.git(&["pull", "-q", &to, "main"]);
    shop.git(&["fetch", "-q", &to, "refs/notes/aops-attest:refs/notes/theirs"]);
    let merge = ["notes", "--ref", "aops-attest", "merge", "-q", "--strategy", "union", "refs/notes/theirs"];
    shop.git(&merge);
    shop.passes(&["--require", "A2"], &["commit A2 ok", "commit A2 ok"]);
}

#[test]
fn a_mailed_patch() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    let patch = shop.git(&["format-patch", "-1", "-o", shop.sandbox.tmp().to_str().unwrap()]);
    shop.git(&["checkout", "-q", "-b", "mailed", "base"]);
    shop.git(&["-c", "user.name=Grace", "am", "-q", &patch]);
    shop.passes(&["--require", "A2"], &["change A2 ok"]);
}

#[test]
fn an_unattended_run_without_a_witness() {
    let shop = Shop::new();
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("run");
    shop.attest(&commit, |statement| {
        facts(statement).attended = false;
        statement.predicate.run_details.builder = Builder::of(BuilderKind::Run, "0.2.0");
    });
    shop.passes(&["--require", "A2"], &["commit A2 ok"]);
    shop.fails(&["--require", "A2,attended"], 1, &["commit A2 PROPERTY"]);
}

#[test]
fn a_person_who_signs() {
    let shop = Shop::new();
    let (row, key) = shop.person("grace");
    shop.trust(shop.list(&[row]));
    shop.put("a.txt", long(&[(3, "three")]));
    shop.git(&["add", "-A"]);
    let key = format!("user.signingkey={}", key.display());
    shop.git(&["-c", "gpg.format=ssh", "-c", &key, "commit", "-q", "-S", "-m", "by hand"]);
    shop.passes(&["--require", "A2"], &["person grace"]);
    shop.fails(&["--people", "none"], 1, &["- - NONE"]);
    shop.put("b.txt", "not signed\n");
    shop.commit("by hand");
    shop.fails(&[], 1, &["person grace", "- - NONE"]);
    shop.passes(&["--people", "any"], &["person ", "person "]);
    // Somebody changed the message, so it is not what was signed.
    shop.git(&["reset", "-q", "--hard", "HEAD^"]);
    let raw = shop.git(&["cat-file", "commit", "HEAD"]).replace("by hand", "by mine");
    fs::write(shop.sandbox.tmp().join("raw"), raw + "\n").unwrap();
    let forged =
        shop.git(&["hash-object", "-t", "commit", "-w", shop.sandbox.tmp().join("raw").to_str().unwrap()]);
    shop.git(&["reset", "-q", "--hard", &forged]);
    shop.fails(&[], 1, &["- - NONE"]);
}

#[test]
fn committed_by_hand_with_contents_as_left() {
    let shop = Shop::new();
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("by hand");
    shop.attest(&commit, |statement| facts(statement).committed.by = CommittedBy::Outside);
    shop.passes(&["--require", "A2"], &["commit A2 ok"]);
}

#[test]
fn attested_late() {
    let shop = Shop::new();
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("late");
    shop.attest(&commit, |statement| facts(statement).committed.late = true);
    shop.passes(&["--require", "A2"], &["commit A2 ok"]);
}

/// Each worker has a log of its own.
#[test]
fn the_commits_of_a_run_by_workers() {
    let mut shop = Shop::new();
    let worker = Log::new("worker.example/7", 7);
    let row = format!("{{\"key\":\"{}\",\"owner\":\"runners\",\"may\":\"A2\"}}", worker.public());
    shop.trust(shop.list(&[row]));
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.log = worker;
    shop.put("b.txt", "b of a worker\n");
    let commit = shop.commit("worker");
    shop.attest(&commit, |statement| {
        statement.predicate.run_details.builder = Builder::of(BuilderKind::Run, "0.2.0");
    });
    shop.passes(&["--require", "A2"], &["commit A2 ok", "commit A2 ok"]);
}

/// The old key counts with a witness's time before its end.
#[test]
fn a_key_rotated_later() {
    let mut shop = Shop::new();
    let (eye, new) = (witness("witness.example", 9), shop.log.rotated(3));
    let list = shop.list(&[]).replacen("\"may\":\"A4\"", "\"may\":\"A4\",\"until\":\"2025-12-01\"", 1);
    let row = |key: &SecretKey| format!("{{\"key\":\"{}\",\"owner\":\"ada\"}}\n", key.public());
    shop.trust(list + &row(&new.key) + &row(&new.ml_dsa));
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("before");
    shop.add(&commit, &shop.statement(&commit, SESSION_ID), &[(&eye, SEEN)]);
    shop.log = new;
    shop.attested("b.txt", "after\n");
    let eye = eye.public().to_string();
    shop.fails(&["--require", "A2"], 1, &["- - KEY_UNKNOWN", "commit A2 ok"]);
    shop.passes(&["--require", "A2", "--witness", &eye], &["commit A3 ok", "commit A2 ok"]);
}

#[test]
fn witnessed_and_approved() {
    let shop = Shop::new();
    let (row, key) = shop.person("grace");
    shop.trust(shop.list(&[row]));
    let eye = witness("witness.example", 9);
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("one");
    shop.add(&commit, &shop.statement(&commit, SESSION_ID), &[(&eye, SEEN)]);
    let eye = eye.public().to_string();
    shop.passes(&["--require", "A3,witnessed", "--witness", &eye], &["commit A3 ok"]);
    shop.fails(&["--require", "A4", "--witness", &eye], 1, &["commit A3 LEVEL"]);
    shop.note(&commit, &shop.approval(&key, &shop.records(&commit)).to_line());
    shop.passes(&["--require", "A4", "--witness", &eye], &["commit A4 ok"]);
    // An old attestation, by the witness's clock.
    shop.fails(&["--witness", &eye, "--max-age", "1d"], 1, &["commit A4 AGE"]);
}

/// Witnessed an hour ago, by a session that says an old time.
#[test]
fn young_enough() {
    let shop = Shop::new();
    let eye = witness("witness.example", 9);
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("one");
    let hour_ago = UNIX_EPOCH.elapsed().unwrap().as_secs() - 3600;
    shop.add(&commit, &shop.statement(&commit, SESSION_ID), &[(&eye, hour_ago)]);
    shop.fails(&["--max-age", "1d"], 1, &["commit A2 AGE"]);
    shop.passes(&["--max-age", "1d", "--witness", &eye.public().to_string()], &["commit A3 ok"]);
}

#[test]
fn a_repository_with_sha_256_ids() {
    let shop = Shop::with_format("sha256");
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.attested("a.txt", long(&[(3, "three"), (20, "twenty")]));
    shop.passes(&["--require", "A2"], &["commit A2 ok", "commit A2 ok"]);
    shop.move_base("a.txt", &long(&[(38, "moved")]));
    shop.squash();
    shop.passes(&["--require", "A2"], &["replay A2 ok"]);
}

#[test]
fn the_notes_of_a_fork() {
    let mut shop = Shop::new();
    let (here, there) = shop.enter_clone("fork");
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.folder = here;
    shop.git(&["pull", "-q", &there, "main"]);
    shop.git(&["fetch", "-q", &there, "+refs/notes/aops-attest:refs/notes/aops-attest"]);
    shop.passes(&["--require", "A2"], &["commit A2 ok"]);
}

/// A runner's checkout has no history: its statement names the commit at which that was cut.
#[test]
fn made_in_a_shallow_clone() {
    let mut shop = Shop::new();
    shop.put("b.txt", "b again\n");
    shop.commit("more history");
    shop.git(&["branch", "-f", "base"]);
    let here = shop.folder.clone();
    let clone = shop.sandbox.tmp().join("runner");
    let address = format!("file://{}", here.display());
    shop.git(&["clone", "-q", "--depth", "1", &address, clone.to_str().unwrap()]);
    shop.folder.clone_from(&clone);
    let cut = shop.head();
    let commit = shop.attested("a.txt", long(&[(3, "three")]));
    assert!(shop.statement(&commit, SESSION_ID).to_json().contains(&format!("\"rootCommit\":\"{cut}\"")));
    shop.folder = here;
    shop.git(&["pull", "-q", clone.to_str().unwrap(), "main"]);
    shop.git(&["fetch", "-q", clone.to_str().unwrap(), "+refs/notes/aops-attest:refs/notes/aops-attest"]);
    shop.passes(&["--require", "A2"], &["commit A2 ok"]);
    shop.move_base("b.txt", "b moved\n");
    shop.git(&["rebase", "-q", "base", "main"]);
    shop.passes(&["--require", "A2"], &["change A2 ok"]);
}

/// Whoever fetches the notes of several repositories gives each a name of its own.
#[test]
fn notes_under_another_name() {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.git(&["update-ref", "refs/notes/upstream/aops-attest", "refs/notes/aops-attest"]);
    shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
    shop.passes(&["--require", "A2"], &["commit A2 ok"]);
    // Notes of another kind are none of ours.
    shop.git(&["update-ref", "refs/notes/others", "refs/notes/upstream/aops-attest"]);
    shop.git(&["update-ref", "-d", "refs/notes/upstream/aops-attest"]);
    shop.fails(&[], 1, &["- - NONE"]);
}

/// The file that `attest -o` writes, without a note.
#[test]
fn a_file_beside_the_repository() {
    let shop = Shop::new();
    let commit = shop.attested("a.txt", long(&[(3, "three")]));
    let file = shop.sandbox.tmp().join("one.intoto.jsonl");
    fs::write(&file, shop.note_of(&commit)).unwrap();
    shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
    shop.fails(&[], 1, &["- - NONE"]);
    shop.passes(&["--from", file.to_str().unwrap(), "--require", "A2"], &["commit A2 ok"]);
    // A file that is none may speak of any commit.
    fs::write(&file, "words\n").unwrap();
    shop.fails(&["--from", file.to_str().unwrap()], 1, &["- - FORM"]);
    shop.run(&["base..HEAD", "--key", &shop.log.public(), "--from", "nowhere.jsonl"])
        .failed(3, &["cannot be checked", "nowhere.jsonl"]);
}
