//! One event in, one answer out.
//!
//! Joins the floors and decides nothing. Invariant: every way out of here is an answer: a panic too, and what we could
//! not record we did not allow.

use crate::briefing::agent::halt_report;
use crate::briefing::prompt::offer;
use crate::briefing::refresh;
use crate::briefing::{self, reflections};
use crate::checkpoint;
use crate::checkpoint::rollback::Before;
use crate::claude::wire::{answer, read};
use crate::config::in_force;
use crate::config::policy::Policy;
use crate::config::texts;
use crate::gate::facts;
use crate::gate::{self, Context, repeat};
use crate::insight::collect;
use crate::ledger::open::Ledger;
use crate::ledger::session_folder::SessionKey;
use crate::model::error::{Code, Failure};
use crate::model::event::{Event, EventKind};
use crate::model::verdict::{Ruling, Verdict};
use crate::observe::checks::About;
use crate::observe::{self, real_paths};
use crate::session::agent_report::AgentReport;
use crate::session::fact::{Blocked, Fact, Opened};
use crate::session::fold::Session;
use crate::system::env::{Env, boot_id};
use crate::system::git;
use std::io::Read;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::time::{Duration, Instant};

/// More than any real event, less than would hurt.
const LARGEST_INPUT: u64 = 64 << 20;

/// How long the transcript may be read: the host gives the end of a session 1.5 s in all.
const AT_THE_END: Duration = Duration::from_millis(700);
const AT_A_STOP: Duration = Duration::from_secs(8);

/// In the place of the tracker's program: there is none, and nobody looks for one.
const NO_TRACKER: &str = "none";

/// The hook: reads stdin, answers, returns the exit code.
pub fn run(name: &str, env: &Env) -> u8 {
    let kind = EventKind::of(name);
    answer_panics(kind);
    let said = match input().and_then(|input| walk(name, &input, env)) {
        Ok(verdict) => answer::spell(kind, &verdict),
        Err(failure) => answer::fail(kind, &failure),
    };
    answer::deliver(kind, &said)
}

