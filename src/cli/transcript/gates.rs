//! The gates' answers in a session, from its ledger.
//!
//! Reads one ledger. Calls are found by their id, everything else by its time.

use crate::insight::collect;
use crate::insight::tally::words;
use crate::ledger::recover::LEDGER_FILE;
use crate::model::call::CallState;
use crate::session::fact::Fact;
use crate::text::time;
use std::collections::HashMap;
use std::path::Path;

/// An answer of a gate, or another event that the transcript shows.
#[derive(Debug)]
pub(super) struct GateNote {
    pub(super) at_ms: i64,
    pub(super) text: String,
    /// Shown only if there is no transcript.
    pub(super) alone: bool,
}

/// How a call ended, from the ledger.
#[derive(Debug, Default)]
pub(super) struct CallEnd {
    pub(super) state: Option<CallState>,
    pub(super) duration_ms: Option<u64>,
    pub(super) gate: Option<String>,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct GateNotes {
    pub(super) notes: Vec<GateNote>,
    pub(super) calls: HashMap<String, CallEnd>,
}

impl GateNotes {
    pub(super) fn of(folder: &Path) -> std::io::Result<Self> {
        let mut gates = Self::default();
        collect::entries(&folder.join(LEDGER_FILE), |line, fact| {
            gates.add(time::parse(line.ts).unwrap_or(0), fact);
        })?;
        Ok(gates)
    }

    fn add(&mut self, at_ms: i64, fact: &Fact) {
        let mut say = |text: String, alone: bool| self.notes.push(GateNote { at_ms, text, alone });
        match fact {
            Fact::Event(seen) => {
                if let Some(said) = seen.said.as_ref().filter(|said| !said.reason.is_empty()) {
                    say(format!("`{}` {} {}: {}", said.gate, past_tense(&said.ruling), seen.event, said.reason), false);
                }
                if let Some(prompt) = words(seen, "prompt").filter(|_| seen.event == "UserPromptSubmit") {
                    say(format!("**Prompt.** {prompt}"), true);
                }
            }
            Fact::Call(step) if step.to == CallState::Pending => {
                let input = step.input.as_ref().map_or("{}", |input| input.get());
                say(format!("**{}** {input}", step.call.tool), true);
            }
            Fact::Call(step) if step.to.is_terminal() => {
                let refused = step.to == CallState::Denied;
                self.calls.insert(
                    step.call.id.clone(),
                    CallEnd {
                        state: Some(step.to),
                        duration_ms: step.duration_ms,
                        gate: step.gate.clone().filter(|_| refused),
                        reason: step.reason.clone(),
                    },
                );
                if let Some(gate) = step.gate.as_ref().filter(|_| refused) {
                    let reason = step.reason.as_deref().unwrap_or_default();
                    self.notes.push(GateNote {
                        at_ms,
                        text: format!("`{gate}` refused {}: {reason}", step.call.tool),
                        alone: true,
                    });
                }
            }
            Fact::Block(block) => say(format!("blocked by {}: {}", block.by, block.reason), false),
            Fact::Unblock(lifted) => say(format!("block lifted by {}", lifted.by), false),
            Fact::Waive(waiver) => say(format!("`{}` waived: {}", waiver.gate, waiver.reason), false),
            Fact::Verdict(report) => {
                if let Some(verdict) = report.finding.as_ref().and_then(|finding| finding.verdict.as_ref()) {
                    say(format!("verdict of `{}`: {verdict}", report.agent), false);
                }
            }
            _ => {}
        }
    }
}

fn past_tense(ruling: &str) -> &'static str {
    match ruling {
        "deny" => "refused",
        "ask" => "asked about",
        _ => "spoke at",
    }
}
