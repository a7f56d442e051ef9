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

/// Names that are looked up at a time: one whose server is silent must not hold up the others.
const MOST_AT_ONCE: usize = 128;
const STACK: usize = 1 << 17;
/// How long an answer is used, and how many are cached.
const FRESH: Duration = Duration::from_secs(5);
const MOST_KEPT: usize = 256;

/// Asks the machine's resolver.
type LookUp = fn(&str, u16) -> Vec<SocketAddr>;

pub(super) struct Answer {
    /// The connection that waits for the answer.
    pub(super) id: u64,
    pub(super) addresses: Vec<SocketAddr>,
}

pub(super) struct Resolver {
    /// Readable when there is an answer.
    pub(super) wake: Arc<OwnedFd>,
    look_up: LookUp,
    waiting: VecDeque<Asked>,
    /// What is being looked up, with the connections that wait for it.
    running: HashMap<Asked, Vec<u64>>,
    sender: Sender<(Asked, Vec<SocketAddr>)>,
    answers: Receiver<(Asked, Vec<SocketAddr>)>,
    kept: HashMap<Asked, (Instant, Vec<SocketAddr>)>,
    /// Connections that wait for a name whose turn has not come.
    ids: HashMap<Asked, Vec<u64>>,
}

/// A name and a port.
type Asked = (String, u16);

fn of_machine(name: &str, port: u16) -> Vec<SocketAddr> {
    (name, port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
}

impl Resolver {
    pub(super) fn new() -> io::Result<Self> {
        Self::with(of_machine)
    }

    fn with(look_up: LookUp) -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (sender, answers) = channel();
        Ok(Self {
            wake,
            look_up,
            waiting: VecDeque::new(),
            running: HashMap::new(),
            sender,
            answers,
            kept: HashMap::new(),
            ids: HashMap::new(),
        })
    }

    /// Resolves a name, or accepts an address as it is. A cached answer is returned immediately, others come
    /// later. Each name is looked up once, however many connections wait for it.
    pub(super) fn ask(&mut self, id: u64, name: String, port: u16) -> Option<Vec<SocketAddr>> {
        let asked = (name, port);
        if let Some((_, addresses)) = self.kept.get(&asked).filter(|(at, _)| at.elapsed() < FRESH) {
            return Some(addresses.clone());
        }
        if let Some(ids) = self.running.get_mut(&asked) {
            ids.push(id);
            return None;
        }
        let ids = self.ids.entry(asked.clone()).or_default();
        ids.push(id);
        if ids.len() == 1 {
            self.waiting.push_back(asked);
        }
        self.begin();
        None
    }

    /// An address that does not answer may be outdated.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
    }

    fn begin(&mut self) {
        while self.running.len() < MOST_AT_ONCE
            && let Some(asked) = self.waiting.pop_front()
        {
            self.running.insert(asked.clone(), self.ids.remove(&asked).unwrap_or_default());
            let sender = self.sender.clone();
            let wake = Arc::clone(&self.wake);
            let look_up = self.look_up;
            let question = asked.clone();
            let work = move || {
                let addresses = look_up(&question.0, question.1);
                let _ = sender.send((question, addresses));
                let _ = rustix::io::write(&*wake, &1u64.to_ne_bytes());
            };
            // If no thread can be started, nothing was found.
            if std::thread::Builder::new().stack_size(STACK).spawn(work).is_err() {
                let _ = self.sender.send((asked, Vec::new()));
                let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
            }
        }
    }

    /// All answers so far.
    pub(super) fn take(&mut self) -> Vec<Answer> {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.wake, &mut count[..]);
        let mut all = Vec::new();
        for (asked, addresses) in self.answers.try_iter() {
            let ids = self.running.remove(&asked).unwrap_or_default();
            all.extend(ids.into_iter().map(|id| Answer { id, addresses: addresses.clone() }));
            if self.kept.len() >= MOST_KEPT {
                self.kept.clear();
            }
            if !addresses.is_empty() {
                self.kept.insert(asked, (Instant::now(), addresses));
            }
        }
        self.begin();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Held as long as the name servers are silent.
    static SILENCE: Mutex<()> = Mutex::new(());
    static ASKED: AtomicUsize = AtomicUsize::new(0);

    fn look_up(name: &str, port: u16) -> Vec<SocketAddr> {
        ASKED.fetch_add(1, Ordering::SeqCst);
        if name.starts_with("silent") {
            drop(SILENCE.lock());
            return Vec::new();
        }
        vec![SocketAddr::from(([192, 0, 2, 1], port))]
    }

    #[test]
    fn names_whose_servers_are_silent_hold_up_no_other() {
        let mut resolver = Resolver::with(look_up).unwrap();
        let mut answers = Vec::new();
        let silence = SILENCE.lock().unwrap();
        for id in 0..60 {
            assert!(resolver.ask(id, format!("silent{}.test", id / 2), 443).is_none());
        }
        assert!(resolver.ask(60, "alive.test".to_owned(), 443).is_none());
        while answers.is_empty() {
            poll(&mut [PollFd::new(&*resolver.wake, PollFlags::IN)], None).unwrap();
            answers.extend(resolver.take());
        }
        assert_eq!(
            answers.iter().map(|answer| (answer.id, answer.addresses.len())).collect::<Vec<_>>(),
            [(60, 1)]
        );
        drop(silence);
        while answers.len() < 61 {
            poll(&mut [PollFd::new(&*resolver.wake, PollFlags::IN)], None).unwrap();
            answers.extend(resolver.take());
        }
        assert_eq!(ASKED.load(Ordering::SeqCst), 31, "each name once");
        assert!(resolver.ask(61, "alive.test".to_owned(), 443).is_some(), "it is known now");
    }
}
