//! How long a shell line of 4 KB takes to be judged: read, cut, guarded and classed, as one `PreToolUse` does
//! it.
//!
//! `cargo bench --bench lines`. Prints the tenth percentile and the median of each shape, and fails where the
//! former is over the target of 1 ms: the rest is a busy machine's.
#![expect(clippy::print_stdout, reason = "a table for people")]

use aops_core::gate;
use aops_core::host::claude::wire::read;
use aops_core::observe;
use aops_core::session::fold::Session;
use aops_core::system::env::Env;
use serde_json::json;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[path = "shapes.rs"]
mod shapes;

const ROUNDS: usize = 400;
const TARGET: Duration = Duration::from_millis(1);

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let rounds = if std::env::args().any(|word| word == "--bench") { ROUNDS } else { 1 };
    let home = std::env::temp_dir();
    let env =
        Env { config: home.join(".claude"), user_config: home.join(".config/aops"), home, ..Env::default() };
    let session = Session::default();
    println!("{:<26}{:>8}{:>12}{:>12}", "4 KB of", "bytes", "p10 µs", "median µs");
    let mut slow = Vec::new();
    for shape in shapes::SHAPES {
        let (name, line) = (shape.0, shapes::line(*shape));
        let payload =
            json!({"session_id": "bench", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_use_id": "t", "tool_input": {"command": line}})
            .to_string();
        let mut took: Vec<Duration> = (0..rounds)
            .map(|_| {
                let began = Instant::now();
                let event = read::read("PreToolUse", payload.as_bytes()).expect("a payload");
                let context = observe::call::again(&env, &session, &event, 0);
                black_box(gate::judge(&session, &event, &context));
                began.elapsed()
            })
            .collect();
        took.sort();
        let (low, median) = (took[took.len() / 10], took[took.len() / 2]);
        println!("{name:<26}{:>8}{:>12}{:>12}", line.len(), low.as_micros(), median.as_micros());
        if low > TARGET {
            slow.push(name);
        }
    }
    assert!(rounds == 1 || slow.is_empty(), "over 1 ms: {slow:?}");
}
