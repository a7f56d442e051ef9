//! The text for news, and the effect of a typed line.
//!
//! Pure. Invariants: no escape sequence; a session is named by its number in the last list or by the
//! beginning of its id.

use crate::cli::log::told::Told;
use crate::cli::table::clean;
use crate::cli::watch::keys::{NO_NETWORK, answer_host, clear, make};
use crate::cli::watch::model::{Checkpoint, Entry, Host, Model, News, Timeline, Wish};
use crate::cli::watch::order::Order;
use crate::cli::watch::row::{Life, Row};
use aops_core::system::env::east_of_utc;
use aops_core::text::plain::count;
use aops_core::text::time;

/// How many lines of a timeline are printed when it is opened or filtered.
const SAID: usize = 20;

const HELP: &str = "\
list: the sessions that live or wait for you; `list all`: every one
open N: the timeline of session N, and its lines as they come; `close` ends that
refused, tool NAME, text WORDS: only such lines of the timeline; `all`: every line
why N: why its last refusal
block N REASON; clear N; waive N GATE TIME REASON
approve N NOTE, reject N NOTE: what its run waits for; the note may be left out
checkpoints N; diff N ID; rollback N ID
hosts N: what its commands reached, and what comes; `close` ends that
allow N HOST, deny N HOST: in the project of session N
yes, no: the answer when you are asked
help: these words; quit: leave
N is a number of the list or the beginning of an id";

pub(super) struct Speaker {
    model: Model,
    json: bool,
    /// Keys of the last list.
    numbered: Vec<String>,
    asked: Option<Order>,
    pub(super) done: bool,
}

type Said = (Vec<String>, Option<Wish>);

fn say(words: impl Into<String>) -> Said {
    (vec![words.into()], None)
}

impl Speaker {
    pub(super) fn new(json: bool) -> Self {
        Self { model: Model::default(), json, numbered: Vec::new(), asked: None, done: false }
    }

    pub(super) fn hear(&mut self, news: News) -> Vec<String> {
        match news {
            News::Rows(rows) => {
                let said = rows.iter().flat_map(|row| self.changes(row)).collect();
                self.model.learn(News::Rows(rows));
                said
            }
            News::Gone(keys) => {
                let gone = keys.iter().filter_map(|key| self.model.find(key)).filter(|_| !self.json);
                let said =
                    gone.map(|row| format!("{} {}: no longer exists", row.short(), row.project)).collect();
                self.model.learn(News::Gone(keys));
                said
            }
            News::Ready => {
                self.model.learn(News::Ready);
                if self.json { Vec::new() } else { self.list(false) }
            }
            News::Lines { ref lines, fresh, .. } => {
                let new: Vec<String> =
                    lines.iter().filter(|one| self.model.timeline.wants(one)).map(line).collect();
                self.model.learn(news);
                if fresh { self.timeline() } else { new }
            }
            News::Checkpoints(Ok(rows)) => {
                std::iter::once(count(rows.len(), "checkpoint")).chain(rows.iter().map(checkpoint)).collect()
            }
            News::Checkpoints(Err(text)) | News::Text { text, .. } | News::Done { said: Ok(text), .. } => {
                lines_of(&text)
            }
            News::Hosts(rows) => rows.iter().map(host).collect(),
            News::Sure { order, text } => lines_of(&text).into_iter().chain(self.ask(order).0).collect(),
            News::Done { said: Err(text), .. } => lines_of(&format!("refused: {text}")),
        }
    }

    fn changes(&self, row: &Row) -> Vec<String> {
        let old = self.model.find(&row.key());
        match old {
            Some(old) if old == row => Vec::new(),
            _ if self.json => vec![row.to_json().to_string()],
            _ if !self.model.ready => Vec::new(),
            Some(old) => row.news(old),
            None => vec![format!("new: {}", row.sentence())],
        }
    }

    fn list(&mut self, all: bool) -> Vec<String> {
        let shown: Vec<&Row> = self
            .model
            .rows
            .iter()
            .filter(|row| all || row.life == Life::Live || row.wants_person())
            .collect();
        let (total, live, waiting) = self.model.counts();
        let verb = if waiting == 1 { "waits" } else { "wait" };
        let head = format!("{}, {live} live, {waiting} {verb} for you", count(total, "session"));
        let rest = total - shown.len();
        let said = shown.iter().enumerate().map(|(n, row)| format!("{}. {}", n + 1, row.sentence()));
        let mut lines: Vec<String> = std::iter::once(head).chain(said).collect();
        lines.extend((rest > 0).then(|| format!("{rest} more: `list all`; `help` lists the commands")));
        self.numbered = shown.iter().map(|row| row.key()).collect();
        lines
    }

