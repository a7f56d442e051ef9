//! Attests commits of sessions: makes the statement, records it, signs it, and writes it into the
//! repository's notes.
//!
//! Runs as a process of its own behind the hook, and as a person's command. Reads ledgers and git's objects;
//! writes the ledger's `attest` entry, the log, and notes. Invariants: the statement's digest is an entry of
//! the signed log before its signature leaves this process; each step can be repeated, so a killed process
//! leaves either an attestation that verifies, or none, and the next process makes it; a commit that cannot
//! be attested (its working tree or its objects are gone) does not stop the others.

pub mod objects;
pub mod notes;
pub mod authors;
pub mod gather;
pub mod statement;
pub mod pending;

use aops_attest::envelope::{Envelope, Lines, ProofLine};
use aops_attest::statement::Statement;
use aops_core::briefing::refresh::{ATTEST, take_network};
use aops_core::ledger::open::Ledger;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::model::error::{Code, Failure};
use aops_core::proof::keys::Keys;
use aops_core::proof::prove::{entry, prove};
use aops_core::proof::store::Store;
use aops_core::proof::tier::Level;
use aops_core::proof::unheld::Commands;
use aops_core::proof::{append, check, trust};
use aops_core::session::fact::Fact;
use aops_core::session::observed::{Attested, CommitMade};
use aops_core::system::env::Env;
use aops_core::system::files;
use aops_core::system::process::{Sharing, detached};
use gather::Story;
use objects::{Repositories, Repository};
use pending::{Pending, Stage};
use statement::{Wanted, make};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// On a working machine nothing here takes longer.
const LONGEST: Duration = Duration::from_mins(2);

/// An internal verb, not listed in `--help`.
pub fn is_verb(word: &str) -> bool {
    word == ATTEST
}

/// Runs the internal verb; prints nothing, since stdout is closed.
pub fn run(arguments: &[String], env: &Env) -> u8 {
    let [_, folder, trace] = arguments else { return 2 };
    take_network(env);
    detached::own_session();
    thread::spawn(|| {
        thread::sleep(LONGEST);
        #[expect(clippy::exit, reason = "a git that hangs must not keep this process for ever")]
        std::process::exit(1);
    });
    // Each git in a jail of its own would take three times as long.
    let _sharing = Sharing::begin();
    u8::from(attest(env, Path::new(folder), trace).is_err())
}

/// The first problem, when all items are tried anyway.
#[derive(Debug, Default)]
struct Troubles(Option<Failure>);

impl Troubles {
    fn note<T>(&mut self, done: Result<T, Failure>) -> Option<T> {
        done.map_err(|failure| self.0.get_or_insert(failure).clone()).ok()
    }

