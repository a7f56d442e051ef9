//! `danger`: shows the danger rules and switches one of them, everywhere or in this folder.
//!
//! Reads the configuration, and insights for how often a rule stopped something; writes only the user's file.
//! Invariants: an invalid file is never written; settings of the administrator's bundle and the project's own
//! file stay.

use super::range;
use super::table::{Cell, Tone};
use super::{
    Command, Io, allowed, flag, merge, operand, policy_here, refused, text, user_file, who_may, yes,
};
use anyhow::{Context, bail};
use aops_core::config::in_force::{CONFIG_FILE, InForce, read_policy};
use aops_core::config::policy::{DangerLevel, Folder, Layer, Source, choose};
use aops_core::insight::document::RuleCounts;
use aops_core::observe::own_changes;
use aops_core::system::files::{self, Found};
use aops_core::system::threads;
use aops_shell::danger::{RULES, Rule, rule};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "danger",
    about: "Show the danger rules, and switch one off, on, to ask or to deny",
    examples: &[
        (
            "aops-hook danger",
            "every rule, its setting, where that comes from, and what it stopped in the last 30 days",
        ),
        ("aops-hook danger git-discard", "one rule: what it finds, what passes, how to switch it"),
        ("aops-hook danger off git-discard --here", "`git reset --hard` passes in this project"),
        ("aops-hook danger deny publish-package", "never publish, without a question"),
        ("aops-hook danger on git-discard", "as it is shipped"),
    ],
    arguments: |row| {
        let id = operand("rule", "RULE", "Show this rule alone");
        row.args([yes().global(true), id]).subcommands(VERBS.iter().map(|verb| (verb.arguments)(verb.row())))
    },
    run,
};

pub(super) static VERBS: &[Command] = &[
    Command {
        name: "list",
        about: "Show every rule, its setting, where that comes from, and what it stopped lately",
        examples: &[("aops-hook danger list --json", "for a program")],
        arguments: |row| row,
        run: |_, io| list(io),
    },
    Command {
        name: "off",
        about: "Let pass what a rule finds",
        examples: &[("aops-hook danger off git-discard --here", "in this project alone")],
        arguments,
        run: |given, io| switch(given, io, Some(DangerLevel::Off)),
    },
    Command {
        name: "on",
        about: "Reset a rule to its default",
        examples: &[("aops-hook danger on git-discard", "a person is asked again")],
        arguments,
        run: |given, io| switch(given, io, None),
    },
    Command {
        name: "keep",
        about: "Keep what would be lost and let it pass; ask a person if it cannot be kept",
        examples: &[("aops-hook danger keep git-discard", "`aops-hook undo` brings it back")],
        arguments,
        run: |given, io| switch(given, io, Some(DangerLevel::Keep)),
    },
    Command {
        name: "ask",
        about: "Ask a person about what a rule finds; block it if nobody is there",
        examples: &[("aops-hook danger ask rm-system", "instead of blocking it at once")],
        arguments,
        run: |given, io| switch(given, io, Some(DangerLevel::Ask)),
    },
    Command {
        name: "deny",
        about: "Block what a rule finds, without a question",
        examples: &[("aops-hook danger deny git-force-push", "no person is asked any more")],
        arguments,
        run: |given, io| switch(given, io, Some(DangerLevel::Deny)),
    },
];

fn arguments(row: clap::Command) -> clap::Command {
    let id = operand("rule", "RULE", "A rule's name, as `aops-hook danger` shows it").required(true);
    row.args([id, flag("here", "Only in this project, as a `[[project]]` row in your own config.toml")])
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(code) = Command::run_verb("danger", VERBS, given, io)? {
        return Ok(code);
    }
    allowed("danger list", who_may("danger list"), io)?;
    match text(given, "rule") {
        Some(id) => show(named(id)?, io),
        None => list(io),
    }
}

fn named(id: &str) -> anyhow::Result<&'static Rule> {
    let none =
        || refused(format!("no danger rule `{}`\nhint: `aops-hook danger` lists them", id.escape_default()));
    rule(id.strip_prefix("danger.").unwrap_or(id)).map_or_else(none, Ok)
}

/// How far back the counts go.
const LATELY_MS: i64 = 30 * 86_400_000;

/// What each rule did in that time.
fn count_lately(io: &Io) -> BTreeMap<String, RuleCounts> {
    let found = range::all(io.env, Some(io.env.now_ms - LATELY_MS));
    let mut counts: BTreeMap<String, RuleCounts> = BTreeMap::new();
    for insights in threads::map(&found, |found| found.known_insights(io.env).ok()) {
        for (name, one) in &insights.rules {
            // A refusal of the guard itself may name a rule that found the same.
            let id = name.strip_prefix("danger:").or_else(|| name.strip_prefix("guard:"));
            if let Some(id) = id {
                counts.entry(id.to_owned()).or_default().add(one);
            }
        }
    }
    counts
}

