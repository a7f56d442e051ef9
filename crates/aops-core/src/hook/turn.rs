//! One event on its way: session opened, event judged, words added, recorded. What follows is in
//! `afterwards`.
//!
//! Locks the session, writes its ledger and what `briefing` writes. Invariants: the verdict is recorded with
//! the very state on which it was made; the session is not locked while the user's checks run or the sources
//! of a prompt are asked.

use super::identity;
use super::late::{late_violation, tell_late, violation_of};
use super::renewal::{Renewed, policy_in_force, renewed};
use super::words::fill_in;
use super::work::{self, starts_or_prompts};
use crate::briefing;
use crate::briefing::agent::SourceQuestion;
use crate::briefing::prompt::{asks_sources, offer};
use crate::briefing::sources::Found;
use crate::checkpoint;
use crate::checkpoint::rollback::{Before, ended_by};
use crate::config::policy::{Check, ModeLevel, Policy};
use crate::config::texts::Reading;
use crate::gate::{self, Context, facts, rehearsal, repeat};
use crate::jail::receipt;
use crate::ledger::clients;
use crate::ledger::open::Ledger;
use crate::ledger::session_folder::{self, SessionKey};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::profile::JailState;
use crate::model::verdict::{Ruling, Verdict};
use crate::observe::checks::About;
use crate::observe::impostors::Registered;
use crate::observe::{self, client, jailed, same_project};
use crate::session::fact::{Blocked, FORMAT, Fact, Opened, Seen, Violation, ViolationKind};
use crate::session::fold::Session;
use crate::session::memory::ModeAsked;
use crate::system::env::{Env, boot_id};
use std::mem::{self, ManuallyDrop};
use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

/// What the person is told, once.
const UNSTARTED: &str = "we did not see this session start: until we see a start, prompts waive nothing and approved plans do not count; end the client and continue with `claude --resume`";

/// Several kilobytes, passed on from step to step. Boxed, because each step would otherwise touch as many
/// pages of the stack again.
pub(super) struct Turn<'a> {
    pub(super) env: &'a Reading<'a>,
    pub(super) event: &'a Event,
    /// Not dropped at the end: the process exits, and the system closes files and lock faster than we could.
    pub(super) ledger: ManuallyDrop<Ledger>,
    /// When the session was locked.
    pub(super) locked: Instant,
    pub(super) stood: Stood,
    pub(super) context: Context,
    pub(super) verdict: Verdict,
    /// What the rehearsed mode would refuse.
    rehearsed: Option<Verdict>,
    /// This event wrote the first entry.
    begins: bool,
    /// The same call was asked about before and is still in flight, or the same prompt came twice: it gets
    /// the same answer, and no new entry.
    pub(super) repeated: bool,
    /// What the sources know about the prompt.
    found: Option<Found>,
    pub(super) found_anew: FoundAnew,
    pub(super) late: Late,
    /// What `say` adds to the record.
    said: Option<Fact>,
    /// Recorded facts that lead to further tasks.
    pub(super) recorded: Vec<Fact>,
}

/// The loop's state before this event.
pub(super) struct Stood {
    pub(super) before: Before,
    /// The same in full, if this prompt may end the current task.
    pub(super) ended: Option<Box<Session>>,
}

/// What a start or a prompt finds out about the session's environment.
#[derive(Default)]
pub(super) struct FoundAnew {
    /// Why `AOPS_MODE` was not applied, if the user was not told yet.
    pub(super) unheard: Option<String>,
    /// The configuration from this event on, if it changed.
    pub(super) policy: Option<Renewed>,
    /// The jail, if the session starts.
    pub(super) jail: Option<JailState>,
    /// What registers us here, and what poses as us.
    pub(super) registered: Registered,
}

/// Events that could not be recorded when they came.
#[derive(Default)]
pub(super) struct Late {
    /// What a turn that ended with such an event still owes.
    pub(super) debts: Option<String>,
    /// The present event is one of these.
    this_event: bool,
}

