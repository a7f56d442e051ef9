//! What a person is told when a session starts, and which files the record of a turn names.
//!
//! Reads the week's file and, after work, the working tree; remembers that the week's summary was shown.

use crate::config::texts::Reading;
use crate::gate::Context;
use crate::insight::week;
use crate::ledger::open::Ledger;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::verdict::Verdict;
use crate::observe::impostors::{self, Impostor, Registered};
use crate::observe::{brought, tampering};
use crate::system::env::Env;
use crate::system::git;
use crate::text::json::cut;
use crate::text::redact::redact;
use std::path::Path;

/// At most this many files are named in the record of a turn.
const MOST_CHANGED: usize = 200;
const LONGEST_PATH: usize = 300;

/// Tells the person what the project brings; once a week, if a person sits at the client, also what was done
/// for them.
pub(super) fn greet(env: &Reading, event: &Event, context: &Context) -> Verdict {
    let brought =
        brought::notice(env, Path::new(&event.cwd)).map(|words| Verdict::notice(GateId::Guard, words));
    let is_person = context.attended && context.stage.is_none() && event.source() != "compact";
    let week =
        is_person.then(|| week::tell(env)).flatten().map(|words| Verdict::notice(GateId::Insights, words));
    brought.into_iter().chain(week).fold(Verdict::pass(), Verdict::join)
}

/// Finds what the settings run under our name. The person is told about programs that are not ours, and those
/// are not mistaken for ours later.
pub(super) fn find_impostors(env: &Reading, event: &Event, registered: &mut Registered) -> Verdict {
    *registered = impostors::look(env, tampering::protected_with_others(env, event));
    let words: Vec<String> = registered.impostors.iter().map(Impostor::words).collect();
    if words.is_empty() { Verdict::pass() } else { Verdict::notice(GateId::Guard, words.join("\n")) }
}

/// The files that git shows as changed at the end of a turn, since commands change files as well as edits.
pub(super) fn changed_files(env: &Env, ledger: &Ledger, event: &Event) -> Vec<String> {
    let wrote = ledger.session().state.task.as_ref().is_some_and(|task| task.writes > 0);
    let ends = event.stopped().is_some_and(|stop| stop.busy_with.is_empty()) && !env.dry_run;
    let Some(baseline) = Some(()).filter(|()| wrote && ends).and_then(|()| ledger.baseline().ok()) else {
        return Vec::new();
    };
    let changed = git::touched(env, Path::new(&event.cwd), &baseline).into_iter().take(MOST_CHANGED);
    changed.map(|path| redact(cut(&path, LONGEST_PATH)).into_owned()).collect()
}

/// Between turns there is time to compare the ledger with its exported head and to read the configuration
/// again.
pub(super) fn starts_or_prompts(event: &Event) -> bool {
    matches!(event.kind(), EventKind::SessionStart | EventKind::UserPromptSubmit)
}
