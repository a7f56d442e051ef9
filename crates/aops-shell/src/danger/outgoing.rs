//! Files that leave this machine through a pipe: packed, dumped, or sent over a plain connection. The line
//! does not say what a folder contains.

use super::Search;
use super::call::{Call, is_unknown};
use super::remote::{any, is_addressed_away};
use crate::syntax::{Bit, Line, Simple, Word};
use std::rc::Rc;

/// Programs that can print a whole folder or database.
const PACKERS: &[&str] = &[
    "7z", "7za", "bsdtar", "cpio", "gtar", "mariadb-dump", "mongodump", "mysqldump", "pax", "pg_dump",
    "pg_dumpall", "tar", "zip",
];
/// Programs that print the files they name, as they are or in another form.
const READERS: &[&str] = &[
    "base32", "base64", "bzip2", "cat", "dd", "gzip", "head", "hexdump", "od", "openssl", "tac", "tail",
    "uuencode", "xxd", "xz", "zstd",
];
/// Tools that send whatever they receive over a plain connection.
const BARE: &[&str] = &["nc", "ncat", "netcat", "socat", "telnet", "tftp"];

/// A network tool whose input comes from files.
pub(super) fn sends(search: &mut Search, call: &Call) {
    let simple = call.simple;
    let bare = BARE.contains(&call.name);
    if !(if call.name == "socat" { connects_away(call) } else { is_addressed_away(call) }) {
        return;
    }
    let packed = call.words.iter().any(|word| any(&word.printed, PACKERS) || uploads_unknown(word));
    // `git bundle create - --all | curl --data-binary @- …`
    let bundles = |simple: &Rc<Simple>| {
        simple.name() == Some("git")
            && simple.words.iter().any(|word| word.is("bundle") || word.is("archive"))
    };
    let packed = packed
        || takes_input(call) && any(&simple.fed, &["git"]) && search.around.iter().any(bundles)
        || names_pipe(search, call)
        || call.name == "socat" && call.texts.iter().any(|text| is_file(text));
    let takes = if bare { !call.has(&["-l", "-z", "--listen"]) } else { takes_input(call) };
    // A file given by its name shows what is sent, so it is not reported here.
    let hidden = |word: &Word| is_unknown(word) || word.bits.contains(&Bit::Star);
    let direct = simple.fed.is_empty() && simple.script.is_none() && !simple.arriving.is_empty();
    let read = (direct || any(&simple.fed, READERS)) && (bare || simple.arriving.iter().any(hidden));
    if packed || takes && (any(&simple.fed, PACKERS) || read) {
        search.add("file-send", simple);
    }
}

/// `git push origin stash@{0}:refs/heads/x`, `git push origin $(git hash-object -w .env):refs/tags/x`: it is
/// neither a branch nor a tag, and may hold files that no commit has.
pub(super) fn pushes(search: &mut Search, call: &Call) {
    if !call.texts.iter().any(|text| text == "push") {
        return;
    }
    let makes = |simple: &&Rc<Simple>| {
        let has = |verb: &str| simple.words.iter().any(|word| word.is(verb));
        let stashes = has("stash") && (has("create") || has("store"));
        simple.captured && simple.name() == Some("git") && (has("hash-object") || has("mktree") || stashes)
    };
    let is_made = search.around.iter().any(|simple| makes(&simple));
    let is_loose = |word: &Word| {
        let text = word.lossy();
        let from = text.trim_start_matches('+').split(':').next().unwrap_or_default();
        from.starts_with("stash@{")
            || matches!(from, "refs/stash" | "stash") && text.contains(':')
            || is_made && any(&word.printed, &["git"])
    };
    if call.words.iter().any(is_loose) {
        search.add("file-send", call.simple);
    }
}

/// `-F name=@$FILE`: it is not known which file.
fn uploads_unknown(word: &Word) -> bool {
    let at = word.bits.iter().rposition(|bit| *bit == Bit::Char('@')).filter(|at| *at + 1 < word.bits.len());
    at.is_some_and(|at| word.said.is_none() && word.bits[at + 1..].iter().all(|bit| *bit == Bit::Any))
}

/// Whether a `socat` address is a file: `OPEN:x`, `./x`.
fn is_file(text: &str) -> bool {
    let kind = text.split([':', ',']).next().unwrap_or_default().to_ascii_lowercase();
    matches!(kind.as_str(), "open" | "gopen" | "file" | "rdonly" | "pipe" | "create")
        || kind.starts_with(['.', '/'])
}

/// `curl -T -`, `curl -d @-`, `wget --post-file=-`; `http` reads its input without being told.
fn takes_input(call: &Call) -> bool {
    if matches!(call.name, "http" | "https" | "xh" | "httpie") {
        return !call.has(&["--ignore-stdin"]);
    }
    let files = ["-T", "--upload-file", "--post-file", "--body-file"];
    let is_input = |text: &str| matches!(text, "-" | "." | "/dev/stdin");
    call.texts.iter().enumerate().any(|(at, text)| {
        let named = at > 0 && files.contains(&call.texts[at - 1].as_str());
        let glued =
            files.iter().find_map(|file| text.strip_prefix(file)).map(|rest| rest.trim_start_matches('='));
        let form = ["@-", "@/dev/stdin", "=<-"]
            .iter()
            .any(|end| text.split(';').next().unwrap_or(text).ends_with(end));
        form || named && is_input(text) || glued.is_some_and(is_input)
    })
}

/// `TCP:host:port` with a host that is not this machine.
fn connects_away(call: &Call) -> bool {
    call.texts.iter().any(|text| {
        let mut parts = text.split([':', ',']);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let host = parts.next().unwrap_or_default();
        let net =
            ["tcp", "udp", "ssl", "openssl", "sctp", "dccp"].iter().any(|begin| kind.starts_with(begin));
        let here = host == "localhost" || host.starts_with("127.") || host.starts_with('[');
        net && !kind.contains("listen") && !host.is_empty() && !here
    })
}

/// A pipe that this line made, or a file that a packing program in it wrote: `mkfifo p; tar c . > p & curl -T
/// p …`.
fn names_pipe(search: &Search, call: &Call) -> bool {
    let last = |word: &Word| word.lossy().rsplit(['/', '@', '=', ':']).next().unwrap_or_default().to_owned();
    let mut named = call.words.iter().chain(&call.simple.arriving).map(last);
    !search.pipes.is_empty() && named.any(|name| search.pipes.contains(&name))
}

/// The pipes that this line makes, and the files that its packing programs print to.
pub(super) fn pipes(line: &Line) -> Vec<String> {
    let names = |simple: &Rc<Simple>| -> Vec<String> {
        let last = |word: &Word| word.last_part().lossy();
        match simple.name() {
            Some("mkfifo") => {
                simple.words.iter().skip(1).filter(|word| !word.is_option()).map(last).collect()
            }
            Some(name) if PACKERS.contains(&name) => simple.writes.iter().map(last).collect(),
            _ => Vec::new(),
        }
    };
    line.commands.iter().flat_map(names).filter(|name| name != "null").collect()
}

/// `coproc nc host 9` opens a connection in the background that the line's other commands can write to or
/// read from.
pub(super) fn talks_beside(text: &str) -> bool {
    let mut words =
        text.split(|c: char| c.is_whitespace() || "{(;".contains(c)).filter(|word| !word.is_empty());
    words.any(|word| word == "coproc")
        && words.take(2).any(|word| BARE.contains(&word) || matches!(word, "curl" | "wget"))
}
