//! Adds the entries of a session to the log and signs its head, at the end of a turn and when a block begins
//! or ends.
//!
//! Reads ledgers, writes the log and the state of the seal. Invariants: entries, leaves and the seal's next
//! state are on the disk before that state takes effect and the checkpoint is written; after a crash in
//! between, the next process removes the unsigned leaves; a log that is shorter than what was signed is not
//! signed again. A process that cannot get the lock leaves a note, and the lock's holder adds the entries for
//! both.

use super::keys::{Keys, Sealed, Signers, Stray, draw, signers};
use super::record::{Record, Span};
use super::store::{self, Seal, Store};
use super::unheld::{self, Commands, UNHELD};
use crate::ledger::chain::end_of_last_batch;
use crate::ledger::entry::{Frame, Line, Mark};
use crate::ledger::recover::LEDGER_FILE;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files::{self, make_all, sync_meanwhile};
use crate::system::folder;
use crate::text::sha256::{NO_DIGEST, Sum, sha256};
use crate::text::stored::canonical;
use crate::text::time::timestamp;
use aops_proof::checkpoint::Checkpoint;
use aops_proof::frontier::Frontier;
use aops_proof::note::Note;
use aops_proof::seal::SealKey;
use aops_proof::tree::leaf_hash;
use rustix::fs::{CWD, OFlags};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Other processes hold the lock for a millisecond or two.
const PATIENCE: Duration = Duration::from_millis(100);
/// Longer than a process that gave up can still hold the lock.
const BRIEFLY: Duration = Duration::from_millis(20);
/// A note that cannot be removed must not be looked at forever.
const MOST_ROUNDS: usize = 32;
/// A person's command can wait.
const LONGER: Duration = Duration::from_secs(10);
/// The log's own entries: keys made, rotated and lost, sessions removed.
pub const EVENTS: &str = "events.jsonl";
/// The session name of the log's own entries.
pub const LOG: &str = "log";
/// This many rows of the list of seals are stored with the state of the seal; the list is synced when they
/// are full.
const ROWS: usize = 16;

/// Adds this session's new entries, and signs. Without a key nothing is signed; if another process holds the
/// log, the next one also adds these entries.
pub fn add(env: &Env, trace: &str, folder: &Path, commands: Commands) -> Result<(), Failure> {
    let Some(keys) = Keys::open(env)? else { return Ok(()) };
    match Store::lock(env, PATIENCE)? {
        Some(store) => {
            let mut writer = Writer::open(env, keys, store)?;
            writer.take(trace, &folder.join(LEDGER_FILE))?;
            // The session may have begun before these keys were made.
            if commands == Commands::Unheld || writer.keys.have_second_name() {
                writer.unheld.get_or_insert_with(|| trace.to_owned());
            }
            writer.sign(None)?;
        }
        None => leave_note(env, trace, folder)?,
    }
    add_late(env)
}

/// Adds the entries of sessions that left a note while the log was being signed. The process that left a note
/// then checks whether the log is free, and the log's holder then checks for notes: one of the two sees the
/// other, so no note waits for another turn.
fn add_late(env: &Env) -> Result<(), Failure> {
    let is_noted =
        || fs::read_dir(store::path(env).join(store::LATE)).is_ok_and(|mut notes| notes.next().is_some());
    for _ in 0..MOST_ROUNDS {
        if !is_noted() {
            break;
        }
        // If the lock is not free, its holder will check for notes afterwards.
        let (Some(keys), Some(store)) = (Keys::open(env)?, Store::lock(env, BRIEFLY)?) else { break };
        Writer::open(env, keys, store)?.sign(None)?;
    }
    Ok(())
}

/// Writes one of the log's own entries and signs; does nothing without a key.
pub fn say(env: &Env, kind: &str, with: &Value) -> Result<(), Failure> {
    let Some(keys) = Keys::open(env)? else { return Ok(()) };
    let store = lock(env)?;
    let mut writer = Writer::open(env, keys, store)?;
    writer.say(kind, with)?;
    writer.sign(None)
}

/// The message if the log could not be signed.
pub fn unsigned(failure: &Failure) -> String {
    format!("the log was not signed: {failure}\nhint: `aops-hook verify --all` says what is wrong with it")
}

