//! The ledger of one session: locked, loaded and appended to.
//!
//! Reads and writes the session folder, exports heads. Invariants: from `lock` until the value is dropped no
//! other process writes to the session; a batch is one `write`, is on disk when `append` returns, and leaves
//! no trace when it fails; after a failure nothing more is appended.

use super::held::Held;
use super::index;
use super::lock::Lock;
use super::recover::{self, LEDGER_FILE, Loaded, OURS, STATE_FILE};
use super::second;
use super::written;
use crate::ledger::chain::Walk;
use crate::ledger::entry::{Frame, Line, Mark};
use crate::ledger::exporting::exports;
use crate::ledger::heads::{self, Head};
use crate::ledger::session_folder::{self, Found, SessionFolder, SessionKey, WIDTHS};
use crate::model::call::CallKey;
use crate::model::error::{Code, Failure};
use crate::model::worktree::Worktree;
use crate::session::fact::{FORMAT, Fact, Snapshot, Step};
use crate::session::fold::Session;
use crate::session::memory::Witness;
use crate::session::phase_end::{PhaseChange, Standing};
use crate::session::state::StateText;
use crate::system::env::Env;
use crate::system::{files, folder};
use crate::text::plain::plain;
use crate::text::sha256::{sha256, trace_id};
use crate::text::stored::canonical_value;
use crate::text::time::timestamp;
use rustix::fs::OFlags;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// How many contexts of one kind stay in `context/`.
const CONTEXTS_KEPT: usize = 8;

#[derive(Debug)]
pub struct Ledger {
    place: SessionFolder,
    file: File,
    _lock: Option<Lock>,
    trace: String,
    loaded: Loaded,
    /// Facts are folded, but nothing is written.
    dry_run: bool,
    /// A batch was folded but not written, so nothing more is appended.
    failed: bool,
    /// Why the newest head is not exported.
    unexported: Option<Failure>,
    /// This ledger was already compared with its exported head.
    compared: bool,
}

#[derive(Clone, Debug)]
pub struct Recent {
    pub seq: u64,
    pub ts: String,
    pub kind: String,
    pub fact: Fact,
}

impl Ledger {
    /// The ledger of this session, wherever it is; it is created if there is none anywhere. Two IDs whose
    /// hashes share eight digits get separate folders. `thorough`: also compare it with its exported head,
    /// which reveals an older copy of both state and ledger.
    pub fn lock(env: &Env, key: SessionKey, thorough: bool) -> Result<Self, Failure> {
        let mut search = key.search(env);
        let [mut width, wider] = WIDTHS;
        while let Some((place, found)) = search.next_place()? {
            let far = found == Found::Far;
            match Self::enter(env, key.session_id, place, thorough || far)? {
                Some(ledger) => {
                    // The exported head names its place from now on, so that the next event need not search
                    // everywhere.
                    if far && !env.dry_run && !ledger.session().is_new() {
                        ledger.export(env)?;
                    }
                    return Ok(ledger);
                }
                None => width = wider,
            }
        }
        let create = if env.dry_run { session_folder::imagine } else { session_folder::create };
        let created = Self::enter(env, key.session_id, create(env, key, width)?, thorough)?;
        created.ok_or_else(|| {
            Failure::new(Code::RecoveryFailed, "two sessions share sixteen digits of their hash")
        })
    }

    pub fn at(env: &Env, path: &Path, trace: &str) -> Result<Self, Failure> {
        let place = session_folder::existing(path)?;
        Self::enter(env, trace, place, true)?
            .ok_or_else(|| Failure::storage(path.display(), "no longer exists"))
    }

    /// Opens an existing folder; `None` if it belongs to another session.
    fn enter(
        env: &Env,
        session_id: &str,
        place: SessionFolder,
        thorough: bool,
    ) -> Result<Option<Self>, Failure> {
        let lock = if env.dry_run { Lock::of_reader(&place.dir) } else { Some(Lock::acquire(&place.dir)?) };
        let (file, long) = open_file(&place, env.dry_run)?;
        let trace = trace_id(session_id);
        let (loaded, compared) = match Held::look(env, &place, &file, session_id, long, thorough)? {
            Held::Session(loaded, compared) => (*loaded, compared),
            Held::Another => return Ok(None),
            Held::Second(counting) => {
                drop(lock);
                return Self::enter_instead(env, session_id, counting, &place);
            }
        };
        let mut ledger =
            Self { dry_run: env.dry_run, compared, ..Self::new(place, file, lock, trace, loaded) };
        // Repairs are recorded before the event is judged. An empty ledger waits for its first entry.
        if !ledger.session().is_new() {
            ledger.append(env, Vec::new())?;
        }
        Ok(Some(ledger))
    }

