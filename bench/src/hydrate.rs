//! Measures a prompt with 5,000 notes, a 50 MB transcript and no tracker: time and memory of the whole
//! process.

use crate::child::{Cost, command, run};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const NOTES: u64 = 5_000;
const NOTE: usize = 2_400;
const TRANSCRIPT: usize = 50 << 20;
const PROMPT: &str = "why does the staging deploy fail after the database migration of orders?";

/// Prints the middle and the worst of so many prompts; the targets are 100 ms and 50 MB.
pub(crate) fn measure(hook: &Path, home: &Path, rounds: usize) {
    let folder = home.join(".claude/projects/-bench");
    fs::create_dir_all(&folder).expect("a home");
    fs::create_dir_all(home.join("notes")).expect("a folder for notes");
    notes(&home.join("notes"));
    let transcript = folder.join("bench-hydrate.jsonl");
    turns(&transcript);
    let event = |name: &str, more: &str| {
        let input = format!(
            r#"{{"session_id":"bench-hydrate","transcript_path":"{}","cwd":"{}","hook_event_name":"{name}",{more}}}"#,
            transcript.display(),
            home.display()
        );
        let mut child = command(hook, &[name], home);
        // No `PATH`, so there is no tracker.
        child.env("ACA_DATA", home.join("notes"));
        run(child, input.as_bytes())
    };
    let prompt = format!(r#""prompt":"{PROMPT}""#);
    event("UserPromptSubmit", &prompt);
    let unread = event("UserPromptSubmit", &prompt);
    event("SessionStart", r#""source":"startup""#);
    let index = home.join(".claude/aops/notes");
    let began = Instant::now();
    while fs::read_dir(&index).map_or(0, |listing| listing.flatten().filter(is_index).count()) == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "no index in {}", index.display());
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_millis(500));
    let mut costs: Vec<Cost> = (0..rounds).map(|_| event("UserPromptSubmit", &prompt)).collect();
    costs.sort_by_key(|cost| cost.wall);
    let ms = |cost: &Cost| cost.wall.as_secs_f64() * 1e3;
    let mb = |cost: &Cost| cost.memory as f64 / 1024.0;
    let largest = costs.iter().map(|cost| mb(cost)).fold(0.0, f64::max);
    println!("\nUserPromptSubmit, no tracker, {NOTES} notes, transcript of {} MB:", TRANSCRIPT >> 20);
    println!(
        "  with the index   {:.1} ms (worst {:.1}), {largest:.1} MB   (targets 100 ms, 50 MB)",
        ms(&costs[rounds / 2]),
        ms(&costs[rounds - 1])
    );
    println!("  without an index {:.1} ms, {:.1} MB", ms(&unread), mb(&unread));
}

fn is_index(item: &fs::DirEntry) -> bool {
    item.metadata().is_ok_and(|about| about.len() > 1 << 20)
}

const WORDS: [&str; 24] = [
    "deploy", "staging", "orders", "database", "migration", "window", "parser", "greeting", "cache", "index", "user",
    "session", "report", "invoice", "queue", "worker", "token", "branch", "release", "metric", "alert", "schema",
    "backup", "cursor",
];

/// Words in an order that looks random and is the same every time.
fn words(seed: u64, length: usize) -> String {
    let (mut text, mut state) = (String::new(), seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    while text.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = WORDS[usize::try_from((state >> 33) % 24).unwrap_or_default()];
        let _ = write!(text, "{word}{} ", (state >> 40) % 97);
        if state >> 60 == 0 {
            text.push('\n');
        } else if state >> 61 == 1 {
            let _ = write!(text, "{word} ");
        }
    }
    text
}

fn notes(folder: &Path) {
    for n in 0..NOTES {
        let text = format!("# Note {n}\n\n{}\n", words(n, NOTE));
        fs::write(folder.join(format!("note-{n}.md")), text).expect("a note");
    }
}

fn turns(path: &Path) {
    let mut file = BufWriter::new(File::create(path).expect("a transcript"));
    let (mut written, mut n) = (0, 0);
    while written < TRANSCRIPT {
        let kind = if n % 2 == 0 { "user" } else { "assistant" };
        let line = format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"{n:036}\",\"message\":{{\"role\":\"{kind}\",\"content\":\"{}\"}}}}\n",
            words(n, 4_000).replace('\n', "\\n")
        );
        file.write_all(line.as_bytes()).expect("a transcript");
        (written, n) = (written + line.len(), n + 1);
    }
}
