//! The verdict of a gate, and how several are joined: the strictest wins.
//!
//! Reads nothing, writes nothing. Invariant: joining never makes anything laxer, and `Pass` is silence.

use crate::model::debt::Debt;
use crate::model::gate_id::GateId;
use crate::model::named::named;
use crate::text::template::Phrase;

named! {
    /// From silence to refusal, in rising order of strictness.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Ruling {
        #[default]
        Pass = "pass",
        /// Skips the user's own permission prompt, so it needs a reason: a person approved this very call.
        Allow = "allow",
        /// A person decides.
        Ask = "ask",
        /// A person decides later: the run pauses without making the call.
        Defer = "defer",
        Deny = "deny",
    }
}

/// One ruling with its reason, and what else goes to the model and the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub ruling: Ruling,
    /// Who spoke; `None` for silence.
    pub gate: Option<GateId>,
    /// The gate's rule, if it has several.
    pub rule: Option<String>,
    /// For the model: what was refused and the next step.
    pub reason: String,
    /// For the model, in addition to any ruling.
    pub context: String,
    /// For the model after a call has ended: its result is not what it seems. The client shows it as an error
    /// of ours.
    pub feedback: String,
    /// For the user only.
    pub notice: String,
    /// The notice of a refusal is also written to stderr: a person may see nothing else of the run.
    pub aloud: bool,
    /// It would be a refusal if its gate were enforced.
    pub softened: bool,
    /// Ends the turn.
    pub halt: bool,
    /// Set if the reason, or without one the notice, is a shipped text that `hook` fills in.
    pub phrase: Option<Phrase>,
    /// What a task still owes: name and line of each debt, for the list in the reason.
    pub debts: Vec<Debt>,
    /// The complete new input of the call.
    pub input: Option<String>,
    /// Mode `observe`: what the rehearsed mode would have refused. It is recorded, and nobody is told.
    pub rehearsed: Option<Box<Verdict>>,
    /// Hosts on no list are part of the question.
    pub asks_hosts: bool,
}

/// What a call would lose, kept before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptFirst {
    /// The danger rule that would ask otherwise.
    pub rule: Option<String>,
    pub files: u64,
    pub bytes: u64,
}

impl Verdict {
    pub fn pass() -> Self {
        Self::default()
    }

    pub fn deny(gate: GateId, reason: impl Into<String>) -> Self {
        Self { ruling: Ruling::Deny, gate: Some(gate), reason: reason.into(), ..Self::default() }
    }

    /// A refusal with a shipped text.
    pub fn refuse(gate: GateId, phrase: Phrase) -> Self {
        Self { ruling: Ruling::Deny, gate: Some(gate), phrase: Some(phrase), ..Self::default() }
    }

    /// A refusal that also ends the turn.
    pub fn halt(gate: GateId, reason: impl Into<String>) -> Self {
        Self { halt: true, ..Self::deny(gate, reason) }
    }

    pub fn notice(gate: GateId, text: impl Into<String>) -> Self {
        Self { gate: Some(gate), notice: text.into(), ..Self::default() }
    }

    pub fn feedback(gate: GateId, text: impl Into<String>) -> Self {
        Self { gate: Some(gate), feedback: text.into(), ..Self::default() }
    }

    pub fn context(gate: GateId, text: impl Into<String>) -> Self {
        Self { gate: Some(gate), context: text.into(), ..Self::default() }
    }

    /// A refusal, reduced to a warning.
    #[must_use]
    pub fn soften(self) -> Self {
        if self.ruling < Ruling::Ask {
            return self;
        }
        let notice = if self.reason.is_empty() {
            String::new()
        } else {
            format!("not enforced here; otherwise this would be blocked: {}", self.reason)
        };
        Self { ruling: Ruling::Pass, reason: String::new(), notice, halt: false, softened: true, ..self }
    }

    /// The stricter of the two wins; at equal strictness the first. Context and notices add up.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        let (mut first, second) = if other.ruling > self.ruling { (other, self) } else { (self, other) };
        first.gate = first.gate.or(second.gate);
        first.aloud |= second.aloud;
        first.halt |= second.halt;
        first.softened |= second.softened && first.ruling == Ruling::Pass;
        if first.phrase.is_none() && first.reason.is_empty() {
            first.phrase = second.phrase;
            first.debts = second.debts;
        }
        first.input = first.input.or(second.input);
        first.rehearsed = first.rehearsed.or(second.rehearsed);
        add(&mut first.context, &second.context);
        add(&mut first.feedback, &second.feedback);
        add(&mut first.notice, &second.notice);
        first
    }
}

fn add(to: &mut String, more: &str) {
    if !more.is_empty() && to != more {
        if !to.is_empty() {
            to.push('\n');
        }
        to.push_str(more);
    }
}