    /// Opens the ledger that counts, instead of a second one of the same session, which is set aside.
    fn enter_instead(
        env: &Env,
        session_id: &str,
        counting: SessionFolder,
        other: &SessionFolder,
    ) -> Result<Option<Self>, Failure> {
        let Some(mut ledger) = Self::enter(env, session_id, counting, true)? else { return Ok(None) };
        if !env.dry_run {
            let facts = second::set_aside(env, &other.path)?;
            ledger.append(env, facts)?;
        }
        Ok(Some(ledger))
    }

    /// A new ledger in an empty folder. The exported head is ignored: the person gives up what it proves.
    pub fn begin(path: &Path, trace: &str) -> Result<Self, Failure> {
        let place = session_folder::existing(path)?;
        let lock = Lock::acquire(&place.dir)?;
        let (file, _) = open_file(&place, false)?;
        let walk = Walk::new(Session::default(), trace, 0);
        let loaded = Loaded { walk, repairs: Vec::new(), lapsed: false };
        Ok(Self::new(place, file, Some(lock), trace.to_owned(), loaded))
    }

    fn new(place: SessionFolder, file: File, lock: Option<Lock>, trace: String, loaded: Loaded) -> Self {
        let dry_run = false;
        let failed = false;
        let compared = true;
        Self { place, file, _lock: lock, trace, loaded, dry_run, failed, unexported: None, compared }
    }

    pub fn session(&self) -> &Session {
        &self.loaded.walk.folded
    }

    /// Number of bytes written.
    pub fn length(&self) -> u64 {
        self.loaded.walk.bytes
    }

    pub fn place(&self) -> &SessionFolder {
        &self.place
    }

    pub fn project(&self) -> String {
        let folder = self.place.path.parent().and_then(|path| path.file_name()).unwrap_or_default();
        folder.to_string_lossy().into_owned()
    }

    /// The entries in the last 256 KiB, oldest first.
    pub fn recent(&self) -> Vec<Recent> {
        let bytes = self.loaded.walk.bytes;
        let long = bytes.min(256 << 10);
        let tail = folder::read_at(&self.file, LEDGER_FILE, bytes - long, long).unwrap_or_default();
        let lines = tail.split(|b| *b == b'\n').filter_map(Line::read);
        lines
            .filter_map(|line| {
                let fact = Fact::read(line.kind, line.with)?;
                Some(Recent { seq: line.seq, ts: line.ts.to_owned(), kind: line.kind.to_owned(), fact })
            })
            .collect()
    }

    /// Writes a text for an agent or a person to `context/`, without control characters.
    pub fn write_context(&self, name: &str, text: &str) -> Result<(), Failure> {
        if self.dry_run {
            return Ok(());
        }
        let path = self.place.path.join("context");
        files::make_all(&path)?;
        folder::replace(&session_folder::existing(&path)?.dir, name, ".new", plain(text).as_bytes())?;
        remove_old_contexts(&path, name);
        Ok(())
    }

    /// Writes a file next to the ledger, such as the halt report, without control characters.
    pub fn write_beside(&self, name: &str, text: &str) -> Result<(), Failure> {
        if !self.dry_run {
            folder::replace(&self.place.dir, name, ".new", plain(text).as_bytes())?;
        }
        Ok(())
    }

    /// Uncommitted files when the session began.
    pub fn baseline(&self) -> Result<BTreeMap<String, String>, Failure> {
        recover::baseline(&self.session().memory, &self.file, self.loaded.walk.bytes)
    }

    /// What the session owes in the working tree that contains this folder.
    pub fn owed(&self, env: &Env, cwd: &Path) -> Result<Worktree, Failure> {
        written::owed(env, self.session(), cwd, (&self.file, self.loaded.walk.bytes))
    }

    /// How a call of this key ended, however long ago.
    pub fn past_call(&self, key: &CallKey) -> Result<Option<Step>, Failure> {
        let entries = (&self.place.dir, &self.file, self.loaded.walk.bytes);
        index::last_end(entries, &self.session().memory.place.boot, key, self.dry_run)
    }
}

