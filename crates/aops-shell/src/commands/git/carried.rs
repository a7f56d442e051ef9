//! Text in the arguments of git that git runs as a shell line: settings, one row for each option, the verbs
//! that take a command, and the `ext::` scheme of an address.

use super::super::options::given;
use super::super::programs::code;
use super::before_verb;
use crate::flags::is_option;
use crate::syntax::Word;

/// Options whose value is a line, and the verbs that have them; an empty list means all verbs.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (&[], &["--upload-pack", "--receive-pack"]),
    (&["archive", "fetch-pack", "ls-remote", "push", "rebase", "send-pack"], &["--exec"]),
    (&["clone"], &["-u"]),
    (&["difftool"], &["-x", "--extcmd"]),
    (&["instaweb"], &["-d", "--httpd"]),
    (&["rebase"], &["-x"]),
    (&["send-email"], &["--cc-cmd", "--header-cmd", "--sendmail-cmd", "--smtp-server", "--to-cmd"]),
    (&["shell"], &["-c"]),
];

/// How the name of a setting ends whose value git runs.
const SETTINGS: &[&str] = &[
    ".clean", ".cmd", ".command", ".driver", ".process", ".program", ".smudge", "askpass", "difffilter",
    "editor", "external", "fsmonitor", "helper", "hook", "pager", "sshcommand", "textconv",
];

/// The lines among git's arguments.
pub fn lines(arguments: &[Word]) -> Vec<String> {
    let (.., rest) = before_verb(arguments);
    let leading = &arguments[..arguments.len() - rest.len()];
    let verb = rest.first().map(Word::lossy).unwrap_or_default();
    let rest = rest.get(1..).unwrap_or_default();
    let mut settings = given(leading, &["-c"]);
    if verb == "clone" {
        settings.extend(given(rest, &["-c", "--config"]));
    }
    let mut all: Vec<Word> = settings.iter().filter_map(|word| word.past('=')).collect();
    for (verbs, options) in OPTIONS {
        if verbs.is_empty() || verbs.contains(&verb.as_str()) {
            all.extend(given(rest, options));
        }
    }
    all.extend(filters(rest));
    let mut lines: Vec<String> = all.iter().map(code).collect();
    lines.extend(of_verb(&verb, rest));
    lines.extend(rest.iter().filter_map(behind_scheme));
    lines
}

/// `filter-branch --tree-filter 'line'`
fn filters(words: &[Word]) -> impl Iterator<Item = Word> {
    let is_filter = |word: &Word| word.starts_with("--") && word.lossy().contains("-filter");
    words
        .iter()
        .enumerate()
        .filter(move |(_, word)| is_filter(word))
        .filter_map(|(at, word)| word.past('=').or_else(|| words.get(at + 1).cloned()))
}

/// `submodule foreach`, `bisect run`, `grep -O`, and a setting that is stored.
fn of_verb(verb: &str, words: &[Word]) -> Option<String> {
    match verb {
        "bisect" | "submodule" => {
            let at = words.iter().position(|word| word.is("foreach") || word.is("run"))?;
            let rest: Vec<&Word> = words[at + 1..].iter().skip_while(|word| word.is_option()).collect();
            let quoted = || rest.iter().map(|word| word.quoted()).collect::<Vec<_>>().join(" ");
            Some(if let [line] = rest[..] { code(line) } else { quoted() })
        }
        "grep" => words.iter().take_while(|word| !word.is("--")).find_map(opener),
        "config" => {
            let is_run = |word: &Word| {
                let name = word.lossy().to_lowercase();
                name.contains('.') && SETTINGS.iter().any(|end| name.ends_with(end))
                    || name.starts_with("pager.")
            };
            let value = words.last()?;
            let runs = value.starts_with("!") || words.iter().any(is_run) && value.lossy().contains(' ');
            runs.then(|| code(value))
        }
        _ => None,
    }
}

/// `-O'less -N'`, `-nOless`, `--open-files-in-pager=less`: the program gets every file that matches.
fn opener(word: &Word) -> Option<String> {
    let text = word.lossy();
    let program = if text.starts_with("--") {
        word.past('=').filter(|_| is_option(&text, "--open-files-in-pager"))?
    } else {
        word.after(text.strip_prefix('-')?.chars().position(|c| c == 'O')? + 2)
    };
    (!program.bits.is_empty()).then(|| format!("git ls-files | xargs {}", code(&program)))
}

/// `ext::sh -c rm% -rf% x`
fn behind_scheme(word: &Word) -> Option<String> {
    let text = word.lossy();
    let blank = text.split_once("ext::")?.1.replace("% ", "\u{1}");
    let words =
        blank.split(' ').map(|word| Word::of(&word.replace('\u{1}', " ").replace("%%", "%")).quoted());
    Some(words.collect::<Vec<_>>().join(" "))
}
