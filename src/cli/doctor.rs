//! Finds what keeps the hooks from working: checks the set-up, runs every registered hook, and names the fix.
//!
//! Reads settings, folders and versions; hooks run in a throwaway home, so no ledger of the user is touched.
//! Invariant: every finding has a one-line fix, and applying it removes the finding.

mod payload;
mod registration;
mod folder;
mod program;
mod probe;
mod jail;
mod notes;
mod other;

use super::table::{Tone, clean};
use super::{Command, Io};
use aops_core::model::client::Client;
use clap::ArgMatches;
use registration::Scene;
use serde::Serialize;

pub const COMMAND: Command = Command {
    name: "doctor",
    about: "Find what keeps the hooks from working, and how to fix it",
    examples: &[
        (
            "aops-hook doctor",
            "Look at everything; exit code 1 if something is wrong, 4 if a ledger or the log is damaged",
        ),
        ("aops-hook doctor --json", "The same for programs"),
    ],
    arguments: |row| row,
    run,
};

/// What is fine, as text; or everything that was found, each with its fix. An empty text if a check does not
/// apply.
type Report = Result<String, Vec<(String, String)>>;

type Check = (&'static str, Weight, fn(&Scene) -> Report);

/// What it means when a check finds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Ok,
    /// Good to know; the hooks work anyway.
    Note,
    Bad,
}

#[derive(Debug, Serialize)]
struct ReportLine {
    check: &'static str,
    /// Nothing prevents the hooks from working here.
    ok: bool,
    level: Weight,
    finding: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    fix: String,
}

const LEDGERS: &str = "ledgers";
/// The checks of other clients come after this one, each under the client's name.
const HOOKS: &str = "hooks";

/// Every check, in the order of the report.
static CHECKS: &[Check] = &[
    ("settings", Weight::Bad, registration::settings),
    ("entries", Weight::Bad, registration::entries),
    ("registered", Weight::Bad, registration::registered),
    ("switched on", Weight::Bad, registration::switched_on),
    ("managed", Weight::Bad, registration::managed),
    ("once", Weight::Bad, registration::once),
    ("program", Weight::Bad, program::programs),
    ("texts", Weight::Bad, program::texts),
    ("agents", Weight::Note, notes::shadowed),
    (HOOKS, Weight::Bad, probe::hooks),
    ("client", Weight::Bad, program::client),
    ("client", Weight::Note, notes::has_client),
    ("last call", Weight::Note, notes::last_call),
    ("others", Weight::Note, notes::others),
    ("prompts", Weight::Note, notes::answerers),
    ("path", Weight::Note, notes::on_path),
    ("jail", Weight::Bad, jail::required),
    ("jail", Weight::Note, jail::held),
    ("key", Weight::Note, notes::key),
    ("witness", Weight::Note, notes::witness),
    #[cfg(not(feature = "fleet"))]
    ("fleet", Weight::Bad, notes::fleet),
    ("folders", Weight::Bad, folder::private),
    ("lock", Weight::Bad, folder::lock),
    (LEDGERS, Weight::Bad, folder::ledgers),
    ("bundle", Weight::Bad, folder::bundle),
    ("configuration", Weight::Bad, folder::configuration),
    ("workflows", Weight::Bad, folder::workflows),
];

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let scene = Scene::read(io.env);
    let findings: Vec<_> = CHECKS.iter().flat_map(|check| find_all(check, &scene)).collect();
    let bad = findings.iter().filter(|finding| !finding.ok).count();
    if io.json {
        io.print(serde_json::to_string_pretty(&findings)?)?;
        return Ok(code(&findings));
    }
    for ReportLine { check, level, finding, fix, .. } in &findings {
        let (mark, tone) = match level {
            Weight::Ok => ("ok  ", Tone::Good),
            Weight::Note => ("note", Tone::Warn),
            Weight::Bad => ("bad ", Tone::Bad),
        };
        writeln!(io.out, "{} {check:<13}  {}", tone.paint(mark, io), clean(finding))?;
        if *level != Weight::Ok {
            let word = if *level == Weight::Bad { "fix" } else { "to change it" };
            writeln!(io.out, "{:20}{}", "", Tone::Strong.paint(&format!("{word}: {}", clean(fix)), io))?;
        }
    }
    let last = match bad {
        0 => "all is well".to_owned(),
        1 => "1 finding: follow its fix, then run `aops-hook doctor` again".to_owned(),
        _ => format!("{bad} findings: follow their fixes, then run `aops-hook doctor` again"),
    };
    writeln!(io.out, "\n{last}")?;
    Ok(code(&findings))
}

/// 4 if `verify` finds a damaged ledger or log; otherwise 1 if something is wrong.
fn code(findings: &[ReportLine]) -> u8 {
    let bad = |check: Option<&str>| {
        findings.iter().any(|line| !line.ok && check.is_none_or(|check| line.check == check))
    };
    if bad(Some(LEDGERS)) { 4 } else { u8::from(bad(None)) }
}

fn find_all((check, weight, look): &Check, scene: &Scene) -> Vec<ReportLine> {
    let mut found = find(check, *weight, look(scene));
    if *check == HOOKS {
        let others = Client::default().others_by_name();
        found.extend(others.flat_map(|client| find(client.name(), Weight::Bad, other::look(scene, client))));
    }
    found
}

fn find(check: &'static str, weight: Weight, report: Report) -> Vec<ReportLine> {
    let finding = |level, finding, fix| ReportLine { check, ok: level != Weight::Bad, level, finding, fix };
    match report {
        Ok(well) if well.is_empty() => Vec::new(),
        Ok(well) => vec![finding(Weight::Ok, well, String::new())],
        Err(found) => found.into_iter().map(|(what, fix)| finding(weight, what, fix)).collect(),
    }
}

fn report(wrong: Vec<(String, String)>, well: impl Into<String>) -> Report {
    if wrong.is_empty() { Ok(well.into()) } else { Err(wrong) }
}

/// A report of one problem.
fn bad(what: impl Into<String>, fix: impl Into<String>) -> Report {
    Err(vec![(what.into(), fix.into())])
}

fn shell_word(path: &std::path::Path) -> String {
    aops_core::text::plain::shell_word(&path.display().to_string())
}
