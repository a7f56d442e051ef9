//! Programs that run outside of the jail already and would do what they are asked: a tmux server, D-Bus and
//! systemd, `at` and `cron`, whatever listens. In a trial none of them can be asked; with the sandbox open
//! they are as they are.

use super::world::Jailed;
use crate::support::BINARY;
use serde_json::json;
use std::path::Path;

/// Becomes a server at each of these addresses, then runs the program that its arguments name.
const SERVES: &str = r#"
import os, socket, subprocess, sys
held = []
for name in os.environ["SERVED"].split():
    at = "\0" + name[1:] if name[0] == "@" else name
    os.makedirs(os.path.dirname(name), exist_ok=True) if name[0] != "@" else None
    one = socket.socket(socket.AF_UNIX)
    if os.path.exists(name): os.unlink(name)
    one.bind(at)
    one.listen()
    held.append(one)
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"#;

/// Asks each of these addresses.
const ASKS: &str = r#"
import os, socket
for name in os.environ["SERVED"].split():
    try:
        socket.socket(socket.AF_UNIX).connect("\0" + name[1:] if name[0] == "@" else name)
        print("open", name)
    except OSError:
        print("held", name)
"#;

/// The sockets of D-Bus, systemd and the rest lie in `/run`, so this test has a `/run` of its own.
#[test]
fn services_of_the_system_and_of_the_desktop_are_out_of_sight_in_a_trial() {
    let world = Jailed::new();
    let session = world.prompted();
    world.sandbox.put("serves.py", SERVES);
    world.sandbox.put("asks.py", ASKS);
    let home = world.sandbox.home().display().to_string();
    let own = ["editor.sock", "bus", "box.sock"].map(|name| format!("{home}/{name}"));
    let abstract_one = format!("@aops-test-{}", std::process::id());
    let served = [
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
        "/run/docker.sock",
        "/run/podman/podman.sock",
        "/run/user/1000/bus",
        "/run/postgresql/.s.PGSQL.5432",
        "/run/mysqld/mysqld.sock",
        "/run/user/1000/systemd/private",
        "/run/screen/S-me/1.x",
        &abstract_one,
        &own[0],
        &own[1],
        &own[2],
    ];
    let begin = "mount -t tmpfs none /run && exec python3 serves.py \"$0\" \"$@\"";
    let run = |line: &str| {
        let call = session.inner.call("Bash", json!({"command": line}));
        session.inner.pre(&call).silent();
        let mut command = world.sandbox.command("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", begin, BINARY, "--shell", line]);
        command.envs([("CLAUDECODE", "1"), ("AI_AGENT", "claude-code_agent"), ("SERVED", &served.join(" "))]);
        command.env("CLAUDE_CODE_SESSION_ID", &session.inner.id).env("NVIM", &own[0]);
        command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={},guid=1", own[1]));
        command.env("CONTAINER_HOST", format!("unix://{}", own[2]));
        let ran = command.output().expect("`unshare` is needed: install util-linux");
        (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap())
    };
    let all = |word: &str| served.map(|name| format!("{word} {name}\n")).concat();
    assert_eq!(run("python3 asks.py"), (all("held"), String::new()));
    session.inner.hydrate("minor-edit", "new");
    assert_eq!(run("python3 ./asks.py"), (all("open"), String::new()));
}

/// A server of tmux types what it is sent, and what it types runs outside.
#[test]
fn a_tmux_server_cannot_be_asked_from_a_trial() {
    let mut world = Jailed::new();
    let sockets = [world.sandbox.tmp().join("tmux"), world.sandbox.home().join("tmux")];
    let tmux = |world: &Jailed, socket: &Path, words: &[&str]| {
        let mut command = world.sandbox.command("tmux");
        let ran = command.arg("-S").arg(socket).args(["-f", "/dev/null"]).args(words).output();
        ran.expect("`tmux` is needed: install the package of that name").status.success()
    };
    for socket in &sockets {
        assert!(tmux(&world, socket, &["new-session", "-d", "-x", "80", "-y", "24", "sh"]));
    }
    // As in a shell inside of tmux.
    world.sandbox = world.sandbox.with("TMUX", format!("{},1,0", sockets[1].display()));
    let send = |socket: &Path, mark: &Path| {
        format!("tmux -S {} send-keys 'touch {}' Enter\n", socket.display(), mark.display())
    };
    let [one, two, three] = ["one", "two", "three"].map(|name| world.sandbox.home().join(name));
    world.sandbox.put("try.sh", &(send(&sockets[0], &one) + &send(&sockets[1], &two)));
    world.sandbox.put("work.sh", &send(&sockets[0], &three));
    let session = world.prompted();
    let ran = session.ran("sh try.sh");
    assert_eq!((ran.profile().as_str(), ran.code), ("trial", Some(1)), "{ran:?}");
    session.inner.hydrate("minor-edit", "new");
    assert_eq!(session.ran("sh work.sh").code, Some(0));
    world.sandbox.wait_until("the server has typed it", || three.exists());
    assert!(!one.exists() && !two.exists(), "{ran:?}");
    for socket in &sockets {
        assert!(tmux(&world, socket, &["kill-server"]));
    }
}

/// What `at` and `cron` run later stands in folders of the system and of the home.
#[test]
fn no_job_is_left_for_later_by_a_trial() {
    let world = Jailed::new();
    let session = world.prompted();
    let line = "for d in /var/spool/cron /var/spool/cron/crontabs /var/spool/cron/atjobs /var/spool/at /etc/cron.d /etc/systemd/system \
        $HOME/.config/systemd/user $HOME/.config/autostart $HOME/Library/LaunchAgents; do\n\
        mkdir -p $d 2>/dev/null; touch $d/aops-test 2>/dev/null && echo $d\ndone; exit 0\n";
    world.sandbox.put("try.sh", line);
    let ran = session.ran("sh try.sh");
    assert_eq!((ran.profile().as_str(), ran.code, ran.out.as_str()), ("trial", Some(0), ""), "{ran:?}");
}
