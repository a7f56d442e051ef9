//! After a tryout, at the terminal: asks what each rule should do from now on, and how quiet it should be.
//! Without past sessions, asks only the latter.
//!
//! Asks, and writes the user's own file after a yes. Invariants: Enter changes nothing; an invalid file is
//! never written; if the administrator's bundle or the project's file overrides an answer, that is kept and
//! reported.

use super::Tried;
use super::tally::Answerable;
use crate::cli::{Io, policy_here, quiet, user_file};
use aops_core::config::in_force::InForce;
use aops_core::config::policy::{DangerLevel, Policy, QuietLevel, choose};
use aops_shell::danger::{Rule, Usual, rule};

/// How many answers may be misunderstood before a question is skipped.
const TRIES: usize = 3;

/// What the person wants.
#[derive(Default)]
struct Wishes {
    rules: Vec<(&'static Rule, DangerLevel)>,
    quiet: Option<(QuietLevel, &'static [&'static str])>,
}

pub(super) fn offer(io: &mut Io, tried: &Tried) -> anyhow::Result<()> {
    let now = policy_here(io)?;
    let Some(wishes) = ask(io, tried, &now)? else {
        writeln!(io.out, "\nnothing was changed")?;
        return Ok(());
    };
    if wishes.rules.is_empty() && wishes.quiet.is_none() {
        writeln!(io.out, "nothing to change")?;
        return Ok(());
    }
    write(io, &wishes, &now)
}

