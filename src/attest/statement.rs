//! Makes the statement about one commit from the ledger and git's objects.
//!
//! Reads the ledger, the contents next to the checkpoints, the client's own record of tokens; starts `git`.
//! Invariant: everything the statement says about the session is in the entries of its span.

use super::authors::{Contents, State, attribute};
use super::gather::{At, Story, Summary, label};
use super::notes;
use super::objects::{CommitObject, Repositories, Repository};
use aops_attest::statement::{
    Agent, Annotations, BUILD_TYPE, BuildDefinition, Builder, BuilderKind, Committed, CommittedBy, Content,
    Digests, ExternalParameters, File, Head, InternalParameters, MOST_FILES, Metadata, Model, Provenance,
    Resource, RunDetails, Runtime, SESSION, SESSION_MEDIA_TYPE, Span, Statement, Target, Task, Tokens,
    VERSION,
};
use aops_core::checkpoint::store::Store;
use aops_core::host::claude::usage::Sum;
use aops_core::insight::collect::{Used, transcript_at, used_between};
use aops_core::model::error::{Code, Failure};
use aops_core::proof;
use aops_core::session::observed;
use aops_core::system::env::Env;
use aops_core::text::redact::redact;
use aops_core::text::sha256::Sum as Sha256Sum;
use aops_core::text::time;
use aops_proof::text::base64;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time limit for reading the client's own record of tokens.
const PATIENCE: Duration = Duration::from_secs(5);

/// The commit and session of a statement.
pub struct Wanted<'a, 'e> {
    pub repositories: &'a Repositories<'e>,
    /// The session's folder and id.
    pub folder: &'a Path,
    pub trace: &'a str,
    /// The working tree.
    pub root: &'a Path,
    pub commit: &'a str,
    /// The last entry that it covers.
    pub last: u64,
    /// A person asked for it after the session.
    pub late: bool,
}

/// Contents by git's name, or as saved next to the checkpoints.
struct Kept<'a> {
    blobs: BTreeMap<String, Vec<u8>>,
    store: Option<&'a Store>,
}

impl Contents for Kept<'_> {
    fn read(&self, state: &State) -> Option<Vec<u8>> {
        let kept = || {
            let mut content = Vec::new();
            self.store?.unpack(&Sha256Sum::read(state.sha256.as_deref()?)?.0, &mut content).ok()?;
            Some(content)
        };
        self.blobs.get(&state.side.1).cloned().or_else(kept)
    }
}

