//! What a run of Codex needs in addition to a run of Claude Code: tokens, cost and questions that its stream
//! lacks, and the prompt that makes an approved call.
//!
//! Reads Codex's file of the thread and the session's ledger. Invariant: a call that a person approved is
//! described exactly as it was asked.

use super::base::Driver;
use crate::run::client::{Stream, codex, micros};
use aops_core::gate::sandbox;
use aops_core::host::claude::transcript::scan::Lens;
use aops_core::host::{self, codex::rollout};
use aops_core::insight::collect;
use aops_core::model::call::CallState;
use aops_core::model::client::Client;
use aops_core::model::error::Failure;
use aops_core::session::fact::Fact;

impl Driver {
    /// Adds what Codex's stream leaves out.
    pub(super) fn complete(&self, stream: &mut Stream) {
        let thread = Some(self.env.host).filter(|host| *host == Client::Codex);
        let thread = thread.and_then(|_| codex::thread(&self.env, &self.run.init.session_id));
        let (Some(result), Some(thread)) = (stream.result.as_mut(), thread) else { return };
        result.deferred = self.waiting_call().map(|open| open.call.id);
        let prices = collect::prices(&self.env).unwrap_or_default();
        let Ok(scan) = rollout::scan(&thread, &Lens { prices, ..Lens::default() }) else { return };
        result.tokens = Some(scan.tokens.by_model.values().map(host::claude::usage::Sum::tokens).sum());
        result.cost = scan.tokens.cost().map(micros);
    }

    /// Creates the thread if it is missing; Codex can only continue an existing one.
    pub(super) fn begin_thread(&self) -> Result<(), Failure> {
        if self.env.host != Client::Codex {
            return Ok(());
        }
        codex::make_thread(&self.env.later(), &self.run.init.session_id, &self.root)
            .map_err(|e| Failure::storage("Codex's folder of sessions", e))
    }

    /// Whether the run has a budget but used tokens with an unknown price.
    pub(super) fn cost_is_unknown(&self) -> bool {
        self.env.host == Client::Codex
            && self.run.budget.is_some()
            && self.run.tokens > 0
            && self.run.cost == 0
    }

    /// The prompt after a person approved the call with this id.
    pub(super) fn prompt_approved(&self, id: &str) -> String {
        let call = self.describe_call(id).unwrap_or_default();
        format!(
            "A person approved the call that was refused: `{call}`. Make exactly that call again, once, and \
            then continue with the step."
        )
    }

    /// A call as in the session's ledger: complete, and without its secrets.
    pub(super) fn describe_call(&self, id: &str) -> Option<String> {
        let mut found = None;
        collect::entries(&self.ledger_file()?, |_, fact| match fact {
            Fact::Call(step) if step.call.id == id && step.to == CallState::Pending => {
                found = step.input().map(|input| sandbox::shown_whole(&step.call.tool, input.get()));
            }
            _ => {}
        })
        .ok()?;
        found
    }
}
