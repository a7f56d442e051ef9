//! The totals over all past calls: counts by mode and rule, prompts, sessions.
//!
//! Pure. Invariant: adding two tallies gives the tally of both, in any order.

use super::judge::{GUARD, Judged, Outcome};
use aops_core::host::past::{PastCounts, PastPrompt};
use aops_core::model::client::Client;
use aops_core::text::time;
use aops_shell::quiet::{Answers, Quiet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// How many lines are shown for each rule.
const MOST_LINES: usize = 3;

/// Out of 100 lines that only read, this many need approval by the client in mode `default`; of all other
/// lines, nearly all do. Measured with 6,681 lines of real agents.
const ASKED_READING: u64 = 41;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stopped {
    pub(super) asked: u64,
    pub(super) refused: u64,
    /// Calls that pass after what they would lose is saved.
    pub(super) kept: u64,
}

impl Stopped {
    fn add(&mut self, outcome: &Outcome) {
        self.asked += u64::from(matches!(outcome, Outcome::Asks(_)));
        self.refused += u64::from(matches!(outcome, Outcome::Refuses(_)));
        self.kept += u64::from(matches!(outcome, Outcome::Keeps(_)));
    }

    fn add_all(&mut self, other: Self) {
        self.asked += other.asked;
        self.refused += other.refused;
        self.kept += other.kept;
    }

    pub(super) fn all(self) -> u64 {
        self.asked + self.refused + self.kept
    }
}

/// What one rule stops in mode `guard`, and the newest such lines.
#[derive(Clone, Debug, Default)]
pub(super) struct ByRule {
    pub(super) counts: Stopped,
    pub(super) lines: Vec<(i64, String)>,
}

impl ByRule {
    fn show(&mut self, lines: impl IntoIterator<Item = (i64, String)>) {
        self.lines.extend(lines);
        self.lines.sort_by_key(|(at, line)| (Reverse(*at), line.clone()));
        let mut seen = BTreeSet::new();
        self.lines.retain(|(_, line)| seen.insert(line.clone()));
        self.lines.truncate(MOST_LINES);
    }
}

/// Shell lines among prompts, and which of them quiet mode would have answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answerable {
    pub(super) lines: u64,
    pub(super) reading: u64,
    /// Over the network with `gh`.
    pub(super) with_gh: u64,
    pub(super) contained: u64,
}

impl Answerable {
    /// Counts a line; a line that a gate stops is never answered.
    fn add(&mut self, judged: &Judged) {
        let Some(quiet) = &judged.quiet else { return };
        self.lines += 1;
        if judged.outcomes[GUARD] != Outcome::Passes {
            return;
        }
        let reads = quiet.is_answered(Answers::Reading, &[""; 0]);
        let reads_far = quiet.is_answered(Answers::Reading, &["gh"]);
        self.reading += u64::from(reads);
        self.with_gh += u64::from(reads_far && !reads);
        self.contained += u64::from(*quiet == Quiet::Contained);
    }

    fn add_all(&mut self, other: Self) {
        self.lines += other.lines;
        self.reading += other.reading;
        self.with_gh += other.with_gh;
        self.contained += other.contained;
    }

    /// An estimate of how many of these lines the client asks about.
    pub(super) fn estimated(self) -> Self {
        let share = |lines: u64| lines * ASKED_READING / 100;
        let reading = share(self.reading);
        let with_gh = self.with_gh;
        Self { lines: self.lines - self.reading + reading, reading, with_gh, contained: self.contained }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prompts {
    pub(super) approved: u64,
    pub(super) rejected: u64,
    pub(super) shell: Answerable,
    /// Shell lines of records that do not say who was asked.
    pub(super) untold: Answerable,
}

/// When a session last changed something, and when it last checked something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ending {
    changed: Option<i64>,
    checked: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) counts: PastCounts,
    pub(super) files: u64,
    pub(super) unreadable: u64,
    pub(super) calls: u64,
    /// `calls` by client.
    pub(super) clients: BTreeMap<&'static str, u64>,
    pub(super) unjudged: u64,
    pub(super) gone: u64,
    pub(super) days: BTreeSet<String>,
    pub(super) sessions: BTreeMap<String, Ending>,
    pub(super) modes: [Stopped; 4],
    pub(super) rules: BTreeMap<String, ByRule>,
    pub(super) prompts: Prompts,
}

