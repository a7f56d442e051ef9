//! Shows what would change between two texts, as a unified diff.
//!
//! Reads two texts; writes nothing. Invariant: applied to the first text, the diff gives the second. After
//! `LIMIT` the search for the shortest diff ends and the rest is shown as replaced, so long texts cost
//! neither minutes nor gigabytes.

use similar::{ChangeTag, TextDiff};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1);

/// The unified diff from `old` to `new`, with these names for them; empty if they are the same.
pub fn unified(old_name: &str, new_name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(LIMIT).diff_lines(old, new);
    diff.unified_diff().context_radius(3).header(old_name, new_name).to_string()
}

/// Lines are counted while a session waits.
const SOON: Duration = Duration::from_millis(200);

/// How many lines are added or removed from `old` to `new`.
pub fn count_lines(old: &str, new: &str) -> u64 {
    let diff = TextDiff::configure().timeout(SOON).diff_lines(old, new);
    diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal).count() as u64
}

/// The owner of each line of `new`, given the owners of the lines of `old`: a new line belongs to `by`.
pub fn carry_owners<T: Copy>(old: &str, new: &str, owners: &[T], by: T) -> Vec<T> {
    let diff = TextDiff::configure().timeout(SOON).diff_lines(old, new);
    let stays = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Delete);
    stays.map(|change| change.old_index().and_then(|at| owners.get(at)).copied().unwrap_or(by)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_counted_both_ways() {
        for (old, new, want) in [
            ("", "", 0),
            ("", "a\nb\n", 2),
            ("a\nb\n", "", 2),
            ("a\nb\nc\n", "a\nx\nc\n", 2),
            ("a", "a\n", 2),
        ] {
            assert_eq!(count_lines(old, new), want, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_line_is_whose_who_wrote_it_last() {
        let first = carry_owners("", "a\nb\nc\n", &[], 'x');
        let second = carry_owners("a\nb\nc\n", "a\nB\nc\nd\n", &first, 'y');
        let third = carry_owners("a\nB\nc\nd\n", "c\nd\n", &second, 'z');
        assert_eq!((first, second, third), (vec!['x'; 3], vec!['x', 'y', 'x', 'y'], vec!['x', 'y']));
        assert_eq!(carry_owners("a\n", "", &['x'], 'y'), []);
    }

    #[test]
    fn looks_as_diff_does() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        let new = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk";
        let wanted = "--- x\n+++ y\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -8,4 +8,4 @@\n h\n i\n j\n-k\n+k\n\\ No newline at end of file\n";
        assert_eq!(unified("x", "y", old, new), wanted);
        assert_eq!(unified("x", "y", "", "a\n"), "--- x\n+++ y\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified("x", "y", old, old), "");
    }

    /// Applies the diff like `patch`.
    fn apply(old: &str, diff: &str) -> String {
        let old: Vec<_> = old.split_inclusive('\n').collect();
        let mut out = String::new();
        let mut at = 0;
        let diff = diff.replace("\n\\ No newline at end of file\n", "\u{0}");
        for line in diff.split_inclusive(['\n', '\u{0}']).skip(2) {
            let text = line[1..].trim_end_matches('\u{0}');
            match line.as_bytes()[0] {
                b'@' => {
                    let range = line[4..].split(' ').next().unwrap();
                    let (start, size) = range.split_once(',').unwrap_or((range, "1"));
                    let start = start.parse::<usize>().unwrap() - usize::from(size != "0");
                    out.extend(old[at..start].iter().copied());
                    at = start;
                }
                b'+' => out.push_str(text),
                mark => {
                    assert_eq!(old[at], text);
                    at += 1;
                    if mark == b' ' {
                        out.push_str(text);
                    }
                }
            }
        }
        out.extend(old[at..].iter().copied());
        out
    }

    proptest! {
        #[test]
        fn applied_it_gives_the_second(old in "([abc]\n){0,30}[a]?", new in "([abc]\n){0,30}[a]?") {
            prop_assert_eq!(apply(&old, &unified("x", "y", &old, &new)), new);
        }
    }
}
