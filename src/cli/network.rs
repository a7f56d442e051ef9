//! `network`: shows which hosts commands reach, and saves a person's answer about one.
//!
//! Reads the configuration and the sessions of this project; `allow` and `deny` write the user's file and
//! tell the networks of running sessions. Invariant: if the administrator's bundle or the project's own file
//! overrides the answer, that is kept and reported.

mod hold;

use super::table::{Cell, Tone};
use super::{Command, Io, allowed, flag, operand, policy_here, refused, text, user_file, who_may, yes};
use aops_core::config::in_force;
use aops_core::config::policy::network::{Network, NetworkMode};
use aops_core::config::policy::{Folder, choose};
use aops_core::jail::network;
use aops_core::ledger::open::Ledger;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::session::fact::{Fact, NetworkChange, NetworkChanged};
use aops_core::session::fold::Session;
use aops_core::system::signal;
use aops_core::text::plain::count;
use aops_network::counts::{Counts, Row};
use aops_network::list::{List, Mode, Pattern, Refusal, Verdict, Word, spelt};
use aops_network::name::Name;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const COMMAND: Command = Command {
    name: "network",
    about: "Show which hosts commands reach by name, and allow or deny one",
    examples: &[
        ("aops-hook network", "the mode, what the last session reached, and which hosts it wanted"),
        ("aops-hook network list", "every host on the list, who allowed it, and what went there"),
        ("aops-hook network allow registry.example", "commands in this project reach it, at once"),
        ("aops-hook network allow db.example:5432", "at a port other than 443, 80 and 22"),
        ("aops-hook network deny gist.example --everywhere", "never, in any project"),
        ("aops-hook network hold", "commands reach what they reached before, and nothing else"),
        ("aops-hook network watch", "a line for each host as it is reached or refused"),
    ],
    arguments: |row| {
        row.arg(yes().global(true)).subcommands(VERBS.iter().map(|verb| (verb.arguments)(verb.row())))
    },
    run,
};

pub(super) static VERBS: &[Command] = &[
    Command {
        name: "list",
        about: "Show every host on the list, who allowed it, and what went there",
        examples: &[("aops-hook network list --json", "for a program")],
        arguments: |row| row,
        run: |_, io| list(io),
    },
    Command {
        name: "allow",
        about: "Let commands in this project reach a host; at once, in running sessions too",
        examples: &[("aops-hook network allow '*.internal.example'", "every host below it")],
        arguments,
        run: |given, io| answer(given, io, Answer::Allow),
    },
    Command {
        name: "deny",
        about: "Never let commands in this project reach a host; closes open connections",
        examples: &[("aops-hook network deny gist.example", "and nobody is asked about it any more")],
        arguments,
        run: |given, io| answer(given, io, Answer::Deny),
    },
    Command {
        name: "hold",
        about: "Show the hosts that all sessions reached, and hold commands to them",
        examples: &[("aops-hook network hold", "after a week of `[network] mode = \"observe\"`")],
        arguments: |row| row,
        run: |_, io| hold::run(io),
    },
    Command {
        name: "watch",
        about: "Print a line for each host as running sessions here reach it or are refused",
        examples: &[("aops-hook network watch --json", "for a program")],
        arguments: |row| row,
        run: |_, io| watch(io),
    },
];

fn arguments(row: clap::Command) -> clap::Command {
    let host = operand("host", "HOST", "A host by its name: `host`, `*.host` or `host:port`").required(true);
    row.args([host, flag("everywhere", "In every project, as `[network]` of your own file")])
}

/// The session here: its folder, and its list.
struct Here {
    folder: PathBuf,
    list: Option<List>,
    counts: Counts,
}

fn newest(io: &Io) -> Option<Here> {
    let found = sessions::pick(io.env, None).ok()?;
    let list = network::list(&found.path);
    let counts = network::counts(&found.path).unwrap_or_default();
    Some(Here { folder: found.path, list, counts })
}

