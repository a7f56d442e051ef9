//! The second thread: it checks the sessions once a second, and carries out what keys ask for in between.
//!
//! Reads ledgers, carries out orders. Invariant: the screen never waits for it; it ends when its receiver is
//! gone.

use super::hosts;
use super::model::{Checkpoint, Host, News, Wish};
use super::order::Order;
use super::read::Reader;
use super::tail::Tail;
use aops_core::system::env::Env;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

pub(super) const EVERY: Duration = Duration::from_secs(1);

/// The details of one session, read again each time.
#[derive(Default)]
struct Followed {
    tail: Option<Tail>,
    /// The folder of its hosts, and the hosts last seen.
    hosts: Option<(PathBuf, Vec<Host>)>,
}

impl Followed {
    fn read(&mut self, tell: &mut dyn FnMut(News)) {
        if let Some(tail) = &mut self.tail {
            tail.read(tell);
        }
        if let Some((session, known)) = &mut self.hosts {
            let now = hosts::read(session);
            if now != *known {
                known.clone_from(&now);
                tell(News::Hosts(now));
            }
        }
    }

    fn follow_hosts(&mut self, session: Option<PathBuf>, tell: &mut dyn FnMut(News)) {
        self.hosts = session.map(|session| {
            let rows = hosts::read(&session);
            (session, rows)
        });
        if let Some((_, rows)) = &self.hosts {
            tell(News::Hosts(rows.clone()));
        }
    }
}

/// Works until the channel of requests is closed.
pub(super) fn work(env: &Env, wishes: &Receiver<Wish>, tell: &mut dyn FnMut(News)) {
    let mut reader = Reader::new(env);
    let mut followed = Followed::default();
    let tell: &mut dyn FnMut(News) = &mut |news: News| {
        if !news.is_empty() {
            tell(news);
        }
    };
    loop {
        let began = Instant::now();
        reader.refresh(tell);
        followed.read(tell);
        loop {
            match wishes.recv_timeout(EVERY.saturating_sub(began.elapsed())) {
                Ok(wish) => {
                    let changes = matches!(wish, Wish::CarryOut(_));
                    grant(env, wish, &mut followed, tell);
                    if changes {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

fn grant(env: &Env, wish: Wish, followed: &mut Followed, tell: &mut dyn FnMut(News)) {
    match wish {
        Wish::Follow(which) => {
            if which.is_none() {
                followed.hosts = None;
            }
            followed.tail = which.map(|(path, root)| Tail::new(path, root));
            if let Some(tail) = &mut followed.tail {
                tail.read(tell);
            }
        }
        Wish::Hosts(session) => followed.follow_hosts(session, tell),
        Wish::Checkpoints(folder) => tell(News::Checkpoints(checkpoints(env, folder))),
        Wish::Show(order) => {
            let (Ok(text) | Err(text)) = order.carry_out(env, false);
            tell(News::Text { title: order.line(), text });
        }
        Wish::Preview(order) => match order.tried().carry_out(env, false) {
            Ok(text) => tell(News::Sure { order, text }),
            Err(why) => tell(News::Done { order, said: Err(why) }),
        },
        Wish::CarryOut(order) => {
            let said = order.carry_out(env, true);
            tell(News::Done { order, said });
        }
    }
}

/// The rows that `checkpoint list` prints.
fn checkpoints(env: &Env, folder: PathBuf) -> Result<Vec<Checkpoint>, String> {
    let said = Order::new(folder, &["checkpoint", "list"]).carry_out(env, false)?;
    let row = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        let _number = cells.next()?;
        let mut next = || cells.next();
        let id = next()?;
        let name = next()?;
        let age = next()?;
        let why = next()?;
        let _prompt = next()?;
        Some(Checkpoint { id, name, age, why, changed: next()? })
    };
    Ok(said.lines().filter_map(row).collect())
}
