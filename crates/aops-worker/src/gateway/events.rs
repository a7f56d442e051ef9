//! Tells a page that something changed, by server-sent events.
//!
//! Holds a stream open. Invariants: a token that is removed ends its stream; nothing but a count and a digest
//! is sent; so many streams at a time, and no more.

use super::door::{Caller, Door};
use super::looks::count_questions;
use super::reply::{Reply, begin_events, problem};
use crate::request::Request;
use aops_core::text::sha256::sha256;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// A proxy closes a stream that says nothing for long.
const SAY_ALIVE: u32 = 15;
const MOST_STREAMS: usize = 100;
static STREAMS: AtomicUsize = AtomicUsize::new(0);

struct Open;

impl Open {
    fn one() -> Option<Self> {
        let before = STREAMS.fetch_add(1, Ordering::SeqCst);
        let one = Self;
        (before < MOST_STREAMS).then_some(one)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        STREAMS.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Door {
    pub(super) fn events(&self, mut stream: &TcpStream, request: &Request, peer: IpAddr) -> io::Result<()> {
        let Some(_open) = Open::one() else {
            return Reply::from(problem(503, "too many pages are open")).write(stream);
        };
        if let Err(said) = self.caller(request, peer) {
            return Reply::from(said).write(stream);
        }
        begin_events(stream)?;
        let mut told = Value::Null;
        let mut quiet = 0;
        loop {
            let Ok(caller) = self.caller(request, peer) else {
                return write!(stream, "event: over\ndata: {{}}\n\n");
            };
            let news = self.news(&caller);
            quiet += 1;
            if news != told {
                write!(stream, "data: {news}\n\n")?;
                told = news;
                quiet = 0;
            } else if quiet >= SAY_ALIVE {
                write!(stream, ":\n\n")?;
                quiet = 0;
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    fn news(&self, caller: &Caller) -> Value {
        let Some(runs) = self.runs_of(&caller.person) else { return json!({"up": false}) };
        let asks = count_questions(&runs);
        json!({"up": true, "asks": asks, "state": sha256(&[json!(runs).to_string().as_bytes()])})
    }
}
