//! Reads a whole ledger back: the question and the answer of each batch.
//!
//! Reads one ledger, writes nothing. Invariants: one batch is one event; reading stops at a line that is not
//! an entry, and `verify` says more about it.

use super::complain;
use anyhow::Context;
use aops_core::gate::sandbox;
use aops_core::ledger::entry::Line;
use aops_core::ledger::open::Recent;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::ledger::sessions::SessionOnDisk;
use aops_core::model::call::{CallState, ToolCall};
use aops_core::model::error::Code;
use aops_core::model::event::EventKind;
use aops_core::model::gate_id::GateId;
use aops_core::model::named::Stored;
use aops_core::model::verdict::Ruling;
use aops_core::session::fact::{Fact, Said, Seen, Step, Violation, ViolationKind};
use aops_core::session::fold::Session;
use aops_core::session::question;
use aops_core::system::files;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Entries that were committed together.
pub type Batch = Vec<Recent>;

/// The ledger's lines; a link at its path is not followed.
pub fn open(shelved: &SessionOnDisk) -> anyhow::Result<BufReader<File>> {
    let path = shelved.path.join(LEDGER_FILE);
    let file = files::open_itself(&path, File::options().read(true));
    Ok(BufReader::new(file.with_context(|| format!("`{}`", path.display()))?))
}

/// Reports the damage of a ledger that was shown anyway. Returns the exit code. A ledger recorded by another
/// version is not damaged.
pub fn tell_damage(damage: &str, session_id: &str) -> u8 {
    let other =
        [Code::WrittenByNewer, Code::WrittenByOlder].iter().any(|code| damage.starts_with(code.name()));
    complain(&format!("{damage}\nhint: `aops-hook verify {session_id}` says more"), if other { 0 } else { 4 })
}

/// Every batch, oldest first.
pub fn batches(shelved: &SessionOnDisk) -> anyhow::Result<Vec<Batch>> {
    let mut reader = open(shelved)?;
    let mut batches = Vec::new();
    let mut batch = Vec::new();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let Some(entry) = line.strip_suffix(b"\n").and_then(Line::read) else { break };
        let Some(fact) = Fact::read(entry.kind, entry.with) else { break };
        batch.push(Recent { seq: entry.seq, ts: entry.ts.to_owned(), kind: entry.kind.to_owned(), fact });
        if entry.mark.is_some() {
            batches.push(std::mem::take(&mut batch));
        }
        line.clear();
    }
    Ok(batches)
}

/// Folds one batch. What a damaged ledger cannot fold is left out: this is for people who look back, not for
/// gates.
pub fn fold(session: &mut Session, trace: &str, batch: &Batch) {
    for entry in batch {
        let _ = session.apply(trace, &entry.ts, &entry.fact);
    }
}

/// What was asked, and the answer.
#[derive(Debug)]
pub struct Answered<'a> {
    pub seq: u64,
    pub ts: &'a str,
    pub event: &'a str,
    pub asked: Asked<'a>,
    /// The subagent in which it was asked; `None` for the main agent.
    pub agent: Option<&'a str>,
    pub ruling: Stored<Ruling>,
    /// Empty if no gate decided.
    pub gate: Stored<GateId>,
    pub reason: &'a str,
    /// In mode `observe`: what the rehearsed mode would have said.
    pub rehearsed: Option<&'a Said>,
}

#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    Call(&'a Step),
    Event(&'a Seen),
    /// A second call under the id of one that was running or had ended; its input was not kept.
    Again(&'a Violation),
}

impl Answered<'_> {
    pub fn refused(&self) -> bool {
        self.ruling == Ruling::Deny
    }

    /// The user's rules that warned about the call.
    pub fn warned(&self) -> &[String] {
        if let Asked::Call(step) = self.asked { step.warned() } else { &[] }
    }

    /// Shows the rehearsed mode's answer instead, if the call was let through.
    #[must_use]
    pub fn as_rehearsed(self) -> Self {
        match self.rehearsed {
            Some(would) if !self.refused() => {
                Self { gate: would.gate.clone(), reason: &would.reason, ..self }
            }
            _ => Self { rehearsed: None, ..self },
        }
    }
}

