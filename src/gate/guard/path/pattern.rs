//! Matches one component of a path, perhaps a pattern, with a name or a shape.

use super::Component;
use aops_shell::syntax::Bit;

/// What one character of a name may be.
#[derive(Clone, Copy)]
enum NameShape {
    Char(char),
    Digit,
    Hex,
    /// Anything from here on.
    Rest,
}

/// Any depth: `**`, or what a `find` walks through.
pub(super) fn deep(part: &Component) -> bool {
    part.as_slice() == [Bit::Star, Bit::Star]
}

/// The part may be this name.
pub(in crate::gate::guard) fn fits(part: &Component, name: &str) -> bool {
    let mut chars = name.chars();
    for bit in part {
        match bit {
            Bit::Char(c) if chars.next() == Some(*c) => {}
            Bit::Char(_) => return false,
            _ => return may_match(part, &name.chars().map(NameShape::Char).collect::<Vec<_>>()),
        }
    }
    chars.next().is_none()
}

/// The part may be this name, and says something of it.
pub(super) fn named(part: &Component, name: &str) -> bool {
    !unnamed(part) && fits(part, name)
}

/// Not one character of it is known.
pub(super) fn unnamed(part: &Component) -> bool {
    !part.iter().any(|bit| matches!(bit, Bit::Char(_)))
}

/// No pattern in it.
pub(super) fn exact(part: &Component) -> bool {
    part.iter().all(|bit| matches!(bit, Bit::Char(_)))
}

/// The part may begin and end like this.
pub(super) fn fits_around(part: &Component, begin: &str, end: &str) -> bool {
    if let Some(text) =
        part.iter().map(|bit| if let Bit::Char(c) = bit { Some(*c) } else { None }).collect::<Option<String>>()
    {
        return text.starts_with(begin) && text.ends_with(end) && text.len() >= begin.len() + end.len();
    }
    [format!("{begin}{end}"), format!("{begin}.local{end}")].iter().any(|name| fits(part, name))
}

/// A folder of our plugin.
pub(super) fn is_plugin(part: &Component) -> bool {
    ["aops", "aops-hook"].iter().any(|name| named(part, name))
}

/// `20260131-0123abcd`, or such a folder set aside.
pub(super) fn is_session(part: &Component) -> bool {
    [8, 16].into_iter().any(|digits| {
        let mut shape = vec![NameShape::Digit; 8];
        shape.push(NameShape::Char('-'));
        shape.extend([NameShape::Hex].repeat(digits));
        let whole = may_match(part, &shape);
        shape.extend(".broken".chars().map(NameShape::Char));
        shape.push(NameShape::Rest);
        whole || may_match(part, &shape)
    })
}

fn may_match(part: &[Bit], shape: &[NameShape]) -> bool {
    // A glob that begins a name skips hidden files.
    let hidden = matches!(shape.first(), Some(NameShape::Char('.')));
    if hidden && matches!(part.first(), Some(Bit::Star | Bit::One)) && part != [Bit::Star, Bit::Star] {
        return false;
    }
    // Which lengths of `shape` the bits read so far may have used up.
    let mut reached = vec![false; shape.len() + 1];
    reached[0] = true;
    for bit in part {
        let mut next = vec![false; shape.len() + 1];
        for at in (0..=shape.len()).filter(|at| reached[*at]) {
            match bit {
                Bit::Star | Bit::Any => next[at..].iter_mut().for_each(|place| *place = true),
                _ => step(*bit, at, shape, &mut next),
            }
        }
        reached = next;
    }
    reached[shape.len()] || shape.last().is_some_and(|last| matches!(last, NameShape::Rest)) && reached[shape.len() - 1]
}

fn step(bit: Bit, at: usize, shape: &[NameShape], next: &mut [bool]) {
    let Some(wanted) = shape.get(at) else { return };
    let may = match (bit, wanted) {
        (_, NameShape::Rest) => {
            next[at] = true;
            true
        }
        (Bit::Char(c), NameShape::Char(wanted)) => c == *wanted,
        (Bit::Char(c), NameShape::Digit) => c.is_ascii_digit(),
        (Bit::Char(c), NameShape::Hex) => c.is_ascii_hexdigit(),
        _ => true,
    };
    next[at + 1] |= may;
}
