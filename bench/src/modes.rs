//! What one PreToolUse costs in each mode, beside a program that only reads its input and beside other
//! guards.
//!
//! Called by `bench/run`. `BENCH_BEFORE` names an older build of the hook, `BENCH_PEERS` other guards as
//! `name=program argument…`, parted by `;`. A peer that fails is left out, and said so.

use crate::child::{Cost, command, run, try_run};
use crate::{Row, median, row};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODES: [&str; 3] = ["guard", "loop", "strict"];
const CALLS: [(&str, &str); 2] = [
    ("Read", r#""tool_name":"Read","tool_input":{"file_path":"src/main.rs","limit":200}"#),
    ("Bash", r#""tool_name":"Bash","tool_input":{"command":"git status --short && ls -la src | head -20"}"#),
];

/// A session of its own in a repository of its own.
struct Guarded<'a> {
    hook: &'a Path,
    home: PathBuf,
    mode: &'static str,
    calls: Cell<u64>,
}

impl<'a> Guarded<'a> {
    fn new(hook: &'a Path, name: &str, mode: &'static str, home: &Path) -> Self {
        let home = home.join(format!("{name}-{mode}"));
        std::fs::create_dir_all(home.join("project/src")).expect("a folder");
        std::fs::write(home.join("project/src/main.rs"), "fn main() {}\n").expect("a file");
        let git = Command::new("git").args(["init", "-q"]).current_dir(home.join("project")).status();
        assert!(git.is_ok_and(|status| status.success()), "`git` is needed");
        let guarded = Self { hook, home, mode, calls: Cell::new(0) };
        guarded.event("SessionStart", r#""source":"startup""#, "");
        guarded.event("UserPromptSubmit", r#""prompt":"what does the program do?""#, "");
        guarded
    }

    fn call(&self, fields: &str) -> Cost {
        let id = format!(r#","tool_use_id":"toolu_{:024}""#, self.calls.get());
        self.calls.set(self.calls.get() + 1);
        let cost = self.event("PreToolUse", fields, &id);
        self.event("PostToolUse", fields, &format!(r#"{id},"tool_response":{{"type":"text"}}"#));
        cost
    }

    fn event(&self, name: &str, fields: &str, more: &str) -> Cost {
        let mut command = command(self.hook, &[name], &self.home);
        command.env("AOPS_MODE", self.mode).env("PATH", "/usr/bin:/bin").current_dir(self.home.join("project"));
        run(command, payload(&self.home, name, fields, more).as_bytes())
    }
}

fn payload(home: &Path, event: &str, fields: &str, more: &str) -> String {
    let home = home.display();
    format!(
        r#"{{"session_id":"bench","transcript_path":"{home}/.claude/projects/-bench/bench.jsonl","cwd":"{home}/project","prompt_id":"7a3c0f52-9f4f-4a53-8d41-2d7a7a4f0c11","permission_mode":"default","hook_event_name":"{event}",{fields}{more}}}"#
    )
}

/// The older build and the other guards that the caller named.
fn peers() -> (Option<PathBuf>, Vec<(String, Vec<String>)>) {
    let before = std::env::var_os("BENCH_BEFORE").map(PathBuf::from);
    let named = std::env::var("BENCH_PEERS").unwrap_or_default();
    let peer = |text: &str| {
        let (name, line) = text.split_once('=')?;
        Some((name.to_owned(), line.split_whitespace().map(str::to_owned).collect()))
    };
    (before, named.split(';').filter_map(peer).collect())
}

pub(crate) fn measure(programs: &Path, hook: &Path, home: &Path, rounds: usize) {
    let (before, others) = peers();
    let hooks: Vec<(&str, &Path)> = before.iter().map(|path| ("before", path.as_path())).chain([("now", hook)]).collect();
    let guarded: Vec<(&str, Guarded)> = hooks
        .iter()
        .flat_map(|(name, hook)| MODES.map(|mode| (*name, Guarded::new(hook, name, mode, home))))
        .collect();
    let alone = home.join("alone");
    std::fs::create_dir_all(alone.join("project/src")).expect("a folder");
    let mut rows = vec![row("reader of stdin".to_owned(), {
        let (input, reader) = (payload(&alone, "PreToolUse", CALLS[1].1, ""), programs.join("reader"));
        let alone = alone.clone();
        move || run(command(&reader, &[], &alone), input.as_bytes())
    })];
    for (name, line) in others {
        let Some((program, arguments)) = line.split_first() else { continue };
        let (program, arguments) = (PathBuf::from(program), arguments.to_vec());
        let alone = alone.clone();
        let turn = move || {
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let mut command = command(&program, &words, &alone);
            command.env("PATH", "/usr/bin:/bin").current_dir(alone.join("project"));
            try_run(command, payload(&alone, "PreToolUse", CALLS[1].1, r#","tool_use_id":"toolu_1""#).as_bytes())
        };
        match turn() {
            Ok(_) => rows.push(row(format!("{name} Bash"), move || turn().unwrap_or_else(|why| panic!("{why}")))),
            Err(why) => println!("{name} is left out: {why}"),
        }
    }
    for (name, guarded) in &guarded {
        for (tool, fields) in CALLS {
            rows.push(row(format!("{name} {} {tool}", guarded.mode), move || guarded.call(fields)));
        }
    }
    // Each in another place every round: what runs after a large program finds the caches empty.
    let count = rows.len();
    for round in 0..rounds {
        let step = (1..count).filter(|step| coprime(*step, count)).cycle().nth(round).unwrap_or(1);
        for n in 0..count {
            let row = &mut rows[(round + n * step) % count];
            let cost = (row.turn)();
            row.costs.push(cost);
        }
    }
    print(&rows);
}

fn coprime(a: usize, b: usize) -> bool {
    if b == 0 { a == 1 } else { coprime(b, a % b) }
}

fn print(rows: &[Row]) {
    println!("\n{:<28}{:>6}{:>10}{:>10}{:>9}{:>9}{:>9}", "PreToolUse", "runs", "cpu µs", "wall µs", "cpu ×", "wall ×", "faults");
    let reader = &rows[0];
    let (cpu, wall) = (median(reader, |c| c.cpu), median(reader, |c| c.wall));
    for row in rows {
        let (c, w) = (median(row, |c| c.cpu), median(row, |c| c.wall));
        let mut faults: Vec<i64> = row.costs.iter().map(|cost| cost.faults).collect();
        faults.sort_unstable();
        let (name, runs, faults) = (&row.name, row.costs.len(), faults[faults.len() / 2]);
        println!("{name:<28}{runs:>6}{c:>10.0}{w:>10.0}{:>9.2}{:>9.2}{faults:>9}", c / cpu, w / wall);
    }
    println!("(targets: cpu 1.9 of the reader, 110 page faults, less than the fastest other guard)");
}
