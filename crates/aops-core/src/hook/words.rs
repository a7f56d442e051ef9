//! Turns a verdict into words: the gates name a text and its values, which are filled in here.

use crate::config::texts::{self, Reading};
use crate::gate::{self, Context};
use crate::model::error::Failure;
use crate::model::event::Event;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::system::env::Env;
use std::path::Path;

/// The joined verdict of the gates, with the shipped texts filled in, which never changes the ruling.
pub fn judge(env: &Env, session: &Session, event: &Event, context: &Context) -> Result<Verdict, Failure> {
    fill_in(&Reading::new(env, Path::new(&event.cwd)), gate::judge(session, event, context))
}

pub(super) fn fill_in(reading: &Reading, mut verdict: Verdict) -> Result<Verdict, Failure> {
    let Some(mut phrase) = verdict.phrase.take() else { return Ok(verdict) };
    let mut lines = Vec::new();
    for debt in &verdict.debts {
        let line = debt.line.fill(&texts::template(reading, debt.line.template)?);
        lines.push(format!("{}. {line}", lines.len() + 1));
    }
    if !lines.is_empty() {
        phrase.values.push(("owed", lines.join("\n")));
    }
    let text = phrase.fill(&texts::template(reading, phrase.template)?);
    if verdict.softened {
        verdict.notice = format!("not enforced here; otherwise this would be blocked: {text}");
    } else if verdict.ruling == Ruling::Pass {
        verdict.notice = text;
    } else {
        verdict.reason = text;
    }
    Ok(verdict)
}
