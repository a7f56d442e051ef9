//! Files that leave this machine by a pipe: packed, dumped, or read into a bare connection. What a folder
//! holds the line does not say.

use super::Search;
use super::call::{Call, is_unknown};
use super::remote::{any, is_addressed_away};
use crate::syntax::{Bit, Line, Simple, Word};
use std::rc::Rc;

/// Programs that print a whole folder or database.
const PACKERS: &[&str] = &[
    "7z", "7za", "bsdtar", "cpio", "gtar", "mariadb-dump", "mongodump", "mysqldump", "pax", "pg_dump",
    "pg_dumpall", "tar", "zip",
];
/// Programs that print the files they name, as they are or in another form.
const READERS: &[&str] = &[
    "base32", "base64", "bzip2", "cat", "dd", "gzip", "head", "hexdump", "od", "openssl", "tac", "tail",
    "uuencode", "xxd", "xz", "zstd",
];
/// Connections without a question: what arrives is sent as it is.
const BARE: &[&str] = &["nc", "ncat", "netcat", "socat", "telnet", "tftp"];

/// A network tool that is fed with files.
pub(super) fn sends(search: &mut Search, call: &Call) {
    let simple = call.simple;
    let bare = BARE.contains(&call.name);
    if !(if call.name == "socat" { connects_away(call) } else { is_addressed_away(call) }) {
        return;
    }
    let packed = call.words.iter().any(|word| any(&word.printed, PACKERS) || uploads_unknown(word));
    let packed = packed
        || names_pipe(search, call)
        || call.name == "socat" && call.texts.iter().any(|text| is_file(text));
    let takes = if bare { !call.has(&["-l", "-z", "--listen"]) } else { takes_input(call) };
    // A file by its name alone says what is sent.
    let hidden = |word: &Word| is_unknown(word) || word.bits.contains(&Bit::Star);
    let direct = simple.fed.is_empty() && simple.script.is_none() && !simple.arriving.is_empty();
    let read = (direct || any(&simple.fed, READERS)) && (bare || simple.arriving.iter().any(hidden));
    if packed || takes && (any(&simple.fed, PACKERS) || read) {
        search.add("file-send", simple);
    }
}

/// `-F name=@$FILE`: only the running shell knows which file.
fn uploads_unknown(word: &Word) -> bool {
    let at = word.bits.iter().rposition(|bit| *bit == Bit::Char('@')).filter(|at| *at + 1 < word.bits.len());
    at.is_some_and(|at| word.said.is_none() && word.bits[at + 1..].iter().all(|bit| *bit == Bit::Any))
}

/// An address of `socat` that is a file: `OPEN:x`, `./x`.
fn is_file(text: &str) -> bool {
    let kind = text.split([':', ',']).next().unwrap_or_default().to_ascii_lowercase();
    matches!(kind.as_str(), "open" | "gopen" | "file" | "rdonly" | "pipe" | "create")
        || kind.starts_with(['.', '/'])
}

/// `curl -T -`, `curl -d @-`, `wget --post-file=-`; `http` does so by itself.
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

/// `TCP:host:port`, and the host is another one.
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

/// A pipe that this line made, or what a packer of it wrote: `mkfifo p; tar c . > p & curl -T p …`.
fn names_pipe(search: &Search, call: &Call) -> bool {
    let last = |word: &Word| word.lossy().rsplit(['/', '@', '=', ':']).next().unwrap_or_default().to_owned();
    let mut named = call.words.iter().chain(&call.simple.arriving).map(last);
    !search.pipes.is_empty() && named.any(|name| search.pipes.contains(&name))
}

/// The names of the pipes that this line makes, and of the files that its packers print to.
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

/// `coproc nc host 9`: a connection beside the line, which its other commands write to or read from.
pub(super) fn talks_beside(text: &str) -> bool {
    let mut words =
        text.split(|c: char| c.is_whitespace() || "{(;".contains(c)).filter(|word| !word.is_empty());
    words.any(|word| word == "coproc")
        && words.take(2).any(|word| BARE.contains(&word) || matches!(word, "curl" | "wget"))
}