    /// The last lines of the timeline that pass the filters.
    fn timeline(&mut self) -> Vec<String> {
        let timeline = &mut self.model.timeline;
        timeline.choose();
        let shown = timeline.shown.len();
        let all = timeline.len();
        let filters = timeline.filters();
        let which = if filters.is_empty() { String::new() } else { format!(": {filters}") };
        let head = format!("{shown} of {}{which}", count(all, "line"));
        let last = timeline.shown.iter().skip(shown.saturating_sub(SAID));
        std::iter::once(head).chain(last.filter_map(|place| timeline.line(*place)).map(line)).collect()
    }

    pub(super) fn obey(&mut self, typed: &str) -> Said {
        let typed = typed.trim();
        let (verb, rest) = typed.split_once(' ').map_or((typed, ""), |(verb, rest)| (verb, rest.trim()));
        if let Some(order) = self.asked.take() {
            return match verb {
                "y" | "yes" => (Vec::new(), Some(Wish::CarryOut(order))),
                _ => say("nothing was done"),
            };
        }
        match verb {
            "" => (Vec::new(), None),
            "q" | "quit" => {
                self.done = true;
                (Vec::new(), None)
            }
            "?" | "help" => (HELP.lines().map(str::to_owned).collect(), None),
            "list" => (self.list(rest == "all"), None),
            "refused" | "tool" | "text" | "all" => (self.filter(verb, rest), None),
            "close" => {
                self.model.timeline = Timeline::default();
                (vec!["closed".to_owned()], Some(Wish::Follow(None)))
            }
            _ => self.about(verb, rest),
        }
    }

    fn filter(&mut self, verb: &str, rest: &str) -> Vec<String> {
        let timeline = &mut self.model.timeline;
        if timeline.path.as_os_str().is_empty() {
            return vec!["no timeline is open: `open 1` opens one".to_owned()];
        }
        match verb {
            "refused" => timeline.wanted.refused = true,
            "tool" => timeline.wanted.tool = Some(rest.to_lowercase()).filter(|tool| !tool.is_empty()),
            "text" => rest.clone_into(&mut timeline.words),
            _ => (timeline.wanted, timeline.words) = Default::default(),
        }
        self.timeline()
    }

    fn named(&self, name: &str) -> Option<&Row> {
        let by_number = name.parse::<usize>().ok().and_then(|n| self.numbered.get(n.checked_sub(1)?));
        by_number.and_then(|key| self.model.find(key)).or_else(|| {
            let mut found = self.model.rows.iter().filter(|row| name.len() > 3 && row.id.starts_with(name));
            found.next().filter(|_| found.next().is_none())
        })
    }

    /// Carries out a verb for one session.
    fn about(&mut self, verb: &str, rest: &str) -> Said {
        const VERBS: [&str; 13] = [
            "open", "why", "block", "clear", "waive", "approve", "reject", "checkpoints", "diff", "rollback",
            "hosts", "allow", "deny",
        ];
        if !VERBS.contains(&verb) {
            return say(format!("no command `{}`: `help` lists them", clean(verb)));
        }
        let (name, rest) = rest.split_once(' ').map_or((rest, ""), |(name, rest)| (name, rest.trim()));
        let Some(row) = self.named(name).cloned() else {
            return say(format!("no session `{}`: `list` numbers them", clean(name)));
        };
        let order = |words: &[&str]| Order::new(row.root.clone(), words);
        let wish = match verb {
            "open" => {
                self.model.timeline = Timeline::of(&row.path);
                Wish::Follow(Some((row.path, row.root.to_string_lossy().into_owned())))
            }
            "why" => Wish::Show(order(&["why", "--session", &row.id])),
            "checkpoints" => Wish::Checkpoints(row.root),
            "hosts" if row.network.is_none() => return say(NO_NETWORK),
            "hosts" => Wish::Hosts(Some(row.path)),
            "diff" => Wish::Show(order(&["checkpoint", "diff", rest])),
            "rollback" => Wish::Preview(order(&["checkpoint", "rollback", rest])),
            _ => return self.change(&row, verb, rest),
        };
        (Vec::new(), Some(wish))
    }

