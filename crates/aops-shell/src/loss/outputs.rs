//! Files that a program overwrites because an option, or a place among its words, names them.

use super::{has, operands};
use crate::commands::before_verb;
use crate::danger::value_of;
use crate::syntax::Word;

/// Programs that write the file that this option names.
const OPTIONS: &[(&str, char, &str)] = &[
    ("aops-hook", 'o', "--output"),
    ("curl", 'o', "--output"),
    ("gpg", 'o', "--output"),
    ("iconv", 'o', "--output"),
    ("pandoc", 'o', "--output"),
    ("pg_dump", 'f', "--file"),
    ("sort", 'o', "--output"),
    ("wget", 'O', "--output-document"),
];

/// The files that this command empties first. The words are all said.
pub(super) fn files(name: &str, arguments: &[Word]) -> Vec<Word> {
    let one = |file: Option<Word>| file.into_iter().filter(|file| !file.is("-")).collect();
    if let Some((_, letter, long)) = OPTIONS.iter().find(|(known, ..)| *known == name) {
        return one(value_of(arguments, *letter, long));
    }
    match name {
        "git" => one(of_git(arguments)),
        "find" => behind(arguments, &["-fls", "-fprint", "-fprint0", "-fprintf"]),
        "openssl" => behind(arguments, &["-out"]),
        "script" if !has(arguments, &["-a", "--append"]) => {
            let valued =
                ["-c", "--command", "-E", "--echo", "-o", "--output-limit", "-m", "--logging-format"];
            one(operands(arguments, &valued).first().map(|file| (*file).clone()))
        }
        "sed" | "gsed" => arguments.iter().flat_map(of_script).collect(),
        "tar" | "gtar" | "bsdtar" => one(archive(arguments)),
        _ => Vec::new(),
    }
}

/// The words behind these.
fn behind(arguments: &[Word], options: &[&str]) -> Vec<Word> {
    let is_option = |word: &Word| options.iter().any(|option| word.is(option));
    arguments.windows(2).filter(|pair| is_option(&pair[0])).map(|pair| pair[1].clone()).collect()
}

/// `git log --output=f`, `git archive -o f`, `git config -f f a.b c`, `git bundle create f`.
fn of_git(arguments: &[Word]) -> Option<Word> {
    let (inner, _, words) = before_verb(arguments);
    let (verb, words) = words.split_first()?;
    let file = match verb.literal()?.as_str() {
        "log" | "show" | "diff" | "format-patch" | "whatchanged" | "diff-tree" => {
            value_of(words, '\0', "--output")
        }
        "archive" => value_of(words, 'o', "--output"),
        "config" => value_of(words, 'f', "--file").filter(|_| operands(words, &["-f", "--file"]).len() > 1),
        "bundle" if words.first()?.is("create") => {
            operands(&words[1..], &[]).first().map(|file| (*file).clone())
        }
        _ => None,
    }?;
    Some(inner.map_or_else(|| file.clone(), |inner| file.from_folder(&inner)))
}

/// `s/a/b/w file`, `w file`: the rest of the row names the file. If it is not a command of the script, no
/// such file exists.
fn of_script(word: &Word) -> Vec<Word> {
    let text = word.lossy();
    let named = text.lines().flat_map(|row| row.match_indices("w ").map(|(at, _)| row[at + 2..].trim()));
    named.filter(|file| !file.is_empty()).map(Word::of).collect()
}

/// The archive that `tar cf a.tar x`, `tar -czf a.tgz x` and `tar --create --file=a.tar x` write.
fn archive(arguments: &[Word]) -> Option<Word> {
    let first = arguments.first()?.lossy();
    if !first.starts_with('-') {
        // The values of the letters follow in their order.
        let valued: Vec<char> = first.chars().filter(|letter| "bfCFgHIKLNTVX".contains(*letter)).collect();
        let at = valued.iter().position(|letter| *letter == 'f').filter(|_| first.contains('c'))?;
        return arguments.get(at + 1).cloned();
    }
    value_of(arguments, 'f', "--file").filter(|_| has(arguments, &["-c", "--create"]))
}