/// This person has no sessions to count, so the figures come from other people's lines
/// (`docs/benchmarks.md`). Asks nothing if the level is already set, or if the kernel cannot confine the
/// lines.
pub(super) fn offer_quiet_alone(io: &mut Io) -> anyhow::Result<()> {
    let now = policy_here(io)?;
    if !now.origins.of("quiet.allow").is_empty() || quiet::held(io, &now.policy.jail).is_err() {
        return Ok(());
    }
    writeln!(
        io.out,
        "\nwhich of the client's questions may be answered for you, if the jail confines the command?"
    )?;
    writeln!(io.out, "  off        none")?;
    writeln!(io.out, "  reading    commands that only read: 12 % of the questions that other people get")?;
    writeln!(
        io.out,
        "  contained  builds and tests too, confined to the project and without network: about half"
    )?;
    let Choice::Word(word) = choose_one(io, "quiet [off]: ", QuietLevel::WORDS)? else { return Ok(()) };
    match QuietLevel::of(word) {
        Some(level @ (QuietLevel::Reading | QuietLevel::Contained)) => {
            quiet::write_level(io, &now.project, level, &[]).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// `None` if nobody is there any more.
fn ask(io: &mut Io, tried: &Tried, now: &InForce) -> anyhow::Result<Option<Wishes>> {
    let mut wishes = Wishes::default();
    let rules = tried.tally.by_frequency();
    let found = rules.iter().filter_map(|(name, by)| Some((rule(name)?, by.counts.all())));
    writeln!(io.out, "\nEnter leaves each as it is")?;
    for (rule, stops) in found {
        let level = now.policy.danger_level(rule);
        let words = choices(rule);
        let question = format!("`{}` ({stops}): {}? [{}]: ", rule.id(), words.join(", "), level.name());
        match choose_one(io, &question, &words)? {
            Choice::Gone => return Ok(None),
            Choice::AsItIs => {}
            Choice::Word(word) => {
                let wanted = DangerLevel::of(word).filter(|wanted| *wanted != level);
                wishes.rules.extend(wanted.map(|wanted| (rule, wanted)));
            }
        }
    }
    match ask_quiet(io, tried, &now.policy)? {
        Choice::Gone => return Ok(None),
        Choice::AsItIs => {}
        Choice::Word(word) => {
            let level = QuietLevel::of(word).unwrap_or_default();
            let network: &[&str] =
                if level != QuietLevel::Off && asks_gh(io, tried)? { &["gh"] } else { &[] };
            let is_new = level != now.policy.quiet.allow || now.policy.quiet.network != network;
            wishes.quiet = Some((level, network)).filter(|_| is_new);
        }
    }
    Ok(Some(wishes))
}

fn choices(rule: &Rule) -> Vec<&'static str> {
    let first = if rule.usual == Usual::Keep { "keep" } else { "deny" };
    vec![first, "ask", "off"]
}

fn ask_quiet(io: &mut Io, tried: &Tried, policy: &Policy) -> anyhow::Result<Choice> {
    let Answerable { reading, contained, .. } = tried.tally.prompts.shell;
    let question = format!(
        "quiet, which answers for you (at most {reading} at reading, {} at contained): {}? [{}]: ",
        reading + contained,
        QuietLevel::WORDS.join(", "),
        policy.quiet.allow.name()
    );
    choose_one(io, &question, QuietLevel::WORDS)
}

fn asks_gh(io: &mut Io, tried: &Tried) -> anyhow::Result<bool> {
    let more = tried.tally.prompts.shell.with_gh;
    let question = format!("may `gh` use the network to read ({more} more)? [y/N]: ");
    Ok(io.ask(question)?.is_some_and(|answer| is_yes(&answer)))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.to_lowercase().as_str(), "y" | "yes")
}

enum Choice {
    AsItIs,
    Word(&'static str),
    /// Nobody is there any more.
    Gone,
}

/// Asks the person to choose one of these words; the beginning of a word is enough.
fn choose_one(io: &mut Io, question: &str, words: &[&'static str]) -> anyhow::Result<Choice> {
    for _ in 0..TRIES {
        let Some(answer) = io.ask(question)? else { return Ok(Choice::Gone) };
        let answer = answer.to_lowercase();
        let known = words.iter().find(|word| !answer.is_empty() && word.starts_with(&answer));
        match known {
            Some(word) => return Ok(Choice::Word(word)),
            None if answer.is_empty() => return Ok(Choice::AsItIs),
            None => writeln!(io.out, "one of {}; Enter leaves it as it is", words.join(", "))?,
        }
    }
    Ok(Choice::AsItIs)
}

/// The user's text with all the changes; `None` if it cannot be edited.
fn edit(old: &str, wishes: &Wishes) -> Option<String> {
    let mut text = old.to_owned();
    for (rule, level) in &wishes.rules {
        text = choose::set_danger(&text, rule.id(), *level)?;
    }
    match wishes.quiet {
        Some((level, network)) => choose::set_quiet(&text, level, network),
        None => Some(text),
    }
}

fn write(io: &mut Io, wishes: &Wishes, now: &InForce) -> anyhow::Result<()> {
    let edited = user_file::edit(io, &now.project, |old| edit(old, wishes), "`[danger]` and `[quiet]`")?;
    let shown = &edited.shown;
    for (rule, level) in &wishes.rules {
        writeln!(io.out, "danger rule `{}`: `{}`", rule.id(), level.name())?;
    }
    if let Some((level, network)) = wishes.quiet {
        let network = if network.is_empty() {
            String::new()
        } else {
            format!(", network for `{}`", network.join(", "))
        };
        writeln!(io.out, "quiet: `{}`{network}", level.name())?;
    }
    if !io.ask(format!("write this to `{shown}`? [y/N]: "))?.is_some_and(|answer| is_yes(&answer)) {
        writeln!(io.out, "nothing was changed")?;
        return Ok(());
    }
    edited.write(io)?;
    writeln!(io.out, "written to `{shown}`")?;
    tell_held(io, wishes, &edited.policy)
}

/// Reports the wishes that have no effect here.
fn tell_held(io: &mut Io, wishes: &Wishes, policy: &Policy) -> anyhow::Result<()> {
    for (rule, level) in &wishes.rules {
        let holds = policy.danger_level(rule);
        if holds != *level {
            writeln!(
                io.out,
                "in this folder `{}` stays `{}`: `aops-hook danger` says why",
                rule.id(),
                holds.name()
            )?;
        }
    }
    if wishes.quiet.is_some_and(|(level, _)| policy.quiet.allow != level) {
        let holds = policy.quiet.allow.name();
        writeln!(io.out, "in this folder quiet stays `{holds}`: `aops-hook policy` says why")?;
    }
    Ok(())
}
