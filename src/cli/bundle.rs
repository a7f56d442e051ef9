//! `bundle`: the policy for everybody: pack, sign, check and compare bundles, and show which one this machine
//! runs.
//!
//! Reads a folder laid out like the user's configuration, and bundles; writes the requested bundle.
//! Invariants: what `make` packs can be read as configuration and texts; `verify` refuses whatever `install
//! --managed` would.

mod pulled;

pub use pulled::revoke;

use super::{Command, Io, operand, option, refused, text, yes};
use crate::refusal::Refused;
use anyhow::Context;
use aops_core::config::bundle::{self, Bundle, Packed};
use aops_core::config::in_force::CONFIG_FILE;
use aops_core::config::policy::{self, Source};
use aops_core::config::texts::{self, Library, Origin, Reading, read_text};
use aops_core::proof::keys::Keys;
use aops_core::system::env::{Env, now_ms};
use aops_core::system::files;
use aops_core::text::diff::unified;
use aops_core::text::plain::count;
use aops_core::text::time;
use aops_proof::key::PublicKey;
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "bundle",
    about: "One signed policy for every machine: configuration, rules, workflows, agents, danger rules, \
        witness keys",
    examples: &[
        ("aops-hook bundle make policy -o policy.bundle --name example.com/policy", "pack a folder"),
        (
            "aops-hook bundle sign policy.bundle",
            "sign it; then `aops-hook install --managed` on each machine",
        ),
        ("aops-hook bundle status", "which one this machine runs"),
    ],
    arguments: |row| Command::verbs(VERBS, row.arg(yes().global(true))),
    run: |given, io| Ok(Command::run_verb("bundle", VERBS, given, io)?.unwrap_or(2)),
};

pub(super) static VERBS: &[Command] = &[
    Command {
        name: "make",
        about: "Pack a folder that is laid out like `~/.config/aops`",
        examples: &[
            ("aops-hook bundle make policy -o policy.bundle --name example.com/policy", "the first version"),
            ("aops-hook bundle make policy -o policy.bundle", "the next one, under the same name"),
        ],
        arguments: |row| {
            let output = option("output", "FILE", "Where the bundle goes").short('o').required(true);
            let version = option("version", "N", "A whole number; without it, one more than in FILE");
            let until = option("not-after", "DAY", "The last day on which it should be run, as 2027-01-31");
            row.arg(operand("folder", "FOLDER", "What to pack").required(true))
                .args([output, option("name", "NAME", "Whose bundle it is; without it, the name in FILE")])
                .args([version.value_parser(clap::value_parser!(u64)), until])
        },
        run: make,
    },
    Command {
        name: "sign",
        about: "Sign a bundle with your key, the one that `aops-hook key show` names",
        examples: &[(
            "aops-hook bundle sign policy.bundle",
            "in place; prints the key that machines must trust",
        )],
        arguments: |row| row.arg(file("bundle", "The bundle")),
        run: sign,
    },
    Command {
        name: "verify",
        about: "Check signature, digests and version, as `install --managed` does",
        examples: &[
            ("aops-hook bundle verify policy.bundle", "against the keys that this machine trusts"),
            ("aops-hook bundle verify policy.bundle --key KEY", "against this key"),
        ],
        arguments: |row| row.arg(file("bundle", "The bundle")).arg(trusted_key()),
        run: verify,
    },
    Command {
        name: "diff",
        about: "Show what another bundle would change; signatures are not checked",
        examples: &[
            ("aops-hook bundle diff policy.bundle", "against the one that this machine runs"),
            ("aops-hook bundle diff old.bundle new.bundle", "two files"),
        ],
        arguments: |row| {
            row.arg(file("old", "The bundle; with a second one, the older"))
                .arg(operand("new", "NEW", "The newer"))
        },
        run: diff,
    },
    Command {
        name: "status",
        about: "Show which bundle this machine runs",
        examples: &[("aops-hook bundle status --json", "for programs")],
        arguments: |row| row,
        run: status,
    },
];

