//! The steps that run on this machine, each under its holder, by key.
//!
//! Starts holders, and tells the engine when steps end. Invariants: one holder for a key at a time; a step
//! survives a lost stream, and the loss of the engine for `reattach`, but never its worker; a step that was
//! let go is never reported as ended: it begins again under its key.

#![expect(clippy::disallowed_methods, reason = "it starts holders")]

use crate::hold::{Apart, Held, MARK, clock};
use crate::order::{Leg, LegEnd};
use crate::way::Way;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::watch;

const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How often holders learn that their worker is alive.
const BEAT: Duration = Duration::from_secs(1);
const TELL_AGAIN: Duration = Duration::from_millis(200);

/// What all steps of a worker share.
#[derive(Debug)]
pub struct Steps {
    pub machine: String,
    /// The worker's own folder, with its jobs and its lock. Its path marks all processes of the worker.
    pub folder: PathBuf,
    /// `aops-hook`.
    pub program: PathBuf,
    pub way: Way,
    pub lock: i32,
    pub grace: Duration,
    pub reattach: Duration,
    table: Mutex<HashMap<String, Step>>,
    /// When the engine answered last. Needed because a cut cable closes no stream.
    answered: Mutex<Duration>,
}

#[derive(Debug)]
struct Step {
    /// When it is closed, the holder ends everything.
    pipe: Option<ChildStdin>,
    attended: u32,
    lost: Option<Duration>,
    ended: watch::Receiver<bool>,
    /// Set if the step was let go because the engine did not answer.
    cut_off: watch::Sender<bool>,
}

impl Step {
    fn let_go(&mut self) {
        self.pipe = None;
    }

    fn is_let_go(&self) -> bool {
        self.pipe.is_none()
    }
}

/// An attempt of the engine that is waiting for a step.
#[derive(Debug)]
pub struct Attending {
    steps: Arc<Steps>,
    key: String,
    cut_off: watch::Receiver<bool>,
    is_over: bool,
}

impl Steps {
    pub fn new(
        machine: String,
        folder: PathBuf,
        program: PathBuf,
        way: Way,
        lock: i32,
        grace: Duration,
        reattach: Duration,
    ) -> Arc<Self> {
        let table = Mutex::default();
        let answered = Mutex::new(clock());
        let steps = Arc::new(Self { machine, folder, program, way, lock, grace, reattach, table, answered });
        let looking = Arc::clone(&steps);
        thread::spawn(move || {
            let mut told = Duration::ZERO;
            loop {
                thread::sleep(LOOK_AGAIN);
                looking.end_unattended();
                if clock().saturating_sub(told) >= BEAT {
                    told = clock();
                    looking.say_alive();
                }
            }
        });
        let asking = Arc::clone(&steps);
        thread::spawn(move || {
            loop {
                asking.ask_whether_it_lives();
                thread::sleep(asking.way.beat(asking.reattach));
            }
        });
        steps
    }

    fn ask_whether_it_lives(&self) {
        let asked = clock();
        if self.way.lives() {
            *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = asked;
        }
    }

