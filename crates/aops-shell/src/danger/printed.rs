//! Commands that print a secret of the environment, or one that another program outputs.

use super::Search;
use super::call::Call;
use super::masked::is_secret_name;
use super::secret::{FILTERS, SENDERS, holds_variable, names_secret};
use crate::commands::is_nowhere;
use crate::syntax::{Bit, Line, Simple, Word};
use std::rc::Rc;

/// Whether the output goes into a file. Error output may still be discarded.
pub(super) fn is_kept(simple: &Simple) -> bool {
    simple.silent || simple.writes.iter().any(|word| !is_nowhere(word))
}

/// `echo $TOKEN`, `printf '%s' "$DB_PASSWORD"` show the secret, unless the output goes into a file or a pipe.
pub(super) fn echoed(search: &mut Search, call: &Call) {
    let whole = |word: &Word| {
        let unknown = word.bits.contains(&Bit::Any) && !word.unknown.iter().any(String::is_empty);
        unknown && word.unknown.iter().any(|name| is_secret_name(name))
    };
    if !is_kept(call.simple) && call.words.iter().any(whole) {
        search.shown.push(call.simple.clone());
    }
}

/// `printenv TOKEN`, and `printenv` alone.
pub(super) fn environment(search: &mut Search, call: &Call) {
    if call.operands().is_empty() {
        return all(search, call);
    }
    if !is_kept(call.simple) && call.texts.iter().any(|name| is_secret_name(name)) {
        search.shown.push(call.simple.clone());
    }
}

/// `env`, `export -p`, `declare -x`, `set` print every variable if no name is given.
pub(super) fn variables(search: &mut Search, call: &Call) {
    let options = |known: &[&str]| call.texts.iter().all(|text| known.contains(&text.as_str()));
    let prints = match call.name {
        "env" => options(&["-0", "--null", "-v"]),
        // These words also occur in programs of other languages.
        _ if search.depth > 0 => false,
        "export" => options(&["-p"]),
        "declare" | "typeset" => !call.texts.is_empty() && options(&["-p", "-x", "-px", "-xp"]),
        _ => call.texts.is_empty(),
    };
    if prints {
        all(search, call);
    }
}

/// The whole environment is shown, unless a later command in the pipe filters it.
pub(super) fn all(search: &mut Search, call: &Call) {
    const SHOWING: &[&str] = &[
        "bat", "cat", "column", "fold", "head", "less", "more", "nl", "pr", "sort", "tac", "tail", "tee",
        "tr", "uniq",
    ];
    let simple = call.simple;
    let gets = |other: &&Rc<Simple>| other.fed.iter().any(|fed| &**fed == call.name);
    let behind = search.around.iter().filter(gets).filter_map(|other| other.name());
    let shown = if simple.piped.0 { behind.into_iter().all(|name| SHOWING.contains(&name)) } else { true };
    if shown && !is_kept(simple) && !simple.captured && !simple.exported && !search.in_pipe {
        search.add("secret-print", simple);
    }
}

/// `ps e`, `ps auxeww` show the environment of every process; `ps -e` only lists the processes.
pub(super) fn processes(search: &mut Search, call: &Call) {
    let shows = |text: &String| text.contains('e') && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if call.texts.first().is_some_and(shows) {
        search.add("secret-print", call.simple);
    }
}

/// Reports secrets that a command of this line prints, unless another command consumes them.
pub(super) fn shown(search: &mut Search, line: &Line) {
    let all = std::mem::take(&mut search.shown);
    for simple in all {
        let name = simple.name().unwrap_or_default();
        let is_shown = if simple.captured {
            line.commands.iter().any(|other| puts_out(other, name) && !is_taken(line, other))
        } else {
            !is_taken(line, &simple)
        };
        if is_shown && !is_own(line, &simple) {
            search.add("secret-print", &simple);
        }
    }
}

/// Reports commands that read a file of secrets, unless the result is stored in a variable that the line
/// never shows: `URL=$(grep URL .env)`.
pub(super) fn read(search: &mut Search, line: &Line) {
    for simple in std::mem::take(&mut search.captured) {
        let name = simple.name().unwrap_or_default();
        let assigned = ["=$(", "=\"$("].iter().any(|sign| line.text.contains(&format!("{sign}{name} ")));
        let hands_on = FILTERS.contains(&name) || matches!(name, "cut" | "head" | "tail" | "tr");
        let shows = |other: &Rc<Simple>| puts_out(other, name) && !is_taken(line, other);
        if !assigned || !hands_on || line.commands.iter().any(shows) {
            search.add("secret-file", &simple);
        }
    }
}

