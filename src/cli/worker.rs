//! `worker`: takes runs from the queue that machines share.
//!
//! Parses arguments and prints a line for each event; `crate::run::fleet` does the work.

use super::control::duration;
use super::fleet::{names, url};
use super::run::Progress;
use super::{Command, Io, flag, option, policy_here, refused, text};
use crate::run::driver::Reporter;
use crate::run::fleet::stop::Left;
use crate::run::fleet::worker::{WorkerOptions, work};
use aops_core::system::signal;
use clap::ArgMatches;
use std::time::Duration;

pub const COMMAND: Command = Command {
    name: "worker",
    about: "Take runs from the queue that machines share, each in a clone of its own",
    examples: &[
        ("aops-hook worker", "until it is stopped; a run in hand is given back then"),
        ("aops-hook worker --labels linux,gpu", "also runs that want these labels"),
        ("aops-hook worker --once", "until nothing waits"),
    ],
    arguments: |row| {
        row.arg(option("labels", "NAMES", "What this machine can do, with commas between"))
            .arg(flag("once", "End when nothing waits"))
            .arg(
                option("lease", "TIME", "How long a run stays ours without a sign of life")
                    .default_value("2m"),
            )
    },
    run,
};

const SHORTEST_LEASE: Duration = Duration::from_secs(1);

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let lease = duration(text(given, "lease").unwrap_or_default()).or_else(refused)?;
    let lease = Duration::from_millis(lease.unsigned_abs());
    if lease < SHORTEST_LEASE {
        return refused("a lease is one second at least\nhint: the default is 2m");
    }
    let fleet = policy_here(io)?.policy.fleet;
    let options = WorkerOptions {
        url: url(io)?,
        labels: names(text(given, "labels").unwrap_or_default().split(',')),
        once: given.get_flag("once"),
        lease,
        fleet,
    };
    signal::note_interrupts();
    let env = io.env;
    let mut progress = Progress::new(io);
    work(env, &options, &mut progress, |reporter, run, left| tell(reporter, run, left))?;
    Ok(0)
}

/// Prints a line for each run that the worker had.
fn tell(reporter: &mut dyn Reporter, run: &str, left: &Left) {
    let (state, words) = match left {
        Left::Finished { outcome, reason } => (outcome.name(), reason.as_str()),
        Left::Asks(question) => ("PAUSED", question.as_str()),
        Left::GivenBack => ("GIVEN_BACK", "another worker may go on"),
        Left::Lost => ("LOST", "another worker has it, or a person ended it"),
    };
    reporter.left(run, state, words);
}