/// The walk of one event, down the page of `lib.rs`. In a dry world the answer is the same and nothing is written.
pub fn walk(name: &str, input: &[u8], env: &Env) -> Result<Verdict, Failure> {
    let event = read::read(name, input)?;
    #[cfg(debug_assertions)]
    crate::system::env::panic_if_wanted();
    let whose = SessionKey {
        session_id: &event.session_id,
        transcript_path: &event.transcript_path,
        cwd: &event.cwd,
    };
    let thorough = matches!(event.name.as_str(), "SessionStart" | "UserPromptSubmit");
    let mut checks = Vec::new();
    let (mut ledger, context, begins, before, verdict) = loop {
        let mut ledger = Ledger::lock(env, whose, thorough)?;
        if ledger.session().memory.undoing.is_some() && !env.dry_run {
            checkpoint::rollback::resume(env, &mut ledger)?;
        }
        let before = Before::of(ledger.session());
        let context = Context { checks: checks.clone(), ..observe::call::look(env, &ledger, &event)? };
        let begins = ledger.session().is_new();
        if begins {
            open(env, &mut ledger, &event, &context)?;
        }
        let verdict = judged(env, ledger.session(), &event, &context)?;
        let wanted = gate::checks::wanted(ledger.session(), &event, &context, &verdict);
        if wanted.is_empty() || env.dry_run {
            let verdict = wanted.iter().fold(verdict, |verdict, check| {
                verdict.join(Verdict::notice("checks", format!("check `{}` would be run first", check.id)))
            });
            // Never dropped: the process ends with the answer, and the system closes files and lock faster than we do.
            break (ManuallyDrop::new(ledger), context, begins, before, verdict);
        }
        // A check takes its time, so nobody else has to wait for it; what it found is judged with what is known then.
        let about = About::of(ledger.session(), &event, &context);
        drop(ledger);
        checks.extend(observe::checks::run(env, &about, &wanted));
    };
    let session = ledger.session();
    if verdict == Verdict::pass()
        && let Some(same) = repeat::same_answer(session, &event)
    {
        ledger.append(env, Vec::new())?;
        return Ok(same);
    }
    let mut verdict = offer(env, &ledger, &event, &context, verdict)?;
    if event.name == "SessionStart" {
        briefing::session_start::export(env, &ledger)?;
        if ledger.session().blocked().is_none() {
            let words = briefing::session_start::context(env, ledger.session(), &event, &context)?;
            verdict = verdict.join(Verdict::context("hydrate", words));
        }
    }
    let (mut verdict, told) = checkpoint::rollback::tell(ledger.session(), &event, verdict);
    let mut facts = facts(env, ledger.session(), &event, &verdict, &context, begins)?;
    facts.extend(told);
    let blocked = facts.iter().any(|fact| matches!(fact, Fact::Block(_)));
    let reflected = facts.iter().find_map(reflection);
    ledger.append(env, facts)?;
    if blocked {
        halt_report(env, &ledger, &event)?;
    }
    ledger.exported()?;
    // One that came too early does not count, and teaches nothing.
    let counts =
        !env.dry_run && ledger.session().memory.progress.reflected && tracker_of(ledger.session()).is_some();
    if let Some(finding) = reflected.filter(|_| counts) {
        // The reflection is in the ledger; a queue that takes nothing more is told by the next context.
        let project = texts::project(env, Path::new(&event.cwd));
        let _ = reflections::reflected(env, &project, &ledger.session().state.session_id, &finding);
    }
    if !env.dry_run && concludes(&event, &verdict) {
        verdict = verdict.join(conclude(env, &mut ledger, &event));
    }
    ledger.exported()?;
    if !env.dry_run && wants_refresh(&event, &context) {
        look_at_tracker(env, ledger.session(), &event);
    }
    // A run keeps checkpoints around its steps by itself.
    if context.stage.is_some() {
        return Ok(verdict);
    }
    Ok(verdict.join(checkpoint::rollback::at_phase_change(env, &mut ledger, &event, before)))
}

/// A turn or the session is over.
fn concludes(event: &Event, verdict: &Verdict) -> bool {
    let over = matches!(event.name.as_str(), "Stop" | "StopFailure" | "SessionEnd");
    over && verdict.ruling != Ruling::Deny
}

/// The session's insights. Without them the turn ends all the same, and the user is told.
fn conclude(env: &Env, ledger: &mut Ledger, event: &Event) -> Verdict {
    let patience = if event.name == "SessionEnd" { AT_THE_END } else { AT_A_STOP };
    let transcript = Path::new(&event.transcript_path);
    match collect::conclude(env, ledger, transcript, Some(Instant::now() + patience)) {
        Ok(_) => Verdict::pass(),
        Err(failure) => Verdict::notice(
            "insights",
            format!(
                "the insights were not written: {failure}\nhint: once that is mended, `aops-hook insights` writes them"
            ),
        ),
    }
}

/// In a process of its own. A tracker that cannot be asked is one line in the next context, and no trouble here.
fn look_at_tracker(env: &Env, session: &Session, event: &Event) {
    if let Some(command) = tracker_of(session) {
        let _ = refresh::spawn(env, &texts::project(env, Path::new(&event.cwd)), &command);
    }
}

fn tracker_of(session: &Session) -> Option<String> {
    Some(session.policy().tracker.command).filter(|command| command != NO_TRACKER)
}

/// A reflection that counts.
fn reflection(fact: &Fact) -> Option<AgentReport> {
    let Fact::Verdict(report) = fact else { return None };
    report.finding.clone().filter(|finding| !report.sent_on && !finding.reflection.is_empty())
}

/// The tracker may say something else now: a session began or a turn ended, or somebody just talked to it.
fn wants_refresh(event: &Event, context: &Context) -> bool {
    matches!(event.name.as_str(), "SessionStart" | "Stop") || context.tracked
}

/// What the gates say together, in words.
pub fn judged(env: &Env, session: &Session, event: &Event, context: &Context) -> Result<Verdict, Failure> {
    worded(env, gate::judge(session, event, context))
}

