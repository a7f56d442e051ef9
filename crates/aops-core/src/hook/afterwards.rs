//! Runs the tasks that follow an event once it is recorded.
//!
//! Writes the halt report, reflections for the tracker, learnings for the memory, insights and checkpoints;
//! starts the tracker's refresh; signs the log. Invariant: all of it ends within the time for which an event
//! may keep the session locked.

use super::turn::Turn;
use crate::briefing::agent::halt_report;
use crate::briefing::learnings::{self, Learning};
use crate::briefing::{reflections, refresh};
use crate::checkpoint;
use crate::config::policy::Policy;
use crate::config::policy::network::NetworkMode;
use crate::gate::jail::runs_shell;
use crate::gate::{is_busy, lease};
use crate::insight::collect;
use crate::jail::network::Runs;
use crate::jail::{enter, network};
use crate::ledger::{leases, recent};
use crate::model::error::Failure;
use crate::model::event::EventKind;
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::profile::{Hold, Profile};
use crate::model::verdict::{Ruling, Verdict};
use crate::observe::{hosts, keeping};
use crate::proof::unheld::Commands;
use crate::proof::{append, life};
use crate::session::fact::{Fact, NetworkChange, NetworkChanged, Reached, Reported, Step};
use crate::session::memory::OpenCall;
use crate::system::env::{Env, Trial};
use crate::system::files::make_all;
use crate::system::fleet_home;
use crate::text::plain::count;
use crate::undo::retain::Retained;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// The workflow whose result is context and therefore remembered.
const BOOTSTRAP: &str = "context-bootstrap";

/// The danger rule for reading secrets.
const SECRET: &str = "secret-file";

/// When a task applies, and the task. The event is already recorded, so a failure only becomes a notice in
/// the answer.
type Follows = (fn(&Turn) -> bool, fn(&mut Turn) -> Verdict);

/// This many rows from the top also follow an event that is recorded late.
const LATE: usize = 7;

static FOLLOWS: &[Follows] = &[
    (starts_session, note_start),
    (starts_session, tend_kept),
    (ends_session, end_trials),
    (settles_calls, part_kept),
    (gives_back, give_back),
    (is_blocked, write_halt_report),
    (may_reflect, queue_reflection),
    (ends_turn, conclude),
    // A run takes checkpoints around its steps itself.
    (|turn| turn.context.stage.is_none(), keep_checkpoint),
    (|turn| ends_turn(turn) || is_blocked(turn) && !turn.env.dry_run || starts_unheld(turn), sign),
    (wants_attestation, attest_behind),
    // After signing, so that the witnesses see what was signed.
    (wants_refresh, refresh_behind),
    (lets_try, want_jail),
    (wants_network, start_network),
    (wants_hosts, note_wanted),
    (judges_hosts, follow_reading),
];

impl Turn<'_> {
    /// Runs the tasks that apply, in the order of the table, and returns the answer. It is an error if a head
    /// could not be exported.
    pub(super) fn afterwards(mut self: Box<Self>) -> Result<Verdict, Failure> {
        // The head after the event itself; further down, the head after the insights.
        self.ledger.exported()?;
        for (applies, follow) in FOLLOWS {
            if applies(&self) {
                let more = follow(&mut self);
                self.add(more);
            }
        }
        self.ledger.exported()?;
        Ok(self.keep_learnings())
    }

    /// Ends an event that was recorded late, and passes the lock on to the next one.
    pub(super) fn close(mut self: Box<Self>) -> Result<Verdict, Failure> {
        for (applies, follow) in &FOLLOWS[..LATE] {
            if applies(&self) {
                follow(&mut self);
            }
        }
        let exported = self.ledger.exported();
        let learnings = self.learnings();
        let (policy, project) = self.of_project();
        drop(ManuallyDrop::into_inner(self.ledger));
        let verdict = self.verdict.join(keep_all(self.env, &policy, &project, &learnings));
        exported.map(|()| verdict)
    }

    /// Stores what was learnt after unlocking the session, since a memory server may be slow.
    fn keep_learnings(self: Box<Self>) -> Verdict {
        let learnings = self.learnings();
        if learnings.is_empty() {
            return self.verdict;
        }
        let (policy, project) = self.of_project();
        drop(ManuallyDrop::into_inner(self.ledger));
        self.verdict.join(keep_all(self.env, &policy, &project, &learnings))
    }

    fn of_project(&self) -> (Policy, PathBuf) {
        (self.session().policy().clone(), self.env.root().to_owned())
    }

    /// The learnings from this event's reflections, if they count and are new.
    fn learnings(&self) -> Vec<Learning> {
        let state = &self.session().state;
        let progress = &self.session().memory.progress;
        // A reflection made from the ledger only exists when the task is done.
        let counts = |fact: &&Fact| progress.proven.reflected || matches!(fact, Fact::Event(_));
        let reflections: Vec<_> = self.recorded.iter().filter(counts).filter_map(reflection).collect();
        if reflections.is_empty() || self.env.dry_run {
            return Vec::new();
        }
        let recent = self.ledger.recent();
        let once = |one: &Reflection| {
            recent.iter().filter(|entry| reflection(&entry.fact) == Some(*one)).count() < 2
        };
        let (_, project) = self.of_project();
        let bootstraps = state.state.current_workflow.as_deref() == Some(BOOTSTRAP);
        let kind = progress.plan.kind.as_ref().map(Stored::name).or(bootstraps.then_some("context"));
        let learning = |one: Reflection| learnings::learning(&project, kind, one);
        reflections.into_iter().filter(|one| once(one)).filter_map(learning).collect()
    }

    fn tracker(&self) -> Option<&str> {
        Some(&self.session().policy().tracker)
            .filter(|tracker| !tracker.is_none())
            .map(|t| t.command.as_str())
    }
}

