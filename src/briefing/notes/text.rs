//! A note's title, and how much each of its words weighs.
//!
//! Reads nothing, writes nothing. Invariant: index and scan weigh by the same code.

use super::words::{Word, each_word};
use std::path::Path;

/// A word in the title or the file's name says more than one in a heading, and that more than one in the text.
const IN_NAME: u32 = 4;
const IN_TITLE: u32 = 4;
const IN_HEADING: u32 = 2;

/// Calls `each` for every word with its weight; gives the number of words.
pub(super) fn weigh(path: &Path, text: &str, mut each: impl FnMut(Word, u32)) -> u32 {
    let mut count = 0;
    let mut part = |text: &str, weight: u32| {
        each_word(text, |word| {
            count += 1;
            each(word, weight);
        });
    };
    part(&path.with_extension("").to_string_lossy(), IN_NAME);
    let mut titled = false;
    let mut plain = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let heading = line.starts_with('#') || is_title_field(line) && !titled;
        if heading {
            part(&text[plain..at], 1);
            part(line, if titled { IN_HEADING } else { IN_TITLE });
            titled = true;
            plain = at + line.len();
        }
        at += line.len();
    }
    part(&text[plain..], 1);
    count
}

/// What the front matter or the first heading calls it, else the file's name.
pub(super) fn title(path: &Path, text: &str) -> String {
    let begin = text.lines().take(40);
    let field = begin.clone().find(|line| is_title_field(line)).map(|line| &line["title:".len()..]);
    let heading = || text.lines().find(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
    let found = field.or_else(heading).map(|title| title.trim().trim_matches(['"', '\'']));
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    found.filter(|title| !title.is_empty()).map_or_else(stem, str::to_owned)
}

fn is_title_field(line: &str) -> bool {
    line.starts_with("title:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        for (text, want) in [
            ("---\ntitle: \"Deploy notes\"\n---\n# Other\n", "Deploy notes"),
            ("\n\n# Hello *you*\ntext", "Hello *you*"),
            ("text only", "plan-b"),
            ("#\ntext", "plan-b"),
        ] {
            assert_eq!(title(Path::new("a/plan-b.md"), text), want);
        }
    }

    #[test]
    fn names_and_headings_weigh_more() {
        let mut found = Vec::new();
        weigh(Path::new("zeta.md"), "# alpha\nbeta\n## gamma\ndelta\n", |_, weight| found.push(weight));
        assert_eq!(found, [4, 4, 1, 2, 1]);
    }
}