impl<'a> Turn<'a> {
    /// Locks the session, finishes an interrupted rollback, observes, and writes the first entry of a new
    /// ledger before anything is judged: a block that outlived its ledger, or that a fork inherits, takes
    /// effect immediately.
    pub(super) fn open(env: &'a Reading<'a>, event: &'a Event) -> Result<Box<Self>, Failure> {
        let mut ledger = Ledger::lock(env, key(event), starts_or_prompts(event))?;
        let locked = Instant::now();
        // Leaked on purpose: the process ends with its answer.
        let event = identity::made(env, &ledger, event).map_or(event, |named| Box::leak(Box::new(named)));
        if ledger.session().memory.undo.rolling_back.is_some() && !env.dry_run {
            checkpoint::rollback::resume(env, &mut ledger)?;
        }
        if event.kind() != EventKind::SessionStart {
            let session = ledger.session();
            jailed::tell(env, session.policy(), session.memory.client.jail.as_ref(), &ledger.place().path);
        }
        let stood = Stood { before: Before::of(ledger.session()), ended: ended_by(ledger.session(), event) };
        let mut context = observe::call::look(env, &ledger, event)?;
        let begins = ledger.session().is_new();
        let asked = client::mode_asked(env, ledger.session(), event)?;
        let unheard = asked.as_ref().and_then(client::unheard);
        match asked {
            asked if begins => begin(env, event, &mut ledger, &context, asked)?,
            Some(asked) => ledger.append(env, vec![Fact::Mode(asked)])?,
            None => {}
        }
        if context.unstarted {
            inherit(env, event, &mut ledger)?;
        }
        if begins && event.kind() == EventKind::PreToolUse {
            // What a call may do depends on the configuration, which the session has only now.
            context = observe::call::look(env, &ledger, event)?;
        }
        Ok(Box::new(Self {
            env,
            event,
            ledger: ManuallyDrop::new(ledger),
            locked,
            stood,
            context,
            verdict: Verdict::pass(),
            rehearsed: None,
            begins,
            repeated: false,
            found: None,
            found_anew: FoundAnew { unheard, ..FoundAnew::default() },
            late: Late::default(),
            said: None,
            recorded: Vec::new(),
        }))
    }

    pub(super) fn session(&self) -> &Session {
        self.ledger.session()
    }

    /// Asks the gates. The checks that they want are run, and sources are asked, while the session is
    /// unlocked; then everything is looked at again.
    pub(super) fn judge(mut self: Box<Self>) -> Result<Box<Self>, Failure> {
        loop {
            let env = self.env;
            let event = self.event;
            if self.session().blocked().is_none() && repeat::is_same_prompt(self.session(), event) {
                self.repeated = true;
                return Ok(self);
            }
            self.renew_policy()?;
            self.verdict = fill_in(env, gate::judge(self.session(), event, &self.context))?;
            let wanted = self.rehearse()?;
            if wanted.is_empty() || env.dry_run {
                for check in wanted {
                    let notice = format!("check `{}` would be run first", check.id);
                    self.add(Verdict::notice(GateId::Checks, notice));
                }
                if self.found.is_none() && self.wants_sources() {
                    self = self.ask_sources()?;
                    continue;
                }
                break;
            }
            let about = About::of(&self.ledger, event, &self.context)?;
            let mut checks = mem::take(&mut self.context.checks);
            let late_debts = self.unlock();
            checks.extend(observe::checks::run(env, &about, &wanted));
            self = Self::open(env, event)?;
            self.late.debts = late_debts;
            self.context.checks = checks;
        }
        if self.verdict == Verdict::pass()
            && let Some(same) = repeat::same_answer(self.session(), self.event)
        {
            self.verdict = same;
            self.repeated = true;
        }
        self.verdict.rehearsed = self.rehearsed.take().map(Box::new);
        Ok(self)
    }

    /// Judges an event that is already over: no check is run, an agent that has ended is not sent back, and a
    /// guarding event was already refused when it came.
    pub(super) fn judge_late(mut self: Box<Self>) -> Result<Box<Self>, Failure> {
        self.late.this_event = true;
        self.verdict = fill_in(self.env, gate::judge(self.session(), self.event, &self.context))?;
        if self.event.kind() == EventKind::SubagentStop {
            self.verdict = Verdict::pass();
        }
        if self.event.kind().row().guarding {
            self.verdict = Verdict::deny(GateId::Failure, "it could not be recorded when it came");
        }
        Ok(self)
    }

    /// Judges the event again as the rehearsed mode would, if there is one. Returns the checks that it wants.
    fn rehearse(&mut self) -> Result<Vec<Check>, Failure> {
        let event = self.event;
        let context = &self.context;
        let Some(stage) = rehearsal::session(self.session(), event, context) else {
            return Ok(gate::checks::wanted(self.session(), event, context, &self.verdict));
        };
        let would = rehearsal::verdict(&stage, event, context, &self.verdict);
        let wanted = gate::checks::wanted(&stage, event, context, would.as_ref().unwrap_or(&self.verdict));
        self.rehearsed = would.map(|would| fill_in(self.env, would)).transpose()?;
        Ok(wanted)
    }

    fn wants_sources(&self) -> bool {
        let passes = self.verdict.ruling == Ruling::Pass && !self.env.dry_run;
        passes && asks_sources(self.policy(), self.event, &self.context)
    }

