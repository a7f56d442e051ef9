//! Finds the sessions of this machine and reads again those that changed.
//!
//! Reads folders, states, ledgers and attempt ledgers; writes nothing. Invariants: an unchanged session costs
//! two checks of a file's date and no reading; a folder is listed only when its own date changed; no session
//! is left out: one that cannot be read, or of which only the exported head is left, is a row too.

mod refusal;
mod load;

use super::model::News;
use super::row::{Life, Question, Row};
use crate::run::artifacts::RunArtifacts;
use aops_core::ledger::clients;
use aops_core::ledger::heads::{self, Head};
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::ledger::session_folder::is_session_folder;
use aops_core::ledger::sessions;
use aops_core::proof::health::{Health, QUICK};
use aops_core::session::memory::ClientProcess;
use aops_core::system::env::{Env, boot_id};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const STATE_FILE: &str = "session-state.json";

/// The total size of ledgers that are read completely in one refresh; of longer ones, only the end is read.
const WALKED: u64 = 1 << 20;

/// How many rows are delivered together while all are read.
const TOGETHER: usize = 50;

/// What changes when a file does: date in nanoseconds, length, inode number.
type Stamp = Option<(i64, i64, u64, u64)>;

fn stamp(path: &Path) -> Stamp {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.mtime(), meta.mtime_nsec(), meta.len(), meta.ino()))
}

struct Known {
    ledger: PathBuf,
    state: PathBuf,
    stamps: [Stamp; 2],
    client: Option<ClientProcess>,
    row: Row,
}

impl Known {
    fn now(&self) -> [Stamp; 2] {
        [stamp(&self.ledger), stamp(&self.state)]
    }

    /// How much of the ledger was read.
    fn long(&self) -> u64 {
        self.stamps[0].map_or(0, |(_, _, long, _)| long)
    }
}

/// The attempt ledger of a project, and what its runs wait for, by session.
struct Runs {
    artifacts: RunArtifacts,
    stamp: Stamp,
    questions: BTreeMap<String, Question>,
}

pub(super) struct Reader {
    env: Env,
    boot: String,
    /// The client's project folders, as they were last listed.
    projects: BTreeMap<PathBuf, Stamp>,
    known: BTreeMap<PathBuf, Known>,
    runs: BTreeMap<PathBuf, Runs>,
    lost: BTreeSet<String>,
    ready: bool,
}

impl Reader {
    pub(super) fn new(env: &Env) -> Self {
        let (projects, known, runs, lost) = Default::default();
        Self { env: env.clone(), boot: boot_id(), projects, known, runs, lost, ready: false }
    }

    /// Checks everything once, and delivers what is new.
    pub(super) fn refresh(&mut self, tell: &mut dyn FnMut(News)) {
        self.env = self.env.later();
        let new = self.list();
        let (changed, gone) = self.compare();
        let any = !new.is_empty() || !gone.is_empty();
        let keys: Vec<String> =
            gone.iter().filter_map(|path| Some(self.known.remove(path)?.row.key())).collect();
        tell(News::Gone(keys));
        self.read(&new, if self.ready { WALKED } else { QUICK }, tell);
        self.read(&changed, WALKED, tell);
        let moved = self.look_at_runs().into_iter().chain(self.look_at_clients()).collect::<BTreeSet<_>>();
        let rows: Vec<Row> =
            moved.iter().filter_map(|path| Some(self.known.get(path)?.row.clone())).collect();
        tell(News::Rows(rows));
        if any || !self.ready {
            self.look_for_lost(tell);
        }
        if !self.ready {
            self.ready = true;
            tell(News::Ready);
        }
    }

    /// The sessions that changed, and those that are gone.
    fn compare(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut changed = Vec::new();
        let mut gone = Vec::new();
        for (path, known) in &self.known {
            match known.now() {
                [None, None] => gone.push(path.clone()),
                now if now != known.stamps => changed.push(path.clone()),
                _ => {}
            }
        }
        (changed, gone)
    }

    /// Session folders that are not known yet, newest first.
    fn list(&mut self) -> Vec<PathBuf> {
        let mut new = Vec::new();
        let root = self.env.projects();
        let mut folders: Vec<PathBuf> =
            self.projects.keys().filter(|folder| **folder != root).cloned().collect();
        folders.push(root.clone());
        while let Some(folder) = folders.pop() {
            let now = stamp(&folder);
            if self.projects.get(&folder).is_some_and(|then| then.is_some() && *then == now) {
                continue;
            }
            let inside = fs::read_dir(&folder).into_iter().flatten().flatten().map(|item| item.path());
            if folder == root {
                folders.extend(inside.filter(|path| !self.projects.contains_key(path)));
            } else {
                let ours = |path: &PathBuf| {
                    path.file_name().and_then(|name| name.to_str()).is_some_and(is_session_folder)
                };
                new.extend(inside.filter(|path| ours(path) && !self.known.contains_key(path)));
            }
            self.projects.insert(folder, self.settled(now));
        }
        new.sort_by_cached_key(|path| Reverse(stamp(&path.join(LEDGER_FILE))));
        new
    }