fn file(name: &'static str, help: &'static str) -> Arg {
    operand(name, "BUNDLE", help).required(true)
}

/// The option for every command that accepts trusted keys in addition to the machine's.
pub fn trusted_key() -> Arg {
    option("key", "KEY", "Trust this key too, as `aops-hook key export` prints it").action(ArgAction::Append)
}

/// The bundle in this file, or at this URL.
pub(super) fn read(env: &Env, name: &str) -> anyhow::Result<String> {
    if let Some(url) = pulled::url(name) {
        return pulled::text(env, url)?.map_or_else(
            || {
                refused(format!(
                    "`{name}`: nothing is there\nhint: its name ends in `.bundle`, as it was put there"
                ))
            },
            Ok,
        );
    }
    std::fs::read_to_string(env.from_here(Path::new(name))).with_context(|| format!("`{name}`"))
}

fn open(env: &Env, name: &str) -> anyhow::Result<Bundle> {
    let (bundle, _) = bundle::open(&read(env, name)?).or_else(|why| refused(format!("`{name}`: {why}")))?;
    Ok(bundle)
}

fn make(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let folder = text(given, "folder").unwrap_or_default();
    let output = text(given, "output").unwrap_or_default();
    let path = io.env.from_here(Path::new(output));
    let before = if path.exists() { Some(open(io.env, output)?) } else { None };
    let name = text(given, "name").map(str::to_owned).or_else(|| before.as_ref().map(|old| old.name.clone()));
    let Some(name) = name else {
        return refused(format!(
            "a bundle has a name, and there is no `{output}` yet\nhint: add `--name example.com/policy`"
        ));
    };
    let next = before.as_ref().map_or(1, |old| old.version + 1);
    let version = given.get_one::<u64>("version").copied().unwrap_or(next);
    let files = pack(&io.env.from_here(Path::new(folder)), folder)?;
    let not_after = text(given, "not-after").map(last_moment).transpose()?;
    let bundle = Bundle { created: time::timestamp(now_ms()), files, name, not_after, version };
    bundle.check().or_else(refused)?;
    files::find(&path)
        .and_then(|found| found.replace(bundle.text().as_bytes(), 0o644))
        .with_context(|| format!("`{output}`"))?;
    let made = format!(
        "packed {} as `{}` {version} in `{output}`: {}\nhint: `aops-hook bundle sign {output}` signs it",
        count(bundle.files.len(), "file"),
        bundle.name,
        bundle.files.keys().cloned().collect::<Vec<_>>().join(", ")
    );
    io.answer(&described(&bundle), made)
}

/// The end of this day, in the last of all time zones.
fn last_moment(day: &str) -> anyhow::Result<String> {
    let at = format!("{day}T23:59:59.999Z");
    match time::parse(&at).filter(|_| day.len() == 10) {
        Some(_) => Ok(at),
        None => refused(format!("`--not-after {day}` is not a day\nhint: write it as `2027-01-31`")),
    }
}

/// Packs the files of a folder, and checks that each can be read as what it is.
fn pack(folder: &Path, shown: &str) -> anyhow::Result<BTreeMap<String, Packed>> {
    if !folder.is_dir() {
        return refused(format!(
            "`{shown}` is not a folder\nhint: lay it out like `~/.config/aops`: `config.toml`, `workflows/` …"
        ));
    }
    let env = Env { user_config: folder.to_owned(), ..Env::default() };
    let config = read_text(&folder.join(CONFIG_FILE), None)
        .or_else(|why| refused(format!("`{CONFIG_FILE}` {why}")))?;
    let source = config.as_ref().map(|text| Source { file: CONFIG_FILE, text });
    let reading = Reading::of_project(&env, folder);
    let mut problems = policy::read(source, None).err().unwrap_or_default();
    problems.extend(Library::of(&env, texts::in_force(&reading)).problems);
    if !problems.is_empty() {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return refused(format!(
            "nothing was packed:\n{}\nhint: fix it, then make the bundle again",
            lines.join("\n")
        ));
    }
    let own = texts::in_force(&reading).texts.iter().filter(|text| text.origin == Origin::User);
    let below =
        |file: &str| Path::new(file).strip_prefix(folder).unwrap_or(Path::new(file)).display().to_string();
    let own = own.map(|text| (below(&text.file), text.text.clone().into_owned()));
    let all = own.chain(config.map(|text| (CONFIG_FILE.to_owned(), text)));
    Ok(all.map(|(path, text)| (path, Packed::new(text))).collect())
}

