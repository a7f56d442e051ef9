//! `witness serve`: a witness for the logs of others, to be run as another user, on another machine or in CI.
//!
//! Listens on one address and keeps its state in one folder. Invariants: one request is judged at a time; a
//! connection has ten seconds and a bounded size, so one slow client delays the others only briefly.

use super::http::{self, Request};
use super::{Command, Io, option, refused, text};
use anyhow::Context;
use aops_core::proof::serve::WitnessState;
use aops_core::system::env::Env;
use aops_proof::key::PublicKey;
use clap::{ArgAction, ArgMatches};
use serde_json::json;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub const COMMAND: Command = Command {
    name: "witness",
    about: "Be a witness for logs of others",
    examples: &[(
        "aops-hook witness serve --state /var/lib/witness --log KEY",
        "sign the checkpoints of the log with this key, as `aops-hook key show` prints it",
    )],
    arguments: |row| Command::verbs(VERBS, row),
    run: |given, io| Ok(Command::run_verb("witness", VERBS, given, io)?.unwrap_or(2)),
};

pub(super) static VERBS: &[Command] = &[Command {
    name: "serve",
    about: "Answer `POST /add-checkpoint` (C2SP tlog-witness) until it is stopped",
    examples: &[
        (
            "aops-hook witness serve --state /var/lib/witness --log KEY",
            "on 127.0.0.1:7380; prints its own key first",
        ),
        (
            "aops-hook witness serve --state w --log KEY --log KEY2 --listen 10.0.0.5:7380",
            "for two logs, on a network",
        ),
    ],
    arguments: |row| {
        let log = option("log", "KEY", "The public key of a log; once for each")
            .required(true)
            .action(ArgAction::Append);
        row.arg(option("state", "FOLDER", "Where its key and what it signed last are kept").required(true))
            .arg(log)
            .arg(option("listen", "ADDRESS", "Where it listens").default_value("127.0.0.1:7380"))
            .arg(
                option("name", "NAME", "The name in its key, when it is made")
                    .default_value("aops-witness.local"),
            )
    },
    run: serve,
}];

const LONGEST_BODY: usize = 256 << 10;

fn serve(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let logs = given.get_many::<String>("log").unwrap_or_default().map(|text| PublicKey::parse(text));
    let logs: Vec<PublicKey> = logs.collect::<Result<_, _>>().or_else(refused)?;
    let folder = io.env.from_here(Path::new(text(given, "state").unwrap_or_default()));
    let state = WitnessState::open(&folder, text(given, "name").unwrap_or_default(), logs)?;
    let address = text(given, "listen").unwrap_or_default();
    let listener = TcpListener::bind(address).with_context(|| format!("`{address}`"))?;
    let [key, ml_dsa] = state.keys().map(ToString::to_string);
    let address = listener.local_addr()?;
    let value = json!({"key": key, "listens": address.to_string(), "ml_dsa": ml_dsa});
    io.answer(&value, format!("{key}\n{ml_dsa}\nlistens on http://{address}"))?;
    io.out.flush()?;
    let state = Mutex::new(state);
    let env = io.env;
    // A silent connection delays no other: only judging happens one at a time.
    http::listen(&listener, LONGEST_BODY, http::MOST, |request| judge(&state, env, request));
    Ok(0)
}

fn judge(state: &Mutex<WitnessState>, env: &Env, request: &Request) -> http::Answer {
    let plain = "Content-Type: text/plain; charset=utf-8\r\n";
    if request.method != "POST" || !request.path.ends_with("/add-checkpoint") {
        return (404, plain.to_owned(), "only `POST /add-checkpoint` is answered here\n".to_owned());
    }
    let answer = state.lock().unwrap_or_else(PoisonError::into_inner).answer(env, &request.body);
    let kind = if answer.status() == 409 { "Content-Type: text/x.tlog.size\r\n" } else { plain };
    (answer.status(), kind.to_owned(), answer.body())
}
