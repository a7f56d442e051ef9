//! Commands that read files which no word of theirs names: files of a list, files that the text of a program
//! opens, and what links lead to on the way down a tree.

use super::command::Invocation;
use super::scripts;
use crate::syntax::Word;

/// It may read a file that is neither a word of it nor below one.
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
        // What a link's own parent is, they know and the letters of the path do not; `-` is where the shell
        // was before.
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

/// An address that is a file of this machine.
fn is_of_a_file(words: &[Word]) -> bool {
    words.iter().any(|word| {
        let text = word.lossy().to_ascii_lowercase();
        let is_far =
            |scheme: &str| ["http", "https", "ssh", "git"].iter().any(|known| scheme.ends_with(known));
        text.contains("file:")
            || text.split("://").next().is_some_and(|scheme| scheme.len() < text.len() && !is_far(scheme))
    })
}

/// Arguments of a command, whatever its table says of them.
struct Given<'a>(&'a [Word]);

impl Given<'_> {
    /// This letter stands among options of one sign; as a value of another it is taken for one too.
    fn letter(&self, letter: char) -> bool {
        self.0
            .iter()
            .map(Word::lossy)
            .any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(letter))
    }

    /// A long option may be cut short as long as it is clear.
    fn long(&self, name: &str) -> bool {
        let is = |text: String| {
            let given = text.split('=').next().unwrap_or_default();
            given.len() > 3 && name.starts_with(given)
        };
        self.0.iter().map(Word::lossy).any(is)
    }
}
