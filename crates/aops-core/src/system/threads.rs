//! Spreads work over several threads.
//!
//! Starts threads and waits for them. Invariant: no thread runs on after the call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// Runs `work` in one thread per core, but in at most `most` threads.
pub fn run(most: usize, work: impl Fn() + Sync) {
    let threads = if most > 1 { cores().min(most) } else { 1 };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(&work);
        }
        work();
    });
}

/// The processors that this process may use, asked once. The standard library also reads some files for the
/// share of them that a container has, which takes 20 system calls with old control groups.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| usable().clamp(1, 8))
}

#[cfg(target_os = "linux")]
fn usable() -> usize {
    rustix::thread::sched_getaffinity(None).map_or(2, |set| set.count() as usize)
}

#[cfg(not(target_os = "linux"))]
fn usable() -> usize {
    thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

/// Waits until every other thread of this process has ended: with more than one, no namespace can be entered.
pub fn wait_until_alone() {
    const TRIES: usize = 500;
    for _ in 0..TRIES {
        if std::fs::read_dir("/proc/self/task").map_or(true, |all| all.count() <= 1) {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The results of `work` for all items, in any order.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Option<R> + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::with_capacity(items.len()));
    run(items.len(), || {
        let mut own = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            own.extend(work(item));
        }
        made.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
    });
    made.into_inner().unwrap_or_else(PoisonError::into_inner)
}
