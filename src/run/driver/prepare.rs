//! What a run needs before it begins: a clean repository, a plan, a policy, a client.
//!
//! Reads the repository, workflows and policy; writes only the project's driver lock. Invariant: everything
//! that can be refused is refused before the first artifact is written.

use crate::refusal::refused;
use crate::run::attempt::ContextRef;
use crate::run::plan::{PlannedStep, StepAction, plan};
use crate::run::{artifacts::RunArtifacts, client};
use aops_core::config::in_force::{self, InForce};
use aops_core::config::policy::Policy;
use aops_core::config::texts::{self, Library, Origin, Texts};
use aops_core::config::workflow::{Workflow, meant};
use aops_core::model::error::{Code, Failure};
use aops_core::system::files;
use aops_core::system::{env::Env, git};
use aops_core::text::{sha256::sha256, time::day};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRequest {
    /// The existing id; `None` means that a new one is made.
    pub run_id: Option<String>,
    pub task: String,
    /// The client that it drives; empty means Claude Code.
    #[serde(default)]
    pub client: String,
    /// Files that belong to the task, as a person named them.
    pub context: Vec<String>,
    pub model: Option<String>,
    pub workflow: String,
    pub project_type: Option<String>,
    /// Millionths of a dollar.
    pub budget: Option<u64>,
    pub step_timeout_ms: u64,
}

#[derive(Default)]
pub(super) struct Prepared {
    pub(super) plan: Vec<PlannedStep>,
    pub(super) policy: Policy,
    pub(super) policy_hash: String,
    pub(super) decides: String,
    pub(super) texts: Texts,
    pub(super) client: PathBuf,
}

impl Prepared {
    pub(super) fn of(env: &Env, root: &Path, id: &str, project_type: Option<&str>) -> anyhow::Result<Self> {
        let (_, plan, in_force) = plan_workflow(env, root, id, project_type)?;
        let decides = in_force.decides();
        let InForce { policy, hash, texts, .. } = in_force;
        let needs_client = plan.iter().any(|step| matches!(step.does, StepAction::Client { .. }));
        let client = if needs_client { client::find(env, &policy).or_else(refused)? } else { PathBuf::new() };
        Ok(Self { plan, policy, policy_hash: hash, decides, texts, client })
    }
}

pub fn project_root(env: &Env) -> PathBuf {
    let project = texts::project(env, &env.cwd);
    project.canonicalize().unwrap_or(project)
}

/// The project's driver lock. A second driver is refused, which is not a failure of ours.
pub fn lock_project(artifacts: &RunArtifacts) -> anyhow::Result<File> {
    match artifacts.drive() {
        Err(failure) if failure.code == Code::ConcurrentExecution => refuse_second(&failure),
        other => Ok(other?),
    }
}

fn refuse_second<T>(failure: &Failure) -> anyhow::Result<T> {
    refused(format!("{failure}\nhint: `aops-hook runs` shows it; wait for it, or end it with Ctrl-C"))
}

/// Checks that the tree is clean. While another driver works it often is not, and then that driver is the
/// reason.
pub(super) fn check_free(env: &Env, root: &Path) -> anyhow::Result<()> {
    let Err(dirty) = check_clean(env, root) else { return Ok(()) };
    if RunArtifacts::of(root).is_driven() { refuse_second(&RunArtifacts::driven()) } else { Err(dirty) }
}

fn check_clean(env: &Env, root: &Path) -> anyhow::Result<()> {
    let Some(status) = git::status(env, root) else {
        return refused(
            "a run needs a git repository with a clean tree, and this is not a repository\n\
            hint: `git init`, then commit",
        );
    };
    if status.dirty.is_empty() {
        return Ok(());
    }
    let (some, rest) = status.dirty.split_at(status.dirty.len().min(5));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let some = some.join(", ");
    refused(format!(
        "the repository is not clean: {some}{more}\nhint: commit or stash first; nothing was run"
    ))
}