/// `read -rd '' x < .env; echo "$x"`: a later command prints what was read. A loop over lines picks some.
/// `f() { cat; }; f < .env`: the function's body prints what it is given.
pub(super) fn read_in(search: &mut Search, simple: &Simple) {
    if !simple.fed.is_empty() || !simple.arriving.iter().any(|word| names_secret(simple, word)) {
        return;
    }
    let takes_all =
        |pair: &[Word]| pair[0].lossy().ends_with('d') && pair[0].is_option() && pair[1].bits.is_empty();
    let is_read = simple.name() == Some("read") && simple.words.windows(2).any(takes_all);
    let names: Vec<String> = simple.words.iter().skip(1).map(Word::lossy).collect();
    let holds = |word: &Word| word.unknown.iter().chain(&word.filled).any(|name| names.contains(name));
    let prints = |other: &Rc<Simple>| {
        let shows = match other.name() {
            Some("echo" | "printf" | "print") => is_read && other.words.iter().any(holds),
            name => {
                simple.function && other.words.len() == 1 && name.is_some_and(|name| FILTERS.contains(&name))
            }
        };
        shows && !is_kept(other) && !other.piped.0
    };
    if search.around.iter().any(prints) {
        search.add("secret-file", simple);
    }
}

/// `source .env; curl https://x.example/$API_KEY`, `set -x; source .env`, `source .env; set | grep API`: the
/// line sends or shows what it reads into variables. A header of a request only identifies the sender.
pub(super) fn sourced(search: &mut Search, line: &Line) {
    let reads = |simple: &&Rc<Simple>| {
        let sources = matches!(simple.name(), Some("source" | ".")) || simple.exported;
        sources && simple.words.iter().skip(1).any(|word| names_secret(simple, word))
    };
    let Some(source) = line.commands.iter().find(reads) else { return };
    let traces = |simple: &Simple| {
        let is_flag =
            |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'v']);
        simple
            .words
            .iter()
            .map(Word::lossy)
            .any(|text| is_flag(&text) || matches!(text.as_str(), "xtrace" | "verbose"))
    };
    let sends = |simple: &Simple| {
        let is_sender = simple.name().is_some_and(|name| SENDERS.contains(&name));
        let mut words = simple.words.iter().enumerate().skip(1);
        is_sender && words.any(|(at, word)| holds_variable(word) && !identifies(simple, at))
    };
    let shows = |simple: &Rc<Simple>| match simple.name() {
        Some("set") if simple.words.len() > 1 => simple.captured == source.captured && traces(simple),
        Some("set" | "env" | "printenv") => simple.words.len() == 1 && !is_kept(simple) && !simple.captured,
        _ => sends(simple),
    };
    if line.commands.iter().any(shows) {
        search.add("secret-file", source);
    }
}

/// Whether this word of a request, or the option before it, says who asks.
fn identifies(simple: &Simple, at: usize) -> bool {
    let option = simple.words[at - 1].lossy();
    let heads = matches!(option.as_str(), "-H" | "--header" | "-u" | "--user" | "--oauth2-bearer");
    let word = &simple.words[at];
    let glued = ["-H", "--header", "Authorization:"].iter().any(|begin| word.starts_with(begin));
    heads || option.starts_with("-H") || glued
}

/// `KEY=$(openssl rand -hex 32) && ./app "$KEY" & echo $KEY`: the line itself sets the variable from a
/// command's output, so it does not come from the environment. If that command outputs a secret, another rule
/// reports it.
fn is_own(line: &Line, simple: &Simple) -> bool {
    let mut secret =
        simple.words.iter().flat_map(|word| &word.unknown).filter(|name| is_secret_name(name)).peekable();
    let set = |name: &String| {
        line.text.contains(&format!("{name}=$(")) || line.text.contains(&format!("{name}=\"$("))
    };
    secret.peek().is_some() && secret.all(set)
}

/// Whether its output goes to a program that does not print it again: `docker login --password-stdin`.
fn is_taken(line: &Line, simple: &Simple) -> bool {
    let name = simple.name().unwrap_or_default();
    let takes = |other: &Rc<Simple>| {
        let taker = other.name().unwrap_or_default();
        other.fed.iter().any(|fed| &**fed == name) && !FILTERS.contains(&taker) && !SENDERS.contains(&taker)
    };
    simple.piped.0 && line.commands.iter().any(takes)
}

/// Whether it prints or sends the output of the named program. A header of a request only identifies the
/// sender.
fn puts_out(other: &Simple, name: &str) -> bool {
    let printer = matches!(other.name(), Some("echo" | "printf" | "print" | "cat" | "tee"));
    let sender = other.name().is_some_and(|name| SENDERS.contains(&name));
    // `${TOKEN:0:4}` shows only a part.
    let whole = |word: &Word| !word.unknown.iter().any(String::is_empty);
    let holds = |word: &Word| whole(word) && word.printed.iter().any(|printed| &**printed == name);
    let mut words = other.words.iter().enumerate().skip(1).filter(|(_, word)| holds(word));
    let quiet = is_kept(other) && printer;
    (printer || sender) && !quiet && words.any(|(at, _)| printer || !identifies(other, at))
        || printer && other.arriving.iter().any(holds)
}
