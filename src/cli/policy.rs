//! `policy`: shows what is in force, as values, as one hash, and compared with what a session recorded.
//!
//! Reads configuration, texts and one session, writes nothing. Invariant: shows all of it or, with exit code
//! 2, all that is wrong.

mod examples;

use super::table::{Cell, Tone, cut};
use super::{Command, Io, flag, operand, policy_here, refused, session, text};
use aops_core::config::in_force::{self, Form, InForce};
use aops_core::config::policy::key::KEYS;
use aops_core::config::policy::value::effect_word;
use aops_core::config::policy::{Rule, SourceLine, idle};
use aops_core::config::texts::Origin;
use aops_core::gate::never;
use aops_core::ledger::session_folder::dashed;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::text::sha256::sha256;
use aops_core::text::stored::canonical;
use clap::ArgMatches;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub const COMMAND: Command = Command {
    name: "policy",
    about: "Show the policy in force, its hash, or what changed since a session began",
    examples: &[
        ("aops-hook policy", "every effective value, and the file and line it comes from"),
        ("aops-hook policy hash", "one hash over configuration, agents, workflows, axioms and templates"),
        ("aops-hook policy diff", "what changed since the newest session of this project recorded it"),
        (
            "aops-hook policy show --test",
            "try every rule, and `[effects]`, on their `examples`; exit code 1 if one fails or can never \
            match",
        ),
        ("aops-hook policy show --json | jq .settings", "for programs"),
    ],
    arguments: |row| {
        let what = operand("what", "WHAT", "What to print").value_parser(["show", "hash", "diff"]);
        let session = "With `diff`: a session's id, the beginning of one, or nothing for the newest here";
        row.arg(what.default_value("show"))
            .arg(operand("session", "SESSION", session))
            .arg(flag("test", "With `show`: try every rule and `[effects]` on their examples instead"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let what = text(given, "what").unwrap_or("show");
    if what != "diff" && given.contains_id("session") {
        return refused(format!(
            "`policy {what}` is about today, not about a session\n\
            hint: `aops-hook policy diff SESSION` compares"
        ));
    }
    let test = given.get_flag("test");
    if test && what != "show" {
        return refused("`--test` goes with `show`\nhint: `aops-hook policy show --test`");
    }
    let now = policy_here(io)?;
    match what {
        _ if test => examples::try_all(io, &now),
        "hash" => io.answer(&json!({"hash": now.hash}), &now.hash),
        "diff" => diff(given, io, &now),
        _ => show(io, &now),
    }
}

/// Each effective value with its source.
fn show(io: &mut Io, now: &InForce) -> anyhow::Result<u8> {
    if io.json {
        return io.print(to_json(now));
    }
    let keys = KEYS.iter().map(|key| (key.name.to_owned(), key.get(&now.policy).to_string()));
    let rules = now.policy.rules.iter().map(|rule| (format!("rule.{}", rule.id), describe_rule(rule)));
    let checks = now.policy.checks.iter();
    let checks = checks
        .map(|check| (format!("check.{}", check.id), format!("before {}: {}", check.on.name(), check.run)));
    let mut rows: Vec<_> =
        keys.chain(rules).chain(checks).map(|(key, value)| row(&key, &value, now, io)).collect();
    for text in now.texts.texts.iter().filter(|text| text.origin != Origin::Embedded) {
        let digest = sha256(&[text.text.as_bytes()]);
        let file = Cell::new(short(&text.file, io), Tone::Strong);
        rows.push([Cell::from(text.name()), Cell::from(&digest[..12]), file]);
    }
    io.table(["key", "value", "from"], rows)?;
    // Not part of the table on a terminal: a column of 64 digits would leave no room for the sources.
    let gap = if io.terminal { "\nhash  " } else { "hash\t" };
    io.print(format!("{gap}{}", now.hash))?;
    without_effect(now).iter().try_for_each(|idle| writeln!(io.out, "note: {idle}"))?;
    Ok(0)
}

/// Settings that change nothing, and rules that match nothing.
fn without_effect(now: &InForce) -> Vec<idle::Idle<'_>> {
    let mut all = idle::find(&now.policy, &now.origins);
    all.extend(never::find(&now.policy, &now.origins));
    all
}

fn row(key: &str, value: &str, now: &InForce, io: &Io) -> [Cell; 3] {
    let places: Vec<String> = now.origins.of(key).iter().map(|place| short(&place.to_string(), io)).collect();
    let from = match places.as_slice() {
        [] if is_from_mode(key, now) => {
            Cell::new(format!("mode {}", now.policy.mode.level().name()), Tone::Plain)
        }
        [] => Cell::new("default", Tone::Quiet),
        places => Cell::new(places.join(", "), Tone::Strong),
    };
    // On a terminal a value is cut to leave room for key and source; in a pipe and with `--json` it is
    // complete.
    let value = io.width.map_or(value.into(), |width| cut(value, width.saturating_sub(56).max(24)));
    [Cell::from(key), Cell::from(value), from]
}

/// Whether no file names the level of this gate, but a file names the mode.
fn is_from_mode(key: &str, now: &InForce) -> bool {
    let unnamed = key.starts_with("gates.") && now.origins.of(key).is_empty();
    unnamed && !now.origins.of("mode.level").is_empty()
}

/// A path as people write it; programs get it in full.
fn short(path: &str, io: &Io) -> String {
    let home = io.env.home.to_string_lossy();
    match path.strip_prefix(&*home).filter(|rest| io.terminal && rest.starts_with('/')) {
        Some(rest) => format!("~{rest}"),
        None => path.to_owned(),
    }
}

/// A rule on one line: what it does, then its conditions.
fn describe_rule(rule: &Rule) -> String {
    let effects: Vec<String> = rule.effect.iter().map(|effect| effect_word(*effect).to_owned()).collect();
    let conditions =
        [("tool", &rule.tool), ("path", &rule.path), ("command", &rule.command), ("effect", &effects)];
    let named = conditions.iter().filter(|(_, list)| !list.is_empty());
    let words: Vec<String> = named.map(|(name, list)| format!(" {name} {}", list.join(" | "))).collect();
    format!("{}{}", rule.action.name(), words.concat())
}

fn to_json(now: &InForce) -> Value {
    let settings = KEYS.iter().map(|key| {
        let value = json!({"key": key.name, "value": key.get(&now.policy).json()});
        if is_from_mode(key.name, now) {
            let mut value = with_origin(value, now.origins.of("mode.level"));
            value["from"] = json!("mode");
            return value;
        }
        with_origin(value, now.origins.of(key.name))
    });
    let rules = now.policy.rules.iter().map(|rule| entry(rule, now.origins.of(&format!("rule.{}", rule.id))));
    let checks =
        now.policy.checks.iter().map(|check| entry(check, now.origins.of(&format!("check.{}", check.id))));
    let texts = now.texts.texts.iter().map(|text| {
        let digest = sha256(&[text.text.as_bytes()]);
        json!({"name": text.name(), "sha256": digest, "from": text.origin, "file": text.file})
    });
    let idle = without_effect(now);
    let idle = idle
        .iter()
        .map(|one| json!({"key": one.key, "why": one.why, "file": one.at.file, "line": one.at.line}));
    json!({
        "hash": now.hash,
        "without_effect": idle.collect::<Vec<_>>(),
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

/// `from` is the source that decides: default, user or project; every source with a value is listed.
fn with_origin(mut value: Value, places: &[SourceLine]) -> Value {
    value["from"] = places.last().map_or_else(|| "default".into(), |place| json!(place.layer));
    value["at"] = places.iter().map(|place| json!({"file": place.file, "line": place.line})).collect();
    value
}

/// One difference; `None` on a side that lacks the value.
#[derive(Serialize)]
struct Change {
    name: String,
    then: Option<String>,
    now: Option<String>,
}

/// Compares what a session recorded with what is in force today.
fn diff(given: &ArgMatches, io: &mut Io, now: &InForce) -> anyhow::Result<u8> {
    let shelved = session(given, io)?;
    check_project(io, &shelved, now)?;
    let recorded = match sessions::state(&shelved) {
        Some(state) => state.policy_hash,
        None => sessions::check(io.env, &shelved)?.session.state.into_inner().policy_hash,
    };
    let then = in_force::kept(io.env, &recorded);
    let changes = then.as_ref().map(|then| changes(then, &now.form()));
    let id = &shelved.session_id;
    let same = recorded == now.hash;
    if io.json {
        let said = json!({"session_id": id, "recorded": recorded, "now": now.hash, "same": same,
        "changes": changes});
        return io.print(said);
    }
    if same {
        return io.print(format!("unchanged since session {id}: {recorded}"));
    }
    writeln!(io.out, "session {id}\nrecorded  {recorded}\nnow       {}", now.hash)?;
    let Some(changes) = changes else {
        return io.print("the recorded policy was not kept, so only the hashes can be compared");
    };
    let side = |value: &Option<String>, tone| match value {
        // The beginning of a digest is enough to see a change of text.
        Some(text) if is_digest(text) => Cell::new(&text[..12], tone),
        Some(text) => Cell::new(text, tone),
        None => Cell::new("-", Tone::Quiet),
    };
    let row = |change: &Change| {
        [(&change.name).into(), side(&change.then, Tone::Bad), side(&change.now, Tone::Good)]
    };
    io.table(["changed", "then", "now"], changes.iter().map(row).collect())
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Today's policy belongs to the working directory: comparing it with another project's session would say
/// nothing.
fn check_project(io: &Io, shelved: &SessionOnDisk, now: &InForce) -> anyhow::Result<()> {
    let name = shelved.path.parent().and_then(|p| p.file_name()).unwrap_or_default().to_string_lossy();
    let above = io.env.cwd.ancestors().any(|folder| dashed(&folder.to_string_lossy()) == *name);
    let inside = name.starts_with(&dashed(&now.project.to_string_lossy()));
    if above || inside {
        return Ok(());
    }
    refused(format!(
        "session `{}` is of another project, `{name}`\nhint: run this in that project's folder",
        shelved.session_id
    ))
}

fn changes(then: &Form, now: &Form) -> Vec<Change> {
    let mut then = lines(then);
    let mut now = lines(now);
    let names: BTreeSet<String> = then.keys().chain(now.keys()).cloned().collect();
    let each =
        names.into_iter().map(|name| Change { then: then.remove(&name), now: now.remove(&name), name });
    each.filter(|change| change.then != change.now).collect()
}

/// Everything that a hash covers, each with a name and a string that changes when it changes.
fn lines(form: &Form) -> BTreeMap<String, String> {
    let keys = KEYS.iter().map(|key| (key.name.to_owned(), key.get(&form.policy).to_string()));
    let rules = form.policy.rules.iter().map(|rule| (format!("rule.{}", rule.id), canonical(rule)));
    let checks = form.policy.checks.iter().map(|check| (format!("check.{}", check.id), canonical(check)));
    let texts = form.texts.iter().map(|(name, digest)| (name.clone(), digest.clone()));
    keys.chain(rules).chain(checks).chain(texts).collect()
}
