//! Asks the machine's resolver, which may be slow: each name in a thread of its own. Answers are cached for a
//! moment, since package managers open hundreds of connections to one host.
//!
//! Invariant: the loop never waits for it.

use rustix::event::{EventfdFlags, eventfd};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Threads at a time.
const MOST_AT_ONCE: usize = 16;
const STACK: usize = 1 << 18;
/// How long an answer is used, and how many are cached.
const FRESH: Duration = Duration::from_secs(5);
const MOST_KEPT: usize = 256;

pub(super) struct Answer {
    /// The connection that waits for the answer.
    pub(super) id: u64,
    asked: (String, u16),
    pub(super) addresses: Vec<SocketAddr>,
}

pub(super) struct Resolver {
    /// Readable when there is an answer.
    pub(super) wake: Arc<OwnedFd>,
    waiting: VecDeque<(u64, String, u16)>,
    running: usize,
    sender: Sender<Answer>,
    answers: Receiver<Answer>,
    kept: HashMap<(String, u16), (Instant, Vec<SocketAddr>)>,
}

impl Resolver {
    pub(super) fn new() -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (sender, answers) = channel();
        Ok(Self { wake, waiting: VecDeque::new(), running: 0, sender, answers, kept: HashMap::new() })
    }

    /// Resolves a name, or accepts an address as it is. A cached answer is returned immediately, others come
    /// later.
    pub(super) fn ask(&mut self, id: u64, name: String, port: u16) -> Option<Vec<SocketAddr>> {
        let asked = (name, port);
        if let Some((_, addresses)) = self.kept.get(&asked).filter(|(at, _)| at.elapsed() < FRESH) {
            return Some(addresses.clone());
        }
        self.waiting.push_back((id, asked.0, port));
        self.begin();
        None
    }

    /// An address that does not answer may be outdated.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
    }

    fn begin(&mut self) {
        while self.running < MOST_AT_ONCE
            && let Some((id, name, port)) = self.waiting.pop_front()
        {
            let sender = self.sender.clone();
            let wake = Arc::clone(&self.wake);
            let work = move || {
                let found = (name.as_str(), port).to_socket_addrs();
                let addresses = found.map(Iterator::collect).unwrap_or_default();
                let _ = sender.send(Answer { id, asked: (name, port), addresses });
                let _ = rustix::io::write(&*wake, &1u64.to_ne_bytes());
            };
            self.running += 1;
            // If no thread can be started, nothing was found.
            if std::thread::Builder::new().stack_size(STACK).spawn(work).is_err() {
                let none = Answer { id, asked: (String::new(), 0), addresses: Vec::new() };
                let _ = self.sender.send(none);
                let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
            }
        }
    }

    /// All answers so far.
    pub(super) fn take(&mut self) -> Vec<Answer> {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.wake, &mut count[..]);
        let answers: Vec<Answer> = self.answers.try_iter().collect();
        self.running = self.running.saturating_sub(answers.len());
        let found = answers.iter().filter(|answer| !answer.addresses.is_empty());
        for Answer { asked, addresses, .. } in found {
            if self.kept.len() >= MOST_KEPT {
                self.kept.clear();
            }
            self.kept.insert(asked.clone(), (Instant::now(), addresses.clone()));
        }
        self.begin();
        answers
    }
}
