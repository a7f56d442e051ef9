//! What a person changes in a session: `block`, `clear-block`, `waive`.
//!
//! Each writes one entry; a block also writes the head. Invariants: blocking is allowed inside a tool call
//! too, since it only tightens; a waiver ends by itself and has a reason; protections of the guard itself
//! cannot be waived.

use super::table::clean;
use super::{
    Command, Io, named_session, operand, option, refused, session, session_arguments, session_option, text,
};
use aops_core::ledger::heads::{self, Head};
use aops_core::ledger::open::Ledger;
use aops_core::ledger::sessions;
use aops_core::model::gate_id::GateId;
use aops_core::proof::append;
use aops_core::proof::unheld::Commands;
use aops_core::session::fact::{Blocked, Fact, Unblocked};
use aops_core::session::fold::Session;
use aops_core::session::memory::Waiver;
use aops_core::system::env::east_of_utc;
use aops_core::text::json::cut;
use aops_core::text::redact::redact;
use aops_core::text::template::one_line;
use aops_core::text::time;
use clap::ArgMatches;
use serde_json::json;
use std::io::{self, IsTerminal};

pub const BLOCK: Command = Command {
    name: "block",
    about: "Block a session: refuse everything in it until a person clears the block",
    examples: &[
        ("aops-hook block --reason 'wrong branch, let me look'", "block the newest session of this project"),
        ("aops-hook block 3f2a --reason 'stop'", "block the session whose id begins with 3f2a"),
    ],
    arguments: |row| {
        let reason = option("reason", "TEXT", "Why; shown to the agent and the user").required(true);
        row.args(session_arguments()).arg(reason)
    },
    run: block,
};

pub const CLEAR_BLOCK: Command = Command {
    name: "clear-block",
    about: "Clear the block of a session (needs a person at a terminal)",
    examples: &[
        ("aops-hook clear-block", "clear the block of the newest session of this project"),
        ("aops-hook clear-block 3f2a --yes", "the same for one session, from your own script"),
    ],
    arguments: |row| row.args(session_arguments()),
    run: clear_block,
};

pub const WAIVE: Command = Command {
    name: "waive",
    about: "Waive one gate for a while (needs a person at a terminal)",
    examples: &[
        (
            "aops-hook waive qa --for 10m --reason 'a typo in a comment'",
            "the newest session of this project may stop unverified for ten minutes",
        ),
        (
            "aops-hook waive close --for 2h --reason 'I commit myself' --session 3f2a --yes",
            "the same for one session, from your own script",
        ),
    ],
    arguments: |row| {
        row.arg(
            operand("gate", "GATE", "sandbox, audit, checks, qa, reflect, close, commit, push or lease")
                .required(true),
        )
        .arg(option("for", "TIME", "How long: 30s, 10m, 2h, 1d").required(true).allow_hyphen_values(true))
        .arg(option("reason", "TEXT", "Why; it is recorded and shown").required(true))
        .arg(session_option())
    },
    run: waive,
};

/// Gates that cannot be waived, and why.
const NEVER: [(GateId, &str); 4] = [
    (GateId::Block, "clear the block with `aops-hook clear-block`"),
    (GateId::Guard, "it protects the ledger and the settings; edit those files yourself"),
    (GateId::Danger, "run the command yourself, or set that rule in `[danger]` of your configuration"),
    (GateId::Rules, "change the rule in your configuration"),
];

/// For a longer time, change the configuration instead.
const LONGEST_MS: i64 = 365 * 86_400_000;

fn block(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = session(given, io)?;
    let reason = cut(&redact(text(given, "reason").unwrap_or_default()), 2000).to_owned();
    let by = if io.env.client.is_around { "a tool call" } else { "a person" }.to_owned();
    let mut ledger = Ledger::at(io.env, &found.path, &found.session_id)?;
    ledger.append(io.env, vec![Fact::Block(Blocked { by, reason: reason.clone() })])?;
    ledger.exported()?;
    append::add(io.env, &found.session_id, &found.path, Commands::Held)?;
    let id = &found.session_id;
    let words = format!("blocked session {id}\nhint: clear it with `aops-hook clear-block {id}`");
    io.answer(&json!({"session_id": id, "blocked": true, "block_reason": reason}), words)
}

