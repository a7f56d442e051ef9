//! Figures for people.

use crate::text::plain::count;

/// `1 file`, `3,467 files`.
pub fn count_files(files: usize) -> String {
    let mut digits = files.to_string();
    let mut at = digits.len();
    while at > 3 {
        at -= 3;
        digits.insert(at, ',');
    }
    format!("{digits} file{}", if files == 1 { "" } else { "s" })
}

/// `812 bytes`, `12 kB`, `7 GB`.
pub fn size(bytes: u64) -> String {
    const STEPS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match STEPS.iter().find(|(step, _)| bytes >= *step) {
        Some((step, unit)) => format!("{} {unit}", (bytes + step / 2) / step),
        None => count(bytes, "byte"),
    }
}
