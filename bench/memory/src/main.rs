//! Redaction in MB/s on source code and base64.

use aops_hook::redact::redact;
use std::time::Instant;

fn main() {
    let folder = std::env::args().nth(1).expect("usage: bench FOLDER-OF-SOURCES");
    let code = sources(&folder, 10 << 20);
    let encoded = base64(10 << 20);
    for (name, text) in [("source code", &code), ("base64", &encoded)] {
        let best = (0..7)
            .map(|_| {
                let began = Instant::now();
                std::hint::black_box(redact(std::hint::black_box(text)));
                began.elapsed()
            })
            .min()
            .unwrap();
        let found = redact(text).matches("[redacted:").count();
        println!("{name}: {:.0} MB/s, {found} found in {} MB", text.len() as f64 / 1e6 / best.as_secs_f64(), text.len() >> 20);
    }
    if std::env::args().nth(2).is_some() {
        for line in code.lines() {
            let clean = redact(line);
            if clean != line {
                println!("{line}\n    {clean}");
            }
        }
    }
}

fn sources(folder: &str, most: usize) -> String {
    let mut text = String::new();
    let mut folders = vec![std::path::PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| ["rs", "py", "js", "ts", "md", "toml", "json", "yml", "yaml", "c", "h"].iter().any(|x| e == *x)) {
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
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    (0..long)
        .map(|n| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            if n % 77 == 76 { '\n' } else { LETTERS[(seed >> 32) as usize & 63] as char }
        })
        .collect()
}
