//! Finds `[[wikilinks]]` in markdown.
//!
//! Reads text, writes nothing. Invariant: what stands in a fence or in backticks is an example and no link.

use super::Mention;

/// A stretch of text, or a link in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    /// `[[to]]`, `[[to#part]]` or `[[to|label]]`.
    Link {
        to: &'a str,
        label: &'a str,
        line: usize,
    },
}

/// Every link outside code, in the order of the text, whose first line is line `first` of the file.
pub fn links(text: &str, first: usize) -> Vec<Mention> {
    let link = |piece| match piece {
        Piece::Link { to, line, .. } => Some(Mention { to: to.to_owned(), line }),
        Piece::Text(_) => None,
    };
    pieces(text, first).into_iter().filter_map(link).collect()
}

/// The text cut where its links are; all pieces one after another are the text again, but for the brackets.
pub fn pieces(text: &str, first: usize) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let start = line.trim_start();
        match (fence, mark(start)) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if closes(open, mark, start) => fence = None,
            (None, None) => {
                in_line(line, first + n, &mut found);
                continue;
            }
            _ => {}
        }
        found.push(Piece::Text(line));
    }
    found
}

/// The run of backticks or tildes that begins or ends a fence.
fn mark(line: &str) -> Option<&str> {
    let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let long = line.chars().take_while(|c| *c == sign).count();
    // An info string with a backtick makes it a code span in a line of text.
    let fence = long >= 3 && !(sign == '`' && line[long..].contains('`'));
    fence.then(|| &line[..long])
}

fn closes(open: &str, mark: &str, line: &str) -> bool {
    mark.starts_with(open) && line[mark.len()..].trim().is_empty()
}

fn in_line<'a>(line: &'a str, number: usize, found: &mut Vec<Piece<'a>>) {
    let (mut from, mut at) = (0, 0);
    while let Some(next) = line[at..].find(['`', '[']) {
        let here = &line[at + next..];
        if here.starts_with('`') {
            at = line.len() - after_code(here).len();
        } else if let Some((inside, after)) = bracketed(here) {
            found.push(Piece::Text(&line[from..at + next]));
            let (place, label) = inside.split_once('|').unwrap_or((inside, inside));
            let to = place.split('#').next().unwrap_or_default().trim();
            found.push(Piece::Link { to, label: label.trim(), line: number });
            at = line.len() - after.len();
            from = at;
        } else {
            at += next + 1;
        }
    }
    found.push(Piece::Text(&line[from..]));
}

/// What stands between double brackets, and what follows. No bracket stands inside, so no line is read twice.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix("[[")?;
    let end = inside.find(['[', ']'])?;
    Some((&inside[..end], inside[end..].strip_prefix("]]")?))
}

/// What follows a code span, or the lone backticks that open none.
fn after_code(text: &str) -> &str {
    let long = text.bytes().take_while(|b| *b == b'`').count();
    let mut rest = &text[long..];
    while let Some(at) = rest.find('`') {
        let run = rest[at..].bytes().take_while(|b| *b == b'`').count();
        if run == long {
            return &rest[at + run..];
        }
        rest = &rest[at + run..];
    }
    &text[long..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, usize)> {
        links(text, 1).into_iter().map(|mention| (mention.to, mention.line)).collect()
    }

    #[test]
    fn links_and_what_only_looks_like_one() {
        let cases: [(&str, &[(&str, usize)]); 10] = [
            ("see [[a]] and [[b|the b]]\n[[c#part]]", &[("a", 1), ("b", 1), ("c", 2)]),
            ("`[[a]]` but [[b]]", &[("b", 1)]),
            ("``[[a]] ` [[b]]`` [[c]]", &[("c", 1)]),
            ("a lone ` and [[b]]", &[("b", 1)]),
            ("```\n[[a]]\n```\n[[b]]", &[("b", 4)]),
            ("~~~~ md\n~~~\n[[a]]\n~~~~~\n[[b]]", &[("b", 5)]),
            ("```\n[[a]]\n``` x\n[[b]]", &[]),
            ("```a``` [[b]]", &[("b", 1)]),
            ("[a][b] [[ spaced ]] [[]] [[open", &[("spaced", 1), ("", 1)]),
            ("[[[a]] [[b]c]] [[d", &[("a", 1)]),
        ];
        for (text, wanted) in cases {
            let wanted: Vec<_> = wanted.iter().map(|(to, line)| ((*to).to_owned(), *line)).collect();
            assert_eq!(found(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn pieces_make_the_text_again() {
        let text = "a [[b|the b]] `[[c]]`\n```\n[[d]]\n```\n[[e]]s\n";
        let shown = |piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Link { to, label, line } => format!("<{to} {label} {line}>"),
        };
        let whole: String = pieces(text, 1).into_iter().map(shown).collect();
        assert_eq!(whole, "a <b the b 1> `[[c]]`\n```\n[[d]]\n```\n<e e 5>s\n");
    }
}
