//! What a variable of the line may hold, over all its assignments: branches and loops make any of them the last.

use super::{Bit, Word};

/// What is true of every value a line gives a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Known, one word, and no option: nothing unknown in it, no blanks, not empty, no `-` in front.
    pub plain: bool,
    /// A number.
    pub number: bool,
    /// Blanks and line breaks only, or nothing.
    pub blank: bool,
    /// Holds text that is a program when the value is used as a number: `a[$(…)]`.
    pub armed: bool,
    /// The line sets it; the ground only knows it.
    pub set: bool,
}

impl Held {
    /// Nobody knows.
    pub(super) const ANYTHING: Held = Held { plain: false, number: false, blank: false, armed: false, set: true };

    pub fn of(word: &Word) -> Self {
        let unknown = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
        let blank = |bit: &Bit| matches!(bit, Bit::Char(' ' | '\t' | '\n' | '\r'));
        let number = |bit: &Bit| matches!(bit, Bit::Char('0'..='9') | Bit::Any);
        let known = unknown == word.sums;
        let begins = word.bits.first().is_some_and(|bit| *bit != Bit::Char('-'));
        Self {
            plain: known && begins && !word.bits.iter().any(blank),
            number: known && !word.bits.is_empty() && word.bits.iter().all(number),
            blank: word.bits.iter().all(blank),
            armed: begins_program(&word.bits),
            set: true,
        }
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            plain: self.plain && other.plain,
            number: self.number && other.number,
            blank: self.blank && other.blank,
            armed: self.armed || other.armed,
            set: self.set || other.set,
        }
    }
}

/// An index with a program in it, as text: `a[$(…)]`. The shell runs it wherever it expects a number.
pub fn is_armed(word: &Word) -> bool {
    let open = word.bits.iter().position(|bit| *bit == Bit::Char('['));
    open.is_some_and(|at| begins_program(&word.bits[at..]))
}

fn begins_program(bits: &[Bit]) -> bool {
    bits.contains(&Bit::Char('`')) || bits.windows(2).any(|pair| pair == [Bit::Char('$'), Bit::Char('(')])
}
