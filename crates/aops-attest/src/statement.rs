//! The attestation of one commit: an in-toto Statement v1 with SLSA provenance v1, with our own facts in one
//! byproduct.
//!
//! Unknown fields are ignored, as in-toto requires; a repeated name is rejected at any depth. Invariant: no
//! text by a person, a model or a command is included.

mod facts;

pub use facts::{
    Annotations, Approved, Author, By, Check, Committed, CommittedBy, File, Head, Hold, Jail, Lines,
    MOST_FILES, Mode, Plan, Qa, Repository, Seen, Side, Span, Test, Tokens, Verdict, Waiver, is_object_id,
    is_sha256,
};

use crate::strict::{self, Malformed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
pub const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";
/// A draft by one author; a later draft has another address, which is then used here.
pub const BUILD_TYPE: &str = "https://refs.arewm.com/agent-commit/v0.3";
/// The owner sets the host once, before the first release. Builder kind and version are appended.
pub const BUILDER: &str = "https://forge.example/aops-hook/builder/";
pub const SESSION: &str = "aops-session";
pub const SESSION_MEDIA_TYPE: &str = "application/vnd.aops.session.v1+json";
/// Version of our own facts.
pub const VERSION: u64 = 1;

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

/// For a resource about which we say nothing more.
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

/// The prompt, identified by its place in the ledger and the digest of its salted text.
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
    /// The remote, without user and password; `None` if there is no remote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_ref: Option<String>,
    /// The parent; `None` for a root commit.
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
    /// Each mode and kind has its own address, since their security differs.
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

impl Statement {
    /// A statement about this commit and the digest of its change.
    pub fn new(commit: &str, change: &str, predicate: Provenance) -> Self {
        let about = |name: &str, digest| Resource { name: name.to_owned(), digest, ..Resource::default() };
        let subject =
            vec![about("commit", Digests::commit(commit)), about("change", Digests::sha256(change))];
        Self {
            kind: STATEMENT_TYPE.to_owned(),
            subject,
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate,
        }
    }

    /// Parses a payload; rejects it unless every part that is judged later has the right form.
    pub fn parse(payload: &str) -> Result<Self, Malformed> {
        let statement: Self = strict::parse(payload)?;
        statement.check()?;
        Ok(statement)
    }

    /// The payload: one line.
    pub fn to_json(&self) -> String {
        // Only maps with keys other than strings could fail.
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

    /// Our byproduct with its facts; `parse` accepts no statement without it.
    pub fn session(&self) -> Option<(&Resource<Annotations>, &Annotations)> {
        let ours = self.predicate.run_details.byproducts.iter().find(|product| product.name == SESSION)?;
        Some((ours, ours.annotations.as_ref()?))
    }

    fn check(&self) -> Result<(), Malformed> {
        let wrong = |what: &str| Err(Malformed(format!("not a statement of ours: {what}")));
        let definition = &self.predicate.build_definition;
        for (is, must) in [
            (&self.kind, STATEMENT_TYPE),
            (&self.predicate_type, PREDICATE_TYPE),
            (&definition.build_type, BUILD_TYPE),
        ] {
            if is != must {
                return wrong(&format!("`{must}` is missing"));
            }
        }
        if self.subject.len() != 2 || !is_object_id(self.commit()) || !is_sha256(self.change()) {
            return wrong("the subjects are a commit and its change");
        }
        let products = &self.predicate.run_details.byproducts;
        let [Resource { name, media_type, digest, annotations: Some(facts), .. }] = products.as_slice()
        else {
            return wrong("it has one byproduct, the session");
        };
        let is_ours = name == SESSION && media_type.as_deref() == Some(SESSION_MEDIA_TYPE);
        if !is_ours || facts.version != VERSION || !digest.sha256.as_deref().is_some_and(is_sha256) {
            return wrong("its byproduct belongs to another session");
        }
        facts.fault(self.commit().len()).map_or(Ok(()), wrong)
    }
}

#[cfg(test)]
pub(crate) mod tests;
