//! `run --on fleet`: submits runs to the engine's gateway and waits for them to end; and answers their
//! questions.
//!
//! Asks the gateway. Invariants: what can be refused is refused here, before anything is sent; breaking off
//! the wait does not affect the run.

use crate::cli::table::Cell;
use crate::cli::{Io, complain, policy_here, refused, text};
use crate::remote::asked::PROTOCOL;
use crate::remote::copy;
use crate::remote::gateway::{Gateway, TOKEN, words_of};
use crate::run::attempt::RunOutcome;
use crate::run::driver::{RunRequest, check_request, make_run_id};
use crate::run::fleet::Order;
use aops_core::system::signal;
use aops_core::text::redact::redact;
use aops_core::text::template::one_line;
use aops_core::text::time::{self, age};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

const ASK_AGAIN: Duration = Duration::from_secs(2);
/// With the pause between tries, about as long as people take to notice that a token was replaced.
const MOST_REFUSALS: u32 = 150;

const SECRET: &str = "the user and password in the address of the remote were left out\nhint: a worker \
    reaches it with a credential helper of its own (`git help credentials`)";

/// The gateway, if one is configured.
pub(super) fn gateway(io: &Io) -> anyhow::Result<Option<Gateway>> {
    let engine = policy_here(io)?.policy.fleet.engine;
    engine.map(|url| Gateway::find(io.env, &url, TOKEN)).transpose().or_else(refused)
}

/// The gateway, which must be configured.
pub(super) fn wanted(io: &Io) -> anyhow::Result<Gateway> {
    gateway(io)?.map_or_else(no_engine, Ok)
}

pub(super) fn no_engine<T>() -> anyhow::Result<T> {
    refused("no engine is configured\nhint: set `fleet.engine` to the address of its gateway")
}

