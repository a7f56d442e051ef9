//! Makes the lines of `log` from entries: the steps of a call become one.
//!
//! Reads lines of a ledger, writes nothing. Invariant: each entry that is not a step of a call is shown once,
//! and each call once.

use super::{Fact, Line, Tone};
use aops_core::model::call::{CallKey, CallState};
use aops_core::model::event::EventKind;
use aops_core::model::named::join_names;
use aops_core::model::profile::Profile;
use aops_core::model::verdict::Ruling;
use aops_core::session::describe::{describe_call, describe_fact, describe_warnings};
use aops_core::session::fact::{NO_EFFECT, Said, Seen, Step};
use aops_core::session::phase_end::PhaseChange;
use aops_core::session::question::{Answered, Answerer};
use aops_core::text::template::one_line;
use aops_core::text::time;
use std::collections::BTreeMap;

/// Longer prompts are cut.
const LONGEST_PROMPT: usize = 2000;

/// One line: what happened, and every word of a refusal.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Told {
    pub(in crate::cli) seq: u64,
    pub(in crate::cli) ts: String,
    pub(in crate::cli) word: String,
    pub(in crate::cli) text: String,
    pub(in crate::cli) reason: Option<String>,
    pub(in crate::cli) tone: Tone,
    pub(in crate::cli) tool: String,
    pub(in crate::cli) refused: bool,
    /// A person was asked about it.
    pub(in crate::cli) asked: bool,
    /// Routine bookkeeping by the client or by us.
    pub(in crate::cli) no_news: bool,
    /// With `--json`: the entry exactly as in the ledger.
    pub(in crate::cli) raw: Option<Vec<u8>>,
}

/// A call that has begun.
struct Begun {
    seq: u64,
    ts: String,
    first: Step,
    ended: String,
    answer: Option<Answered>,
}

#[derive(Default)]
pub(in crate::cli) struct Teller {
    open: Vec<Begun>,
    /// Answers from the rest of the ledger, by call; the last one counts.
    known: BTreeMap<String, Answered>,
}

impl Teller {
    /// Reads from a later entry who answered a question.
    pub(in crate::cli) fn learn(&mut self, line: &[u8]) {
        let Some(entry) =
            line.strip_suffix(b"\n").and_then(Line::read).filter(|entry| entry.kind == "answer")
        else {
            return;
        };
        if let Some(Fact::Answer(answered)) = Fact::read(entry.kind, entry.with) {
            self.known.insert(answered.call.id.clone(), answered);
        }
    }

    /// The line that this entry completes, if any. `raw`: each entry is a line of its own.
    pub(in crate::cli) fn take(&mut self, line: &[u8], root: &str, raw: bool) -> Option<Told> {
        let Some(entry) = line.strip_suffix(b"\n").and_then(Line::read) else {
            let text = "(not an entry: `aops-hook verify` says more)".to_owned();
            return Some(Told { text, tone: Tone::Bad, raw: raw.then(|| line.to_vec()), ..Told::default() });
        };
        let seq = entry.seq;
        let ts = entry.ts.to_owned();
        let base = Told { seq, ts, word: entry.kind.to_owned(), ..Told::default() };
        let Some(fact) = Fact::read(entry.kind, entry.with) else {
            return Some(Told { tone: Tone::Bad, raw: raw.then(|| line.to_vec()), ..base });
        };
        if raw {
            let tool = tool(&fact);
            let refused = is_refusal(&fact);
            let asked = matches!(fact, Fact::Question(_) | Fact::Answer(_));
            return Some(Told { tool, refused, asked, raw: Some(line.to_vec()), ..base });
        }
        let change = PhaseChange::read(entry.with);
        let ends = change.ends().map(|end| format!("  [{} ends: {}]", end.phase.name(), end.outcome));
        let ended = ends.collect::<Vec<_>>().concat();
        match fact {
            Fact::Call(step) => self.step(base, &step, ended, root),
            Fact::Event(seen) => Some(tell_event(base, &seen, &ended)),
            // Shown with its call.
            Fact::Question(_) => None,
            Fact::Answer(answered) => self.answer(base, answered),
            fact => {
                let tone = tone(&fact);
                let reason = match &fact {
                    Fact::Violation(second) => second.said.as_ref().map(|said| said.reason.clone()),
                    Fact::Verdict(report) => {
                        report.finding.as_ref().map(|finding| finding.problems.join("\n"))
                    }
                    _ => None,
                };
                let refused = is_refusal(&fact);
                let no_news = ended.is_empty() && matches!(fact, Fact::Insights(_) | Fact::Snapshot(_));
                let text = describe_fact(&fact, LONGEST_PROMPT) + &ended;
                Some(Told { text, reason, tone, refused, no_news, ..base })
            }
        }
    }

