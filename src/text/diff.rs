//! Shows what would change between two texts, as a unified diff.
//!
//! Reads two texts; writes nothing. Invariant: applied to the first, it gives the second. Texts so long that comparing
//! all lines would take gigabytes are shown as one change.

/// Lines of the unchanged text around a change.
const AROUND: usize = 3;

/// Above this many pairs of lines the middle is shown as replaced.
const MOST_PAIRS: usize = 16_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The unified diff from `old` to `new`, with these names for them; empty when they are the same.
pub fn unified(old_name: &str, new_name: &str, old: &str, new: &str) -> String {
    let lines = compare(old, new);
    let mut out = String::new();
    let mut at = 0;
    let changed = |line: &Line| !matches!(line, Line::Same(_));
    while let Some(first) = lines[at..].iter().position(changed).map(|n| at + n) {
        let mut end = first + 1;
        // A change less than two surroundings away belongs to the same hunk.
        while let Some(next) = lines[end..].iter().take(2 * AROUND + 1).position(changed) {
            end += next + 1;
        }
        let start = first.saturating_sub(AROUND).max(at);
        at = (end + AROUND).min(lines.len());
        if out.is_empty() {
            out = format!("--- {old_name}\n+++ {new_name}\n");
        }
        hunk(&lines, start, at, &mut out);
    }
    out
}

fn hunk(lines: &[Line], start: usize, end: usize, out: &mut String) {
    let count = |lines: &[Line], wanted: fn(&Line) -> bool| lines.iter().filter(|line| wanted(line)).count();
    let old = |line: &Line| !matches!(line, Line::New(_));
    let new = |line: &Line| !matches!(line, Line::Old(_));
    let range = |wanted: fn(&Line) -> bool| {
        let (before, size) = (count(&lines[..start], wanted), count(&lines[start..end], wanted));
        format!("{},{size}", if size == 0 { before } else { before + 1 })
    };
    out.push_str(&["@@ -", &range(old), " +", &range(new), " @@\n"].concat());
    for line in &lines[start..end] {
        let (mark, text) = match *line {
            Line::Same(text) => (' ', text),
            Line::Old(text) => ('-', text),
            Line::New(text) => ('+', text),
        };
        out.push(mark);
        out.push_str(text);
        if !text.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn compare<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let old: Vec<_> = old.split_inclusive('\n').collect();
    let new: Vec<_> = new.split_inclusive('\n').collect();
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut lines: Vec<_> = old[..head].iter().map(|text| Line::Same(text)).collect();
    middle(&old[head..old_end], &new[head..new_end], &mut lines);
    lines.extend(old[old_end..].iter().map(|text| Line::Same(text)));
    lines
}

/// The longest common run of lines, by the textbook's table.
fn middle<'a>(old: &[&'a str], new: &[&'a str], lines: &mut Vec<Line<'a>>) {
    if old.len().saturating_mul(new.len()) > MOST_PAIRS {
        lines.extend(old.iter().map(|text| Line::Old(text)).chain(new.iter().map(|text| Line::New(text))));
        return;
    }
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            common[i * width + j] = if a == b {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]
        {
            lines.push(Line::Old(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn looks_as_diff_does() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        let new = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk";
        let wanted = "--- x\n+++ y\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -8,4 +8,4 @@\n h\n i\n j\n-k\n+k\n\\ No newline at end of file\n";
        assert_eq!(unified("x", "y", old, new), wanted);
        assert_eq!(unified("x", "y", "", "a\n"), "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("x", "y", old, old), "");
    }

    /// What `patch` would make of it.
    fn apply(old: &str, diff: &str) -> String {
        let old: Vec<_> = old.split_inclusive('\n').collect();
        let (mut out, mut at) = (String::new(), 0);
        let diff = diff.replace("\n\\ No newline at end of file\n", "\u{0}");
        for line in diff.split_inclusive(['\n', '\u{0}']).skip(2) {
            let text = line[1..].trim_end_matches('\u{0}');
            match line.as_bytes()[0] {
                b'@' => {
                    let (start, size) = line[4..].split(' ').next().unwrap().split_once(',').unwrap();
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
