//! Keeps each simple command of a line once.
//!
//! What a line reaches and what it does is decided command by command, so one that runs a hundred times is judged once.

use super::Simple;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The commands in their order, each where it stands first.
pub(super) fn distinct(commands: Vec<Simple>) -> Vec<Rc<Simple>> {
    let mut kept: Vec<Rc<Simple>> = Vec::with_capacity(commands.len());
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for command in commands {
        let places = places.entry(mark(&command)).or_default();
        if !places.iter().any(|at| *kept[*at] == command) {
            places.push(kept.len());
            kept.push(Rc::new(command));
        }
    }
    kept
}

/// A number that is the same for the same words.
fn mark(command: &Simple) -> u64 {
    let words = command.words.iter().chain(&command.writes).chain(&command.arriving);
    // Of folders the length is enough: each `cd` makes it longer.
    let folders: usize = command.folders.iter().map(|folder| folder.bits.len()).sum();
    words.fold((folders + command.words.len()) as u64, |mark, word| word.mark(mark))
}

#[cfg(test)]
mod tests {
    use crate::syntax::{Ground, cut};

    fn count(line: &str) -> usize {
        cut(line, &Ground { cwd: "/a", home: "/h", variables: &[] }).commands.len()
    }

    #[test]
    fn a_command_counts_again_only_where_something_about_it_differs() {
        assert_eq!(count("ls; ls; ls && ls | ls"), 1);
        assert_eq!(count("ls a; ls b; ls a"), 2);
        assert_eq!(count("ls; ls > x; ls > y; ls > x"), 3);
        assert_eq!(count("A=1 ls; A=2 ls; ls; A=1 ls"), 3);
        assert_eq!(count("ls; cd b; ls"), 3, "not where it was");
        assert_eq!(count("cat a | xargs rm; cat b | xargs rm"), 4, "not what arrives");
        assert_eq!(count("sh <<E\nls\nE\nsh <<E\nls\nE\n"), 1);
        assert_eq!(count("python <<E\n1\nE\npython <<E\n2\nE\n"), 2, "not what it reads");
        assert_eq!(count("f; f() { ls; }; f"), 3, "not the same program");
    }
}
