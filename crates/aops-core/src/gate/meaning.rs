//! What a call means until it has ended: what it changes, how it must be jailed, what it is evidence of.
//!
//! Reads session, event and context; writes nothing. Invariant: changes that cannot stay, and changes of
//! scratch files, are not work.

use crate::gate::{CallContext, Context, Evidence, Keeps, network, profile};
use crate::model::call::{Effect, ToolCall};
use crate::model::event::Event;
use crate::model::profile::{Profile, line_digest};
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::{CallMeans, Jailing};
use crate::session::fold::Session;
use crate::text::json;

/// What is recorded about a call in addition to its input.
pub(super) fn of_call(
    session: &Session,
    event: &Event,
    call: &ToolCall,
    verdict: &Verdict,
    context: &Context,
) -> CallMeans {
    let jailing = jailing(session, event, call, verdict, context);
    let seen = context.call();
    let mut means = CallMeans {
        deferred: verdict.ruling == Ruling::Defer,
        quiet: seen.and_then(|seen| seen.quiet.as_ref()).map(|quiet| Box::new(quiet.recorded.clone())),
        tests: seen.is_some_and(|seen| seen.task.tests != Evidence::Other),
        ..CallMeans::default()
    };
    // Changes that cannot stay, and changes of scratch and ignored files, are not work.
    let is_lost = jailing.profile.is_some_and(|profile| profile >= Profile::Read);
    let is_scratch = |seen: &CallContext| seen.does.scratch || seen.does.weightless;
    if let Some(seen) = seen.filter(|seen| !is_scratch(seen) && !is_lost) {
        means.effect = Some(seen.does.effect).filter(|effect| *effect != Effect::Read);
        means.formats = seen.task.formats;
        means.grows.clone_from(&seen.does.grows);
        means.tracks.clone_from(&seen.task.tracks);
    }
    let is_measured =
        means.effect == Some(Effect::Write) && means.grows.is_none() && session.measures_commands();
    means.since_ms = is_measured.then_some(context.now_ms);
    CallMeans { jailing, ..means }
}

fn jailing(
    session: &Session,
    event: &Event,
    call: &ToolCall,
    verdict: &Verdict,
    context: &Context,
) -> Jailing {
    let profile = profile::of_call(session, event, context);
    let seen = context.call();
    let is_over =
        seen.and_then(|seen| seen.quiet.as_ref()).is_some_and(|quiet| quiet.recorded.over.is_some());
    let line = profile.and_then(|_| json::read(&call.input).ok()?.text_of("command"));
    Jailing {
        keeps: seen.and_then(|seen| match &seen.danger.keeps {
            Keeps::All { rules, .. } if profile.is_none_or(|profile| profile < Profile::Read) => {
                Some(rules.clone())
            }
            _ => None,
        }),
        line_sha256: line.map(|line| line_digest(&line)),
        online: profile == Some(Profile::Read) && seen.is_some_and(|seen| seen.jail.online) || is_over,
        profile,
        wants: network::approved_if_started(verdict, context),
    }
}
