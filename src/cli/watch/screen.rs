//! The screen as a whole: takes over the terminal, draws, and restores it.
//!
//! Writes to the terminal. Invariant: the terminal is restored however this ends: by a key, a signal, an
//! error or a panic in any thread.

use super::draw::draw;
use super::keys::press;
use super::model::{Model, News, Wish};
use super::work::work;
use crate::cli::Io;
use aops_core::system::env::Env;
use aops_core::system::signal;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How often we check for a signal.
const GLANCE: Duration = Duration::from_millis(200);

/// Switches to the alternate screen without a cursor; `LEAVE` switches back.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

enum Message {
    Terminal(Event),
    News(News),
    /// The terminal is gone.
    Over,
}

/// We have taken over the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);

struct Taken;

impl Taken {
    fn take() -> std::io::Result<Self> {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            usual(panic);
        }));
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        say(ENTER);
        Ok(Self)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Bypasses every lock and buffer, since another thread may hold them.
fn say(bytes: &[u8]) {
    let _ = rustix::io::write(rustix::stdio::stdout(), bytes);
}

fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        say(LEAVE);
        let _ = disable_raw_mode();
    }
}

/// Shows the cockpit until a person leaves it.
pub(super) fn run(io: &mut Io) -> anyhow::Result<u8> {
    signal::note_interrupts();
    let (wishes, messages) = start(io.env);
    let _taken = Taken::take()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(&mut *io.out))?;
    let size = terminal.size()?;
    let mut model = Model { color: io.color, size: (size.height, size.width), ..Model::default() };
    while !model.done {
        terminal.draw(|frame| draw(&model, frame))?;
        wait(&mut model, &messages, &wishes);
    }
    Ok(0)
}

/// Starts the threads that read sessions and keys. They end with the program.
fn start(env: &Env) -> (Sender<Wish>, Receiver<Message>) {
    let (send, messages) = mpsc::channel();
    let (wishes, asked) = mpsc::channel();
    let env = env.clone();
    let keys = send.clone();
    thread::spawn(move || work(&env, &asked, &mut |news| drop(send.send(Message::News(news)))));
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            if keys.send(Message::Terminal(event)).is_err() {
                return;
            }
        }
        let _ = keys.send(Message::Over);
    });
    (wishes, messages)
}

/// Waits until there is something new to draw. Everything that arrived meanwhile is drawn at once.
fn wait(model: &mut Model, messages: &Receiver<Message>, wishes: &Sender<Wish>) {
    let first = loop {
        match messages.recv_timeout(GLANCE) {
            _ if signal::interrupted() => break None,
            Ok(message) => break Some(message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
        }
    };
    let Some(first) = first else {
        model.done = true;
        return;
    };
    for message in std::iter::once(first).chain(messages.try_iter()) {
        take(model, message, wishes);
    }
}

fn take(model: &mut Model, message: Message, wishes: &Sender<Wish>) {
    match message {
        Message::News(news) => model.learn(news),
        Message::Terminal(Event::Key(key)) if key.is_press() => {
            #[cfg(test_switches)]
            aops_core::system::env::panic_if_wanted();
            for wish in press(model, key) {
                let _ = wishes.send(wish);
            }
        }
        Message::Terminal(Event::Resize(width, height)) => model.size = (height, width),
        Message::Terminal(_) => {}
        Message::Over => model.done = true,
    }
}
