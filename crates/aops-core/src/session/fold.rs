//! Folds all entries of a ledger into one state, the only one that a gate sees.
//!
//! Reads nothing, writes nothing: no clock, no file, no randomness. Invariant: the same facts give the same
//! session, whether folded at once or in parts; a transition that the state machine of calls forbids is an
//! error, never a state.

mod at_work;
mod closing;
mod parking;
mod weight;
mod progress;
mod questions;
mod reports;

pub use progress::is_owed_plan;

use crate::config::policy::Policy;
use crate::config::policy::quiet::QuietLevel;
use crate::model::agent;
use crate::model::call::{CallKey, CallState};
use crate::model::error::Code;
use crate::model::event::EventKind;
use crate::model::gate_id::GateId;
use crate::model::phase::{Phase, Sandbox};
use crate::model::start_source::StartSource;
use crate::session::fact::{
    AgentStarted, AgentStopped, FORMAT, Fact, Happened, Opened, PromptHeard, Reached, Seen, SessionStarted,
    Step, TurnBefore, Violation, ViolationKind,
};
use crate::session::kept_count::KeptCount;
use crate::session::memory::{Memory, OpenCall, Prompted, Waived};
use crate::session::observed::Observed;
use crate::session::state::{Shown, State};
use crate::session::timer::{self, TimerMark};
use crate::text::json;
use crate::text::sha256::NO_DIGEST;
use crate::text::stored::canonical;
use std::sync::LazyLock;

/// At most this many names are kept in `subagents`; further ones are not recorded.
const MOST_SUBAGENTS: usize = 64;
/// At most this many folders that a person added are remembered.
const MOST_ADDED: usize = 64;

#[derive(Clone, Debug)]
pub struct Session {
    pub state: Shown,
    pub memory: Box<Memory>,
    /// Sequence number of the last entry.
    pub seq: u64,
    pub head: String,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            state: Box::new(State::empty()).into(),
            memory: Box::default(),
            seq: 0,
            head: NO_DIGEST.to_owned(),
        }
    }
}

impl Session {
    /// The ID of a session in which a line is only tried.
    pub const TRIED: &str = "test";

    pub fn is_new(&self) -> bool {
        self.seq == 0
    }

    pub fn blocked(&self) -> Option<&str> {
        let flags = &self.state.state;
        flags.custodiet_blocked.then(|| flags.custodiet_block_reason.as_deref().unwrap_or("no reason given"))
    }

    pub fn policy(&self) -> &Policy {
        static SHIPPED: LazyLock<Policy> = LazyLock::new(Policy::default);
        self.memory.configured.policy.as_deref().unwrap_or_else(|| &SHIPPED)
    }

    pub fn open_call(&self, key: &CallKey) -> Option<&OpenCall> {
        self.memory.calls.iter().find(|open| open.call == *key)
    }

    /// A person waived this gate for a period that is not over yet.
    pub fn is_waived_by_person(&self, gate: GateId, now_ms: i64) -> bool {
        let gate = gate.into();
        self.memory.progress.waivers.iter().any(|waiver| waiver.lifts(&gate, now_ms))
    }

    /// Applies one more entry: its number, its time, its fact. `trace` is the session's name.
    pub fn apply(&mut self, trace: &str, ts: &str, fact: &Fact) -> Result<(), Code> {
        if self.is_new() != matches!(fact, Fact::Open(_)) {
            return Err(Code::InvalidTransition);
        }
        self.seq += 1;
        match fact {
            Fact::Open(open) => self.begin(trace, ts, open)?,
            Fact::Event(seen) => self.apply_event(ts, seen),
            Fact::Call(step) => self.apply_step(step)?,
            Fact::Question(asked) => self.apply_question(ts, asked),
            Fact::Answer(answered) => self.apply_answer(answered),
            Fact::Block(block) => self.block(Some(block.reason.clone())),
            Fact::Unblock(_) => self.block(None),
            Fact::Verdict(report) => self.apply_report(ts, report),
            // The task that the prompt waived records this waiver itself.
            Fact::Waive(waiver) if waiver.gate == Waived::Task => {}
            Fact::Waive(waiver) => {
                self.memory.progress.waivers.retain(|old| old.gate != waiver.gate);
                self.memory.progress.waivers.push(waiver.clone());
            }
            Fact::Task(chosen) => self.choose_task(chosen),
            Fact::Check(checked) => self.apply_check(checked),
            Fact::Mode(asked) => {
                self.memory.configured.mode = Some(asked.clone()).filter(|asked| !asked.asked.is_empty());
            }
            Fact::Run(staged) => self.apply_run_step(staged),
            Fact::Checkpoint(taken) => self.apply_checkpoint(taken),
            Fact::Violation(violation) => self.apply_violation(violation),
            Fact::Recovery(_) | Fact::Network(_) => {}
            Fact::Rollback(undone) => self.apply_rollback(undone),
            Fact::Undo(brought) => {
                self.memory.undo.brought_back = Some(brought.clone()).filter(|brought| !brought.told);
            }
            Fact::Commit(made) => self.memory.proof.trail.add_commit(self.seq, made),
            Fact::Attest(made) => self.memory.proof.trail.add_statement(made),
            Fact::Insights(concluded) => self.state.insights = Some(concluded.insights.clone()),
            Fact::Snapshot(snapshot) => {
                if snapshot.memory != self.memory || canonical(&snapshot.state) != canonical(&self.state) {
                    return Err(Code::ChecksumMismatch);
                }
            }
        }
        self.follow_agents(ts, fact);
        if fact.must_sync() {
            self.memory.proof.synced = self.seq;
        }
        Ok(())
    }

