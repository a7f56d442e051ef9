//! Runs the user's checks one after another, each with its own timeout.
//!
//! Starts `sh` in the project's folder, reads the file that a save would change, asks `git` what changed.
//! Invariants: a check that times out is killed with everything it started; only the end of its output is
//! kept, redacted and clipped; a check that cannot be started has failed. The session is not locked while
//! checks run.

use crate::config::{policy::Check, policy::check::Moment, texts};
use crate::gate::Context;
use crate::ledger::open::Ledger;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::outcome::{CheckEnding, PhaseOutcome};
use crate::session::fact::Checked;
use crate::system::files;
use crate::system::process::program::{Identity, Program};
use crate::system::process::{self, Ending, Task, variable};
use crate::system::{env::Env, git};
use crate::text::json::{self, Json};
use crate::text::{redact::redact, template::one_line};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many bytes of output are held, and how much is reported: the last lines, up to this many characters.
const KEPT: usize = 64 << 10;
const MOST_LINES: usize = 20;
const MOST_TOLD: usize = 1500;

#[derive(Debug)]
pub struct About {
    cwd: PathBuf,
    root: String,
    baseline: BTreeMap<String, String>,
    /// The file that would be saved, with its new content.
    saves: Option<(String, Vec<u8>)>,
}

impl About {
    pub fn of(ledger: &Ledger, event: &Event, context: &Context) -> Result<Self, Failure> {
        let saves = context.call().and_then(|call| call.checks.saves.clone());
        let text = |path: &str| {
            let call = event.call()?;
            proposed_text(&call.key.tool, &call.input, Path::new(path))
        };
        let saves = saves.map(|path| {
            let text = text(&path).unwrap_or_default();
            (path, text)
        });
        let baseline = if event.kind() == EventKind::Stop { ledger.baseline()? } else { BTreeMap::new() };
        let root = ledger.session().memory.place.root.clone();
        Ok(Self { cwd: PathBuf::from(&event.cwd), root, baseline, saves })
    }

    /// The files that a check's `paths` are compared with. `None` if we do not know them; the check is then
    /// run.
    fn files(&self, env: &Env, on: Moment) -> Option<Vec<String>> {
        match on {
            Moment::Save => self.saves.as_ref().map(|(path, _)| vec![path.clone()]),
            Moment::Commit | Moment::Prompt => git::dirty(env, &self.cwd),
            // For a shell command we cannot know beforehand which files it will change.
            Moment::Sandbox => self.saves.as_ref().map(|(path, _)| vec![path.clone()]),
            Moment::Stop => git::changed(env, &self.cwd, &self.baseline),
        }
    }
}

/// Runs the checks that concern the changed files. All others count as passed.
pub fn run(env: &Env, about: &About, checks: &[Check]) -> Vec<Checked> {
    let folder = match about.root.as_str() {
        "" => texts::project(env, &about.cwd),
        root => PathBuf::from(root),
    };
    let mut files = None;
    let mut concerns = |check: &Check| {
        if check.paths.is_empty() {
            return true;
        }
        let files: &Option<Vec<String>> = files.get_or_insert_with(|| about.files(env, check.on));
        let root = folder.to_string_lossy();
        let home = env.home.to_string_lossy();
        files.as_ref().is_none_or(|files| files.iter().any(|file| check.concerns(file, &root, &home)))
    };
    checks
        .iter()
        .map(|check| {
            if concerns(check) {
                return run_one(env, about, check, &folder);
            }
            Checked { ending: CheckEnding::NotConcerned, ..as_checked(check, PhaseOutcome::Pass) }
        })
        .collect()
}

fn as_checked(check: &Check, outcome: PhaseOutcome) -> Checked {
    Checked {
        id: check.id.clone(),
        on: check.on,
        outcome: outcome.into(),
        run: redact(&check.run).into_owned(),
        timeout_ms: check.timeout_ms,
        ..Checked::default()
    }
}

