//! Finds what keeps the hooks from working: checks the set-up, runs every registered hook, and names the fix.
//!
//! Reads settings, folders and versions; hooks are run in a throwaway home, so no ledger of the user is touched.
//! Invariant: every finding has a fix of one line, and following it makes the finding go away.

mod payload;
mod registration;
mod folder;
mod program;
mod probe;
mod jail;

use super::table::{Tone, clean};
use super::{Command, Io};
use clap::ArgMatches;
use registration::Scene;
use serde::Serialize;

pub const COMMAND: Command = Command {
    name: "doctor",
    about: "Find what keeps the hooks from working, and how to fix it",
    examples: &[
        ("aops-hook doctor", "Look at everything; exit code 1 if something is wrong"),
        ("aops-hook doctor --json", "The same for programs"),
    ],
    arguments: |row| row,
    run,
};

/// What is well, in words; or everything that is wrong, each with its fix. No words where a check does not apply.
type Report = Result<String, Vec<(String, String)>>;

type Check = (&'static str, fn(&Scene) -> Report);

#[derive(Debug, Serialize)]
struct ReportLine {
    check: &'static str,
    ok: bool,
    finding: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    fix: String,
}

/// Every check, in the order of the report.
static CHECKS: &[Check] = &[
    ("settings", registration::settings),
    ("registered", registration::registered),
    ("switched on", registration::switched_on),
    ("managed", registration::managed),
    ("once", registration::once),
    ("program", program::programs),
    ("texts", program::texts),
    ("hooks", probe::hooks),
    ("client", program::client),
    ("jail", jail::held),
    ("folders", folder::private),
    ("lock", folder::lock),
    ("ledgers", folder::ledgers),
    ("configuration", folder::configuration),
    ("workflows", folder::workflows),
];

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let scene = Scene::read(io.env);
    let findings: Vec<_> = CHECKS.iter().flat_map(|(check, look)| find(check, look(&scene))).collect();
    let bad = findings.iter().filter(|finding| !finding.ok).count();
    if io.json {
        io.print(serde_json::to_string_pretty(&findings)?)?;
        return Ok(u8::from(bad > 0));
    }
    for ReportLine { check, ok, finding, fix } in &findings {
        let mark = if *ok { Tone::Good.paint("ok ", io) } else { Tone::Bad.paint("bad", io) };
        writeln!(io.out, "{mark}  {check:<12}  {}", clean(finding))?;
        if !ok {
            writeln!(io.out, "{:19}{}", "", Tone::Strong.paint(&format!("fix: {}", clean(fix)), io))?;
        }
    }
    let last = match bad {
        0 => "all is well".to_owned(),
        1 => "1 finding: follow its fix, then run `aops-hook doctor` again".to_owned(),
        _ => format!("{bad} findings: follow their fixes, then run `aops-hook doctor` again"),
    };
    writeln!(io.out, "\n{last}")?;
    Ok(u8::from(bad > 0))
}

fn find(check: &'static str, report: Report) -> Vec<ReportLine> {
    let finding = |ok, finding, fix| ReportLine { check, ok, finding, fix };
    match report {
        Ok(well) if well.is_empty() => Vec::new(),
        Ok(well) => vec![finding(true, well, String::new())],
        Err(wrong) => wrong.into_iter().map(|(what, fix)| finding(false, what, fix)).collect(),
    }
}

fn report(wrong: Vec<(String, String)>, well: impl Into<String>) -> Report {
    if wrong.is_empty() { Ok(well.into()) } else { Err(wrong) }
}

/// One thing is wrong.
fn bad(what: impl Into<String>, fix: impl Into<String>) -> Report {
    Err(vec![(what.into(), fix.into())])
}

fn shell_word(path: &std::path::Path) -> String {
    crate::text::plain::shell_word(&path.display().to_string())
}