    /// Asks before it changes something in a session.
    fn change(&mut self, row: &Row, verb: &str, rest: &str) -> Said {
        let entry = match verb {
            "allow" | "deny" => {
                let (order, words) = answer_host(&row.root, verb, rest);
                return (vec![words, self.ask(order).0.concat()], None);
            }
            "clear" => {
                let cleared =
                    clear(row).map(|(order, reason)| (vec![reason, self.ask(order).0.concat()], None));
                return cleared.unwrap_or_else(say);
            }
            "block" => Entry::Block,
            "waive" => Entry::Waive,
            "approve" => Entry::Approve,
            _ => Entry::Reject,
        };
        make(row, entry, rest).map_or_else(say, |order| self.ask(order))
    }

    fn ask(&mut self, order: Order) -> Said {
        let said = say(format!("{}; type `yes` to do it, anything else to leave it", order.line()));
        self.asked = Some(order);
        said
    }
}

fn checkpoint(row: &Checkpoint) -> String {
    format!("{}, {} ago, {}, changed {} {}", row.id, row.age, row.why, row.changed, row.name)
}

fn host(row: &Host) -> String {
    let by = if row.by.is_empty() { String::new() } else { format!(" ({})", row.by) };
    clean(&format!("host {}{by}: {}", row.rule, row.what)).into_owned()
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(|line| clean(line).into_owned()).collect()
}

fn line(one: &Told) -> String {
    let ms = time::parse(&one.ts).unwrap_or_default();
    let reason = one.reason.as_deref().unwrap_or_default().replace('\n', "; ");
    let gap = if reason.is_empty() { "" } else { ": " };
    format!(
        "entry {}, {}, {}: {}{gap}{reason}",
        one.seq,
        time::local_clock(ms, east_of_utc(ms)),
        one.word,
        one.text
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaker() -> Speaker {
        let mut speaker = Speaker::new(false);
        let row = |id: &str, life| Row {
            id: id.to_owned(),
            path: id.into(),
            root: "/p".into(),
            life,
            ..Row::default()
        };
        let rows = vec![row("aaaa1", Life::Live), row("bbbb1", Life::Ended)];
        assert!(speaker.hear(News::Rows(rows)).is_empty(), "all at once, when all are known");
        let said = speaker.hear(News::Ready);
        assert_eq!(said[0], "2 sessions, 1 live, 0 wait for you");
        assert!(said[1].starts_with("1. aaaa1 ") && said[2].starts_with("1 more"), "{said:?}");
        speaker
    }

    #[test]
    fn each_change_is_a_line() {
        let mut speaker = speaker();
        let row = speaker.model.find("aaaa1").unwrap().clone();
        assert_eq!(
            speaker.hear(News::Rows(vec![Row { phase: "review", ..row.clone() }])),
            ["aaaa1 : phase review"]
        );
        assert!(speaker.hear(News::Rows(vec![Row { phase: "review", ..row }])).is_empty());
    }

    #[test]
    fn what_changes_something_wants_a_yes() {
        let mut speaker = speaker();
        let (said, wish) = speaker.obey("block 1 stop it");
        assert!(said[0].contains("aops-hook block aaaa1 --reason 'stop it'") && wish.is_none(), "{said:?}");
        assert_eq!(speaker.obey("no"), say("nothing was done"));
        let _ = speaker.obey("block aaaa stop");
        let (_, wish) = speaker.obey("yes");
        assert!(matches!(wish, Some(Wish::CarryOut(order)) if order.words[1] == "aaaa1"));
        assert_eq!(speaker.obey("clear 1"), say("this session is not blocked"));
        let (said, wish) = speaker.obey("allow 1 a.test:5432");
        assert!(
            wish.is_none() && said.concat().contains("aops-hook network allow a.test:5432; type `yes`"),
            "{said:?}"
        );
        assert!(speaker.obey("no").1.is_none());
        assert!(speaker.obey("hosts 1").0[0].contains("`off` in this session"));
        assert!(
            speaker.obey("frob 1").0[0].contains("`help`")
                && speaker.obey("open 9").0[0].contains("no session")
        );
    }
}
