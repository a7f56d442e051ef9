//! `session-state.json`, and recovery if state and ledger do not agree: replay, cut a torn tail, or refuse.
//!
//! Reads both; cuts only bytes that were never acknowledged, and stores them in `torn-*`. Invariants: no call
//! is run again; a ledger that is shorter than a witness proves is accepted only after a power loss, and only
//! with all synced entries; a state that does not match its digest proves nothing, but a block in it counts.

use crate::ledger::chain::{Walk, is_tear};
use crate::ledger::entry::{Line, Mark};
use crate::ledger::heads::Head;
use crate::model::error::{Code, Failure};
use crate::session::fact::{Blocked, FORMAT, Fact, Recovered};
use crate::session::fold::Session;
use crate::session::memory::{Memory, Witness};
use crate::session::state::{SCHEMA, State, StateText};
use crate::system::{folder, threads};
use crate::text::json::{self, quoted};
use crate::text::sha256::sha256;
use crate::text::stored::{canonical_value, digest_of};
use crate::text::template::one_line;
use memchr::memmem;
use rustix::fs::{FileType, OFlags, fstat};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;

pub const LEDGER_FILE: &str = "ledger.jsonl";
/// The version of this program.
pub const OURS: &str = env!("CARGO_PKG_VERSION");
/// Greatest distance between two snapshots.
const WINDOW: u64 = 2 << 20;
/// The longest first entry.
const LONGEST_OPEN: u64 = 64 << 10;

/// A session read from its ledger, with the necessary repairs.
#[derive(Debug)]
pub struct Loaded {
    pub walk: Walk,
    /// Recorded before the facts of the next batch.
    pub repairs: Vec<Fact>,
    /// An exported head may belong to an entry that was lost in a power failure, so a newer one is due.
    pub lapsed: bool,
}

pub struct SessionFiles<'a> {
    pub dir: &'a OwnedFd,
    pub file: &'a File,
    pub trace: &'a str,
    pub long: u64,
    pub head: Option<Head>,
    /// The number of a head whose entry a power loss may have removed.
    pub lapsed: u64,
    pub boot: &'a str,
    /// Torn bytes are not set aside.
    pub dry_run: bool,
}

