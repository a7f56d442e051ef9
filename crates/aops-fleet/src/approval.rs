//! The questions of paused runs, each with its one answer.
//!
//! Invariants: a question is answered once; the answer and its effect on the run are one transaction; the
//! token in an announcement is stored only as its SHA-256.

use crate::connect::Fleet;
use crate::error::Error;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The run continues with exactly the call or step it asked about.
    Approve,
    /// The run continues to its end, and is told that a person said no.
    Reject,
    /// The run ends now, whatever it is doing.
    Block,
}

impl Answer {
    pub const ALL: [Self; 3] = [Self::Approve, Self::Reject, Self::Block];

    pub fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Block => "block",
        }
    }

    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|answer| answer.name() == word)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub id: String,
    pub run: String,
    pub question: String,
    /// Seconds since it was asked.
    pub age_s: i64,
    pub repository: String,
    pub machine: String,
}

/// The answer to the run's latest question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub answer: Answer,
    /// The digest of the packet that the question was about.
    pub about: String,
    pub who: String,
    pub at: String,
    pub note: Option<String>,
}

/// HMAC-SHA-256 in hex digits; a receiver of an announcement computes it too, to check the sender.
pub fn sign(key: &[u8], text: &[u8]) -> String {
    // HMAC takes a key of any length, so this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(text);
    let signature: [u8; 32] = mac.finalize().into_bytes().into();
    signature.map(|byte| format!("{byte:02x}")).concat()
}

/// The stored form of a token.
pub fn token_digest(token: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    digest.map(|byte| format!("{byte:02x}")).concat()
}

/// A question of a session that has no run yet.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The id of the run that continues the session after the answer.
    pub run: &'a str,
    /// The only machine that has the session.
    pub machine: &'a str,
    pub repository: &'a str,
    pub request: &'a str,
    pub question: &'a str,
    /// The call that waits.
    pub about: &'a str,
    /// The digest of the token that answers it.
    pub token: &'a str,
}

impl Fleet {
    /// Stores a session's question once. `false`: it was stored before.
    pub fn ask(&mut self, asked: &Question) -> Result<bool, Error> {
        let Question { run, machine, repository, request, question, about, token } = asked;
        let mut all = self.client.transaction()?;
        let new = all.execute(
            "insert into runs (id, repository, commit, request, labels, priority, state, reason, machine, only_on)
             values ($1, $2, '', $3, '{}', 0, 'paused', $4, $5, $5) on conflict (id) do nothing",
            &[run, repository, request, question, machine],
        )?;
        if new == 1 {
            all.execute(
                "insert into approvals (id, run, question, about, token) values ($1, $2, $3, $4, $5)",
                &[&format!("{run}-0"), run, question, about, token],
            )?;
        }
        all.commit()?;
        Ok(new == 1)
    }

    /// Open questions, oldest first.
    pub fn approvals(&mut self, most: i64) -> Result<Vec<Approval>, Error> {
        let rows = self.client.query(
            "select a.id, a.run, a.question, extract(epoch from now() - a.asked)::bigint, r.repository, coalesce(r.machine, '')
             from approvals a join runs r on r.id = a.run where a.decision is null order by a.asked, a.id limit $1",
            &[&most],
        )?;
        let one = |row: &postgres::Row| Approval {
            id: row.get(0),
            run: row.get(1),
            question: row.get(2),
            age_s: row.get(3),
            repository: row.get(4),
            machine: row.get(5),
        };
        Ok(rows.iter().map(one).collect())
    }

    /// The open question that this token answers.
    pub fn approval_of_token(&mut self, token: &str) -> Result<Option<String>, Error> {
        let row = self.client.query_opt(
            "select id from approvals where token = $1 and decision is null",
            &[&token_digest(token)],
        )?;
        Ok(row.map(|row| row.get(0)))
    }

    /// Answers a question, named by its own id or its run's. `false`: the question is not open.
    pub fn answer(&mut self, id: &str, answer: Answer, who: &str, note: Option<&str>) -> Result<bool, Error> {
        let mut all = self.client.transaction()?;
        let run = all.query_opt(
            "update approvals set decision = $2, who = $3, note = $4, answered = now()
             where (id = $1 or run = $1) and decision is null returning run",
            &[&id, &answer.name(), &who, &note],
        )?;
        let Some(run) = run.map(|row| row.get::<_, String>(0)) else { return Ok(false) };
        if answer == Answer::Block {
            let why = note.map(|note| format!(": {note}")).unwrap_or_default();
            end(&mut all, &run, &format!("{who} blocked the run{why}"))?;
        } else {
            let waits =
                "update runs set state = 'waiting', changed = now() where id = $1 and state = 'paused'";
            all.execute(waits, &[&run])?;
        }
        all.commit()?;
        Ok(true)
    }

    /// Ends a run, whatever it is doing; its worker is fenced off and stops. `false`: the run is over or
    /// unknown.
    pub fn block(&mut self, run: &str, who: &str, note: Option<&str>) -> Result<bool, Error> {
        let mut all = self.client.transaction()?;
        let why = note.map(|note| format!(": {note}")).unwrap_or_default();
        let ended = end(&mut all, run, &format!("{who} blocked the run{why}"))?;
        all.execute(
            "update approvals set decision = 'block', who = $2, note = $3, answered = now()
             where run = $1 and decision is null",
            &[&run, &who, &note],
        )?;
        all.commit()?;
        Ok(ended)
    }

    /// The answer to the run's latest question, if there is one.
    pub fn answered(&mut self, run: &str) -> Result<Option<Answered>, Error> {
        let row = self.client.query_opt(
            "select decision, who, to_char(answered at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), note, about
             from approvals where run = $1 order by asked desc, id desc limit 1",
            &[&run],
        )?;
        let read = |row: postgres::Row| {
            let answer = Answer::read(row.get::<_, Option<&str>>(0)?)?;
            Some(Answered { answer, about: row.get(4), who: row.get(1), at: row.get(2), note: row.get(3) })
        };
        Ok(row.and_then(read))
    }
}

fn end(all: &mut postgres::Transaction, run: &str, reason: &str) -> Result<bool, Error> {
    let ended = all.execute(
        "update runs set state = 'done', outcome = 'BLOCKED', reason = $2, fence = fence + 1, lease = null,
                         bundle = null, changed = now()
         where id = $1 and state <> 'done'",
        &[&run, &reason],
    )?;
    Ok(ended == 1)
}
