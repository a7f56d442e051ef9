//! Package managers and clients of this machine over the list, with an empty environment. Run in a machine of its own.

use super::inside::{counts, fixture, working, world_of};
use super::outside::Outside;
use crate::jail::world::Jailed;
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

#[test]
#[ignore = "needs a machine of its own"]
fn package_managers_and_clients_reach_listed_hosts() {
    let list = "mode = \"list\"\nallow = [\"plain.test:8000\", \"tls.test\", \"db.test:5432\"]\n";
    let world = world_of(Jailed::with, list);
    let outside = Outside::new(&world.root().join("sink.sock"));
    let folder = world.root().join("served");
    std::fs::create_dir(&folder).unwrap();
    let mut server = serve_files(&folder);
    world.sandbox.wait_until("the server listens", || TcpStream::connect(("93.184.216.2", 8000)).is_ok());
    let cargo = Path::new(env!("CARGO"));
    let rustc = cargo.with_file_name("rustc");
    world.sandbox.put(
        "crate/Cargo.toml",
        "[package]\nname = \"two\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\none = { version = \"1\", registry = \"here\" }\n",
    );
    world.sandbox.put("crate/src/lib.rs", "");
    world.sandbox.put("crate/.cargo/config.toml", &format!("[registries.here]\nindex = \"sparse+{BASE}/index/\"\n"));
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
        ("psql", "psql -h db.test -U x -c 'select 1' 2>&1; true".to_owned(), "received"),
    ];
    let mut ran_any = 0;
    for (program, script, wanted) in scripts {
        if program != "ssh" && !there(program) || program == "ssh" && session.ran("command -v ssh").code != Some(0) {
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
