//! `fleet login`: a token from the gateway, by a code that a person confirms in a browser.
//!
//! Asks the gateway. Invariant: the token goes into the folder of the keys, where no command of an agent sees
//! it, and is never printed.

use super::on::no_engine;
use crate::cli::{Io, policy_here, refused};
use crate::remote::gateway::{Gateway, TOKEN, words_of};
use aops_core::system::fleet_home::secret_file;
use aops_core::system::{files, signal};
use aops_core::text::template::one_line;
use clap::ArgMatches;
use serde_json::json;
use std::thread;
use std::time::Duration;

pub(super) fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Some(engine) = policy_here(io)?.policy.fleet.engine else {
        return no_engine();
    };
    let gateway = Gateway::before_login(io.env, &engine).or_else(refused)?;
    let (status, begun) = gateway.log_in("device", &json!({})).or_else(refused)?;
    if status != 200 {
        return refused(words_of(status, &begun));
    }
    let text = |name: &str| one_line(begun[name].as_str().unwrap_or_default(), 500);
    let url = text("url");
    let code = text("user_code");
    if io.json || !io.terminal {
        writeln!(io.out, "{}", json!({"event": "code", "url": url, "code": code}))?;
    } else {
        writeln!(io.out, "open {url} and type {code}")?;
    }
    io.out.flush()?;
    let pause = Duration::from_secs(begun["interval"].as_u64().unwrap_or(5).clamp(1, 60));
    signal::note_interrupts();
    while !signal::interrupted() {
        match gateway.log_in("poll", &json!({"handle": begun["handle"]})).or_else(refused)? {
            (202, _) => thread::sleep(pause),
            (200, said) => {
                let file = secret_file(io.env, TOKEN);
                let token = said["token"].as_str().unwrap_or_default();
                files::make_all(file.parent().unwrap_or(&file))?;
                files::replace_private(&file, format!("{token}\n").as_bytes())?;
                let name = one_line(said["name"].as_str().unwrap_or_default(), 200);
                return io.answer(&json!({"name": name}), format!("you are logged in as {name}"));
            }
            (status, said) => return refused(words_of(status, &said)),
        }
    }
    refused("you are not logged in")
}
