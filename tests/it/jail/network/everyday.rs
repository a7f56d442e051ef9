//! Package managers and clients of this machine over the list, with an empty environment. Run in a machine of
//! its own.

use super::inside::{broker, counts, fixture, put_script, working, world_of};
use super::outside::Outside;
use crate::fleet::postgres::Postgres;
use crate::jail::world::{Jailed, JailedSession};
use rustix::process::{Signal, kill_process};
use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const BASE: &str = "http://plain.test:8000";

/// A server of files at a listed host, at a port of its own.
#[expect(clippy::disallowed_methods, reason = "a server beside the test, not one of ours")]
fn serve_files(folder: &Path) -> Child {
    let made = Command::new("python3").arg(fixture("registry.py")).arg(folder).arg(BASE).status().unwrap();
    assert!(made.success());
    let git = |words: &[&str], at: &Path| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.test", "-c", "init.defaultBranch=main"];
        assert!(Command::new("git").args(identity).args(words).current_dir(at).status().unwrap().success());
    };
    let work = folder.join("work");
    std::fs::create_dir(&work).unwrap();
    git(&["init", "-q"], &work);
    std::fs::write(work.join("a.txt"), "fetched by git\n").unwrap();
    git(&["add", "."], &work);
    git(&["commit", "-qm", "one"], &work);
    git(&["clone", "-q", "--bare", "work", "x.git"], folder);
    git(&["update-server-info"], &folder.join("x.git"));
    let mut server = Command::new("python3");
    server.args(["-m", "http.server", "8000", "--bind", "93.184.216.2", "--directory"]).arg(folder);
    server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A list of packages without a signature, kept beside that of the machine.
const APT: &str = "mkdir -p a/lists/partial a/cache/archives/partial a/parts\n\
    echo 'deb [trusted=yes allow-insecure=yes] BASE/apt ./' > a/list\n\
    set -- -o APT::Sandbox::User= -o Dir::Etc::sourcelist=$PWD/a/list -o Dir::Etc::sourceparts=$PWD/a/parts \
    -o Dir::State::lists=$PWD/a/lists -o Dir::State::status=/dev/null -o Dir::Cache=$PWD/a/cache \
    -o APT::Update::Post-Invoke-Success::= -o APT::Update::Post-Invoke::=\n\
    apt-get -q \"$@\" update 2>&1; apt-cache \"$@\" policy one";
const JAVA: &str = "public class Fetch { public static void main(String[] words) throws Exception {\n\
    var said = new String(new java.net.URL(words[0]).openStream().readAllBytes());\n\
    System.out.println(\"fetched by java: \" + said); } }\n";

#[test]
#[ignore = "needs a machine of its own"]
fn package_managers_and_clients_reach_listed_hosts() {
    let list = "mode = \"list\"\nallow = [\"plain.test:8000\", \"tls.test\", \"db.test:5432\"]\n";
    let world = world_of(Jailed::with, list);
    let outside = Outside::new(&world.root().join("sink.sock"));
    let folder = world.root().join("served");
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(folder.join("apt")).unwrap();
    let package = "Package: one\nVersion: 1.0\nArchitecture: all\nMaintainer: a <a@b.test>\nFilename: ./one.deb\nSize: 4\n";
    std::fs::write(folder.join("apt/Packages"), package).unwrap();
    world.sandbox.put("Fetch.java", JAVA);
    let mut server = serve_files(&folder);
    world.sandbox.wait_until("the server listens", || TcpStream::connect(("93.184.216.2", 8000)).is_ok());
    let cargo = Path::new(env!("CARGO"));
    let rustc = cargo.with_file_name("rustc");
    world.sandbox.put(
        "crate/Cargo.toml",
        "[package]\nname = \"two\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\none = { version = \"1\", registry = \"here\" }\n",
    );
    world.sandbox.put("crate/src/lib.rs", "");
    world
        .sandbox
        .put("crate/.cargo/config.toml", &format!("[registries.here]\nindex = \"sparse+{BASE}/index/\"\n"));
    let session = working(&world);
    let there = |name: &str| session.ran(&format!("command -v {name} && {name} --version")).code == Some(0);
    let scripts = [
        ("git", format!("git clone -q {BASE}/x.git cloned && cat cloned/a.txt"), "fetched by git"),
        (
            "npm",
            format!("mkdir n; cd n; npm install --registry {BASE}/ --no-audit --no-fund one && cat node_modules/one/index.js"),
            "fetched by npm",
        ),
        (
            "pip",
            format!("pip install -q --disable-pip-version-check --index-url {BASE}/simple --trusted-host plain.test --target p one && cat p/one.py"),
            "fetched by pip",
        ),
        (
            cargo.to_str().unwrap(),
            format!(
                "cd crate && RUSTC={} CARGO_HOME=$PWD/h {} fetch && cat h/registry/src/*/one-1.0.0/src/lib.rs",
                rustc.display(),
                cargo.display()
            ),
            "fetched by cargo",
        ),
        (
            "ssh",
            "ssh -v -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null tls.test true 2>&1; true".to_owned(),
            "remote software version 93.184.216.1",
        ),
        (
            "ssh",
            "GIT_SSH_COMMAND='ssh -v -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null' \
             git clone ssh://x@tls.test/x.git by-ssh 2>&1; true"
                .to_owned(),
            "remote software version 93.184.216.1",
        ),
        ("java", format!("java Fetch.java {BASE}/one"), "fetched by java: {\"name\": \"one\""),
        ("apt-get", APT.replace("BASE", BASE), "Candidate: 1.0"),
        ("psql", "psql -h db.test -U x -c 'select 1' 2>&1; true".to_owned(), "received"),
    ];
    let mut ran_any = 0;
    for (program, script, wanted) in scripts {
        // A user without a name has no ssh.
        if program != "ssh" && !there(program)
            || program == "ssh" && session.ran("command -v ssh && id -un").code != Some(0)
        {
            continue;
        }
        ran_any += 1;
        world.sandbox.put("line.sh", &script);
        let ran = session.ran("env -i PATH=\"$PATH\" HOME=\"$HOME\" sh line.sh");
        assert!(ran.out.contains(wanted), "{program}: {ran:?}");
    }
    assert!(ran_any >= 1, "git at least is here");
    let reached = counts(&session).row_of("plain.test", 8000).is_some_and(|row| row.connections > 0);
    server.kill().unwrap();
    let _ = server.wait();
    assert!(reached, "{}", counts(&session));
    assert_eq!(outside.escaped(), [""; 0]);
}

