//! Handles a second ledger of one session, which older versions could begin because they searched by place:
//! decides which one counts, and where the other one goes.
//!
//! Reads and renames session folders. Invariants: the ledger counts to which the newest exported head
//! belongs; the other one is kept under a name that no event searches for, and the ledger that counts names
//! it; a block in it stays in force.

use crate::ledger::heads::Head;
use crate::ledger::lock::Lock;
use crate::ledger::recover::StateFile;
use crate::ledger::session_folder::{self, SessionFolder, guard};
use crate::ledger::sessions;
use crate::model::error::Failure;
use crate::session::fact::{Blocked, Fact, Recovered};
use crate::system::env::Env;
use crate::text::sha256::trace_id;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the ledger to which this head belongs, if the present place is in another project and both
/// folders contain the session.
pub fn counting(env: &Env, place: &Path, session_id: &str, head: &Head) -> Option<SessionFolder> {
    let is_here =
        place.parent().and_then(Path::file_name).is_some_and(|project| project == head.project.as_str());
    if is_here || head.seq == 0 {
        return None;
    }
    let found = session_folder::find_in(env, &session_folder::of_head(env, head)?, session_id).ok()?;
    let is_its = |path: &Path| {
        sessions::on_disk(path.to_owned()).is_some_and(|at| at.session_id == trace_id(session_id))
    };
    found.into_iter().find(|other| is_its(&other.path))
}

/// Renames this second ledger; returns the facts that the counting ledger must record about it.
pub fn set_aside(env: &Env, second: &Path) -> Result<Vec<Fact>, Failure> {
    let _folders = guard(env)?;
    let Some(place) = session_folder::open(second.to_owned())? else { return Ok(Vec::new()) };
    let _lock = Lock::acquire(&place.dir)?;
    let aside = free_name(second);
    fs::rename(second, &aside).map_err(|error| Failure::storage(second.display(), error))?;
    let what = format!(
        "a second ledger of this session, in `{}`, is set aside as `{}`: this one counts, because the exported head belongs to it",
        second.display(),
        aside.file_name().unwrap_or_default().display(),
    );
    let block = match StateFile::read(&place.dir)? {
        StateFile::Whole(session, _) => session.blocked().map(str::to_owned),
        other => other.edited_block(),
    };
    let by = || "the second ledger that was set aside".to_owned();
    let block = block.map(|reason| Fact::Block(Blocked { by: by(), reason }));
    Ok([Fact::Recovery(Recovered { what, ..Recovered::default() })].into_iter().chain(block).collect())
}

fn free_name(path: &Path) -> PathBuf {
    let mut names = (1_u64..).map(|n| PathBuf::from(format!("{}.second-{n}", path.display())));
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default()
}