/// Hosts that were refused because they were on no list, and still are on none.
pub(super) fn wanted(list: &List, counts: &Counts) -> BTreeSet<String> {
    let open = |host: &str, port: u16, row: &Row| {
        let name = Name::of(host.as_bytes());
        let unlisted = |verdict| matches!(verdict, Verdict::Refuse(refusal) if Refusal::is_open(refusal));
        row.refused > 0 && name.is_some_and(|name| unlisted(list.judge(&name, port)))
    };
    counts
        .rows()
        .filter(|(host, port, row)| open(host, *port, row))
        .map(|(host, port, _)| spelt(host, port))
        .collect()
}

fn means(mode: NetworkMode) -> &'static str {
    match mode {
        NetworkMode::Off => "commands have the machine's network",
        NetworkMode::Observe => "every host is reached, and noted",
        NetworkMode::Ask => "hosts that are not on the list need your approval",
        NetworkMode::List => "only hosts on the list are reached",
    }
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(code) = Command::run_verb("network", VERBS, given, io)? {
        return Ok(code);
    }
    allowed("network", who_may("network"), io)?;
    let policy = policy_here(io)?.policy;
    let mode = policy.network.mode;
    let here = newest(io);
    let running = here.as_ref().is_some_and(|here| network::is_running(&here.folder));
    let read = here.as_ref().filter(|_| running).and_then(|here| network::describe_reading(&here.folder));
    let list = here.as_ref().and_then(|here| here.list.clone()).or_else(|| policy.network.list());
    let counts = here.map(|here| here.counts).unwrap_or_default();
    let wanted = list.as_ref().map(|list| wanted(list, &counts)).unwrap_or_default();
    if io.json {
        return io.print(json!({
            "mode": mode, "running": running, "hosts": hosts_json(&counts), "wanted": wanted,
            "allow": policy.network.allow, "deny": policy.network.deny,
        }));
    }
    let session = if running { "session" } else { "last session" };
    let names: Vec<String> = wanted.into_iter().collect();
    io.facts([
        ("network", format!("{}: {}", mode.name(), means(mode)), Tone::Strong),
        (session, list.map(|_| counts.describe()).unwrap_or_default(), Tone::Plain),
        ("read", read.unwrap_or_default(), Tone::Warn),
        ("wanted", names.join(", "), Tone::Warn),
        (
            "change",
            "`aops-hook network allow|deny HOST`; `[network] mode` in your configuration is `off`, \
            `observe`, `ask` or `list`"
                .to_owned(),
            Tone::Quiet,
        ),
    ])
}

fn hosts_json(counts: &Counts) -> Value {
    let row = |(host, port, row): (&str, u16, &Row)| {
        json!({
            "host": host, "port": port, "connections": row.connections, "up": row.up, "down": row.down,
            "refused": row.refused, "reason": row.why, "first": row.first, "last": row.last,
            "word": row.word.map(|word| word.to_string()),
        })
    };
    counts.rows().map(row).collect()
}

fn list(io: &mut Io) -> anyhow::Result<u8> {
    let policy = policy_here(io)?.policy;
    let here = newest(io);
    let (session, counts) = here.map_or_else(Default::default, |here| (here.list, here.counts));
    // With the mode off, shows the list that would apply.
    let written =
        Network { mode: policy.network.mode.max(NetworkMode::Observe), ..policy.network.clone() }.list();
    let Some(mut list) = written else { return Ok(0) };
    if let Some(session) = session {
        list.keep_from(&session, policy.network.derive);
    }
    let wanted = wanted(&List { mode: Mode::List, ..list.clone() }, &counts);
    let told = |pattern: &Pattern, word: Word| json!({"host": pattern.to_string(), "word": word.to_string()});
    if io.json {
        let rows =
            |all: &[(Pattern, Word)]| all.iter().map(|(one, word)| told(one, *word)).collect::<Value>();
        return io.print(json!({
            "mode": policy.network.mode, "allow": rows(&list.allow), "deny": rows(&list.deny),
            "wanted": wanted,
            "hosts": hosts_json(&counts),
        }));
    }
    let reached = |pattern: &Pattern| {
        let of =
            |host: &str, port: u16| Name::of(host.as_bytes()).is_some_and(|name| pattern.covers(&name, port));
        let rows = counts.rows().filter(|(host, port, _)| of(host, *port)).map(|(.., row)| row.describe());
        rows.collect::<Vec<_>>().join("; ")
    };
    let row = |host: String, word: String, what: String, tone| {
        [Cell::new(host, tone), Cell::new(word, Tone::Plain), Cell::new(what, Tone::Plain)]
    };
    let mut rows = Vec::new();
    for (pattern, word) in &list.allow {
        rows.push(row(pattern.to_string(), word.to_string(), reached(pattern), Tone::Plain));
    }
    for (pattern, word) in &list.deny {
        rows.push(row(pattern.to_string(), format!("denied ({word})"), String::new(), Tone::Bad));
    }
    for host in wanted {
        rows.push(row(host, "wanted".to_owned(), "refused, not on the list".to_owned(), Tone::Warn));
    }
    if rows.is_empty() {
        return io
            .print("no host is on the list\nhint: `aops-hook network allow HOST` adds one for this project");
    }
    io.table(["HOST", "BY", "LAST SESSION"], rows)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allow,
    Deny,
}

