//! A commit of a session in the jail, from the first prompt on: what its statement says, field by field.

use super::world::{Jailed, JailedSession};
use crate::proof::public_key;
use crate::support::{BINARY, NO_TRACKER, Sandbox};
use aops_attest::envelope::Lines;
use aops_attest::statement::{By, Hold, Mode, Seen, Statement, Verdict};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{ChildStdout, Stdio};

/// A repository in which commits are attested, tests are known, and the kernel holds commands.
fn world() -> Jailed {
    let sandbox = Sandbox::repository("0").with("CLAUDE_CODE_SHELL_PREFIX", format!("{BINARY} --shell"));
    let sandbox = sandbox.with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    sandbox.configure(&format!(
        "mode.level = \"strict\"\nwitness.attest = \"notes\"\nevidence.test = \"sh check.sh\"\n{NO_TRACKER}\
         [[check]]\nid = \"lint\"\nrun = \"true\"\non = \"commit\"\n"
    ));
    sandbox.person(&["key", "init"]).said(&["made the key of log"]);
    Jailed { sandbox }
}

/// What the client keeps of the session: who answered, and with what.
fn transcript(session: &JailedSession, agents: &[(&str, &str)]) {
    let now = session.inner.entries().last().unwrap()["ts"].clone();
    let record = |id: &str, agent: &str, model: &str, ts: &Value| {
        let usage = json!({"input_tokens": 100, "output_tokens": 7, "cache_read_input_tokens": 1000});
        let message = json!({"id": id, "model": model, "content": [], "usage": usage});
        json!({"type": "assistant", "timestamp": ts, "agentId": agent, "version": "2.1.325", "message": message})
            .to_string()
            + "\n"
    };
    let file = session.inner.folder().parent().unwrap().join(format!("{}.jsonl", session.inner.id));
    // What was used long before the span does not count.
    let before = record("m0", "", "claude-opus-4-6", &json!("2020-01-01T00:00:00.000Z"));
    fs::write(&file, before + &record("m1", "", "claude-opus-4-6", &now)).unwrap();
    let folder = file.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    for (n, (agent, model)) in agents.iter().enumerate() {
        fs::write(folder.join(format!("agent-{agent}.jsonl")), record(&format!("s{n}"), agent, model, &now))
            .unwrap();
    }
}

fn statement(world: &Jailed, commit: &str) -> Statement {
    let show = || {
        let mut git = world.sandbox.command("git");
        git.args(["notes", "--ref", "refs/notes/aops-attest", "show", commit]).output().unwrap().stdout
    };
    let lines = || Lines::parse(&show()).unwrap();
    world.sandbox.wait_until("the commit is attested", || !lines().proofs.is_empty());
    let busy = || world.sandbox.alive().iter().any(|(_, line)| line.contains("__attest"));
    world.sandbox.wait_until("nobody attests", || !busy());
    Statement::parse(&lines().envelopes[0].text().unwrap()).unwrap()
}