/// The workflow, its steps in the order of a run, and the policy they were planned under.
pub fn plan_workflow(
    env: &Env,
    project: &Path,
    id: &str,
    project_type: Option<&str>,
) -> anyhow::Result<(Workflow, Vec<PlannedStep>, InForce)> {
    let in_force = in_force::load(env, project)?;
    let library = Library::of(env, &in_force.texts);
    if let Some(file) = library.broken.get(id) {
        let of_it: Vec<String> =
            library.problems.iter().filter(|one| one.file == *file).map(ToString::to_string).collect();
        return refused(format!(
            "the workflow `{id}` is broken\n{}\nhint: repair it, then run `aops-hook workflow check`",
            of_it.join("\n")
        ));
    }
    let Some(whole) = library.workflow(id) else {
        let near = meant(id, library.catalogue.ids());
        return refused(format!(
            "there is no workflow `{id}`{near}\nhint: `aops-hook workflow list` lists them"
        ));
    };
    if let Some(problem) = library.problems.first() {
        return refused(format!("{problem}\nhint: repair it, then run `aops-hook workflow check`"));
    }
    let workflow = match project_type {
        None => whole.clone(),
        Some(name) => pick_variant(whole, name)?,
    };
    let owed = match library.origins.get(id) {
        Some(Origin::Embedded) => workflow.gates.clone(),
        _ => library.catalogue.get(id).map(|held| held.owed.clone()).unwrap_or_default(),
    };
    let steps = plan(&workflow, &owed, &in_force.policy.gates).or_else(refused)?;
    Ok((workflow, steps, in_force))
}

/// Refuses everything that can be refused before another machine takes the request. Returns the project's
/// root, and the request with file names relative to it.
pub fn check_request(env: &Env, request: &RunRequest) -> anyhow::Result<(PathBuf, RunRequest)> {
    let root = project_root(env);
    let env = &env.driving();
    check_clean(env, &root)?;
    plan_workflow(env, &root, &request.workflow, request.project_type.as_deref())?;
    let context: Vec<String> =
        read_context(env, &root, &request.context)?.into_iter().map(|file| file.path).collect();
    if let Some(outside) = context.iter().find(|path| Path::new(path).is_absolute()) {
        return refused(format!(
            "`--context {outside}` is outside of the project\nhint: another machine does not have it"
        ));
    }
    Ok((root, RunRequest { context, ..request.clone() }))
}

pub fn make_run_id(env: &Env) -> Result<String, Failure> {
    Ok(format!("{}-{}", day(env.now_ms), random_hex(4)?))
}

/// Random bytes as hex digits, two for each byte.
pub(super) fn random_hex(bytes: usize) -> Result<String, Failure> {
    aops_core::system::random::hex(bytes).map_err(|e| Failure::storage("the system's random bytes", e))
}

/// The files that belong to a task, with their digests.
pub(super) fn read_context(env: &Env, root: &Path, named: &[String]) -> anyhow::Result<Vec<ContextRef>> {
    let one = |name: &String| {
        let path = env.from_here(Path::new(name));
        let bytes = path.canonicalize().and_then(|path| Ok((files::read(&path)?, path)));
        let (bytes, path) = bytes.or_else(|error| {
            refused(format!("`--context {name}`: {error}\nhint: name a file that can be read"))
        })?;
        let path = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        Ok(ContextRef { path, sha256: sha256(&[&bytes]) })
    };
    named.iter().map(one).collect()
}

fn pick_variant(workflow: &Workflow, name: &str) -> anyhow::Result<Workflow> {
    if let Some(variant) = workflow.variant(name) {
        return Ok(variant);
    }
    let id = &workflow.id;
    let known = &workflow.variants;
    let known: Vec<_> = known.iter().map(|variant| variant.name.as_str()).collect();
    if known.is_empty() {
        return refused(format!("`{id}` has no project types\nhint: `--workflow project` has some"));
    }
    let near = meant(name, known.iter().copied());
    refused(format!("`{id}` has no project type `{name}`{near}\nhint: there are {}", known.join(", ")))
}