impl Answer {
    fn key(self) -> &'static str {
        if self == Self::Allow { "allow" } else { "deny" }
    }

    fn other(self) -> Self {
        if self == Self::Allow { Self::Deny } else { Self::Allow }
    }

    fn holds(self, network: &Network, host: &str) -> bool {
        let has = |hosts: &[String]| hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        match self {
            Self::Allow => has(&network.allow) && !has(&network.deny) && !is_denied(network, host),
            Self::Deny => has(&network.deny),
        }
    }
}

/// Some pattern denies this host, or for `*.host` any name below it.
fn is_denied(network: &Network, host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().unwrap_or(0)),
        None => (host, 443),
    };
    let name = Name::of(name.replacen('*', "any", 1).as_bytes());
    let verdict = name.and_then(|name| Some(network.list()?.judge(&name, port)));
    matches!(verdict, Some(Verdict::Refuse(Refusal::Denied(_))))
}

fn answer(given: &ArgMatches, io: &mut Io, answer: Answer) -> anyhow::Result<u8> {
    let typed = text(given, "host").unwrap_or_default();
    let Some(host) = Pattern::of(typed).map(|pattern| pattern.to_string()) else {
        return refused(format!(
            "`{}` is not a host by its name\n\
            hint: write `host`, `*.host` or `host:port`, without `https://` and never an address",
            typed.escape_default()
        ));
    };
    let everywhere = given.get_flag("everywhere");
    let project = policy_here(io)?.project;
    let path = project.to_string_lossy().into_owned();
    let home = io.env.home.to_string_lossy().into_owned();
    if !everywhere {
        user_file::check_covers_one(io.env, &project, "an answer", "with `--everywhere`")?;
    }
    let place = (!everywhere).then_some(Folder { path: &path, home: &home });
    let change = |old: &str| {
        let without = choose::remove_host(old, place, answer.other().key(), &host)?;
        choose::add_host(&without, place, answer.key(), &host)
    };
    let edited = user_file::edit(
        io,
        &project,
        change,
        &format!("`[network]` with `{} = [\"{host}\"]`", answer.key()),
    )?;
    edited.write(io)?;
    let told = tell_running(io, answer, &host, (!everywhere).then_some(&project))?;
    let now = &edited.policy.network;
    let holds = answer.holds(now, &host);
    let value = json!({
        "host": host, "answer": answer.key(), "everywhere": everywhere, "file": edited.shown,
        "changed": edited.is_new(), "in_force": holds, "sessions": told, "mode": now.mode,
    });
    let verb = if answer == Answer::Allow { "allowed" } else { "denied" };
    let scope = if everywhere {
        "everywhere".to_owned()
    } else {
        format!("in `{}`", choose::shorten(Folder { path: &path, home: &home }))
    };
    let stays = if holds { "" } else { "\nit has no effect here: `aops-hook policy` says what overrides it" };
    let off = match now.mode {
        NetworkMode::Off => "\n`[network] mode` is `off`, so commands have the machine's network",
        NetworkMode::Observe => "\n`[network] mode` is `observe`, which refuses nothing",
        NetworkMode::Ask | NetworkMode::List => "",
    };
    let running =
        if told > 0 { format!("; {} took it up", count(told, "running session")) } else { String::new() };
    io.answer(&value, format!("network: `{host}` {verb} {scope}, in `{}`{running}{stays}{off}", edited.shown))
}

