//! What a step did the last time it was begun, as the session's ledger knows it: for the prompt of the next time.
//!
//! Reads the ledger. Why: the client may be killed before it has written down that a call ended, and then says only that
//! nobody knows. We do know. Invariant: only calls that change something are named, each once, oldest first.

use super::driver::Driver;
use crate::gate::sandbox;
use crate::insight::collect;
use crate::ledger::recover::LEDGER_FILE;
use crate::ledger::session_folder;
use crate::model::call::{CallState, Effect, ToolCall};
use crate::session::fact::{Fact, NO_EFFECT, Step};
use std::path::PathBuf;

/// The newest calls are named, and no more than these.
const MOST: usize = 20;

/// One call of a step.
struct Made {
    id: String,
    shown: String,
    ending: &'static str,
}

impl Driver {
    /// A list of what was done and what was cut off; empty where nothing was.
    pub(super) fn made_before(&self, step: &str) -> String {
        let mut made: Vec<Made> = Vec::new();
        let run = &self.record.run_id;
        let read = self.ledger_file().map(|ledger| {
            collect::entries(&ledger, |_, fact| match fact {
                Fact::Run(staged) => {
                    let other =
                        staged.stage.as_ref().filter(|stage| stage.step != step || stage.run_id != *run);
                    if other.is_some() {
                        made.clear();
                    }
                }
                Fact::Call(call) => take(&mut made, call),
                _ => {}
            })
        });
        if !matches!(read, Some(Ok(()))) {
            return String::new();
        }
        let told: Vec<&Made> = made.iter().filter(|call| !call.ending.is_empty()).collect();
        let lines = told.iter().skip(told.len().saturating_sub(MOST));
        let lines: Vec<_> = lines.map(|call| format!("- {}: `{}`", call.ending, call.shown)).collect();
        lines.join("\n")
    }

    fn ledger_file(&self) -> Option<PathBuf> {
        let (env, cwd) = (self.env.later(), self.cwd());
        let found =
            [8, 16].into_iter().find_map(|width| session_folder::find(&env, self.whose(&cwd), width).ok()?);
        Some(found?.path.join(LEDGER_FILE))
    }
}

fn take(made: &mut Vec<Made>, step: &Step) {
    if step.to == CallState::Pending {
        if step.effect.is_some_and(Effect::is_write) {
            let input = step.input.as_ref().map_or("{}", |input| input.get()).to_owned();
            let shown = sandbox::shown(&ToolCall { key: step.call.clone(), input, ..ToolCall::default() });
            made.push(Made { id: step.call.id.clone(), shown, ending: "" });
        }
        return;
    }
    let Some(call) = made.iter_mut().rev().find(|call| call.id == step.call.id) else { return };
    call.ending = match step.to {
        CallState::Completed => "done",
        CallState::Failed if step.reason.as_deref() == Some(NO_EFFECT) => {
            "cut off, so look whether it took effect"
        }
        CallState::Failed => "failed",
        _ => "",
    };
}
