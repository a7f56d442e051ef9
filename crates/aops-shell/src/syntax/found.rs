//! What commands print: what a `find` may find (its roots, any depth below, the names it looks for),
//! arguments, known text, numbers.

use super::tree::{Command, List, Redirect, Statement};
use super::word::Run;
use super::{Bit, Simple, Word};
use std::rc::Rc;

/// Paths as patterns, with `**` for any depth; `None` if the command is not a `find`.
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

/// The patterns of `-name` and `-iname`; none if an alternative of the search has no name.
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

/// A word whose wildcards were quoted for the shell, but not for the program.
pub fn globbed(word: &Word) -> Word {
    Word { bits: glob(&word.bits), ..word.clone() }
}

/// Quoted for the shell, but a pattern for `find`.
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

/// How many names commands may print.
const NAMES: usize = 1024;

/// What these commands may print: names (files found, or their arguments), and text that the line contains.
/// `None` if there is too much of it.
pub(super) fn printed(commands: &[Simple]) -> Option<(Vec<Word>, Option<String>)> {
    let mut names = Vec::new();
    for command in commands {
        if let Some(found) = found(command) {
            names.extend(found);
            continue;
        }
        let own = command.words.iter().skip(1);
        let all = matches!(command.name(), Some("echo" | "printf"));
        let plain =
            own.filter(|word| (all || !word.is_option()) && !word.is(".") && !word.is("..") && !word.is("/"));
        names.extend(plain.map(|word| Word { named: Vec::new(), ..word.clone() }));
    }
    let text = commands.iter().filter_map(said).reduce(|all, more| all + "\n" + &more);
    (names.len() <= NAMES).then_some((names, text))
}

/// How many printing programs are kept: this keeps a long pipe of similar stages short.
const PRINTERS: usize = 64;

/// Adds the names of these commands' programs, each once; `false` if there are too many.
pub(super) fn add_names(names: &mut Vec<Rc<str>>, commands: &[Simple]) -> bool {
    for name in commands.iter().filter_map(|command| command.called.as_ref()) {
        if names.contains(name) {
            continue;
        }
        if names.len() >= PRINTERS {
            return false;
        }
        names.push(Rc::clone(name));
    }
    true
}

/// `printf '%s' rm ' -rf'` applies the format to each of the other words.
fn formatted(words: &[String]) -> Option<String> {
    let (format, rest) = words.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let sign = ["%s", "%b"].into_iter().find(|sign| format.contains(sign))?;
    Some(rest.iter().map(|word| format.replacen(sign, word, 1)).collect())
}

/// `\n`, `\x72`, `\162` and `\u0072` as `printf` and `echo -e` print them.
fn unescaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        all.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (radix, skipped, most) = match rest.bytes().next() {
            Some(b'x') => (16, 1, 2),
            Some(b'u') => (16, 1, 4),
            Some(b'0'..=b'7') => (8, 0, if rest.starts_with('0') { 4 } else { 3 }),
            _ => (0, 0, 0),
        };
        let digits = rest[skipped.min(rest.len())..]
            .bytes()
            .take(most)
            .take_while(|b| (*b as char).is_digit(radix.max(2)));
        let end = skipped + digits.count();
        let code = (end > skipped && radix > 0)
            .then(|| u32::from_str_radix(&rest[skipped..end], radix).ok())
            .flatten();
        // A byte has eight bits: `\\562` is `r`.
        match code.and_then(|code| char::from_u32(if radix == 8 { code & 0xff } else { code })) {
            Some(letter) => {
                all.push(letter);
                rest = &rest[end..];
            }
            None if rest.starts_with('n') => {
                all.push('\n');
                rest = &rest[1..];
            }
            None => all.push('\\'),
        }
    }
    all + rest
}

fn said(simple: &Simple) -> Option<String> {
    match simple.name()? {
        "echo" | "printf" => {
            // Only a leading word is an option: `echo git reset --hard`.
            let first = |word: &&Word| word.is_option() && word.bits.len() < 4;
            let words = simple.words.iter().skip(1).skip_while(first);
            let words: Vec<String> = words.map(Word::lossy).collect();
            Some(unescaped(&formatted(&words).unwrap_or_else(|| words.join(" "))))
        }
        "cat" | "tee" | "head" | "tail" | "envsubst" => simple.script.clone(),
        _ => None,
    }
}

