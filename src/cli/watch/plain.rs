//! The cockpit for a screen reader, a printer or a terminal without a screen: a list, then a line for each
//! change.
//!
//! Text and requests are pure; `run` reads lines and prints. Invariants: nothing is drawn over; every line
//! can be understood by itself; a change needs a `yes` first.

mod speak;

use super::model::{News, Wish};
use super::work::work;
use crate::cli::Io;
use aops_core::system::signal;
use speak::Speaker;
use std::io::BufRead;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

const GLANCE: Duration = Duration::from_millis(200);

enum Message {
    Line(String),
    News(News),
    Over,
}

/// Prints the state until a person leaves or, with `--json`, until the reader is gone.
pub(super) fn run(io: &mut Io) -> anyhow::Result<u8> {
    signal::note_interrupts();
    let (send, messages) = mpsc::channel();
    let (wishes, asked) = mpsc::channel::<Wish>();
    let env = io.env.clone();
    let lines = send.clone();
    thread::spawn(move || work(&env, &asked, &mut |news| drop(send.send(Message::News(news)))));
    if !io.json {
        thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                let _ = lines.send(Message::Line(line));
            }
            let _ = lines.send(Message::Over);
        });
    }
    let mut speaker = Speaker::new(io.json);
    while !speaker.done && !signal::interrupted() {
        let (said, wanted) = match messages.recv_timeout(GLANCE) {
            Ok(Message::News(news)) => (speaker.hear(news), None),
            Ok(Message::Line(line)) => speaker.obey(&line),
            Err(RecvTimeoutError::Timeout) => continue,
            Ok(Message::Over) | Err(RecvTimeoutError::Disconnected) => break,
        };
        said.iter().try_for_each(|line| writeln!(io.out, "{line}"))?;
        io.out.flush()?;
        if let Some(wish) = wanted {
            let _ = wishes.send(wish);
        }
    }
    Ok(0)
}
