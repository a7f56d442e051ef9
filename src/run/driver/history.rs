//! The calls that an earlier attempt of a step made, from the session's ledger: for the prompt of the next attempt.
//!
//! Reads the ledger. Why: a client that was killed may not have stored how a call ended; the ledger has. Invariant: only
//! calls that change something are listed, each once, oldest first.

use super::base::Driver;
use crate::gate::sandbox;
use crate::insight::collect;
use crate::ledger::recover::LEDGER_FILE;
use crate::ledger::session_folder;
use crate::model::call::{CallState, Effect, ToolCall};
use crate::session::fact::{Fact, NO_EFFECT, Step};
use std::path::PathBuf;

/// The newest calls are listed, at most so many.
const MOST: usize = 20;

/// One call of a step.
struct MadeCall {
    id: String,
    shown: String,
    ending: &'static str,
}

impl Driver {
    /// A list of calls that were made or cut off; empty if there are none.
    pub(super) fn list_earlier_calls(&self, step: &str) -> String {
        let mut made: Vec<MadeCall> = Vec::new();
        let run = &self.run.run_id;
        let read = self.ledger_file().map(|ledger| {
            collect::entries(&ledger, |_, fact| match fact {
                Fact::Run(staged)
                    if staged.stage.as_ref().is_some_and(|other| other.step != step || other.run_id != *run) =>
                {
                    made.clear();
                }
                Fact::Call(call) => add_call(&mut made, call),
                _ => {}
            })
        });
        if !matches!(read, Some(Ok(()))) {
            return String::new();
        }
        let ended: Vec<&MadeCall> = made.iter().filter(|call| !call.ending.is_empty()).collect();
        let lines = ended.iter().skip(ended.len().saturating_sub(MOST));
        let lines: Vec<_> = lines.map(|call| format!("- {}: `{}`", call.ending, call.shown)).collect();
        lines.join("\n")
    }

    fn ledger_file(&self) -> Option<PathBuf> {
        let (env, cwd) = (self.env.later(), self.cwd());
        let found =
            [8, 16].into_iter().find_map(|width| session_folder::find(&env, self.session_key(&cwd), width).ok()?);
        Some(found?.path.join(LEDGER_FILE))
    }
}

fn add_call(made: &mut Vec<MadeCall>, step: &Step) {
    if step.to == CallState::Pending {
        if step.effect.is_some_and(Effect::is_write) {
            let input = step.input.as_ref().map_or("{}", |input| input.get()).to_owned();
            let shown = sandbox::shown(&ToolCall { key: step.call.clone(), input, ..ToolCall::default() });
            made.push(MadeCall { id: step.call.id.clone(), shown, ending: "" });
        }
        return;
    }
    let Some(call) = made.iter_mut().rev().find(|call| call.id == step.call.id) else { return };
    call.ending = match step.to {
        CallState::Completed => "done",
        CallState::Failed if step.reason.as_deref() == Some(NO_EFFECT) => "cut off, so look whether it took effect",
        CallState::Failed => "failed",
        _ => "",
    };
}
