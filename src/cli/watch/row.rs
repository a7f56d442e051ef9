//! One session as the cockpit lists it, and its changes as text.
//!
//! Pure. Invariant: every text in a row is safe on a terminal and within one line; `Row::clean` ensures that.

use crate::cli::table::{Tone, clean};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Life {
    Live,
    #[default]
    Left,
    Ended,
    Unreadable,
    /// Only the exported head is left.
    Lost,
}

impl Life {
    pub(super) fn word(self) -> &'static str {
        match self {
            Life::Live => "live",
            Life::Left => "left",
            Life::Ended => "ended",
            Life::Unreadable => "bad",
            Life::Lost => "lost",
        }
    }

    pub(super) fn tone(self) -> Tone {
        match self {
            Life::Live => Tone::Good,
            Life::Left => Tone::Plain,
            Life::Ended => Tone::Quiet,
            Life::Unreadable | Life::Lost => Tone::Bad,
        }
    }
}

/// What a run waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) checkpoint_id: String,
    pub(super) words: String,
    /// Undecided yet; a person must decide.
    pub(super) open: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) id: String,
    /// The session's folder; empty for a lost session.
    pub(super) path: PathBuf,
    /// The project's root.
    pub(super) root: PathBuf,
    /// The root as people write it; `project` is its last part.
    pub(super) place: String,
    pub(super) project: String,
    pub(super) life: Life,
    pub(super) mode: &'static str,
    pub(super) phase: &'static str,
    pub(super) blocked: Option<String>,
    pub(super) question: Option<Question>,
    /// Why the client asks its user about a call.
    pub(super) asked: Option<String>,
    /// What the loop waits for, or what is still owed.
    pub(super) owed: String,
    pub(super) cost: Option<f64>,
    pub(super) refusal: Option<String>,
    /// What was answered in the person's place, and how often data was saved.
    pub(super) given: String,
    pub(super) damage: Option<String>,
    pub(super) prompt: String,
    pub(super) began: String,
    /// The hosts its commands reached, if hosts are judged.
    pub(super) network: Option<String>,
}

impl Row {
    /// Identifies the row.
    pub(super) fn key(&self) -> String {
        if self.path.as_os_str().is_empty() {
            self.id.clone()
        } else {
            self.path.to_string_lossy().into_owned()
        }
    }

    pub(super) fn short(&self) -> String {
        self.id.chars().take(8).collect()
    }

    /// What it waits for, as text; anything that needs a person comes first.
    pub(super) fn waits(&self) -> String {
        match (&self.blocked, &self.question, &self.asked) {
            (Some(_), ..) => "you: blocked".to_owned(),
            (None, Some(question), _) if question.open => format!("you: {}", question.words),
            (None, Some(question), _) => format!("`aops-hook resume {}`", question.checkpoint_id),
            (None, None, Some(asked)) => format!("you, in the client: {asked}"),
            _ => self.owed.clone(),
        }
    }

    /// Whether a person has to do something.
    pub(super) fn wants_person(&self) -> bool {
        let open = self.question.as_ref().is_some_and(|question| question.open);
        self.life != Life::Lost
            && (self.blocked.is_some() || open || self.asked.is_some() && self.life == Life::Live)
    }

    pub(super) fn ledger(&self) -> (&'static str, Tone) {
        if self.damage.is_some() { ("BAD", Tone::Bad) } else { ("ok", Tone::Quiet) }
    }

    pub(super) fn dollars(&self) -> String {
        self.cost.map(|cost| format!("${cost:.2}")).unwrap_or_default()
    }

    /// Whether the row contains these words, given in lower case.
    pub(super) fn has(&self, words: &str) -> bool {
        let waits = self.waits();
        let refusal = self.refusal.as_deref().unwrap_or_default();
        let life = self.life.word();
        let all = [&self.id, &self.place, &self.prompt, &waits, refusal, self.phase, self.mode, life];
        all.iter().any(|text| text.to_lowercase().contains(words))
    }

    /// The order of the list: sessions that wait for a person, then live ones, then the newest.
    pub(super) fn order(&self) -> (bool, bool, Reverse<&str>, Reverse<&str>) {
        (!self.wants_person(), self.life != Life::Live, Reverse(&self.began), Reverse(&self.id))
    }