/// For a person's command.
pub fn lock(env: &Env) -> Result<Store, Failure> {
    let busy = || Failure::new(Code::LockAcquireFailed, "another process writes the log");
    Store::lock(env, LONGER)?.ok_or_else(busy)
}

fn leave_note(env: &Env, trace: &str, folder: &Path) -> Result<(), Failure> {
    let late = store::path(env).join(store::LATE);
    make_all(&late)?;
    let path = late.join(&sha256(&[trace.as_bytes()])[..16]);
    let text = format!("{}\n{trace}", folder.display());
    store::write(&path, text.as_bytes()).map(drop)
}

/// Holds the log's lock, and knows what to add.
pub struct Writer<'a> {
    env: &'a Env,
    keys: Keys,
    store: Store,
    sealed: Sealed,
    /// Number of leaves on the disk, and the new leaves.
    size: u64,
    fresh: Vec<Sum>,
    spans: Vec<(String, Span)>,
    done: Vec<PathBuf>,
    /// Files that must be on the disk before the log is signed.
    written: Vec<File>,
    /// With new keys all tiles are made again, which also lets a person repair them.
    renews: bool,
    /// The entry about new keys. Its line is written once they are in force.
    announced: Option<Sum>,
    /// The keys before an interrupted rotation, which vouch for the present ones.
    also: Option<Keys>,
    /// A session whose commands no jail confines.
    unheld: Option<String>,
}

impl<'a> Writer<'a> {
    /// For ordinary signing: if a key differs from the expected ones, nothing is written.
    pub fn open(env: &'a Env, keys: Keys, store: Store) -> Result<Self, Failure> {
        let (mut writer, began) = Self::assemble(env, keys, store)?;
        if let Some(stray) = writer.strays().first() {
            return Err(Failure::new(Code::RecoveryFailed, stray.to_string()));
        }
        writer.tell_lost_seal(began)?;
        Ok(writer)
    }

    /// For a process that brings new keys: the present keys are taken as they are, and unexpected ones are
    /// reported.
    pub fn with_any_keys(env: &'a Env, keys: Keys, store: Store) -> Result<(Self, Vec<Stray>), Failure> {
        let (mut writer, began) = Self::assemble(env, keys, store)?;
        let strays = writer.strays();
        writer.tell_lost_seal(began)?;
        Ok((writer, strays))
    }

    /// Also returns whether a seal begins without a predecessor although there was one.
    fn assemble(env: &'a Env, keys: Keys, store: Store) -> Result<(Self, bool), Failure> {
        let mut size = store.size()?;
        let sealed = keys.sealed()?;
        let found = sealed.is_some();
        let mut sealed = match sealed {
            Some(sealed) => sealed,
            None => Sealed {
                key: first_key(&store)?,
                frontier: Frontier::default(),
                rows: Vec::new(),
                signers: None,
                boot: None,
            },
        };
        let signed = sealed.frontier.size();
        if size < signed {
            let what = format!(
                "the log has {size} leaves, but {signed} were signed: it was cut, or put back from a copy"
            );
            return Err(Failure::new(Code::RecoveryFailed, what));
        }
        if found && size > signed {
            size = take_back(&keys, &store, signed, size)?;
        }
        store.mend_seals(&sealed.rows)?;
        if sealed.signers.is_none() {
            sealed.signers = last_named(&store.text(EVENTS)?.unwrap_or_default());
        }
        let fresh = Vec::new();
        let spans = Vec::new();
        let done = Vec::new();
        let written = Vec::new();
        let renews = keys.unsettled().is_some();
        let announced = None;
        let also = None;
        let mut writer = Self {
            env,
            keys,
            store,
            sealed,
            size,
            fresh,
            spans,
            done,
            written,
            renews,
            announced,
            also,
            unheld: None,
        };
        writer.go_on_rotating()?;
        Ok((writer, !found && size > 0))
    }

    /// Completes an interrupted rotation.
    fn go_on_rotating(&mut self) -> Result<(), Failure> {
        if self.keys.unsettled().is_none() {
            return self.keys.settle();
        }
        self.write_announced()?;
        let current = self.keys.current();
        let head = self.store.checkpoint()?;
        let is_signed = head.is_some_and(|(_, note)| note.signers(&current).is_ok_and(|by| !by.is_empty()));
        self.also = if is_signed { None } else { self.keys.before()? };
        Ok(())
    }

