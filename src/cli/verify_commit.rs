//! `verify-commit`: whether each commit of a range was made under the guard, according to the commits' notes.
//!
//! Reads only a repository: no configuration, no ledger, and no network except with `--wait`.
//! Invariants: without keys or a list it does not run; what could not be checked exits with 3 and is never a
//! pass.

mod world;
mod gather;
mod told;
mod markdown;
mod forms;

use super::control::duration;
use super::{Command, Io, flag, operand, option, refused, text};
use crate::refusal::Refused;
use aops_attest::code::Code;
use aops_attest::envelope::LARGEST_NOTE;
use aops_attest::level::{Level, Property, Wish};
use aops_attest::logged::Trust;
use aops_attest::pool::{Around, Note, Pool};
use aops_attest::signers::Signer;
use aops_attest::verify::{People, Wanted, exit_code, verify};
use aops_attest::world::{Commit, World};
use aops_core::system::git::objects::Objects;
use aops_proof::key::{PublicKey, Use};
use clap::{ArgAction, ArgMatches};
use gather::{checked, unchecked};
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use told::Told;
use world::Repository;

/// The pause between two checks of `--wait`.
const PAUSE: Duration = Duration::from_secs(2);
/// The exit code if something was forged.
const FORGED: u8 = 4;
const FORMATS: [&str; 6] = ["text", "json", "sarif", "junit", "markdown", "vsa"];

pub const COMMAND: Command = Command {
    name: "verify-commit",
    about: "Check commits by the attestations in their notes: which session made them, under which guard",
    examples: &[
        (
            "aops-hook verify-commit origin/main..HEAD --signers origin/main:.aops/signers",
            "every commit of a branch, by the list of keys that its base has",
        ),
        ("aops-hook verify-commit HEAD --key KEY --require A2", "one commit, by a key that you name"),
        (
            "aops-hook verify-commit BASE..HEAD --signers BASE:.aops/signers --require A1,tests --format \
            markdown",
            "a paragraph for a pull request",
        ),
    ],
    arguments,
    run,
};

fn arguments(row: clap::Command) -> clap::Command {
    let many = |name, value, help| option(name, value, help).action(ArgAction::Append);
    let tests = option("tests", "WHERE", "Tests must have passed; `here`: on the very tree of the commit")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("any")
        .value_parser(["any", "here"]);
    row.args([
        operand(
            "range",
            "RANGE",
            "Commits, as in `git rev-list`: `main..HEAD`; one without dots is that commit",
        )
        .required(true),
        many("key", "KEY", "Trust this public key of a log (`aops-hook key export`)"),
        option("signers", "REF:PATH", "Trust the keys in this list, read from a commit: name the base"),
        many("witness", "KEY", "Trust this witness"),
        option("quorum", "N", "How many witnesses must have seen it; default: all")
            .requires("witness")
            .value_parser(clap::value_parser!(u64)),
        many("require", "LIST", "A level (A0 to A4) and properties, with commas; default: A0")
            .value_delimiter(','),
        flag("no-waiver", "The same as `--require no-waiver`"),
        tests,
        option(
            "people",
            "WHICH",
            "Commits without an attestation: signed by a person of the list, any, or none",
        )
        .value_parser(["signed", "any", "none"])
        .default_value("signed"),
        option("max-age", "TIME", "How old attestations may be: 90d"),
        option("wait", "TIME", "How long to wait for the notes, fetching them again: 120s"),
        option(
            "notes",
            "ADDRESS",
            "With `--wait`: fetch them from this repository, such as a fork; default: the remote",
        )
        .requires("wait"),
        many("from", "FILE", "Read attestations from this file too (`attest -o`)"),
        option("format", "FORM", "text, json, sarif, junit, markdown or vsa")
            .value_parser(FORMATS)
            .default_value("text"),
    ])
}

fn words<'a>(given: &'a ArgMatches, name: &str) -> impl Iterator<Item = &'a String> {
    given.get_many::<String>(name).unwrap_or_default()
}

fn keys(given: &ArgMatches, name: &str) -> anyhow::Result<Vec<PublicKey>> {
    words(given, name).map(|text| PublicKey::parse(text)).collect::<Result<_, _>>().or_else(refused)
}

fn wanted(given: &ArgMatches, io: &Io) -> anyhow::Result<Wanted> {
    let wish = |word: &String| {
        let names = || Property::ALL.map(Property::name).join(", ");
        let odd = || format!("`{word}` is neither a level nor a property\nhint: A0 to A4, {}", names());
        Wish::of(word.trim()).map_or_else(|| refused(odd()), Ok)
    };
    let mut wishes: Vec<Wish> = words(given, "require").map(wish).collect::<anyhow::Result<_>>()?;
    wishes.extend(given.get_flag("no-waiver").then_some(Wish::Property(Property::NoWaiver)));
    wishes.extend(text(given, "tests").map(|_| Wish::Property(Property::Tests)));
    if wishes.is_empty() {
        wishes.push(Wish::Level(Level::Recorded));
    }
    let people = match text(given, "people") {
        Some("any") => People::Any,
        Some("none") => People::None,
        _ => People::Signed,
    };
    let max_age = text(given, "max-age").map(duration).transpose().or_else(refused)?.map(|ms| ms / 1000);
    Ok(Wanted {
        wishes,
        tests_here: text(given, "tests") == Some("here"),
        people,
        max_age,
        now: io.env.now_ms / 1000,
    })
}

