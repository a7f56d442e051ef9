//! Puts a tree back to a checkpoint: looks, archives, writes the plan, then does it.
//!
//! Reads the tree; writes vault, ledgers and, by [`settle`](super::settle), the tree. Invariant: whatever is there and will
//! not be there afterwards is in the archive, ignored or not.

use super::plan::Plan;
use super::settle::{Finished, finish};
use super::{Wanted, books, fact, ignored, warm_up, write};
use crate::capture::{self, capture};
use crate::checkpoint::{Checkpoint, Id, Kind};
use crate::digest::sha256;
use crate::env::Env;
use crate::fact::Fact;
use crate::failure::{Code, Failure};
use crate::ledger::Ledger;
use crate::restore;
use crate::session::Session;
use crate::state::Stage;
use crate::tree::parting::{Parting, part};
use crate::tree::{Artifacts, File, find, is_foreign, name};
use crate::vault::Vault;
use std::path::Path;
use std::time::Instant;

/// What is to be put back, and by whom.
#[derive(Debug)]
pub struct Order<'a> {
    pub id: &'a Id,
    pub by: &'a str,
    /// The loop goes back, the tree stays.
    pub state_only: bool,
}

/// The present beside what it would become.
#[derive(Debug)]
pub struct Preview {
    pub target: Checkpoint,
    pub present: Artifacts,
    /// Files that stay although the checkpoint does not know them: its rules ignore them.
    pub leave: Vec<String>,
    start: Artifacts,
}

impl Preview {
    pub fn parting(&self) -> Parting<'_> {
        part(&self.start, &self.target.artifacts)
    }
}

/// What a rollback did.
#[derive(Debug)]
pub struct Outcome {
    pub archive: String,
    pub result: String,
    pub files: usize,
    pub kept_folders: Vec<String>,
}

/// What a rollback to this checkpoint would do now.
pub fn preview(env: &Env, vault: &Vault, id: &Id) -> Result<Preview, Failure> {
    let target = vault.vouched(env, id)?;
    let alone = &target.artifacts.left_out;
    let mut present = capture(env, vault, &Plan::limits(), &[], alone)?;
    let hidden = hidden(vault, &present, &target.artifacts)?;
    if !hidden.is_empty() {
        present = capture(env, vault, &Plan::limits(), &hidden, alone)?;
    }
    unreachable(&present, &target.artifacts)?;
    let leave = ignored::then(vault, &part(&present, &target.artifacts), &target.artifacts)?;
    let stays = |file: &File| leave.binary_search(&file.path).is_ok();
    let files = present.files.iter().filter(|file| !stays(file)).cloned().collect();
    let start = Artifacts { files, ..present.clone() };
    Ok(Preview { target, present, leave, start })
}

/// What is in the way of the checkpoint's files and was not seen, since it is ignored today.
fn hidden(vault: &Vault, present: &Artifacts, target: &Artifacts) -> Result<Vec<String>, Failure> {
    let mut hidden = Vec::new();
    let paths =
        target.files.iter().map(|file| &file.path).chain(target.folders.iter().map(|folder| &folder.path));
    for path in paths {
        let is_file = find(&target.files, path).is_some();
        let seen_folder = find(&present.folders, path).is_some();
        if find(&present.files, path).is_some() || seen_folder && !is_file {
            continue;
        }
        let below = capture::everything_below(&vault.root, path);
        if let Some(foreign) = below.iter().find(|path| is_foreign(path)).filter(|_| is_file) {
            return Err(in_the_way(path, &format!("it holds `{}`", name::shown(foreign))));
        }
        if is_file {
            hidden.extend(below);
        } else if let Some(own) = below.into_iter().find(|below| below == path) {
            hidden.push(own);
        }
    }
    Ok(hidden)
}