    fn strays(&self) -> Vec<Stray> {
        self.sealed.signers.as_ref().map(|expected| self.keys.strays(expected)).unwrap_or_default()
    }

    fn tell_lost_seal(&mut self, lost: bool) -> Result<(), Failure> {
        let epoch = self.sealed.key.epoch;
        let words = serde_json::json!({"what": "lost; a new one begins", "epoch": epoch});
        if lost { self.say("seal", &words) } else { Ok(()) }
    }

    /// Continues with a new key, and with a seal that has no predecessor.
    pub fn take_keys(&mut self, keys: Keys) -> Result<(), Failure> {
        self.keys = keys;
        self.renews = true;
        self.sealed.key = SealKey::new(self.sealed.key.epoch, draw()?);
        Ok(())
    }

    /// Takes those entries of a ledger that are not in the log yet.
    pub fn take(&mut self, trace: &str, ledger: &Path) -> Result<(), Failure> {
        let dir = ledger.parent().map(|path| folder::enter(CWD, path, false)).transpose()?.flatten();
        let name = ledger.file_name().unwrap_or_default().to_string_lossy();
        let opened = dir.map(|dir| folder::open(&dir, &name, OFlags::RDONLY)).transpose()?.flatten();
        let Some((file, long)) = opened else { return Ok(()) };
        let last = Record::of(&self.store, trace).spans.pop();
        let holds = |span: &Span| {
            let at = span.bytes.checked_sub(span.last).filter(|_| span.bytes <= long);
            let line =
                at.and_then(|at| folder::read_at(&file, LEDGER_FILE, at, span.last).ok()).unwrap_or_default();
            let line = line.strip_suffix(b"\n").and_then(Line::read);
            line.is_some_and(|line| line.digest == span.digest && line.seq == span.seq)
        };
        // After a power loss the record may be ahead of the leaves.
        let there = |span: &Span| {
            let leaf = self.store.leaves(span.end().saturating_sub(1), span.end());
            span.end() <= self.size && leaf.is_ok_and(|leaf| leaf.first() == Sum::read(&span.digest).as_ref())
        };
        let last = last.filter(|span| holds(span) && there(span));
        let (from, known) = last.map_or((0, 0), |span| (span.bytes, span.end()));
        let bytes = folder::read_at(&file, LEDGER_FILE, from, long - from)?;
        let mut new = Vec::new();
        let mut at = from;
        for line in bytes[..end_of_last_batch(&bytes).unwrap_or(0)].split_inclusive(|b| *b == b'\n') {
            at += line.len() as u64;
            let read = line.strip_suffix(b"\n").and_then(Line::read);
            if read.as_ref().is_some_and(unheld::starts) {
                self.unheld.get_or_insert_with(|| trace.to_owned());
            }
            let entry =
                read.and_then(|read| Some((Sum::read(read.digest)?, read.seq, at, line.len() as u64)));
            let spoilt = || Failure::new(Code::ChecksumMismatch, "a line of the ledger is not an entry");
            new.push(entry.ok_or_else(spoilt)?);
        }
        if new.is_empty() {
            return Ok(());
        }
        self.written.push(file);
        self.place(trace, &new, known)
    }

    /// Finds entries that a killed process added without a record; the others become leaves.
    fn place(&mut self, trace: &str, mut new: &[(Sum, u64, u64, u64)], known: u64) -> Result<(), Failure> {
        let there = self.store.leaves(known, self.size)?;
        let mut from = 0;
        while let Some((first, ..)) = new.first() {
            let found = there[from..].iter().position(|leaf| leaf == first).map(|at| from + at);
            let count = match found {
                Some(at) => new.iter().zip(&there[at..]).take_while(|((sum, ..), leaf)| sum == *leaf).count(),
                None => new.len(),
            };
            let leaf = if let Some(at) = found {
                from = at + count;
                known + at as u64
            } else {
                self.fresh.extend(new.iter().map(|(sum, ..)| *sum));
                self.size + self.fresh.len() as u64 - count as u64
            };
            let (taken, rest) = new.split_at(count);
            if let Some((sum, seq, bytes, last)) = taken.last() {
                let span = Span {
                    first: leaf,
                    count: count as u64,
                    seq: *seq,
                    digest: sum.to_string(),
                    bytes: *bytes,
                    last: *last,
                };
                self.spans.push((trace.to_owned(), span));
            }
            new = rest;
        }
        Ok(())
    }