fn trusted(given: &ArgMatches, objects: &Objects, ids: &[String]) -> anyhow::Result<Trust> {
    let mut signers: Vec<Signer> = keys(given, "key")?.into_iter().map(Signer::of).collect();
    if let Some(place) = text(given, "signers") {
        signers.extend(gather::list(objects, place, text(given, "range").unwrap_or_default(), ids.len())?);
    }
    let witnesses = keys(given, "witness")?;
    if let Some(key) = witnesses.iter().find(|key| key.used == Use::Note) {
        return refused(format!(
            "`{}` is not the key of a witness\nhint: `aops-hook witness serve` prints one",
            key.name
        ));
    }
    Ok(Trust { signers, witnesses, quorum: given.get_one::<u64>("quorum").copied() })
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let said = look(given, io);
    let unchecked =
        said.as_ref().err().and_then(|error| error.downcast_ref::<Refused>()).filter(|no| no.code == 3);
    match unchecked {
        Some(no) if format(given, io) == "json" => {
            let value =
                json!({"ok": false, "exit": 3, "code": Code::Objects.name(), "why": no.words, "commits": []});
            io.print(value).map(|_| 3)
        }
        _ => said,
    }
}

fn format<'a>(given: &'a ArgMatches, io: &Io) -> &'a str {
    if io.json { "json" } else { text(given, "format").unwrap_or_default() }
}

fn look(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if text(given, "signers").is_none() && words(given, "key").next().is_none() {
        return refused("whose word counts?\nhint: `--signers origin/main:.aops/signers`, or `--key KEY`");
    }
    let range = text(given, "range").unwrap_or_default().to_owned();
    let wanted = wanted(given, io)?;
    let patience = text(given, "wait").map(duration).transpose().or_else(refused)?.unwrap_or(0);
    let end = Instant::now() + Duration::from_millis(u64::try_from(patience).unwrap_or(0));
    let env = io.env;
    let objects = Objects::open(env).or_else(unchecked)?;
    let ids = gather::range(&objects, &range)?;
    let trust = trusted(given, &objects, &ids)?;
    let named = named(given, io)?;
    let address = address(given)?;
    let mut world = Repository { objects: &objects, signers: &trust.signers };
    let commits: Option<Vec<Commit>> = checked(world.commits(&ids))?.into_iter().collect();
    let Some(commits) = commits else { return unchecked("commits of the range are missing") };
    let roots = gather::roots(&objects, &ids)?;
    loop {
        let notes = [checked(gather::notes(&objects))?, named.clone()].concat();
        let pool = pool(&objects, &notes, Around { trust: &trust, roots: &roots, now: wanted.now })?;
        let findings = checked(verify(&commits, &pool, &trust, &wanted, &mut world))?;
        // Waiting does not make a forgery valid.
        let is_over = matches!(exit_code(&findings), 0 | FORGED) || Instant::now() >= end;
        if is_over {
            let told =
                Told { findings: &findings, pool: &pool, trust: &trust, wanted: &wanted, range: &range };
            return print(given, &told, io);
        }
        thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
        gather::fetch(&objects, address.as_deref());
    }
}

/// All statements of these notes. Statements from a shallow clone count if the commit where it was cut is in
/// this history.
fn pool(objects: &Objects, notes: &[(Option<String>, Note)], around: Around) -> anyhow::Result<Pool> {
    let pool = Pool::read(notes, around);
    if pool.strange_roots.is_empty() {
        return Ok(pool);
    }
    let more = checked(gather::of_history(objects, &pool.strange_roots, around.roots))?;
    if more.is_empty() {
        return Ok(pool);
    }
    Ok(Pool::read(notes, Around { roots: &[around.roots, &more].concat(), ..around }))
}

/// The address to fetch notes from, which must not be read as an option.
fn address(given: &ArgMatches) -> anyhow::Result<Option<String>> {
    let address = text(given, "notes").map(str::to_owned);
    match &address {
        Some(odd) if odd.is_empty() || odd.starts_with('-') => {
            refused(format!("`{odd}` is not the address of a repository"))
        }
        _ => Ok(address),
    }
}

/// Files that a person named, as notes that may be about any commit.
fn named(given: &ArgMatches, io: &Io) -> anyhow::Result<Vec<(Option<String>, Note)>> {
    let read = |path: &String| {
        let mut bytes = Vec::new();
        let opened = File::open(io.env.from_here(Path::new(path)));
        let read = opened.and_then(|file| file.take(LARGEST_NOTE as u64 + 1).read_to_end(&mut bytes));
        read.or_else(|error| {
            unchecked(format!("`{path}`: {error}\nhint: `--from` names what `attest -o` wrote"))
        })?;
        let is_whole = bytes.len() <= LARGEST_NOTE;
        Ok((None, if is_whole { Note::Text(bytes) } else { Note::TooLarge }))
    };
    words(given, "from").map(read).collect()
}

fn print(given: &ArgMatches, told: &Told, io: &mut Io) -> anyhow::Result<u8> {
    match format(given, io) {
        "json" => io.print(told.to_json())?,
        "sarif" => io.print(forms::sarif(told))?,
        "junit" => io.print(forms::junit(told))?,
        "vsa" => io.print(forms::vsa(told, io.env.now_ms))?,
        "markdown" => io.print(markdown::paragraph(told))?,
        _ => told.print(io)?,
    };
    Ok(exit_code(told.findings))
}