    /// Asks tracker, memory and notes while the session is unlocked, and opens it again.
    fn ask_sources(mut self: Box<Self>) -> Result<Box<Self>, Failure> {
        let env = self.env;
        let event = self.event;
        let question = SourceQuestion::of(env, &self.ledger, event);
        let checks = mem::take(&mut self.context.checks);
        let late_debts = self.unlock();
        let found = question.ask(env);
        self = Self::open(env, event)?;
        self.late.debts = late_debts;
        self.context.checks = checks;
        self.found = Some(found);
        Ok(self)
    }

    /// Unlocks the session. Returns what the next look at it must not forget.
    fn unlock(self: Box<Self>) -> Option<String> {
        let Self { ledger, late, .. } = *self;
        drop(ManuallyDrop::into_inner(ledger));
        late.debts
    }

    pub(super) fn add(&mut self, more: Verdict) {
        self.verdict = mem::take(&mut self.verdict).join(more);
    }

    /// Adds what the model and the user are told in addition to the ruling.
    pub(super) fn say(mut self: Box<Self>) -> Result<Box<Self>, Failure> {
        if self.repeated {
            return Ok(self);
        }
        let env = self.env;
        let event = self.event;
        let verdict = mem::take(&mut self.verdict);
        let found = self.found.take();
        self.verdict = offer(env, self.policy(), &self.ledger, event, &self.context, verdict, found)?;
        if let Some(owed) = self.late.debts.take() {
            self.add(tell_late(event, &owed));
        }
        if let Some(words) = self.found_anew.unheard.take() {
            self.add(Verdict::notice(GateId::Mode, words));
        }
        if let Some(mode) = self.found_anew.policy.as_ref().and_then(|renewed| renewed.waits) {
            let mode = mode.name();
            let words = format!("`[network] mode = \"{mode}\"` takes effect at the next start of a session");
            self.add(Verdict::notice(GateId::Jail, words));
        }
        if self.is_unstarted_anew() {
            self.add(Verdict::notice(GateId::Guard, UNSTARTED));
        }
        if event.kind() == EventKind::SessionStart {
            if let Err(failure) = briefing::session_start::export(env, &self.ledger) {
                let words = format!("commands do not get our variables: {failure}");
                self.add(Verdict::notice(GateId::Guard, words));
            }
            self.look_at_jail();
            if let Some((name, file)) = env.user.moved.first() {
                let words =
                    format!("`{}` sets `{name}`, which only you may set: your value is used", file.display());
                self.add(Verdict::notice(GateId::Guard, words));
            }
            let told = work::find_impostors(env, event, &mut self.found_anew.registered);
            self.add(told);
            self.add(work::greet(env, event, &self.context));
            if let Some(words) = briefing::session_start::broken_texts(env) {
                self.add(Verdict::notice(GateId::Workflow, words));
            }
            if self.session().blocked().is_none() {
                let text = briefing::session_start::context(
                    env,
                    self.policy(),
                    self.session(),
                    event,
                    &self.context,
                )?;
                if !text.is_empty() {
                    self.add(Verdict::context(GateId::Hydrate, text));
                }
            }
        }
        let verdict = mem::take(&mut self.verdict);
        (self.verdict, self.said) = checkpoint::rollback::tell(self.session(), event, verdict);
        Ok(self)
    }

    /// Finds out whether the kernel can confine shell commands, and tells the person if it cannot.
    fn look_at_jail(&mut self) {
        let (jail, told) = jailed::at_start(self.env, self.policy(), self.event);
        if jail.is_some() {
            receipt::clear(&self.ledger.place().path);
        }
        jailed::tell(self.env, self.policy(), jail.as_ref(), &self.ledger.place().path);
        self.found_anew.jail = jail;
        if let Some(words) = told {
            self.add(Verdict::notice(GateId::Jail, words));
        }
    }

    /// A session that has just begun has read its configuration already.
    fn renew_policy(&mut self) -> Result<(), Failure> {
        if !self.begins {
            self.found_anew.policy = renewed(self.env, self.session(), self.event)?;
        }
        Ok(())
    }

    fn policy(&self) -> &Policy {
        static SHIPPED: LazyLock<Policy> = LazyLock::new(Policy::default);
        match &self.found_anew.policy {
            Some(renewed) => renewed.policy.as_deref().unwrap_or_else(|| &SHIPPED),
            None => self.session().policy(),
        }
    }