    #[must_use]
    pub(super) fn clean(self) -> Self {
        let one = |text: String| clean(&text).into_owned();
        Self {
            id: one(self.id),
            place: one(self.place),
            project: one(self.project),
            blocked: self.blocked.map(one),
            question: self.question.map(|question| Question { words: one(question.words), ..question }),
            asked: self.asked.map(one),
            owed: one(self.owed),
            refusal: self.refusal.map(one),
            given: one(self.given),
            damage: self.damage.map(one),
            prompt: one(self.prompt),
            network: self.network.map(one),
            ..self
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let open = self.question.as_ref().filter(|question| question.open);
        json!({
            "session_id": self.id, "folder": self.path, "project": self.root, "state": self.life.word(),
            "mode": self.mode, "phase": self.phase, "waits_for": self.waits(),
            "wants_person": self.wants_person(),
            "block_reason": self.blocked, "question": open.map(|question| &question.words),
            "cost_usd": self.cost,
            "last_refusal": self.refusal, "given": self.given, "damage": self.damage, "prompt": self.prompt,
            "started_at": self.began, "network": self.network,
        })
    }

    /// The whole row in one sentence, for reading aloud.
    pub(super) fn sentence(&self) -> String {
        let mut parts = vec![format!("{} {}", self.short(), self.project), self.life.word().to_owned()];
        parts.extend(Some(format!("phase {}", self.phase)).filter(|_| !self.phase.is_empty()));
        parts.extend(
            Some(self.waits()).filter(|waits| !waits.is_empty()).map(|waits| format!("waits for {waits}")),
        );
        parts.extend(self.network.as_ref().map(|network| format!("network {network}")));
        parts.extend(self.cost.map(|_| format!("cost {}", self.dollars())));
        parts.extend(self.refusal.as_ref().map(|refusal| format!("last refusal: {refusal}")));
        parts.extend(Some(self.given.clone()).filter(|given| !given.is_empty()));
        parts.push(match &self.damage {
            Some(damage) => format!("ledger DAMAGED: {damage}"),
            None => "ledger ok".to_owned(),
        });
        parts.extend(Some(format!("prompt: {}", self.prompt)).filter(|_| !self.prompt.is_empty()));
        parts.join(", ")
    }

    /// The changes since then, a sentence each.
    pub(super) fn news(&self, old: &Row) -> Vec<String> {
        let mut said = Vec::new();
        let mut note = |changed: bool, words: String| said.extend(changed.then_some(words));
        note(self.life != old.life, format!("is {}", self.life.word()));
        note(self.prompt != old.prompt, format!("prompt: {}", self.prompt));
        note(self.phase != old.phase, format!("phase {}", self.phase));
        let waits = self.waits();
        let words =
            if waits.is_empty() { "waits for nothing".to_owned() } else { format!("waits for {waits}") };
        note(waits != old.waits(), words);
        let refusal = self.refusal.as_deref().unwrap_or_default();
        note(self.refusal != old.refusal && !refusal.is_empty(), format!("refused: {refusal}"));
        note(self.cost != old.cost, format!("cost {}", self.dollars()));
        let damage =
            self.damage.as_ref().map_or_else(|| "ok".to_owned(), |damage| format!("DAMAGED: {damage}"));
        note(self.damage != old.damage, format!("ledger {damage}"));
        let who = format!("{} {}", self.short(), self.project);
        said.into_iter().map(|words| format!("{who}: {words}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_named_first() {
        let question =
            Some(Question { words: "touch danger?".to_owned(), open: true, ..Question::default() });
        let row = Row { owed: "`critic`".to_owned(), question, life: Life::Live, ..Row::default() };
        assert_eq!((row.waits().as_str(), row.wants_person()), ("you: touch danger?", true));
        let blocked = Row { blocked: Some("wrong branch".to_owned()), ..row.clone() };
        assert_eq!(blocked.waits(), "you: blocked");
        let decided = Question { checkpoint_id: "CP_1".to_owned(), ..Question::default() };
        let row = Row { question: Some(decided), ..row };
        assert_eq!((row.waits().as_str(), row.wants_person()), ("`aops-hook resume CP_1`", false));
    }

    #[test]
    fn only_what_changed_is_said() {
        let old = Row {
            id: "3f2a1b0c-x".to_owned(),
            project: "greet".to_owned(),
            phase: "hydrate",
            ..Row::default()
        };
        let new = Row { phase: "execute", refusal: Some("Write a.txt".to_owned()), ..old.clone() };
        assert_eq!(new.news(&old), ["3f2a1b0c greet: phase execute", "3f2a1b0c greet: refused: Write a.txt"]);
        assert!(new.news(&new).is_empty());
    }

    #[test]
    fn no_escape_sequence_comes_through() {
        let row = Row { prompt: "a\x1b[2Jb\u{202e}c".to_owned(), ..Row::default() }.clean();
        assert_eq!(row.prompt, "a·[2Jb·c");
    }
}