    /// Tells holders that the worker is alive; without it they end their steps.
    fn say_alive(&self) {
        for step in self.table().values_mut() {
            if let Some(pipe) = &mut step.pipe {
                let _ = pipe.write_all(b".");
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, Step>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_cut_off(&self) -> bool {
        let answered = *self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        clock().saturating_sub(answered) > self.reattach
    }

    fn end_unattended(&self) {
        let is_cut_off = self.is_cut_off();
        for step in self.table().values_mut() {
            if is_cut_off || step.lost.is_some_and(|since| clock().saturating_sub(since) > self.reattach) {
                step.let_go();
                step.cut_off.send_replace(true);
            }
        }
    }

    /// How many steps run here.
    pub fn count(&self) -> usize {
        self.table().len()
    }

    /// Attends the step with this key: the running one, or a new one. When it ends, the awakeable is
    /// resolved.
    pub async fn attend(self: &Arc<Self>, key: &str, leg: &Leg, awakeable: &str) -> io::Result<Attending> {
        let cut_off = loop {
            // A step that begins now would be let go at once.
            while self.is_cut_off() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            let ending = {
                let mut table = self.table();
                match table.get_mut(key) {
                    Some(step) if !step.is_let_go() => {
                        step.attended += 1;
                        step.lost = None;
                        break step.cut_off.subscribe();
                    }
                    Some(step) => step.ended.clone(),
                    None => {
                        let step = self.begin(key, leg, awakeable)?;
                        let cut_off = step.cut_off.subscribe();
                        table.insert(key.to_owned(), step);
                        break cut_off;
                    }
                }
            };
            wait_for(ending).await;
            // Whoever saw the step end removes it from the table.
            tokio::task::yield_now().await;
        };
        Ok(Attending { steps: Arc::clone(self), key: key.to_owned(), cut_off, is_over: false })
    }

    fn begin(self: &Arc<Self>, key: &str, leg: &Leg, awakeable: &str) -> io::Result<Step> {
        let stem = self.folder.join("jobs").join(key.replace(['/', '.'], "-"));
        fs::create_dir_all(stem.parent().unwrap_or(&self.folder))?;
        let file = |kind: &str| stem.with_extension(kind);
        let _ = fs::remove_file(file("end"));
        fs::write(file("leg"), serde_json::to_vec(leg)?)?;
        let words = ["__leg".to_owned(), text_of(&file("leg")), text_of(&file("end"))];
        let grace = self.grace;
        let lock = Some(self.lock);
        let program = text_of(&self.program);
        let life = Some(self.reattach);
        let held = Held { grace, life, apart: Apart::IfPossible, lock, program, args: words.to_vec() };
        let mut holder = Command::new("/proc/self/exe")
            .args(held.words())
            .env(MARK, &self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(file("err"))?)
            .spawn()?;
        let pipe = holder.stdin.take();
        let (tell, ended) = watch::channel(false);
        let steps = Arc::clone(self);
        let key = key.to_owned();
        let awakeable = awakeable.to_owned();
        thread::spawn(move || steps.watch(holder, &key, &stem, &awakeable, &tell));
        Ok(Step { pipe, attended: 1, lost: None, ended, cut_off: watch::channel(false).0 })
    }

    /// Waits for a holder to end, then tells the engine, and repeats until the engine confirms.
    fn watch(&self, mut holder: Child, key: &str, stem: &Path, awakeable: &str, tell: &watch::Sender<bool>) {
        let code = holder.wait().ok().and_then(|status| status.code());
        let was_let_go = self.table().get(key).is_none_or(Step::is_let_go);
        if was_let_go {
            self.table().remove(key);
            let _ = tell.send(true);
            return;
        }
        let end = read_end(stem, code);
        // Resolving twice does no harm, and a server that is down comes back.
        while self
            .way
            .ended(awakeable, &end)
            .is_err_and(|(status, _)| status >= 500 || [401, 403].contains(&status))
        {
            thread::sleep(TELL_AGAIN);
        }
        self.table().remove(key);
        let _ = tell.send(true);
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn read_end(stem: &Path, code: Option<i32>) -> LegEnd {
    let told =
        fs::read(stem.with_extension("end")).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    told.unwrap_or_else(|| {
        let said = fs::read_to_string(stem.with_extension("err")).unwrap_or_default();
        let last: String =
            said.trim().chars().rev().take(400).collect::<Vec<_>>().into_iter().rev().collect();
        LegEnd::Failed { words: format!("aops-hook ended with {code:?} and reported nothing: {last}") }
    })
}

async fn wait_for(mut ended: watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
}

impl Attending {
    /// The step was let go although its stream may be open: this attempt must end, so that another one begins
    /// the step again.
    pub fn cut_off(&self) -> impl Future<Output = ()> + use<> {
        let mut cut_off = self.cut_off.clone();
        async move {
            // A step that came to its end is never cut off.
            let is_cut_off = cut_off.wait_for(|cut_off| *cut_off).await.is_ok();
            if !is_cut_off {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Ends the step with all its processes; returns when they are gone.
    pub async fn kill(mut self) {
        self.is_over = true;
        let ended = self.steps.table().get_mut(&self.key).map(|step| {
            step.let_go();
            step.ended.clone()
        });
        if let Some(ended) = ended {
            wait_for(ended).await;
        }
    }

    /// The engine knows that the step ended.
    pub fn over(mut self) {
        self.is_over = true;
    }
}

/// The stream of this attempt is lost; another attempt may come.
impl Drop for Attending {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if let Some(step) = self.steps.table().get_mut(&self.key) {
            step.attended = step.attended.saturating_sub(1);
            if step.attended == 0 {
                step.lost = Some(clock());
            }
        }
    }
}
