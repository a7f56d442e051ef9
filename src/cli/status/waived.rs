//! The rows of `status` about what a person waived.

use crate::cli::Io;
use crate::cli::table::{NamedFact, Tone};
use aops_core::session::fold::Session;
use aops_core::session::memory::Waiver;
use aops_core::session::state::TaskWaiver;
use aops_core::system::env::Env;
use aops_core::text::template::one_line;
use aops_core::text::time;

pub(super) fn waivers<'a>(env: &Env, session: &'a Session) -> Vec<&'a Waiver> {
    session.memory.progress.waivers.iter().filter(|waiver| waiver.until_ms > env.now_ms).collect()
}

pub(super) fn describe_waivers(io: &Io, session: &Session) -> Vec<NamedFact> {
    let row = |words| ("waived", words, Tone::Warn);
    let by_prompt = session.state.task.as_ref().and_then(|task| task.waiver.as_ref()).map(|waiver| {
        let by = if *waiver == TaskWaiver::Command { "a slash command" } else { "its prompt" };
        row(format!("the whole loop, for this task, by {by}"))
    });
    let by_person = waivers(io.env, session).into_iter().map(|waiver| {
        row(format!(
            "{} for {} more: {}",
            waiver.gate,
            time::age(waiver.until_ms - io.env.now_ms),
            one_line(&waiver.reason, 160)
        ))
    });
    by_prompt.into_iter().chain(by_person).collect()
}
