//! Measures the hook against an empty program and one that reads stdin, interleaved, and prints ratios.
//!
//! Called by `bench/run` with the folder of the built programs, a throwaway home and the numbers of rounds
//! and entries. Invariant: every program gets its turn in every round, so a busy machine is busy for all of
//! them.

mod child;
mod hydrate;
mod jail;
mod ledger;
mod modes;

use child::{Cost, command, run};
use ledger::Session;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// One row of the table.
struct Row<'a> {
    name: String,
    turn: Box<dyn FnMut() -> Cost + 'a>,
    costs: Vec<Cost>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, hook, home, rounds] = arguments.as_slice() {
        let measure = match word.as_str() {
            "hydrate" => hydrate::measure,
            "jail" => jail::measure,
            other => panic!("`{other}` is not known"),
        };
        return measure(Path::new(hook), Path::new(home), rounds.parse().expect("rounds are a number"));
    }
    if let [_, word, hook, programs, home, rounds] = arguments.as_slice()
        && word == "modes"
    {
        let rounds = rounds.parse().expect("rounds are a number");
        return modes::measure(Path::new(programs), Path::new(hook), Path::new(home), rounds);
    }
    let [_, hook, programs, home, rounds, entries] = arguments.as_slice() else {
        panic!("usage: bench HOOK PROGRAMS HOME ROUNDS ENTRIES")
    };
    let (hook, programs, home) = (Path::new(hook), Path::new(programs), Path::new(home));
    let rounds: usize = rounds.parse().expect("rounds are a number");
    let entries: u64 = entries.parse().expect("entries are a number");
    let young = Session::new(hook, home, "young");
    let old = Session::new(hook, home, "old");
    young.grow(8);
    eprintln!("making a ledger of {entries} entries");
    old.grow(entries);
    old.verify();
    let plain = |program: PathBuf, arguments: &'static [&'static str]| {
        let input = young.call("PreToolUse", "not-recorded");
        move || run(command(&program, arguments, home), input.as_bytes())
    };
    let rows = vec![
        row("empty program", plain(programs.join("empty"), &[])),
        row("program that reads stdin", plain(programs.join("reader"), &[])),
        row("aops-hook PreToolUse, young ledger", || young.pre_tool_use()),
        row("aops-hook PreToolUse, long ledger", || old.pre_tool_use()),
        row("python3 -c pass", plain(found("python3"), &["-c", "pass"])),
        row("node -e 0", plain(found("node"), &["-e", "0"])),
    ];
    print(&measure(rows, rounds));
    old.verified();
}

fn row<'a>(name: impl Into<String>, turn: impl FnMut() -> Cost + 'a) -> Row<'a> {
    Row { name: name.into(), turn: Box::new(turn), costs: Vec::new() }
}

/// Every row once a round; the slow ones in every tenth.
fn measure(mut rows: Vec<Row>, rounds: usize) -> Vec<Row> {
    for round in 0..rounds {
        for (n, row) in rows.iter_mut().enumerate() {
            if n < 4 || round % 10 == 0 {
                let cost = (row.turn)();
                row.costs.push(cost);
            }
        }
    }
    rows
}

fn print(rows: &[Row]) {
    println!("{:<36}{:>6}{:>10}{:>10}{:>10}{:>10}", "program", "runs", "cpu µs", "wall µs", "cpu ×", "wall ×");
    let reader = &rows[1];
    let (cpu, wall) = (median(reader, |c| c.cpu), median(reader, |c| c.wall));
    for row in rows {
        let (c, w) = (median(row, |c| c.cpu), median(row, |c| c.wall));
        let (runs, name) = (row.costs.len(), &row.name);
        println!("{name:<36}{runs:>6}{c:>10.0}{w:>10.0}{:>10.2}{:>10.2}", c / cpu, w / wall);
    }
    let ratio = |of: fn(&Cost) -> Duration| {
        [median(&rows[2], of) / median(reader, of), median(&rows[3], of) / median(&rows[2], of)]
    };
    let ([cpu, cpu_long], [wall, wall_long]) = (ratio(|c| c.cpu), ratio(|c| c.wall));
    println!("\nPreToolUse / reader of stdin: cpu {cpu:.2}, wall {wall:.2} (target 2)");
    println!("long ledger / young ledger:   cpu {cpu_long:.2}, wall {wall_long:.2} (target 1.1)");
}

fn median(row: &Row, of: fn(&Cost) -> Duration) -> f64 {
    let mut times: Vec<f64> = row.costs.iter().map(|cost| of(cost).as_secs_f64() * 1e6).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The program itself, past any shim that only picks a version.
fn found(name: &str) -> PathBuf {
    let script = match name {
        "python3" => "import sys; print(sys.executable)",
        _ => "console.log(process.execPath)",
    };
    let option = if name == "python3" { "-c" } else { "-e" };
    let output = Command::new(name).args([option, script]).output();
    let output = output.unwrap_or_else(|error| panic!("`{name}` is needed for comparison: {error}"));
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}
