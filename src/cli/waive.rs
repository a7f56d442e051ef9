//! Waives one gate for a while: needs a person.
//!
//! Writes one entry. Invariants: it ends by itself, it says why, and what protects the guard cannot be lifted at all.

use super::{Command, Io, Who, refused, session};
use crate::ledger::open::Ledger;
use crate::session::fact::Fact;
use crate::session::state::Waiver;
use crate::text::json::cut;
use crate::text::redact::redact;
use crate::text::time;
use clap::{Arg, ArgMatches};
use serde_json::json;

pub const COMMAND: Command = Command {
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
    who: Who::AtTerminal,
    arguments,
    run,
};

/// Gates that can be waived; a prompt that begins with a dot waives them all.
pub const GATES: [&str; 8] = ["sandbox", "audit", "checks", "qa", "reflect", "close", "commit", "push"];

/// Gates that cannot be waived, and why.
const NEVER: [(&str, &str); 3] = [
    ("block", "clear the block with `aops-hook clear-block`"),
    ("guard", "it protects the ledger and the settings; edit those files yourself"),
    ("rules", "change the rule in your configuration"),
];

/// For longer than this, change the configuration instead.
const LONGEST_MS: i64 = 365 * 86_400_000;

fn arguments(row: clap::Command) -> clap::Command {
    let gate = Arg::new("gate").value_name("GATE").required(true);
    let long = Arg::new("for").long("for").value_name("TIME").required(true).allow_hyphen_values(true);
    let reason = Arg::new("reason").long("reason").value_name("TEXT").required(true);
    let session = Arg::new("session").long("session").value_name("ID");
    row.arg(gate.help("sandbox, audit, checks, qa, reflect or close"))
        .arg(long.help("How long: 30s, 10m, 2h, 1d"))
        .arg(reason.help("Why; it is recorded and shown"))
        .arg(session.help("A session's id or the beginning of one; else the newest in this project"))
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let word = |name: &str| given.get_one::<String>(name).map(String::as_str).unwrap_or_default();
    let gate = known(word("gate"))?;
    let long = duration(word("for")).or_else(refused)?;
    let reason = word("reason").trim();
    if reason.is_empty() {
        return refused("a waiver needs a reason\nhint: add `--reason` with a few words; they are recorded");
    }
    let found = session(given, io)?;
    let until_ms = io.env.now_ms.saturating_add(long);
    let reason = cut(&redact(reason), 500).to_owned();
    let mut ledger = Ledger::at(io.env, &found.path, &found.session_id)?;
    let waiver = Waiver { gate: gate.to_owned(), reason: reason.clone(), until_ms };
    ledger.append(io.env, vec![Fact::Waive(waiver)])?;
    let (id, until) = (&found.session_id, time::timestamp(until_ms));
    if io.json {
        let said = json!({"session_id": id, "gate": gate, "reason": reason, "until": until});
        writeln!(io.out, "{said}")?;
    } else {
        writeln!(io.out, "`{gate}` is waived for {} (until {until}) in session {id}", time::age(long))?;
    }
    Ok(0)
}

fn known(gate: &str) -> anyhow::Result<&'static str> {
    if let Some(known) = GATES.iter().find(|known| **known == gate) {
        return Ok(known);
    }
    match NEVER.iter().find(|(name, _)| *name == gate) {
        Some((name, why)) => refused(format!("`{name}` cannot be waived\nhint: {why}")),
        None => refused(format!("no gate `{gate}`\nhint: one of {}", GATES.join(", "))),
    }
}

/// `30s`, `10m`, `2h`, `1d` in milliseconds.
pub(super) fn duration(text: &str) -> Result<i64, String> {
    let odd = || format!("`{text}` is not a duration\nhint: write 30s, 10m, 2h or 1d");
    let unit = match text.chars().last() {
        Some('s') => 1_000,
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        Some('d') => 86_400_000,
        _ => return Err(odd()),
    };
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(odd());
    }
    let long = digits.parse::<i64>().ok().and_then(|n| n.checked_mul(unit)).unwrap_or(i64::MAX);
    match long {
        0 => Err(odd()),
        1..=LONGEST_MS => Ok(long),
        _ => Err(format!(
            "`{text}` is longer than a year\nhint: to switch a gate off for good, set it under `[gates]` in your configuration"
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
            "",
            "m",
            "10",
            "0m",
            "-5m",
            "+5m",
            "1.5h",
            "10 m",
            "10M",
            "10w",
            "ten",
            "366d",
            "99999999999999999999d",
            "5µ",
        ] {
            assert!(duration(odd).is_err(), "{odd}");
        }
    }
}
