//! One event in, one answer out.
//!
//! Reads stdin, writes stdout and stderr through the wire. Decides nothing itself. Invariants: every exit is
//! an answer, even a panic; a call that could not be recorded was not allowed.

mod identity;
mod late;
mod work;
mod words;
mod renewal;
mod turn;
mod completing;
mod observing;
mod keeping;
mod quiet;
mod cap;
mod afterwards;
mod spool;

pub use turn::first_entry;
pub use words::judge;

use crate::config::texts::Reading;
use crate::host;
use crate::host::claude::wire::{answer, read};
use crate::jail::enter;
use crate::jail::network;
use crate::jail::plan::{Ground, GroundNetwork};
use crate::model::client::Client;
use crate::model::error::{Code, Failure};
use crate::model::event::EventKind;
use crate::model::verdict::Verdict;
use crate::system::env::Env;
use crate::system::process::kin;
use std::io::Read;
use std::path::Path;
use turn::Turn;

/// Far larger than any real event.
const LARGEST_INPUT: u64 = 64 << 20;

/// The hook: reads stdin, answers, returns the exit code. Without a name, the payload says which event it is:
/// some clients run a hook without its arguments. If the caller is neither registered by name nor Claude
/// Code, the event passes.
pub fn run(name: Option<&str>, env: &Env) -> u8 {
    answer_panics(env.host, name.map_or(EventKind::Other, EventKind::of));
    let input = input();
    if !env.host.is_registered_by_name()
        && !env.client.is_claude
        && !input.as_ref().is_ok_and(|input| read::is_claudes(input))
    {
        return answer::deliver(EventKind::Other, &answer::stand_aside());
    }
    if host::is_told_twice(env) {
        return answer::deliver(EventKind::Other, &answer::Answer::default());
    }
    let said = input.as_ref().ok().filter(|_| name.is_none()).and_then(|input| read::name(input));
    let Some(name) = name.or(said.as_deref()) else {
        let none = Failure::new(Code::InputInvalid, "called without an event, and none can be read on stdin");
        return answer::deliver(EventKind::Other, &answer::fail_unnamed(&input.err().unwrap_or(none)));
    };
    let kind = EventKind::of(name);
    answer_panics(env.host, kind);
    let said = match &input {
        Ok(input) => match walk(name, input, env).map_err(|failure| kept(name, input, env, failure)) {
            Ok(verdict) => host::spell(env.host, kind, &verdict, input),
            Err(failure) => host::fail(env.host, kind, &failure),
        },
        Err(failure) => host::fail(env.host, kind, failure),
    };
    let code = answer::deliver(kind, &said);
    if let Some(trial) = env.told.trial.get() {
        // If this fails, the command makes its own jail.
        let ground = || {
            let ground = Ground { layer_mb: trial.layer_mb, ..Ground::here(env, &trial.project) };
            let shut = trial.network.as_ref().and_then(|network| network::shut_for_trial(network, &ground));
            let network = GroundNetwork { shut, ..ground.network.clone() };
            Ground { network, ..ground }
        };
        let _ = enter::prepare(&trial.session, env.jail_patience(), ground);
    }
    code
}

/// The same for a client that was registered by this name. For an unknown client the event passes.
pub fn run_for(client: &str, name: &str, env: Env) -> u8 {
    match Client::of(client) {
        None => answer::deliver(EventKind::Other, &answer::stand_aside()),
        Some(host) if host.is_registered_by_name() => {
            let process = kin::named_above(host.name());
            run(Some(name), &env.of_host(host, process))
        }
        Some(_) => run(Some(name), &env),
    }
}

/// Spools an event that cannot be recorded now and that the client will not send again.
fn kept(name: &str, input: &[u8], env: &Env, failure: Failure) -> Failure {
    let keeps = spool::keeps(EventKind::of(name), &failure) && !env.dry_run;
    if keeps { spool::keep(env, name, input, failure) } else { failure }
}

/// The verdict on one event, which is recorded. In a dry run the verdict is the same and nothing is written.
pub fn walk(name: &str, input: &[u8], env: &Env) -> Result<Verdict, Failure> {
    let event = host::read(env.host, name, input)?;
    #[cfg(test_switches)]
    crate::system::env::panic_if_wanted();
    let owed = if env.dry_run { None } else { spool::fold_in(env, &event)? };
    let reading = Reading::new(env, Path::new(&event.cwd));
    let mut turn = Turn::open(&reading, &event)?;
    turn.late.debts = owed;
    let turn = cap::hold(turn.judge()?);
    let turn = turn.answer().keep().say()?;
    let turn = turn.record()?;
    if event.kind() == EventKind::SessionStart && !env.dry_run {
        spool::reserve::set_aside(env);
    }
    turn.afterwards()
}

fn input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LARGEST_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|e| Failure::new(Code::InputInvalid, format!("the event could not be read: {e}")))?;
    if bytes.len() as u64 > LARGEST_INPUT {
        return Err(Failure::new(Code::InputInvalid, "the event is larger than 64 MiB"));
    }
    Ok(bytes)
}

/// Answers a panic like any other failure. Works with `panic = "abort"`, too.
fn answer_panics(client: Client, kind: EventKind) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        let failure = Failure::new(Code::Panic, format!("a bug in aops-hook{place}"));
        let code = answer::deliver(kind, &host::fail(client, kind, &failure));
        #[expect(clippy::exit, reason = "a panic must end in an answer, not in an abort")]
        std::process::exit(code.into());
    }));
}
