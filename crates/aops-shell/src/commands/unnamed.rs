//! Commands that read files which none of their words names: files on a list, files that program text opens,
//! and targets of links met on the way down a tree.

use super::command::Invocation;
use super::scripts;
use crate::syntax::Word;

/// Whether it may read a file that is neither one of its words nor below one.
pub(super) fn opens(command: &Invocation) -> bool {
    let given = Given(command.arguments);
    let says = |words: &[&str]| {
        command.arguments.iter().any(|word| words.iter().any(|text| word.lossy().contains(text)))
    };
    match command.name {
        "awk" | "gawk" | "mawk" | "nawk" => says(&["getline", "ARGV"]),
        "sed" | "gsed" => scripts::sed_opens(command),
        "jq" | "gojq" | "jaq" => says(&["import", "include"]),
        "yq" => says(&["load"]),
        "sort" | "wc" => given.long("--files0-from"),
        "du" => given.long("--files0-from") || given.letter('L') || given.long("--dereference"),
        "file" => given.letter('f') || given.long("--files-from"),
        "date" | "gdate" => given.letter('f') || given.long("--file"),
        "b2sum" | "cksum" | "md5sum" | "sha1sum" | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum"
        | "shasum" | "sum" => given.letter('c') || given.long("--check"),
        "grep" | "egrep" | "fgrep" | "zgrep" => {
            given.letter('R') || given.letter('S') || given.long("--dereference-recursive")
        }
        "rg" | "fd" | "fdfind" => given.letter('L') || given.long("--follow"),
        "ag" => given.letter('f') || given.long("--follow"),
        "find" => command.arguments.iter().any(|word| word.is("-L") || word.is("-follow")),
        "tree" => given.letter('l') || given.long("--fromfile"),
        "ls" | "eza" | "exa" | "lsd" => {
            let follows = given.letter('L') || given.letter('X') || given.long("--dereference");
            follows && (given.letter('R') || given.long("--recursive"))
        }
        "diff" | "colordiff" => {
            (given.letter('r') || given.long("--recursive"))
                && !command.arguments.iter().any(|w| w.is("--no-dereference"))
        }
        // `..` after a link leads to the parent of the link's target, which the text of the path does not
        // show; `-` is the previous folder.
        "cd" | "pushd" | "popd" => {
            command.arguments.iter().any(|word| !word.is("--") && leads_elsewhere(word))
        }
        "set" => given.letter('P') || command.arguments.iter().any(|word| word.is("physical")),
        _ => is_of_a_file(command.arguments),
    }
}

fn leads_elsewhere(word: &Word) -> bool {
    word.starts_with("-") || word.starts_with("+")
}

/// Whether a URL names a file of this machine.
fn is_of_a_file(words: &[Word]) -> bool {
    words.iter().any(|word| {
        let text = word.lossy().to_ascii_lowercase();
        let is_far =
            |scheme: &str| ["http", "https", "ssh", "git"].iter().any(|known| scheme.ends_with(known));
        text.contains("file:")
            || text.split("://").next().is_some_and(|scheme| scheme.len() < text.len() && !is_far(scheme))
    })
}

/// The arguments of a command, read without its table row.
struct Given<'a>(&'a [Word]);

impl Given<'_> {
    /// Whether this letter is in a bundle of single-dash options; it may also be part of another option's
    /// value.
    fn letter(&self, letter: char) -> bool {
        self.0
            .iter()
            .map(Word::lossy)
            .any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(letter))
    }

    /// Whether this long option is given, in full or as a clear abbreviation.
    fn long(&self, name: &str) -> bool {
        let is = |text: String| {
            let given = text.split('=').next().unwrap_or_default();
            given.len() > 3 && name.starts_with(given)
        };
        self.0.iter().map(Word::lossy).any(is)
    }
}
