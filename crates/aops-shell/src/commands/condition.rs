//! `test` and `[`: the shell evaluates an index in the name of a variable, and zsh every operand of a numeric
//! comparison.

use super::builtin::is_number;
use super::command::{Class, Invocation};
use super::options::{WordShape, shape};
use crate::effect::Effect;
use crate::syntax::Word;

pub(super) fn test(command: &Invocation) -> Class {
    let words = match command.arguments.split_last() {
        Some((last, words)) if command.name == "[" && last.is("]") => words,
        _ => command.arguments,
    };
    // A word that may become several words, or none, may be an operator.
    let splits = |word: &&Word| {
        word.splits && !is_number(word, command.line) && shape(word, command.line) != WordShape::Operand
    };
    command.unless(words.iter().find(splits))?;
    let joins = |word: &Word| ["-a", "-o"].iter().any(|sign| word.is(sign) && word.is_firm());
    let sign = |word: &&Word| ["!", "(", ")"].iter().any(|sign| word.is(sign) && word.is_firm());
    for term in words.split(joins) {
        let term: Vec<&Word> = term.iter().filter(|word| !sign(word)).collect();
        command.reads_if(is_harmless(&term, command), "")?;
    }
    Ok(Effect::Read)
}

fn is_harmless(term: &[&Word], command: &Invocation) -> bool {
    let number = |word: &Word| is_number(word, command.line);
    match term {
        [] | [_] => true,
        [operator, _] | [_, operator, _] if !operator.is_firm() => false,
        [operator, word] => match operator.lossy().as_str() {
            "-v" | "-R" => word
                .literal()
                .is_some_and(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')),
            "-t" => number(word),
            operator => operator.len() == 2 && operator.starts_with('-'),
        },
        [left, operator, right] => match operator.lossy().as_str() {
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => number(left) && number(right),
            "=" | "==" | "!=" | "<" | ">" | "=~" | "-nt" | "-ot" | "-ef" => true,
            _ => false,
        },
        _ => false,
    }
}