type Reflection<'a> = &'a BTreeMap<String, String>;

/// The reflection in this fact: an agent's, or the one made from the ledger at a stop.
fn reflection(fact: &Fact) -> Option<Reflection<'_>> {
    match fact {
        Fact::Verdict(Reported { finding: Some(finding), sent_on: false, .. }) => Some(&finding.reflection),
        Fact::Event(seen) => seen.turn_end()?.reflection.as_ref(),
        _ => None,
    }
    .filter(|fields| !fields.is_empty())
}

fn keep_all(env: &Env, policy: &Policy, project: &Path, learnings: &[Learning]) -> Verdict {
    let failed = learnings.iter().find_map(|learning| learnings::keep(env, policy, project, learning).err());
    failed.map_or_else(Verdict::pass, |failure| {
        Verdict::notice(
            GateId::Reflect,
            format!("what was learnt was not kept: {failure}\nhint: {}", failure.code.way_out()),
        )
    })
}

fn is_blocked(turn: &Turn) -> bool {
    turn.recorded.iter().any(|fact| matches!(fact, Fact::Block(_)))
}

fn write_halt_report(turn: &mut Turn) -> Verdict {
    let Err(failure) = halt_report(turn.env, &turn.ledger, turn.event) else { return Verdict::pass() };
    let words = format!("the halt report was not written: {failure}\nhint: {}", failure.code.way_out());
    Verdict::notice(GateId::Block, words)
}

/// A reflection that came too early does not count.
fn may_reflect(turn: &Turn) -> bool {
    !turn.env.dry_run && turn.session().memory.progress.proven.reflected && turn.tracker().is_some()
}

/// Ignores the reflection of an agent that was sent back. The reflection is in the ledger already; a full
/// queue is reported with the next context.
fn queue_reflection(turn: &mut Turn) -> Verdict {
    let project = turn.env.root();
    for fact in &turn.recorded {
        if let Fact::Verdict(Reported { finding: Some(finding), sent_on: false, .. }) = fact
            && !finding.reflection.is_empty()
        {
            let _ =
                reflections::queue_reflection(turn.env, project, &turn.session().state.session_id, finding);
        }
    }
    Verdict::pass()
}

fn starts_session(turn: &Turn) -> bool {
    turn.event.kind() == EventKind::SessionStart && !turn.env.dry_run
}

/// Lets later sessions find this one without looking at all others.
fn note_start(turn: &mut Turn) -> Verdict {
    recent::note(&turn.ledger.place().path);
    Verdict::pass()
}

