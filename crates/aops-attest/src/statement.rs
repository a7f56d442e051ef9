//! What is attested of one commit: an in-toto Statement v1 with SLSA provenance v1, our own facts in one byproduct.
//!
//! Fields that we do not know are ignored, as in-toto wants it; a name that stands twice is refused, however deep.
//! Invariant: nothing here is a text of a person, of a model or of a command.

use crate::strict::{self, Malformed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
pub const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";
/// A draft of one author; a later draft is another address, and is told here.
pub const BUILD_TYPE: &str = "https://refs.arewm.com/agent-commit/v0.3";
/// The owner sets the host once, before the first release. The kind of builder and its version follow.
pub const BUILDER: &str = "https://forge.example/aops-hook/builder/";
pub const SESSION: &str = "aops-session";
pub const SESSION_MEDIA_TYPE: &str = "application/vnd.aops.session.v1+json";
/// Of our own facts.
pub const VERSION: u64 = 1;
/// Over so many files a statement lists none; the digest of the change still binds.
pub const MOST_FILES: usize = 500;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    #[serde(rename = "_type")]
    pub kind: String,
    pub subject: Vec<Resource>,
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: Provenance,
}

/// A resource descriptor of in-toto.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource<A = NoAnnotations> {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Digests::is_empty")]
    pub digest: Digests,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<A>,
}

/// Of a resource about which we say no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoAnnotations {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Digests {
    /// 40 or 64 lower-case digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Digests {
    pub fn commit(id: impl Into<String>) -> Self {
        Self { git_commit: Some(id.into()), sha256: None }
    }

    pub fn sha256(digest: impl Into<String>) -> Self {
        Self { git_commit: None, sha256: Some(digest.into()) }
    }

    fn is_empty(&self) -> bool {
        self.git_commit.is_none() && self.sha256.is_none()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    pub build_definition: BuildDefinition,
    pub run_details: RunDetails,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildDefinition {
    pub build_type: String,
    pub external_parameters: ExternalParameters,
    pub internal_parameters: InternalParameters,
    #[serde(default)]
    pub resolved_dependencies: Vec<Resource>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalParameters {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    pub target: Target,
}

/// The prompt, by its place in the ledger and the digest of its salted text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// `urn:uuid:SESSION#ENTRY`.
    pub uri: String,
    pub content: Content,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    pub digest: Digests,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The remote, without user and password; none where there is no remote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_ref: Option<String>,
    /// The parent; none for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InternalParameters {
    pub agent: Agent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<Subagent>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Named>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub model_id: String,
}

/// The client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    pub filesystem: Hold,
    pub profile: String,
    pub network: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subagent {
    pub invocation_id: String,
    pub role: By,
    pub agent: Agent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    #[serde(rename = "type")]
    pub kind: Verdict,
    pub digest: Digests,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDetails {
    pub builder: Builder,
    pub metadata: Metadata,
    pub byproducts: Vec<Resource<Annotations>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Builder {
    pub id: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub version: BTreeMap<String, String>,
}

impl Builder {
    /// One address for each mode and kind, since their security differs.
    pub fn of(kind: BuilderKind, version: &str) -> Self {
        let id = format!("{BUILDER}{}/v1", kind.name());
        Self { id, version: BTreeMap::from([("aops-hook".to_owned(), version.to_owned())]) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuilderKind {
    Session(Mode),
    Run,
}

impl BuilderKind {
    fn name(self) -> &'static str {
        match self {
            Self::Session(mode) => mode.name(),
            Self::Run => "run",
        }
    }
}

/// Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub invocation_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_on: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_on: Option<String>,
}

/// Our own facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    pub version: u64,
    pub repository: Repository,
    /// Of the commit.
    pub tree: String,
    pub committed: Committed,
    pub sessions: Vec<String>,
    /// The span of the ledger that this is about.
    pub entries: Span,
    /// The last signed checkpoint before the commit; none where the log had none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Head>,
    /// `None`: more than `MOST_FILES`.
    #[serde(deserialize_with = "Option::deserialize")]
    pub files: Option<Vec<File>>,
    /// Every path that changed while no call of the session ran.
    pub outside: Vec<String>,
    /// The lowest of the span.
    pub mode: Mode,
    pub attended: bool,
    pub jail: Jail,
    pub danger_off: Vec<String>,
    pub tampering: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qa: Option<Qa>,
    pub tests: Vec<Test>,
    pub checks: Vec<Check>,
    /// How often each gate refused.
    pub refusals: BTreeMap<String, u64>,
    pub waivers: Vec<Waiver>,
    /// Calls that a person allowed.
    pub approvals: Vec<Approved>,
    pub blocks: u64,
    pub tokens: BTreeMap<String, Tokens>,
    pub checkpoints: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Repository {
    /// The first root commit: tells repositories apart where a remote has many names.
    pub root_commit: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    pub by: CommittedBy,
    /// Attested by a person after the session.
    pub late: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommittedBy {
    /// A call of the session.
    Call,
    /// HEAD moved without one.
    #[default]
    Outside,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub from: u64,
    pub to: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub origin: String,
    pub size: u64,
    /// Base64.
    pub root: String,
}

/// One path of the change, as `git diff-tree` tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// As `path::spell` writes it.
    pub path: String,
    pub before: Side,
    pub after: Side,
    /// Of the content after the change; none for what is gone or has no content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    pub by: Author,
    pub lines: Lines,
}

/// Mode and blob; mode `000000` and zeros where there is no file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Side(pub String, pub String);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// The content is what the session's last call left, on what the base had.
    Session,
    /// No call of it wrote the file.
    #[default]
    Outside,
    Mixed,
}

/// Added lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    pub session: u64,
    pub outside: u64,
}

/// In rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Observe,
    Guard,
    Loop,
    Strict,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Guard => "guard",
            Self::Loop => "loop",
            Self::Strict => "strict",
        }
    }
}