fn to_json(now: &InForce, rule: &Rule, lately: &RuleCounts) -> Value {
    json!({
        "rule": rule.id(), "level": now.policy.danger_level(rule), "shipped": DangerLevel::shipped(rule),
        "from": from_json(now, rule), "severity": rule.severity.word(), "reason": rule.reason,
        "instead": rule.instead, "lately": lately,
    })
}

/// The counts of one rule as text: `2 asked, 1 stopped`, `1 stopped`, `3 kept`.
pub(super) fn describe_rule(counts: &RuleCounts) -> String {
    let words = [
        (counts.asked, "asked"),
        (counts.refused, "stopped"),
        (counts.kept, "kept"),
        (counts.warned, "warned"),
    ];
    // After questions, `0 stopped` is shown too: nobody said no.
    let told = words.iter().filter(|(n, word)| *n > 0 || *word == "stopped" && counts.asked > 0);
    told.map(|(n, word)| format!("{n} {word}")).collect::<Vec<_>>().join(", ")
}

fn show(rule: &Rule, io: &mut Io) -> anyhow::Result<u8> {
    let now = policy_here(io)?;
    let id = rule.id();
    let lately = count_lately(io).remove(rule.id()).unwrap_or_default();
    if io.json {
        let more = json!({"examples": rule.examples, "passes": rule.counter});
        return io.print(merge(to_json(&now, rule, &lately), more));
    }
    let level = now.policy.danger_level(rule);
    let means = match level {
        DangerLevel::Off => "passes",
        DangerLevel::Keep => {
            "what it would lose is kept first, and `aops-hook undo` brings it back; if it cannot be kept, \
            the command needs your approval"
        }
        DangerLevel::Ask => "needs your approval; blocked if nobody is there to ask",
        DangerLevel::Deny => "blocked",
    };
    let lines = |lines: &[&str]| lines.iter().map(|line| format!("`{line}`")).collect::<Vec<_>>().join(", ");
    io.facts([
        ("rule", format!("{id} ({}): {}", rule.severity.word(), rule.reason), Tone::Strong),
        ("setting", format!("{}, {}: {means}", level.name(), from(&now, rule)), Tone::Plain),
        ("finds", lines(rule.examples), Tone::Plain),
        ("passes", lines(rule.counter), Tone::Plain),
        ("instead", rule.instead.to_owned(), Tone::Plain),
        ("lately", describe_rule(&lately), Tone::Plain),
        (
            "change",
            format!("`aops-hook danger off|on|keep|ask|deny {id}`, with `--here` for this project alone"),
            Tone::Quiet,
        ),
    ])
}

fn list(io: &mut Io) -> anyhow::Result<u8> {
    let now = policy_here(io)?;
    let counts = count_lately(io);
    let none = RuleCounts::default();
    let lately = |rule: &Rule| counts.get(rule.id()).unwrap_or(&none);
    if io.json {
        return io.print(RULES.iter().map(|rule| to_json(&now, rule, lately(rule))).collect::<Value>());
    }
    let row = |rule: &Rule| {
        let level = now.policy.danger_level(rule);
        let tone = if level == DangerLevel::shipped(rule) { Tone::Plain } else { Tone::Warn };
        let level = Cell::new(level.name(), tone);
        let did = describe_rule(lately(rule));
        [rule.id().into(), level, from(&now, rule).into(), did.into(), rule.reason.into()]
    };
    let rows = RULES.iter().map(row).collect();
    io.table(["rule", "setting", "from", "last 30 days", "what it does"], rows)
}

