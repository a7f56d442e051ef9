//! What a key does: the state before, a key, the state after, and requests to the reader.
//!
//! Pure. Invariants: a key that changes something in a session opens a dialog first, and only `y` in it
//! carries it out; a block's reason is shown in full before it is cleared; `q` and Ctrl-C leave from
//! everywhere except a line that is being typed.

use super::model::{Checkpoints, Dialog, Entry, Hosts, Model, Timeline, View, Wish};
use super::order::Order;
use super::row::Row;
use crate::cli::log::Wanted;
use crate::cli::table::Tone;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::path::Path;

/// Every key with what it does, as `?` shows them.
pub(super) const HELP: &str = "\
in every list
  up, down, k, j      one line up or down
  page up, page down  one screen
  home, end           to the beginning, to the end
  /                   only what has these words; an empty line: all
  esc                 back: the dialog, the filters, the view
  ?                   these keys
  q, ctrl-c           leave

sessions
  enter               the timeline of the session
  c                   the checkpoints of its project
  b                   block it
  u                   clear its block, after its reason was shown
  v                   waive a gate for a while
  a, x                approve or reject what its run waits for
  w                   why the last refusal (`aops-hook why`)
  n                   the hosts that its commands reached and were refused

timeline (and all the keys of sessions but enter)
  enter               the whole line
  r                   only refusals, or all
  t                   only one tool; an empty line: all

checkpoints
  enter, d            what changed since then
  R                   roll the project back to it, after what that does was shown

hosts
  a                   allow it in this project, also in sessions that run
  d                   never allow it in this project, and end its connections

What a key would do is shown as the command that does it. `y` does it.";

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Wish> {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    if ctrl && matches!(key.code, KeyCode::Char('c' | 'd')) {
        model.done = true;
        return Vec::new();
    }
    model.said = None;
    match model.dialog.take() {
        Some(Dialog::Text { title, lines, top }) => read(model, title, lines, top, key.code),
        Some(Dialog::Type { entry, typed, key: about }) => write(model, entry, typed, about, key.code),
        Some(Dialog::Sure { order, lines, top }) => answer(model, order, lines, top, key.code),
        None => look(model, key.code),
    }
}

/// How many lines a page of a list or of a dialog has.
fn page(model: &Model) -> usize {
    usize::from(model.size.0).saturating_sub(10).max(1)
}

/// The position in a list after a key that moves.
fn moved(at: usize, long: usize, page: usize, key: KeyCode) -> Option<usize> {
    let last = long.saturating_sub(1);
    let to = match key {
        KeyCode::Up | KeyCode::Char('k') => at.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => at + 1,
        KeyCode::PageUp => at.saturating_sub(page),
        KeyCode::PageDown => at + page,
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => last,
        _ => return None,
    };
    Some(to.min(last))
}

fn read(model: &mut Model, title: String, lines: Vec<String>, top: usize, key: KeyCode) -> Vec<Wish> {
    match moved(top, lines.len(), page(model), key) {
        Some(top) => model.dialog = Some(Dialog::Text { title, lines, top }),
        None => model.done = key == KeyCode::Char('q'),
    }
    Vec::new()
}

fn answer(model: &mut Model, order: Order, lines: Vec<String>, top: usize, key: KeyCode) -> Vec<Wish> {
    match moved(top, lines.len(), page(model), key) {
        Some(top) => model.dialog = Some(Dialog::Sure { order, lines, top }),
        None if matches!(key, KeyCode::Char('y' | 'Y')) => {
            model.said = Some(("at work …".to_owned(), Tone::Quiet));
            return vec![Wish::CarryOut(order)];
        }
        None => model.said = Some(("nothing was done".to_owned(), Tone::Plain)),
    }
    Vec::new()
}

fn write(model: &mut Model, entry: Entry, mut typed: String, about: String, key: KeyCode) -> Vec<Wish> {
    match key {
        KeyCode::Esc => return Vec::new(),
        KeyCode::Enter => return entered(model, entry, typed.trim(), &about),
        KeyCode::Backspace => drop(typed.pop()),
        KeyCode::Char(c) => typed.push(c),
        _ => {}
    }
    model.dialog = Some(Dialog::Type { entry, typed, key: about });
    Vec::new()
}

fn entered(model: &mut Model, entry: Entry, typed: &str, about: &str) -> Vec<Wish> {
    match entry {
        Entry::Sessions => typed.clone_into(&mut model.words),
        Entry::Words => typed.clone_into(&mut model.timeline.words),
        Entry::Tool => {
            model.timeline.wanted.tool = Some(typed.to_lowercase()).filter(|tool| !tool.is_empty());
        }
        _ => order(model, entry, typed, about),
    }
    model.timeline.choose();
    Vec::new()
}

