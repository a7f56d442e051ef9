//! How questions to a person and their answers change the session.
//!
//! Changes a session and nothing else. Invariant: a call is counted once, by the last answer to it.

use super::Session;
use crate::model::call::CallState;
use crate::session::memory::OpenCall;
use crate::session::question::{Answered, Answerer, Asked, Question, Questions, Unproven};
use crate::text::plain;

/// How many answers may wait for proof. At this number every further call looks for proof; if there is none,
/// the oldest is dropped and never attributed to anybody.
const MOST_UNPROVEN: usize = 32;
/// How many files of secrets are remembered; the oldest then needs approval again.
const MOST_SECRETS: usize = 16;

impl Session {
    /// `41 lines answered, 12 prompts seen`. They are never added up: not every answered line would have been
    /// a prompt.
    pub fn describe_quiet(&self) -> Option<String> {
        let quiet = self.memory.questions.quiet.as_ref()?;
        let off = quiet.off.as_ref().map(|why| format!("; off: {why}")).unwrap_or_default();
        let seen = plain::count(self.memory.questions.seen, "prompt");
        Some(format!("{} answered, {seen} seen{off}", plain::count(quiet.answered, "line")))
    }

    /// Something went wrong, so no call is answered in the person's place any more.
    pub fn is_quiet_off(&self) -> bool {
        self.memory.questions.quiet.as_ref().is_some_and(|quiet| quiet.off.is_some())
    }

    /// Calls that a person was asked about and that have no answer yet.
    pub fn open_questions(&self) -> impl Iterator<Item = (&OpenCall, &Question)> {
        let waits = self.memory.calls.iter().filter(|open| open.state == CallState::Pending);
        waits.filter_map(|open| Some((open, open.question.as_ref()?)))
    }

    /// So many answers already wait for proof that another one would push out the oldest.
    pub fn must_prove_answers(&self) -> bool {
        self.memory.questions.unproven.len() >= MOST_UNPROVEN
    }

    pub(super) fn apply_question(&mut self, ts: &str, asked: &Asked) {
        self.memory.questions.asked += 1;
        if let Some(open) = self.memory.calls.iter_mut().find(|open| open.call == asked.call) {
            let Asked { gate, line, rule, secret, .. } = asked.clone();
            open.question = Some(Question { gate, line, rule, secret, since: ts.to_owned() });
        }
    }

    pub(super) fn apply_answer(&mut self, answered: &Answered) {
        let open = self.open_call(&answered.call);
        let since = open.and_then(|open| open.question.as_ref()).map(|question| question.since.clone());
        let agent_id = open.and_then(|open| open.agent_id.clone());
        let questions = &mut self.memory.questions;
        if let Some(at) = questions.unproven.iter().position(|known| known.answered.call == answered.call) {
            let old = questions.unproven.remove(at).answered;
            let count = count(questions, old.allowed);
            *count = count.saturating_sub(1);
        }
        *count(questions, answered.allowed) += 1;
        if let Some(since) = since.filter(|_| answered.by == Answerer::Unknown) {
            questions.unproven.push(Unproven { agent_id, answered: answered.clone(), since });
            questions.unproven.drain(..questions.unproven.len().saturating_sub(MOST_UNPROVEN));
        }
        if let Some(secret) = &answered.secret {
            let by_person = matches!(answered.by, Answerer::Person | Answerer::Unknown);
            questions.secrets.retain(|known| known != secret);
            questions.secrets.extend((answered.allowed && by_person).then(|| secret.clone()));
            questions.secrets.drain(..questions.secrets.len().saturating_sub(MOST_SECRETS));
        }
        questions.last = Some(answered.clone());
    }
}

fn count(questions: &mut Questions, allowed: bool) -> &mut u64 {
    if allowed { &mut questions.allowed } else { &mut questions.refused }
}
