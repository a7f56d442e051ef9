//! What was verified stays so while the tree is as it was then.

use crate::support::{Answer, Sandbox, Session};
use serde_json::json;

fn in_mode(level: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    let gates = "[gates]\ncommit = \"enforce\"\npush = \"enforce\"\nreflect = \"enforce\"\n";
    sandbox.configure(&format!("[audit]\nrate = 0.0\n[mode]\nlevel = \"{level}\"\n{gates}"));
    sandbox.put("test.sh", "exit 0\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "test"]);
    sandbox.git(&["push", "-q"]);
    sandbox
}

/// A session whose change is verified, reflected on and committed.
fn verified(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.working();
    session.write("a.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add -A && git commit -q -m a");
    session
}

fn owed(answer: &Answer) -> Vec<String> {
    let name = |line: &str| Some(line.split_once(". `")?.1.split('`').next()?.to_owned());
    answer.reason().lines().filter_map(name).collect()
}

#[test]
fn a_sync_that_brings_nothing_voids_nothing() {
    for mode in ["loop", "strict"] {
        let sandbox = in_mode(mode);
        let session = verified(&sandbox);
        session.bash("git fetch -q");
        session.bash("sh test.sh");
        session.bash("git pull -q --rebase && git push -q");
        session.bash("git pull -q --no-rebase; git status");
        // This tracker has no such verb.
        let sync = session.call("Bash", json!({"command": "bd sync"}));
        session.pre(&sync).silent();
        let _ = session.fail(&sync, "Exit code 1\nunknown command \"sync\" for \"bd\"");
        session.stop("Done.").silent();
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

#[test]
fn what_a_sync_brought_is_verified_again() {
    for mode in ["loop", "strict"] {
        let sandbox = in_mode(mode);
        let session = verified(&sandbox);
        sandbox.somebody_pushes();
        session.bash("git pull -q --rebase && git push -q");
        let owed = owed(&session.stop("Done."));
        assert!(owed.iter().any(|debt| debt == "qa-verifier"), "{mode}: {owed:?}");
    }
}

/// The tree alone does not tell what these did, or it is not as it was.
#[test]
fn a_change_voids_what_was_verified() {
    for line in ["sh -c 'echo more >> a.txt'", "rm README.md", "chmod +x a.txt"] {
        let sandbox = in_mode("strict");
        let session = verified(&sandbox);
        session.bash(line);
        let owed = owed(&session.stop("Done."));
        assert!(owed.iter().any(|debt| debt == "qa-verifier"), "{line}: {owed:?}");
    }
}