/// The statement; `None` if the session has nothing to do with the commit.
pub fn make(wanted: &Wanted) -> Result<Option<Statement>, Failure> {
    let story = Story::read(wanted.folder, wanted.trace, wanted.last)?;
    let gone = || Failure::new(Code::StorageFailed, format!("`{}`: no repository", wanted.root.display()));
    let repository = wanted.repositories.at(wanted.root).ok_or_else(gone)?;
    let commit = repository.commit(wanted.commit)?;
    repository.expect(notes::names(wanted.commit));
    if is_older(&repository, &commit, &story) {
        return Ok(None);
    }
    let root = wanted.root.to_string_lossy();
    let changes = story.changes.get(root.as_ref()).map(Vec::as_slice).unwrap_or_default();
    let made = story.commits.iter().rfind(|one| one.what.commit == wanted.commit);
    let contents_kept = Store::look(wanted.root).ok().flatten();
    let kept = Kept { blobs: contents(&repository, &commit)?, store: contents_kept.as_ref() };
    let found = attribute(&commit.records, changes, &kept);
    let Some(first) = found.first.or(made.map(|one| one.seq)) else { return Ok(None) };
    let prompt = story.prompts.iter().rfind(|one| one.seq <= first);
    let from = prompt.map_or(1, |one| one.seq).min(wanted.last);
    let summary = Summary { story: &story, from };
    let by = match made.map(|one| &one.what.by) {
        Some(observed::CommittedBy::Call(_)) => CommittedBy::Call,
        _ => CommittedBy::Outside,
    };
    let used = used(wanted, &story, from);
    let facts = Annotations {
        repository: aops_attest::statement::Repository { root_commit: repository.root_commit(&commit.id)? },
        tree: commit.tree.clone(),
        committed: Committed { by, late: wanted.late },
        sessions: vec![name(wanted.trace)],
        entries: Span { from, to: wanted.last },
        log: signed_so_far(wanted.repositories.env),
        outside: found.outside.iter().take(MOST_FILES).map(|path| redact(path).into_owned()).collect(),
        files: Some(found.files).filter(|files| files.len() <= MOST_FILES && !files.iter().any(looks_secret)),
        tokens: tokens(&used),
        ..of_session(&summary)
    };
    let branch = story.branches.get(root.as_ref()).cloned().flatten();
    let address = repository.address(branch.as_deref());
    let kind = if summary.is_run() { BuilderKind::Run } else { BuilderKind::Session(facts.mode) };
    let predicate = Provenance {
        build_definition: BuildDefinition {
            build_type: BUILD_TYPE.to_owned(),
            external_parameters: ExternalParameters {
                task: prompt.map(|prompt| task(wanted, prompt)),
                target: Target {
                    repository: address.clone(),
                    base_ref: branch.map(|branch| redact(&branch).into_owned()),
                    base_commit: commit.parent.clone(),
                },
            },
            internal_parameters: internal(wanted, &summary, &used),
            resolved_dependencies: dependencies(&commit, address, &story.session.state.policy_hash),
        },
        run_details: RunDetails {
            builder: Builder::of(kind, &story.binary),
            metadata: metadata(wanted, &story, from),
            byproducts: vec![byproduct(&story, facts)],
        },
    };
    Ok(Some(Statement::new(&commit.id, &commit.change, predicate)))
}

/// Who made the commit, and what restricted it.
fn internal(wanted: &Wanted, summary: &Summary, used: &Used) -> InternalParameters {
    let most =
        used.tokens.by_model.iter().max_by_key(|(_, sum)| sum.output).map(|(model, _)| model_of(model));
    InternalParameters {
        agent: Agent { model: most, runtime: Some(runtime(wanted, used)), tools: summary.tools() },
        sandbox_policy: summary.jail().1,
        subagents: summary.subagents(&|id| used.models.get(id).map(|model| model_of(model))),
    }
}

/// Without a log of how `HEAD` moved, `HEAD` may have moved to a commit that existed before.
fn is_older(repository: &Repository, commit: &CommitObject, story: &Story) -> bool {
    let began = story.marks.first().and_then(|(_, ts)| time::parse(ts)).unwrap_or(0) / 1000;
    !repository.place().git.join("logs/HEAD").exists() && commit.made < began
}

/// Such a path cannot be published, and a changed one would not match the commit, so the list of files is
/// left out.
fn looks_secret(file: &File) -> bool {
    redact(&file.path) != file.path
}

/// What the entries of the span say about the session.
fn of_session(summary: &Summary) -> Annotations {
    let (mode, danger_off) = summary.policy();
    Annotations {
        version: VERSION,
        mode,
        attended: summary.attended(),
        jail: summary.jail().0,
        danger_off,
        tampering: summary.tampering(),
        plan: summary.plan(),
        qa: summary.qa(),
        tests: summary.tests(),
        checks: summary.checks(),
        refusals: summary.refusals(),
        unseen: summary.unseen(),
        waivers: summary.waivers(),
        approvals: summary.approvals(),
        blocks: summary.blocks(),
        checkpoints: summary.checkpoints(),
        ..Annotations::default()
    }
}

/// The prompt that started the change, by its position in the ledger.
fn task(wanted: &Wanted, prompt: &At<observed::PromptSeen>) -> Task {
    Task {
        uri: format!("urn:uuid:{}#{}", name(wanted.trace), prompt.seq),
        content: Content { digest: Digests::sha256(prompt.what.sha256.clone()) },
    }
}

