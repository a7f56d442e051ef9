//! How the database is reached: `fleet init|status|doctor`, TLS, a password, and that no hook does.

use super::postgres::{Postgres, access};
use crate::export::certificates;
use crate::support::Sandbox;
use aops_fleet::{Error, Fleet};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

fn json(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let said = sandbox.person(arguments);
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn init_makes_the_tables_once_and_status_shows_them() {
    let (postgres, sandbox) = (Postgres::start(), Sandbox::new());
    sandbox
        .person(&["fleet", "status"])
        .failed(2, &["neither a database nor an engine", "hint: set `fleet.engine`"]);
    sandbox.person(&["fleet", "init"]).failed(2, &["no database is configured", "hint: set `fleet.url`"]);
    postgres.configure(&sandbox, "");
    sandbox.person(&["fleet", "status"]).failed(1, &["no tables of ours", "hint: `aops-hook fleet init`"]);
    let said = sandbox.person(&["fleet", "doctor"]);
    assert!(said.code == Some(1) && said.out.contains("`aops-hook fleet init`"), "{said:?}");
    let both = [0, 1].map(|_| {
        let url = postgres.url();
        thread::spawn(move || Fleet::open_any(&access(&url)).unwrap().migrate().unwrap())
    });
    let mut before = both.map(|one| one.join().unwrap());
    before.sort_unstable();
    assert_eq!(before, [0, aops_fleet::schema::VERSION], "one of the two made them");
    sandbox.person(&["fleet", "init"]).said(&["the tables have version 3 already"]);
    let shown = json(&sandbox, &["fleet", "status", "--json"]);
    assert_eq!((&shown["sessions"], &shown["policies"]), (&0.into(), &0.into()));
    let tables =
        "select string_agg(tablename, ' ' order by tablename) from pg_tables where schemaname = 'aops'";
    assert_eq!(postgres.sql(tables), "checkpoints insights machines migrations policy_versions sessions");
    sandbox
        .person(&["fleet", "doctor"])
        .said(&["ok\tdatabase\tanswers", "ok\ttables\tversion 3", "ok\tclock"]);
    sandbox.inside(&["fleet", "status"]).failed(2, &["needs a person at a terminal"]);
    // Tables of an old version, and a run in its queue: it would be lost.
    let first = include_str!("../../../crates/aops-fleet/src/schema/1.sql");
    postgres.sql(&format!(
        "drop schema aops cascade; create schema aops; create table aops.migrations (version int primary key, \
         at timestamptz not null default now()); {first} insert into aops.migrations (version) values (1)"
    ));
    sandbox.person(&["fleet", "status"]).failed(1, &["version 1", "`aops-hook fleet init` upgrades them"]);
    postgres.sql(
        "insert into aops.runs (id, repository, commit, request, labels, priority) values ('r', 'x', 'c', '{}', '{}', 0)",
    );
    let said = sandbox.person(&["fleet", "init"]);
    said.failed(1, &["runs are still in it", "hint: let them end"]);
    sandbox.person(&["fleet", "status"]).failed(1, &["version 1"]);
    postgres.sql("update aops.runs set state = 'done'");
    sandbox.person(&["fleet", "init"]).said(&["brought the tables from version 1 to 3"]);
    assert_eq!(postgres.sql(tables), "checkpoints insights machines migrations policy_versions sessions");
    postgres.sql("insert into aops.migrations (version) values (99)");
    sandbox.person(&["fleet", "status"]).failed(1, &["version 99", "update `aops-hook`"]);
    sandbox.person(&["fleet", "init"]).failed(1, &["version 99"]);
}

#[test]
fn a_database_that_is_down_is_told_and_comes_back() {
    let (mut postgres, sandbox) = (Postgres::with_tables(), Sandbox::new());
    postgres.configure(&sandbox, "");
    postgres.kill();
    sandbox.person(&["fleet", "status"]).failed(1, &["the database cannot be reached"]);
    assert!(Fleet::open(&access(&postgres.url())).is_err_and(|error| error.is_down()));
    postgres.start_again();
    sandbox.person(&["fleet", "status"]).said(&["in force in the last day"]);
    let mut open = postgres.fleet();
    postgres.kill();
    // A server process may answer once more before it notices that its parent was killed.
    let told = std::iter::repeat_with(|| open.overview(1)).find_map(Result::err);
    assert!(told.is_some_and(|error| error.is_down()), "an open connection tells it too");
}

/// A password in the address would be recorded with the policy.
#[test]
fn a_password_in_the_address_is_refused() {
    let sandbox = Sandbox::new();
    for url in ["postgresql://aops:s3cret@h/d", "postgresql://aops@h/d?password=s3cret", "mysql://h/d"] {
        sandbox.configure(&format!("fleet.url = \"{url}\"\n"));
        let said = sandbox.person(&["fleet", "status"]);
        assert!(said.code == Some(2) && said.err.contains("fleet.url"), "{said:?}");
        let start = sandbox.session().start("startup");
        assert!(!format!("{start:?}{said:?}").contains("s3cret"), "{start:?}{said:?}");
    }
}

/// By TCP with TLS and a password: the authority must be known, the password right, and neither is ever
/// shown.
#[test]
fn tls_and_password() {
    let sandbox = Sandbox::new();
    let [authority, certificate, key] = certificates(&sandbox);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (listen, port_is) = ("listen_addresses=127.0.0.1", format!("port={port}"));
    let put = |data: &Path| {
        fs::copy(&certificate, data.join("server.crt")).unwrap();
        fs::copy(&key, data.join("server.key")).unwrap();
        fs::set_permissions(data.join("server.key"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(
            data.join("pg_hba.conf"),
            "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n",
        )
        .unwrap();
    };
    let postgres = Postgres::on_port(&[listen, &port_is, "ssl=on"], put, port);
    postgres.sql("alter role aops password 's3cret'");
    Fleet::open_any(&access(&postgres.url())).unwrap().migrate().unwrap();
    let url = format!("postgresql://aops@localhost:{port}/postgres?sslmode=require");
    sandbox.configure(&format!("tracker.command = \"none\"\nfleet.url = \"{url}\"\n"));
    let told = |sandbox: &Sandbox| {
        let said = sandbox.person(&["fleet", "doctor"]);
        assert!(!format!("{said:?}").contains("s3cret"), "{said:?}");
        said
    };
    assert!(told(&sandbox).out.contains("bad\tdatabase"), "the authority is not known");
    let sandbox = sandbox.with("SSL_CERT_FILE", &authority);
    let file = sandbox.config().join("aops/keys/fleet.password");
    let hint = format!("hint: write it into `{}`", file.display());
    assert!(told(&sandbox).out.contains("bad\tdatabase"), "there is no password");
    sandbox.person(&["fleet", "status"]).failed(1, &[&hint]);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "wr0ng\n").unwrap();
    assert!(told(&sandbox).out.contains("others can read"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(told(&sandbox).out.contains("authentication failed"));
    sandbox.person(&["fleet", "status"]).failed(1, &[&hint.replace("write it into", "correct")]);
    fs::write(&file, "s3cret\n").unwrap();
    told(&sandbox).said(&["ok\tdatabase", "ok\ttables"]);
    let plain = format!("postgresql://aops@localhost:{port}/postgres?sslmode=disable");
    assert!(matches!(Fleet::open(&access(&plain)), Err(Error::Refused(_))), "the server wants TLS");
}