/// Shipped texts in the place of their names.
fn worded(env: &Env, mut verdict: Verdict) -> Result<Verdict, Failure> {
    let Some(mut phrase) = verdict.phrase.take() else { return Ok(verdict) };
    let mut lines = Vec::new();
    for debt in &verdict.debts {
        let line = debt.line.fill(&texts::template(env, debt.line.template)?);
        lines.push(format!("{}. {line}", lines.len() + 1));
    }
    if !lines.is_empty() {
        phrase.values.push(("owed", lines.join("\n")));
    }
    let text = phrase.fill(&texts::template(env, phrase.template)?);
    if verdict.softened {
        verdict.notice = format!("not enforced here, or this would be refused: {text}");
    } else if verdict.ruling == Ruling::Pass {
        verdict.notice = text;
    } else {
        verdict.reason = text;
    }
    Ok(verdict)
}

/// Begins the ledger before anything is judged: a block that outlived its ledger, or that a fork inherits, binds at once.
fn open(env: &Env, ledger: &mut Ledger, event: &Event, context: &Context) -> Result<(), Failure> {
    let opened = opened(env, Path::new(&event.cwd), ledger.project())?;
    let inherited = context.blocked_beside.first().filter(|_| event.source == "fork").map(|(id, reason)| {
        Fact::Block(Blocked { by: format!("fork of blocked session {id}"), reason: reason.clone() })
    });
    ledger.append(env, [Fact::Open(opened)].into_iter().chain(inherited).collect())
}

/// The first entry of a ledger that begins now, in this folder.
pub fn opened(env: &Env, cwd: &Path, project: String) -> Result<Opened, Failure> {
    let (policy, policy_hash) = policy(env, cwd)?;
    Ok(Opened {
        binary: env!("CARGO_PKG_VERSION").to_owned(),
        boot: boot_id(),
        folders: env.folders.iter().cloned().collect(),
        format: 1,
        policy,
        policy_hash,
        previous: None,
        project,
    })
}

/// The event's facts, with what only the edges know: the boot, the folders, the policy in force.
fn facts(
    env: &Env,
    session: &Session,
    event: &Event,
    verdict: &Verdict,
    context: &Context,
    begins: bool,
) -> Result<Vec<Fact>, Failure> {
    let mut facts = facts::facts(session, event, verdict, context);
    let Some(Fact::Event(seen)) = facts.iter_mut().find(|fact| matches!(fact, Fact::Event(_))) else {
        return Ok(facts);
    };
    if event.name == "SessionStart" {
        (seen.boot, seen.folders) = (Some(boot_id()), Some(context.folders.clone()));
        seen.root = Some(texts::project(env, Path::new(&event.cwd)).display().to_string());
        let protected = observe::call::protected(env, event);
        (seen.marks, seen.held) =
            (Some(observe::call::marks(&protected)), Some(observe::call::held(&protected)));
        seen.linked = Some(real_paths::links(&protected)).filter(|linked| !linked.is_empty());
        if session.memory.baseline.is_empty() {
            seen.baseline = git::baseline(env, Path::new(&event.cwd));
        }
    }
    // A session that has just begun has its policy already.
    if matches!(event.name.as_str(), "SessionStart" | "UserPromptSubmit") && !begins {
        let (policy, hash) = policy(env, Path::new(&event.cwd))?;
        if hash != session.state.policy_hash {
            (seen.policy, seen.policy_hash) = (policy, Some(hash));
        }
    }
    Ok(facts)
}

/// What is in force, kept so that a later one can be compared with it: the configuration where it is not the shipped
/// one, and the hash of it all.
fn policy(env: &Env, cwd: &Path) -> Result<(Option<Box<Policy>>, String), Failure> {
    let in_force = in_force::load(env, cwd)?;
    if !env.dry_run {
        in_force.keep(env)?;
    }
    let policy = Some(in_force.policy).filter(|policy| *policy != Policy::default());
    Ok((policy.map(Box::new), in_force.hash))
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
