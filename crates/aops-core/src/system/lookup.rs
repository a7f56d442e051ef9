//! Resolves a host name with the system's own resolver.
//!
//! Runs `getent`, since a static program has no resolver and the C library would load parts of it at run
//! time. Invariant: only asked for a name that a person gave.

use crate::system::env::Env;
use crate::system::process::program::{Identity, Program};
use crate::system::process::{self, Ending, Task, variable};
use std::net::IpAddr;
use std::time::Duration;

pub fn addresses(env: &Env, name: &str) -> Vec<IpAddr> {
    let Ok(program) = Program::find(env, Identity::System("getent")) else { return by_library(name) };
    let args = ["ahosts".to_owned(), name.to_owned()];
    let variables = [variable("PATH", env.search_path())];
    let task =
        Task { keep: 1 << 16, ..Task::new(&program, &args, &env.cwd, &variables, Duration::from_secs(10)) };
    let said = process::run(&task)
        .ok()
        .filter(|asked| asked.ending == Ending::Exit(0))
        .map(|asked| asked.stdout)
        .unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    let mut found = Vec::new();
    for number in said.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()) {
        if !found.contains(&number) {
            found.push(number);
        }
    }
    found
}

/// If there is no `getent`, the program is not static.
#[cfg(not(target_os = "linux"))]
fn by_library(name: &str) -> Vec<IpAddr> {
    use std::net::ToSocketAddrs;
    (name, 0).to_socket_addrs().map(|all| all.map(|socket| socket.ip()).collect()).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn by_library(_: &str) -> Vec<IpAddr> {
    Vec::new()
}