    fn apply_violation(&mut self, violation: &Violation) {
        self.memory.told.elsewhere |= violation.kind == ViolationKind::Elsewhere;
        self.memory.client.unstarted |= violation.kind == ViolationKind::Unstarted;
        self.memory.client.unjailed |= violation.kind == ViolationKind::Unjailed;
        // After one missing proof the jail is not trusted any more, so nothing is answered in a person's
        // place from now on, not even for the first time.
        if violation.kind == ViolationKind::Unjailed && self.policy().quiet.allow != QuietLevel::Off {
            self.memory.questions.quiet.get_or_insert_default().shut(Violation::UNJAILED);
        }
        if let Some(call) = &violation.unasked {
            self.count_write(call.effect, call.drawn);
            call.grows
                .iter()
                .for_each(|file| self.grow(self.memory.progress.weight.grown.with(file.clone())));
        }
    }

    fn begin(&mut self, trace: &str, ts: &str, open: &Opened) -> Result<(), Code> {
        if open.format != FORMAT {
            return Err(Code::InvalidTransition);
        }
        trace.clone_into(&mut self.state.session_id);
        ts.clone_into(&mut self.state.started_at);
        json::cut(ts, 10).clone_into(&mut self.state.date);
        self.state.policy_hash.clone_from(&open.policy_hash);
        self.memory.place.boot.clone_from(&open.boot);
        self.memory.watched.folders.clone_from(&open.folders);
        self.memory.configured.policy.clone_from(&open.policy);
        Ok(())
    }

    /// A turn ends with its Stop, or while an agent is at work; or this event shows that it ended without a
    /// Stop.
    fn end_turn(&mut self, seen: &Seen, refused: bool) {
        let ends = match &seen.what {
            Happened::BatchEnded(batch) => batch.waits,
            Happened::Stopped(_) => !refused,
            _ => seen.kind() == EventKind::StopFailure && !refused,
        };
        if ends || seen.before().is_some() {
            self.close_turn();
        }
        match seen.before() {
            Some(TurnBefore::Parked(left)) => self.park_task(left.files, &left.paths),
            Some(TurnBefore::Left) if self.is_unfinished() => self.leave_task(),
            _ => {}
        }
    }

    /// The turn of the last prompt is over. A block ends it, too.
    fn close_turn(&mut self) {
        self.memory.prompted.iter_mut().for_each(|prompted| prompted.open = false);
    }

    fn block(&mut self, reason: Option<String>) {
        self.close_turn();
        self.state.phase = if reason.is_some() { Phase::Halted } else { Phase::Idle };
        self.state.sandbox = Sandbox::Shut;
        self.state.state.custodiet_blocked = reason.is_some();
        self.state.state.custodiet_block_reason = reason;
    }

    fn apply_event(&mut self, ts: &str, seen: &Seen) {
        let refused = seen.is_refused();
        if let Some(hash) = &seen.policy_hash {
            self.state.policy_hash.clone_from(hash);
            self.memory.configured.policy.clone_from(&seen.policy);
        }
        self.observe(seen.observed.as_deref());
        if let Some(log) = seen.log() {
            self.memory.proof.log = Some(log.clone());
        }
        self.end_turn(seen, refused);
        self.remember_timers(&seen.timers.new, seen.timers.lost);
        match &seen.what {
            Happened::SessionStarted(start) => self.apply_session_start(seen, start),
            Happened::SessionEnded(_) => self.state.ended_at = Some(ts.to_owned()),
            Happened::Prompted(prompt) => self.hear_prompt(seen, prompt, refused),
            Happened::Stopped(end) => self.apply_stop(end, refused),
            Happened::PermissionAsked(asked) => {
                self.memory.told.plan_hook |= asked.plan_hook.is_some();
                self.memory.questions.seen += u64::from(asked.dialog);
                if asked.asks_plan && !refused {
                    self.apply_plan_question(asked);
                }
            }
            Happened::AgentStarted(start) => self.apply_agent_start(ts, seen, start),
            Happened::AgentStopped(stop) => self.apply_agent_stop(seen, stop),
            Happened::BatchEnded(_) => {}
            Happened::Other => self.apply_plain_event(seen, refused),
        }
    }

