//! `fleet`: the engine and the database that machines share, as `[fleet]` names them: the machines, what is
//! waiting, what is asked, and the sessions.
//!
//! Connects to the gateway and to the database. Invariant: no hook calls this or depends on it.

mod doctor;
mod on;
mod status;
mod approval;
mod login;
mod wait;

pub(super) use approval::resolve;
pub(super) use on::{runs, submit};

use super::{Command, Io, flag, operand, policy_here, refused, yes};
use crate::remote::database;
use aops_fleet::{Fleet, schema};
use approval::Answer;
use clap::ArgMatches;
use serde_json::json;

pub const COMMAND: Command = Command {
    name: "fleet",
    about: "What machines share: runs, approvals, sessions",
    examples: &[
        ("aops-hook fleet init", "make the tables in the database that `fleet.url` names"),
        ("aops-hook fleet status", "runs, approvals, machines"),
    ],
    arguments: |row| Command::verbs(VERBS, row.arg(yes().global(true))),
    run: |given, io| Ok(Command::run_verb("fleet", VERBS, given, io)?.unwrap_or(2)),
};

pub(super) static VERBS: &[Command] = &[
    Command {
        name: "init",
        about: "Make the tables, or bring them to this version",
        examples: &[("aops-hook fleet init", "safe to repeat, even concurrently")],
        arguments: |row| row,
        run: init,
    },
    Command {
        name: "status",
        about: "Show what waits, runs and is asked, and which machines are there",
        examples: &[("aops-hook fleet status --json", "for programs")],
        arguments: |row| row,
        run: status::run,
    },
    Command {
        name: "sessions",
        about: "List the sessions of all machines, from the database",
        examples: &[("aops-hook fleet sessions --json", "for programs")],
        arguments: |row| row,
        run: status::sessions,
    },
    Command {
        name: "approvals",
        about: "List what runs and sessions ask",
        examples: &[("aops-hook fleet approvals", "each with the id to answer it by")],
        arguments: |row| row,
        run: approval::list,
    },
    approval::verb(
        "approve",
        "Let a run continue with what it asked for (needs a person at a terminal)",
        &[("aops-hook fleet approve 20260113-1f3a9c02", "exactly the call or step that it asked about")],
        |given, io| approval::answer(given, io, Answer::Approve),
    ),
    approval::verb(
        "reject",
        "Tell a run that it may not; it ends (needs a person at a terminal)",
        &[("aops-hook fleet reject 20260113-1f3a9c02 --note 'use the other branch'", "with a reason")],
        |given, io| approval::answer(given, io, Answer::Reject),
    ),
    approval::verb(
        "block",
        "End a run now, whatever it does (needs a person at a terminal)",
        &[("aops-hook fleet block 20260113-1f3a9c02", "returns when nothing of its step is left")],
        |given, io| approval::answer(given, io, Answer::Block),
    ),
    Command {
        name: "release",
        about: "Begin the step of a run anew on another machine (needs a person at a terminal)",
        examples: &[(
            "aops-hook fleet release 20260113-1f3a9c02",
            "use this when the machine that holds the run's conversation is unreachable",
        )],
        arguments: |row| row.arg(operand("id", "ID", "The run").required(true)),
        run: on::release,
    },
    Command {
        name: "login",
        about: "Log in at the gateway with your organisation's account, by a code in a browser",
        examples: &[(
            "aops-hook fleet login",
            "prints an address and a code, and waits until you have used it",
        )],
        arguments: |row| row,
        run: login::run,
    },
    Command {
        name: "wait",
        about: "Wait for answers to this machine's sessions at the engine, and carry them out",
        examples: &[
            ("aops-hook fleet wait", "until it is stopped"),
            ("aops-hook fleet wait --once", "until no question is left"),
        ],
        arguments: |row| row.arg(flag("once", "End when no question is left")),
        run: wait::run,
    },
    Command {
        name: "doctor",
        about: "Check database, gateway, versions, key, clock, disk and jail, and who reaches whom",
        examples: &[("aops-hook fleet doctor", "each line says what to do where something is wrong")],
        arguments: |row| row,
        run: doctor::run,
    },
];

/// How many machines one answer lists.
const MOST: i64 = 1000;

fn nothing_shared<T>() -> anyhow::Result<T> {
    refused(
        "neither a database nor an engine is configured\nhint: set `fleet.engine` to the address of the \
            engine's gateway, or `fleet.url` to a PostgreSQL",
    )
}

/// The address of the database.
fn url(io: &Io) -> anyhow::Result<String> {
    match policy_here(io)?.policy.fleet.url {
        Some(url) => Ok(url),
        None => refused(
            "no database is configured\nhint: set `fleet.url` in your configuration, as \
                `postgresql://aops@db.example/aops`",
        ),
    }
}

fn open(io: &Io) -> anyhow::Result<Fleet> {
    Ok(database::open(io.env, &url(io)?)?)
}

fn init(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let before = database::open_any(io.env, &url(io)?)?.migrate()?;
    let now = schema::VERSION;
    let machine = database::machine(io.env)?;
    let words = match before {
        0 => format!("made the tables, version {now}"),
        old if old == now => format!("the tables have version {now} already"),
        old => format!("brought the tables from version {old} to {now}"),
    };
    io.answer(&json!({"version": now, "before": before, "machine": machine}), words)
}