/// Finishes an interrupted undo, and removes what was kept long enough.
fn tend_kept(turn: &mut Turn) -> Verdict {
    let words = match keeping::tend(turn.env, &mut turn.ledger, turn.event) {
        Ok(Retained { removed: 0, .. }) => return Verdict::pass(),
        Ok(Retained { removed, .. }) => format!(
            "what was kept before {} cannot be brought back any more: it was older than `undo.keep_days`, or more than `undo.keep_mb`",
            count(removed, "command")
        ),
        Err(failure) => failure.to_string(),
    };
    Verdict::notice(GateId::Danger, words)
}

fn ends_session(turn: &Turn) -> bool {
    turn.event.kind() == EventKind::SessionEnd && !turn.env.dry_run
}

/// Ends every command in a throwaway layer of this session.
fn end_trials(turn: &mut Turn) -> Verdict {
    enter::end_all(&turn.ledger.place().path);
    if turn.session().policy().network.mode != NetworkMode::Off {
        network::end(&turn.ledger.place().path);
    }
    Verdict::pass()
}

/// The event ends calls whose own end nothing reports: a person said no, or pressed Esc.
fn settles_calls(turn: &Turn) -> bool {
    settled(turn).next().is_some() && !turn.env.dry_run
}

fn settled<'a>(turn: &'a Turn) -> impl Iterator<Item = &'a Step> {
    turn.recorded.iter().filter_map(|fact| match fact {
        Fact::Call(step) => Some(step),
        _ => None,
    })
}

/// What such a call left in place is the person's file again and no second name of what was kept.
fn part_kept(turn: &mut Turn) -> Verdict {
    for step in settled(turn) {
        keeping::part(turn.env, turn.session(), turn.event, &step.call.id);
    }
    Verdict::pass()
}

fn wants_network(turn: &Turn) -> bool {
    let session = turn.session();
    starts_session(turn) && session.policy().network.mode != NetworkMode::Off
}

/// Starts it in the background: a command that comes before it is ready waits for it.
fn start_network(turn: &mut Turn) -> Verdict {
    let session = turn.session();
    let client = session.memory.client.process.as_ref().map(|client| client.pid);
    let held = session.memory.client.jail.as_ref().is_some_and(|jail| jail.hold == Hold::Namespaces);
    let runs = if held { Runs::In(client) } else { Runs::Outside };
    let folder = &turn.ledger.place().path;
    let project = Path::new(&session.memory.place.root);
    let started = network::start(turn.env, folder, project, &session.policy().network, runs);
    started.map_or_else(
        |error| {
            Verdict::notice(
                GateId::Jail,
                format!("the session's network could not be made, so no command runs: {error}"),
            )
        },
        |()| propose_list(turn),
    )
}

/// Suggests a list to a person whose hosts are only recorded.
fn propose_list(turn: &Turn) -> Verdict {
    let observes = turn.session().policy().network.mode == NetworkMode::Observe;
    let is_person = turn.context.attended && turn.context.stage.is_none() && turn.event.source() != "compact";
    let words = (observes && is_person).then(|| network::seen::propose(turn.env)).flatten();
    words.map_or_else(Verdict::pass, |words| Verdict::notice(GateId::Jail, words))
}

fn judges_hosts(turn: &Turn) -> bool {
    turn.session().policy().network.mode >= NetworkMode::Ask && !turn.env.dry_run
}

/// After a secret was read, hosts that accept uploads need approval until the task ends. The source of
/// foreign text is remembered for questions.
fn follow_reading(turn: &mut Turn) -> Verdict {
    let kind = turn.event.kind();
    let folder = turn.ledger.place().path.clone();
    let approved = |fact: &Fact| matches!(fact, Fact::Answer(said) if said.allowed && said.rule.as_deref() == Some(SECRET));
    let passes = kind == EventKind::PreToolUse && turn.verdict.ruling < Ruling::Ask;
    let shown = turn.context.call().into_iter().filter(|_| passes).flat_map(|seen| &seen.danger.dangers);
    // A command that still runs could send what the task has read.
    let rests = turn.event.stopped().is_some_and(|stop| stop.running.as_ref().is_none_or(Vec::is_empty));
    let over = kind == EventKind::Stop
        && rests
        && turn.verdict.ruling != Ruling::Deny
        && !turn.session().has_open_task();
    let guarded =
        if turn.recorded.iter().any(approved) || shown.into_iter().any(|danger| danger.rule.id() == SECRET) {
            network::guard(&folder, true).map(|new| new.then_some(NetworkChange::Guarded))
        } else if over {
            network::guard(&folder, false).map(|new| new.then_some(NetworkChange::Unguarded))
        } else {
            Ok(None)
        };
    let ended = turn.event.call().filter(|_| kind == EventKind::PostToolUse);
    let foreign = ended.and_then(hosts::foreign).filter(|what| network::note_foreign(&folder, what));
    let foreign =
        foreign.map(|what| NetworkChanged { what: Some(what), ..NetworkChanged::of(NetworkChange::Foreign) });
    let mut facts: Vec<Fact> = foreign.map(Fact::Network).into_iter().collect();
    facts.extend(
        guarded.as_ref().ok().copied().flatten().map(|change| Fact::Network(NetworkChanged::of(change))),
    );
    let recorded = if facts.is_empty() { Ok(()) } else { turn.ledger.append(turn.env, facts) };
    let failed =
        guarded.err().map(|error| error.to_string()).or(recorded.err().map(|failure| failure.to_string()));
    failed.map_or_else(Verdict::pass, |why| {
        Verdict::notice(GateId::Jail, format!("the session's list could not be written: {why}"))
    })
}