    /// An event without details of its own.
    fn apply_plain_event(&mut self, seen: &Seen, refused: bool) {
        match seen.kind() {
            EventKind::CwdChanged => self.apply_cwd_change(&seen.words("new_cwd").unwrap_or_default()),
            EventKind::DirectoryAdded => self.add_folder(seen.words("directory")),
            EventKind::TaskCreated if !refused => self.add_todo(),
            EventKind::TaskCompleted if !refused => {
                let todos = &mut self.state.main_agent;
                todos.todos_completed = (todos.todos_completed + 1).min(todos.todos_total);
            }
            _ => {}
        }
    }

    /// A folder beyond the remembered ones does not count as one of them, so the client asks about it.
    fn add_folder(&mut self, folder: Option<String>) {
        let added = &mut self.memory.place.added;
        added.extend(folder.filter(|folder| added.len() < MOST_ADDED && !added.contains(folder)));
    }

    fn observe(&mut self, observed: Option<&Observed>) {
        let (Some(observed), trail) = (observed, &mut self.memory.proof.trail) else { return };
        observed.head.iter().for_each(|head| trail.move_head(head));
        if observed.prompt.is_some() {
            trail.begin_turn();
        }
    }

    fn hear_prompt(&mut self, seen: &Seen, prompt: &PromptHeard, refused: bool) {
        self.memory.client.greets = None;
        // What the person interrupted is not planned with what they ask for instead.
        let joins = match seen.before() {
            Some(TurnBefore::Owing(_)) => self.state.state.hydration_pending,
            Some(_) => false,
            None => self.is_unanswered(),
        };
        if let (Some(id), Some(sha256), false) = (&seen.prompt_id, &prompt.sha256, refused) {
            self.memory.prompted = Some(Prompted { id: id.clone(), open: true, sha256: sha256.clone() });
        }
        self.memory.questions.unproven.clear();
        if seen.run.is_some() {
            self.memory.run.iter_mut().for_each(|stage| stage.prompted = true);
        } else if !refused {
            if let Some(baseline) = &prompt.baseline {
                let before = &mut self.memory.progress.baseline_before;
                *before = before.take().or_else(|| baseline.before.clone());
                self.memory.place.baseline_sha256 = Some(baseline.sha256.clone());
            }
            self.apply_prompt(&seen.words("prompt").unwrap_or_default(), prompt, joins);
            self.want_parked(prompt);
        }
    }

    fn apply_session_start(&mut self, seen: &Seen, start: &SessionStarted) {
        self.state.ended_at = None;
        let memory = &mut self.memory;
        memory.place.boot.clone_from(&start.boot);
        if !start.beside {
            memory.client.names_taken.clone_from(&start.names_taken);
            memory.client.greets.clone_from(&start.greets);
            memory.client.agentless.clone_from(&start.agentless);
            memory.client.process.clone_from(&start.client);
            memory.client.unproven.clone_from(&seen.unproven);
            memory.client.unstarted = false;
            memory.client.jail.clone_from(&start.jail);
            // A compaction does not start a client: timers and hooks survive it.
            if start.source.known().is_some_and(StartSource::is_new_client) {
                memory.timers.lost = seen.timers.lost;
                memory.place.added.clear();
                memory.client.plan_hook = None;
            }
            memory.client.plan_hook = start.plan_hook.clone().or(memory.client.plan_hook.take());
        }
        if let (None, Some(baseline)) = (&memory.place.baseline_sha256, &start.baseline) {
            memory.place.baseline_sha256 = Some(baseline.sha256.clone());
        }
        if memory.place.root.is_empty() {
            memory.place.root.clone_from(&start.root);
        }
        let watched = &start.watched;
        memory.watched.marks.clone_from(&watched.marks);
        memory.watched.held.clone_from(&watched.held);
        memory.watched.folders.clone_from(&watched.folders);
        if !watched.linked.is_empty() {
            memory.watched.linked.clone_from(&watched.linked);
        }
    }

    fn apply_agent_start(&mut self, ts: &str, seen: &Seen, start: &AgentStarted) {
        if start.names_taken.is_some() {
            self.memory.client.names_taken.clone_from(&start.names_taken);
        }
        let Some(name) = bare_name(seen) else { return };
        if start.names_taken.is_none() && seen.unproven.is_none() {
            let id = seen.agent_id.as_deref().unwrap_or_default();
            let kind = seen.agent_type.as_deref().unwrap_or_default();
            self.remember_agent(id, kind, start.starter.as_deref().unwrap_or_default());
        }
        let known = &mut self.state.subagents;
        if known.len() < MOST_SUBAGENTS || known.contains_key(&name) {
            ts.clone_into(&mut known.entry(name).or_default().last_invoked);
        }
    }