fn sign(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = text(given, "bundle").unwrap_or_default();
    let (bundle, mut note) =
        bundle::open(&read(io.env, name)?).or_else(|why| refused(format!("`{name}`: {why}")))?;
    let Some(keys) = Keys::open(io.env)? else {
        return refused(
            "there is no key to sign with\nhint: `aops-hook key init --origin example.com/policy` makes one",
        );
    };
    let public = keys.note();
    note.signatures.retain(|known| known.id != public.id() || known.name != public.name);
    note.signatures.extend(keys.sign(&note.text)?);
    let path = io.env.from_here(Path::new(name));
    files::find(&path)
        .and_then(|found| found.replace(note.to_string().as_bytes(), 0o644))
        .with_context(|| format!("`{name}`"))?;
    let mut value = described(&bundle);
    value["key"] = json!(public.to_string());
    let words = format!(
        "signed `{}` {} with the key of `{}`\nhint: on each machine, as root: `aops-hook install --managed \
        {name} --key '{public}'`; for later bundles without `--key`",
        bundle.name, bundle.version, public.name
    );
    io.answer(&value, words)
}

/// The trusted keys: those of the folder, and those that were given.
pub(super) fn keys(given: &ArgMatches, folder: &Path) -> anyhow::Result<Vec<PublicKey>> {
    let mut all = bundle::trusted(folder).unwrap_or_default();
    for text in given.get_many::<String>("key").unwrap_or_default() {
        let key = bundle::key(text).or_else(refused)?;
        if !all.contains(&key) {
            all.push(key);
        }
    }
    if all.is_empty() {
        return refused(
            "this machine trusts no key, so it accepts no bundle\n\
            hint: add `--key KEY`, as `aops-hook key export` prints it on the machine that signs bundles",
        );
    }
    Ok(all)
}

/// The bundle in this file, if it may replace the one in this folder, and who signed it.
pub(super) fn judge(
    name: &str,
    file: &str,
    keys: &[PublicKey],
    folder: &Path,
) -> anyhow::Result<(Bundle, String)> {
    let hint = match bundle::open(file) {
        Ok(_) => {
            "have the owner of the key sign it: `aops-hook bundle sign`; a new key is trusted with `--key \
                KEY`"
        }
        Err(_) => "fetch the original again; `aops-hook bundle make` packs one",
    };
    let distrusted = |why| Refused { code: 4, words: format!("`{name}` is refused: {why}\nhint: {hint}") };
    let (bundle, signer) = bundle::verify(file, keys).map_err(distrusted)?;
    if let Some(why) = bundle.outdated(folder, now_ms()) {
        return refused(format!(
            "`{name}` is refused: {why}\nhint: install a newer one: `aops-hook bundle make`"
        ));
    }
    // An unreadable installed bundle does not prevent its replacement by a good one.
    let Ok(Some((now, _))) = bundle::in_folder(folder) else { return Ok((bundle, signer)) };
    let holds = format!("`{}` {}", now.name, now.version);
    let version = bundle.version;
    if now.name != bundle.name {
        return refused(format!(
            "`{name}` is refused: it is bundle `{}`, and this machine runs {holds}\n\
            hint: `aops-hook uninstall --managed` ends that one first",
            bundle.name
        ));
    }
    if version < now.version || version == now.version && bundle.digest() != now.digest() {
        let other =
            if version < now.version { "older than" } else { "another bundle of the same version as" };
        return refused(format!(
            "`{name}` is refused: version {version} is {other} {holds}, which this machine runs\nhint: to \
            bring its content back, sign it as a newer one: `aops-hook bundle make FOLDER -o {name} \
            --version {}`",
            now.version + 1
        ));
    }
    Ok((bundle, signer))
}