/// Asks whether this may be done; if something is missing, says what.
fn order(model: &mut Model, entry: Entry, typed: &str, about: &str) {
    let Some(row) = model.find(about) else {
        model.said = Some(("this session no longer exists".to_owned(), Tone::Warn));
        return;
    };
    match make(row, entry, typed) {
        Ok(order) => {
            let words = row.question.as_ref().filter(|_| matches!(entry, Entry::Approve | Entry::Reject));
            let lines = words.map(|question| question.words.clone()).into_iter().collect();
            model.dialog = Some(Dialog::Sure { order, lines, top: 0 });
        }
        Err(why) => model.said = Some((why.to_owned(), Tone::Warn)),
    }
}

/// The command for the typed text.
pub(super) fn make(row: &Row, entry: Entry, typed: &str) -> Result<Order, &'static str> {
    let new = |words: &[&str]| Ok(Order::new(row.root.clone(), words));
    match entry {
        Entry::Block if typed.is_empty() => Err("a block needs a reason"),
        Entry::Block => new(&["block", &row.id, "--reason", typed]),
        Entry::Waive => {
            let mut words = typed.splitn(3, ' ').map(str::trim);
            let (Some(gate), Some(long), Some(reason)) = (words.next(), words.next(), words.next()) else {
                return Err("a waiver needs a gate, a time and a reason: `qa 10m a typo in a comment`");
            };
            new(&["waive", gate, "--for", long, "--reason", reason, "--session", &row.id])
        }
        _ => {
            let Some(question) = &row.question else { return Err(NO_QUESTION) };
            let decision = if entry == Entry::Approve { "--approve" } else { "--reject" };
            let mut words = vec!["resolve", question.checkpoint_id.as_str(), decision];
            words.extend(["--note", typed].iter().filter(|_| !typed.is_empty()));
            new(&words)
        }
    }
}

pub(super) const NO_QUESTION: &str = "no run of this session waits for a decision";
pub(super) const NO_NETWORK: &str =
    "`[network] mode` is `off` in this session, so no host is judged or counted";
pub(super) const NOT_BLOCKED: &str = "this session is not blocked";

/// `clear-block`, and the reason that must be read before.
pub(super) fn clear(row: &Row) -> Result<(Order, String), &'static str> {
    let Some(reason) = &row.blocked else { return Err(NOT_BLOCKED) };
    Ok((Order::new(row.root.clone(), &["clear-block", &row.id]), format!("it is blocked: {reason}")))
}

fn look(model: &mut Model, key: KeyCode) -> Vec<Wish> {
    match key {
        KeyCode::Char('q') => model.done = true,
        KeyCode::Char('?') => model.show("keys", HELP),
        KeyCode::Esc => return back(model),
        _ => {
            return match model.view {
                View::Sessions => in_sessions(model, key),
                View::Timeline => in_timeline(model, key),
                View::Checkpoints => in_checkpoints(model, key),
                View::Hosts => in_hosts(model, key),
            };
        }
    }
    Vec::new()
}

/// Goes back: first out of the filters, then out of the view.
fn back(model: &mut Model) -> Vec<Wish> {
    match model.view {
        View::Sessions => model.words.clear(),
        View::Timeline if !model.timeline.filters().is_empty() => {
            model.timeline.wanted = Wanted::default();
            model.timeline.words.clear();
            model.timeline.choose();
        }
        View::Timeline => {
            model.view = View::Sessions;
            return vec![Wish::Follow(None)];
        }
        View::Hosts => {
            model.view = view_before(model);
            return vec![Wish::Hosts(None)];
        }
        View::Checkpoints => model.view = view_before(model),
    }
    Vec::new()
}

/// The timeline or list that was left for this view.
fn view_before(model: &Model) -> View {
    if model.timeline.path.as_os_str().is_empty() { View::Sessions } else { View::Timeline }
}

fn in_sessions(model: &mut Model, key: KeyCode) -> Vec<Wish> {
    let listed = model.listed();
    if let Some(at) = moved(model.at(), listed.len(), page(model), key) {
        model.chosen = listed.get(at).map(|row| row.key()).unwrap_or_default();
        return Vec::new();
    }
    match (key, model.session().cloned()) {
        (KeyCode::Char('/'), _) => typing(model, Entry::Sessions),
        (KeyCode::Enter, Some(row)) if row.path.as_os_str().is_empty() => {
            model.show("lost", &row.damage.unwrap_or_default());
        }
        (KeyCode::Enter, Some(row)) => {
            model.chosen = row.key();
            model.timeline = Timeline::of(&row.path);
            model.view = View::Timeline;
            return vec![Wish::Follow(Some((row.path, row.root.to_string_lossy().into_owned())))];
        }
        (key, Some(row)) => return about(model, &row, key),
        (_, None) => {}
    }
    Vec::new()
}

