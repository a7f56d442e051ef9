//! `resume`: continues a run that paused or whose driver died.
//!
//! Parses arguments and prints; `crate::run` does the work.

use super::resolve::name_argument;
use super::run::{drive, limit_arguments, limits};
use super::{Command, Io, Who};
use crate::run::driver;
use crate::system::signal;
use clap::ArgMatches;

pub const COMMAND: Command = Command {
    name: "resume",
    about: "Continue a run that paused (needs a person)",
    examples: &[
        ("aops-hook resume CP_20260113-1f3a9c02_build", "with the call that was deferred"),
        ("aops-hook resume 20260113-1f3a9c02", "the same by the run's id"),
        ("aops-hook resume 20260113-1f3a9c02 --budget-usd 5", "with another budget"),
    ],
    who: Who::OutsideClient,
    arguments: |row| row.arg(name_argument()).args(limit_arguments()),
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = given.get_one::<String>("name").map_or("", String::as_str);
    let limits = limits(given)?;
    signal::note_interrupts();
    let ended = drive(io, |env, reporter| driver::resume(env, reporter, name, limits))?;
    Ok(ended.outcome.exit())
}