    fn remember_timers(&mut self, new: &[TimerMark], lost: bool) {
        let timers = &mut self.memory.timers.known;
        timers.retain(|known| !new.contains(known));
        timers.extend(new.iter().take(timer::MOST).cloned());
        timers.drain(..timers.len().saturating_sub(timer::MOST));
        self.memory.timers.lost |= lost;
    }

    fn count_call(&mut self, agent: Option<&str>) {
        let name = agent.map(bare).unwrap_or_default();
        let known = &mut self.memory.agents.invocations;
        if known.len() <= MOST_SUBAGENTS || known.contains_key(&name) {
            *known.entry(name).or_default() += 1;
        }
    }

    fn apply_agent_stop(&mut self, seen: &Seen, stop: &AgentStopped) {
        let agent = bare_name(seen).and_then(|name| self.state.subagents.get_mut(&name));
        if let (Some(agent), Some(report), false) =
            (agent, seen.words("last_assistant_message"), stop.uncounted)
        {
            agent.result = Some(json::cut(&report, 200).to_owned());
        }
        let refused = seen.is_refused();
        if let Some(id) = seen.agent_id.as_deref().filter(|_| stop.uncounted && !refused) {
            self.end_unheard(id);
        }
    }

    fn apply_step(&mut self, step: &Step) -> Result<(), Code> {
        let at = self.memory.calls.iter().position(|open| open.call == step.call);
        match (step.from, at) {
            (None, None) if step.to == CallState::Pending => {
                self.memory.calls.push(OpenCall {
                    agent_id: step.agent_id.clone(),
                    call: step.call.clone(),
                    input_sha256: step.input_sha256.clone(),
                    means: step.means().clone(),
                    prompt_id: step.prompt_id.clone(),
                    question: None,
                    reason: step.reason.clone(),
                    state: step.to,
                });
                if step.means().quiet.is_some() {
                    self.memory.questions.quiet.get_or_insert_default().answered += 1;
                }
            }
            (Some(from), Some(at)) if self.memory.calls[at].state == from && from.may_become(step.to) => {
                if step.to.is_terminal() {
                    let open = self.memory.calls.remove(at);
                    if let (true, Some(digest)) =
                        (step.ended().under.hindered, &open.means.jailing.line_sha256)
                    {
                        self.memory.questions.quiet.get_or_insert_default().hinder(digest);
                    }
                    self.update_step_refusal(&open, step);
                    if step.to == CallState::Denied {
                        self.apply_refusal(step);
                    } else {
                        self.count_call(step.agent_type.as_deref().filter(|_| step.agent_id.is_some()));
                        self.apply_end(&open, step);
                    }
                } else {
                    self.memory.calls[at].state = step.to;
                }
            }
            _ => return Err(Code::InvalidTransition),
        }
        if let Some(todos) = step.ended().todos {
            self.set_todos(todos, step.ended().plan.is_some());
        }
        renew(&mut self.memory.watched.marks, step.ended().marks.as_ref());
        self.observe(step.observed.as_deref());
        if let Some(asks) = &step.asks {
            self.remember_timers(asks.schedules.as_slice(), asks.timers_lost);
        }
        self.memory.told.way_out |= step.denied.as_ref().is_some_and(|denied| denied.told);
        if let Some(kept) = &step.ended().under.kept {
            let times = self.memory.undo.kept.map_or(0, |known| known.times) + 1;
            self.memory.undo.kept = Some(KeptCount { newest: kept.number, times });
        }
        self.memory.questions.wants_hosts |= step.ended().under.hosts.iter().any(Reached::is_wanted);
        if step.ended().under.offline {
            self.memory.progress.told.offline = Some(self.memory.progress.prompts.count);
        }
        if step.is_unsaved() {
            self.memory.progress.told.unsaved = Some(self.memory.progress.prompts.count);
        }
        Ok(())
    }
}

fn renew<T: Clone>(known: &mut T, new: Option<&T>) {
    if let Some(new) = new {
        known.clone_from(new);
    }
}

/// `aops:critic`, `aops-critic` and `critic` are the same agent. Characters that would sort differently in
/// UTF-16 are removed.
fn bare_name(seen: &Seen) -> Option<String> {
    seen.agent_type.as_deref().filter(|name| !name.is_empty()).map(bare)
}

fn bare(name: &str) -> String {
    agent::bare(name).chars().filter(|c| *c < '\u{D7FF}').take(64).collect()
}