    /// Recorded once for these keys: a command that can read them can sign anything.
    fn tell_unheld(&mut self) -> Result<(), Failure> {
        let Some(session) = self.unheld.take() else { return Ok(()) };
        if unheld::is_told(&self.store.text(EVENTS)?.unwrap_or_default()) {
            return Ok(());
        }
        self.say(UNHELD, &serde_json::json!({"session": session}))
    }

    /// Adds one of the log's own entries.
    pub fn say(&mut self, kind: &str, with: &Value) -> Result<(), Failure> {
        let (line, _) = self.entry(kind, with)?;
        self.append_event(line).map(drop)
    }

    /// Adds the entry about keys that count from the next signature on. Its line is stored with the keys
    /// until then, so an interrupted rotation leaves no entry.
    pub fn announce(&mut self, with: &Value) -> Result<(), Failure> {
        let (line, digest) = self.entry("key", with)?;
        self.announced = Sum::read(&digest);
        self.keys.stage(line)
    }

    fn write_announced(&self) -> Result<(), Failure> {
        let (Some(line), text) = (self.keys.unsettled(), self.store.text(EVENTS)?.unwrap_or_default()) else {
            return Ok(());
        };
        if text.split_inclusive('\n').any(|known| known == line) {
            return Ok(());
        }
        let file = self.append_event(line.to_owned())?;
        file.sync_data().map_err(|e| Failure::storage(EVENTS, e))
    }

    fn append_event(&self, line: String) -> Result<File, Failure> {
        let dir = folder::enter(CWD, &self.store.path, false)?;
        let dir = dir.ok_or_else(|| Failure::storage(self.store.path.display(), "no longer exists"))?;
        Ok(folder::append_line(&dir, EVENTS, line)?.0)
    }

    /// The line of one of the log's own entries, and its digest.
    fn entry(&self, kind: &str, with: &Value) -> Result<(String, String), Failure> {
        let text = self.store.text(EVENTS)?.unwrap_or_default();
        let last = text.lines().rev().find_map(|line| Line::read(line.as_bytes()));
        let (prev, seq) = last.map_or((NO_DIGEST, 0), |line| (line.digest, line.seq));
        let ts = timestamp(self.env.now_ms);
        let with = canonical(with);
        let origin = self.keys.origin();
        let mark = Some(Mark { state: NO_DIGEST, memory: NO_DIGEST });
        let frame = Frame { prev, seq: seq + 1, mark, trace_id: &origin, ts: &ts, kind, with: &with };
        Ok(frame.write())
    }

    /// Adds what others left, then signs. `also`: the keys before a rotation, which sign this checkpoint,
    /// too.
    pub fn sign(mut self, also: Option<&Keys>) -> Result<(), Failure> {
        self.take_late();
        self.tell_unheld()?;
        let events = self.store.file(EVENTS);
        self.take(LOG, &events)?;
        self.fresh.extend(self.announced.take());
        if !self.fresh.is_empty() {
            self.written.push(self.store.append(&self.fresh)?);
        }
        let old = self.sealed.frontier.size();
        let size = self.size + self.fresh.len() as u64;
        for leaf in self.store.leaves(old, size)? {
            self.sealed.frontier.push(leaf_hash(&leaf.0));
        }
        let checkpoint = Checkpoint { origin: self.keys.origin(), size, root: self.sealed.frontier.root() };
        let before = self.store.checkpoint()?.map(|(known, _)| known);
        let vouching = self.also.take();
        let also = also.or(vouching.as_ref());
        if size == old
            && before.as_ref() == Some(&checkpoint)
            && also.is_none()
            && !self.sealed.rows.is_empty()
        {
            return self.finish();
        }
        let row =
            if size > old || self.sealed.rows.is_empty() { Some(self.seal(&checkpoint)?) } else { None };
        let text = checkpoint.to_string();
        let (synced, signatures) = sync_meanwhile(&self.written, || -> Result<_, Failure> {
            let also = also.map(|keys| keys.sign(&text)).transpose()?;
            Ok([self.keys.sign(&text)?, also.unwrap_or_default()].concat())
        });
        synced.map_err(|e| Failure::storage("the log", e))?;
        let note = Note { signatures: signatures?, text };
        // An interrupted end of a turn may have left an incomplete tile.
        let was_whole = before.is_some_and(|head| head.size == old) && !self.renews;
        self.show(row.as_deref(), if was_whole { old } else { 0 }, size)?;
        self.store.keep_checkpoint(&note)?;
        for (trace, span) in &self.spans {
            Record::add(&self.store, trace, span)?;
        }
        self.finish()
    }