/// Keeps only the newest contexts of the same kind: `audit-31.md` is of the kind `audit`.
fn remove_old_contexts(folder: &Path, name: &str) {
    let Some((kind, _)) = name.rsplit_once('-') else { return };
    let number =
        |name: &str| name.strip_prefix(kind)?.strip_prefix('-')?.strip_suffix(".md")?.parse::<u64>().ok();
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut same: Vec<_> =
        items.filter_map(|item| Some((number(item.file_name().to_str()?)?, item.path()))).collect();
    if same.len() <= CONTEXTS_KEPT {
        return;
    }
    // By age first: a ledger that was set aside may have left higher numbers behind.
    same.sort_by_cached_key(|(number, path)| {
        (std::fs::metadata(path).and_then(|meta| meta.modified()).ok(), *number)
    });
    for (_, old) in &same[..same.len() - CONTEXTS_KEPT] {
        let _ = std::fs::remove_file(old);
    }
}

/// The ledger's file and its length; a dry run does not create it.
fn open_file(place: &SessionFolder, dry_run: bool) -> Result<(File, u64), Failure> {
    if !dry_run {
        return Ok(folder::open_or_make(&place.dir, LEDGER_FILE, OFlags::RDWR | OFlags::APPEND)?);
    }
    match folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY)? {
        Some(found) => Ok(found),
        None => Ok((File::open("/dev/null").map_err(|e| Failure::storage("/dev/null", e))?, 0)),
    }
}

/// A snapshot is due after this many entries or bytes.
const SNAPSHOT_ENTRIES: u64 = 1024;
const SNAPSHOT_BYTES: u64 = 1 << 20;
const SPARE_FILE: &str = ".session-state.spare";

/// Entries to be written together.
#[derive(Debug, Default)]
struct Batch {
    lines: Vec<u8>,
    /// What the session remembers after them, to which the last one commits.
    memory: Box<RawValue>,
    /// The same of its public state.
    state: StateText,
}

impl Ledger {
    pub fn append(&mut self, env: &Env, facts: Vec<Fact>) -> Result<(), Failure> {
        let mut facts: Vec<Fact> = self.loaded.repairs.drain(..).chain(facts).collect();
        // The first entry is always `open`, even before repairs.
        if let Some(open) = facts.iter().position(|fact| matches!(fact, Fact::Open(_))) {
            facts[..=open].rotate_right(1);
        }
        if facts.is_empty() {
            return Ok(());
        }
        if self.failed {
            let what = "an earlier entry could not be written; the next event reads the ledger again";
            return Err(Failure::storage(LEDGER_FILE, what));
        }
        let before = self.loaded.walk.bytes;
        let sync = facts.iter().any(Fact::must_sync);
        let export = facts.iter().any(exports) || std::mem::take(&mut self.loaded.lapsed);
        let older = if export { self.compare(env, &facts)? } else { None };
        // Until the writes end, the session in memory is ahead of the disk.
        self.failed = true;
        let Batch { lines, memory, state } = self.batch(env, &facts)?;
        if self.dry_run {
            self.loaded.walk.bytes = before;
            self.failed = false;
            return Ok(());
        }
        let written = self.write(&lines, before, sync).and_then(|()| self.write_state(&state, memory));
        if let Err(failure) = written {
            let _ = self.file.set_len(before);
            return Err(failure);
        }
        self.failed = false;
        if export && self.unexported.is_none() {
            let synced = sync || facts.iter().any(|fact| matches!(fact, Fact::Insights(_)));
            self.unexported = self.export_head(env, synced, older).err();
        }
        Ok(())
    }

    /// Stores the newest digest separately from the ledger.
    pub fn export(&self, env: &Env) -> Result<(), Failure> {
        self.export_head(env, true, None)
    }

    /// Compares the ledger with its exported head before a newer head hides that entries are missing. Even
    /// then a block is recorded; the head that must stay is returned.
    fn compare(&mut self, env: &Env, facts: &[Fact]) -> Result<Option<Head>, Failure> {
        // A list of heads that cannot be read cannot be replaced either: the export reports it.
        let newest = heads::at(env).newest(&self.trace).ok().flatten();
        let Some(head) = newest.filter(|_| !self.compared) else { return Ok(None) };
        match recover::check_exported(Some(&head), &self.file, &self.loaded.walk) {
            Ok(()) => self.compared = true,
            Err(_) if facts.iter().any(|fact| matches!(fact, Fact::Block(_))) => return Ok(Some(head)),
            Err(failure) => return Err(failure),
        }
        Ok(None)
    }