/// The text that one plain `echo` or `printf` prints, if the program consists of nothing else. `commands` are
/// the program's commands.
pub(super) fn echoed(run: &Run, commands: &[Simple], functions: &[String]) -> Option<String> {
    let [simple] = commands else { return None };
    let is_alone = match run {
        Run::Tree(program) => is_plain_command(program),
        // Already parsed once, so without these characters it is one plain command and its arguments.
        Run::Text(text) => !text.contains([';', '|', '&', '<', '>', '=', '(', '{', '\n']),
    };
    let texts: Vec<String> = simple.words.iter().skip(1).map(Word::literal).collect::<Option<_>>()?;
    let is_known = match (simple.name()?, texts.as_slice()) {
        ("echo", _) => !texts.iter().any(|text| text.contains('\\')),
        ("printf", [format]) => !format.contains('%'),
        ("printf", [format, ..]) => matches!(format.as_str(), "%s" | "%s\\n"),
        _ => false,
    };
    let is_function = functions.iter().any(|known| matches!(known.as_str(), "echo" | "printf"));
    said(simple).filter(|_| is_alone && !simple.function && is_known && !is_function)
}

fn is_plain_command(program: &List) -> bool {
    let [Statement { pipelines, background: false }] = program.as_slice() else { return false };
    let [(_, stages)] = pipelines.as_slice() else { return false };
    let [Command::Simple(only)] = stages.as_slice() else { return false };
    only.redirects.is_empty() && only.assignments.is_empty()
}

/// What a program prints, if its text leaves no doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prints {
    Numbers,
    /// Names of commits or other plain words, one in each line, none of which begins with a dash.
    Commits,
    /// The folder it runs in, or the root of the repository.
    Place,
    Anything,
}

/// Programs whose output is trusted, unless the line defines a function of that name.
pub(super) const BELIEVED: [&str; 14] = [
    "basename", "date", "echo", "git", "grep", "hostname", "id", "nproc", "pwd", "seq", "stat", "uname",
    "wc", "whoami",
];

/// What this program prints, if it is one pipeline whose last stage is a plain command that is not in
/// `functions`.
pub(super) fn prints(run: &Run, functions: &[String]) -> Prints {
    let plain =
        |word: &&str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./:=%+~^@".contains(&byte));
    let Some((stages, name, words)) =
        last_stage(run, functions).filter(|(_, _, words)| words.iter().all(plain))
    else {
        return Prints::Anything;
    };
    let words = words.as_slice();
    match name {
        "git" if stages == 1 && prints_commits(words) => Prints::Commits,
        "git" if words == ["rev-parse", "--show-toplevel"] => Prints::Place,
        "pwd" if matches!(words, [] | ["-P" | "-L"]) => Prints::Place,
        "whoami" | "hostname" if words.is_empty() => Prints::Commits,
        "uname" if matches!(words, [] | ["-s" | "-m" | "-r"]) => Prints::Commits,
        name if prints_numbers(name, words) => Prints::Numbers,
        _ => Prints::Anything,
    }
}

/// If a program is one pipeline: the number of its stages, and the name and words of the last one. `None`
/// unless that is a plain command that is not in `functions`.
fn last_stage<'t>(run: &Run<'t>, functions: &[String]) -> Option<(usize, &'t str, Vec<&'t str>)> {
    let Run::Tree(program) = run else { return None };
    let [Statement { pipelines, background: false }] = program.as_slice() else { return None };
    let [(_, stages)] = pipelines.as_slice() else { return None };
    let Some(Command::Simple(last)) = stages.last() else { return None };
    let reads = |redirect: &Redirect| matches!(redirect, Redirect::File("<", ..)) || is_silenced(redirect);
    let (name, words) = last.words.split_first().filter(|_| last.assignments.is_empty())?;
    let is_plain = last.redirects.iter().all(reads) && !functions.iter().any(|known| known == name.text);
    is_plain.then(|| (stages.len(), name.text, words.iter().map(|word| word.text).collect()))
}

