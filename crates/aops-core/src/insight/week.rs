//! What was done for the person lately: `<data>/week.jsonl`, and the summary that they read once a week.
//!
//! Reads and writes this one file. Invariants: its length depends on what was stopped lately, not on the
//! number of sessions; a line is appended as a whole, so sessions that end at the same time lose nothing; it
//! is not a proof, the ledgers are.

use crate::insight::document::Worth;
use crate::system::env::Env;
use crate::system::files::{self, read_short};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

const DAY_MS: i64 = 86_400_000;
const WEEK_MS: i64 = 7 * DAY_MS;
/// A longer file is rewritten with one line per day: if nobody sits at a client, nobody reads and shortens
/// it.
const LONG: u64 = 64 << 10;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Line {
    at_ms: i64,
    /// The person has read what was done until then.
    told: bool,
    #[serde(flatten)]
    worth: Worth,
}

fn path(env: &Env) -> PathBuf {
    env.data.join("week.jsonl")
}

fn lines(env: &Env) -> Vec<Line> {
    let text = read_short(&path(env)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Remembers what a turn added.
pub fn add(env: &Env, worth: Worth) -> io::Result<()> {
    if worth == Worth::default() || env.dry_run {
        return Ok(());
    }
    let line = serde_json::to_string(&Line { at_ms: env.now_ms, told: false, worth })? + "\n";
    std::fs::create_dir_all(&env.data)?;
    let mut file = files::open_itself(path(env), File::options().append(true).create(true).mode(0o600))?;
    file.write_all(line.as_bytes())?;
    if file.metadata()?.len() > LONG { write(env, by_day(env, &lines(env))) } else { Ok(()) }
}

/// This week's lines, one per day.
fn by_day(env: &Env, lines: &[Line]) -> impl Iterator<Item = Line> {
    let mut days: BTreeMap<(i64, bool), Line> = BTreeMap::new();
    for line in lines.iter().filter(|line| is_recent(env, line)) {
        let day =
            days.entry((line.at_ms / DAY_MS, line.told)).or_insert(Line { worth: Worth::default(), ..*line });
        day.at_ms = day.at_ms.max(line.at_ms);
        day.worth.add(line.worth);
    }
    days.into_values()
}

fn write(env: &Env, lines: impl Iterator<Item = Line>) -> io::Result<()> {
    let text: String = lines.filter_map(|line| Some(serde_json::to_string(&line).ok()? + "\n")).collect();
    files::replace_private(&path(env), text.as_bytes())
}

/// What was done in the last seven days.
pub fn worth(env: &Env) -> Worth {
    sum(env, &lines(env))
}

fn sum(env: &Env, lines: &[Line]) -> Worth {
    let mut worth = Worth::default();
    lines.iter().filter(|line| is_recent(env, line)).for_each(|line| worth.add(line.worth));
    worth
}

fn is_recent(env: &Env, line: &Line) -> bool {
    (0..WEEK_MS).contains(&(env.now_ms - line.at_ms))
}

/// The summary, if it was not read for a week; older lines are then forgotten.
pub fn tell(env: &Env) -> Option<String> {
    let lines = lines(env);
    if env.dry_run || lines.iter().any(|line| line.told && is_recent(env, line)) {
        return None;
    }
    let words = sum(env, &lines).describe()?;
    let told = Line { at_ms: env.now_ms, told: true, worth: Worth::default() };
    // If writing fails, we tell again tomorrow, which is better than never.
    let _ = write(env, by_day(env, &lines).filter(|line| !line.told).chain([told]));
    Some(format!("this week: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_a_week_and_only_what_is_of_the_week() {
        let folder = tempfile::tempdir().unwrap();
        let at =
            |day: i64| Env { data: folder.path().join("data"), now_ms: day * 86_400_000, ..Env::default() };
        let stopped = |n| Worth { stopped: n, ..Worth::default() };
        assert_eq!(tell(&at(1)), None, "nothing was done");
        add(&at(1), Worth::default()).unwrap();
        assert!(!path(&at(1)).exists(), "nothing to remember");
        add(&at(1), stopped(1)).unwrap();
        add(&at(2), Worth { answered: 212, kept: 1, stopped: 1, undone: 3 }).unwrap();
        let words = "this week: 212 prompts answered for you, 2 dangerous commands stopped, \
                     work kept before 1 command, 3 undone";
        let dry = Env { dry_run: true, ..at(3) };
        assert_eq!(tell(&dry), None);
        assert_eq!(tell(&at(3)).as_deref(), Some(words));
        add(&at(4), stopped(1)).unwrap();
        assert_eq!(tell(&at(4)), None, "it was read yesterday");
        assert_eq!(worth(&at(4)), Worth { answered: 212, kept: 1, stopped: 3, undone: 3 });
        assert_eq!(
            tell(&at(10)).as_deref(),
            Some("this week: 1 dangerous command stopped"),
            "the others are older"
        );
        assert_eq!(std::fs::read_to_string(path(&at(10))).unwrap().lines().count(), 2, "and forgotten");
        assert_eq!(tell(&at(18)), None, "nothing was done since");
    }

    #[test]
    fn it_stays_short_where_nobody_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |day: i64| Env { data: folder.path().to_owned(), now_ms: day * DAY_MS, ..Env::default() };
        let one = Worth { stopped: 1, ..Worth::default() };
        for day in 1..=10 {
            let most = (0..400).inspect(|_| add(&at(day), one).unwrap());
            let long = most.map(|_| std::fs::metadata(path(&at(day))).unwrap().len()).max();
            assert!(long.unwrap() <= LONG, "{long:?}");
        }
        assert_eq!(worth(&at(10)).stopped, 7 * 400, "and loses nothing of the week");
    }
}