/// Where a rule's setting comes from.
fn from(now: &InForce, rule: &Rule) -> String {
    let places = now.origins.of(rule.key);
    if places.is_empty() {
        "shipped".to_owned()
    } else {
        places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

fn from_json(now: &InForce, rule: &Rule) -> Value {
    let places = now.origins.of(rule.key).iter();
    places.map(|place| json!({"layer": place.layer, "file": place.file, "line": place.line})).collect()
}

/// Without a level, the rule goes back to its default.
fn switch(given: &ArgMatches, io: &mut Io, level: Option<DangerLevel>) -> anyhow::Result<u8> {
    let rule = named(text(given, "rule").unwrap_or_default())?;
    let here = given.get_flag("here");
    let as_shipped = level.is_none();
    let wanted =
        Wanted { rule, level: level.unwrap_or_else(|| DangerLevel::shipped(rule)), as_shipped, here };
    let project = policy_here(io)?.project;
    let place = project.to_string_lossy();
    let home = io.env.home.to_string_lossy();
    let folder = Folder { path: &place, home: &home };
    if wanted.here {
        user_file::check_covers_one(io.env, &project, "a switch", "without `--here`")?;
    }
    let (file, old, new) = wanted.edit(io, folder)?;
    let shown = file.path.display().to_string();
    let (in_force, note) = wanted.check(io, &project, &shown, &new)?;
    file.check_writable().with_context(|| format!("`{shown}`"))?;
    if old != new {
        let parent = file.path.parent().unwrap_or(Path::new("/"));
        files::make_folders(parent, 0o777).with_context(|| format!("`{shown}`"))?;
        own_changes::announce(io.env, &file.path, Some(new.as_bytes()));
        file.replace(new.as_bytes(), 0o666).with_context(|| format!("`{shown}`"))?;
    }
    let verb = if old == new { "was set already" } else { "is set" };
    let for_folder = if wanted.here { format!(" for `{}`", choose::shorten(folder)) } else { String::new() };
    let place = wanted.describe_place(&shown, &old, &new);
    let words = format!("danger rule `{}`: `{}` {verb}{for_folder}{place}", rule.id(), wanted.level.name());
    let value = json!({
        "rule": rule.id(), "level": wanted.level, "here": wanted.here, "file": file.path,
        "changed": old != new,
        "in_force": in_force,
    });
    io.answer(&value, words + &note)
}

/// What a person wants of a rule.
struct Wanted {
    rule: &'static Rule,
    level: DangerLevel,
    /// Removes the setting instead, if that has the same effect.
    as_shipped: bool,
    /// Only in this project.
    here: bool,
}

impl Wanted {
    /// The user's file, its text, and the text with the switch.
    fn edit(&self, io: &Io, folder: Folder) -> anyhow::Result<(Found, String, String)> {
        let path = io.env.user_config.join(CONFIG_FILE);
        if !path.is_absolute() {
            bail!(
                "`HOME` is not set, so your configuration cannot be found\nhint: set `HOME` or \
                    `XDG_CONFIG_HOME`"
            );
        }
        let shown = path.display().to_string();
        let file = files::find(&path).with_context(|| format!("`{shown}`"))?;
        let old = String::from_utf8(file.bytes.clone().unwrap_or_default())
            .with_context(|| format!("`{shown}`"))?;
        let id = self.rule.id();
        let level = self.level;
        let new = match self.without(io, folder, &shown, &old) {
            Some(new) => Some(new),
            None if self.here => choose::set_folder_danger(&old, folder, id, level),
            None => choose::set_danger(&old, id, level),
        };
        let Some(new) = new else {
            return refused(format!(
                "`{shown}` has `danger` or `project` in a form that we cannot edit\n\
                hint: write `[danger]` and `{id} = \"{}\"` there yourself",
                level.name()
            ));
        };
        Ok((file, old, new))
    }

    /// The text without a setting for the rule, if the default then applies.
    fn without(&self, io: &Io, folder: Folder, file: &str, old: &str) -> Option<String> {
        if !self.as_shipped {
            return None;
        }
        let id = self.rule.id();
        let unset = if self.here {
            choose::unset_folder_danger(old, folder, id)
        } else {
            choose::unset_danger(old, id)
        };
        let text = unset.unwrap_or_else(|| old.to_owned());
        let read = || read_policy(io.env, Path::new(folder.path), Some(Source { file, text: &text })).ok();
        let is_shipped =
            !self.here || read().is_some_and(|(policy, _)| policy.danger_level(self.rule) == self.level);
        is_shipped.then_some(text)
    }

    fn describe_place(&self, file: &str, old: &str, new: &str) -> String {
        match (self.as_shipped, new.len().cmp(&old.len())) {
            (true, Ordering::Less) => format!(", its default: its line was removed from `{file}`"),
            (true, Ordering::Equal) if old == new => ", as it is shipped".to_owned(),
            _ => format!(" in `{file}`"),
        }
    }

    /// The level in this folder afterwards, and remarks about it. Refuses a setting that would have no
    /// effect.
    fn check(&self, io: &Io, project: &Path, file: &str, new: &str) -> anyhow::Result<(DangerLevel, String)> {
        let (policy, origins) = user_file::accepted(io, project, Source { file, text: new })?;
        let id = self.rule.id();
        let now = policy.danger_level(self.rule);
        if now == self.level {
            return Ok((now, String::new()));
        }
        let place = origins.of(self.rule.key).last();
        let by = place.map(ToString::to_string).unwrap_or_default();
        let holds = format!("`{id}` at `{}` ({by}), and yours cannot lower it", now.name());
        match place.map(|place| place.layer) {
            Some(Layer::Managed) => refused(format!(
                "the administrator's bundle holds {holds}\n\
                hint: ask who signs the bundle; `aops-hook bundle status` shows whose it is"
            )),
            Some(Layer::Project) if self.here => refused(format!(
                "this project's own file holds {holds}\n\
                hint: change that line if the project is yours to change"
            )),
            _ => Ok((now, format!("\nin this folder it stays `{}`, by {by}", now.name()))),
        }
    }
}