/// Whether its output, which is of this kind, cannot contain a slash.
pub(super) fn prints_name(run: &Run, kind: Prints, functions: &[String]) -> bool {
    let Some((_, name, words)) = last_stage(run, functions) else { return false };
    match (kind, name) {
        (Prints::Numbers, _) | (_, "basename") => true,
        // `git rev-parse` repeats a word that is not a commit.
        (Prints::Commits, _) => !words.iter().any(|word| word.contains('/')),
        (_, "date") => matches!(words.as_slice(), [format] if is_plain_date(format)),
        _ => false,
    }
}

/// `+%Y-%m-%d`, quoted or not: only letters that print no slash in any language.
fn is_plain_date(format: &str) -> bool {
    let text = format.trim_matches(['"', '\'']);
    let mut letters = text.strip_prefix('+').unwrap_or_default().chars();
    let mut known = !text.is_empty() && text.starts_with('+');
    while let Some(letter) = letters.next() {
        known &= match letter {
            '%' => letters.next().is_some_and(|sign| "YmdHMSFTsjNyuVG".contains(sign)),
            other => other.is_ascii_alphanumeric() || "-_:.".contains(other),
        };
    }
    known
}

/// `2>/dev/null`
fn is_silenced(redirect: &Redirect) -> bool {
    matches!(redirect, Redirect::File(">", word, _) if word.text == "/dev/null")
}

fn prints_numbers(name: &str, words: &[&str]) -> bool {
    let digits = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    match (name, words) {
        ("nproc", [])
        | ("wc", ["-l" | "-w" | "-c" | "-m"])
        | ("id", ["-u" | "-g"])
        | ("date", ["+%s" | "+%Y" | "+%m" | "+%d" | "+%H" | "+%M" | "+%S" | "+%j"]) => true,
        ("stat", ["-c", "%s" | "%Y", file] | ["-f", "%z" | "%m", file]) => !file.starts_with('-'),
        ("grep", ["-c", rest @ ..]) => {
            matches!(rest.len(), 1 | 2) && !rest.iter().any(|word| word.starts_with('-'))
        }
        ("seq" | "echo", words) => words.iter().all(digits),
        _ => false,
    }
}

/// `git rev-list -3 HEAD`: whether it has only revisions without a leading dash, and options that do not
/// change what is printed.
fn prints_commits(words: &[&str]) -> bool {
    let Some((verb, rest)) = words.split_first() else { return false };
    let options: &[&str] = match *verb {
        "merge-base" => &["--fork-point", "--octopus", "-a", "--all"],
        "rev-parse" => &["--short", "--verify", "-q", "--quiet"],
        "rev-list" => &["--all", "--reverse", "--no-merges", "--merges", "--first-parent", "--topo-order"],
        "log" => {
            &["--format=%H", "--format=%h", "--pretty=%H", "--pretty=%h", "--all", "--reverse", "--no-merges"]
        }
        _ => return false,
    };
    let counts = |word: &str| {
        let count = word.strip_prefix("--max-count=").or_else(|| word.strip_prefix('-'));
        count.is_some_and(|count| !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()))
    };
    let formats = rest.iter().any(|word| word.starts_with("--format=%") || word.starts_with("--pretty=%"));
    let known = |word: &&str| {
        !word.starts_with('-') || options.contains(word) || *verb != "rev-parse" && counts(word)
    };
    rest.iter().all(known) && (*verb != "log" || formats) && !rest.contains(&"--")
}

/// Whether it prints only names of project files, one per line.
pub(super) fn lists_files(simple: &Simple) -> bool {
    let known =
        ["-c", "-m", "-o", "-d", "--cached", "--modified", "--others", "--deleted", "--exclude-standard"];
    let plain =
        |word: &Word| word.is_firm() && (!word.is_option() || known.iter().any(|option| word.is(option)));
    let words = simple.words.get(1..).unwrap_or_default();
    simple.name() == Some("git")
        && words.first().is_some_and(|word| word.is("ls-files"))
        && words.iter().all(plain)
}
