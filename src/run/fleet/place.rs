//! The working tree of a run on this machine: an existing one, or one recreated from the run's remote.
//!
//! Invariants: two runs never share a tree; an existing tree is kept only if no other machine has worked on
//! the run since.

use super::{Order, row};
use crate::remote::carried::{self, Branch, Record};
use crate::remote::database;
use crate::remote::left::Left;
use crate::run::artifacts::{LEDGER, RunArtifacts};
use crate::run::attempt::RunStatus;
use aops_core::model::error::Failure;
use aops_core::system::env::{Env, now_ms};
use aops_core::system::files;
use aops_core::text::time;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub(super) struct Place {
    /// The run's own folder.
    folder: PathBuf,
    /// The project inside that folder.
    pub(super) root: PathBuf,
    pub(super) artifacts: RunArtifacts,
}

impl Place {
    /// The place of a run. With `restore`, another machine may have worked on it, and what it left at the
    /// remote is newer than this one's tree.
    pub(super) fn carried(env: &Env, run: &str, order: &Order, restore: bool) -> Result<Self, String> {
        let folder = database::trees(env).join(run);
        let tree = folder.join("tree");
        if restore || project(&tree, order).is_err() {
            let _ = fs::remove_dir_all(&folder);
            let branch = format!("aops/{run}");
            match carried::clone(env, &order.repository, &order.commit, (&branch, run), &tree)? {
                Some(record) => {
                    row::check(run, order, &record)?;
                    fill(&project(&tree, order)?, &record).map_err(|failure| failure.to_string())?;
                }
                None if restore => {
                    let _ = fs::remove_dir_all(&folder);
                    return Err(
                        "the machine that worked on it left nothing at the remote, so it would begin anew"
                            .to_owned(),
                    );
                }
                None => {}
            }
        }
        let root = project(&tree, order)?;
        Ok(Self { folder, artifacts: RunArtifacts::of(&root), root })
    }

    /// Pushes tree and record to the run's remote, where another machine finds them.
    pub(super) fn carry(&self, env: &Env, run: &str, repository: &str) -> Result<(), String> {
        let record = Record { lines: self.lines(), files: self.files(run) };
        carried::push(env, &self.root, repository, run, &record)?;
        Self::leave(env, run, repository, None)
    }

    /// Notes what is at the run's remote now.
    pub(super) fn leave(
        env: &Env,
        run: &str,
        repository: &str,
        branch: Option<Branch>,
    ) -> Result<(), String> {
        let left = Left { at_ms: now_ms(), branch, repository: repository.to_owned(), run: run.to_owned() };
        left.keep(env).map_err(|error| error.to_string())
    }

    /// Whether a step's program is about to be started, or running.
    pub(super) fn is_in_step(&self) -> bool {
        self.lines().last().is_some_and(|line| line.contains("\"kind\":\"STEP\""))
    }

    /// Complete lines only: an incomplete one was never acknowledged.
    fn lines(&self) -> Vec<String> {
        let text = files::read(self.artifacts.ledger()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(str::to_owned).collect()
    }

    /// Packets and summaries.
    fn files(&self, run: &str) -> Vec<(String, String)> {
        let relative =
            |path: &Path| path.strip_prefix(self.artifacts.folder()).ok().map(|p| p.display().to_string());
        let files = self.artifacts.files_of(run).into_iter();
        files.filter_map(|path| Some((relative(&path)?, files::read_text(&path).ok()?))).collect()
    }

    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The project in this tree; refused if a link of the repository leads elsewhere.
fn project(tree: &Path, order: &Order) -> Result<PathBuf, String> {
    let found = tree.join(&order.folder);
    let at = |error: std::io::Error| format!("`{}`: {error}", found.display());
    let tree = tree.canonicalize().map_err(at)?;
    let root = found.canonicalize().map_err(at)?;
    if root.starts_with(&tree) {
        Ok(root)
    } else {
        Err(format!("`{}` leads out of the repository", order.folder))
    }
}

/// Writes the records of a run into a new tree.
fn fill(root: &Path, known: &Record) -> Result<(), Failure> {
    let artifacts = RunArtifacts::of(root);
    artifacts.prepare(root)?;
    for (path, content) in &known.files {
        artifacts.keep_file(path, content)?;
    }
    if !known.lines.is_empty() {
        artifacts.keep_file(LEDGER, &(known.lines.join("\n") + "\n"))?;
    }
    Ok(())
}

/// The runs that have a tree on this machine.
pub fn trees(env: &Env) -> Vec<String> {
    let items = fs::read_dir(database::trees(env)).into_iter().flatten().flatten();
    items.filter_map(|item| item.file_name().into_string().ok()).collect()
}

/// Those whose runs ended long enough ago, whatever their outcome.
pub fn over(env: &Env, age_ms: i64) -> Vec<String> {
    trees(env).into_iter().filter(|run| is_over(env, run, age_ms)).collect()
}

/// Whether the record in this tree says that its run ended long enough ago. The project may be a folder of
/// the repository.
pub fn is_over(env: &Env, run: &str, age_ms: i64) -> bool {
    let tree = database::trees(env).join(run).join("tree");
    let before = env.now_ms - age_ms;
    let has_ended = |root: &PathBuf| {
        let runs = RunArtifacts::of(root).runs().unwrap_or_default();
        runs.iter().any(|known| {
            let old = || time::parse(&known.changed_at).is_some_and(|at| at <= before);
            known.run_id == run && known.status == RunStatus::Terminal && old()
        })
    };
    projects(&tree).iter().any(has_ended)
}

/// Whether nothing was recorded in this tree for so long, although its run has not ended here: it was lost,
/// or continued elsewhere.
pub fn is_unchanged(env: &Env, run: &str, age_ms: i64) -> bool {
    let folder = database::trees(env).join(run);
    let ledgers = projects(&folder.join("tree")).into_iter().map(|root| RunArtifacts::of(&root).ledger());
    let written = ledgers.chain([folder]).filter_map(|path| fs::metadata(path).ok()?.modified().ok());
    let newest = written.max().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    newest.is_some_and(|at| i64::try_from(at.as_millis()).is_ok_and(|at| at < env.now_ms - age_ms))
}

/// Folders of a tree that contain records of runs; links are not followed.
fn projects(tree: &Path) -> Vec<PathBuf> {
    const DEEPEST: usize = 6;
    let mut found = Vec::new();
    let mut look = vec![(tree.to_owned(), 0)];
    while let Some((folder, depth)) = look.pop() {
        if RunArtifacts::of(&folder).ledger().is_file() {
            found.push(folder.clone());
        }
        if depth == DEEPEST {
            continue;
        }
        let items = fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = items.filter(|item| item.file_type().is_ok_and(|kind| kind.is_dir()));
        let named = folders.filter(|item| item.file_name() != ".git" && item.file_name() != "node_modules");
        look.extend(named.map(|item| (item.path(), depth + 1)));
    }
    found
}

pub fn remove(env: &Env, run: &str) -> std::io::Result<()> {
    fs::remove_dir_all(database::trees(env).join(run))
}
