//! A worker's port with a certificate: the engine's real server calls it by TLS, and nobody reads along.

use super::BEGUN;
use crate::world::{FLEET, World, until};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// An authority in this folder, and a certificate of it for 127.0.0.1.
fn certify(world: &World, folder: &str) {
    fs::create_dir_all(world.at(folder)).unwrap();
    let script = "set -e
        new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
        openssl req -x509 $new -keyout ca.key -out ca.pem -days 2 -subj /CN=authority
        openssl req $new -keyout worker.key -out worker.csr -subj /CN=worker
        echo subjectAltName=IP:127.0.0.1 > names
        openssl x509 -req -in worker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out worker.pem";
    let made = Command::new("sh").args(["-c", script]).current_dir(world.at(folder)).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn a_workers_port_is_encrypted_and_takes_only_the_servers_calls() {
    let mut world = World::new(&[&format!("{BEGUN}echo one >> work")], &[]);
    certify(&world, "trusted");
    certify(&world, "other");
    // From its next start, the server trusts this authority and signs its calls.
    fs::copy(world.at("trusted/ca.pem"), world.at("ca.pem")).unwrap();
    let made = Command::new(FLEET).arg("identity").arg(world.at("identity.pem")).output().unwrap();
    let identity = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    world.kill_server();
    world.start_server();
    assert_eq!(printed_key(&world), identity, "the server reads the key as we do");
    let place = |folder: &str| {
        for file in ["worker.pem", "worker.key"] {
            fs::copy(world.at(folder).join(file), world.at(file)).unwrap();
        }
    };
    place("other");
    let file = world.at("worker.pem").display().to_string();
    let mut given = vec!["--certificate", &file, "--identity", &identity];
    let mut worker = world.encrypted("a", &given);
    until("the server refuses a certificate of nobody", || {
        fs::read_to_string(world.at("a.log")).unwrap_or_default().contains("not known to the engine yet")
    });
    assert!(world.machines()["a"].is_null(), "{}", world.machines());
    place("trusted");
    until("the renewed one is used without a restart", || world.machines()["a"]["away"] == false);
    world.send("r1", &[]);
    world.passed("r1");
    let service = world.ask("admin", "GET", "/services/machine-a", None).1;
    let deployment = service["deployment_id"].as_str().unwrap();
    let said = world.ask("admin", "GET", &format!("/deployments/{deployment}"), None).1;
    assert_eq!(said["uri"], json!(format!("https://127.0.0.1:{}/", worker.port)), "{said}");
    // Whoever speaks plain HTTP/2 gets no frame of it.
    let mut plain = TcpStream::connect(("127.0.0.1", worker.port)).unwrap();
    plain.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut said = Vec::new();
    let _ = plain.read_to_end(&mut said);
    assert!(said.is_empty() || said[0] == 21, "an alert of TLS or nothing: {said:?}");
    // Signed with another key than the worker was given, not even a look at its services is answered.
    worker.worker.take().unwrap().kill();
    let other = "publickeyv1_3bQPC1Lsw1PoXFswYssFGUfoDYughmDy5sdY27FobREn";
    given.truncate(3);
    given.push(other);
    let _worker = world.encrypted("b", &given);
    until("the server's calls count for nothing there", || {
        fs::read_to_string(world.at("b.log")).unwrap_or_default().contains("401")
    });
    assert!(world.machines()["b"].is_null(), "{}", world.machines());
}

/// The key that the server signs its calls with, as it prints it at its start.
fn printed_key(world: &World) -> String {
    let log = fs::read_to_string(world.at("server.log")).unwrap();
    let at = log.find("publickeyv1_").unwrap_or_else(|| panic!("no key: {log}"));
    log[at..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap().to_owned()
}
