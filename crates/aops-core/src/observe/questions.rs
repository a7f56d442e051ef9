//! Looks up in the client's own record who answered a question, and when.
//!
//! Reads the ends of transcripts, which no command can write. Invariant: nothing is read while no answer is
//! in doubt, and nothing before a call.

use crate::host::claude::transcript::{decisions, of_agent};
use crate::model::client::Ability;
use crate::model::event::{Event, EventKind};
use crate::session::fold::Session;
use crate::session::question::Decision;
use crate::system::env::Env;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn look(env: &Env, session: &Session, event: &Event) -> Vec<Decision> {
    let over = matches!(
        event.kind(),
        EventKind::UserPromptSubmit
            | EventKind::PostToolBatch
            | EventKind::SubagentStop
            | EventKind::Stop
            | EventKind::StopFailure
            | EventKind::SessionEnd
    );
    let ended = matches!(event.kind(), EventKind::PostToolUse | EventKind::PostToolUseFailure);
    let over = over || ended && session.must_prove_answers();
    if !over || !env.host.can(Ability::RecordsPersons) || event.transcript_path.is_empty() {
        return Vec::new();
    }
    let waiting = session.open_questions().map(|(open, _)| (open.agent_id.as_deref(), open.call.id.as_str()));
    let unproven = session.memory.questions.unproven.iter();
    let unproven = unproven.map(|known| (known.agent_id.as_deref(), known.answered.call.id.as_str()));
    let mut wanted: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
    for (agent, call) in waiting.chain(unproven) {
        wanted.entry(agent).or_default().push(call);
    }
    let main = Path::new(&event.transcript_path);
    let found = wanted.iter().flat_map(|(agent, calls)| match agent {
        Some(agent) => decisions(&of_agent(main, agent), calls),
        None => decisions(main, calls),
    });
    found.collect()
}