    fn step(&mut self, base: Told, step: &Step, ended: String, root: &str) -> Option<Told> {
        if step.from.is_none() {
            self.open.retain(|known| known.first.call != step.call);
            let first = step.clone();
            let ended = ended.clone();
            self.open.push(Begun { seq: base.seq, ts: base.ts.clone(), first, ended, answer: None });
        } else if let Some(known) = self.find(&step.call) {
            known.ended.push_str(&ended);
        }
        if !step.to.is_terminal() {
            return None;
        }
        let at = self.open.iter().position(|known| known.first.call == step.call);
        let (first, ended, answer) = match at.map(|at| self.open.remove(at)) {
            Some(known) => (known.first, known.ended, known.answer),
            None => (step.clone(), ended, None),
        };
        let answer = answer.map(|answer| self.known.get(&step.call.id).cloned().unwrap_or(answer));
        Some(tell_call(base, &first, step, answer.as_ref(), &ended, root))
    }

    /// The answer to a question is shown with its call; an answer proven later only if it says something new.
    fn answer(&mut self, base: Told, answered: Answered) -> Option<Told> {
        if let Some(known) = self.find(&answered.call) {
            known.answer = Some(answered);
            return None;
        }
        let no_news = !answered.is_overridden();
        let tone = if no_news { Tone::Quiet } else { Tone::Bad };
        let text = answered.tell(LONGEST_PROMPT);
        Some(Told { text, tone, no_news, asked: true, tool: answered.call.tool, ..base })
    }

    fn find(&mut self, key: &CallKey) -> Option<&mut Begun> {
        self.open.iter_mut().find(|known| known.first.call == *key)
    }

    /// Calls without a recorded end.
    pub(in crate::cli) fn still_open(&self, root: &str) -> Vec<Told> {
        let told = |known: &Begun| {
            let base = Told { seq: known.seq, ts: known.ts.clone(), tone: Tone::Quiet, ..Told::default() };
            let asked = known.first.reason.is_some();
            let word = if asked { "asked" } else { "no end" }.to_owned();
            let text = describe(&known.first, root) + &known.ended;
            let tool = known.first.call.tool.clone();
            Told { word, text, tool, asked, reason: known.first.reason.clone(), ..base }
        };
        self.open.iter().map(told).collect()
    }
}

/// What was called, and by whom.
fn describe(first: &Step, root: &str) -> String {
    let who = first.agent_type.as_deref().map(|name| format!("  (by {})", one_line(name, 64)));
    describe_call(first, root) + &who.unwrap_or_default()
}

fn tell_call(
    base: Told,
    first: &Step,
    last: &Step,
    answer: Option<&Answered>,
    ended: &str,
    root: &str,
) -> Told {
    let unseen = last.to == CallState::Failed && last.reason.as_deref() == Some(NO_EFFECT);
    let (word, tone) = match last.to {
        _ if unseen => ("no end", Tone::Quiet),
        CallState::Denied => ("refused", Tone::Bad),
        CallState::Failed => ("failed", Tone::Bad),
        _ if last.is_unsaved() => ("not saved", Tone::Warn),
        _ if first.rehearsed.is_some() || !first.warned().is_empty() => ("done", Tone::Warn),
        _ => ("done", Tone::Plain),
    };
    let mut text = describe(first, root);
    let long = last.ended().duration_ms.and_then(|ms| i64::try_from(ms).ok()).filter(|ms| *ms >= 1000);
    text.extend(long.map(|ms| format!("  {}", time::age(ms))));
    let refused = last.to == CallState::Denied;
    let gate = last.gate.as_ref().filter(|_| refused).map(|gate| format!("  [{gate}]"));
    text.extend(gate);
    text.extend(answer.map(|answer| format!("  [{}: {}]", answer.asker(), answer.describe())));
    text.push_str(ended);
    // Says that all changes of the call are gone, even those that nobody would miss.
    let tried = last.ended().under.jailed.as_ref().is_some_and(|proof| proof.profile == Profile::Trial);
    text.extend(tried.then_some("  [throwaway layer]"));
    text.extend(last.lost().map(|lost| format!("  {}", one_line(&lost.describe(), 300))));
    let failed = last.reason.as_deref().filter(|_| last.to == CallState::Failed && !unseen);
    text.extend(failed.map(|why| format!("  {}", one_line(why, 300))));
    // If a question was answered with no, shows what was asked.
    let why = if answer.is_some() { &first.reason } else { &last.reason };
    let reason = why.clone().filter(|_| refused).or_else(|| first.rehearsed.as_ref().map(would));
    let reason = reason.or_else(|| describe_warnings(first.warned()));
    Told {
        word: word.to_owned(),
        text,
        reason,
        tone,
        tool: first.call.tool.clone(),
        refused: refused || first.rehearsed.is_some(),
        asked: answer.is_some(),
        ..base
    }
}

