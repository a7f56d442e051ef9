//! The ledger of one session: locked, loaded, appended to.
//!
//! Reads and writes the session folder, exports heads. Invariants: from `lock` to `append` the session is ours alone; a
//! batch is one `write`; what `append` returned for is on disk, and what failed left no trace.

use super::index::Source;
use super::lock::Lock;
use super::recover::{Found, LEDGER_FILE, Standing};
use super::state_file::StateFile;
use crate::ledger::chain::Walk;
use crate::ledger::entry::Line;
use crate::ledger::heads;
use crate::ledger::session_folder::{self, SessionFolder, SessionKey};
use crate::model::error::{Code, Failure};
use crate::session::fact::{Blocked, Fact};
use crate::session::fold::Session;
use crate::system::env::{Env, boot_id};
use crate::system::files;
use crate::text::sha256::trace_id;
use rustix::fs::OFlags;
use std::fs::File;
use std::path::Path;

/// A session's ledger, ours until dropped.
#[derive(Debug)]
pub struct Ledger {
    pub(super) place: SessionFolder,
    pub(super) file: File,
    pub(super) _lock: Option<Lock>,
    pub(super) trace: String,
    pub(super) standing: Standing,
    /// Folds what is appended and writes none of it.
    pub(super) dry_run: bool,
    /// A batch was folded but not written: nothing more is appended.
    pub(super) failed: bool,
    /// Why the newest head is not exported.
    pub(super) unexported: Option<Failure>,
}

/// An entry as the ledger's own readers see it.
#[derive(Clone, Debug)]
pub struct Recent {
    pub seq: u64,
    pub ts: String,
    pub kind: String,
    pub fact: Fact,
}

impl Ledger {
    /// The ledger of this session, made where it is missing. Two ids that share eight digits get a folder each.
    /// `thorough`: hold it against its exported head too, which a rolled-back copy of state and ledger cannot fool.
    pub fn lock(env: &Env, whose: SessionKey, thorough: bool) -> Result<Self, Failure> {
        if env.dry_run {
            return Self::open_dry(env, whose, thorough);
        }
        let mut width = 8;
        for tried in [8, 16] {
            if let Some(place) = session_folder::find(env, whose, tried)? {
                match Self::enter(env, whose, place, thorough)? {
                    Some(ledger) => return Ok(ledger),
                    None => width = 16,
                }
            }
        }
        let place = session_folder::create(env, whose, width)?;
        let made = Self::enter(env, whose, place, thorough)?;
        made.ok_or_else(|| {
            Failure::new(Code::RecoveryFailed, "two sessions share sixteen digits of their hash")
        })
    }

    /// The ledger in a folder that a person named.
    pub fn at(env: &Env, path: &Path, trace: &str) -> Result<Self, Failure> {
        let gone = || Failure::storage(path.display(), "is gone");
        let place = session_folder::open(path.to_owned())?.ok_or_else(gone)?;
        let whose = SessionKey { session_id: trace, transcript_path: "", cwd: "" };
        Self::enter(env, whose, place, true)?.ok_or_else(gone)
    }

    /// An existing folder; `None` where it is another session's.
    fn enter(
        env: &Env,
        whose: SessionKey,
        place: SessionFolder,
        thorough: bool,
    ) -> Result<Option<Self>, Failure> {
        let lock = Lock::acquire(&place.dir)?;
        let (file, long) =
            crate::system::folder::open_or_make(&place.dir, LEDGER_FILE, OFlags::RDWR | OFlags::APPEND)?;
        let trace = trace_id(whose.session_id);
        let Some(standing) = load(env, &place, &file, &trace, long, thorough)? else { return Ok(None) };
        let mut ledger = Self::new(place, file, Some(lock), trace, standing);
        // What was mended binds before anything is judged. A ledger without an entry waits for its first.
        if !ledger.session().is_new() {
            ledger.append(env, Vec::new())?;
        }
        Ok(Some(ledger))
    }

    /// A new ledger in an empty folder. The exported head is not asked: a person gives up what it proves.
    pub fn begin(path: &Path, trace: &str) -> Result<Self, Failure> {
        let gone = || Failure::storage(path.display(), "is gone");
        let place = session_folder::open(path.to_owned())?.ok_or_else(gone)?;
        let lock = Lock::acquire(&place.dir)?;
        let flags = OFlags::RDWR | OFlags::APPEND;
        let (file, _) = crate::system::folder::open_or_make(&place.dir, LEDGER_FILE, flags)?;
        let walk = Walk::new(Session::default(), trace, 0);
        let standing = Standing { walk, mended: Vec::new() };
        Ok(Self::new(place, file, Some(lock), trace.to_owned(), standing))
    }

