//! Questions that a gate put to a person about a call, and how they were answered.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order. Invariant: an unproven answer is
//! attributed to nobody; the client's own record may prove it later, and then that counts.

use crate::model::call::CallKey;
use crate::model::gate_id::GateId;
use crate::model::named::{Stored, named};
use crate::session::quiet_count::QuietCount;
use crate::text::plain::is_zero;
use crate::text::template::one_line;
use crate::text::time;
use serde::{Deserialize, Serialize};

named! {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Answerer {
        /// We do not know yet.
        #[default]
        Unknown = "unknown",
        Person = "person",
        /// Another program's hook.
        Hook = "hook",
        /// A permission rule of the client's settings.
        Config = "config",
        /// The client itself, for example in mode `auto`.
        Client = "client",
    }
}

/// A gate asks a person about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub call: CallKey,
    pub gate: Stored<GateId>,
    /// The call on one line, redacted.
    pub line: String,
    /// The rule, if the gate has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The file of secrets, if the question is only about that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretFile>,
}

/// The answer; a second one for the same call corrects the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub allowed: bool,
    pub by: Answerer,
    pub call: CallKey,
    pub gate: Stored<GateId>,
    pub line: String,
    /// Time from the question to the answer, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The file of secrets, if the question was only about that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretFile>,
}

/// A file of secrets, and what is done with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretFile {
    pub path: String,
    /// Its content is shown.
    pub reads: bool,
}

/// A question that waits for its answer, with its call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub gate: Stored<GateId>,
    pub line: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The file of secrets, if the question is only about that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretFile>,
    pub since: String,
}

/// An answer that nobody is known to have given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unproven {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub answered: Answered,
    pub since: String,
}

/// The questions of a session so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Questions {
    pub allowed: u64,
    pub asked: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Answered>,
    /// Calls that were answered in the person's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietCount>,
    pub refused: u64,
    /// Files of secrets that a person approved for the current task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretFile>,
    /// How many prompts of the client a person saw, whatever caused them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seen: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<Unproven>,
    /// A command was refused a host that a person may approve; the broker's notes say which line wanted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_hosts: bool,
}

/// What the client's own record says about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The call's ID.
    pub call: String,
    pub allowed: bool,
    pub by: Answerer,
    pub at_ms: Option<i64>,
}

impl Question {
    /// The answer to this question, given at `at_ms`.
    pub fn answer(&self, call: &CallKey, allowed: bool, by: Answerer, at_ms: Option<i64>) -> Answered {
        Answered {
            allowed,
            by,
            call: call.clone(),
            gate: self.gate.clone(),
            line: self.line.clone(),
            ms: waited(&self.since, at_ms),
            rule: self.rule.clone(),
            secret: self.secret.clone(),
        }
    }
}

impl Unproven {
    /// The answer as the client recorded it. A call that was made was not refused: in that case a refusal in
    /// the record is not about this answer.
    pub fn proven(&self, decision: &Decision) -> Option<Answered> {
        if self.answered.allowed && !decision.allowed {
            return None;
        }
        let exact = waited(&self.since, decision.at_ms).filter(|_| !decision.allowed);
        let allowed = decision.allowed;
        let by = decision.by;
        let ms = exact.or(self.answered.ms);
        Some(Answered { allowed, by, ms, ..self.answered.clone() })
    }
}

impl Answered {
    /// Another program's hook approved in the person's place.
    pub fn is_overridden(&self) -> bool {
        self.allowed && self.by == Answerer::Hook
    }

    /// What asked: `danger rule git-discard`, `guard`.
    pub fn asker(&self) -> String {
        match &self.rule {
            Some(rule) if self.gate == GateId::Rules => format!("rule {rule}"),
            Some(rule) => format!("{} rule {rule}", self.gate),
            None => self.gate.to_string(),
        }
    }

    /// `approved by a person after 4s`
    pub fn describe(&self) -> String {
        let verb = if self.allowed { "approved" } else { "rejected" };
        let by = match self.by {
            Answerer::Unknown if self.allowed => "",
            Answerer::Unknown => " or left unanswered",
            Answerer::Person => " by a person",
            Answerer::Hook => " by another hook",
            Answerer::Config => " by a permission rule",
            Answerer::Client => " by the client",
        };
        let after =
            self.ms.and_then(|ms| i64::try_from(ms).ok()).map(|ms| format!(" after {}", time::age(ms)));
        format!("{verb}{by}{}", after.unwrap_or_default())
    }

    /// Answer, line and asker on one line.
    pub fn tell(&self, longest: usize) -> String {
        one_line(&format!("{}: {} (asked by {})", self.describe(), self.line, self.asker()), longest)
    }
}

fn waited(since: &str, at_ms: Option<i64>) -> Option<u64> {
    u64::try_from(at_ms? - time::parse(since)?).ok()
}
