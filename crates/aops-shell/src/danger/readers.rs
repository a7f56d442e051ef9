//! Programs that show a file of secrets, or put it into a commit, only if they are called in a certain way.

use super::Search;
use super::call::Call;
use super::{printed, secret};
use crate::syntax::Word;

/// Modules of Python that print the file that they are given.
const MODULES: &[&str] = &["ast", "base64", "gzip", "json.tool", "quopri", "tokenize"];

pub(super) fn shown(search: &mut Search, call: &Call) {
    let operands = || call.operands().into_iter().map(|(_, word)| word).cloned().collect();
    let files: Vec<Word> = match call.name {
        "cc" | "c++" | "clang" | "clang++" | "gcc" | "g++" if call.has(&["-E"]) => operands(),
        "date" => valued(call, &["-f", "--file"]),
        // It prints all variables, those of the environment and of the file among them.
        "gmake" | "make" if call.has(&["-p", "--print-data-base"]) => {
            printed::all(search, call);
            let is_file = |text: &str| matches!(text, "--file" | "--makefile") || is_short(text, 'f');
            call.words
                .iter()
                .zip([""].into_iter().chain(call.texts.iter().map(String::as_str)))
                .filter(|(_, before)| is_file(before))
                .map(|(word, _)| word.clone())
                .collect()
        }
        "git" => in_git(call),
        name if name.starts_with("python")
            && call.values(&["-m"]).any(|word| MODULES.iter().any(|known| word.is(known))) =>
        {
            operands()
        }
        _ => return,
    };
    secret::named(search, call.simple, &files, "secret-file");
}

/// Files whose content git prints, or takes as the text of a commit.
fn in_git(call: &Call) -> Vec<Word> {
    let verb = call.behind_options(0, &["-C", "-c", "--git-dir", "--work-tree", "--namespace"]);
    let rest = || call.from(verb + 1).iter().filter(|word| !word.is_option());
    match call.texts.get(verb).map(String::as_str) {
        Some("commit" | "merge" | "notes" | "tag") => valued(call, &["-F", "--file"]),
        Some("interpret-trailers" | "merge-file" | "stripspace") => rest().cloned().collect(),
        Some("diff-files" | "diff-index" | "diff-tree") if call.has(&["-p", "-u", "--patch"]) => {
            rest().cloned().collect()
        }
        Some("cat-file") => call.simple.arriving.iter().filter_map(|word| word.past(':')).collect(),
        _ => Vec::new(),
    }
}

/// The values of these options, as the next word or glued.
fn valued(call: &Call, options: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    for (at, (word, text)) in call.words.iter().zip(&call.texts).enumerate() {
        if options.contains(&text.as_str()) {
            found.extend(call.words.get(at + 1).cloned());
        } else if options.iter().any(|option| option.len() > 2 && text.starts_with(&format!("{option}="))) {
            found.extend(word.past('='));
        } else if options.iter().any(|option| option.len() == 2 && text.starts_with(option)) {
            found.push(word.after(2));
        }
    }
    found
}

/// `-pf`: the last letter of a bundle.
fn is_short(text: &str, letter: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.ends_with(letter)
}
