//! Blocks a session: everything in it is refused until a person clears the block.
//!
//! Writes one entry and its head. Allowed inside a tool call too: it only tightens.

use super::{Command, Io, Who, session, session_argument};
use crate::ledger::open::Ledger;
use crate::session::fact::{Blocked, Fact};
use crate::text::redact::redact;
use clap::{Arg, ArgMatches};
use serde_json::json;

pub const COMMAND: Command = Command {
    name: "block",
    about: "Block a session: refuse everything in it until a person clears the block",
    examples: &[
        ("aops-hook block --reason 'wrong branch, let me look'", "block the newest session of this project"),
        ("aops-hook block 3f2a --reason 'stop'", "block the session whose id begins with 3f2a"),
    ],
    who: Who::Anyone,
    arguments: |command| {
        let reason = Arg::new("reason").long("reason").value_name("TEXT").required(true);
        session_argument(command).arg(reason.help("Why; shown to the agent and the user"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = session(given, io)?;
    let reason = given.get_one::<String>("reason").map(|reason| redact(reason).into_owned()).unwrap_or_default();
    let by = if io.env.inside_client { "a tool call" } else { "a person" }.to_owned();
    let mut ledger = Ledger::at(io.env, &found.path, &found.session_id)?;
    let reason = crate::text::json::cut(&reason, 2000).to_owned();
    ledger.append(io.env, vec![Fact::Block(Blocked { by, reason: reason.clone() })])?;
    ledger.exported()?;
    let id = &found.session_id;
    if io.json {
        writeln!(io.out, "{}", json!({"session_id": id, "blocked": true, "block_reason": reason}))?;
    } else {
        writeln!(io.out, "blocked session {id}\nhint: clear it with `aops-hook clear-block {id}`")?;
    }
    Ok(0)
}
