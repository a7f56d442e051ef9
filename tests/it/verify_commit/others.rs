//! What others make of it: reports for CI, a script of shell alone, and tools that know nothing of us.

use super::shop::{SEEN, SESSION_ID, Shop, facts, long, witness};
use crate::attest::attested_session;
use crate::proof::public_key;
use crate::support::Sandbox;
use aops_attest::envelope::keyid;
use aops_attest::statement::{Author, Mode, Statement, Verdict};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Three commits: attested, attested with an edit by hand, and by hand with an odd name and message.
fn mixed() -> Shop {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.put("b.txt", "b\nby hand\n");
    let second = shop.commit("second");
    shop.attest(&second, |statement| {
        let file = &mut facts(statement).files.as_mut().unwrap()[0];
        (file.by, file.lines.outside) = (Author::Mixed, 8);
    });
    shop.put("odd <&\"`name`.txt", "x\n");
    shop.commit("::error::<b>&\"`@team` \u{1b}[31m");
    shop
}

const LIST: [&str; 2] = ["--signers", "base:.aops/signers"];

fn told(shop: &Shop, words: &[&str]) -> (i32, String) {
    let answer = shop.run(&[&["base..HEAD"], &LIST[..], words].concat());
    assert_eq!(answer.err, "", "{answer:#?}");
    (answer.code.unwrap(), answer.out)
}

