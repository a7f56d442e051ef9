//! A repository with sessions, a log and witnesses made for a test, through the crate that the maker uses
//! too.

use crate::support::{Answer, Sandbox};
use aops_attest::change::Change;
use aops_attest::envelope::{ApprovalLine, Envelope, ProofLine};
use aops_attest::path;
use aops_attest::statement::{
    Agent, Annotations, Author, BUILD_TYPE, BuildDefinition, Builder, BuilderKind, By, Committed,
    CommittedBy, Digests, ExternalParameters, File, Hold, InternalParameters, Jail, Lines, Metadata, Mode,
    Model, Plan, Provenance, Qa, Repository, Resource, RunDetails, Runtime, SESSION, SESSION_MEDIA_TYPE,
    Seen, Span, Statement, Target, Test, Tokens, VERSION, Verdict,
};
use aops_core::text::sha256::{Sum, sha256};
use aops_ledger::entry::Frame;
use aops_ledger::sha256::NO_DIGEST;
use aops_proof::checkpoint::Checkpoint;
use aops_proof::key::{SecretKey, Use};
use aops_proof::note::Note;
use aops_proof::proof::Proof;
use aops_proof::tree::{inclusion, leaf_hash, root};
use aops_proof::whole::Whole;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const SESSION_ID: &str = "3f2a9c10-0000-4000-8000-000000000001";
/// When witnesses saw a checkpoint.
pub(crate) const SEEN: u64 = 1_763_400_000;

/// A log: its keys, and the entries that are its leaves.
pub(crate) struct Log {
    pub(crate) key: SecretKey,
    pub(crate) ml_dsa: SecretKey,
    entries: RefCell<Vec<String>>,
}

impl Log {
    pub(crate) fn new(name: &str, seed: u8) -> Self {
        let key = |used, seed| SecretKey::new(name, used, &[seed; 32]).unwrap();
        // Other entries stand before and after those of a test.
        let entries = (1..=3).map(|seq| entry(NO_DIGEST, seq, "event", "{}")).collect();
        Self {
            key: key(Use::Note, seed),
            ml_dsa: key(Use::MlDsa, seed + 100),
            entries: RefCell::new(entries),
        }
    }

    /// The same log with other keys.
    pub(crate) fn rotated(&self, seed: u8) -> Self {
        let name = &self.key.public().name;
        Self { entries: self.entries.clone(), ..Self::new(name, seed) }
    }

    pub(crate) fn public(&self) -> String {
        self.key.public().to_string()
    }

    /// Writes the entry that names a statement: its place.
    pub(crate) fn write(&self, statement: &Statement) -> usize {
        let digest = sha256(&[statement.to_json().as_bytes()]);
        let (product, facts) = statement.session().unwrap();
        let (commit, last) = (statement.commit(), facts.entries.to);
        let with =
            format!("{{\"commit\":\"{commit}\",\"last_entry\":{last},\"statement_sha256\":\"{digest}\"}}");
        self.append(entry(product.digest.sha256.as_deref().unwrap(), last + 1, "attest", &with))
    }

    /// Another entry of the log: its place.
    pub(crate) fn append(&self, entry: String) -> usize {
        let mut entries = self.entries.borrow_mut();
        entries.push(entry);
        entries.len() - 1
    }

    /// The head as it is signed now, with cosignatures of these witnesses at this time.
    pub(crate) fn head(&self, witnesses: &[(&SecretKey, u64)]) -> Note {
        let tree = self.tree();
        let origin = self.key.public().name.clone();
        let text =
            Checkpoint { origin, size: tree.size(), root: root(&tree, tree.size()).unwrap() }.to_string();
        let own = [self.key.sign(&text, 0), self.ml_dsa.sign(&text, 0)].into_iter().flatten();
        let seen = witnesses.iter().filter_map(|(key, time)| key.sign(&text, *time));
        Note { signatures: own.chain(seen).collect(), text }
    }

    fn tree(&self) -> Whole {
        let digest = |entry: &String| Sum::read(entry.split('"').nth(3).unwrap()).unwrap();
        Whole::new(self.entries.borrow().iter().map(|entry| leaf_hash(&digest(entry).0)).collect())
    }

