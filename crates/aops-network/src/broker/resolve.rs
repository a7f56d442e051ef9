//! Asks the machine's resolver, which may take its time: each name in a thread of its own.
//!
//! Invariant: the loop never waits for it.

use crate::name::Name;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Threads at a time.
const MOST_AT_ONCE: usize = 16;
const STACK: usize = 1 << 18;

pub(super) struct Answer {
    /// The connection that waits for it.
    pub(super) id: u64,
    pub(super) addresses: Vec<SocketAddr>,
}

pub(super) struct Resolver {
    /// Readable where an answer is there.
    pub(super) wake: Arc<OwnedFd>,
    waiting: VecDeque<(u64, Name, u16)>,
    running: usize,
    sender: Sender<Answer>,
    answers: Receiver<Answer>,
}

impl Resolver {
    pub(super) fn new() -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (sender, answers) = channel();
        Ok(Self { wake, waiting: VecDeque::new(), running: 0, sender, answers })
    }

    pub(super) fn ask(&mut self, id: u64, name: Name, port: u16) {
        self.waiting.push_back((id, name, port));
        self.begin();
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
                let _ = sender.send(Answer { id, addresses });
                let _ = rustix::io::write(&*wake, &1u64.to_ne_bytes());
            };
            self.running += 1;
            // Where no thread can be had, nothing was found.
            if std::thread::Builder::new().stack_size(STACK).spawn(work).is_err() {
                let _ = self.sender.send(Answer { id, addresses: Vec::new() });
                let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
            }
        }
    }

    /// All that is there by now.
    pub(super) fn take(&mut self) -> Vec<Answer> {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.wake, &mut count[..]);
        let answers: Vec<Answer> = self.answers.try_iter().collect();
        self.running = self.running.saturating_sub(answers.len());
        self.begin();
        answers
    }
}