/// The answer in this batch; `None` if the batch answers no event: the end of a call, a command, a repair.
pub fn find_answer(batch: &Batch) -> Option<Answered<'_>> {
    batch.iter().find_map(|entry| match &entry.fact {
        Fact::Call(step) if step.from.is_none() => Some(call(batch, entry, step)),
        Fact::Event(seen) => {
            let agent = seen.agent_id.as_ref().and(seen.agent_type.as_deref());
            let rehearsed = seen.rehearsed.as_ref();
            Some(Answered {
                agent,
                rehearsed,
                ..answer(entry, seen.event.name(), Asked::Event(seen), seen.said.as_ref())
            })
        }
        Fact::Violation(second) if second.said.is_some() => {
            Some(answer(entry, second.event.name(), Asked::Again(second), second.said.as_ref()))
        }
        _ => None,
    })
}

/// How the question of this batch was answered, if it was a question; the last answer counts.
pub fn human_answer<'a>(answered: &Answered, since: &'a [Batch]) -> Option<&'a question::Answered> {
    let Asked::Call(asked) = answered.asked else { return None };
    let mut answers = since.iter().flatten().filter_map(|entry| match &entry.fact {
        Fact::Answer(given) if given.call == asked.call => Some(given),
        _ => None,
    });
    answers.next_back().filter(|_| answered.ruling == Ruling::Ask)
}

fn call<'a>(batch: &'a Batch, first: &'a Recent, asked: &'a Step) -> Answered<'a> {
    let mut later = batch.iter().filter_map(|entry| match &entry.fact {
        Fact::Call(step) if step.call == asked.call && step.from == Some(CallState::Pending) => {
            Some((entry, step))
        }
        _ => None,
    });
    let (entry, step) = later.next_back().unwrap_or((first, asked));
    Answered {
        agent: asked.agent_id.as_ref().and(asked.agent_type.as_deref()),
        ruling: Stored::Known(match step.to {
            CallState::Denied => Ruling::Deny,
            CallState::Pending => Ruling::Ask,
            _ => Ruling::Pass,
        }),
        gate: step.gate.clone().unwrap_or_default(),
        reason: step.reason.as_deref().unwrap_or_default(),
        rehearsed: asked.rehearsed.as_ref(),
        ..answer(entry, "PreToolUse", Asked::Call(asked), None)
    }
}

fn answer<'a>(entry: &'a Recent, event: &'a str, asked: Asked<'a>, said: Option<&'a Said>) -> Answered<'a> {
    let ruling = said.map_or(Ruling::Pass.into(), |said| said.ruling.clone());
    let gate = said.map(|said| said.gate.clone()).unwrap_or_default();
    let reason = said.map_or("", |said| &said.reason);
    Answered {
        seq: entry.seq,
        ts: &entry.ts,
        event,
        asked,
        agent: None,
        ruling,
        gate,
        reason,
        rehearsed: None,
    }
}

/// What was asked, on one line: `Write: src/a.rs`, `the end of the turn`.
pub fn describe_question(answered: &Answered) -> String {
    match answered.asked {
        Asked::Call(step) => {
            let input = step.input().map_or("{}", |input| input.get()).to_owned();
            sandbox::shown(&ToolCall { key: step.call.clone(), input, ..ToolCall::default() })
        }
        Asked::Event(seen) => match EventKind::of(answered.event) {
            EventKind::Stop => "the end of the turn".to_owned(),
            EventKind::SubagentStop => format!("the end of `{}`", answered.agent.unwrap_or("an agent")),
            EventKind::UserPromptSubmit => {
                format!("the prompt: {}", seen.words("prompt").unwrap_or_default())
            }
            _ => answered.event.to_owned(),
        },
        Asked::Again(second) if second.kind == ViolationKind::AskedAgain => {
            "a call that had ended, again".to_owned()
        }
        Asked::Again(_) => "a second call under the id of one that was running".to_owned(),
    }
}