    /// Puts the new state in force, and the seal and the tiles in place: once a checkpoint exists, both
    /// exist. The state remembers the seal; tiles are stored nowhere else, so they are on the disk first.
    fn show(&self, row: Option<&str>, old: u64, size: u64) -> Result<(), Failure> {
        if let Some(row) = row {
            self.keys.turn_over()?;
            self.store.add_seal(row)?;
        }
        if self.renews {
            self.store.drop_tiles()?;
        }
        let tiles = self.store.grow_tiles(old, size)?;
        sync_meanwhile(&tiles, || ()).0.map_err(|e| Failure::storage("the log", e))
    }

    fn finish(&mut self) -> Result<(), Failure> {
        for note in &self.done {
            let _ = fs::remove_file(note);
        }
        self.write_announced()?;
        self.keys.settle()
    }

    /// Seals with the key of this epoch and prepares the state that destroys it. Returns the row for the list
    /// of seals.
    fn seal(&mut self, checkpoint: &Checkpoint) -> Result<String, Failure> {
        let mac = self.sealed.key.seal(&checkpoint.to_string());
        let seal = Seal { epoch: self.sealed.key.epoch, size: checkpoint.size, root: checkpoint.root, mac };
        if self.sealed.rows.len() == ROWS {
            self.store.sync_seals()?;
            self.sealed.rows.clear();
        }
        self.sealed.rows.push(seal.to_string());
        self.sealed.key = self.sealed.key.next();
        self.written.push(self.keys.prepare(&self.sealed)?);
        Ok(seal.to_string())
    }

    /// `verify` reports a session that was removed or cannot be read meanwhile.
    fn take_late(&mut self) {
        for note in fs::read_dir(self.store.file(store::LATE)).into_iter().flatten().flatten() {
            let text = files::read_text(note.path()).unwrap_or_default();
            if let Some((folder, trace)) = text.split_once('\n') {
                let _ = self.take(trace, &Path::new(folder).join(LEDGER_FILE));
            }
            self.done.push(note.path());
        }
    }
}

/// Removes unsigned leaves: a power loss can have kept them but lost their entries. A session that still has
/// the entries adds them again. A checkpoint ahead of the seal was written after both were on the disk.
fn take_back(keys: &Keys, store: &Store, signed: u64, size: u64) -> Result<u64, Failure> {
    let head =
        store.checkpoint()?.filter(|(_, note)| note.signers(&keys.known()).is_ok_and(|by| !by.is_empty()));
    let sure = head.map_or(signed, |(head, _)| head.size.clamp(signed, size));
    store.cut(sure)?;
    Ok(sure)
}

/// The keys in the last event about keys.
pub fn last_named(events: &str) -> Option<Signers> {
    let lines = events.lines().rev().filter_map(|line| Line::read(line.as_bytes()));
    let last = lines.filter(Line::is_sound).find(|line| line.kind == "key")?;
    named(&serde_json::from_str(last.with).ok()?)
}

/// The keys in an event about keys.
pub fn named(with: &Value) -> Option<Signers> {
    let ml_dsa = with["ml_dsa"].as_str();
    Some(signers(std::iter::once(with["key"].as_str()?).chain(ml_dsa)))
}

/// The first key after those of an older seal.
fn first_key(store: &Store) -> Result<SealKey, Failure> {
    let epoch = store.last_epoch()?.map_or(0, |epoch| epoch + 1);
    Ok(SealKey::new(epoch, draw()?))
}
