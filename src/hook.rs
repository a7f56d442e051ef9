//! One event in, one answer out.
//!
//! Joins the floors and decides nothing. Invariant: every way out of here is an answer: a panic too, and what we could
//! not record we did not allow.

use crate::env::{Env, boot_id};
use crate::event::{Event, EventKind};
use crate::fact::{Blocked, Fact, Opened};
use crate::failure::{Code, Failure};
use crate::gate::{self, Scene, repeat};
use crate::heads;
use crate::ledger::Ledger;
use crate::place::Whose;
use crate::policy;
use crate::record;
use crate::verdict::Verdict;
use crate::wire::{answer, read};
use std::io::Read;
use std::mem::ManuallyDrop;

/// More than any real event, less than would hurt.
const LARGEST_INPUT: u64 = 64 << 20;

/// The hook: reads stdin, answers, returns the exit code.
pub fn run(name: &str, env: &Env) -> u8 {
    let kind = EventKind::of(name);
    answer_panics(kind);
    #[cfg(unix)]
    crate::signal::survive_file_size_limit();
    let said = match input().and_then(|input| walk(name, &input, env)) {
        Ok(verdict) => answer::spell(kind, &verdict),
        Err(failure) => answer::fail(kind, &failure),
    };
    answer::deliver(kind, &said)
}

/// The walk of one event, down the page of `lib.rs`.
fn walk(name: &str, input: &[u8], env: &Env) -> Result<Verdict, Failure> {
    let event = read::read(name, input)?;
    #[cfg(debug_assertions)]
    assert!(!crate::env::panic_wanted(), "a test asked for it");
    let whose =
        Whose { session_id: &event.session_id, transcript_path: &event.transcript_path, cwd: &event.cwd };
    // Never dropped: the process ends with the answer, and the system closes files and lock faster than we do.
    let mut ledger = ManuallyDrop::new(Ledger::lock(env, whose)?);
    let scene = scene(env, &ledger, &event)?;
    let session = ledger.session();
    let verdict = gate::judge(session, &event, &scene);
    if verdict == Verdict::pass()
        && let Some(same) = repeat::same_answer(session, &event)
    {
        ledger.append(env, Vec::new())?;
        return Ok(same);
    }
    let facts = facts(env, &ledger, &event, &verdict, &scene);
    ledger.append(env, facts)?;
    Ok(verdict)
}

/// What the gates may know, gathered before they decide; nothing that this event does not need.
fn scene(env: &Env, ledger: &Ledger, event: &Event) -> Result<Scene, Failure> {
    let session = ledger.session();
    let mut scene = Scene { folders: env.folders.iter().cloned().collect(), ..Scene::default() };
    if let Some(call) = event.call.as_ref().filter(|call| session.open_call(&call.key).is_none())
        && matches!(event.name.as_str(), "PreToolUse" | "PostToolUse" | "PostToolUseFailure")
        && !session.is_new()
    {
        scene.past = ledger.past_call(&call.key)?;
    }
    if event.name == "SessionStart" && session.is_new() {
        let project = ledger.project();
        let beside = heads::all(env)?.into_iter().filter(|head| head.blocked && head.project == project);
        scene.blocked_beside =
            beside.map(|head| (head.session_id, head.reason.unwrap_or_default())).collect();
    }
    Ok(scene)
}

/// The event's facts, with what only the edges know: the opening of a ledger, the boot, the policy in force.
fn facts(env: &Env, ledger: &Ledger, event: &Event, verdict: &Verdict, scene: &Scene) -> Vec<Fact> {
    let session = ledger.session();
    let mut facts = record::facts(session, event, verdict, scene);
    let policy = matches!(event.name.as_str(), "SessionStart" | "UserPromptSubmit") || session.is_new();
    let policy_hash = if policy { policy::hash(env, &event.cwd) } else { String::new() };
    if let Some(Fact::Event(seen)) = facts.last_mut() {
        if event.name == "SessionStart" {
            (seen.boot, seen.folders) = (Some(boot_id()), Some(scene.folders.clone()));
        }
        seen.policy_hash = (policy && policy_hash != session.state.policy_hash && !session.is_new())
            .then(|| policy_hash.clone());
    }
    if session.is_new() {
        facts.insert(0, Fact::Open(opened(env, ledger.project(), scene, policy_hash)));
        if event.source == "fork" {
            facts.extend(scene.blocked_beside.first().map(|(id, reason)| {
                Fact::Block(Blocked { by: format!("fork of blocked session {id}"), reason: reason.clone() })
            }));
        }
    }
    facts
}

/// The first entry of a ledger.
pub fn opened(_env: &Env, project: String, scene: &Scene, policy_hash: String) -> Opened {
    Opened {
        binary: env!("CARGO_PKG_VERSION").to_owned(),
        boot: boot_id(),
        folders: scene.folders.clone(),
        format: 1,
        policy_hash,
        previous: None,
        project,
    }
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

/// The hook runs under `panic = "abort"` too; what it must not do is let the process die with another code.
fn answer_panics(kind: &'static EventKind) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        let failure = Failure::new(Code::Panic, format!("a bug in aops-hook{place}"));
        let code = answer::deliver(kind, &answer::fail(kind, &failure));
        #[expect(clippy::exit, reason = "a panic must end in an answer, not in an abort")]
        std::process::exit(code.into());
    }));
}