/// Makes the networks of running sessions, of this project or of all, reload what is in force in their
/// projects. Returns in how many of them the answer takes effect.
fn tell_running(io: &Io, answer: Answer, host: &str, only: Option<&PathBuf>) -> anyhow::Result<usize> {
    let mut told = 0;
    for (found, session) in running(io) {
        let root = Path::new(&session.memory.place.root);
        if only.is_some_and(|project| !root.starts_with(project)) {
            continue;
        }
        let Ok(policy) = in_force::policy(io.env, root) else { continue };
        let is_told = network::renew(&found.path, &policy.network)?;
        if !answer.holds(&policy.network, host) {
            continue;
        }
        told += usize::from(is_told);
        let change = if answer == Answer::Allow { NetworkChange::Allowed } else { NetworkChange::Denied };
        let changed = NetworkChanged { host: Some(host.to_owned()), ..NetworkChanged::of(change) };
        Ledger::at(io.env, &found.path, &found.session_id)?.append(io.env, vec![Fact::Network(changed)])?;
        // After a secret was read, only what a person says now counts.
        if answer == Answer::Allow && network::is_guarded(&found.path) {
            network::allow_for_session(&found.path, &[host.to_owned()])?;
        }
    }
    Ok(told)
}

/// Makes running sessions reload the user's file. Returns how many there were.
fn tell_renewed(io: &Io) -> anyhow::Result<usize> {
    let mut told = 0;
    for (found, session) in running(io) {
        if let Ok(policy) = in_force::policy(io.env, Path::new(&session.memory.place.root)) {
            told += usize::from(network::renew(&found.path, &policy.network)?);
        }
    }
    Ok(told)
}

fn running(io: &Io) -> Vec<(SessionOnDisk, Session)> {
    let all = sessions::all(io.env).into_iter().filter(|found| network::is_running(&found.path));
    all.filter_map(|found| sessions::session(&found).map(|session| (found, session))).collect()
}

/// How often the counts are read.
const GLANCE: Duration = Duration::from_millis(300);

fn watch(io: &mut Io) -> anyhow::Result<u8> {
    let project = policy_here(io)?.project;
    let mut here: Vec<PathBuf> = running(io)
        .into_iter()
        .filter(|(_, session)| Path::new(&session.memory.place.root).starts_with(&project))
        .map(|(found, _)| found.path)
        .collect();
    if here.is_empty() {
        return refused(
            "no session with a network of its own is running here\n\
            hint: set `[network] mode` and start the client; `aops-hook network` shows the last session",
        );
    }
    signal::note_interrupts();
    let mut known: BTreeMap<(PathBuf, String), String> = BTreeMap::new();
    loop {
        // A session that ends between two looks is reported once more.
        let running: Vec<PathBuf> =
            here.iter().filter(|folder| network::is_running(folder)).cloned().collect();
        for folder in &here {
            let counts = network::counts(folder).unwrap_or_default();
            for served in &counts.served {
                let place = served.place();
                if known.insert((folder.clone(), place.clone()), "served".to_owned()).is_none() {
                    io.answer(
                        &json!({"served": served.outside, "inside": served.inside}),
                        format!("served  {place}"),
                    )?;
                }
            }
            for (host, port, row) in counts.rows() {
                let host = spelt(host, port);
                let words = row.describe();
                if known.insert((folder.clone(), host.clone()), words.clone()).as_deref()
                    == Some(words.as_str())
                {
                    continue;
                }
                io.answer(
                    &json!({"host": host, "what": words, "refused": row.refused}),
                    format!("{host}  {words}"),
                )?;
            }
        }
        io.out.flush()?;
        if running.is_empty() || signal::interrupted() {
            return Ok(0);
        }
        here = running;
        std::thread::sleep(GLANCE);
    }
}