fn verify(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = text(given, "bundle").unwrap_or_default();
    let folder = &io.env.administered;
    let (bundle, signer) = judge(name, &read(io.env, name)?, &keys(given, folder)?, folder)?;
    let mut value = described(&bundle);
    value["signer"] = json!(signer);
    let words = format!(
        "`{}` {} is complete and signed by `{signer}`\n{}",
        bundle.name,
        bundle.version,
        bundle.digest()
    );
    io.answer(&value, words)
}

fn diff(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let first = open(io.env, text(given, "old").unwrap_or_default())?;
    let (old, new) = match text(given, "new") {
        Some(new) => (Some(first), open(io.env, new)?),
        None => (
            bundle::installed(io.env).or_else(|problem| refused(problem.to_string()))?.map(|(old, _)| old),
            first,
        ),
    };
    let old_files = old.as_ref().map(|old| old.files.clone()).unwrap_or_default();
    let paths: BTreeSet<&String> = old_files.keys().chain(new.files.keys()).collect();
    let mut changes = Vec::new();
    let mut words = String::new();
    for path in paths {
        let before = old_files.get(path);
        let after = new.files.get(path);
        if before != after {
            let digest = |file: Option<&Packed>| file.map(|file| file.sha256.clone());
            changes.push(json!({"file": path, "old": digest(before), "new": digest(after)}));
            let shown = |is: bool| if is { path.as_str() } else { "/dev/null" };
            let text = |file: Option<&Packed>| file.map(|file| file.text.clone()).unwrap_or_default();
            words += &unified(shown(before.is_some()), shown(after.is_some()), &text(before), &text(after));
        }
    }
    let value = json!({"old": old.as_ref().map(Bundle::identity), "new": new.identity(), "changes": changes});
    let version = |one: &Bundle| format!("`{}` {}", one.name, one.version);
    let from = old.as_ref().map_or_else(|| "no bundle".to_owned(), version);
    let same = if changes.is_empty() { "the files are the same\n" } else { "" };
    io.answer(&value, format!("{from} to {}\n{same}{words}", version(&new)).trim_end())
}

fn status(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = bundle::installed(io.env).or_else(|problem| refused(problem.to_string()))?;
    let Some((bundle, signer)) = found else {
        return io.answer(&json!({"bundle": null}), "this machine runs no bundle");
    };
    let outdated = bundle.outdated(&io.env.administered, io.env.now_ms);
    let value = json!({
        "bundle": bundle.identity(), "created": bundle.created, "signer": signer,
        "files": described(&bundle)["files"],
        "not_after": bundle.not_after, "expired": bundle.is_expired(io.env.now_ms), "outdated": outdated,
    });
    let until = match (&outdated, &bundle.not_after) {
        (Some(why), _) => format!("\n{why}, and holds until a newer one is installed"),
        (None, Some(at)) => format!("\nit should be replaced by {at}"),
        (None, None) => String::new(),
    };
    let files: Vec<&str> = bundle.files.keys().map(String::as_str).collect();
    let words = format!(
        "this machine runs `{}` {}, signed by `{signer}`, made {}{until}\n{}\n{}",
        bundle.name,
        bundle.version,
        bundle.created,
        bundle.digest(),
        files.join("\n")
    );
    io.answer(&value, words)?;
    Ok(u8::from(outdated.is_some()))
}

/// A bundle without its texts.
pub(super) fn described(bundle: &Bundle) -> Value {
    let mut value = bundle.identity();
    value["created"] = json!(bundle.created);
    value["not_after"] = json!(bundle.not_after);
    value["files"] = bundle.files.iter().map(|(path, file)| (path.clone(), json!(file.sha256))).collect();
    value
}
