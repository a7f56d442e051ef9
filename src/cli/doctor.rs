//! Finds what keeps the hooks from working: checks the set-up, runs every registered hook, and names the fix.
//!
//! Reads settings, folders and versions; hooks are run in a throwaway home, so no ledger of the user is touched.
//! Invariant: every finding has a fix of one line, and following it makes the finding go away.

mod payload;
mod scene;
mod registration;
mod folder;
mod program;
mod probe;

use super::table::{Tone, clean};
use super::{Command, Io};
use clap::ArgMatches;
use scene::Scene;
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

/// What one check found.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    ok: bool,
    #[serde(rename = "finding")]
    says: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    fix: String,
}

impl Finding {
    fn well(check: &'static str, finding: impl Into<String>) -> Self {
        Self { check, ok: true, says: finding.into(), fix: String::new() }
    }

    fn bad(check: &'static str, finding: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, ok: false, says: finding.into(), fix: fix.into() }
    }
}

/// Every check, in the order of the report.
static CHECKS: &[fn(&Scene) -> Vec<Finding>] = &[
    registration::settings,
    registration::registered,
    registration::switched_on,
    registration::managed,
    registration::once,
    program::programs,
    program::texts,
    probe::hooks,
    program::client,
    folder::private,
    folder::lock,
    folder::in_force,
];

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let scene = Scene::read(io.env);
    let findings: Vec<_> = CHECKS.iter().flat_map(|check| check(&scene)).collect();
    let bad = findings.iter().filter(|finding| !finding.ok).count();
    if io.json {
        writeln!(io.out, "{}", serde_json::to_string_pretty(&findings)?)?;
    } else {
        for finding in &findings {
            tell(finding, io)?;
        }
        let last = match bad {
            0 => "all is well".to_owned(),
            1 => "1 finding: follow its fix, then run `aops-hook doctor` again".to_owned(),
            _ => format!("{bad} findings: follow their fixes, then run `aops-hook doctor` again"),
        };
        writeln!(io.out, "\n{last}")?;
    }
    Ok(u8::from(bad > 0))
}

fn tell(finding: &Finding, io: &mut Io) -> anyhow::Result<()> {
    let (mark, tone) = if finding.ok { ("ok ", Tone::Good) } else { ("bad", Tone::Bad) };
    let mark = tone.paint(mark, io);
    let text = clean(&finding.says);
    writeln!(io.out, "{mark}  {:<12}  {text}", finding.check)?;
    if !finding.ok {
        let fix = format!("fix: {}", clean(&finding.fix));
        writeln!(io.out, "{:19}{}", "", Tone::Strong.paint(&fix, io))?;
    }
    Ok(())
}

/// A path as a shell takes it.
fn shell_word(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,=".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