/// What holds a command, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// Nothing but our reading of the line.
    #[default]
    Words,
    Seatbelt,
    Landlock,
    Namespaces,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jail {
    /// The weakest hold over all commands; none without a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<Hold>,
    pub commands: u64,
    pub unjailed: u64,
}

/// What an agent of ours said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    Proceed,
    Revise,
    Halt,
    Ok,
    Block,
    Verified,
    Issues,
}

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    PromptHydrator,
    Critic,
    Custodiet,
    QaVerifier,
    Framework,
    /// At the client or at a terminal; the ledger has no name for them.
    Person,
}

impl By {
    pub fn name(self) -> &'static str {
        match self {
            Self::PromptHydrator => "prompt-hydrator",
            Self::Critic => "critic",
            Self::Custodiet => "custodiet",
            Self::QaVerifier => "qa-verifier",
            Self::Framework => "framework",
            Self::Person => "person",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub verdict: Verdict,
    pub by: By,
    pub entry: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qa {
    pub verdict: Verdict,
    pub by: By,
    pub entry: u64,
    /// No change followed it.
    pub after: bool,
}

/// A command that matched `[evidence] test`, after the last change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    pub name: String,
    pub exit: i64,
    pub seen: Seen,
    /// On which it ran.
    pub tree: String,
    pub entry: u64,
}

/// Who saw how a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seen {
    Jail,
    /// As the client told it.
    Client,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub exit: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// A gate, or `task` for the whole loop of a task, or `call` for one call.
    pub of: String,
    pub by: By,
    pub entry: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    /// The danger rule or gate that asked.
    pub of: String,
    pub by: By,
    pub entry: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    #[serde(rename = "in")]
    pub input: u64,
    #[serde(rename = "out")]
    pub output: u64,
}

impl Statement {
    /// About this commit and the digest of its change.
    pub fn new(commit: &str, change: &str, predicate: Provenance) -> Self {
        let about = |name: &str, digest| Resource { name: name.to_owned(), digest, ..Resource::default() };
        let subject = vec![about("commit", Digests::commit(commit)), about("change", Digests::sha256(change))];
        Self { kind: STATEMENT_TYPE.to_owned(), subject, predicate_type: PREDICATE_TYPE.to_owned(), predicate }
    }

    /// Reads a payload, and refuses what is not a statement of ours in every part that is judged later.
    pub fn parse(payload: &str) -> Result<Self, Malformed> {
        let statement: Self = strict::parse(payload)?;
        statement.check()?;
        Ok(statement)
    }

    /// The payload: one line.
    pub fn to_json(&self) -> String {
        // Only maps with other keys than texts could fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn commit(&self) -> &str {
        self.subject_named("commit").and_then(|digest| digest.git_commit.as_deref()).unwrap_or_default()
    }

    /// The digest of the change's records.
    pub fn change(&self) -> &str {
        self.subject_named("change").and_then(|digest| digest.sha256.as_deref()).unwrap_or_default()
    }

    fn subject_named(&self, name: &str) -> Option<&Digests> {
        self.subject.iter().find(|subject| subject.name == name).map(|subject| &subject.digest)
    }

    /// The byproduct that is ours, with its facts; `parse` lets no statement through without.
    pub fn session(&self) -> Option<(&Resource<Annotations>, &Annotations)> {
        let ours = self.predicate.run_details.byproducts.iter().find(|product| product.name == SESSION)?;
        Some((ours, ours.annotations.as_ref()?))
    }

    fn check(&self) -> Result<(), Malformed> {
        let wrong = |what: &str| Err(Malformed(format!("not a statement of ours: {what}")));
        let definition = &self.predicate.build_definition;
        for (is, must) in
            [(&self.kind, STATEMENT_TYPE), (&self.predicate_type, PREDICATE_TYPE), (&definition.build_type, BUILD_TYPE)]
        {
            if is != must {
                return wrong(&format!("`{must}` is missing"));
            }
        }
        if self.subject.len() != 2 || !is_object_id(self.commit()) || !is_sha256(self.change()) {
            return wrong("the subjects are a commit and its change");
        }
        let products = &self.predicate.run_details.byproducts;
        let [Resource { name, media_type, digest, annotations: Some(facts), .. }] = products.as_slice() else {
            return wrong("it has one byproduct, the session");
        };
        let is_ours = name == SESSION && media_type.as_deref() == Some(SESSION_MEDIA_TYPE);
        if !is_ours || facts.version != VERSION || !digest.sha256.as_deref().is_some_and(is_sha256) {
            return wrong("its byproduct is another's");
        }
        facts.fault(self.commit().len()).map_or(Ok(()), wrong)
    }
}

impl Annotations {
    /// What is malformed in it. Ids of objects have so many digits.
    fn fault(&self, long: usize) -> Option<&'static str> {
        let is_id = |id: &str| id.len() == long && is_object_id(id);
        if !is_id(&self.tree) || !is_id(&self.repository.root_commit) {
            return Some("an id is none");
        }
        let sides = self.files.iter().flatten().flat_map(|file| [&file.before, &file.after]);
        let is_mode = |mode: &str| mode.len() == 6 && mode.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
        if !sides.into_iter().all(|Side(mode, blob)| is_mode(mode) && is_id(blob)) {
            return Some("a file has another form");
        }
        if self.files.as_ref().is_some_and(|files| files.len() > MOST_FILES) || self.entries.from > self.entries.to {
            return Some("the list of files or entries has another form");
        }
        None
    }
}

/// A whole id of git's, in lower case.
pub fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
}

pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && is_object_id(text)
}

#[cfg(test)]
pub(crate) mod tests;
