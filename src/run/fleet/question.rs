//! Waits at the engine for the answers to this machine's sessions, and carries them out.
//!
//! Asks the gateway; starts clients. Invariants: an answer counts for the digest of the very call, and only
//! if a trusted gateway signed it; the call is made once; one process waits at a time; a question is
//! forgotten only when nothing is left to do.

use super::session;
use super::stop::{Answered, Left};
use crate::remote::asked::{self, Pending, digest};
use crate::remote::database;
use crate::remote::gateway::{Gateway, TOKEN, words_of};
use aops_core::system::env::Env;
use aops_core::system::{files, signal};
use aops_core::text::json::cut;
use aops_core::text::redact::redact;
use aops_remote::signed::Trusted;
use serde_json::{Value, json};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::Duration;

const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How long to rest while the gateway does not answer.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Waits until a signal asks it to end, or with `once` until no question is left. `left` gets how each one
/// ended.
pub fn wait(
    env: &Env,
    url: &str,
    trusted: &Trusted,
    once: bool,
    mut left: impl FnMut(&str, &Left),
) -> Result<(), String> {
    let env = &env.driving();
    let _alone = alone(env)?;
    let machine = database::machine(env).map_err(|error| error.to_string())?;
    let mut pause = LOOK_AGAIN;
    while !signal::interrupted() {
        let waiting = asked::pending(env);
        if waiting.is_empty() && once {
            break;
        }
        let gateway = if waiting.is_empty() { None } else { Some(Gateway::find(env, url, TOKEN)?) };
        let mut is_up = true;
        for pending in &waiting {
            match gateway.as_ref().map(|gateway| look(gateway, pending, &machine, trusted)) {
                Some(Ok(Some(Said::Unsigned(words)))) => {
                    ask_again(env, pending, pending.question.clone());
                    left(&pending.id(), &Left::Asks(words));
                    is_up = false;
                }
                Some(Ok(Some(Said::Answer(decision)))) => match carry_out(env, pending, &decision) {
                    Some(how) => left(&pending.id(), &how),
                    None => is_up = false,
                },
                Some(Err((401 | 403, words))) => return Err(words),
                Some(Err(_)) => is_up = false,
                _ => {}
            }
        }
        pause = if is_up { LOOK_AGAIN } else { (pause * 2).min(LONGEST_PAUSE) };
        // With one question the gateway's answer is what we wait for.
        if waiting.len() != 1 || !is_up {
            rest(pause);
        }
    }
    Ok(())
}

fn alone(env: &Env) -> Result<File, String> {
    let folder = asked::folder(env);
    let at = |error: std::io::Error| format!("`{}`: {error}", folder.display());
    files::make_folders(&folder, 0o700).map_err(at)?;
    let options = &mut File::options();
    let file =
        files::open_itself(folder.join("lock"), options.append(true).create(true).mode(0o600)).map_err(at)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err("another `aops-hook fleet wait` waits for this machine already".to_owned()),
    }
}

fn rest(time: Duration) {
    const SLICE: Duration = Duration::from_millis(100);
    let mut left = time;
    while !left.is_zero() && !signal::interrupted() {
        thread::sleep(SLICE.min(left));
        left = left.saturating_sub(SLICE);
    }
}

/// What came of a question.
enum Said {
    Answer(Value),
    /// Nobody who is trusted gave it, so it is asked again.
    Unsigned(String),
}

/// The answer, if there is one, or the status and the reason of a refusal. The gateway holds the request open
/// for a while.
fn look(
    gateway: &Gateway,
    pending: &Pending,
    machine: &str,
    trusted: &Trusted,
) -> Result<Option<Said>, (u16, String)> {
    let id = pending.id();
    let ask = |verb: &str, body: &Value| gateway.ask(&id, verb, body).map_err(|words| (0, words));
    match ask("/wait", &Value::Null)? {
        (202, _) => Ok(None),
        (200, decision) => Ok(Some(match trusted.check(&id, &decision) {
            Ok(()) => Said::Answer(decision),
            Err(words) => Said::Unsigned(words),
        })),
        // A person ended it: no answer, and the call is not made.
        (409, said) => Ok(Some(Said::Answer(json!({"message": said["message"]})))),
        // The engine does not know it yet, or not any more.
        (404, _) => match ask("", &pending.order(machine))? {
            (200 | 202, _) => Ok(None),
            (status, said) => Err((status, words_of(status, &said))),
        },
        (status, said) => Err((status, words_of(status, &said))),
    }
}

/// The same question under a new name.
fn ask_again(env: &Env, pending: &Pending, question: String) {
    let again = Pending { question, tries: pending.tries + 1, ..pending.clone() };
    let _ = again.keep(env);
}

/// Does what the answer says, if it is for exactly this call. `None`: the session cannot be read now.
fn carry_out(env: &Env, pending: &Pending, decision: &Value) -> Option<Left> {
    let text = |name: &str| decision[name].as_str().map(|text| cut(&redact(text), 1000).to_owned());
    let asked = &pending.asked;
    let open = session::look(&session::place(env, asked), asked).ok()?;
    let is_same = open.is_none_or(|open| digest(asked, &open) == pending.digest);
    let is_meant = text("about").is_none_or(|about| about == pending.digest);
    let approve = decision["approve"] == true && text("about").is_some() && is_meant && is_same;
    let answered = Answered {
        approve,
        about: asked.call.clone(),
        who: text("who").unwrap_or_else(|| "a person at the gateway".to_owned()),
        at: text("at").unwrap_or_default(),
        note: text("note").or_else(|| text("message")),
    };
    let left = session::go_on(env, asked, Some(&answered)).left;
    if let Left::Asks(question) = &left {
        ask_again(env, pending, redact(question).into_owned());
    } else {
        pending.forget(env);
    }
    Some(left)
}
