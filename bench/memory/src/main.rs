//! Measures redaction in MB/s, and a search over 5,000 notes in new processes (see `run` beside it); asks a
//! memory server (see `tests/long-run.d/memory`).

use aops_core::system::env::Env;
use aops_core::briefing::memory;
use aops_core::config::policy::Address;
use aops_core::briefing::notes::{refresh, search};
use aops_core::text::redact::redact;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["redact", folder] => measure_redact(folder),
        ["notes", folder] => measure_notes(Path::new(folder)),
        ["search", folder, query] => {
            let found = search(&env(Path::new(folder)), query, 8, Instant::now() + Duration::from_secs(9));
            assert!(found.complete && !found.hits.is_empty());
        }
        ["nothing"] => {}
        ["remember", url, folder, text] => {
            memory::store(&env(Path::new(folder)), &Address::read(url).unwrap(), text, &["aops"], soon())
                .unwrap();
        }
        ["recall", url, folder, query] => {
            let began = Instant::now();
            let found =
                memory::recall(&env(Path::new(folder)), &Address::read(url).unwrap(), query, soon())
                    .unwrap();
            eprintln!("{} memories in {:.0} ms", found.len(), began.elapsed().as_secs_f64() * 1e3);
            found.iter().for_each(|memory| println!("{memory}"));
        }
        _ => panic!(
            "usage: aops-bench-memory redact SOURCES | notes EMPTY-FOLDER | remember URL FOLDER TEXT | recall URL FOLDER QUERY"
        ),
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn env(folder: &Path) -> Env {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    // Later than any file: all of them count as settled.
    Env {
        data: folder.join("data"),
        config: folder.join("config"),
        now_ms: now + 3_600_000,
        ..Env::default()
    }
}

fn measure_redact(folder: &str) {
    let code = sources(folder, 10 << 20);
    let encoded = base64(10 << 20);
    for (name, text) in [("source code", &code), ("base64", &encoded)] {
        let best = best(9, || {
            std::hint::black_box(redact(std::hint::black_box(text)));
        });
        let found = redact(text).matches("[redacted:").count();
        let speed = text.len() as f64 / 1e6 / best.as_secs_f64();
        println!("redact {name}: {speed:.0} MB/s (target 300), {found} found in {} MB", text.len() >> 20);
    }
}

fn measure_notes(folder: &Path) {
    let env = env(folder);
    let bytes = corpus(&env.data, 5_000, 12_000_000);
    println!("5000 notes, {:.1} MB", bytes as f64 / 1e6);
    let query = "why does the staging deploy fail after the database migration of orders";
    let child = |words: &[&str]| {
        let status = Command::new(std::env::current_exe().unwrap()).args(words).status().unwrap();
        assert!(status.success());
    };
    let place = folder.to_str().unwrap();
    let say = |what: &str, took: Duration| println!("{what}: {:.1} ms", took.as_secs_f64() * 1e3);
    say("new process, nothing done", middle(50, || child(&["nothing"])));
    say("new process, scan without index", middle(15, || child(&["search", place, query])));
    say("first refresh", best(1, || _ = refresh(&env).unwrap()));
    say("refresh, nothing changed", best(3, || _ = refresh(&env).unwrap()));
    std::fs::write(env.data.join("n/new.md"), "# a new note\nabout the deploy\n").unwrap();
    say("refresh, one note changed", best(1, || _ = refresh(&env).unwrap()));
    say("new process, index (target 30)", middle(50, || child(&["search", place, query])));
    let index: u64 = std::fs::read_dir(env.config.join("aops/notes"))
        .unwrap()
        .map(|e| e.unwrap().metadata().unwrap().len())
        .sum();
    println!("index: {:.1} MB", index as f64 / 1e6);
}

fn best(rounds: usize, mut work: impl FnMut()) -> Duration {
    times(rounds, &mut work)[0]
}

fn middle(rounds: usize, mut work: impl FnMut()) -> Duration {
    times(rounds, &mut work)[rounds / 2]
}

fn times(rounds: usize, work: &mut impl FnMut()) -> Vec<Duration> {
    let mut all: Vec<_> = (0..rounds)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    all.sort();
    all
}

/// Notes of made-up words with the frequencies of a language, in folders of a hundred.
fn corpus(data: &Path, notes: usize, bytes: usize) -> usize {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let known = [
        "deploy",
        "staging",
        "database",
        "migration",
        "orders",
        "fail",
        "index",
        "review",
        "customer",
        "token",
    ];
    let parts =
        ["ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sta", "tre", "vi", "zo", "qua", "ll"];
    let mut word = || {
        // Zipf: rank by the inverse of a uniform draw.
        let rank = (60_000f64.powf(dice.unit())) as usize;
        if rank % 97 < known.len() {
            return known[rank % 97].to_owned();
        }
        let mut name = String::new();
        let mut n = rank;
        while n > 0 {
            name.push_str(parts[n % 16]);
            n /= 16;
        }
        name
    };
    let mut written = 0;
    for n in 0..notes {
        let mut text = format!("---\ntype: note\n---\n# {} {}\n\n", word(), word());
        while text.len() < bytes / notes {
            for _ in 0..12 {
                text.push_str(&word());
                text.push(' ');
            }
            text.push('\n');
        }
        let folder = data.join(format!("n/{}", n / 100));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{}-{n}.md", word())), &text).unwrap();
        written += text.len();
    }
    written
}

struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn sources(folder: &str, most: usize) -> String {
    let kinds = ["rs", "py", "js", "ts", "md", "toml", "json", "yml", "yaml", "c", "h"];
    let mut text = String::new();
    let mut folders = vec![std::path::PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| kinds.iter().any(|kind| e == *kind)) {
                text.push_str(&std::fs::read_to_string(&path).unwrap_or_default());
            }
            if text.len() > most {
                return text;
            }
        }
    }
    text
}

fn base64(long: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let letter =
        |n: usize| if n % 77 == 76 { '\n' } else { LETTERS[(dice.next() >> 32) as usize & 63] as char };
    (0..long).map(letter).collect()
}
