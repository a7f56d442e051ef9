//! Matches one component of a path, perhaps a pattern, with a name or a shape.

use super::Part;
use crate::shell::syntax::Bit;

/// What may stand at one place of a name.
#[derive(Clone, Copy)]
enum Shape {
    Char(char),
    Digit,
    Hex,
    /// Anything from here on.
    Rest,
}

/// Any depth: `**`, or what a `find` walks through.
pub(super) fn deep(part: &Part) -> bool {
    part.as_slice() == [Bit::Star, Bit::Star]
}

/// The part may be this name.
pub(in crate::gate::guard) fn fits(part: &Part, name: &str) -> bool {
    let mut chars = name.chars();
    for bit in part {
        match bit {
            Bit::Char(c) if chars.next() == Some(*c) => {}
            Bit::Char(_) => return false,
            _ => return may_match(part, &name.chars().map(Shape::Char).collect::<Vec<_>>()),
        }
    }
    chars.next().is_none()
}

/// The part may be this name, and says something of it.
pub(super) fn named(part: &Part, name: &str) -> bool {
    !unnamed(part) && fits(part, name)
}

/// Not one character of it is known.
pub(super) fn unnamed(part: &Part) -> bool {
    !part.iter().any(|bit| matches!(bit, Bit::Char(_)))
}

/// No pattern in it.
pub(super) fn exact(part: &Part) -> bool {
    part.iter().all(|bit| matches!(bit, Bit::Char(_)))
}

/// The part may begin and end like this.
pub(super) fn fits_around(part: &Part, begin: &str, end: &str) -> bool {
    if let Some(text) = part
        .iter()
        .map(|bit| if let Bit::Char(c) = bit { Some(*c) } else { None })
        .collect::<Option<String>>()
    {
        return text.starts_with(begin) && text.ends_with(end) && text.len() >= begin.len() + end.len();
    }
    [format!("{begin}{end}"), format!("{begin}.local{end}")].iter().any(|name| fits(part, name))
}

/// A folder of our plugin.
pub(super) fn ours(part: &Part) -> bool {
    ["aops", "aops-hook"].iter().any(|name| named(part, name))
}

/// `20260131-0123abcd`, or such a folder set aside.
pub(super) fn is_session(part: &Part) -> bool {
    [8, 16].into_iter().any(|digits| {
        let mut shape = vec![Shape::Digit; 8];
        shape.push(Shape::Char('-'));
        shape.extend([Shape::Hex].repeat(digits));
        let whole = may_match(part, &shape);
        shape.extend(".broken".chars().map(Shape::Char));
        shape.push(Shape::Rest);
        whole || may_match(part, &shape)
    })
}

fn may_match(part: &[Bit], shape: &[Shape]) -> bool {
    // A glob that begins a name skips hidden files.
    let hidden = matches!(shape.first(), Some(Shape::Char('.')));
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
    reached[shape.len()]
        || shape.last().is_some_and(|last| matches!(last, Shape::Rest)) && reached[shape.len() - 1]
}

fn step(bit: Bit, at: usize, shape: &[Shape], next: &mut [bool]) {
    let Some(wanted) = shape.get(at) else { return };
    let may = match (bit, wanted) {
        (_, Shape::Rest) => {
            next[at] = true;
            true
        }
        (Bit::Char(c), Shape::Char(wanted)) => c == *wanted,
        (Bit::Char(c), Shape::Digit) => c.is_ascii_digit(),
        (Bit::Char(c), Shape::Hex) => c.is_ascii_hexdigit(),
        _ => true,
    };
    next[at + 1] |= may;
}