/// A command was refused hosts that a person may approve.
fn wants_hosts(turn: &Turn) -> bool {
    judges_hosts(turn) && turn.event.call().is_some() && turn.context.hosts().iter().any(Reached::is_wanted)
}

fn note_wanted(turn: &mut Turn) -> Verdict {
    let wanted: Vec<&Reached> = turn.context.hosts().iter().filter(|host| host.is_wanted()).collect();
    if let Some(line) = turn.event.call().and_then(hosts::line_of) {
        network::want(&turn.ledger.place().path, &line, &wanted);
    }
    Verdict::pass()
}

fn ends_turn(turn: &Turn) -> bool {
    let over = matches!(turn.event.kind(), EventKind::Stop | EventKind::StopFailure | EventKind::SessionEnd);
    over && turn.verdict.ruling != Ruling::Deny && !turn.env.dry_run
}

/// The turn is over, or the call that took leases was refused.
fn gives_back(turn: &Turn) -> bool {
    let refused = turn.verdict.ruling == Ruling::Deny
        && turn.context.call().is_some_and(|call| !call.lease.taken.is_empty());
    !turn.env.dry_run
        && lease::is_kept(turn.session())
        && (refused || ends_turn(turn) && !is_busy(turn.session(), turn.event))
}

fn give_back(turn: &mut Turn) -> Verdict {
    let tree = Path::new(&turn.session().memory.place.root);
    let id = &turn.event.session_id;
    leases::give_back(turn.env, tree, id, turn.context.call().map(|call| call.lease.taken.as_slice()));
    Verdict::pass()
}

/// Writes the session's insights within half of the time, since a checkpoint may follow. If that fails, the
/// turn ends anyway.
fn conclude(turn: &mut Turn) -> Verdict {
    let said = Path::new(&turn.event.transcript_path);
    let kept = || collect::transcript_at(turn.env, &turn.ledger.place().path, &turn.event.session_id);
    let transcript = if said.as_os_str().is_empty() { kept() } else { said.to_owned() };
    let until = turn.locked + turn.env.at_most(turn.event.kind().time_locked()) / 2;
    match collect::conclude(turn.env, &mut turn.ledger, &transcript, Some(until)) {
        Ok(_) => Verdict::pass(),
        Err(failure) => Verdict::notice(
            GateId::Insights,
            format!(
                "the insights were not written: {failure}\nhint: once that is fixed, `aops-hook insights` writes them"
            ),
        ),
    }
}

/// The tracker may have changed: a session began, a turn ended, or a call talked to it.
fn wants_refresh(turn: &Turn) -> bool {
    let at = matches!(turn.event.kind(), EventKind::SessionStart | EventKind::Stop);
    let ends = turn.event.kind() == EventKind::SessionEnd && sends(turn);
    // The halt report is needed at once, since no turn of a blocked session may end.
    let halts = turn.event.kind() == EventKind::SubagentStop && turn.session().blocked().is_some();
    (at || ends || halts || turn.context.end().is_some_and(|end| end.tracked)) && !turn.env.dry_run
}

/// Witnesses must be asked, or something must be sent to a database or a collector.
fn sends(turn: &Turn) -> bool {
    let policy = turn.session().policy();
    policy.witness.is_asked() || policy.fleet.sends()
}