    /// Commits the event's facts in one batch.
    pub(super) fn record(mut self: Box<Self>) -> Result<Box<Self>, Failure> {
        let mut facts = Vec::new();
        if !self.repeated {
            facts = facts::facts(self.session(), self.event, &self.verdict, &self.context);
            for fact in &mut facts {
                if let Fact::Event(seen) = fact {
                    self.complete(seen);
                }
            }
            facts.extend(self.said.take());
            self.observe(&mut facts);
        }
        let impostors = self.found_anew.registered.impostors.iter();
        facts.extend(impostors.map(|one| violation_of(self.event, ViolationKind::Impostor, one.describe())));
        if let Some(mismatch) = self.elsewhere() {
            facts.insert(0, mismatch);
        }
        if self.is_unstarted_anew() {
            let words = Violation::UNSTARTED.to_owned();
            facts.insert(0, violation_of(self.event, ViolationKind::Unstarted, words));
            // The client's next session will ask this one for its timers.
            if let Some(client) = client::process(self.env) {
                clients::remember(self.env, &client, &self.event.session_id);
            }
        }
        if self.late.this_event {
            facts.insert(0, late_violation(self.event));
        }
        let made = |seen: &Seen| seen.turn_end().is_some_and(|end| end.reflection.is_some());
        let reflects = |fact: &Fact| matches!(fact, Fact::Event(seen) if made(seen));
        let has_effect = |fact: &&Fact| {
            matches!(fact, Fact::Answer(_) | Fact::Block(_) | Fact::Commit(_) | Fact::Verdict(_))
                || reflects(fact)
                || self.event.call().is_none() && matches!(fact, Fact::Call(step) if step.to.is_terminal())
        };
        self.recorded = facts.iter().filter(has_effect).cloned().collect();
        self.ledger.append(self.env, facts)?;
        Ok(self)
    }

    /// We did not see the start of the session, and that is not recorded yet.
    fn is_unstarted_anew(&self) -> bool {
        self.context.unstarted && !self.session().memory.client.unstarted
    }

    /// The transcript is in another project's folder; the session's own folder counts. Reported once, before
    /// the event.
    fn elsewhere(&self) -> Option<Fact> {
        if self.session().memory.told.elsewhere {
            return None;
        }
        let place = &self.ledger.place().path;
        let named = session_folder::elsewhere(self.env, key(self.event), place)?;
        let violation = format!(
            "{}: the transcript is in `{}`, the session is held in `{}`, and that counts",
            Violation::ELSEWHERE,
            named.file_name().unwrap_or_default().display(),
            self.ledger.project(),
        );
        Some(violation_of(self.event, ViolationKind::Elsewhere, violation))
    }
}

fn key(event: &Event) -> SessionKey<'_> {
    SessionKey { session_id: &event.session_id, transcript_path: &event.transcript_path, cwd: &event.cwd }
}

/// Writes the first entries of a new ledger.
fn begin(
    env: &Reading,
    event: &Event,
    ledger: &mut Ledger,
    context: &Context,
    asked: Option<ModeAsked>,
) -> Result<(), Failure> {
    let level = asked.as_ref().and_then(|asked| asked.level);
    let first = first_of(env, ledger.project(), level)?;
    let forked =
        context.start().and_then(|start| start.blocked_beside.first()).filter(|_| event.source() == "fork");
    let inherited = forked.map(|(id, reason)| {
        Fact::Block(Blocked { by: format!("fork of blocked session {id}"), reason: reason.clone() })
    });
    let facts = [Fact::Open(first)].into_iter().chain(inherited).chain(asked.map(Fact::Mode));
    ledger.append(env, facts.collect())
}

/// A session whose start we did not see may be a fork of a blocked one. Checked until that is recorded.
fn inherit(env: &Reading, event: &Event, ledger: &mut Ledger) -> Result<(), Failure> {
    let memory = &ledger.session().memory;
    let known = memory.client.unstarted || !memory.place.root.is_empty();
    if known || ledger.session().blocked().is_some() {
        return Ok(());
    }
    let Some((id, reason)) = same_project::blocked_beside(env, ledger, event, true)?.into_iter().next()
    else {
        return Ok(());
    };
    let by = format!("perhaps a fork of blocked session {id}");
    ledger.append(env, vec![Fact::Block(Blocked { by, reason })])
}

/// The first entry of a ledger that begins now, in this folder.
pub fn first_entry(
    env: &Env,
    cwd: &Path,
    project: String,
    chosen: Option<ModeLevel>,
) -> Result<Opened, Failure> {
    first_of(&Reading::new(env, cwd), project, chosen)
}

fn first_of(env: &Reading, project: String, chosen: Option<ModeLevel>) -> Result<Opened, Failure> {
    let (policy, policy_hash) = policy_in_force(env, chosen, "")?;
    Ok(Opened {
        binary: env!("CARGO_PKG_VERSION").to_owned(),
        boot: boot_id(),
        folders: env.folders.iter().cloned().collect(),
        format: FORMAT,
        policy,
        policy_hash,
        previous: None,
        project,
    })
}