/// The only way to lift a block. If the folder is gone, it works from the exported head, which still says how
/// much was lost.
fn clear_block(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let exported = named_session(given).and_then(|name| sessions::exported(io.env, name));
    let (id, was, lost) = match (session(given, io), exported) {
        (Ok(found), _) => {
            // Read without the lock, since a person may take their time.
            let known = sessions::session(&found);
            confirm(known.as_ref().and_then(Session::blocked), &found.session_id, io)?;
            let mut ledger = Ledger::at(io.env, &found.path, &found.session_id)?;
            let was = ledger.session().blocked().is_some();
            let facts =
                if was { vec![Fact::Unblock(Unblocked { by: "a person".to_owned() })] } else { Vec::new() };
            ledger.append(io.env, facts)?;
            ledger.exported()?;
            append::add(io.env, &found.session_id, &found.path, Commands::Held)?;
            (found.session_id, was, false)
        }
        (Err(_), Some(head)) => {
            let id = head.session_id.clone();
            let was = head.blocked;
            confirm(head.reason.as_deref().filter(|_| was), &id, io)?;
            let lost = head.seq > 0;
            if was {
                heads::export(io.env, &Head { blocked: false, reason: None, ..head })?;
            }
            (id, was, lost)
        }
        (Err(error), None) => return Err(error),
    };
    let words = if was { "is no longer blocked" } else { "was not blocked" };
    let hint = if lost {
        format!("\nits ledger is missing\nhint: `aops-hook verify {id} --quarantine` begins a new one")
    } else {
        String::new()
    };
    let value = json!({"session_id": id, "blocked": false, "was_blocked": was});
    io.answer(&value, format!("session {id} {words}{hint}"))
}

/// On a terminal, shows the person the reason and asks for a yes.
fn confirm(reason: Option<&str>, id: &str, io: &mut Io) -> anyhow::Result<()> {
    let Some(reason) = reason.filter(|_| !io.yes && io::stdin().is_terminal()) else { return Ok(()) };
    let reason = one_line(reason, 2000);
    let question = format!("session {id} is blocked: {}\nclear the block? [y/N]: ", clean(&reason));
    if matches!(io.ask(question)?.unwrap_or_default().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    refused("the block stays\nhint: answer `y` to clear it; `aops-hook log` shows what led to it")
}

fn waive(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let word = |name: &str| text(given, name).unwrap_or_default();
    let gate = check_gate(word("gate"))?;
    let long = duration(word("for")).or_else(refused)?;
    let reason = word("reason").trim();
    if reason.is_empty() {
        return refused("a waiver needs a reason\nhint: add `--reason` with a few words; they are recorded");
    }
    let found = session(given, io)?;
    let until_ms = io.env.now_ms.saturating_add(long);
    let reason = cut(&redact(reason), 500).to_owned();
    let mut ledger = Ledger::at(io.env, &found.path, &found.session_id)?;
    let waiver = Waiver { gate: gate.into(), reason: reason.clone(), until_ms };
    ledger.append(io.env, vec![Fact::Waive(waiver)])?;
    let id = &found.session_id;
    let until = time::local_stamp(until_ms, east_of_utc(until_ms));
    let words = format!("`{gate}` is waived for {} (until {until}) in session {id}", time::age(long));
    io.answer(
        &json!({"session_id": id, "gate": gate.name(), "reason": reason, "until": time::timestamp(until_ms)}),
        words,
    )
}

fn check_gate(name: &str) -> anyhow::Result<GateId> {
    let gate = GateId::of(name);
    match NEVER.iter().find(|(never, _)| Some(*never) == gate) {
        Some((_, why)) => refused(format!("`{name}` cannot be waived\nhint: {why}")),
        None => gate.filter(|gate| GateId::WAIVABLE.contains(gate)).map_or_else(
            || {
                refused(format!(
                    "no gate `{name}`\nhint: one of {}",
                    GateId::WAIVABLE.map(GateId::name).join(", ")
                ))
            },
            Ok,
        ),
    }
}

/// `30s`, `10m`, `2h`, `1d` in milliseconds.
pub(super) fn duration(text: &str) -> Result<i64, String> {
    let odd = || format!("`{text}` is not a duration\nhint: write 30s, 10m, 2h or 1d");
    match time::period(text).ok_or_else(odd)? {
        long if long <= LONGEST_MS => Ok(long),
        _ => Err(format!(
            "`{text}` is longer than a year\n\
            hint: to switch a gate off for good, set it under `[gates]` in your configuration"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (text, ms) in
            [("30s", 30_000), ("10m", 600_000), ("2h", 7_200_000), ("1d", 86_400_000), ("365d", LONGEST_MS)]
        {
            assert_eq!(duration(text), Ok(ms), "{text}");
        }
        for odd in [
            "", "m", "10", "0m", "-5m", "+5m", "1.5h", "10 m", "10M", "10w", "ten", "366d",
            "99999999999999999999d", "5µ",
        ] {
            assert!(duration(odd).is_err(), "{odd}");
        }
    }
}
