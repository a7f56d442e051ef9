//! Prints each effective value with where it came from.

use crate::cli::Io;
use crate::cli::table::{Cell, Table, Tone};
use crate::config::in_force::InForce;
use crate::config::policy::key::KEYS;
use crate::config::policy::value::effect_word;
use crate::config::policy::{Check, Rule, SourceLine};
use crate::config::texts::Origin;
use crate::text::sha256::sha256;
use serde::Serialize;
use serde_json::{Value, json};

pub(super) fn run(io: &mut Io, now: &InForce) -> anyhow::Result<()> {
    if io.json {
        writeln!(io.out, "{}", value(now))?;
        return Ok(());
    }
    let mut table = Table::new(&["key", "value", "from"]);
    for key in KEYS {
        row(&mut table, key.name, &(key.get)(&now.policy).to_string(), now, io);
    }
    for rule in &now.policy.rules {
        row(&mut table, &format!("rule.{}", rule.id), &rule_words(rule), now, io);
    }
    for check in &now.policy.checks {
        row(&mut table, &format!("check.{}", check.id), &check_words(check), now, io);
    }
    for text in now.texts.texts.iter().filter(|text| text.origin != Origin::Embedded) {
        let digest = sha256(&[text.text.as_bytes()]);
        let file = Cell::new(short(&text.file, io), Tone::Strong);
        table.row([Cell::from(text.name()), Cell::from(&digest[..12]), file]);
    }
    table.print(io)?;
    // Apart from the table on a terminal: a column of 64 digits leaves no room for the places.
    let gap = if io.terminal { "\nhash  " } else { "hash\t" };
    Ok(writeln!(io.out, "{gap}{}", now.hash)?)
}

fn row(table: &mut Table, key: &str, value: &str, now: &InForce, io: &Io) {
    let places = now.origins.of(key).iter().map(|place| short(&place.to_string(), io));
    let places: Vec<String> = places.collect();
    let from = match places.as_slice() {
        [] => Cell::new("default", Tone::Quiet),
        places => Cell::new(places.join(", "), Tone::Strong),
    };
    table.row([Cell::from(key), Cell::from(value), from]);
}

/// A path as people write it; programs get it whole.
fn short(path: &str, io: &Io) -> String {
    let home = io.env.home.to_string_lossy();
    match path.strip_prefix(&*home).filter(|rest| io.terminal && rest.starts_with('/')) {
        Some(rest) => format!("~{rest}"),
        None => path.to_owned(),
    }
}

/// A rule in a line: what it does, then its conditions.
fn rule_words(rule: &Rule) -> String {
    let effects: Vec<String> = rule.effect.iter().map(|effect| effect_word(*effect).to_owned()).collect();
    let conditions = [("tool", &rule.tool), ("path", &rule.path), ("command", &rule.command), ("effect", &effects)];
    let named = conditions.iter().filter(|(_, list)| !list.is_empty());
    let words: Vec<String> = named.map(|(name, list)| format!(" {name} {}", list.join(" | "))).collect();
    format!("{}{}", rule.action.word(), words.concat())
}

/// A check in a line: before what, and the command.
fn check_words(check: &Check) -> String {
    format!("before {}: {}", check.on.word(), check.run)
}

fn value(now: &InForce) -> Value {
    let settings = KEYS.iter().map(|key| {
        let value = json!({"key": key.name, "value": (key.get)(&now.policy).json()});
        with_origin(value, now.origins.of(key.name))
    });
    let rules = now.policy.rules.iter().map(|rule| entry(rule, now.origins.of(&format!("rule.{}", rule.id))));
    let checks = now.policy.checks.iter().map(|check| entry(check, now.origins.of(&format!("check.{}", check.id))));
    let texts = now.texts.texts.iter().map(|text| {
        let digest = sha256(&[text.text.as_bytes()]);
        json!({"name": text.name(), "sha256": digest, "from": text.origin, "file": text.file})
    });
    json!({
        "hash": now.hash,
        "project": now.project,
        "settings": settings.collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
        "checks": checks.collect::<Vec<_>>(),
        "texts": texts.collect::<Vec<_>>(),
    })
}

fn entry<T: Serialize>(stored: &T, places: &[SourceLine]) -> Value {
    with_origin(serde_json::to_value(stored).unwrap_or_default(), places)
}

/// `from` is the last word's: default, user or project; every place that had a say is listed.
fn with_origin(mut value: Value, places: &[SourceLine]) -> Value {
    value["from"] = places.last().map_or_else(|| "default".into(), |place| json!(place.layer));
    value["at"] = places.iter().map(|place| json!({"file": place.file, "line": place.line})).collect();
    value
}
