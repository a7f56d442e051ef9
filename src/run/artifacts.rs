//! The files of runs in a project: packets, summaries and the attempt ledger. They are below `artifacts/`, or
//! below `.aops/runs/` if the project has an `artifacts/` of its own.
//!
//! Reads and writes that folder. Invariants: one driver at a time; writing never follows a link that a step
//! left; a file appears completely or not at all; a line is on the disk when `append` returns; a ledger that
//! does not verify is a failure, never a shorter ledger.

use crate::run::attempt::{AttemptEntry, AttemptFact, Attempts, Decision, Removed, Resolved};
use crate::run::packet::{End, Pause, StepSummary, to_yaml};
use crate::run::state::{RunState, fold, is_intervention};
use aops_core::model::error::{Code, Failure};
use aops_core::system::env::now_ms;
use aops_core::system::files;
use aops_core::system::git::exclude::exclude;
use aops_core::text::time::timestamp;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const FOLDER: &str = "artifacts";
/// Used if the project has a folder `artifacts` of its own.
const SECOND_FOLDER: &str = ".aops/runs";
/// The path of the attempt ledger within the folder.
pub const LEDGER: &str = "loop_state/attempt_ledger.jsonl";
const LOCK: &str = "loop_state/driver.lock";
/// Between fork and exec, the child of a killed driver still holds the driver's lock.
const PATIENCE: Duration = Duration::from_millis(600);

#[derive(Clone, Debug)]
pub struct RunArtifacts {
    /// The folder's name below the project.
    name: &'static str,
    folder: PathBuf,
}

impl RunArtifacts {
    pub fn of(project: &Path) -> Self {
        let has_runs = |name: &&str| project.join(name).join("loop_state").is_dir();
        let is_taken = || fs::symlink_metadata(project.join(FOLDER)).is_ok();
        let known = [SECOND_FOLDER, FOLDER].into_iter().find(has_runs);
        let name = known.unwrap_or_else(|| if is_taken() { SECOND_FOLDER } else { FOLDER });
        Self { name, folder: project.join(name) }
    }

    pub fn prepare(&self, project: &Path) -> Result<(), Failure> {
        exclude(project, self.name)?;
        let make = |path: &Path| fs::create_dir_all(path).map_err(|e| Failure::storage(path.display(), e));
        make(&self.folder)?;
        self.check_folder(&self.folder.join("terminal"))?;
        ["terminal", "checkpoints", "steps", "loop_state"]
            .iter()
            .try_for_each(|name| make(&self.folder.join(name)))
    }

    pub fn pause_file(&self, checkpoint_id: &str) -> PathBuf {
        self.folder.join("checkpoints").join(format!("{checkpoint_id}.yaml"))
    }

    pub fn end_file(&self, run_id: &str) -> PathBuf {
        self.folder.join("terminal").join(format!("TP_{run_id}.yaml"))
    }

    pub fn keep_pause(&self, pause: &Pause) -> Result<PathBuf, Failure> {
        self.keep(self.pause_file(&pause.checkpoint_id), &to_yaml(pause))
    }

    pub fn keep_end(&self, end: &End) -> Result<PathBuf, Failure> {
        self.keep(self.end_file(&end.run_id), &to_yaml(end))
    }

    pub fn keep_summary(&self, run_id: &str, summary: &StepSummary) -> Result<PathBuf, Failure> {
        let name = format!("{run_id}_{}.json", summary.step_name);
        let text = serde_json::to_string_pretty(summary).unwrap_or_default() + "\n";
        self.keep(self.folder.join("steps").join(name), &text)
    }

    /// Stores a file of a run that another machine wrote; its path is relative to this folder.
    pub fn keep_file(&self, path: &str, text: &str) -> Result<PathBuf, Failure> {
        self.keep(self.folder.join(path), text)
    }

