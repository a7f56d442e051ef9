//! Text in the arguments of git that git runs as a shell line: one row for each option, and the `ext::`
//! scheme of an address.

use crate::syntax::Word;

/// The shortest abbreviation of each option that git accepts, and the verbs that have the option; an empty
/// list means all verbs.
const OPTIONS: &[(&str, &[&str])] = &[
    ("--open", &["grep"]),
    ("-O", &["grep"]),
    ("--upload-p", &[]),
    ("--receive-p", &[]),
    ("-u", &["clone"]),
    ("--exec", &["push", "ls-remote", "fetch-pack", "send-pack", "archive"]),
    ("--extcmd", &["difftool"]),
    ("-x", &["difftool"]),
];

/// The lines among the arguments after this verb.
pub fn carried(verb: &str, arguments: &[Word]) -> Vec<String> {
    let mut all = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let text = word.lossy();
        let is_row = |(option, verbs): &&(&str, &[&str])| {
            text.starts_with(option) && (verbs.is_empty() || verbs.contains(&verb))
        };
        if let Some((option, _)) = OPTIONS.iter().find(is_row) {
            let is_long = option.starts_with("--");
            let glued = if is_long {
                word.past('=')
            } else {
                Some(word.after(2)).filter(|word| !word.bits.is_empty())
            };
            // The value of `-O` is always glued to it.
            all.extend(
                glued
                    .or_else(|| arguments.get(at + 1).filter(|_| *option != "-O").cloned())
                    .map(|line| line.code()),
            );
        }
        // `ext::sh -c rm% -rf% x`
        if let Some((_, line)) = text.split_once("ext::") {
            let blank = line.replace("% ", "\u{1}");
            let words = blank
                .split(' ')
                .map(|word| Word::of(&word.replace('\u{1}', " ").replace("%%", "%")).quoted());
            all.push(words.collect::<Vec<_>>().join(" "));
        }
    }
    all
}
