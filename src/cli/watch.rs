//! `watch`: the cockpit: all sessions live, their timelines, what they wait for, and the keys that answer.
//!
//! Reads what `sessions`, `log`, `runs` and `checkpoint list` read; a key changes something through the
//! function of the command that does the same. Invariants: only a person at a terminal watches; state and
//! drawing are pure; another thread reads, so that no key waits.

mod row;
mod order;
mod model;
mod keys;
mod draw;
mod read;
mod tail;
mod hosts;
mod work;
mod screen;
mod plain;

use super::{Command, Io, flag, refused};
use clap::ArgMatches;
use std::io::{IsTerminal, stdin};

pub const COMMAND: Command = Command {
    name: "watch",
    about: "Watch all sessions of this machine, live, and answer what they wait for (needs a person at a \
        terminal)",
    examples: &[
        ("aops-hook watch", "the cockpit; `?` shows its keys, `q` leaves"),
        (
            "aops-hook watch --plain",
            "for a screen reader: a list, then a line for each change; `help` lists the commands",
        ),
        ("aops-hook watch --json", "for programs: a line for each session, and one whenever it changes"),
    ],
    arguments: |row| row.arg(flag("plain", "Lines instead of a screen; also where `TERM` is `dumb`")),
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if !(io.json || io.terminal && stdin().is_terminal()) {
        return refused(
            "`watch` needs a terminal\nhint: `aops-hook sessions` lists the sessions; `aops-hook watch \
            --json` tells programs of each change",
        );
    }
    if io.json || io.env.user.is_dumb || given.get_flag("plain") { plain::run(io) } else { screen::run(io) }
}
