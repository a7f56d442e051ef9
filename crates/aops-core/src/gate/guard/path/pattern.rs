//! Compares one component of a path, which may be a pattern, with a name or a shape.

use super::Component;
use aops_shell::syntax::Bit;

/// Any depth: `**`, or the folders that a `find` walks through.
pub(super) fn deep(part: &Component) -> bool {
    part.as_slice() == [Bit::Star, Bit::Star]
}

/// The component may be this name.
pub(in crate::gate::guard) fn fits(part: &Component, name: &str) -> bool {
    let mut chars = name.chars();
    for bit in part {
        match bit {
            Bit::Char(c) if chars.next() == Some(*c) => {}
            Bit::Char(_) => return false,
            _ => return may_match(part, name),
        }
    }
    chars.next().is_none()
}

/// The component may be this name, and contains at least one known character.
pub(in crate::gate::guard) fn named(part: &Component, name: &str) -> bool {
    !unnamed(part) && fits(part, name)
}

/// Nothing is known about the beginning of the name, and of the rest only the ending or less than half:
/// `$n.json` may be `.claude.json`, or any other name.
pub(in crate::gate::guard) fn hints(part: &Component, name: &str) -> bool {
    let known = part.iter().filter(|bit| matches!(bit, Bit::Char(_))).count();
    let ending = name.rfind('.').filter(|at| *at > 0).map_or(0, |at| name.len() - at);
    !matches!(part.first(), Some(Bit::Char(_))) && (known <= ending || known * 2 < name.len())
}

/// This path ends in this name, or may do so and shows enough of it. For a pattern in a known folder less is
/// enough, since we can look there; a part that only the running shell knows could be any name.
pub(in crate::gate::guard) fn ends_as(path: &[Component], name: &str) -> bool {
    let Some((last, folder)) = path.split_last() else { return false };
    let open = |part: &Component| exact(part) || part.contains(&Bit::Any);
    let unsaid = last.first() == Some(&Bit::Any) || folder.iter().all(open);
    named(last, name) && !(hints(last, name) && unsaid)
}

/// Not a single character of it is known.
pub(in crate::gate::guard) fn unnamed(part: &Component) -> bool {
    !part.iter().any(|bit| matches!(bit, Bit::Char(_)))
}

pub(in crate::gate::guard) fn exact(part: &Component) -> bool {
    part.iter().all(|bit| matches!(bit, Bit::Char(_)))
}

pub(super) fn fits_around(part: &Component, begin: &str, end: &str) -> bool {
    let letter = |bit: &Bit| if let Bit::Char(c) = bit { Some(*c) } else { None };
    if let Some(text) = part.iter().map(letter).collect::<Option<String>>() {
        return text.starts_with(begin) && text.ends_with(end) && text.len() >= begin.len() + end.len();
    }
    [format!("{begin}{end}"), format!("{begin}.local{end}")].iter().any(|name| fits(part, name))
}

pub(super) fn is_plugin(part: &Component) -> bool {
    ["aops", "aops-hook"].iter().any(|name| named(part, name))
}

/// `20260131-0123abcd`, or such a folder that was set aside.
pub(super) fn is_session(part: &Component) -> bool {
    let shapes = ["DDDDDDDD-HHHHHHHH", "DDDDDDDD-HHHHHHHHHHHHHHHH"];
    let broken = shapes.map(|shape| format!("{shape}.brokenR"));
    shapes.into_iter().chain(broken.iter().map(String::as_str)).any(|shape| may_match(part, shape))
}

/// `0d68ff18-….jsonl`, or a pattern that may match one.
pub(super) fn is_transcript(part: &Component) -> bool {
    may_match(part, "R.jsonl")
}

/// The component may be this name. Names are in lower case; `D` stands for a digit, `H` for a hexadecimal
/// digit, `R` for any rest.
fn may_match(part: &[Bit], name: &str) -> bool {
    // A glob at the beginning of a name skips hidden files.
    let globs = matches!(part.first(), Some(Bit::Star | Bit::One)) && part != [Bit::Star, Bit::Star];
    if globs && name.starts_with('.') {
        return false;
    }
    let name: Vec<char> = name.chars().collect();
    // Which prefixes of the name the bits so far may have matched, by length.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for bit in part {
        let mut next = vec![false; name.len() + 1];
        for at in (0..=name.len()).filter(|at| reached[*at]) {
            match (bit, name.get(at)) {
                (Bit::Star | Bit::Any, _) => next[at..].fill(true),
                (_, None) => {}
                (_, Some('R')) => next[at..=at + 1].fill(true),
                (Bit::Char(c), Some('D')) => next[at + 1] |= c.is_ascii_digit(),
                (Bit::Char(c), Some('H')) => next[at + 1] |= c.is_ascii_hexdigit(),
                (Bit::Char(c), Some(wanted)) => next[at + 1] |= c == wanted,
                (Bit::One, Some(_)) => next[at + 1] = true,
            }
        }
        reached = next;
    }
    reached[name.len()] || name.last() == Some(&'R') && reached[name.len() - 1]
}
