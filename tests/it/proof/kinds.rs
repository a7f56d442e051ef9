//! Kinds of keys: ML-DSA-44 beside Ed25519, and an Ed25519 key that an ssh-agent keeps.

use super::proofs::second;
use super::{checkpoint, keys, log, public_key, session, turn, verify, world};
use crate::support::{NO_TRACKER, Sandbox};
use serde_json::json;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

fn note(sandbox: &Sandbox) -> String {
    fs::read_to_string(log(sandbox).join("checkpoint")).unwrap()
}

/// Lines of the newest checkpoint after the empty one.
fn signatures(sandbox: &Sandbox) -> Vec<String> {
    note(sandbox).split_once("\n\n").unwrap().1.lines().map(str::to_owned).collect()
}

#[test]
fn a_checkpoint_is_signed_with_both_algorithms() {
    let sandbox = world();
    let _session = session(&sandbox);
    let [ed25519, ml_dsa] = &signatures(&sandbox)[..] else { panic!("{}", note(&sandbox)) };
    assert!(ed25519.len() < 200 && ml_dsa.len() > 3000, "{ed25519} {ml_dsa}");
    sandbox.person(&["key", "show"]).said(&["signed with Ed25519 and ML-DSA-44"]);
    let key = public_key(&sandbox).to_string();
    let other = sandbox.person(&["key", "export", "--ml-dsa", "--yes"]).out.trim_end().to_owned();
    assert_eq!(sandbox.person(&["key", "show", "--json"]).json()["ml_dsa"], other);
    assert_eq!(verify(&sandbox, &["--all", "--key", &key, "--key", &other])["ok"], true);
    // The other implementation, with OpenSSL's ML-DSA.
    let folder = log(&sandbox);
    let line = ["--log", folder.to_str().unwrap(), "--key", &key, "--key", &other];
    assert_eq!(second(&line)["ok"], true, "{}", second(&line));
    // A forger of one algorithm is found by the other.
    for missing in [ed25519, ml_dsa] {
        fs::write(folder.join("checkpoint"), note(&sandbox).replace(&format!("{missing}\n"), "")).unwrap();
        let said = verify(&sandbox, &["--all"]);
        assert!(said["log"]["faults"][0].as_str().unwrap().contains("but not by the other"), "{said}");
        assert_eq!(second(&line)["ok"], false);
        fs::write(
            folder.join("checkpoint"),
            format!("{}{ed25519}\n{ml_dsa}\n", note(&sandbox).split_inclusive("\n\n").next().unwrap()),
        )
        .unwrap();
        assert_eq!(verify(&sandbox, &["--all"])["ok"], true);
    }
}

/// Keys of an earlier version have no second one: everything holds, and a rotation makes it.
#[test]
fn a_key_without_the_second_one_still_signs() {
    let sandbox = world();
    // As an earlier version made it: nothing names a second one.
    for name in ["ml-dsa.key", "seal.json"] {
        fs::remove_file(keys(&sandbox).join(name)).unwrap();
    }
    fs::remove_dir_all(log(&sandbox)).unwrap();
    let session = session(&sandbox);
    assert_eq!((signatures(&sandbox).len(), &verify(&sandbox, &["--all"])["ok"]), (1, &json!(true)));
    sandbox.person(&["key", "export", "--ml-dsa", "--yes"]).failed(2, &["no ML-DSA-44 key", "key rotate"]);
    sandbox.person(&["key", "rotate", "--yes"]).said(&["tell your witnesses"]);
    turn(&session);
    assert_eq!((signatures(&sandbox).len(), &verify(&sandbox, &["--all"])["ok"]), (2, &json!(true)));
}

/// A real ssh-agent with one Ed25519 key, ended with the value.
struct Agent {
    child: Child,
    socket: PathBuf,
}

impl Agent {
    #[expect(clippy::disallowed_methods, reason = "an agent lives longer than a call")]
    fn start(sandbox: &Sandbox) -> Self {
        let folder = &sandbox.tmp();
        let need = "`ssh-agent` and `ssh-keygen` are needed (package `openssh-client`)";
        let (socket, key) = (folder.join("agent.sock"), folder.join("id"));
        let quiet = |command: &mut Command| {
            command
                .env_clear()
                .env("SSH_AUTH_SOCK", &socket)
                .env("HOME", folder)
                .env("PATH", "/usr/bin:/bin");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        };
        let mut make = Command::new("ssh-keygen");
        quiet(make.args(["-q", "-t", "ed25519", "-N", "", "-C", "log@laptop", "-f"]).arg(&key));
        assert!(make.status().expect(need).success());
        let mut agent = Command::new("ssh-agent");
        quiet(agent.args(["-D", "-a"]).arg(&socket));
        let agent = Self { child: agent.spawn().expect(need), socket: socket.clone() };
        sandbox.wait_until("the ssh-agent has the key", || {
            let mut add = Command::new("ssh-add");
            quiet(add.arg(&key));
            add.status().expect(need).success()
        });
        agent
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_key_in_an_ssh_agent_signs() {
    let sandbox = Sandbox::new();
    sandbox.configure(&format!("mode.level = \"guard\"\n{NO_TRACKER}"));
    let agent = Agent::start(&sandbox);
    let socket = agent.socket.to_str().unwrap().to_owned();
    let init = |named: &str| sandbox.person(&["key", "init", "--ssh-agent", named, "--socket", &socket]);
    init("other").failed(2, &["no key `other` in the ssh-agent", "SHA256:", "log@laptop"]);
    init("log@laptop").said(&["made the key of log"]);
    let stored = fs::read_to_string(keys(&sandbox).join("note.key")).unwrap();
    assert!(stored.starts_with("AGENT+KEY+") && !stored.contains("PRIVATE"), "{stored}");
    let one = session(&sandbox);
    let (size, _) = checkpoint(&sandbox);
    assert_eq!(verify(&sandbox, &["--all"])["ok"], true);
    let (key, folder) = (public_key(&sandbox).to_string(), log(&sandbox));
    assert_eq!(second(&["--log", folder.to_str().unwrap(), "--key", &key])["ok"], true);
    // Without the agent a turn ends all the same, and says what is missing; the next one signs for both.
    drop(agent);
    let _ = one.prompt("go on");
    let said = one.stop("done");
    assert_eq!(said.code, Some(0));
    assert!(format!("{}{}", said.out, said.err).contains("the log was not signed"), "{said:?}");
    assert_eq!(checkpoint(&sandbox).0, size);
    fs::remove_file(&socket).unwrap();
    // An agent that never answers holds nothing up for ever.
    let silent = UnixListener::bind(&socket).unwrap();
    let said = one.stop("done");
    assert!(said.code == Some(0) && format!("{}{}", said.out, said.err).contains("not signed"), "{said:?}");
    drop(silent);
    // A key in a file instead: the old one cannot vouch for it, so that needs the agent.
    sandbox.person(&["key", "rotate", "--yes"]).failed(1, &["ssh-agent"]);
}