impl SessionFiles<'_> {
    /// The session after repairs. Writes only `torn-*` and a shorter ledger.
    pub fn recover(&self, state_file: &StateFile) -> Result<Loaded, Failure> {
        let (mut walk, rest) = self.walk(state_file)?;
        let mut repairs = Vec::new();
        let lost = self.witnessed(state_file, &walk)?;
        if !rest.is_empty() {
            repairs.push(self.set_aside(&walk, &rest)?);
        } else if lost.is_none() {
            let what = "the state did not match the ledger and was rebuilt from it".to_owned();
            repairs.push(Fact::Recovery(Recovered { what, ..Recovered::default() }));
        }
        if let Some(seq) = lost {
            repairs.push(Fact::Recovery(Recovered {
                lost_after: Some(walk.folded.seq),
                what: format!(
                    "a power loss destroyed entries up to {seq}; everything that was synced is left"
                ),
                ..Recovered::default()
            }));
        }
        if let Some(reason) = state_file.edited_block().filter(|_| walk.folded.blocked().is_none()) {
            repairs.push(Fact::Block(Blocked { by: "an edit of session-state.json".to_owned(), reason }));
        }
        if walk.folded.is_new() {
            repairs.clear();
        }
        walk.last = if walk.folded.is_new() { 0 } else { walk.last };
        Ok(Loaded { walk, repairs, lapsed: self.lapsed > 0 })
    }

    /// Read-only: the session as the ledger alone proves it, and the bytes after the last mark.
    pub fn walk(&self, state_file: &StateFile) -> Result<(Walk, Vec<u8>), Failure> {
        let start = match state_file {
            StateFile::Whole(session, witness) if self.holds(session, witness)? => {
                self.resume(session, witness)
            }
            StateFile::Whole(..) => Walk::new(Session::default(), self.trace, 0),
            // A snapshot of another format would be mistaken for one of ours.
            _ => match self.other_format() {
                Some(failure) => return Err(failure),
                None => self.last_snapshot()?.unwrap_or_else(|| Walk::new(Session::default(), self.trace, 0)),
            },
        };
        let bytes =
            folder::read_at(self.file, LEDGER_FILE, start.bytes, self.long.saturating_sub(start.bytes))?;
        let mut walk = start;
        self.vouch(state_file, &mut walk);
        let done = walk.feed(&bytes).map_err(|damage| self.explain(damage.into(), state_file))?;
        let rest = bytes[done..].to_vec();
        check_tear(&walk, &rest)?;
        Ok((walk, rest))
    }

    pub fn resume(&self, session: &Session, witness: &Witness) -> Walk {
        let mut walk = Walk::new(session.clone(), self.trace, witness.bytes);
        walk.last = witness.last;
        walk.snapshot = witness.snapshot;
        walk
    }

    /// The ledger still contains the last line of this state, and that line commits to this state.
    pub fn holds(&self, session: &Session, witness: &Witness) -> Result<bool, Failure> {
        if self.long < witness.bytes || witness.last > witness.bytes || witness.last < 2 {
            return Ok(false);
        }
        let line = folder::read_at(self.file, LEDGER_FILE, witness.bytes - witness.last, witness.last)?;
        let line = line.strip_suffix(b"\n").and_then(Line::read);
        Ok(line.is_some_and(|line| {
            let same = line.digest == witness.head && line.seq == witness.seq && line.holds();
            let text = sha256(&[witness.memory.get().as_bytes()]);
            // What another version wrote may say more than we read.
            let is_read = witness.binary == OURS || text == digest_of(&session.memory);
            let commits = |mark: Mark| is_read && mark.state == witness.state && mark.memory == text;
            same && line.mark.is_some_and(commits)
        }))
    }

    /// False only if an intact first entry names another session. A torn or damaged entry is repaired or
    /// refused later.
    pub fn is_ours(&self) -> Result<bool, Failure> {
        let bytes = folder::read_at(self.file, LEDGER_FILE, 0, self.long.min(LONGEST_OPEN))?;
        let first = memchr::memchr(b'\n', &bytes).map(|end| &bytes[..end]);
        let other = |line: Line| line.holds() && line.trace_id != quoted(self.trace);
        Ok(!first.and_then(Line::read).is_some_and(other))
    }

    /// The version that began the ledger, and the format that it names; `None` if the first entry is damaged.
    fn opened(&self) -> Option<(String, u64)> {
        let first =
            folder::read_at(self.file, LEDGER_FILE, 0, self.long.min(LONGEST_OPEN)).unwrap_or_default();
        let line = Line::read(first.split(|byte| *byte == b'\n').next()?).filter(Line::holds)?;
        let opened = json::read(line.with).ok()?;
        Some((opened.text_of("binary")?, opened.number_of("format").unwrap_or_default()))
    }

    /// A ledger of another format is not damaged, but we must not read it.
    fn other_format(&self) -> Option<Failure> {
        let (version, format) = self.opened().filter(|(_, format)| *format != u64::from(FORMAT))?;
        let code = if format > u64::from(FORMAT) { Code::WrittenByNewer } else { Code::WrittenByOlder };
        let what = format!(
            "aops-hook {version} recorded this session, in format {format}, and this is {OURS}, which reads format {FORMAT}"
        );
        Some(Failure::new(code, what))
    }

    /// A ledger of another version is not damaged: this version does not know everything in it.
    pub fn explain(&self, failure: Failure, state_file: &StateFile) -> Failure {
        if let Some(other) = self.other_format().filter(|_| failure.code.is_integrity()) {
            return other;
        }
        let opened = self.opened().map(|(version, _)| version);
        let newest =
            [opened, state_file.written_by()].into_iter().flatten().max_by_key(|version| numbers(version));
        let newer = newest.filter(|version| numbers(version) > numbers(OURS) && failure.code.is_integrity());
        let Some(version) = newer else { return failure };
        let what =
            format!("aops-hook {version} recorded this session, and this is {OURS}: to it {}", failure.what);
        Failure::new(Code::WrittenByNewer, what)
    }

    /// Adds the digests that state and exported head know.
    pub fn vouch(&self, state_file: &StateFile, walk: &mut Walk) {
        if let StateFile::Whole(_, witness) = state_file {
            walk.vouch(witness.seq, &witness.head);
        }
        if let Some(head) = &self.head {
            walk.vouch(head.seq, &head.digest);
        }
    }

    /// The witness rule. `Ok(Some(seq))`: entries up to `seq` were lost, which is permitted.
    pub fn witnessed(&self, state_file: &StateFile, walk: &Walk) -> Result<Option<u64>, Failure> {
        let by_state = match state_file {
            StateFile::Whole(_, witness) => witness.seq,
            _ => 0,
        };
        let by_head = self.head.as_ref().map_or(0, |head| head.seq);
        let proven = by_state.max(by_head);
        let has = walk.folded.seq;
        if proven > has {
            if let StateFile::Whole(session, _) = state_file {
                let memory = &session.memory;
                let rebooted = !self.boot.is_empty() && memory.place.boot != self.boot;
                if rebooted && has >= memory.proof.synced && has >= by_head && has > 0 {
                    return Ok(Some(proven));
                }
            }
            return Err(cut_off(has, proven, self.head.as_ref()));
        }
        Ok(Some(self.lapsed).filter(|lapsed| *lapsed > has))
    }

    fn set_aside(&self, walk: &Walk, rest: &[u8]) -> Result<Fact, Failure> {
        let name = format!("torn-{}-{}", walk.folded.seq + 1, &sha256(&[rest])[..16]);
        if !self.dry_run {
            folder::replace(self.dir, &name, ".torn-new", rest)?;
            self.file.set_len(walk.bytes).map_err(|e| Failure::storage(LEDGER_FILE, e))?;
        }
        let executing = walk.folded.memory.calls.iter().map(|open| open.call.id.clone()).collect();
        Ok(Fact::Recovery(Recovered {
            executing,
            torn_bytes: Some(rest.len() as u64),
            torn_file: Some(name),
            what: "a write that was cut short was set aside".to_owned(),
            ..Recovered::default()
        }))
    }

    fn last_snapshot(&self) -> Result<Option<Walk>, Failure> {
        let mut window = WINDOW.min(self.long);
        loop {
            let from = self.long - window;
            let bytes = folder::read_at(self.file, LEDGER_FILE, from, window)?;
            if let Some((end, session)) = snapshot_in(&bytes, self.trace) {
                let bytes = from + end as u64;
                let mut walk = Walk::new(session, self.trace, bytes);
                walk.snapshot = (bytes, walk.folded.seq);
                return Ok(Some(walk));
            }
            if from == 0 {
                return Ok(None);
            }
            window = (window * 4).min(self.long);
        }
    }
}

