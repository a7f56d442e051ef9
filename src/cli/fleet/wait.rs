//! `fleet wait`: answers to the questions of this machine's sessions, from the engine.

use super::on::no_engine;
use crate::cli::{Io, policy_here, refused};
use crate::run::fleet::question::wait;
use crate::run::fleet::stop::Left;
use aops_core::config::policy::Fleet;
use aops_core::system::signal;
use aops_remote::signed::Trusted;
use clap::ArgMatches;
use serde_json::json;

pub(super) fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Fleet { engine, gateway_keys, .. } = policy_here(io)?.policy.fleet;
    let Some(url) = engine else {
        return no_engine();
    };
    if gateway_keys.is_empty() {
        return refused(
            "no key of a gateway is known, so no answer counts\nhint: set `fleet.gateway_keys` to the \
             line of its `gateway.key.pub`",
        );
    }
    let trusted = Trusted::read(&gateway_keys).or_else(refused)?;
    signal::note_interrupts();
    let env = io.env;
    let mut told = Ok(());
    wait(env, &url, &trusted, given.get_flag("once"), |id, left| {
        if told.is_ok() {
            told = tell(io, id, left);
        }
    })
    .or_else(refused)?;
    told?;
    Ok(0)
}

fn tell(io: &mut Io, id: &str, left: &Left) -> anyhow::Result<()> {
    let (state, words) = match left {
        Left::Finished { outcome, reason } => (outcome.name(), reason.as_str()),
        Left::Asks(question) => ("ASKS", question.as_str()),
        Left::GivenBack => ("LOST", ""),
    };
    if io.json {
        writeln!(io.out, "{}", json!({"id": id, "state": state, "words": words}))?;
    } else {
        writeln!(io.out, "{id}: {state}: {words}")?;
    }
    Ok(io.out.flush()?)
}