    /// A folder that changed just now may change again within the clock's resolution, so it is listed once
    /// more.
    fn settled(&self, stamp: Stamp) -> Stamp {
        const GRAIN_S: i64 = 2;
        stamp.filter(|(seconds, ..)| self.env.now_ms / 1000 - seconds > GRAIN_S)
    }

    /// Reads these sessions, a few at a time.
    fn read(&mut self, paths: &[PathBuf], walked: u64, tell: &mut dyn FnMut(News)) {
        if paths.is_empty() {
            return;
        }
        let env = self.env.clone();
        let mut health = Health::new(&env, walked);
        for part in paths.chunks(TOGETHER) {
            let mut rows = Vec::new();
            for path in part {
                let known = self.known.remove(path);
                // Nothing was recorded there yet, so its project is listed again.
                let Some(known) = load::load(&env, &self.boot, path, known.as_ref(), &mut health) else {
                    self.projects.insert(path.parent().unwrap_or(path).to_path_buf(), None);
                    continue;
                };
                self.note_runs(&known.row.root);
                let known = self.with_question(known);
                rows.push(known.row.clone());
                self.known.insert(path.clone(), known);
            }
            tell(News::Rows(rows));
        }
    }

    /// A run begins in a session of its own: if there is an attempt ledger, it is checked from then on.
    fn note_runs(&mut self, root: &Path) {
        if root.as_os_str().is_empty() || self.runs.contains_key(root) {
            return;
        }
        let artifacts = RunArtifacts::of(root);
        if stamp(&artifacts.ledger()).is_some() {
            let mut runs = Runs { artifacts, stamp: None, questions: BTreeMap::new() };
            runs.look();
            self.runs.insert(root.to_path_buf(), runs);
        }
    }

    fn with_question(&self, mut known: Known) -> Known {
        let runs = self.runs.get(&known.row.root);
        known.row.question = runs.and_then(|runs| runs.questions.get(&known.row.id).cloned());
        known.row = known.row.clean();
        known
    }

    /// The sessions whose run now waits for something else.
    fn look_at_runs(&mut self) -> Vec<PathBuf> {
        let changed: Vec<PathBuf> =
            self.runs.iter_mut().filter_map(|(root, runs)| runs.look().then(|| root.clone())).collect();
        let concerned = self.known.iter().filter(|(_, known)| changed.contains(&known.row.root));
        let concerned: Vec<PathBuf> = concerned.map(|(path, _)| path.clone()).collect();
        for path in &concerned {
            if let Some(known) = self.known.remove(path) {
                let known = self.with_question(known);
                self.known.insert(path.clone(), known);
            }
        }
        concerned
    }

    /// The sessions whose client ended without telling us.
    fn look_at_clients(&mut self) -> Vec<PathBuf> {
        let mut left = Vec::new();
        for (path, known) in self.known.iter_mut().filter(|(_, known)| known.row.life == Life::Live) {
            if !known.client.as_ref().is_some_and(clients::is_alive) {
                known.row.life = Life::Left;
                left.push(path.clone());
            }
        }
        left
    }

    /// Sessions of which only the exported head is left.
    fn look_for_lost(&mut self, tell: &mut dyn FnMut(News)) {
        let there: BTreeSet<&str> = self.known.values().map(|known| known.row.id.as_str()).collect();
        let every = heads::at(&self.env).every().unwrap_or_default().into_values();
        let gone: Vec<Head> =
            every.filter(|head| head.seq > 0 && !there.contains(head.session_id.as_str())).collect();
        let rows: Vec<Row> = gone.iter().map(load::lost).collect();
        let now: BTreeSet<String> = rows.iter().map(Row::key).collect();
        let found = self.lost.difference(&now).cloned().collect();
        self.lost = now;
        tell(News::Gone(found));
        tell(News::Rows(rows));
    }
}

impl Runs {
    /// Reads the attempt ledger again if it changed. Returns whether it did.
    fn look(&mut self) -> bool {
        let now = stamp(&self.artifacts.ledger());
        if now == self.stamp {
            return false;
        }
        self.stamp = now;
        let runs = self.artifacts.runs().unwrap_or_default().into_iter();
        let question = |run: crate::run::state::RunState| {
            let paused = run.paused?;
            let open = paused.trigger.wants_decision() && run.resolved.is_none();
            let question = Question { checkpoint_id: paused.checkpoint_id, words: paused.question, open };
            Some((run.init.session_id, question))
        };
        self.questions = runs.filter_map(question).collect();
        true
    }
}