    fn told(self) -> Result<(), Failure> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Attests the commits of this session that need it, and publishes the notes.
pub fn attest(env: &Env, folder: &Path, trace: &str) -> Result<(), Failure> {
    if Keys::open(env)?.is_none() {
        return Ok(());
    }
    let _lock = pending::lock(folder)?;
    let repositories = Repositories::new(env);
    let story = Story::read(folder, trace, u64::MAX)?;
    let mut troubles = Troubles::default();
    for made in &story.session.memory.proof.trail.commits {
        let found = troubles.note(wanted(&repositories, folder, trace, &story, made)).flatten();
        if let Some((statement, last)) = found {
            troubles.note(record(env, folder, trace, Path::new(&made.root), (&statement, last)));
        }
    }
    let made = story.session.memory.proof.trail.commits.iter().map(|made| PathBuf::from(&made.root));
    let finished =
        finish(&repositories, folder, trace, &mut troubles, &|pending| pending.stage == Stage::Made);
    let roots: BTreeSet<PathBuf> = troubles.note(finished).into_iter().flatten().chain(made).collect();
    for repository in roots.into_iter().filter_map(|root| repositories.at(&root)) {
        let _ = notes::publish(&repository);
    }
    troubles.told()
}

/// The statement to make about this commit now: the first one, or one that adds something about the same
/// tree.
fn wanted(
    repositories: &Repositories,
    folder: &Path,
    trace: &str,
    story: &Story,
    made: &CommitMade,
) -> Result<Option<(Statement, u64)>, Failure> {
    let root = Path::new(&made.root);
    let of = |last: u64| {
        make(&Wanted { repositories, folder, trace, root, commit: &made.commit, last, late: false })
    };
    if made.attested == 0 {
        return Ok(of(made.seq)?.map(|statement| (statement, made.seq)));
    }
    let last = story.session.seq;
    if !story.is_raised(made, last) {
        return Ok(None);
    }
    let (Some(before), Some(now)) = (of(made.attested)?, of(last)?) else { return Ok(None) };
    let adds = before.session().zip(now.session()).is_some_and(|((_, before), (_, now))| {
        (now.plan, now.qa) != (before.plan, before.qa)
            || now.tests.iter().any(|test| !before.tests.contains(test))
    });
    Ok(adds.then_some((now, last)))
}

/// Saves the payload, then writes the entry that names it.
fn record(
    env: &Env,
    folder: &Path,
    trace: &str,
    root: &Path,
    (statement, last): (&Statement, u64),
) -> Result<(), Failure> {
    let pending = Pending::keep(folder, root, statement.to_json())?;
    let commit = statement.commit().to_owned();
    let statement_sha256 = pending.sha256();
    let fact = Attested { commit, last_entry: last, statement_sha256 };
    Ledger::at(env, folder, trace)?.append(env, vec![Fact::Attest(fact)])
}

/// Continues with these pending statements. Returns the working trees with new notes.
fn finish(
    repositories: &Repositories,
    folder: &Path,
    trace: &str,
    troubles: &mut Troubles,
    which: &dyn Fn(&Pending) -> bool,
) -> Result<BTreeSet<PathBuf>, Failure> {
    let mut noted = BTreeSet::new();
    let waiting: Vec<Pending> = Pending::all(folder).into_iter().filter(which).collect();
    if waiting.is_empty() {
        return Ok(noted);
    }
    append::add(repositories.env, trace, folder, Commands::Held)?;
    let story = Story::read(folder, trace, u64::MAX)?;
    for pending in waiting {
        let root = pending.root.clone();
        if troubles.note(put(repositories, folder, &story, pending)) == Some(true) {
            noted.insert(root);
        }
    }
    Ok(noted)
}

/// Writes the note of one statement. `false`: there is nowhere to write it, or the statement must be made
/// again.
fn put(
    repositories: &Repositories,
    folder: &Path,
    story: &Story,
    mut pending: Pending,
) -> Result<bool, Failure> {
    let env = repositories.env;
    let digest = pending.sha256();
    let named = story.attested.iter().find(|one| one.what.statement_sha256 == digest);
    // The process was killed before the entry was written: the statement is made again.
    let (Some(named), Some(repository)) = (named, repositories.at(&pending.root)) else {
        pending.end();
        return Ok(false);
    };
    let envelope = sign(env, &pending.payload)?;
    let proof = proof_line(env, folder, named.seq, &pending.payload)?;
    notes::add(&repository, &named.what.commit, &[envelope.to_line(), proof.to_line()], &|_| false)?;
    if trust::here(env)?.witnesses.is_empty() {
        pending.end();
    } else {
        pending.note()?;
    }
    Ok(true)
}

fn sign(env: &Env, payload: &str) -> Result<Envelope, Failure> {
    let broken = |what: &str| Failure::new(Code::StorageFailed, what.to_owned());
    let statement = Statement::parse(payload).map_err(|why| broken(&why.0))?;
    let keys = Keys::open(env)?.ok_or_else(|| broken("there is no key"))?;
    let signed = keys.sign(&Envelope::message(&statement))?;
    let ours = signed.iter().find(|signature| signature.id == keys.note().id());
    Ok(Envelope::with(&statement, keys.note(), ours.ok_or_else(|| broken("the key signed nothing"))?))
}

/// The proof that leads from the `attest` entry to a signed checkpoint, which witnesses may have signed too.
fn proof_line(env: &Env, folder: &Path, seq: u64, payload: &str) -> Result<ProofLine, Failure> {
    let broken = |what: &str| Failure::new(Code::StorageFailed, what.to_owned());
    let line = entry(folder, seq)?.ok_or_else(|| broken("the entry is gone"))?;
    let log = check::examine(env, &trust::here(env)?);
    let store = Store::look(env)?;
    let (proof, level) = prove(store.as_ref(), log.as_ref(), &line, false)?;
    if level == Level::Intact {
        return Err(broken("the entry is not in the signed log yet"));
    }
    Ok(ProofLine::of(payload, proof))
}

/// Adds to the notes of a session what witnesses have signed in the meantime, and pushes them.
pub fn add_cosigned(env: &Env, folder: &Path, trace: &str) -> Result<(), Failure> {
    let waiting = || Pending::all(folder).into_iter().filter(|pending| pending.stage == Stage::Noted);
    if waiting().next().is_none() {
        return Ok(());
    }
    let _lock = pending::lock(folder)?;
    let story = Story::read(folder, trace, u64::MAX)?;
    let trust = trust::here(env)?;
    let mut troubles = Troubles::default();
    for pending in waiting() {
        troubles.note(replace_proof(env, folder, &story, &trust, pending));
    }
    troubles.told()
}

/// Replaces the proof once witnesses have signed: the old one says less about the same entry.
fn replace_proof(
    env: &Env,
    folder: &Path,
    story: &Story,
    trust: &check::Trust,
    pending: Pending,
) -> Result<(), Failure> {
    let digest = pending.sha256();
    let named = story.attested.iter().find(|one| one.what.statement_sha256 == digest);
    let (Some(named), Some(repository)) = (named, Repository::at(env, &pending.root)) else { return Ok(()) };
    let proof = proof_line(env, folder, named.seq, &pending.payload)?;
    let shown = aops_core::proof::prove::read(env, trust, &proof.proof);
    if shown.is_ok_and(|shown| shown.level == Level::Witnessed) {
        let replaced = |line: &str| is_proof_of(line, &digest);
        notes::add(&repository, &named.what.commit, &[proof.to_line()], &replaced)?;
        let _ = notes::publish(&repository);
        pending.end();
    }
    Ok(())
}

/// Whether this line is a proof for the statement with this digest.
fn is_proof_of(line: &str, digest: &str) -> bool {
    Lines::parse(line.as_bytes()).is_ok_and(|lines| lines.proofs.iter().any(|proof| proof.payload == digest))
}

/// Attests a commit that this session recorded, when a person asks for it after the session.
pub fn attest_late(env: &Env, folder: &Path, trace: &str, root: &Path, commit: &str) -> Result<(), Failure> {
    // Most sessions never recorded this commit.
    if !files::read(folder.join(LEDGER_FILE)).is_ok_and(|ledger| memmem(&ledger, commit.as_bytes())) {
        return Ok(());
    }
    let _lock = pending::lock(folder)?;
    let repositories = Repositories::new(env);
    let story = Story::read(folder, trace, u64::MAX)?;
    let Some(made) = story.commits.iter().rfind(|one| one.what.commit == commit) else { return Ok(()) };
    if !Pending::all(folder).iter().any(|pending| pending.is_about(commit)) {
        let wanted =
            Wanted { repositories: &repositories, folder, trace, root, commit, last: made.seq, late: true };
        let Some(statement) = make(&wanted)? else { return Ok(()) };
        record(env, folder, trace, root, (&statement, made.seq))?;
    }
    // A statement that waits for witnesses already has a note; a person who asks for this commit has lost it.
    let mut troubles = Troubles::default();
    let is_it = |pending: &Pending| pending.stage == Stage::Made || pending.is_about(commit);
    let finished = finish(&repositories, folder, trace, &mut troubles, &is_it);
    troubles.note(finished);
    troubles.told()
}

fn memmem(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