#[test]
fn a_line_for_each_commit() {
    let shop = mixed();
    let (code, text) = told(&shop, &["--require", "A1"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((code, lines.len()), (1, 3), "{text}");
    assert!(lines[0].contains(" A2 claude-code 2.1.325, claude-opus-4-6  change a.txt"), "{text}");
    assert!(lines[1].contains(" A1 claude-code"), "{text}");
    assert!(lines[2].contains(" NONE no attestation  ::error::<b>") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_paragraph_for_a_pull_request() {
    let shop = mixed();
    let (code, text) = told(&shop, &["--format", "markdown"]);
    assert_eq!((code, text.lines().count()), (1, 1), "{text}");
    for part in [
        "**Guarded: 2 of 3 commits, lowest level A1.** Made by claude-code 2.1.325 with claude-opus-4-6 in 1 session",
        "plan by critic, verified by qa-verifier, tests passed on the last tree (seen by the jail)",
        "2 dangerous commands refused, no waiver; 12 lines by the session, 8 by hand in `b.txt`.",
        "` has no attestation and no signature.",
        "This is the word of key `aops-log.local/test` (ada, up to A4), not a review.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("@team") && !text.contains("<b>"), "{text}");
}

/// What the paragraph says of the verdicts, for these commits.
#[track_caller]
fn said_of(all: &[&dyn Fn(&mut Statement)]) -> String {
    let shop = Shop::new();
    for (n, change) in all.iter().enumerate() {
        shop.put("a.txt", long(&[(3, &format!("three {n}"))]));
        let commit = shop.commit(&format!("commit {n}"));
        shop.attest(&commit, |statement| change(statement));
    }
    told(&shop, &["--format", "markdown"]).1
}

#[test]
fn a_paragraph_says_no_more_than_the_verdicts() {
    let plan =
        |verdict| move |statement: &mut Statement| facts(statement).plan.as_mut().unwrap().verdict = verdict;
    let qa =
        |verdict| move |statement: &mut Statement| facts(statement).qa.as_mut().unwrap().verdict = verdict;
    let untested = |statement: &mut Statement| facts(statement).tests.clear();
    let failed = |statement: &mut Statement| facts(statement).tests[0].exit = 1;
    let edited = |statement: &mut Statement| facts(statement).qa.as_mut().unwrap().after = false;
    let observed = |statement: &mut Statement| facts(statement).mode = Mode::Observe;
    let good = |_: &mut Statement| {};
    let (revise, halt, issues) = (plan(Verdict::Revise), plan(Verdict::Halt), qa(Verdict::Issues));
    let one = |change: &dyn Fn(&mut Statement)| said_of(&[change]);
    assert!(one(&revise).contains("no accepted plan (REVISE), verified by qa-verifier, tests passed"));
    assert!(one(&halt).contains("no accepted plan (HALT)"));
    assert!(one(&issues).contains("plan by critic, not verified (ISSUES), tests passed"));
    assert!(one(&edited).contains(", changed after it was verified, "));
    assert!(one(&failed).contains(", tests failed;"));
    assert!(one(&untested).contains(", no tests were run on the final tree;"));
    assert!(one(&observed).starts_with("**Guarded: 0 of 1 commit, lowest level A0.**"), "{}", one(&observed));
    let mixed = said_of(&[&good, &untested, &issues]);
    for part in [
        "plan by critic, verified by qa-verifier for 2 of 3 commits",
        "(seen by the jail) for 2 of 3 commits;",
    ] {
        assert!(mixed.contains(part), "{part}\n{mixed}");
    }
    let mixed = said_of(&[&failed, &good]);
    assert!(mixed.contains("for 1 of 2 commits, others failed;"), "{mixed}");
}

/// A signature by somebody who is not in the list is told as that.
#[test]
fn a_paragraph_tells_of_a_strangers_signature() {
    let shop = Shop::new();
    let (_, key) = shop.person("grace");
    shop.put("a.txt", "by hand\n");
    let key = format!("user.signingkey={}", key.display());
    shop.git(&["-c", "gpg.format=ssh", "-c", &key, "commit", "-q", "-S", "-am", "by hand"]);
    let text = |people: &str| told(&shop, &["--format", "markdown", "--people", people]).1;
    assert!(
        text("signed").contains("` has no attestation, and nobody on the list signed it."),
        "{}",
        text("signed")
    );
    assert!(text("none").contains("` has no attestation."), "{}", text("none"));
    assert!(text("any").contains("` was made by hand; its signature was not checked."), "{}", text("any"));
}

#[test]
fn sarif_and_junit() {
    let shop = mixed();
    let (code, text) = told(&shop, &["--format", "sarif"]);
    let sarif: Value = serde_json::from_str(&text).unwrap();
    let run = &sarif["runs"][0];
    assert_eq!(
        (code, sarif["version"].as_str(), run["results"].as_array().unwrap().len()),
        (1, Some("2.1.0"), 1)
    );
    assert_eq!(run["results"][0]["ruleId"], "NONE");
    let place = &run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(place, "odd%20%3C%26%22%60name%60.txt");
    // A commit without a change is at no place.
    shop.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    let empty: Value = serde_json::from_str(&told(&shop, &["--format", "sarif"]).1).unwrap();
    assert_eq!(empty["runs"][0]["results"][1]["locations"], Value::Array(Vec::new()));
    shop.git(&["reset", "-q", "--hard", "HEAD^"]);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["id"] == "NONE") && rules.len() == 13);
    let (_, junit) = told(&shop, &["--format", "junit"]);
    let file = shop.sandbox.tmp().join("junit.xml");
    fs::write(&file, &junit).unwrap();
    // Another's reader of XML takes it.
    let script = "import sys, xml.etree.ElementTree as t; s = t.parse(sys.argv[1]).getroot(); \
                  print(s.get('tests'), s.get('failures'), [len(c.findall('failure')) for c in s])";
    let read = shop.sandbox.command("python3").args(["-c", script]).arg(&file).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&read.stdout).trim(), "3 1 [0, 0, 1]", "{junit}");
}

#[test]
fn a_verification_summary() {
    let shop = mixed();
    let summary = |words: &[&str]| -> Value {
        serde_json::from_str(&told(&shop, &[words, &["--format", "vsa"]].concat()).1).unwrap()
    };
    let passed = summary(&["--people", "any", "--require", "A1,tests"]);
    let predicate = &passed["predicate"];
    assert_eq!(predicate["verificationResult"], "PASSED");
    assert_eq!(predicate["verifiedLevels"].as_array().unwrap().len(), 0, "the third commit is by hand");
    assert!(predicate["policy"]["uri"].as_str().unwrap().ends_with("#A1,tests"));
    assert_eq!(passed["subject"].as_array().unwrap().len(), 3);
    assert_eq!(predicate["resourceUri"], "git+https://forge.example/team/calc");
    shop.git(&["reset", "-q", "--hard", "HEAD^"]);
    let attested = summary(&["--require", "A1,tests"]);
    assert_eq!(
        attested["predicate"]["verifiedLevels"],
        serde_json::json!(["AOPS_A1"]),
        "the lowest of the two"
    );
    shop.git(&["checkout", "-q", "-b", "side", "base"]);
    shop.attested("c.txt", "c\n");
    shop.git(&["checkout", "-q", "main"]);
    shop.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let merged = summary(&["--require", "A1"]);
    assert_eq!(
        merged["predicate"]["verifiedLevels"],
        serde_json::json!(["AOPS_A1"]),
        "a merge that adds nothing"
    );
    shop.put("odd.txt", "by hand\n");
    shop.commit("by hand");
    let failed = summary(&[]);
    assert_eq!(failed["predicate"]["verificationResult"], "FAILED");
    assert_eq!(failed["predicate"]["verifiedLevels"].as_array().unwrap().len(), 0);
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/verify-commit.sh")
}

/// What the script of shell says, with git, jq, openssl and xxd alone.
#[track_caller]
fn shell(shop: &Shop, level: &str, witnesses: &str) -> (i32, String) {
    shell_with(shop, level, &[("WITNESSES", witnesses)])
}

#[track_caller]
fn shell_with(shop: &Shop, wishes: &str, variables: &[(&str, &str)]) -> (i32, String) {
    let mut command = shop.sandbox.command("bash");
    let command = command.arg(script()).args(["base", "HEAD", wishes]).envs(variables.iter().copied());
    let output = command.current_dir(&shop.folder).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    let is_usage = output.status.code() == Some(2) && err.starts_with("usage: ");
    assert!(err.is_empty() || is_usage, "`jq`, `openssl` and `xxd` are needed: {err}");
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_script_of_shell_agrees() {
    let shop = mixed();
    let (code, text) = shell(&shop, "A1", "");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((code, lines.len()), (1, 3), "{text}");
    assert!(lines[0].ends_with(" A2 claude-code 2.1.325, claude-opus-4-6  change a.txt"), "{text}");
    assert!(lines[1].ends_with(" A1 claude-code 2.1.325, claude-opus-4-6  second"), "{text}");
    assert!(
        lines[2].starts_with("::error title=attest::") && lines[2].contains(" no attestation  (::error"),
        "{text}"
    );
    let eye = witness("witness.example", 9);
    let shop = Shop::new();
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("one");
    shop.add(&commit, &shop.statement(&commit, SESSION_ID), &[(&eye, SEEN)]);
    let eye = eye.public().to_string();
    assert_eq!(shell(&shop, "A3", "").0, 1);
    let (code, text) = shell(&shop, "A3", &eye);
    assert!(
        code == 0
            && text.contains(" A3 claude-code 2.1.325, claude-opus-4-6, witnessed 2025-11-17T17:20:00Z  one")
    );
    let other = witness("witness.example", 10).public().to_string();
    assert_eq!(shell(&shop, "A3", &other).0, 1, "a witness that has not seen it");
}

/// Properties, people, and a commit of two sessions, as the program judges them.
#[test]
fn the_script_of_shell_weighs_alike() {
    let shop = mixed();
    for (wishes, met) in
        [("A1,tests", true), ("no-outside", false), ("A1, qa,planned", true), ("witnessed", false)]
    {
        let (code, text) = shell_with(&shop, wishes, &[("PEOPLE", "any")]);
        assert_eq!(code == 0, met, "{wishes}: {text}");
        assert!(text.contains(" by hand, not signed  ::error"), "{text}");
        let wishes: Vec<&str> = ["--people", "any", "--require"].into_iter().chain([wishes]).collect();
        assert_eq!(told(&shop, &wishes).0, code, "{wishes:?}");
    }
    assert_eq!(shell_with(&shop, "A4", &[]).0, 2);
    assert_eq!(shell_with(&shop, "A1,approved", &[]).0, 2);
    let shop = Shop::new();
    let (row, key) = shop.person("grace");
    shop.trust(shop.list(&[row]));
    shop.put("a.txt", long(&[(3, "three")]));
    let commit = shop.commit("one");
    shop.attest(&commit, |_| {});
    let mut other = shop.statement(&commit, "77777777-0000-4000-8000-000000000002");
    facts(&mut other).mode = Mode::Observe;
    shop.add(&commit, &other, &[]);
    let (code, text) = shell_with(&shop, "A0", &[]);
    assert!(code == 0 && text.contains(" A0 claude-code"), "the lowest of two sessions: {text}");
    shop.git(&["reset", "-q", "--hard", "base"]);
    shop.put("a.txt", "by hand\n");
    let key = format!("user.signingkey={}", key.display());
    shop.git(&["-c", "gpg.format=ssh", "-c", &key, "commit", "-q", "-S", "-am", "by hand"]);
    let (code, text) = shell_with(&shop, "A2", &[]);
    assert!(code == 0 && text.contains(" signed by grace  by hand"), "{text}");
    assert_eq!(shell_with(&shop, "A2", &[("PEOPLE", "none")]).0, 1);
    shop.git(&["commit", "-q", "--amend", "-m", "not signed"]);
    assert_eq!(shell_with(&shop, "A2", &[]).0, 1);
    let shop = Shop::with_side();
    shop.attested("a.txt", long(&[(3, "three")]));
    shop.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let (code, text) = shell_with(&shop, "A2", &[]);
    assert!(code == 0 && text.contains(" a merge that adds nothing  merge"), "{text}");
}

/// Forged notes: none of these passes in the script either.
#[test]
fn the_script_of_shell_refuses_forgeries() {
    let shop = Shop::new();
    let attested = shop.attested("a.txt", long(&[(3, "three")]));
    let note = shop.note_of(&attested);
    let forged = |note: &str, (expected, why): (i32, &str)| {
        let shop = &shop;
        shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
        shop.note(&attested, note);
        let (code, text) = shell(shop, "A0", "");
        assert!(code == expected && text.contains(why), "{why}: {code} {text}");
    };
    let (envelope, proof) = note.split_once('\n').unwrap();
    forged(envelope, (1, "not in the log"));
    forged(&note.replace("\"sig\":\"", "\"sig\":\"AAAA"), (4, "a wrong signature"));
    forged(&note.replacen("aops-log.local/test+", "aops-log.local/mine+", 1), (1, "an unknown key"));
    let at = proof.find("index ").unwrap();
    let other = format!("{}index 1{}", &proof[..at], &proof[at + 7..]);
    assert_ne!(other, proof);
    forged(&format!("{envelope}\n{other}"), (4, "not in the log: its proof is wrong"));
    shop.git(&["update-ref", "-d", "refs/notes/aops-attest"]);
    shop.put("b.txt", "x\n");
    let second = shop.commit("second");
    shop.note(&second, &note);
    assert!(shell(&shop, "A0", "").1.contains("about another commit"));
}

/// Envelope and proof of ten files, with both algorithms and one witness.
#[test]
fn an_attestation_of_ten_files_is_small() {
    let shop = Shop::new();
    for n in 0..10 {
        shop.put(&format!("src/module/part_{n}.rs"), format!("text {n}\n"));
    }
    let commit = shop.commit("ten files");
    let mut statement = shop.statement(&commit, SESSION_ID);
    for file in facts(&mut statement).files.as_mut().unwrap() {
        file.sha256 = Some("0123456789abcdef".repeat(4));
    }
    let eye = witness("witness.example", 9);
    let size = shop.lines(&statement, shop.log.write(&statement), &[(&eye, SEEN)]).len();
    assert!((8_000..=16 << 10).contains(&size), "{size} bytes");
}

/// As many git calls for a hundred commits as for three, also where each of them must be merged again.
#[test]
fn starts_of_git_do_not_grow_with_the_range() {
    let starts = |many: usize| {
        let shop = Shop::new();
        for n in 0..many {
            shop.put("a.txt", long(&[(3, &format!("three {n}"))]));
            let commit = shop.commit(&format!("commit {n}"));
            shop.attest(&commit, |_| {});
        }
        shop.git(&["checkout", "-q", "base"]);
        shop.put("a.txt", long(&[(38, "moved")]));
        shop.commit("elsewhere");
        shop.git(&["rebase", "-q", "base", "main"]);
        let words = [&["base..HEAD", "--require", "A2", "--json"], &LIST[..]].concat();
        let (said, started) = shop.starts_of_git(&words);
        let commits = said["commits"].as_array().unwrap();
        assert!(said["ok"] == true && commits.len() == many, "{said}");
        assert!(commits.iter().all(|commit| commit["binding"] == "replay"), "{said}");
        started
    };
    let (few, many) = (starts(3), starts(100));
    assert!(few == many && many < 24, "{few} starts for 3 commits, {many} for 100");
}

#[expect(clippy::print_stdout, reason = "what was left out, for who reads the run")]
fn skipped(name: &str, why: &str) {
    println!("skipped: {name} cannot be installed here: {why}");
}

/// Installs packages once for all tests, below `target`. `None`, with the reason said: they cannot be had
/// here. In CI they must be.
#[expect(clippy::disallowed_methods, reason = "CI says of itself that it is CI")]
fn installed(name: &str, steps: &[&[&str]]) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("independent").join(name);
    if folder.join("done").exists() {
        return Some(folder);
    }
    fs::create_dir_all(&folder).unwrap();
    for step in steps {
        let mut command = assert_cmd::Command::new(step[0]);
        let output = command.args(&step[1..]).current_dir(&folder).output();
        let failed = output.as_ref().map_or_else(ToString::to_string, |output| {
            if output.status.success() {
                String::new()
            } else {
                String::from_utf8_lossy(&output.stderr).into_owned()
            }
        });
        if !failed.is_empty() {
            assert!(std::env::var_os("CI").is_none(), "{name} cannot be installed: {failed}");
            skipped(name, &failed);
            return None;
        }
    }
    fs::write(folder.join("done"), "").unwrap();
    Some(folder)
}

/// The whole run says of itself that it is CI, whoever starts it: there nothing is left out in silence.
#[test]
fn the_whole_run_leaves_no_independent_verifier_out() {
    let run = crate::pages::read(".ci/run");
    let says = run.lines().position(|line| line == "export CI=1");
    let tests = run.lines().position(|line| line.starts_with("stage tests "));
    assert!(says.is_some() && says < tests, "{says:?} {tests:?}");
}

/// What a session's commit was attested with, and the key, as the product writes them; the name of the key.
fn exported(sandbox: &Sandbox) -> [String; 3] {
    let [note, pem] =
        ["one.intoto.jsonl", "key.pem"].map(|name| sandbox.tmp().join(name).display().to_string());
    sandbox.person(&["attest", "HEAD", "-o", &note]).said(&["2 lines about commit"]);
    let key = sandbox.person(&["key", "export", "--pem", "--yes"]);
    key.said(&["-----BEGIN PUBLIC KEY-----"]);
    fs::write(&pem, key.out).unwrap();
    [note, pem, keyid(&public_key(sandbox))]
}

#[test]
fn packages_of_python_accept_it() {
    let install = [
        "venv/bin/pip",
        "install",
        "--quiet",
        "securesystemslib[crypto]==1.6.*",
        "in-toto-attestation==0.9.*",
    ];
    let Some(folder) = installed("python", &[&["python3", "-m", "venv", "venv"], &install]) else { return };
    let shop = Shop::new();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/independent/check.py");
    let run = |words: &[String]| {
        let mut command = assert_cmd::Command::new(folder.join("venv/bin/python"));
        let output = command.arg(&check).args(words).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (made, _) = attested_session();
    assert_eq!(run(&exported(&made)), "accepted\n");
    shop.attested("a.txt", long(&[(3, "three")]));
    let summary = shop.sandbox.tmp().join("vsa.json");
    fs::write(&summary, told(&shop, &["--format", "vsa"]).1).unwrap();
    run(&[summary.display().to_string(), String::new(), "vsa".to_owned()]);
}

#[test]
fn a_package_of_node_accepts_it() {
    let install =
        ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", ".", "@sigstore/verify@3.1"];
    let Some(folder) = installed("node", &[&install]) else { return };
    let (made, _) = attested_session();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/independent/check.mjs");
    let mut command = assert_cmd::Command::new("node");
    let output = command.arg(check).args(exported(&made)).current_dir(folder).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (String::from_utf8_lossy(&output.stdout).as_ref(), output.status.success()),
        ("accepted\n", true),
        "{err}"
    );
}

/// The crate is built beside our own tree: nothing of it is in the program.
#[test]
fn a_crate_of_another_author_accepts_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/independent/dsse");
    let manifest = root.join("Cargo.toml").display().to_string();
    let build = [
        env!("CARGO"),
        "build",
        "--quiet",
        "--locked",
        "--manifest-path",
        &manifest,
        "--target-dir",
        "target",
    ];
    let Some(folder) = installed("dsse", &[&[&build[..], &["--target", "host-tuple"]].concat()]) else {
        return;
    };
    let (made, _) = attested_session();
    let mut found =
        fs::read_dir(folder.join("target")).unwrap().flatten().map(|item| item.path().join("debug/check"));
    let program = found.find(|path| path.is_file()).unwrap();
    let output = assert_cmd::Command::new(program).args(exported(&made)).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (String::from_utf8_lossy(&output.stdout).as_ref(), output.status.success()),
        ("accepted\n", true),
        "{err}"
    );
}

/// OpenSSL reads the key that we export.
#[test]
fn the_key_as_pem() {
    let shop = Shop::new();
    shop.sandbox.person(&["key", "init", "--yes"]).said(&["made the key"]);
    let pem = shop.sandbox.person(&["key", "export", "--pem", "--yes"]);
    pem.said(&["-----BEGIN PUBLIC KEY-----"]);
    let plain = shop.sandbox.person(&["key", "export", "--yes"]).out;
    let mut command = shop.sandbox.command("openssl");
    let output = command.args(["pkey", "-pubin", "-outform", "DER"]).write_stdin(pem.out).output().unwrap();
    let key = aops_proof::text::from_base64(plain.trim().splitn(3, '+').nth(2).unwrap()).unwrap();
    assert_eq!(output.stdout[12..], key[1..], "{}", String::from_utf8_lossy(&output.stderr));
}