fn typing(model: &mut Model, entry: Entry) {
    let key = model.session().map(Row::key).unwrap_or_default();
    model.dialog = Some(Dialog::Type { entry, typed: String::new(), key });
}

/// Handles the keys that concern one session.
fn about(model: &mut Model, row: &Row, key: KeyCode) -> Vec<Wish> {
    let asks = row.question.is_some();
    match key {
        KeyCode::Char('b') => typing(model, Entry::Block),
        KeyCode::Char('v') => typing(model, Entry::Waive),
        KeyCode::Char('a') if asks => typing(model, Entry::Approve),
        KeyCode::Char('x') if asks => typing(model, Entry::Reject),
        KeyCode::Char('a' | 'x') => model.said = Some((NO_QUESTION.to_owned(), Tone::Warn)),
        KeyCode::Char('u') => match clear(row) {
            Ok((order, reason)) => model.dialog = Some(Dialog::Sure { order, lines: vec![reason], top: 0 }),
            Err(why) => model.said = Some((why.to_owned(), Tone::Warn)),
        },
        KeyCode::Char('w') => {
            return vec![Wish::Show(Order::new(row.root.clone(), &["why", "--session", &row.id]))];
        }
        KeyCode::Char('c') => {
            model.checkpoints = Checkpoints { folder: row.root.clone(), ..Checkpoints::default() };
            model.chosen = row.key();
            model.view = View::Checkpoints;
            return vec![Wish::Checkpoints(row.root.clone())];
        }
        KeyCode::Char('n') if row.network.is_none() => model.said = Some((NO_NETWORK.to_owned(), Tone::Warn)),
        KeyCode::Char('n') => {
            model.hosts = Hosts { project: row.root.clone(), ..Hosts::default() };
            model.chosen = row.key();
            model.view = View::Hosts;
            return vec![Wish::Hosts(Some(row.path.clone()))];
        }
        _ => {}
    }
    Vec::new()
}

fn in_timeline(model: &mut Model, key: KeyCode) -> Vec<Wish> {
    let page = page(model);
    let timeline = &mut model.timeline;
    if let Some(at) = moved(timeline.at, timeline.shown.len(), page, key) {
        timeline.at = at;
        return Vec::new();
    }
    match key {
        KeyCode::Char('r') => {
            timeline.wanted.refused ^= true;
            timeline.choose();
        }
        KeyCode::Char('t') => typing(model, Entry::Tool),
        KeyCode::Char('/') => typing(model, Entry::Words),
        KeyCode::Enter => {
            let Some(one) = timeline.chosen() else { return Vec::new() };
            let title = format!("entry {}", one.seq);
            let reason = one.reason.clone().unwrap_or_default();
            let text = format!("{}\n{}\n\n{reason}", one.word, one.text);
            model.show(&title, text.trim_end());
        }
        key => {
            if let Some(row) = model.session().cloned() {
                return about(model, &row, key);
            }
        }
    }
    Vec::new()
}

fn in_checkpoints(model: &mut Model, key: KeyCode) -> Vec<Wish> {
    let page = page(model);
    let held = &mut model.checkpoints;
    if let Some(at) = moved(held.at, held.rows.len(), page, key) {
        held.at = at;
        return Vec::new();
    }
    let Some(id) = held.rows.get(held.at).map(|row| row.id.as_str()) else { return Vec::new() };
    let order = |verb: &str| Order::new(held.folder.clone(), &["checkpoint", verb, id]);
    match key {
        KeyCode::Enter | KeyCode::Char('d') => vec![Wish::Show(order("diff"))],
        KeyCode::Char('R') => vec![Wish::Preview(order("rollback"))],
        _ => Vec::new(),
    }
}

/// The command that saves a person's answer about the chosen host, in the session's project.
pub(super) fn answer_host(project: &Path, verb: &str, rule: &str) -> (Order, String) {
    let words = match verb {
        "allow" => format!("commands in this project reach `{rule}` from now on"),
        _ => format!("commands in this project never reach `{rule}`, and open connections are closed"),
    };
    (Order::new(project.to_owned(), &["network", verb, rule]), words)
}

fn in_hosts(model: &mut Model, key: KeyCode) -> Vec<Wish> {
    let page = page(model);
    let hosts = &mut model.hosts;
    if let Some(at) = moved(hosts.at, hosts.rows.len(), page, key) {
        hosts.at = at;
        return Vec::new();
    }
    let verb = match key {
        KeyCode::Char('a') => "allow",
        KeyCode::Char('d') => "deny",
        _ => return Vec::new(),
    };
    if let Some(host) = hosts.rows.get(hosts.at).filter(|host| host.is_remote()) {
        let (order, words) = answer_host(&hosts.project, verb, &host.rule);
        model.dialog = Some(Dialog::Sure { order, lines: vec![words], top: 0 });
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
