//! Splits text into the words of the index, and says how much each word of a note weighs.
//!
//! Words are in lower case, without accents and English plurals; scripts without blanks are split into pairs
//! of characters. Invariant: notes and questions, index and scan are split and weighed by the same code, so
//! equal words match.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

/// A word, identified by its hash.
pub(in crate::briefing) type Word = u64;

/// Longer words are cut here: nobody searches for the tail of an encoded file.
const LONGEST: usize = 48;

/// Calls `each` for every word that is not a stop word.
pub(in crate::briefing) fn each_word(text: &str, mut each: impl FnMut(Word)) {
    let mut word = Vec::with_capacity(LONGEST + 8);
    let bytes = text.as_bytes();
    let mut at = 0;
    // The previous character, if it belongs to a script without blanks.
    let mut dense = None;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii() {
            at += 1;
            dense = None;
            if byte.is_ascii_alphanumeric() {
                push(&mut word, byte.to_ascii_lowercase());
            } else {
                end(&mut word, &mut each);
            }
            continue;
        }
        let Some(letter) = text[at..].chars().next() else { break };
        at += letter.len_utf8();
        if is_dense(letter) {
            end(&mut word, &mut each);
            each(pair(dense.unwrap_or(letter), letter));
            dense = Some(letter);
            continue;
        }
        dense = None;
        if !spell(letter, &mut word) {
            end(&mut word, &mut each);
        }
    }
    end(&mut word, &mut each);
}

/// Adds a letter in its plain form; false if the character ends a word.
fn spell(letter: char, word: &mut Vec<u8>) -> bool {
    // Accents as separate characters, as in file names of some systems.
    if ('\u{300}'..='\u{36f}').contains(&letter) {
        return true;
    }
    if !letter.is_alphanumeric() {
        return false;
    }
    for small in letter.to_lowercase().map(without_accent).filter(|c| c.is_alphanumeric()) {
        small.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push(word, byte));
    }
    true
}

fn push(word: &mut Vec<u8>, byte: u8) {
    if word.len() < LONGEST {
        word.push(byte);
    }
}

fn end(word: &mut Vec<u8>, each: &mut impl FnMut(Word)) {
    if word.is_empty() {
        return;
    }
    let root = without_plural(word);
    let single = root.len() == 1 && root[0].is_ascii_alphabetic();
    if !single && !is_stop_word(root) {
        each(hash(root));
    }
    word.clear();
}

/// `queries` becomes `query`, `tests` becomes `test`; `class` and `status` stay.
fn without_plural(word: &mut Vec<u8>) -> &[u8] {
    let kept = match word.as_slice() {
        [.., b'i', b'e', b's'] if word.len() > 4 => {
            let long = word.len();
            word[long - 3] = b'y';
            long - 2
        }
        [.., b's' | b'u' | b'i', b's'] => word.len(),
        [.., b's'] if word.len() > 3 => word.len() - 1,
        _ => word.len(),
    };
    &word[..kept]
}

/// FNV-1a: short, and good enough to distinguish a few hundred thousand words.
fn hash(word: &[u8]) -> Word {
    word.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ Word::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn pair(one: char, two: char) -> Word {
    let mut bytes = [0; 8];
    let long = one.encode_utf8(&mut bytes).len();
    let long = long + two.encode_utf8(&mut bytes[long..]).len();
    hash(&bytes[..long])
}

/// Scripts that do not separate words with blanks.
fn is_dense(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The accented Latin letters from `à` to `ž`, each as its plain letter; `*` stands for none.
const PLAIN: &str = "aaaaaa*ceeeeiiii*nooooo*ouuuuy*yaaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii**jjkk*llllll**llnnnnnn***oooooo**rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzz";

fn without_accent(letter: char) -> char {
    let code = u32::from(letter);
    let at = match code {
        0xe0..=0xff => code - 0xe0,
        0x100..=0x17e => code - 0x100 + 32,
        _ => return letter,
    };
    match PLAIN.as_bytes().get(at as usize) {
        Some(b'*') | None => letter,
        Some(plain) => char::from(*plain),
    }
}

/// Words that say nothing about a note. Those with an apostrophe are listed in parts.
const STOP_WORDS: &str = "about after all also am an and any are as at be because been before being but by can could \
did do doe doing don down each few for from further get go had has hav have having he her here him his how if in into \
is it its just let like ll me more most my need no nor not now of off on once only or other our out over own pleas \
please re same shall she should so some such than that the their them then there these they this those through to too \
under until up us use ve very want was we were what when where which while who whom why will with would you your";

static STOPS: LazyLock<HashSet<&[u8]>> = LazyLock::new(|| STOP_WORDS.split(' ').map(str::as_bytes).collect());

fn is_stop_word(word: &[u8]) -> bool {
    word.len() < 8 && STOPS.contains(word)
}

/// A word in the title or the file's name weighs more than one in a heading, and that more than one in the
/// text.
const IN_NAME: u32 = 4;
const IN_TITLE: u32 = 4;
const IN_HEADING: u32 = 2;

/// Calls `each` for every word with its weight; returns the number of words.
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

/// The title from the front matter or the first heading, otherwise the file's name.
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

    fn words(text: &str) -> Vec<Word> {
        let mut found = Vec::new();
        each_word(text, |word| found.push(word));
        found
    }

    #[test]
    fn forms_of_one_word_meet() {
        for (one, other) in [
            ("Queries", "query"),
            ("tests!", "TEST"),
            ("résumé", "re\u{301}sume\u{301}"),
            ("RÉSUMÉ", "resume"),
            ("Straße", "straße"),
            ("ÉLÈVE žluť", "eleve zlut"),
            ("snake_case-word", "snake case word"),
            ("it's the deploy", "deploy"),
            ("ΣΊΣΥΦΟΣ", "ΣΊΣΥΦΟΣ"),
            ("İstanbul", "istanbul"),
            ("https://example.com/path", "http example com path"),
        ] {
            assert_eq!(words(one), words(other), "{one} / {other}");
            assert!(!words(one).is_empty());
        }
        assert_eq!(words("the and of it a b c").len(), 0);
        assert_ne!(words("class"), words("clas"));
        assert_eq!(words("v2 2024 x86").len(), 3);
    }

    #[test]
    fn scripts_without_blanks_are_cut_in_pairs() {
        let note = words("数据库迁移");
        assert_eq!(note.len(), 5);
        assert!(words("迁移")[1..].iter().all(|word| note.contains(word)));
        assert!(note.contains(&words("据库")[1]));
    }

    #[test]
    fn letters_have_their_plain_form() {
        assert_eq!(PLAIN.len(), 32 + 127);
        for (letter, plain) in
            ['à', 'ñ', 'ö', 'ÿ', 'ā', 'č', 'ğ', 'ł', 'ő', 'ş', 'ů', 'ž'].iter().zip("anoyacglosuz".chars())
        {
            assert_eq!(without_accent(*letter), plain, "{letter}");
        }
    }

    #[test]
    fn stop_words_are_known() {
        assert!(STOP_WORDS.split(' ').all(|word| is_stop_word(word.as_bytes())) && !is_stop_word(b"deploy"));
    }

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