    pub(crate) fn proof(&self, at: usize, witnesses: &[(&SecretKey, u64)]) -> Proof {
        let (tree, extra) = (self.tree(), self.entries.borrow()[at].clone().into_bytes());
        let path = inclusion(&tree, at as u64, tree.size()).unwrap().unwrap();
        Proof { extra, index: at as u64, path, note: self.head(witnesses) }
    }
}

pub(crate) fn entry(prev: &str, seq: u64, kind: &str, with: &str) -> String {
    let frame = Frame { prev, seq, mark: None, trace_id: SESSION_ID, ts: "2025-11-17T15:28:16Z", kind, with };
    frame.write().0.trim_end().to_owned()
}

pub(crate) fn witness(name: &str, seed: u8) -> SecretKey {
    SecretKey::new(name, Use::Cosignature, &[seed; 32]).unwrap()
}

pub(crate) struct Shop {
    pub(crate) sandbox: Sandbox,
    pub(crate) log: Log,
    /// The folder in which git runs: the project, unless another clone is looked at.
    pub(crate) folder: PathBuf,
}

/// Forty lines, so that changes far from each other do not meet.
pub(crate) fn long(changed: &[(usize, &str)]) -> String {
    let changed: BTreeMap<usize, &str> = changed.iter().copied().collect();
    (1..=40).map(|n| changed.get(&n).map_or(format!("line {n}\n"), |text| format!("{text}\n"))).collect()
}

impl Shop {
    pub(crate) fn new() -> Self {
        Self::with_format("sha1")
    }

    pub(crate) fn with_format(format: &str) -> Self {
        let sandbox = Sandbox::new();
        let folder = sandbox.project();
        let shop = Self { sandbox, log: Log::new("aops-log.local/test", 1), folder };
        shop.git(&["init", "-q", "-b", "main", "--object-format", format, "."]);
        for (name, value) in
            [("user.name", "Ada"), ("user.email", "ada@example.com"), ("commit.gpgsign", "false")]
        {
            shop.git(&["config", "--global", name, value]);
        }
        shop.put("a.txt", long(&[]));
        shop.put("b.txt", "b\n");
        shop.put(".aops/signers", shop.list(&[]));
        shop.commit("base");
        shop.git(&["branch", "base"]);
        shop
    }

    /// A list with the key of the log, and these further lines.
    pub(crate) fn list(&self, more: &[String]) -> String {
        let row = format!("{{\"key\":\"{}\",\"owner\":\"ada\",\"may\":\"A4\"}}", self.log.public());
        let second = format!("{{\"key\":\"{}\",\"owner\":\"ada\"}}", self.log.ml_dsa.public());
        [&[row, second], more].concat().join("\n") + "\n"
    }

    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[track_caller]
    pub(crate) fn git_bytes(&self, words: &[&str]) -> Vec<u8> {
        let output = self.sandbox.command("git").args(words).current_dir(&self.folder).output().unwrap();
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    #[track_caller]
    pub(crate) fn git(&self, words: &[&str]) -> String {
        String::from_utf8(self.git_bytes(words)).unwrap().trim_end().to_owned()
    }

    /// Everything that is in the folder: the commit's id.
    #[track_caller]
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.head()
    }

    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Writes a file and commits it, attested.
    #[track_caller]
    pub(crate) fn attested(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        self.put(name, text);
        let commit = self.commit(&format!("change {name}"));
        self.attest(&commit, |_| {});
        commit
    }

    /// What git says a commit changes.
    pub(crate) fn records(&self, commit: &str) -> Vec<u8> {
        let parent = self.git(&["rev-parse", &format!("{commit}^")]);
        self.git_bytes(&[
            "diff-tree", "-r", "-z", "--no-renames", "--full-index", "--no-commit-id", &parent, commit,
        ])
    }