/// A database of this machine, at its own port, by `local`; no other port of the machine is there.
#[test]
#[ignore = "needs a machine of its own"]
fn a_database_of_this_machine_is_reached_by_its_port() {
    if !rustix::process::geteuid().is_root() {
        return; // What it is copied from belongs to the superuser.
    }
    let world = world_of(Jailed::with, "mode = \"list\"\nlocal = [5433]\n");
    let _outside = Outside::new(&world.root().join("sink.sock"));
    let database = Postgres::on_port(&["listen_addresses=127.0.0.1", "port=5433"], |_| (), 5433);
    let session = working(&world);
    let line = "psql -X -t -A -h 127.0.0.1 -p 5433 -U aops -d postgres -c 'select 6 * 7'";
    let ran = session.ran(line);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "42\n"), "{ran:?}");
    assert_eq!(database.sql("select 1"), "1");
    let ran = session.ran("psql -X -h 127.0.0.1 -p 5432 -U aops -d postgres -c 'select 1'");
    assert!(ran.err.contains("Connection refused"), "{ran:?}");
}

/// Two sessions with a server at the same port: each has its own inside, and outside each has a port. A
/// server ends with its session, and what would start it again ends too; the other session's goes on.
#[test]
#[ignore = "needs a machine of its own"]
fn two_sessions_serve_at_one_port_until_each_ends() {
    let world = world_of(Jailed::with, "mode = \"list\"\n");
    let sessions = [working(&world), working(&world)];
    for (n, session) in sessions.iter().enumerate() {
        let script = format!(
            "listener = socket.create_server(('127.0.0.1', 8200))\n\
             while True:\n\x20   one, _ = listener.accept()\n\x20   one.sendall(b'server {n}'); one.close()\n"
        );
        let name = format!("serve{n}.py");
        put_script(&world, &name, &script);
        let line = format!("(while :; do python3 {name}; done) > /dev/null 2>&1 & echo begun");
        assert_eq!(session.ran(&line).out, "begun\n");
        world.sandbox.wait_until("it is opened", || !counts(session).served.is_empty());
    }
    put_script(&world, "ask.py", "print(reach('127.0.0.1', 8200, b'x'))\n");
    let answers = |n: usize, session: &JailedSession| {
        assert_eq!(session.ran("python3 ask.py").out, format!("b'server {n}'\n"));
        let outside = counts(session).served[0].outside;
        assert_eq!(usize::from(outside), 8200 + n);
        let mut said = String::new();
        TcpStream::connect(("127.0.0.1", outside)).unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, format!("server {n}"));
    };
    let alive =
        |n: usize| world.sandbox.alive().iter().any(|(_, line)| line.contains(&format!("serve{n}.py")));
    answers(0, &sessions[0]);
    answers(1, &sessions[1]);
    let _ = sessions[0].inner.end();
    world.sandbox.wait_until("the first server is gone", || !alive(0));
    assert!(TcpStream::connect(("127.0.0.1", 8200)).is_err());
    answers(1, &sessions[1]);
    // Nobody tells the session's end to a broker that was killed.
    kill_process(broker(&world, &sessions[1]), Signal::KILL).unwrap();
    world.sandbox.wait_until("the second server is gone", || !alive(1));
}