/// A version as numbers, so that two can be compared; anything after a `-` is ignored.
fn numbers(version: &str) -> Vec<u64> {
    version.split('-').next().unwrap_or_default().split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// A block outlives its ledger: even if nothing is left of the ledger, the block can be cleared.
fn cut_off(has: u64, proven: u64, head: Option<&Head>) -> Failure {
    let what = format!("the ledger ends at entry {has}, but entry {proven} was acknowledged");
    let blocked = head.filter(|head| head.blocked && has == 0).map(|head| {
        let id = &head.session_id;
        let reason = one_line(head.reason.as_deref().unwrap_or_default(), 300);
        format!(
            "; session `{id}` is blocked ({reason}): a person can lift that with `aops-hook clear-block {id}`"
        )
    });
    Failure::new(Code::RecoveryFailed, what + &blocked.unwrap_or_default())
}

/// The entry to which the exported head belongs must still be there.
pub fn check_exported(head: Option<&Head>, ledger: &File, walk: &Walk) -> Result<(), Failure> {
    let Some(head) = head.filter(|head| head.seq > 0) else { return Ok(()) };
    let seq = head.seq;
    let has = walk.folded.seq;
    let found = match seq.cmp(&has) {
        Ordering::Greater => return Err(cut_off(has, seq, Some(head))),
        Ordering::Equal => Some(walk.folded.head.clone()),
        Ordering::Less => digest_at(ledger, walk.bytes, seq)?,
    };
    let what = || format!("entry {seq} is not the one that was exported");
    if found.as_ref() == Some(&head.digest) {
        Ok(())
    } else {
        Err(Failure::new(Code::RecoveryFailed, what()))
    }
}

/// The digest of an entry, searched from the end: the newest head belongs to one of the last entries.
fn digest_at(ledger: &File, long: u64, seq: u64) -> Result<Option<String>, Failure> {
    let mut window = (16 << 10).min(long);
    loop {
        let bytes = folder::read_at(ledger, LEDGER_FILE, long - window, window)?;
        let mut lines = bytes.split(|b| *b == b'\n').rev().filter_map(Line::read);
        match lines.find(|line| line.seq <= seq) {
            Some(line) => return Ok((line.seq == seq && line.holds()).then(|| line.digest.to_owned())),
            None if window == long => return Ok(None),
            None => window = (window * 4).min(long),
        }
    }
}

/// Checks that the bytes after a walk were never acknowledged.
pub fn check_tear(walk: &Walk, rest: &[u8]) -> Result<(), Failure> {
    if is_tear(rest) {
        return Ok(());
    }
    let what = format!("the bytes after entry {} are not an entry", walk.folded.seq);
    Err(Failure::new(Code::ChecksumMismatch, what))
}

/// End and session of the last snapshot in these bytes. A match alone proves nothing: a payload may contain
/// it.
fn snapshot_in(bytes: &[u8], trace: &str) -> Option<(usize, Session)> {
    let trace = quoted(trace);
    memmem::rfind_iter(bytes, b",\"type\":\"snapshot\",\"with\":{").find_map(|at| {
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |at| at + 1);
        let end = at + memchr::memchr(b'\n', &bytes[at..])?;
        let line = Line::read(&bytes[start..end])
            .filter(|l| l.kind == "snapshot" && l.trace_id == trace && l.holds())?;
        let Some(Fact::Snapshot(snapshot)) = Fact::read(line.kind, line.with) else { return None };
        let session = Session {
            state: snapshot.state.into(),
            memory: snapshot.memory,
            seq: line.seq,
            head: line.digest.to_owned(),
        };
        Some((end + 1, session))
    })
}