/// The labels that were asked for, which may be several with commas between.
fn labels(given: &ArgMatches) -> Vec<String> {
    let words = given.get_many::<String>("label").into_iter().flatten().flat_map(|words| words.split(','));
    words.map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Submits each task, then waits for all of them. Returns the worst exit code.
pub(in crate::cli) fn submit(
    given: &ArgMatches,
    io: &mut Io,
    request: &RunRequest,
    tasks: &[String],
) -> anyhow::Result<u8> {
    let mut gateway = wanted(io)?;
    let labels = labels(given);
    let mut sent = Vec::new();
    for task in tasks {
        let task = task.trim().to_owned();
        if task.is_empty() {
            return refused("a run needs a task\nhint: say what to do");
        }
        let (root, request) = check_request(io.env, &RunRequest { task, ..request.clone() })?;
        let origin = copy::origin(&io.env.driving(), &root).or_else(refused)?;
        let id = make_run_id(io.env)?;
        let run = RunRequest { run_id: Some(id.clone()), ..request };
        let copy::Origin { commit, folder, repository, has_secret } = origin;
        let run = Order { commit, folder, repository, run };
        let order = json!({"protocol": PROTOCOL, "labels": labels, "who": "", "run": run});
        match gateway.ask(&id, "", &order).or_else(refused)? {
            (200 | 202, _) => {}
            (status, said) => return refused(words_of(status, &said)),
        }
        let note = if has_secret { format!("\n{SECRET}") } else { String::new() };
        let told = json!({"event": "submitted", "run_id": id, "left_out_secret": has_secret});
        say(io, &told, &format!("run {id} is submitted{note}"))?;
        sent.push(id);
    }
    let mut worst = 0;
    for id in sent {
        worst = worst.max(wait(io, &mut gateway, &id)?);
    }
    Ok(worst)
}

fn say(io: &mut Io, event: &Value, words: &str) -> anyhow::Result<()> {
    if io.json || !io.terminal {
        writeln!(io.out, "{event}")?;
    } else {
        writeln!(io.out, "{words}")?;
    }
    Ok(io.out.flush()?)
}

/// Waits until the run is over, and shows its questions in the meantime.
fn wait(io: &mut Io, gateway: &mut Gateway, id: &str) -> anyhow::Result<u8> {
    let mut told = Value::Null;
    let mut refusals = 0;
    signal::note_interrupts();
    while !signal::interrupted() {
        match gateway.ask(id, "/wait", &Value::Null) {
            Ok((202, _)) => refusals = 0,
            Ok((200, end)) => return finish(io, id, &end["outcome"], &end["reason"], &end["delivered"]),
            Ok((409, said)) => return finish(io, id, &json!("BLOCKED"), &said["message"], &Value::Null),
            // The run continues even if our token is refused; a new token may soon replace it.
            Ok((status, said)) if status < 500 => {
                refusals += 1;
                if refusals > MOST_REFUSALS {
                    let words = words_of(status, &said);
                    return refused(format!("run {id} is still going, but waiting for it failed: {words}"));
                }
                thread::sleep(ASK_AGAIN);
                if let Ok(Some(fresh)) = self::gateway(io) {
                    *gateway = fresh;
                }
            }
            // A gateway that is down comes back.
            Ok(_) | Err(_) => thread::sleep(ASK_AGAIN),
        }
        let Ok((200, standing)) = gateway.ask(id, "/status", &Value::Null) else { continue };
        if standing["about"].is_string() && standing["about"] != told {
            told = standing["about"].clone();
            let question = redact(standing["question"].as_str().unwrap_or_default()).into_owned();
            let words =
                format!("run {id} asks: {question}\nhint: `aops-hook fleet approve {id}` or `reject`");
            say(io, &json!({"event": "asks", "run_id": id, "question": question, "about": told}), &words)?;
        }
    }
    refused(format!(
        "run {id} continues without you\nhint: `aops-hook fleet approve {id}` answers what it asks"
    ))
}

fn finish(io: &mut Io, id: &str, outcome: &Value, reason: &Value, delivered: &Value) -> anyhow::Result<u8> {
    let outcome = outcome.as_str().and_then(RunOutcome::of).unwrap_or(RunOutcome::Blocked);
    let name = outcome.name();
    let exit = outcome.exit();
    let words = format!("{name}: {}", reason.as_str().unwrap_or_default());
    let line = json!({
        "run_id": id, "outcome": name, "reason": reason, "exit": exit, "packet": null,
        "delivered": delivered, "resumed": false
    });
    say(io, &line, &words)?;
    if exit != 0 {
        complain(&format!("run {id} {words}"), exit);
    }
    Ok(exit)
}

/// Whether the engine has such a run.
pub(super) fn knows(gateway: &Gateway, id: &str) -> bool {
    matches!(gateway.ask(id, "/status", &Value::Null), Ok((200, standing)) if standing.is_object())
}

/// Part of the message about a run whose machine does not answer.
const LATER: &str = "its copy ends by";

/// Ends a run. Returns when nothing of it is left, or says by when that will be.
pub(super) fn block(gateway: &Gateway, id: &str) -> anyhow::Result<Option<String>> {
    match gateway.ask(id, "/block", &Value::Null).or_else(refused)? {
        // The end of a cancelled run.
        (200 | 202 | 409, said) => {
            let words = said["message"].as_str().filter(|words| words.contains(LATER));
            Ok(words.map(|words| one_line(words, 300)))
        }
        (status, said) => refused(words_of(status, &said)),
    }
}

/// Takes the step of a run from its machine, so that it begins again on another one.
pub(super) fn release(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let id = text(given, "id").unwrap_or_default();
    match wanted(io)?.ask(id, "/release", &Value::Null).or_else(refused)? {
        (200, _) => io.answer(
            &json!({"id": id, "released": true}),
            format!("{id}: its step begins anew on another machine"),
        ),
        (status, said) => refused(words_of(status, &said)),
    }
}

/// What runs and sessions ask at the engine.
pub(super) fn asking(gateway: &Gateway) -> anyhow::Result<Vec<Value>> {
    let all = gateway.list("runs").or_else(refused)?;
    Ok(all.as_array().into_iter().flatten().filter(|run| run["state"] == "asks").cloned().collect())
}

/// Its id, age, repository and question.
pub(super) fn question(io: &Io, run: &Value) -> [String; 4] {
    [said(run, "run_id"), age_of(io, run), said(run, "repository"), said(run, "question")]
}

/// The runs that the engine knows, the most recently changed first.
pub(in crate::cli) fn runs(io: &mut Io) -> anyhow::Result<u8> {
    let all = wanted(io)?.list("runs").or_else(refused)?;
    if io.json {
        return io.print(all);
    }
    let runs = all.as_array().into_iter().flatten();
    let row = |run: &Value| {
        let more = ["waits_for", "question", "reason"].map(|name| said(run, name));
        let more = more
            .iter()
            .find(|words| !words.is_empty())
            .map(|words| format!(" ({words})"))
            .unwrap_or_default();
        let words = said(run, "task") + &more;
        [
            said(run, "run_id"),
            said(run, "state"),
            said(run, "outcome"),
            age_of(io, run),
            said(run, "machine"),
            words,
        ]
    };
    let rows = runs.map(row).map(|row| row.map(Cell::from)).collect();
    io.table(["run", "state", "outcome", "changed", "machine", "task"], rows)
}

fn said(run: &Value, name: &str) -> String {
    one_line(&redact(run[name].as_str().unwrap_or_default()), 300)
}

fn age_of(io: &Io, run: &Value) -> String {
    let since = time::parse(run["since"].as_str().unwrap_or_default());
    since.map(|since| age(io.env.now_ms - since)).unwrap_or_default()
}

/// A person's answer to the run's present question.
pub(super) fn answer(gateway: &Gateway, id: &str, approve: bool, note: Option<&str>) -> anyhow::Result<()> {
    let (status, standing) = gateway.ask(id, "/status", &Value::Null).or_else(refused)?;
    let about = &standing["about"];
    if status != 200 || !about.is_string() {
        return refused(format!(
            "run {id} asks nothing\nhint: `aops-hook run --on fleet` waits and says what it asks"
        ));
    }
    let body = json!({"about": about, "approve": approve, "note": note});
    match gateway.ask(id, "/answer", &body).or_else(refused)? {
        (200 | 202, _) => Ok(()),
        (status, said) => refused(words_of(status, &said)),
    }
}