    fn export_head(&self, env: &Env, synced: bool, older: Option<Head>) -> Result<(), Failure> {
        let now = self.head(env);
        let boot = Some(self.session().memory.place.boot.clone()).filter(|_| !synced);
        let head = match older {
            Some(older) => Head { digest: older.digest, seq: older.seq, ..now },
            None => Head { boot, ..now },
        };
        heads::export(env, &head).map_err(|failure| {
            let seq = self.session().seq;
            let what = format!("entry {seq} is recorded, but its head was not exported: {}", failure.what);
            Failure::new(failure.code, what)
        })
    }

    /// A committed entry stays committed even if its head cannot be exported. The caller reports that at the
    /// end.
    pub fn exported(&self) -> Result<(), Failure> {
        self.unexported.clone().map_or(Ok(()), Err)
    }

    /// Folds the facts and builds their lines; the last line has the mark.
    fn batch(&mut self, env: &Env, facts: &[Fact]) -> Result<Batch, Failure> {
        let ts = timestamp(env.now_ms);
        let mut batch = Batch::default();
        let Some((last, before)) = facts.split_last() else { return Ok(batch) };
        for fact in before {
            self.add(fact, &ts, false, &mut batch)?;
        }
        let snapshot = !self.dry_run && self.snapshot_due(batch.lines.len() as u64);
        self.add(last, &ts, !snapshot, &mut batch)?;
        if snapshot {
            let Session { memory, state, .. } = self.session().clone();
            let state = state.into_inner();
            self.add(&Fact::Snapshot(Box::new(Snapshot { memory, state })), &ts, true, &mut batch)?;
            let walk = &mut self.loaded.walk;
            walk.snapshot = (walk.bytes + batch.lines.len() as u64, walk.folded.seq);
        }
        self.loaded.walk.bytes += batch.lines.len() as u64;
        Ok(batch)
    }

    fn add(&mut self, fact: &Fact, ts: &str, marked: bool, batch: &mut Batch) -> Result<(), Failure> {
        let walk = &mut self.loaded.walk;
        let (kind, with) = fact.stored();
        let before = walk.folded.seq;
        let stood = stands(&walk.folded);
        let applied = walk.folded.apply(&self.trace, ts, fact);
        applied
            .map_err(|code| Failure::new(code, format!("a `{kind}` entry cannot follow entry {before}")))?;
        let with = PhaseChange::of(stood, stands(&walk.folded), fact).join(with);
        let digests = marked.then(|| {
            batch.memory = canonical_value(&walk.folded.memory);
            batch.state = StateText::of(&walk.folded.state);
            (batch.state.digest(), sha256(&[batch.memory.get().as_bytes()]))
        });
        let mark = digests.as_ref().map(|(state, memory)| Mark { state, memory });
        let prev = &walk.folded.head;
        let seq = walk.folded.seq;
        let frame = Frame { prev, seq, mark, trace_id: &self.trace, ts, kind, with: &with };
        let (line, digest) = frame.write();
        walk.folded.head = digest;
        walk.last = line.len() as u64;
        batch.lines.extend_from_slice(line.as_bytes());
        Ok(())
    }

    /// Whether a snapshot is due after one more entry.
    fn snapshot_due(&self, new_bytes: u64) -> bool {
        let walk = &self.loaded.walk;
        walk.folded.seq + 1 - walk.snapshot.1 >= SNAPSHOT_ENTRIES - 1
            || walk.bytes + new_bytes - walk.snapshot.0 >= SNAPSHOT_BYTES
    }

    fn write(&mut self, batch: &[u8], before: u64, sync: bool) -> Result<(), Failure> {
        let storage = |e| Failure::storage(LEDGER_FILE, e);
        let mut file = &self.file;
        let written = file.write(batch).map_err(storage)?;
        if written < batch.len() {
            return Err(Failure::storage(
                LEDGER_FILE,
                format!("only {written} of {} bytes could be written at {before}", batch.len()),
            ));
        }
        if sync { file.sync_data().map_err(storage) } else { Ok(()) }
    }