/// What the rehearsed mode would have done.
fn would(said: &Said) -> String {
    format!("`{}` would {} this: {}", said.gate, said.verb(), said.reason)
}

fn tell_event(base: Told, seen: &Seen, ended: &str) -> Told {
    let agent = || one_line(seen.agent_type.as_deref().unwrap_or("an agent"), 64);
    let about = |name: &str| seen.words(name).unwrap_or_default();
    let (word, text) = match seen.kind() {
        EventKind::UserPromptSubmit => ("prompt", one_line(&about("prompt"), LONGEST_PROMPT)),
        EventKind::SessionStart => ("start", about("source")),
        EventKind::SessionEnd => ("end", about("reason")),
        EventKind::SubagentStart => ("agent", format!("`{}` starts", agent())),
        EventKind::SubagentStop => ("agent", format!("`{}` ends", agent())),
        EventKind::Stop => ("stop", "the turn ends".to_owned()),
        EventKind::StopFailure => {
            ("failed", format!("the turn broke off: {}", one_line(&about("error"), 300)))
        }
        _ => ("event", seen.event.to_string()),
    };
    let spoke = seen.said.as_ref().filter(|said| said.ruling != Ruling::Pass);
    let refused = seen.is_refused();
    let gate = spoke.map(|said| format!("  [{}]", said.gate)).unwrap_or_default();
    let reason = spoke.map(|said| said.reason.clone()).or_else(|| seen.rehearsed.as_ref().map(would));
    let owed = seen.owed().filter(|owed| refused && word == "stop" && !owed.is_empty());
    let text = match owed {
        // What keeps the turn from ending matters more than the gate, or than the success of the work before.
        Some(owed) => format!("{text}, and owes {}", join_names(owed)),
        None if refused && word == "event" => text,
        None => text + &gate,
    };
    let ended = if owed.is_some() { "" } else { ended };
    let (word, text) = match (refused, word) {
        (false, word) => (word, text),
        (true, "event") => ("refused", text + &gate),
        (true, word) => ("refused", format!("{word}: {text}")),
    };
    let tone = tone(&Fact::Event(Box::new(seen.clone())));
    let refused = refused || seen.rehearsed.is_some();
    let no_news = ended.is_empty() && reason.is_none() && is_no_news(seen);
    Told { word: word.to_owned(), text: text + ended, reason, tone, refused, no_news, ..base }
}

/// Whether it is the client's own bookkeeping.
fn is_no_news(seen: &Seen) -> bool {
    match seen.kind() {
        EventKind::PostToolBatch => true,
        EventKind::UserPromptSubmit => !seen.is_persons_prompt(),
        _ => false,
    }
}

fn tool(fact: &Fact) -> String {
    match fact {
        Fact::Call(step) => step.call.tool.clone(),
        Fact::Question(asked) => asked.call.tool.clone(),
        Fact::Answer(answered) => answered.call.tool.clone(),
        _ => String::new(),
    }
}

fn is_refusal(fact: &Fact) -> bool {
    let denied = |said: &Option<Said>| said.as_ref().is_some_and(Said::refuses);
    match fact {
        Fact::Call(step) => step.to == CallState::Denied || step.rehearsed.is_some(),
        Fact::Event(seen) => denied(&seen.said) || seen.rehearsed.is_some(),
        Fact::Answer(answered) => !answered.allowed,
        Fact::Violation(second) => denied(&second.said),
        _ => false,
    }
}

fn tone(fact: &Fact) -> Tone {
    match fact {
        Fact::Event(seen) => match seen.said.as_ref().and_then(|said| said.ruling.known()) {
            Some(Ruling::Deny) => Tone::Bad,
            Some(Ruling::Ask | Ruling::Defer) => Tone::Warn,
            _ if seen.rehearsed.is_some() => Tone::Warn,
            _ if seen.kind() == EventKind::UserPromptSubmit => Tone::Strong,
            _ => Tone::Plain,
        },
        Fact::Check(run) if run.failed() => Tone::Bad,
        Fact::Block(_) | Fact::Violation(_) => Tone::Bad,
        Fact::Unblock(_) | Fact::Check(_) => Tone::Good,
        Fact::Verdict(_) => Tone::Strong,
        Fact::Mode(_)
        | Fact::Recovery(_)
        | Fact::Waive(_)
        | Fact::Task(_)
        | Fact::Run(_)
        | Fact::Rollback(_)
        | Fact::Undo(_)
        | Fact::Network(_)
        | Fact::Question(_) => Tone::Warn,
        Fact::Insights(_) | Fact::Snapshot(_) => Tone::Quiet,
        Fact::Answer(answered) if answered.by == Answerer::Hook => Tone::Bad,
        Fact::Open(_)
        | Fact::Checkpoint(_)
        | Fact::Commit(_)
        | Fact::Attest(_)
        | Fact::Call(_)
        | Fact::Answer(_) => Tone::Plain,
    }
}