/// Where some snapshots end, spread about evenly, and the session in each. Each part of the ledger is
/// searched only up to its first snapshot, and a part that cannot be read contributes none: the walk says
/// why.
pub fn snapshots(ledger: &File, long: u64, trace: &str) -> Vec<(u64, Session)> {
    const PARTS: u64 = 16;
    let parts: Vec<u64> = (1..PARTS).collect();
    let mut found = threads::map(&parts, |part| {
        let from = long * part / PARTS;
        let until = long * (part + 1) / PARTS;
        let mut first = None;
        let looked = folder::each_line(ledger, from, until, |at, line| {
            first = snapshot_in(line, trace).map(|(end, session)| (at + end as u64, session));
            first.is_none().then_some(())
        });
        looked.ok().and(first)
    });
    found.sort_by_key(|(at, _)| *at);
    found
}

/// Uncommitted files when the session began, from the entry that recorded them: usually the second of the
/// ledger.
pub fn baseline(memory: &Memory, ledger: &File, long: u64) -> Result<BTreeMap<String, String>, Failure> {
    let Some(digest) = &memory.place.baseline_sha256 else { return Ok(BTreeMap::new()) };
    let mut recorded = None;
    folder::each_line(ledger, 0, long, |_, line| {
        if memmem::find(line, b"\"baseline\":{").is_some()
            && let Some(line) = line.strip_suffix(b"\n").and_then(Line::read)
            && let Some(Fact::Event(seen)) = Fact::read(line.kind, line.with)
        {
            let files = seen.into_baseline().map(|baseline| baseline.files);
            recorded = files.filter(|files| digest_of(files) == *digest);
        }
        if recorded.is_some() { None } else { Some(()) }
    })?;
    recorded.ok_or_else(|| {
        Failure::new(
            Code::ChecksumMismatch,
            "no entry holds the uncommitted files that the session began with",
        )
    })
}

pub(super) const STATE_FILE: &str = "session-state.json";
const MOST: u64 = 4 << 20;

/// Whether this is the digest of a file with this state and ledger.
type Matches = fn(&StateText, &Witness, &str) -> bool;

#[derive(Debug)]
pub enum StateFile {
    Missing,
    /// It matches its digest.
    Whole(Box<Session>, Box<Witness>),
    /// Torn, edited or written by another program.
    Untrusted(Vec<u8>),
}

