//! Clears a block: needs a person, and is the only way out of a block.
//!
//! Writes one entry and its head. Works from the exported head where the folder is gone: the loss is then known to a
//! person, and the session may begin anew.

use super::{Command, Io, Who, session, session_argument};
use crate::ledger::heads::{self, Head};
use crate::ledger::open::Ledger;
use crate::ledger::sessions;
use crate::session::fact::{Fact, Unblocked};
use crate::text::sha256::NO_DIGEST;
use clap::ArgMatches;
use serde_json::json;

pub const COMMAND: Command = Command {
    name: "clear-block",
    about: "Clear the block of a session (needs a person at a terminal)",
    examples: &[
        ("aops-hook clear-block", "clear the block of the newest session of this project"),
        ("aops-hook clear-block 3f2a --yes", "the same for one session, from your own script"),
    ],
    who: Who::AtTerminal,
    arguments: session_argument,
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let named = given.get_one::<String>("session");
    let exported = named.and_then(|name| sessions::exported(io.env, name));
    let (id, was) = match (session(given, io), exported) {
        (Ok(found), _) => {
            let mut ledger = Ledger::at(io.env, &found.path, &found.session_id)?;
            let was = ledger.session().blocked().is_some();
            let facts = if was { vec![Fact::Unblock(Unblocked { by: "a person".to_owned() })] } else { Vec::new() };
            ledger.append(io.env, facts)?;
            ledger.exported()?;
            (found.session_id, was)
        }
        (Err(_), Some(head)) => {
            let was = head.blocked;
            heads::export(
                io.env,
                &Head { blocked: false, digest: NO_DIGEST.to_owned(), reason: None, seq: 0, ..head.clone() },
            )?;
            (head.session_id, was)
        }
        (Err(error), None) => return Err(error),
    };
    if io.json {
        writeln!(io.out, "{}", json!({"session_id": id, "blocked": false, "was_blocked": was}))?;
    } else if was {
        writeln!(io.out, "session {id} is no longer blocked")?;
    } else {
        writeln!(io.out, "session {id} was not blocked")?;
    }
    Ok(0)
}
