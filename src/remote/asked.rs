//! The question of a session without a person: the call that its client deferred, as a question for the
//! engine.
//!
//! Reads the session's ledger; keeps the questions in files. Invariant: a session that belongs
//! to a run asks nothing here; its driver does.

use aops_core::gate::{self, sandbox};
use aops_core::insight::collect;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::ledger::session_folder::SessionKey;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::session::fact::Fact;
use aops_core::session::memory::OpenCall;
use aops_core::system::env::Env;
use aops_core::system::{files, fleet_home};
use aops_core::text::redact::redact;
use aops_core::text::sha256::sha256;
use aops_core::text::template::one_line;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The version of the form in which the gateway gets runs and questions.
pub const PROTOCOL: u64 = 1;

/// Stored type: what `fleet wait` needs to continue after the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionQuestion {
    pub call: String,
    /// The folder that the client was started in.
    pub cwd: String,
    pub session: String,
}

impl SessionQuestion {
    /// Always the same id for the same call.
    pub fn id(&self) -> String {
        format!("session-{}", &sha256(&[self.session.as_bytes(), b"\0", self.call.as_bytes()])[..16])
    }
}

/// A question of a session, with its wording and the digest of its call.
#[derive(Clone, Debug)]
pub struct Asked {
    pub asked: SessionQuestion,
    pub question: String,
    pub digest: String,
}

/// The digest of exactly this call: an answer counts for nothing else.
pub fn digest(asked: &SessionQuestion, open: &OpenCall) -> String {
    let parts = [&asked.session, &asked.call, &open.call.tool, &open.input_sha256];
    sha256(&parts.map(|part| [part.as_bytes(), b"\0"].concat()).each_ref().map(Vec::as_slice))
}

/// Stored type: a question that waits at the engine, until it is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    pub asked: SessionQuestion,
    pub digest: String,
    pub question: String,
    /// How often it was answered, and could not be carried out.
    pub tries: u32,
}

impl Pending {
    /// The name under which the engine knows it.
    pub fn id(&self) -> String {
        let id = self.asked.id();
        if self.tries == 0 { id } else { format!("{id}-{}", self.tries) }
    }

    /// What the gateway gets. Of the call it is only the wording, without secrets.
    pub fn order(&self, machine: &str) -> Value {
        let run = json!({
            "about": self.digest, "machine": machine, "question": redact(&self.question),
            "repository": redact(&self.asked.cwd), "run": {"task": "a session asks"},
        });
        json!({"labels": [], "protocol": PROTOCOL, "run": run, "who": ""})
    }

    fn file(&self, env: &Env) -> PathBuf {
        folder(env).join(format!("{}.json", self.asked.id()))
    }

    pub fn keep(&self, env: &Env) -> io::Result<()> {
        files::make_folders(&folder(env), 0o700)?;
        files::replace_private(&self.file(env), serde_json::to_string(self)?.as_bytes())
    }

    pub fn is_kept(&self, env: &Env) -> bool {
        self.file(env).exists()
    }

    pub fn forget(&self, env: &Env) {
        let _ = fs::remove_file(self.file(env));
    }
}

/// Where the questions are that wait at the engine.
pub fn folder(env: &Env) -> PathBuf {
    fleet_home::folder(env).join("questions")
}

/// The questions that wait at the engine, in the order of their names.
pub fn pending(env: &Env) -> Vec<Pending> {
    let items = fs::read_dir(folder(env)).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = items.map(|item| item.path()).collect();
    files.sort();
    let read = |file: PathBuf| serde_json::from_slice(&files::read(file).ok()?).ok();
    files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "json"))
        .filter_map(read)
        .collect()
}

/// Whether its session gave up the call: with another prompt, or because it was answered elsewhere.
pub fn is_given_up(env: &Env, pending: &Pending) -> bool {
    let asked = &pending.asked;
    let env = Env { cwd: PathBuf::from(&asked.cwd), ..env.later().for_project(Path::new("")) };
    let key = SessionKey { session_id: &asked.session, transcript_path: "", cwd: &asked.cwd };
    sessions::find(&env, key).is_some_and(|session| {
        let open = waiting(&session.memory.calls).filter(|open| open.call.id == asked.call);
        open.is_none_or(|open| digest(asked, open) != pending.digest)
    })
}

/// The call that a client ended without making, and that has not been answered yet.
pub fn waiting(calls: &[OpenCall]) -> Option<&OpenCall> {
    calls.iter().find(|open| gate::is_waiting(open))
}

/// What this session asks.
pub fn of(env: &Env, found: &SessionOnDisk) -> Option<Asked> {
    let session = sessions::session(found)?;
    let open = waiting(&session.memory.calls)?;
    let mut in_run = false;
    let mut what = String::new();
    collect::entries(&found.path.join(LEDGER_FILE), |_, fact| match fact {
        Fact::Run(_) => in_run = true,
        Fact::Call(step) if step.call == open.call => {
            let whole = step.input().map(|input| sandbox::shown_whole(&open.call.tool, input.get()));
            what = whole.unwrap_or(std::mem::take(&mut what));
        }
        _ => {}
    })
    .ok()?;
    let reason = open.reason.as_deref().unwrap_or_default();
    let why = one_line(reason.split("\nhint:").next().unwrap_or_default(), 400);
    let question = format!("may `{what}` be done? {why}");
    let asked = SessionQuestion {
        call: open.call.id.clone(),
        cwd: cwd(&collect::transcript_of(env, found))?,
        session: found.session_id.clone(),
    };
    let digest = digest(&asked, open);
    (!in_run).then_some(Asked { asked, question, digest })
}

/// The folder that the client was started in: no event records it, but the transcript begins there.
fn cwd(transcript: &Path) -> Option<String> {
    let lines = BufReader::new(files::open(transcript).ok()?.take(1 << 20)).lines();
    let of_line = |line: String| Some(serde_json::from_str::<Value>(&line).ok()?["cwd"].as_str()?.to_owned());
    lines.map_while(Result::ok).find_map(of_line)
}
