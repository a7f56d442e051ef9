//! The cockpit over ssh: a real `sshd` on loopback, a real `ssh` in a terminal.

use super::{WIDE, cockpit, prompted};
use crate::support::{BINARY, NO_TRACKER, Sandbox};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::thread;

const SERVER: &str = "/usr/sbin/sshd";

/// The keys of both sides and the server's configuration. The user who runs the tests logs in.
fn set_up(sandbox: &Sandbox) {
    for name in ["host_key", "user_key"] {
        let path = sandbox.tmp().join(name);
        let mut keygen = sandbox.command("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path);
        keygen.assert().success();
    }
    let path = |name: &str| sandbox.tmp().join(name).display().to_string();
    let lines = [
        format!("HostKey {}", path("host_key")),
        format!("AuthorizedKeysFile {}", path("user_key.pub")),
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPrintLastLog no\nPrintMotd no\n".to_owned(),
    ];
    fs::write(path("sshd_config"), lines.join("\n")).unwrap();
    let home = sandbox.home().display().to_string();
    let users = format!("root:*:0:0::{home}:/bin/sh\nsshd:*:100:65534::/run/sshd:/usr/sbin/nologin\n");
    fs::write(path("passwd"), users).unwrap();
}

/// One connection is taken, and `sshd` speaks on it. Root's one sees folders of its own where it would leave
/// traces.
#[expect(clippy::disallowed_methods, reason = "a server whose standard input is a connection")]
fn serve(sandbox: &Sandbox, connection: TcpStream) -> Child {
    let path = |name: &str| sandbox.tmp().join(name).display().to_string();
    let server = format!("exec {SERVER} -i -e -f {}", path("sshd_config"));
    let apart = format!(
        "mount -t tmpfs none /run && mkdir /run/sshd && mount -t tmpfs none /var/log && mount --bind {} /etc/passwd && {server}",
        path("passwd")
    );
    let mut command = if rustix::process::getuid().is_root() {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &apart]);
        command
    } else {
        let mut command = Command::new("sh");
        command.args(["-c", &server]);
        command
    };
    let log = fs::File::create(path("sshd.log")).unwrap();
    let (to, from) = (OwnedFd::from(connection.try_clone().unwrap()), OwnedFd::from(connection));
    command
        .env_clear()
        .envs(sandbox.environment())
        .stdin(Stdio::from(to))
        .stdout(Stdio::from(from))
        .stderr(log);
    command.spawn().unwrap()
}

#[test]
fn it_works_over_ssh() {
    assert!(fs::exists(SERVER).unwrap(), "`sshd` is missing\nhint: install the package `openssh-server`");
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = prompted(&sandbox, "add a greeting");
    set_up(&sandbox);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let variables = sandbox.environment().into_iter().filter(|(name, _)| name != "TERM");
    let variables: Vec<String> =
        variables.map(|(name, value)| format!("{name}={}", value.display())).collect();
    let path = |name: &str| sandbox.tmp().join(name).display().to_string();
    let project = sandbox.project().display().to_string();
    fs::write(
        path("far"),
        format!("cd {project} && exec env -i TERM=$TERM {} {BINARY} watch\n", variables.join(" ")),
    )
    .unwrap();
    let line = format!(
        "ssh -F none -tt -q -p {port} -i {} -o IdentitiesOnly=yes -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile={} 127.0.0.1 sh {}",
        path("user_key"),
        path("known_hosts"),
        path("far")
    );
    thread::scope(|scope| {
        let server = scope.spawn(|| serve(&sandbox, listener.accept().unwrap().0));
        let screen = cockpit(&sandbox, WIDE, &line);
        let mut server = server.join().unwrap();
        screen.shows(&[
            "1 session, 1 live, 0 wait for you",
            "add a greeting",
            "`prompt-hydrator`",
            &session.id,
        ]);
        session.write("hello.txt").refused(&["plan"]);
        screen.shows(&["Write hello.txt  [sandbox]"]);
        screen.resize(80, 24);
        screen.press("Enter");
        screen.shows(&["prompt    add a greeting", "refused   Write hello.txt"]);
        screen.leave("refused   Write hello.txt");
        // A key that changes something asks first, here as there.
        screen.enter("blet me look");
        screen.press("Enter");
        screen.shows(&["aops-hook block"]);
        screen.press("y");
        screen.shows(&["1 waits for you"]);
        screen.press("q");
        screen.shows(&["first words", "as before, 0"]);
        server.wait().unwrap();
        let log = fs::read_to_string(path("sshd.log")).unwrap();
        assert!(log.contains("Accepted publickey") && log.contains("disconnected by user"), "{log}");
    });
}