    /// A statement at A2, all by the session.
    pub(crate) fn statement(&self, commit: &str, session: &str) -> Statement {
        let records = self.records(commit);
        let change = Change::take(&mut &records[..]).unwrap();
        let parent = self.git(&["rev-parse", &format!("{commit}^")]);
        let roots = self.git(&["rev-list", "--max-parents=0", commit]);
        let file = |record: &aops_attest::change::Record| File {
            path: path::spell(&record.path),
            before: record.before.clone(),
            after: record.after.clone(),
            sha256: None,
            by: Author::Session,
            lines: Lines { session: 6, outside: 0 },
        };
        let facts = Annotations {
            repository: Repository { root_commit: roots.lines().last().unwrap().to_owned() },
            tree: self.git(&["rev-parse", &format!("{commit}^{{tree}}")]),
            sessions: vec![session.to_owned()],
            files: Some(change.records.iter().map(file).collect()),
            ..verified()
        };
        let tree = facts.tree.clone();
        let test = Test { name: "evidence.test".into(), exit: 0, seen: Seen::Jail, tree, entry: 15 };
        let facts = Annotations { tests: vec![test], ..facts };
        Statement::new(commit, &sha256(&[&records]), provenance(facts, &parent, session))
    }

    /// Attests a commit by the session, after this change to the statement.
    pub(crate) fn attest(&self, commit: &str, change: impl FnOnce(&mut Statement)) -> Statement {
        let mut statement = self.statement(commit, SESSION_ID);
        change(&mut statement);
        self.add(commit, &statement, &[]);
        statement
    }

    /// The same, seen by these witnesses.
    pub(crate) fn add(&self, commit: &str, statement: &Statement, witnesses: &[(&SecretKey, u64)]) {
        let at = self.log.write(statement);
        self.note(commit, &self.lines(statement, at, witnesses));
    }

    pub(crate) fn lines(&self, statement: &Statement, at: usize, witnesses: &[(&SecretKey, u64)]) -> String {
        let envelope = Envelope::sign(statement, &self.log.key).unwrap().to_line();
        let proof = ProofLine::of(&statement.to_json(), self.log.proof(at, witnesses).to_string());
        format!("{envelope}\n{}\n", proof.to_line())
    }

    /// Adds to the note of a commit.
    pub(crate) fn note(&self, commit: &str, text: &str) {
        let file = self.sandbox.tmp().join("note");
        fs::write(&file, text).unwrap();
        self.git(&["notes", "--ref", "aops-attest", "append", "-F", file.to_str().unwrap(), commit]);
    }

    pub(crate) fn note_of(&self, commit: &str) -> String {
        self.git(&["notes", "--ref", "aops-attest", "show", commit])
    }

    /// A person with an ssh key: the line for the list, and the path of the secret key.
    pub(crate) fn person(&self, owner: &str) -> (String, PathBuf) {
        let file = self.sandbox.home().join(format!("id-{owner}"));
        let words = ["-q", "-t", "ed25519", "-N", "", "-C", owner, "-f", file.to_str().unwrap()];
        assert!(self.sandbox.command("ssh-keygen").args(words).output().unwrap().status.success());
        let public = fs::read_to_string(file.with_extension("pub")).unwrap();
        (format!("{{\"key\":\"{}\",\"owner\":\"{owner}\"}}", public.trim()), file)
    }

    /// A person's approval of a change.
    pub(crate) fn approval(&self, key: &Path, records: &[u8]) -> ApprovalLine {
        let file = self.sandbox.tmp().join("records");
        fs::write(&file, records).unwrap();
        let words = ["-q", "-Y", "sign", "-n", "aops-approve", "-f"];
        let mut sign = self.sandbox.command("ssh-keygen");
        assert!(sign.args(words).arg(key).arg(&file).output().unwrap().status.success());
        let signature = fs::read_to_string(self.sandbox.tmp().join("records.sig")).unwrap();
        fs::remove_file(self.sandbox.tmp().join("records.sig")).unwrap();
        ApprovalLine { change: sha256(&[records]), signature }
    }

    pub(crate) fn run(&self, words: &[&str]) -> Answer {
        let mut command = self.sandbox.command(crate::support::BINARY);
        Answer::of("", &command.arg("verify-commit").args(words).current_dir(&self.folder).output().unwrap())
    }