fn byproduct(story: &Story, facts: Annotations) -> Resource<Annotations> {
    let last = story.marks.last().map(|(digest, _)| digest.clone()).unwrap_or_default();
    Resource {
        name: SESSION.to_owned(),
        uri: None,
        media_type: Some(SESSION_MEDIA_TYPE.to_owned()),
        digest: Digests::sha256(last),
        annotations: Some(facts),
    }
}

fn metadata(wanted: &Wanted, story: &Story, from: u64) -> Metadata {
    let at = |seq: u64| story.marks.get(usize::try_from(seq).ok()?.checked_sub(1)?).map(|(_, ts)| ts.clone());
    Metadata { invocation_id: name(wanted.trace), started_on: at(from), finished_on: at(wanted.last) }
}

/// What the change is based on: the parent, and the policy.
fn dependencies(commit: &CommitObject, uri: Option<String>, policy: &str) -> Vec<Resource> {
    let named = |name: &str| Resource { name: name.to_owned(), ..Resource::default() };
    let source = commit.parent.as_ref().map(|parent| {
        let digest = Digests::commit(parent.clone());
        Resource { uri, digest, ..named("source") }
    });
    let policy = Resource { digest: Digests::sha256(policy), ..named("policy") };
    source.into_iter().chain([policy]).collect()
}

/// The contents before and after, for every path of the change.
fn contents(repository: &Repository, commit: &CommitObject) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let sides = commit.records.iter().take(MOST_FILES).flat_map(|record| [&record.before, &record.after]);
    let files = sides.filter(|side| !matches!(side.0.as_str(), "000000" | "160000"));
    let ids: Vec<&str> = files.map(|side| side.1.as_str()).collect();
    if ids.is_empty() { Ok(BTreeMap::new()) } else { repository.blobs(&ids) }
}

/// The session's id, without anything that looks like a secret.
fn name(trace: &str) -> String {
    redact(trace).into_owned()
}

fn signed_so_far(env: &Env) -> Option<Head> {
    let (head, _) = proof::store::Store::look(env).ok()??.checkpoint().ok()??;
    Some(Head { origin: head.origin, size: head.size, root: base64(&head.root) })
}

/// What the client's own file says about the span. A file that cannot be read says nothing.
fn used(wanted: &Wanted, story: &Story, from: u64) -> Used {
    let at = |seq: u64| {
        story.marks.get(usize::try_from(seq).ok()?.checked_sub(1)?).and_then(|(_, ts)| time::parse(ts))
    };
    let Some(span) = at(from).zip(at(wanted.last)) else { return Used::default() };
    let transcript = transcript_at(wanted.repositories.env, wanted.folder, wanted.trace);
    let until = Instant::now() + PATIENCE;
    used_between(wanted.folder, wanted.trace, &transcript, span, until).unwrap_or_default()
}

/// The tokens that each model used.
fn tokens(used: &Used) -> BTreeMap<String, Tokens> {
    let of = |sum: &Sum| Tokens { input: sum.input + sum.cache_read + sum.cache_write, output: sum.output };
    used.tokens.by_model.iter().map(|(model, sum)| (label(model), of(sum))).collect()
}

fn model_of(model: &str) -> Model {
    let provider = model.starts_with("claude").then(|| "anthropic".to_owned());
    Model { provider, model_id: label(model) }
}

fn runtime(wanted: &Wanted, used: &Used) -> Runtime {
    let data = wanted.repositories.env.data.join("sessions");
    let below = wanted.folder.strip_prefix(&data).ok().and_then(|rest| rest.components().next());
    let name = below.map_or("claude-code".into(), |part| part.as_os_str().to_string_lossy());
    Runtime { name: name.into_owned(), version: used.version.as_deref().map(label) }
}