    fn keep(&self, path: PathBuf, text: &str) -> Result<PathBuf, Failure> {
        self.check_folder(&path)?;
        let kept = files::write_beside(&path, 0o644, |file| {
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all())
        });
        kept.map_err(|e| Failure::storage(path.display(), e))?;
        Ok(path)
    }

    /// Checks that no link redirects the folder of this file: the driver may write where no step may.
    fn check_folder(&self, path: &Path) -> Result<(), Failure> {
        let storage = |e| Failure::storage(path.display(), e);
        let project =
            self.folder.ancestors().nth(Path::new(self.name).components().count()).unwrap_or(&self.folder);
        let folder = path.parent().unwrap_or(path);
        let project = project.canonicalize().map_err(storage)?;
        let wanted = folder.strip_prefix(&self.folder).map(|rest| project.join(self.name).join(rest));
        if wanted.is_ok_and(|wanted| folder.canonicalize().is_ok_and(|real| real == wanted)) {
            return Ok(());
        }
        Err(Failure::storage(folder.display(), "the path to this folder contains a link"))
    }

    /// The packet of a pause. Only the members that a person may edit can differ from what was written.
    pub fn pause(&self, record: &RunState) -> Result<Pause, Failure> {
        let Some(paused) = &record.paused else {
            return Err(Failure::new(Code::RecoveryFailed, format!("run {} has no packet", record.run_id)));
        };
        let path = self.pause_file(&paused.checkpoint_id);
        let odd = |code, what: String| Failure::new(code, format!("the packet `{}` {what}", path.display()));
        let text = files::read_text(&path);
        let text = text.map_err(|e| odd(Code::RecoveryFailed, format!("cannot be read: {e}")))?;
        let packet =
            Pause::read(&text).map_err(|e| odd(Code::ChecksumMismatch, format!("is damaged: {e}")))?;
        let is_same = packet.checkpoint_id == paused.checkpoint_id && packet.run_id == record.run_id;
        if !is_same || packet.digest_with(&paused.tree) != paused.digest || packet.digest != paused.digest {
            let what = "was changed; only `resolved` and `resolution_decision` are a person's to edit";
            return Err(odd(Code::ChecksumMismatch, what.to_owned()));
        }
        Ok(packet)
    }

    /// Records a person's decision on a paused run, in its packet and in the attempt ledger.
    pub fn resolve(
        &self,
        run: &RunState,
        decision: Decision,
        note: Option<String>,
        by: Option<String>,
    ) -> Result<(), Failure> {
        let mut packet = self.pause(run)?;
        packet.resolved = true;
        packet.resolution_decision = Some(decision);
        self.keep_pause(&packet)?;
        let resolved = Resolved { by, checkpoint_id: packet.checkpoint_id, decision, note };
        self.append(&run.run_id, AttemptFact::Resolved(resolved)).map(drop)
    }

    /// What people were asked in this run and how they decided, oldest first.
    pub fn decisions(&self, run_id: &str) -> Result<Vec<(String, Resolved)>, Failure> {
        let bytes = files::read(self.ledger()).map_err(|e| Failure::storage(self.ledger().display(), e))?;
        let mut asked = String::new();
        let mut decided = Vec::new();
        for told in self.parse(&bytes)?.0.told.into_iter().filter(|told| told.run_id == run_id) {
            match told.deed {
                AttemptFact::Checkpoint(paused) => asked = paused.question,
                AttemptFact::Resolved(resolved) => decided.push((asked.clone(), resolved)),
                _ => {}
            }
        }
        Ok(decided)
    }

    /// The packets and summaries of a run, without links.
    pub fn files_of(&self, run_id: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for (folder, mark) in PACKETS {
            let items = fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
            let items =
                items.filter(|item| begins_with_run(&item.file_name().to_string_lossy(), mark, run_id));
            found.extend(
                items
                    .filter(|item| item.file_type().is_ok_and(|kind| kind.is_file()))
                    .map(|item| item.path()),
            );
        }
        found.sort();
        found
    }

    /// Removes the files of a settled run, then records that in the attempt ledger, whose lines stay.
    pub fn remove(&self, run_id: &str) -> Result<usize, Failure> {
        let files = self.files_of(run_id);
        for path in &files {
            fs::remove_file(path).map_err(|e| Failure::storage(path.display(), e))?;
        }
        self.append(run_id, AttemptFact::Removed(Removed { files: files.len() as u64 }))?;
        Ok(files.len())
    }

    /// Renames the files of undone steps, of their interventions, and of an end that no longer holds: they
    /// must not be taken for the present ones or overwritten.
    pub fn set_aside(&self, run_id: &str, steps: &[String], version: u64) -> Result<(), Failure> {
        let mended = steps.iter().flat_map(|step| self.interventions_of(run_id, step));
        let of_step = |step: &String| {
            vec![
                (format!("steps/{run_id}_{step}"), "json"),
                (format!("checkpoints/CP_{run_id}_{step}"), "yaml"),
            ]
        };
        let all = steps.iter().chain(&mended.collect::<Vec<_>>()).flat_map(of_step).collect::<Vec<_>>();
        for (name, ending) in all.into_iter().chain([(format!("terminal/TP_{run_id}"), "yaml")]) {
            let old = format!("{name}.{ending}");
            let new = format!("{name}_v{version}.{ending}");
            let path = self.folder.join(old);
            match fs::rename(&path, self.folder.join(new)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Failure::storage(path.display(), error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The steps that fixed what the verifier of this one found, according to their summaries.
    fn interventions_of(&self, run_id: &str, step: &str) -> Vec<String> {
        let items = fs::read_dir(self.folder.join("steps")).into_iter().flatten().flatten();
        let names = items.filter_map(|item| item.file_name().into_string().ok());
        let ids = names.filter_map(|name| {
            Some(name.strip_prefix(run_id)?.strip_prefix('_')?.strip_suffix(".json")?.to_owned())
        });
        ids.filter(|id| is_intervention(id, step) && !id.contains("_v")).collect()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.join(LEDGER)
    }

    /// Every run of this project whose files were not removed, oldest first.
    pub fn runs(&self) -> Result<Vec<RunState>, Failure> {
        let path = self.ledger();
        match files::read(&path) {
            Ok(bytes) => {
                Ok(fold(&self.parse(&bytes)?.0.told).into_iter().filter(|run| !run.removed).collect())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Failure::storage(path.display(), error)),
        }
    }

    /// Adds a line. An incomplete line left by a killed driver is cut off: it was never acknowledged.
    pub fn append(&self, run_id: &str, deed: AttemptFact) -> Result<AttemptEntry, Failure> {
        let path = self.ledger();
        let storage = |e| Failure::storage(path.display(), e);
        self.check_folder(&path)?;
        let options = &mut OpenOptions::new();
        let opened = files::open_itself(&path, options.read(true).write(true).create(true).truncate(false));
        let mut file = opened.map_err(storage)?;
        file.lock().map_err(storage)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(storage)?;
        let (attempts, torn) = self.parse(&bytes)?;
        let now = timestamp(now_ms());
        let line = attempts.line(run_id, &now, &deed);
        let end = (bytes.len() - torn) as u64;
        file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(storage)?;
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(storage)?;
        Ok(AttemptEntry { run_id: run_id.to_owned(), ts: now, deed })
    }

    pub fn head(&self) -> String {
        let bytes = files::read(self.ledger()).unwrap_or_default();
        Attempts::read(&bytes).unwrap_or_default().0.head
    }

    fn parse(&self, bytes: &[u8]) -> Result<(Attempts, usize), Failure> {
        let path = self.ledger();
        let what = |failure: Failure| format!("`{}`: {}", path.display(), failure.what);
        Attempts::read(bytes).map_err(|damage| Failure::new(Code::ChecksumMismatch, what(damage.into())))
    }

    /// The lock of this project's only driver, held until the file is dropped.
    pub fn drive(&self) -> Result<File, Failure> {
        let path = self.folder.join(LOCK);
        let opened = files::open_itself(&path, OpenOptions::new().append(true).create(true));
        let file = opened.map_err(|e| Failure::storage(path.display(), e))?;
        if within(PATIENCE, || file.try_lock().is_ok()) {
            self.tidy();
            return Ok(file);
        }
        Err(Self::driven())
    }

    /// The failure for a second driver.
    pub fn driven() -> Failure {
        let what = "another driver is running in this project; one task runs at a time";
        Failure::new(Code::ConcurrentExecution, what)
    }

    /// Removes unfinished files of a killed driver.
    fn tidy(&self) {
        let folders = ["terminal", "checkpoints", "steps"].map(|name| self.folder.join(name));
        for item in folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten() {
            if files::is_unfinished(&item.file_name().to_string_lossy()) {
                let _ = fs::remove_file(item.path());
            }
        }
    }

    /// Whether another process drives a run.
    pub fn is_driven(&self) -> bool {
        let Ok(file) = files::open(self.folder.join(LOCK)) else { return false };
        !within(PATIENCE, || file.try_lock_shared().is_ok())
    }
}

/// Waits until it is true, or until the time is up.
fn within(patience: Duration, is_true: impl Fn() -> bool) -> bool {
    let end = Instant::now() + patience;
    loop {
        if is_true() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(Duration::from_millis(20).min(patience));
    }
}

/// The folders of a run's packets and summaries, and the prefix of their names before the run's id.
const PACKETS: [(&str, &str); 3] = [("terminal", "TP_"), ("checkpoints", "CP_"), ("steps", "")];

fn begins_with_run(name: &str, mark: &str, run_id: &str) -> bool {
    let rest = name.strip_prefix(mark).and_then(|name| name.strip_prefix(run_id));
    rest.is_some_and(|rest| rest.starts_with(['_', '.']))
}

/// Whether this path within the folder is a packet or summary of the run.
pub fn is_file_of(run_id: &str, path: &str) -> bool {
    let known = |(folder, mark): (&str, &str)| {
        let name = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        name.is_some_and(|name| begins_with_run(name, mark, run_id) && !name.contains(['/', '\0']))
    };
    PACKETS.into_iter().any(known)
}