/// Something that cannot be archived stands where a file is to come.
fn unreachable(present: &Artifacts, target: &Artifacts) -> Result<(), Failure> {
    for left in &present.left_out {
        let at = |path: &str| {
            path == left.path || path.strip_prefix(&left.path).is_some_and(|rest| rest.starts_with('/'))
        };
        let alone = find(&target.left_out, &left.path).is_some();
        if !alone
            && (target.files.iter().any(|file| at(&file.path)) || find(&target.folders, &left.path).is_some())
        {
            return Err(in_the_way(&left.path, &left.reason));
        }
    }
    Ok(())
}

fn in_the_way(path: &str, why: &str) -> Failure {
    let what = format!("`{}` is in the way and cannot be archived: {why}", name::shown(path));
    Failure::new(Code::InTheWay, what)
}

/// The whole of it. With `own`: from inside a session's hook, whose ledger that is; else all sessions here are held.
pub fn roll_back(
    env: &Env,
    root: &Path,
    order: &Order,
    own: Option<&mut Ledger>,
) -> Result<Outcome, Failure> {
    let mut held;
    let mut ledgers: Vec<&mut Ledger> = if let Some(own) = own {
        vec![own]
    } else {
        // The long look first, while everybody still works.
        let vault = Vault::open(env, root)?;
        warm_up(env, &vault, &Plan::limits())?;
        let session_id = vault.vouched(env, order.id)?.identity.session_id;
        drop(vault);
        held = books::open(env, &books::running(env, root, &session_id))?;
        held.iter_mut().collect()
    };
    let vault = Vault::open(env, root)?;
    if let Some(plan) = Plan::read(&vault)? {
        finish(env, &vault, &plan, &mut ledgers, true)?;
    }
    let began = Instant::now();
    let preview = preview(env, &vault, order.id)?;
    let files = if order.state_only { 0 } else { preview.parting().files() };
    if !order.state_only {
        restore::rehearse(&vault, &preview.parting())?;
    }
    let session_id = preview.target.identity.session_id.clone();
    let at = ledgers.iter().position(|ledger| ledger.session().state.session_id == session_id);
    let session = at.map(|at| ledgers[at].session());
    let archive = if order.state_only { None } else { Some(archive(env, &vault, session, &preview, began)?) };
    let archived = archive.as_ref().map(|archive| archive.identity.checkpoint_id.clone()).unwrap_or_default();
    let plan = Plan {
        id: sha256(&[
            env.now_ms.to_string().as_bytes(),
            order.id.to_string().as_bytes(),
            archived.as_bytes(),
        ])[..16]
            .to_owned(),
        archive: archived.clone(),
        by: order.by.to_owned(),
        leave: preview.leave.clone(),
        schema: 1,
        session_id,
        target: order.id.to_string(),
    };
    for (n, ledger) in ledgers.iter_mut().enumerate() {
        let mine = at == Some(n);
        let told = archive.iter().filter(|_| mine).map(fact);
        let first = Fact::Rollback(plan.told(&preview.target, "", mine, Stage::Begun));
        ledger.append(env, told.chain([first]).collect())?;
    }
    plan.commit(&vault)?;
    let Finished { result, applied } = finish(env, &vault, &plan, &mut ledgers, false)?;
    let result = result.identity.checkpoint_id;
    Ok(Outcome { archive: archived, result, files, kept_folders: applied.kept_folders })
}

/// The present, kept as a checkpoint of its own in the run it leaves.
fn archive(
    env: &Env,
    vault: &Vault,
    session: Option<&Session>,
    preview: &Preview,
    began: Instant,
) -> Result<Checkpoint, Failure> {
    let wanted = Wanted {
        run: &preview.target.identity.run_id,
        kind: Kind::Pre,
        phase: session.map_or(preview.target.phase, |session| session.state.phase),
        trigger: "before a rollback",
        about: vec![("target", preview.target.identity.checkpoint_id.clone())],
        parent: None,
        began,
    };
    write(env, vault, session, &wanted, preview.present.clone())
}
