//! What the cockpit knows and shows: the sessions, the view, the dialog; and how news changes it.
//!
//! Pure. Invariants: the chosen session stays chosen while rows come, go and move; a timeline that is at its
//! end follows new lines; nothing is carried out without a dialog.

use super::order::Order;
use super::row::{Life, Row};
use crate::cli::log::Wanted;
use crate::cli::log::told::Told;
use crate::cli::table::Tone;
use std::path::{Path, PathBuf};

/// A request to the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Follow the timeline of the session in this folder from now on; `None` stops.
    Follow(Option<(PathBuf, String)>),
    Checkpoints(PathBuf),
    /// Follow the hosts of the session in this folder from now on; `None` stops.
    Hosts(Option<PathBuf>),
    /// Show the output of this command.
    Show(Order),
    /// Ask for confirmation, with the command's own preview.
    Preview(Order),
    CarryOut(Order),
}

/// What the reader found.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// New or changed ones.
    Rows(Vec<Row>),
    Gone(Vec<String>),
    /// All sessions were read once.
    Ready,
    /// More of a timeline, and its open calls; `fresh`: from its beginning.
    Lines {
        path: PathBuf,
        lines: Vec<Told>,
        open: Vec<Told>,
        fresh: bool,
    },
    Checkpoints(Result<Vec<Checkpoint>, String>),
    Hosts(Vec<Host>),
    Text {
        title: String,
        text: String,
    },
    Sure {
        order: Order,
        text: String,
    },
    Done {
        order: Order,
        said: Result<String, String>,
    },
}

impl News {
    /// Whether there is no reason to redraw.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            News::Rows(rows) => rows.is_empty(),
            News::Gone(keys) => keys.is_empty(),
            _ => false,
        }
    }
}

/// A row of `checkpoint list`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) age: String,
    pub(super) why: String,
    pub(super) changed: String,
}

/// A host that a session's commands reached or were refused, or a server they run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Host {
    /// As a rule names it: `host`, `host:port`.
    pub(super) rule: String,
    /// Who allowed it.
    pub(super) by: String,
    /// How often, how many bytes, and why not.
    pub(super) what: String,
    /// It was refused, and a person can still allow it.
    pub(super) wanted: bool,
}

impl Host {
    pub(super) fn of(rule: String) -> Self {
        Self { rule, ..Self::default() }
    }

    /// Whether a rule can name it: it is not a server of this machine.
    pub(super) fn is_remote(&self) -> bool {
        !self.rule.starts_with("localhost:")
    }
}

#[derive(Default)]
pub(super) enum View {
    #[default]
    Sessions,
    Timeline,
    Checkpoints,
    Hosts,
}

#[derive(Default)]
pub(super) struct Timeline {
    pub(super) path: PathBuf,
    lines: Vec<Told>,
    open: Vec<Told>,
    pub(super) wanted: Wanted,
    pub(super) words: String,
    /// The positions of the selected entries: in `lines`, then in `open`.
    pub(super) shown: Vec<usize>,
    pub(super) at: usize,
    pub(super) read: bool,
}

/// More lines than anybody scrolls through; the oldest are dropped.
const MOST_LINES: usize = 20_000;

