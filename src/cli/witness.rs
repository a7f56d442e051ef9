//! `witness serve`: a witness for logs of others, for use under another user, on another machine or in CI.
//!
//! Listens on one address and keeps its state in one folder. Invariants: one request is judged at a time; a connection has
//! ten seconds and a bounded size, so one slow client delays the others only briefly.

use super::{Command, Io, allowed, option, refused, text, who_may};
use crate::proof::serve::WitnessState;
use anyhow::Context;
use aops_proof::key::PublicKey;
use clap::{ArgAction, ArgMatches};
use serde_json::json;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

pub const COMMAND: Command = Command {
    name: "witness",
    about: "Be a witness for logs of others",
    examples: &[(
        "aops-hook witness serve --state /var/lib/witness --log KEY",
        "sign the checkpoints of the log with this key, as `aops-hook key show` prints it",
    )],
    arguments: |row| Command::verbs(VERBS, row),
    run,
};

pub(super) static VERBS: &[Command] = &[Command {
    name: "serve",
    about: "Answer `POST /add-checkpoint` (C2SP tlog-witness) until it is stopped",
    examples: &[
        ("aops-hook witness serve --state /var/lib/witness --log KEY", "on 127.0.0.1:7380; prints its own key first"),
        ("aops-hook witness serve --state w --log KEY --log KEY2 --listen 10.0.0.5:7380", "for two logs, on a network"),
    ],
    arguments: |row| {
        let log =
            option("log", "KEY", "The public key of a log; once for each").required(true).action(ArgAction::Append);
        row.arg(option("state", "FOLDER", "Where its key and what it signed last are kept").required(true))
            .arg(log)
            .arg(option("listen", "ADDRESS", "Where it listens").default_value("127.0.0.1:7380"))
            .arg(option("name", "NAME", "The name in its key, when it is made").default_value("aops-witness.local"))
    },
    run: serve,
}];

const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_HEAD: u64 = 16 << 10;
const LONGEST_BODY: usize = 256 << 10;

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Some((verb, given)) = Command::find(VERBS, given) else { return Ok(2) };
    let name = format!("witness {}", verb.name);
    allowed(&name, who_may(&name), io)?;
    (verb.run)(given, io)
}

fn serve(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let logs = given.get_many::<String>("log").unwrap_or_default().map(|text| PublicKey::parse(text));
    let logs: Vec<PublicKey> = logs.collect::<Result<_, _>>().or_else(refused)?;
    let folder = io.env.from_here(Path::new(text(given, "state").unwrap_or_default()));
    let state = WitnessState::open(&folder, text(given, "name").unwrap_or_default(), logs)?;
    let address = text(given, "listen").unwrap_or_default();
    let listener = TcpListener::bind(address).with_context(|| format!("`{address}`"))?;
    let ([key, ml_dsa], address) = (state.keys().map(ToString::to_string), listener.local_addr()?);
    let value = json!({"key": key, "listens": address.to_string(), "ml_dsa": ml_dsa});
    io.answer(&value, format!("{key}\n{ml_dsa}\nlistens on http://{address}"))?;
    io.out.flush()?;
    let (state, env) = (Mutex::new(state), io.env);
    std::thread::scope(|scope| {
        for connection in listener.incoming().flatten() {
            let state = &state;
            // A silent connection delays no other: only judging is one at a time.
            scope.spawn(move || {
                let answered = answer(connection, |body| {
                    let state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    let answer = state.answer(env, body);
                    (answer.status(), answer.body())
                });
                drop(answered);
            });
        }
    });
    Ok(0)
}

/// One request on one connection.
fn answer(mut stream: TcpStream, judge: impl FnOnce(&str) -> (u16, String)) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, body) = match read(&stream) {
        Ok(Some(body)) => judge(&body),
        Ok(None) => (404, "only `POST /add-checkpoint` is answered here\n".to_owned()),
        Err(error) => (400, format!("{error}\n")),
    };
    let kind = if status == 409 { "text/x.tlog.size" } else { "text/plain; charset=utf-8" };
    let long = body.len();
    let head =
        format!("HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {long}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// The body; `None` where it is another question.
fn read(stream: &TcpStream) -> io::Result<Option<String>> {
    let odd = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut from = BufReader::new(stream);
    let (mut head, mut long) = (from.by_ref().take(LONGEST_HEAD), 0);
    let mut line = String::new();
    head.read_line(&mut line)?;
    let ours = line
        .strip_prefix("POST ")
        .and_then(|rest| rest.split(' ').next())
        .is_some_and(|path| path.ends_with("/add-checkpoint"));
    loop {
        line.clear();
        if head.read_line(&mut line)? == 0 {
            return Err(odd("the request ends in its head"));
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            long = value.trim().parse().map_err(|_| odd("the length is no number"))?;
        }
    }
    if long > LONGEST_BODY {
        return Err(odd("the request is too long"));
    }
    let mut body = vec![0; long];
    from.read_exact(&mut body)?;
    let text = String::from_utf8(body).map_err(|_| odd("the request is no text"))?;
    Ok(ours.then_some(text))
}
