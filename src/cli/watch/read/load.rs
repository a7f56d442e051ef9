//! Makes the row of one session from its state and its ledger.

use super::refusal::last_refusal;
use super::{Head, Health, Known, LEDGER_FILE, Life, Row, STATE_FILE, sessions};
use crate::cli::sessions::cost;
use crate::cli::status;
use aops_core::config::policy::{Folder, choose::shorten};
use aops_core::jail::network;
use aops_core::ledger::clients::is_live;
use aops_core::ledger::sessions::SessionOnDisk;
use aops_core::session::fold::Session;
use aops_core::system::env::Env;
use aops_core::text::plain::count;
use aops_core::text::template::one_line;
use std::path::{Path, PathBuf};

/// Longer prompts and refusals are cut.
const LONGEST: usize = 300;

/// Reads one session; `then` is what was known of it. `None` if nothing was recorded yet.
pub(super) fn load(
    env: &Env,
    boot: &str,
    path: &Path,
    then: Option<&Known>,
    health: &mut Health,
) -> Option<Known> {
    let ledger = path.join(LEDGER_FILE);
    let state = path.join(STATE_FILE);
    // Taken before reading, so that a change during the read is noticed.
    let stamps = [super::stamp(&ledger), super::stamp(&state)];
    let found = sessions::on_disk(path.to_path_buf())?;
    let session = sessions::session(&found);
    let mut row = session.as_ref().map_or_else(|| unread(&found), |session| row(env, boot, &found, session));
    let from = then.map_or(0, Known::long);
    let newest = last_refusal(&ledger, from, &row.root.to_string_lossy());
    row.refusal = newest.map(|words| one_line(&words, LONGEST)).or_else(|| then?.row.refusal.clone());
    let found_before = || then?.row.damage.clone().filter(|_| from > super::WALKED);
    row.damage = health.damage(&found).or_else(found_before);
    let client = session.and_then(|session| session.memory.client.process);
    Some(Known { ledger, state, stamps, client, row })
}

fn row(env: &Env, boot: &str, found: &SessionOnDisk, session: &Session) -> Row {
    let state = &session.state;
    let life = match (&state.ended_at, is_live(session, boot)) {
        (Some(_), _) => Life::Ended,
        (None, true) => Life::Live,
        (None, false) => Life::Left,
    };
    let prompt = one_line(state.hydration.original_prompt.as_deref().unwrap_or_default().trim(), LONGEST);
    let asked = session.memory.calls.iter().find_map(|open| open.reason.as_ref());
    let asked = asked.map(|reason| one_line(reason.lines().next().unwrap_or_default(), LONGEST));
    let root = PathBuf::from(&session.memory.place.root);
    Row {
        id: state.session_id.clone(),
        path: found.path.clone(),
        place: shorten(Folder { path: &session.memory.place.root, home: &env.home.to_string_lossy() }),
        project: root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned(),
        root,
        life,
        mode: session.policy().mode.level().name(),
        phase: state.phase.name(),
        blocked: session.blocked().map(|reason| one_line(reason, 2000)),
        asked,
        owed: if life == Life::Ended { String::new() } else { owed(env, session) },
        cost: cost(state),
        given: given(session),
        prompt,
        began: state.started_at.clone(),
        network: network::describe(session, &found.path),
        ..Row::default()
    }
}

/// `41 lines answered, 12 prompts seen; kept 3 times, the last as 17`
fn given(session: &Session) -> String {
    let kept = session
        .memory
        .undo
        .kept
        .map(|kept| format!("kept {}, the last as {}", count(kept.times, "time"), kept.newest));
    session.describe_quiet().into_iter().chain(kept).collect::<Vec<_>>().join("; ")
}

/// Whom the loop waits for; otherwise what the task owes before it may end.
fn owed(env: &Env, session: &Session) -> String {
    let debts = status::owed(env, session, None);
    match status::waits_for(session, env.now_ms) {
        "" if debts.is_empty() => String::new(),
        "" => debts.join(", "),
        agent => agent.to_owned(),
    }
}

fn unread(found: &SessionOnDisk) -> Row {
    let project =
        found.path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    Row {
        id: found.session_id.clone(),
        path: found.path.clone(),
        place: project.clone(),
        project,
        life: Life::Unreadable,
        ..Row::default()
    }
}

pub(super) fn lost(head: &Head) -> Row {
    let damage = format!("only the exported head is left; look with `aops-hook verify {}`", head.session_id);
    let row = Row {
        id: head.session_id.clone(),
        place: head.project.clone(),
        project: head.project.clone(),
        life: Life::Lost,
        blocked: head.blocked.then(|| head.reason.clone().unwrap_or_default()),
        damage: Some(damage),
        began: head.ts.clone(),
        ..Row::default()
    };
    row.clean()
}