    /// Indented, with the digest of the canonical form.
    fn write_state(&self, text: &StateText, memory: Box<RawValue>) -> Result<(), Failure> {
        let walk = &self.loaded.walk;
        let mut state = walk.folded.state.clone().into_inner();
        let ledger = Witness {
            binary: OURS.to_owned(),
            bytes: walk.bytes,
            format: FORMAT,
            head: walk.folded.head.clone(),
            last: walk.last,
            memory,
            seq: walk.folded.seq,
            snapshot: walk.snapshot,
            ..Witness::default()
        };
        state.digest = Some(text.digest_with(&ledger));
        state.ledger = Some(ledger);
        let text = serde_json::to_string_pretty(&state).unwrap_or_default() + "\n";
        Ok(folder::replace(&self.place.dir, STATE_FILE, SPARE_FILE, text.as_bytes())?)
    }

    fn head(&self, env: &Env) -> Head {
        let session = self.session();
        Head {
            blocked: session.blocked().is_some(),
            boot: None,
            digest: session.head.clone(),
            log: session.memory.proof.log.clone(),
            project: self.project(),
            reason: session.blocked().map(str::to_owned),
            seq: session.seq,
            session_id: self.trace.clone(),
            ts: timestamp(env.now_ms),
        }
    }
}

fn stands(session: &Session) -> Standing {
    let step = session.memory.run.as_ref().map(|step| step.phase);
    let state = &session.state;
    Standing { phase: state.phase, planned: session.is_planned(), step, over: state.ended_at.is_some() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::EventKind;
    use crate::session::fact::{Baseline, Happened, Opened, Seen, SessionStarted};
    use crate::text::stored::{canonical, digest_of};
    use std::time::{Duration, SystemTime};

    #[test]
    fn of_each_kind_of_context_only_the_newest_are_kept() {
        let home = tempfile::tempdir().unwrap();
        let env = Env { config: home.path().join("c"), ..Env::default() };
        let key = SessionKey { session_id: "s", transcript_path: "", cwd: "/p" };
        let ledger = Ledger::lock(&env, key, false).unwrap();
        ledger.write_context("qa-1.md", "q").unwrap();
        let folder = ledger.place().path.join("context");
        for (age, n) in [100, 9, 10, 11, 12, 13, 14, 15, 16, 17].into_iter().enumerate() {
            let name = format!("audit-{n}.md");
            ledger.write_context(&name, "a").unwrap();
            let written = File::options().write(true).open(folder.join(name)).unwrap();
            written.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(age as u64)).unwrap();
        }
        let items = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let kept = ["10", "11", "12", "13", "14", "15", "16", "17"].map(|n| format!("audit-{n}.md"));
        assert_eq!(names, [&kept[..], &["qa-1.md".to_owned()]].concat());
    }

    fn session_start(n: usize) -> (BTreeMap<String, String>, Fact) {
        let baseline: BTreeMap<_, _> = (0..n).map(|n| (format!("src/{n}"), format!("stamp-{n}"))).collect();
        let recorded = Baseline { before: None, sha256: digest_of(&baseline), files: baseline.clone() };
        let start = SessionStarted { baseline: Some(recorded), ..SessionStarted::default() };
        let what = Happened::SessionStarted(Box::new(start));
        (baseline, Fact::Event(Box::new(Seen { what, ..Seen::of(EventKind::SessionStart) })))
    }

    #[test]
    fn uncommitted_files_are_only_in_the_entry_that_recorded_them() {
        let home = tempfile::tempdir().unwrap();
        let env = Env { home: home.path().to_owned(), config: home.path().join("c"), ..Env::default() };
        let mut ledger = Ledger::begin(home.path(), "s").unwrap();
        assert_eq!(ledger.baseline().unwrap(), BTreeMap::new());
        let (baseline, start) = session_start(2000);
        ledger.append(&env, vec![Fact::Open(Opened::default()), start]).unwrap();
        ledger.append(&env, vec![session_start(1).1]).unwrap();
        assert_eq!(ledger.baseline().unwrap(), baseline, "the first one counts");
        assert!(canonical(&ledger.session().memory).len() < 1000, "no event carries it along");
        drop(ledger);
        let ledger = Ledger::at(&env, home.path(), "s").unwrap();
        assert_eq!(ledger.baseline().unwrap(), baseline);
        let path = home.path().join(LEDGER_FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("stamp-7\"", "stamp-8\"")).unwrap();
        assert_eq!(ledger.baseline().unwrap_err().code, Code::ChecksumMismatch, "an edit is noticed");
    }
}