impl StateFile {
    pub fn read(dir: &OwnedFd) -> Result<Self, Failure> {
        Self::read_as(dir, |state, ledger, digest| state.digest_with(ledger) == digest)
    }

    /// The same without checking the digest: the caller asks the ledger whether it `holds`, which computes
    /// the digests of all parts.
    pub fn read_unproven(dir: &OwnedFd) -> Result<Self, Failure> {
        Self::read_as(dir, |_, _, _| true)
    }

    fn read_as(dir: &OwnedFd, matches: Matches) -> Result<Self, Failure> {
        let file = match folder::open_unchecked(dir, STATE_FILE, OFlags::RDONLY) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(StateFile::Missing),
            Err(_) => return Ok(StateFile::Untrusted(Vec::new())), // replaced at the next write, never followed
        };
        let Some(about) =
            fstat(&file).ok().filter(|about| FileType::from_raw_mode(about.st_mode) == FileType::RegularFile)
        else {
            return Ok(StateFile::Untrusted(Vec::new()));
        };
        // Under the lock the length cannot change.
        let long = u64::try_from(about.st_size).unwrap_or(0);
        let mut found = Self::parse(folder::read_at(&file, STATE_FILE, 0, long.min(MOST))?, matches);
        if let StateFile::Whole(_, witness) = &mut found {
            witness.written = Some((about.st_mtime.into(), about.st_mtime_nsec.into()));
        }
        Ok(found)
    }

    fn parse(bytes: Vec<u8>, matches: Matches) -> Self {
        let Ok(mut state) = serde_json::from_slice::<Box<State>>(&bytes) else {
            return StateFile::Untrusted(bytes);
        };
        let digest = state.digest.take().filter(|_| state.schema == SCHEMA);
        let (Some(digest), Some(mut witness)) = (digest, state.ledger.take()) else {
            return StateFile::Untrusted(bytes);
        };
        let Ok(memory) = serde_json::from_str::<Box<Memory>>(witness.memory.get()) else {
            return StateFile::Untrusted(bytes);
        };
        let text = StateText::of(&state);
        if !matches(&text, &witness, &digest) {
            // Somebody may have reformatted the file.
            witness.memory = canonical_value(&memory);
            if !matches(&text, &witness, &digest) {
                return StateFile::Untrusted(bytes);
            }
        }
        if witness.format != FORMAT {
            return StateFile::Untrusted(bytes);
        }
        witness.state = text.digest();
        let head = witness.head.clone();
        StateFile::Whole(
            Box::new(Session { state: state.into(), memory, seq: witness.seq, head }),
            Box::new(witness),
        )
    }

    /// It matches its own digest, but is not the state to which the last entry commits.
    pub fn contradicts(&self, walk: &Walk) -> Option<Failure> {
        let StateFile::Whole(session, witness) = self else { return None };
        let same = digest_of(&session.state) == digest_of(&walk.folded.state)
            && digest_of(&session.memory) == digest_of(&walk.folded.memory);
        let what = || format!("`{STATE_FILE}` is not the state that entry {} commits to", witness.seq);
        (witness.seq == walk.folded.seq && !same).then(|| Failure::new(Code::RecoveryFailed, what()))
    }

    /// The version that wrote it, even if this version does not know its form.
    fn written_by(&self) -> Option<String> {
        match self {
            StateFile::Whole(_, witness) => Some(witness.binary.clone()),
            StateFile::Untrusted(bytes) => {
                json::read(std::str::from_utf8(bytes).ok()?).ok()?.get("ledger")?.text_of("binary")
            }
            StateFile::Missing => None,
        }
    }

    /// The reason of a block that was edited into the file.
    pub fn edited_block(&self) -> Option<String> {
        let StateFile::Untrusted(bytes) = self else { return None };
        let json = json::read(std::str::from_utf8(bytes).ok()?).ok()?;
        let flags = json.get("state")?;
        let json::Json::Bool(true) = flags.get("custodiet_blocked")? else { return None };
        let reason = flags.text_of("custodiet_block_reason").filter(|r| !r.is_empty());
        Some(reason.unwrap_or_else(|| "set by hand in session-state.json".to_owned()))
    }
}