fn run_one(env: &Env, about: &About, check: &Check, folder: &Path) -> Checked {
    let began = Instant::now();
    // Both streams in the order in which they were written; `eval` runs the line exactly as it is in the
    // configuration.
    let args = ["-c", "exec 2>&1; eval \"$1\"", "sh", &check.run].map(str::to_owned);
    let (path, input) = about.saves.as_ref().map_or(("", &[][..]), |(path, text)| (path, text));
    let mut variables = env.variables(|_| true);
    variables.extend([variable("AOPS_CHECK", &check.id), variable("AOPS_PATH", path)]);
    let timeout = Duration::from_millis(check.timeout_ms);
    let run = |program: Program| {
        let task = Task { input, keep: KEPT, ..Task::new(&program, &args, folder, &variables, timeout) };
        process::run_for_its_end(&task)
    };
    let (ending, said) = match Program::find(env, Identity::At(Path::new("/bin/sh"))).and_then(run) {
        Ok(outcome) => (Ok(outcome.ending), outcome.stdout),
        Err(error) => (Err(error), Vec::new()),
    };
    let ending = match ending {
        Ok(Ending::Exit(code)) => CheckEnding::Exit(code),
        Ok(Ending::Signal(signal)) => CheckEnding::Signal(signal),
        Ok(Ending::TimedOut) => CheckEnding::CutOff,
        Err(error) => CheckEnding::NotStarted(one_line(&format!("did not start: {error}"), 200)),
    };
    let passed = ending == CheckEnding::Exit(0);
    Checked {
        ending,
        ms: began.elapsed().as_millis().try_into().unwrap_or(u64::MAX),
        output: if passed { String::new() } else { last_lines(&said) },
        path: about.saves.as_ref().map(|(path, _)| path.clone()),
        ..as_checked(check, if passed { PhaseOutcome::Pass } else { check.outcome.into() })
    }
}

/// The last lines, without colours and secrets.
fn last_lines(said: &[u8]) -> String {
    let plain = redact(&without_escapes(&String::from_utf8_lossy(said))).into_owned();
    let lines: Vec<&str> = plain.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(MOST_LINES)..].join("\n");
    match last.chars().count().saturating_sub(MOST_TOLD) {
        0 => last,
        more => ['…'].into_iter().chain(last.chars().skip(more)).collect(),
    }
}

/// Removes terminal sequences and other control characters.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' if rest.peek() == Some(&'[') => {
                rest.next();
                while rest.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

const LARGEST: u64 = 8 << 20;

/// The whole new text; `None` if the tool would fail, or is unknown.
pub(super) fn proposed_text(tool: &str, input: &str, path: &Path) -> Option<Vec<u8>> {
    let input = json::read(input).ok()?;
    match tool {
        "Write" => input.text_of("content").map(String::into_bytes),
        "Edit" => edit_once(&current_text(path)?, &input),
        "MultiEdit" => {
            let Json::List(edits) = input.get("edits")? else { return None };
            edits.iter().try_fold(current_text(path)?, |text, edit| {
                edit_once(&text, edit).and_then(|text| String::from_utf8(text).ok())
            })
        }
        .map(String::into_bytes),
        _ => None,
    }
}

/// The text of a file; empty if it does not exist, `None` if it cannot be read.
pub(super) fn current_text(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = match files::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(text),
        Err(_) => return None,
    };
    let plain = file.metadata().is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    (plain && file.take(LARGEST).read_to_string(&mut text).is_ok()).then_some(text)
}

/// One replacement by the tool's rules: the old text must occur, and exactly once unless all are to be
/// replaced.
fn edit_once(text: &str, edit: &Json) -> Option<Vec<u8>> {
    let old = edit.text_of("old_string")?;
    let new = edit.text_of("new_string")?;
    if old.is_empty() {
        return text.is_empty().then_some(new.into_bytes());
    }
    let all = matches!(edit.get("replace_all"), Some(Json::Bool(true)));
    match text.matches(&old).count() {
        0 => None,
        1 => Some(text.replacen(&old, &new, 1).into_bytes()),
        _ => all.then(|| text.replace(&old, &new).into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_was_said_the_end_is_told() {
        let long = (0..100).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
        let said = last_lines(long.as_bytes());
        assert!(said.starts_with("line 80\n") && said.ends_with("line 99"), "{said}");
        assert_eq!(last_lines(b"\x1b[31mred\x1b[0m\r\n\n  \nend\x07\n"), "red\nend");
        let wide = last_lines("x".repeat(9000).as_bytes());
        assert!(wide.chars().count() <= MOST_TOLD + 1 && wide.starts_with('…'), "{}", wide.len());
        let token = format!("token ghp_{}", "a1B2".repeat(9));
        assert!(!last_lines(token.as_bytes()).contains("a1B2a1B2"), "a secret is told");
    }
}