fn agent_ids(session: &JailedSession, kind: &str) -> Vec<String> {
    let entries = session.inner.entries();
    let of_kind = entries.iter().filter(|entry| entry["type"] == "verdict" && entry["with"]["agent"] == kind);
    of_kind.map(|entry| entry["with"]["agent_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_verified_commit_reaches_a2() {
    let world = world();
    let session = world.prompted();
    session.inner.hydrate("feature-dev", "new");
    let _ = session.inner.critic("PROCEED");
    let call = session
        .inner
        .call("Write", json!({"file_path": world.project().join("check.sh"), "content": "exit 0\n"}));
    session.inner.pre(&call).silent();
    world.sandbox.put("check.sh", "exit 0\n");
    let _ = session.inner.post(&call);
    let tested = session.ran("sh check.sh");
    assert_eq!(tested.code, Some(0), "{tested:?}");
    assert_eq!(tested.step["observed"]["exit"], json!({"code": 0, "seen": "jail"}), "{:#}", tested.step);
    let _ = session.inner.qa("VERIFIED");
    let (critic, qa) = (agent_ids(&session, "critic"), agent_ids(&session, "qa-verifier"));
    transcript(&session, &[(&critic[0], "claude-opus-4-6"), (&qa[0], "claude-sonnet-4-6")]);
    let ran = session.ran("git add -A && git commit -q -m one");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let commit = world.sandbox.git(&["rev-parse", "HEAD"]).trim_end().to_owned();
    let said = statement(&world, &commit);
    let facts = said.session().unwrap().1;
    assert_eq!((facts.mode, facts.attended, facts.tampering, facts.blocks), (Mode::Strict, true, 0, 0));
    assert_eq!((facts.jail.least, facts.jail.commands, facts.jail.unjailed), (Some(Hold::Namespaces), 2, 0));
    let plan = facts.plan.unwrap();
    assert_eq!((plan.verdict, plan.by), (Verdict::Proceed, By::Critic));
    let verified = facts.qa.unwrap();
    assert_eq!((verified.verdict, verified.by, verified.after), (Verdict::Verified, By::QaVerifier, true));
    let tests: Vec<_> = facts.tests.iter().map(|test| (test.name.as_str(), test.exit, test.seen)).collect();
    assert_eq!(tests, [("evidence.test", 0, Seen::Jail)]);
    assert_eq!((&facts.tests[0].tree, facts.outside.len()), (&facts.tree, 0));
    let checks: Vec<_> = facts.checks.iter().map(|check| (check.name.as_str(), check.exit)).collect();
    assert_eq!(checks, [("lint", 0)]);
    assert!(facts.log.is_none() || facts.log.as_ref().unwrap().size > 0);
    // The tokens of the span: the session's own, and its agents'.
    let used = |model: &str| facts.tokens.get(model).map(|used| (used.input, used.output));
    assert_eq!((used("claude-opus-4-6"), used("claude-sonnet-4-6")), (Some((2200, 14)), Some((1100, 7))));
    let parts = &said.predicate.build_definition.internal_parameters;
    let runtime = parts.agent.runtime.as_ref().unwrap();
    assert_eq!((runtime.name.as_str(), runtime.version.as_deref()), ("claude-code", Some("2.1.325")));
    assert_eq!(parts.agent.model.as_ref().unwrap().model_id, "claude-opus-4-6");
    let models: Vec<_> = parts.subagents.iter().map(|one| (one.role, one.agent.model.as_ref())).collect();
    let model = |role: By| {
        models
            .iter()
            .find(|(of, _)| *of == role)
            .and_then(|(_, model)| Some(model.as_ref()?.model_id.as_str()))
    };
    assert_eq!(
        (model(By::Critic), model(By::QaVerifier)),
        (Some("claude-opus-4-6"), Some("claude-sonnet-4-6"))
    );
    let policy = parts.sandbox_policy.as_ref().unwrap();
    assert_eq!((policy.filesystem, policy.profile.as_str()), (Hold::Namespaces, "work"));
    let key = public_key(&world.sandbox).to_string();
    let told = world
        .sandbox
        .person(&["verify-commit", &commit, "--key", &key, "--require", "A2,attended", "--tests=here"]);
    told.said(&["A2 claude-code 2.1.325, claude-opus-4-6"]);
}

/// A script, so that no danger rule sees what it reads.
#[test]
fn the_logs_keys_are_out_of_reach_and_a_persons_own_are_not() {
    let world = world();
    let (keys, home) = (crate::proof::keys(&world.sandbox), world.sandbox.home());
    let secret = fs::read_dir(&keys).unwrap().map(|item| fs::read_to_string(item.unwrap().path()).unwrap());
    let secret: Vec<String> = secret.map(|text| text.trim().to_owned()).collect();
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id_ed25519"), "the key of a person\n").unwrap();
    let look = format!("cat ~/.ssh/id_ed25519; ls {0}; cat {0}/*; true\n", keys.display());
    world.sandbox.put("look.sh", &look);
    let session = world.prompted();
    let mut profiles = Vec::new();
    for is_planned in [false, true] {
        if is_planned {
            session.inner.hydrate("feature-dev", "new");
            let _ = session.inner.critic("PROCEED");
        }
        let ran = session.ran("sh look.sh");
        let said = format!("{}{}", ran.out, ran.err);
        assert!(!secret.is_empty() && secret.iter().all(|key| !said.contains(key)), "{said}");
        assert!(ran.out == "the key of a person\n", "{ran:?}");
        profiles.push(ran.profile());
    }
    assert_eq!(profiles, ["trial", "work"]);
    let page = crate::pages::read("docs/attest.md");
    let told = "No command in the jail reaches a key of the log, but it does reach yours";
    assert!(page.contains(told), "the page says so");
}

/// A git that looks around: each is in the same jail, where it finds no key, and cannot write to our folder.
#[test]
fn the_gits_of_a_statement_share_a_jail() {
    let world = world();
    let (sandbox, session) = (&world.sandbox, world.prompted());
    session.inner.hydrate("feature-dev", "new");
    let _ = session.inner.critic("PROCEED");
    // Without a key no statement is made at once.
    let (keys, aside) = (crate::proof::keys(sandbox), sandbox.tmp().join("keys"));
    fs::rename(&keys, &aside).unwrap();
    let ran = session.ran("echo a > a.txt && git add -A && git commit -q -m one");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    sandbox
        .wait_until("nobody attests", || !sandbox.alive().iter().any(|(_, line)| line.contains("__attest")));
    fs::rename(&aside, &keys).unwrap();
    let (folder, said) = (sandbox.tmp().join("bin"), world.project().join(".git/said"));
    let escaped = session.inner.folder().join("escaped");
    fs::create_dir(&folder).unwrap();
    let text = format!(
        "#!/bin/sh\nreadlink /proc/self/ns/mnt >> {0}\ncat {1}/* >> {0} 2> /dev/null\n\
         echo x 2> /dev/null > {2}\nPATH=${{PATH#*:}} exec git \"$@\"\n",
        said.display(),
        keys.display(),
        escaped.display()
    );
    fs::write(folder.join("git"), text).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let (_, others) = sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap();
    let path = format!("{}:{}", folder.display(), others.to_str().unwrap());
    let mut command = sandbox.command(BINARY);
    command.arg("__attest").arg(session.inner.folder()).arg(&session.inner.id).env("PATH", path);
    assert!(command.output().unwrap().status.success());
    let commit = sandbox.git(&["rev-parse", "HEAD"]).trim_end().to_owned();
    let _ = statement(&world, &commit);
    let said = fs::read_to_string(said).unwrap();
    let jails: BTreeSet<&str> = said.lines().collect();
    let own = fs::read_link("/proc/self/ns/mnt").unwrap();
    assert!(said.lines().count() >= 5 && jails.len() == 1, "{said}");
    assert!(said.starts_with("mnt:") && !said.contains(own.to_str().unwrap()), "{said}");
    assert!(!escaped.exists());
    // The process that shared it ends with its user.
    let shared = || sandbox.alive().iter().any(|(_, line)| line.contains("__confined"));
    sandbox.wait_until("nothing is left", || !shared());
}

/// Nobody saw what was edited after the verdict: then it was not about what is committed.
#[test]
fn what_a_lost_look_hides_counts_as_a_change() {
    for lost in [false, true] {
        let world = world();
        let session = world.prompted();
        session.inner.hydrate("feature-dev", "new");
        let _ = session.inner.critic("PROCEED");
        let call = session
            .inner
            .call("Write", json!({"file_path": world.project().join("check.sh"), "content": "exit 0\n"}));
        session.inner.pre(&call).silent();
        world.sandbox.put("check.sh", "exit 0\n");
        let _ = session.inner.post(&call);
        assert_eq!(session.ran("sh check.sh").code, Some(0));
        let _ = session.inner.qa("VERIFIED");
        if lost {
            let items = fs::read_dir(session.inner.folder()).unwrap().map(|item| item.unwrap());
            let trees = items.filter(|item| item.file_name().to_string_lossy().starts_with("tree-"));
            assert_eq!(trees.map(|item| fs::remove_file(item.path()).unwrap()).count(), 1);
            world.sandbox.put("check.sh", "exit 0 # by hand\n");
        }
        let ran = session.ran("git add -A && git commit -q -m one");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let commit = world.sandbox.git(&["rev-parse", "HEAD"]).trim_end().to_owned();
        let said = statement(&world, &commit);
        assert_eq!(said.session().unwrap().1.qa.as_ref().unwrap().after, !lost);
        let key = public_key(&world.sandbox).to_string();
        let told = world.sandbox.person(&["verify-commit", &commit, "--key", &key, "--require", "A1,qa"]);
        assert_eq!(told.code, Some(i32::from(lost)), "{told:?}");
    }
}

/// Whatever ends it: the exit code is the command's own, for the client and in the ledger.
#[test]
fn how_a_test_ends_is_seen_from_outside() {
    let world = world();
    let session = world.prompted();
    for (script, code) in [("exit 0\n", 0), ("exit 3\n", 3), ("kill -9 $$\n", 137)] {
        world.sandbox.put("check.sh", script);
        let ran = session.ran("sh check.sh");
        assert_eq!((ran.code, ran.signal), (Some(code), None), "{script}: {ran:?}");
        assert_eq!(
            ran.step["observed"]["exit"],
            json!({"code": code, "seen": "jail"}),
            "{script}: {:#}",
            ran.step
        );
    }
    // The client tells something else than what happened.
    world.sandbox.put("check.sh", "exit 3\n");
    let call = session.inner.call("Bash", json!({"command": "sh check.sh"}));
    session.inner.pre(&call).silent();
    assert_eq!(session.line("sh check.sh").status().unwrap().code(), Some(3));
    let _ = session.inner.post(&call);
    let step = session.inner.entries().pop().unwrap()["with"].clone();
    assert_eq!(step["observed"]["exit"], json!({"code": 3, "seen": "jail"}), "{step:#}");
    // What is not a test is the client's word, as before.
    let ran = session.ran("ls");
    assert_eq!(ran.step["observed"]["exit"], json!({"code": 0, "seen": "client"}), "{:#}", ran.step);
}

/// Begins a test, and kills the program around it once the test has said so; what it said, and the rest of
/// its pipe.
fn killed(session: &JailedSession) -> (String, ChildStdout) {
    let call = session.inner.call("Bash", json!({"command": "sh check.sh"}));
    session.inner.pre(&call).silent();
    let mut child = session.line("sh check.sh").stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut begun = String::new();
    said.read_line(&mut begun).unwrap();
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::KILL).unwrap();
    assert!(child.wait().unwrap().code().is_none());
    let _ = session.inner.fail(&call, "Exit code 137");
    (begun, said.into_inner())
}

/// Whoever kills the program around a test kills the shell in it, as without us; in a throwaway layer, all of
/// it.
#[test]
fn a_test_dies_with_who_watches_it() {
    let world = world();
    let session = world.prompted();
    world.sandbox.put("check.sh", "echo $PPID $$\nexec sleep 600\n");
    let (begun, mut pipe) = killed(&session);
    assert!(!begun.is_empty());
    // The pipe ends when the last process of it does.
    assert_eq!(pipe.read_to_end(&mut Vec::new()).unwrap(), 0);
    session.inner.hydrate("feature-dev", "new");
    let _ = session.inner.critic("PROCEED");
    let (begun, _pipe) = killed(&session);
    let numbers: Vec<i32> = begun.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let is_gone = || !fs::read(format!("/proc/{}/cmdline", numbers[0])).is_ok_and(|line| !line.is_empty());
    world.sandbox.wait_until("the shell is gone", is_gone);
    let _ = kill_process(Pid::from_raw(numbers[1]).unwrap(), Signal::KILL);
}