    pub(super) fn new(
        place: SessionFolder,
        file: File,
        lock: Option<Lock>,
        trace: String,
        standing: Standing,
    ) -> Self {
        Self { place, file, _lock: lock, trace, standing, dry_run: false, failed: false, unexported: None }
    }

    pub fn session(&self) -> &Session {
        &self.standing.walk.session
    }

    pub fn place(&self) -> &SessionFolder {
        &self.place
    }

    /// The name of the project's folder.
    pub fn project(&self) -> String {
        let folder = self.place.path.parent().and_then(|path| path.file_name()).unwrap_or_default();
        folder.to_string_lossy().into_owned()
    }

    /// The last entries, oldest first: as many as stand in the last quarter of a megabyte.
    pub fn recent(&self) -> Vec<Recent> {
        let bytes = self.standing.walk.bytes;
        let long = bytes.min(256 << 10);
        let tail =
            crate::system::folder::read_at(&self.file, LEDGER_FILE, bytes - long, long).unwrap_or_default();
        let lines = tail.split(|b| *b == b'\n').filter_map(Line::read);
        lines
            .filter_map(|line| {
                let fact = Fact::read(line.kind, line.with)?;
                Some(Recent { seq: line.seq, ts: line.ts.to_owned(), kind: line.kind.to_owned(), fact })
            })
            .collect()
    }

    /// A text handed to an agent or a person, in `context/`.
    pub fn write_context(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        if self.dry_run {
            return Ok(());
        }
        let path = self.place.path.join("context");
        files::make_all(&path)?;
        let folder =
            session_folder::open(path.clone())?.ok_or_else(|| Failure::storage(path.display(), "is gone"))?;
        crate::system::folder::replace(&folder.dir, name, ".new", bytes)
    }

    /// A text beside the ledger, such as the halt report.
    pub fn write_beside(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        if self.dry_run {
            Ok(())
        } else {
            crate::system::folder::replace(&self.place.dir, name, ".new", bytes)
        }
    }

    /// How a call of this key ended earlier, however long ago.
    pub fn past_call(
        &self,
        key: &crate::model::call::CallKey,
    ) -> Result<Option<crate::session::fact::Step>, Failure> {
        let walk = &self.standing.walk;
        if self.dry_run {
            return super::index::past_call(&self.file, walk.bytes, key);
        }
        let (dir, boot) = (&self.place.dir, walk.session.memory.boot.as_str());
        Source { dir, ledger: &self.file, long: walk.bytes, boot }.last_end(key)
    }
}

/// The session in this folder, `None` where it is another one's.
pub(super) fn load(
    env: &Env,
    place: &SessionFolder,
    file: &File,
    trace: &str,
    long: u64,
    thorough: bool,
) -> Result<Option<Standing>, Failure> {
    let kept = StateFile::read(&place.dir)?;
    let mut found = Found { dir: &place.dir, file, trace, long, head: None, boot: "", dry_run: env.dry_run };
    if let StateFile::Whole(state, witness) = &kept {
        if state.session_id != trace {
            return Ok(None);
        }
        if thorough {
            found.head = heads::of(env, trace)?;
        }
        if witness.bytes == long && found.holds(state, witness)? {
            let mut walk =
                Walk::new(super::state_file::session((**state).clone(), witness), trace, witness.bytes);
            (walk.last, walk.snapshot) = (witness.last, witness.snapshot);
            found.witnessed(&kept, &walk)?;
            found.exported(&walk)?;
            return Ok(Some(Standing { walk, mended: Vec::new() }));
        }
    } else if !found.is_ours()? {
        return Ok(None);
    }
    let boot = boot_id();
    found.boot = &boot;
    found.head = heads::of(env, trace)?;
    if long == 0 && matches!(kept, StateFile::Missing) && found.head.as_ref().is_none_or(|head| head.seq == 0)
    {
        // A block outlives the ledger it was in.
        let blocked = found.head.filter(|head| head.blocked).map(|head| {
            Fact::Block(Blocked {
                by: "the exported head".to_owned(),
                reason: head.reason.unwrap_or_default(),
            })
        });
        let walk = Walk::new(Session::default(), trace, 0);
        return Ok(Some(Standing { walk, mended: blocked.into_iter().collect() }));
    }
    found.recover(&kept).map(Some)
}