impl Timeline {
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_path_buf(), ..Self::default() }
    }

    pub(super) fn line(&self, place: usize) -> Option<&Told> {
        self.lines.get(place).or_else(|| self.open.get(place - self.lines.len()))
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len() + self.open.len()
    }

    pub(super) fn chosen(&self) -> Option<&Told> {
        self.line(*self.shown.get(self.at)?)
    }

    fn add(&mut self, lines: Vec<Told>, open: Vec<Told>, fresh: bool) {
        let follows = self.at + 1 >= self.shown.len();
        if fresh {
            self.lines.clear();
        }
        self.lines.extend(lines);
        let over = self.lines.len().saturating_sub(MOST_LINES);
        self.lines.drain(..over);
        self.open = open;
        self.read = true;
        self.choose();
        if follows || fresh {
            self.at = self.shown.len().saturating_sub(1);
        }
    }

    pub(super) fn wants(&self, one: &Told) -> bool {
        let words = self.words.to_lowercase();
        let reason = one.reason.as_deref().unwrap_or_default();
        let says = |text: &&str| text.to_lowercase().contains(&words);
        self.wanted.has(one) && (words.is_empty() || [&one.text, &one.word, reason].iter().any(says))
    }

    /// Selects again the lines that pass the filters.
    pub(super) fn choose(&mut self) {
        let all = self.lines.iter().chain(&self.open).enumerate();
        self.shown = all.filter(|(_, one)| self.wants(one)).map(|(place, _)| place).collect();
        self.at = self.at.min(self.shown.len().saturating_sub(1));
    }

    /// The filters as text; empty if there are none.
    pub(super) fn filters(&self) -> String {
        let mut all = Vec::new();
        all.extend(self.wanted.refused.then(|| "refused".to_owned()));
        all.extend(self.wanted.tool.as_ref().map(|tool| format!("tool {tool}")));
        all.extend(Some(format!("text `{}`", self.words)).filter(|_| !self.words.is_empty()));
        all.join(", ")
    }
}

#[derive(Default)]
pub(super) struct Checkpoints {
    pub(super) folder: PathBuf,
    pub(super) rows: Vec<Checkpoint>,
    pub(super) at: usize,
    pub(super) read: bool,
}

#[derive(Default)]
pub(super) struct Hosts {
    /// The project that a rule is written for.
    pub(super) project: PathBuf,
    pub(super) rows: Vec<Host>,
    pub(super) at: usize,
    pub(super) read: bool,
}

impl Hosts {
    /// Replaces the rows; the chosen one stays chosen.
    fn put(&mut self, rows: Vec<Host>) {
        let chosen = self.rows.get(self.at).map(|row| row.rule.clone());
        let known = rows.iter().position(|row| Some(&row.rule) == chosen.as_ref());
        self.at = known.unwrap_or_else(|| self.at.min(rows.len().saturating_sub(1)));
        self.rows = rows;
        self.read = true;
    }
}

/// What a typed line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Sessions,
    Words,
    Tool,
    Block,
    Waive,
    Approve,
    Reject,
}

pub(super) enum Dialog {
    /// Something to read.
    Text { title: String, lines: Vec<String>, top: usize },
    /// A line to type, for the session with this key.
    Type { entry: Entry, typed: String, key: String },
    /// `y` carries it out.
    Sure { order: Order, lines: Vec<String>, top: usize },
}

#[derive(Default)]
pub(super) struct Model {
    pub(super) color: bool,
    /// Lines and columns of the screen.
    pub(super) size: (u16, u16),
    pub(super) rows: Vec<Row>,
    pub(super) ready: bool,
    /// The key of the chosen session.
    pub(super) chosen: String,
    pub(super) words: String,
    pub(super) view: View,
    pub(super) timeline: Timeline,
    pub(super) checkpoints: Checkpoints,
    pub(super) hosts: Hosts,
    pub(super) dialog: Option<Dialog>,
    /// The latest message, on the line at the bottom.
    pub(super) said: Option<(String, Tone)>,
    pub(super) done: bool,
}

impl Model {
    pub(super) fn listed(&self) -> Vec<&Row> {
        let words = self.words.to_lowercase();
        self.rows.iter().filter(|row| words.is_empty() || row.has(&words)).collect()
    }

    pub(super) fn at(&self) -> usize {
        self.listed().iter().position(|row| row.key() == self.chosen).unwrap_or(0)
    }

    /// The session that keys act on.
    pub(super) fn session(&self) -> Option<&Row> {
        match self.view {
            View::Sessions => self.listed().get(self.at()).copied(),
            View::Timeline | View::Checkpoints | View::Hosts => self.find(&self.chosen),
        }
    }

