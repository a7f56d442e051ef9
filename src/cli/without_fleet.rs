//! `fleet` in a program built without what machines share: it says how to get it.

use super::{Command, Io, refused};
use clap::{Arg, ArgMatches};

const BUILT_WITH: &[(&str, &str)] =
    &[("./install.sh --fleet", "in a clone: builds and installs the program that has it")];

pub const FLEET: Command = Command {
    name: "fleet",
    about: "What machines share: runs, approvals, sessions (not in this program)",
    examples: BUILT_WITH,
    arguments: |row| row.arg(anything()),
    run: refuse,
};

/// Accepts any arguments, so that the answer is about the program and not about an argument.
fn anything() -> Arg {
    Arg::new("words").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true).hide(true)
}

fn refuse(_: &ArgMatches, _: &mut Io) -> anyhow::Result<u8> {
    not_built()
}

/// The answer of every verb that needs the database or the engine.
pub fn not_built<T>() -> anyhow::Result<T> {
    refused(
        "this program was built without what machines share\n\
         hint: run `./install.sh --fleet` in a clone of aops-hook, which builds it with `fleet`",
    )
}
