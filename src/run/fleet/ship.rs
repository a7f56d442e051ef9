//! Writes a run's progress under its lease, which a thread renews.
//!
//! Connects to the database. Invariants: a call is repeated until the database answers; once another worker
//! has the run, nothing is written any more; when the lease expires and cannot be renewed, the step is asked
//! to end.

use super::place::Place;
use crate::remote::database;
use crate::run::artifacts::within;
use aops_core::system::env::Env;
use aops_core::system::{random, signal};
use aops_fleet::queue::{Lease, Leave, Progress};
use aops_fleet::{Error, Fleet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A connection that is opened again when it breaks.
pub(super) struct Line {
    env: Env,
    url: String,
    open: Option<Fleet>,
}

impl Line {
    pub(super) fn new(env: &Env, url: &str) -> Self {
        Self { env: env.clone(), url: url.to_owned(), open: None }
    }

    /// Sends a request once.
    pub(super) fn ask<T>(&mut self, call: impl FnOnce(&mut Fleet) -> Result<T, Error>) -> Result<T, Error> {
        let mut fleet = match self.open.take() {
            Some(fleet) => fleet,
            None => database::open(&self.env, &self.url)?,
        };
        let said = call(&mut fleet);
        if !said.as_ref().is_err_and(Error::is_down) {
            self.open = Some(fleet);
        }
        said
    }

    /// Repeats a request until the database answers, with growing pauses; gives up when `stop` says so.
    pub(super) fn insist<T>(
        &mut self,
        stop: impl Fn() -> bool,
        mut call: impl FnMut(&mut Fleet) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.ask(&mut call) {
                Err(error) if error.is_down() && !stop() => {
                    // A random share, so that not all workers retry at the same moment.
                    let mut share = [0];
                    let _ = random::fill(&mut share);
                    rest(pause.mul_f64(0.5 + f64::from(share[0]) / 255.0), &stop);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                said => return said,
            }
        }
    }
}

/// Waits, but returns early when `stop` says so.
pub(super) fn rest(long: Duration, stop: &impl Fn() -> bool) {
    within(long, stop);
}

/// What a worker and its heartbeat share.
struct Shared {
    /// Another worker has the run.
    fenced: AtomicBool,
    until: Mutex<Instant>,
}

/// A run held by this worker.
pub(super) struct Hold {
    line: Line,
    run: String,
    fence: i64,
    machine: String,
    lease: Duration,
    /// How many lines the database has.
    pub(super) known: usize,
    shared: Arc<Shared>,
    beat: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Hold {
    pub(super) fn new(
        line: Line,
        (run, fence): (&str, i64),
        machine: &str,
        lease: Duration,
        known: usize,
    ) -> Self {
        let shared =
            Arc::new(Shared { fenced: AtomicBool::new(false), until: Mutex::new(Instant::now() + lease) });
        let line_of_beat = Line::new(&line.env, &line.url);
        let its = Arc::clone(&shared);
        let (stop, stopped) = mpsc::channel();
        let name = run.to_owned();
        let beat = thread::spawn(move || {
            let mut line = line_of_beat;
            while stopped.recv_timeout(lease / 3) == Err(RecvTimeoutError::Timeout) {
                its.renew(&mut line, Lease { run: &name, fence, lease_s: lease.as_secs_f64() }, lease);
            }
        });
        let run = run.to_owned();
        let machine = machine.to_owned();
        let beat = Some((stop, beat));
        Self { line, run, fence, machine, lease, known, shared, beat }
    }

    pub(super) fn is_fenced(&self) -> bool {
        self.shared.fenced.load(Ordering::SeqCst)
    }

    /// Stores the run's progress.
    pub(super) fn record(&mut self, env: &Env, place: &Place) -> anyhow::Result<()> {
        let (progress, _) = place.describe(env, &self.run, self.known).map_err(anyhow::Error::msg)?;
        self.write(|fleet, lease, machine, known| fleet.record(lease, machine, known, &progress))?;
        self.known = progress.lines.len();
        Ok(())
    }

    /// Leaves the run. If it has no tree, only the message is stored.
    pub(super) fn leave(&mut self, progress: &Progress, pinned: bool, how: &Leave) -> Result<(), Error> {
        self.write(|fleet, lease, machine, known| fleet.leave(lease, machine, (known, progress), pinned, how))
    }

    fn write(
        &mut self,
        mut call: impl FnMut(&mut Fleet, Lease, &str, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let lease_s = self.lease.as_secs_f64();
        let run = &self.run;
        let fence = self.fence;
        let machine = &self.machine;
        let known = self.known;
        let stop = || shared.fenced.load(Ordering::SeqCst);
        let before = Instant::now();
        let done = self.line.insist(stop, |fleet| call(fleet, Lease { run, fence, lease_s }, machine, known));
        match done {
            Ok(()) => shared.set_until(before + self.lease),
            Err(Error::Fenced) => shared.lose(),
            Err(_) => {}
        }
        done
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some((stop, beat)) = self.beat.take() {
            drop(stop);
            let _ = beat.join();
        }
        signal::interrupt(false);
    }
}

impl Shared {
    fn set_until(&self, until: Instant) {
        let mut known = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        *known = until.max(*known);
    }

    fn lose(&self) {
        self.fenced.store(true, Ordering::SeqCst);
        signal::interrupt(true);
    }

    fn renew(&self, line: &mut Line, lease: Lease, long: Duration) {
        let before = Instant::now();
        match line.ask(|fleet| fleet.heartbeat(lease)) {
            Ok(()) => self.set_until(before + long),
            Err(Error::Fenced) => self.lose(),
            Err(_) => {
                let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
                if Instant::now() >= until {
                    // From now on another machine may begin the step.
                    signal::interrupt(true);
                }
            }
        }
    }
}