    pub(super) fn find(&self, key: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.key() == key)
    }

    /// How many sessions there are, how many are live, and how many wait for a person.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let live = self.rows.iter().filter(|row| row.life == Life::Live).count();
        (self.rows.len(), live, self.rows.iter().filter(|row| row.wants_person()).count())
    }

    pub(super) fn learn(&mut self, news: News) {
        match news {
            News::Rows(rows) => self.put(rows),
            News::Gone(keys) => self.rows.retain(|row| !keys.contains(&row.key())),
            News::Ready => {
                self.ready = true;
                self.chosen = self.session().map(Row::key).unwrap_or_default();
            }
            News::Lines { path, lines, open, fresh } if path == self.timeline.path => {
                self.timeline.add(lines, open, fresh);
            }
            News::Lines { .. } => {}
            News::Checkpoints(Ok(rows)) => {
                self.checkpoints.at = 0;
                self.checkpoints.rows = rows;
                self.checkpoints.read = true;
            }
            News::Checkpoints(Err(why)) => {
                self.checkpoints.read = true;
                self.show("checkpoints", &why);
            }
            News::Hosts(rows) => self.hosts.put(rows),
            News::Text { title, text } => self.show(&title, &text),
            News::Sure { order, text } => {
                let lines = text.lines().map(str::to_owned).collect();
                self.dialog = Some(Dialog::Sure { order, lines, top: 0 });
            }
            News::Done { said: Ok(said), .. } => {
                self.said = Some((said.lines().next().unwrap_or("done").to_owned(), Tone::Good));
            }
            News::Done { order, said: Err(why) } => self.show(&format!("refused: {}", order.line()), &why),
        }
    }

    /// Sorts rows into the list; the chosen one stays chosen.
    fn put(&mut self, rows: Vec<Row>) {
        for row in rows {
            let key = row.key();
            match self.rows.iter_mut().find(|known| known.key() == key) {
                Some(known) => *known = row,
                None => self.rows.push(row),
            }
        }
        self.rows.sort_by(|one, other| one.order().cmp(&other.order()));
    }

    pub(super) fn show(&mut self, title: &str, text: &str) {
        self.said = None;
        let lines = text.lines().map(str::to_owned).collect();
        self.dialog = Some(Dialog::Text { title: title.to_owned(), lines, top: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, life: Life) -> Row {
        Row { id: id.to_owned(), path: id.into(), life, began: id.to_owned(), ..Row::default() }
    }

    #[test]
    fn the_chosen_session_stays_chosen() {
        let mut model = Model::default();
        model.learn(News::Rows(vec![row("1", Life::Ended), row("2", Life::Live)]));
        model.learn(News::Ready);
        assert_eq!((model.chosen.as_str(), model.counts()), ("2", (2, 1, 0)));
        let blocked = Row { blocked: Some("why".to_owned()), ..row("3", Life::Live) };
        model.learn(News::Rows(vec![blocked]));
        let order: Vec<&str> = model.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!((order, model.at()), (vec!["3", "2", "1"], 1));
        model.learn(News::Gone(vec!["2".to_owned()]));
        assert_eq!(model.session().unwrap().id, "3");
    }

    #[test]
    fn a_timeline_goes_on_at_its_end_and_keeps_its_place_elsewhere() {
        let told = |text: &str, refused| Told { text: text.to_owned(), refused, ..Told::default() };
        let mut model = Model::default();
        let add = |model: &mut Model, lines, fresh| {
            model.learn(News::Lines { path: PathBuf::new(), lines, open: Vec::new(), fresh });
        };
        add(&mut model, vec![told("a", true), told("b", false)], true);
        add(&mut model, vec![told("c", false)], false);
        assert_eq!(model.timeline.chosen().unwrap().text, "c");
        model.timeline.at = 0;
        add(&mut model, vec![told("d", true)], false);
        assert_eq!(model.timeline.chosen().unwrap().text, "a");
        model.timeline.wanted.refused = true;
        model.timeline.choose();
        assert_eq!(
            (model.timeline.shown.as_slice(), model.timeline.filters()),
            (&[0, 3][..], "refused".to_owned())
        );
        model.timeline.words = "D".to_owned();
        model.timeline.choose();
        assert_eq!(model.timeline.chosen().unwrap().text, "d");
    }
}