    /// Exit code, and for each commit: binding, level, and what is wrong.
    #[track_caller]
    pub(crate) fn found(&self, words: &[&str]) -> (i32, Vec<String>) {
        let keys = ["--signers", "base:.aops/signers", "--format", "json"];
        let words = [words, &keys[..]].concat();
        let answer = self.run(&words);
        let told: Value = serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{answer:#?}"));
        super::second::agrees(self, &words, answer.code.unwrap(), &told);
        (answer.code.unwrap(), told["commits"].as_array().unwrap().iter().map(summary).collect())
    }

    /// Nothing can be said of any commit: both verifiers end so.
    #[track_caller]
    pub(crate) fn refuses(&self, words: &[&str], code: i32, why: &[&str]) {
        self.run(words).failed(code, why);
        super::second::ends_alike(self, words, code);
    }

    /// The branch since the base passes, each commit so.
    #[track_caller]
    pub(crate) fn passes(&self, words: &[&str], expected: &[&str]) {
        assert_eq!(self.found(&[&["base..HEAD"], words].concat()), (0, words_of(expected)));
    }

    #[track_caller]
    pub(crate) fn fails(&self, words: &[&str], code: i32, expected: &[&str]) {
        assert_eq!(self.found(&[&["base..HEAD"], words].concat()), (code, words_of(expected)));
    }
}

fn words_of(expected: &[&str]) -> Vec<String> {
    expected.iter().map(|text| (*text).to_owned()).collect()
}

/// `commit A2 ok`, `- - NONE`, `person ada`.
fn summary(commit: &Value) -> String {
    let word = |name: &str| commit[name].as_str().unwrap_or("-").to_owned();
    if let Some(person) = commit["person"].as_str() {
        return format!("person {person}");
    }
    let code = commit["code"].as_str().unwrap_or("ok");
    format!("{} {} {code}", word("binding"), word("level"))
}

/// Facts that reach A2 once they have files and tests.
fn verified() -> Annotations {
    Annotations {
        version: VERSION,
        committed: Committed { by: CommittedBy::Call, late: false },
        entries: Span { from: 4, to: 19 },
        mode: Mode::Strict,
        attended: true,
        jail: Jail { least: Some(Hold::Namespaces), commands: 2, unjailed: 0 },
        plan: Some(Plan { verdict: Verdict::Proceed, by: By::Critic, entry: 6 }),
        qa: Some(Qa { verdict: Verdict::Verified, by: By::QaVerifier, entry: 17, after: true }),
        refusals: BTreeMap::from([("danger".to_owned(), 1)]),
        tokens: BTreeMap::from([("claude-opus-4-6".to_owned(), Tokens { input: 18230, output: 1411 })]),
        ..Annotations::default()
    }
}

fn provenance(facts: Annotations, parent: &str, session: &str) -> Provenance {
    let agent = Agent {
        model: Some(Model { provider: Some("anthropic".into()), model_id: "claude-opus-4-6".into() }),
        runtime: Some(Runtime { name: "claude-code".into(), version: Some("2.1.325".into()) }),
        tools: Vec::new(),
    };
    let policy =
        Resource { name: "policy".into(), digest: Digests::sha256("99".repeat(32)), ..Resource::default() };
    let target = Target {
        repository: Some("git+https://forge.example/team/calc".into()),
        base_ref: Some("refs/heads/main".into()),
        base_commit: Some(parent.to_owned()),
    };
    let session_facts = Resource {
        name: SESSION.into(),
        media_type: Some(SESSION_MEDIA_TYPE.into()),
        digest: Digests::sha256("70".repeat(32)),
        annotations: Some(facts),
        ..Resource::default()
    };
    Provenance {
        build_definition: BuildDefinition {
            build_type: BUILD_TYPE.into(),
            external_parameters: ExternalParameters { task: None, target },
            internal_parameters: InternalParameters { agent, ..InternalParameters::default() },
            resolved_dependencies: vec![policy],
        },
        run_details: RunDetails {
            builder: Builder::of(BuilderKind::Session(Mode::Strict), "0.2.0"),
            metadata: Metadata {
                invocation_id: session.to_owned(),
                started_on: Some("2025-11-17T15:28:15Z".into()),
                finished_on: Some("2025-11-17T15:28:16Z".into()),
            },
            byproducts: vec![session_facts],
        },
    }
}

/// Our own facts of a statement, to be changed.
pub(crate) fn facts(statement: &mut Statement) -> &mut Annotations {
    statement.predicate.run_details.byproducts[0].annotations.as_mut().unwrap()
}