/// Starts a separate process. If the tracker cannot be asked, the next context contains one line about it.
fn refresh_behind(turn: &mut Turn) -> Verdict {
    let sends = sends(turn);
    if turn.session().policy().fleet.sends() {
        let _ = make_all(&fleet_home::folder(turn.env));
    }
    if let Some(command) = turn.tracker().or(sends.then_some(refresh::NO_TRACKER)) {
        let _ = refresh::spawn(turn.env, turn.env.root(), command);
    }
    Verdict::pass()
}

/// A commit was made now; or there is a commit of this turn or an unattested one, and either the work may
/// have been pushed or the turn is over. Other events start no process for this, since a failed attestation
/// would fail again right away.
fn wants_attestation(turn: &Turn) -> bool {
    let session = turn.session();
    let trail = &turn.session().memory.proof.trail;
    if !session.policy().witness.attests() || turn.env.dry_run {
        return false;
    }
    if trail.commits.is_empty() {
        // Commits of earlier turns are attested, but perhaps not published.
        return ends_turn(turn) && refresh::left_statements(&turn.ledger.place().path);
    }
    let call = turn.event.call();
    let kind = turn.event.kind();
    let pushes = call.is_some_and(|call| runs_shell(call) && call.input.contains("push"));
    let made = turn.recorded.iter().any(|fact| matches!(fact, Fact::Commit(_)));
    made || pushes && kind == EventKind::PostToolUse || ends_turn(turn)
}

/// Starts a separate process. If it cannot be started, the end of the next turn tries again.
fn attest_behind(turn: &mut Turn) -> Verdict {
    let trace = &turn.session().state.session_id;
    let folder = &turn.ledger.place().path;
    let _ = refresh::spawn_attest(turn.env, folder, trace);
    Verdict::pass()
}

/// This call's command runs in a throwaway layer, without the machine's network.
fn lets_try(turn: &Turn) -> bool {
    let before = turn.event.kind() == EventKind::PreToolUse
        && turn.verdict.ruling != Ruling::Deny
        && !turn.env.dry_run;
    let Some(call) = turn.event.call().filter(|_| before) else { return false };
    let memory = &turn.session().memory;
    let policy = &turn.session().policy().jail;
    let holds = memory.client.jail.as_ref().is_some_and(|jail| jail.trial);
    let tried =
        |open: &&OpenCall| open.call.id == call.key.id && open.means.jailing.profile == Some(Profile::Trial);
    let open = memory.calls.iter().rev().find(tried);
    holds && open.is_some_and(|open| open.agent_id.is_none() || !policy.test_network)
}

/// The jail is made after the answer was given.
fn want_jail(turn: &mut Turn) -> Verdict {
    let session = turn.ledger.place().path.clone();
    let memory = &turn.session().memory;
    let project = memory.client.jail.as_ref().map(|jail| PathBuf::from(&jail.project)).unwrap_or_default();
    let policy = turn.session().policy();
    let network = network::held(&policy.network, &turn.env.home, || None);
    let _ = turn.env.told.trial.set(Trial { session, project, layer_mb: policy.jail.layer_mb, network });
    Verdict::pass()
}

fn keep_checkpoint(turn: &mut Turn) -> Verdict {
    let until = turn.locked + turn.env.at_most(turn.event.kind().time_locked());
    let before = (turn.stood.before, turn.stood.ended.take());
    checkpoint::rollback::at_phase_change(
        turn.env, &mut turn.ledger, turn.event, before, turn.verdict.ruling, until,
    )
}

/// From its first unconfined command on, the keys may be read, so the log records that beforehand.
fn starts_unheld(turn: &Turn) -> bool {
    let commands = Commands::of_session(&turn.session().memory, turn.env.is_jailing());
    starts_session(turn) && commands == Commands::Unheld && !life::is_told_unheld(turn.env)
}

/// Adds the session's new entries to the log, and signs its head. Without a key nothing happens.
fn sign(turn: &mut Turn) -> Verdict {
    let trace = &turn.session().state.session_id;
    let folder = &turn.ledger.place().path;
    let commands = Commands::of_session(&turn.session().memory, turn.env.is_jailing());
    let Err(failure) = append::add(turn.env, trace, folder, commands) else { return Verdict::pass() };
    Verdict::notice(GateId::Log, append::unsigned(&failure))
}