impl Tally {
    pub(super) fn add_call(&mut self, client: Client, session: &str, at_ms: i64, judged: Option<&Judged>) {
        self.calls += 1;
        *self.clients.entry(client.name()).or_default() += 1;
        self.days.insert(time::day(at_ms));
        let ending = self.sessions.entry(session.to_owned()).or_default();
        let Some(judged) = judged else {
            self.unjudged += 1;
            return;
        };
        if judged.changes {
            ending.changed = ending.changed.max(Some(at_ms));
        }
        self.gone += u64::from(judged.is_gone);
        for (mode, outcome) in self.modes.iter_mut().zip(&judged.outcomes) {
            mode.add(outcome);
        }
        if let Outcome::Keeps(stop) | Outcome::Asks(stop) | Outcome::Refuses(stop) = &judged.outcomes[GUARD] {
            let rule = self.rules.entry(stop.name()).or_default();
            rule.counts.add(&judged.outcomes[GUARD]);
            rule.show([(at_ms, judged.line.clone())]);
        }
    }

    pub(super) fn add_check(&mut self, session: &str, at_ms: i64) {
        let ending = self.sessions.entry(session.to_owned()).or_default();
        ending.checked = ending.checked.max(Some(at_ms));
    }

    /// Counts a call that had a prompt, or whose record does not say.
    pub(super) fn add_prompt(&mut self, prompt: PastPrompt, judged: Option<&Judged>) {
        let prompts = &mut self.prompts;
        let lines = match prompt {
            PastPrompt::Approved | PastPrompt::Rejected => &mut prompts.shell,
            PastPrompt::Untold => &mut prompts.untold,
            PastPrompt::Unasked => return,
        };
        if let Some(judged) = judged {
            lines.add(judged);
        }
        prompts.approved += u64::from(prompt == PastPrompt::Approved);
        prompts.rejected += u64::from(prompt == PastPrompt::Rejected);
    }

    pub(super) fn add(&mut self, other: Self) {
        let counts = &mut self.counts;
        counts.records += other.counts.records;
        counts.unknown += other.counts.unknown;
        counts.too_long += other.counts.too_long;
        counts.is_cut |= other.counts.is_cut;
        self.files += other.files;
        self.unreadable += other.unreadable;
        self.calls += other.calls;
        for (client, calls) in other.clients {
            *self.clients.entry(client).or_default() += calls;
        }
        self.unjudged += other.unjudged;
        self.gone += other.gone;
        self.days.extend(other.days);
        for (session, ending) in other.sessions {
            let known = self.sessions.entry(session).or_default();
            known.changed = known.changed.max(ending.changed);
            known.checked = known.checked.max(ending.checked);
        }
        for (mode, more) in self.modes.iter_mut().zip(other.modes) {
            mode.add_all(more);
        }
        for (rule, more) in other.rules {
            let known = self.rules.entry(rule).or_default();
            known.counts.add_all(more.counts);
            known.show(more.lines);
        }
        let prompts = &mut self.prompts;
        prompts.approved += other.prompts.approved;
        prompts.rejected += other.prompts.rejected;
        prompts.shell.add_all(other.prompts.shell);
        prompts.untold.add_all(other.prompts.untold);
    }

    /// Rules by how often they stop something, the most frequent first.
    pub(super) fn by_frequency(&self) -> Vec<(&str, &ByRule)> {
        let mut all: Vec<(&str, &ByRule)> =
            self.rules.iter().map(|(name, rule)| (name.as_str(), rule)).collect();
        all.sort_by_key(|(name, rule)| (Reverse(rule.counts.all()), *name));
        all
    }

    /// Lines whose losses are saved.
    pub(super) fn kept(&self) -> u64 {
        self.rules.values().map(|rule| rule.counts.kept).sum()
    }

    /// Sessions that changed something, and those that checked nothing after their last change.
    pub(super) fn changed_and_unverified(&self) -> (u64, u64) {
        let changed = || self.sessions.values().filter(|ending| ending.changed.is_some());
        let unverified = changed().filter(|ending| ending.checked < ending.changed);
        (changed().count() as u64, unverified.count() as u64)
    }
}
