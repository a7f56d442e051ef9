//! What commands print: what a `find` may find (its roots, any depth below, the names it asks for), arguments, known text,
//! numbers.

use super::{Bit, Simple, Word};
use std::rc::Rc;

/// Paths as patterns, with `**` for any depth; `None` if the command is no `find`.
pub fn found(simple: &Simple) -> Option<Vec<Word>> {
    if simple.name()? != "find" {
        return None;
    }
    let arguments = &simple.words[1..];
    let begins = |word: &Word| word.starts_with("-") || word.is("(") || word.is("!");
    let first_test = arguments.iter().position(begins).unwrap_or(arguments.len());
    let (roots, tests) = arguments.split_at(first_test);
    let here = [Word::of(".")];
    let roots = if roots.is_empty() { &here } else { roots };
    let names = names(tests);
    let flat = tests.windows(2).any(|pair| pair[0].is("-maxdepth") && (pair[1].is("1") || pair[1].is("0")));
    let deep: &[Bit] = &[Bit::Star, Bit::Star];
    let mut tails: Vec<Vec<&[Bit]>> =
        names.iter().map(|name| if flat { vec![&name[..]] } else { vec![deep, name] }).collect();
    if tails.is_empty() {
        tails.push(vec![deep]);
    }
    Some(roots.iter().flat_map(|root| tails.iter().map(|tail| below(root, tail))).collect())
}

/// The patterns of `-name` and `-iname`; none if one of several ways in is not bound by a name.
fn names(tests: &[Word]) -> Vec<Vec<Bit>> {
    let mut all = Vec::new();
    for side in tests.split(|word| word.is("-o") || word.is("-or") || word.is(",")) {
        let before = all.len();
        for (at, pair) in side.windows(2).enumerate() {
            let negated = at > 0 && (side[at - 1].is("!") || side[at - 1].is("-not"));
            if (pair[0].is("-name") || pair[0].is("-iname")) && !negated {
                all.push(glob(&pair[1].bits));
            }
        }
        if all.len() == before {
            return Vec::new();
        }
    }
    all
}

/// A word whose signs of a pattern were quoted for the shell, but not for the program.
pub fn globbed(word: &Word) -> Word {
    Word { bits: glob(&word.bits), ..word.clone() }
}

/// Quoted for the shell, a pattern for `find`.
fn glob(bits: &[Bit]) -> Vec<Bit> {
    let mut all = Vec::with_capacity(bits.len());
    let mut inside = false;
    for bit in bits {
        match bit {
            Bit::Char('[') => inside = true,
            Bit::Char(']') if inside => {
                inside = false;
                all.push(Bit::One);
            }
            _ if inside => {}
            Bit::Char('*') => all.push(Bit::Star),
            Bit::Char('?') => all.push(Bit::One),
            other => all.push(*other),
        }
    }
    all
}

fn below(root: &Word, parts: &[&[Bit]]) -> Word {
    let mut bits = root.bits.clone();
    for part in parts {
        bits.push(Bit::Char('/'));
        bits.extend(*part);
    }
    Word { bits, ..root.clone() }
}

/// What these commands may print: names (what they found, or their arguments), and text where the line holds it.
pub(super) fn printed(commands: &[Simple]) -> (Vec<Word>, Option<String>) {
    let mut names = Vec::new();
    for command in commands {
        if let Some(found) = found(command) {
            names.extend(found);
            continue;
        }
        let own = command.words.iter().skip(1);
        let plain = own.filter(|word| !word.is_option() && !word.is(".") && !word.is("..") && !word.is("/"));
        names.extend(plain.map(|word| Word { named: Vec::new(), ..word.clone() }));
    }
    names.truncate(64);
    (names, commands.iter().filter_map(said).reduce(|all, more| all + "\n" + &more))
}

/// Programs kept of those that print something: a long pipe of like stages stays short.
const PRINTERS: usize = 16;

/// Adds the names of these commands' programs, each once.
pub(super) fn add_names(names: &mut Vec<Rc<str>>, commands: &[Simple]) {
    for name in commands.iter().filter_map(|command| command.called.as_ref()) {
        if names.len() < PRINTERS && !names.contains(name) {
            names.push(Rc::clone(name));
        }
    }
}

fn said(simple: &Simple) -> Option<String> {
    match simple.name()? {
        "echo" | "printf" => {
            // Only what stands first is an option: `echo git reset --hard`.
            let first = |word: &&Word| word.is_option() && word.bits.len() < 4;
            let words = simple.words.iter().skip(1).skip_while(first);
            let text = words.map(Word::lossy).collect::<Vec<_>>().join(" ");
            Some(text.replace("\\n", "\n"))
        }
        "cat" | "tee" | "head" | "tail" | "envsubst" => simple.script.clone(),
        _ => None,
    }
}

/// This program, of which these are the commands, prints numbers and nothing else.
pub(super) fn is_number(code: &str, commands: &[Simple]) -> bool {
    let one = !code.contains([';', '&', '\n', '(', '{', '`']);
    let Some(last) = commands.last().filter(|last| one && !last.function && last.writes.is_empty()) else {
        return false;
    };
    let firm = last.words.iter().all(Word::is_firm);
    let words: Vec<String> = last.words.iter().skip(1).map(Word::lossy).collect();
    let digits = |word: &String| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    match last.name() {
        Some("nproc") => words.is_empty(),
        Some("wc") => words.len() == 1 && matches!(words[0].as_str(), "-l" | "-w" | "-c" | "-m"),
        Some("seq" | "echo") => firm && words.iter().all(digits),
        Some("date") => firm && matches!(words.as_slice(), [only] if only == "+%s" || only == "+%Y"),
        Some("grep") => firm && words.first().is_some_and(|word| word == "-c") && words.len() <= 3,
        _ => false,
    }
}
