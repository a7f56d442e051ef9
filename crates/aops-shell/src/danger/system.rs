//! Disks, connections and the shell itself.

use super::Search;
use super::call::Call;
use super::place::Spot;
use super::{outgoing, secret};
use crate::syntax::{Line, Word};

/// `:(){ :|:& };:`: functions that start themselves, or each other, without end.
pub(super) fn fork_bomb(search: &mut Search, line: &Line) {
    let own = std::iter::once(&line.text).chain(&line.programs);
    for text in own.filter(|text| text.contains('&')) {
        // A here-document that a shell reads is a program of its own, judged as its own text.
        let bodies = line.documents.iter().filter(|body| body.trim() != text.trim());
        let plain = bodies.fold(text.clone(), |text, body| text.replacen(body.as_str(), "", 1));
        starts_without_end(search, line, &plain);
    }
}

fn starts_without_end(search: &mut Search, line: &Line, text: &str) {
    // Quoted text is prose, and what a shell receives there is judged as a program of its own. In a line that
    // could not be parsed we cannot tell the two apart.
    let is_shell = |name: &str| name.ends_with("sh") || name == "eval";
    let gets =
        || text.contains("-c ") || line.commands.iter().any(|simple| simple.name().is_none_or(is_shell));
    let runs = line.unclear && gets();
    let plain = |sign: &str| if runs { text.replace(['"', '\''], sign) } else { unquoted(text) };
    let all = functions(&plain(";"));
    if all.len() > FUNCTIONS {
        search.add_what("unread-line", line.text.chars().take(80).collect());
    }
    if start_each_other(&all[..all.len().min(FUNCTIONS)]) || loops_apart(&plain(" ")) {
        search.add_what("fork-bomb", line.text.chars().take(80).collect());
    }
}

/// How many functions of one line are examined.
const FUNCTIONS: usize = 1024;

/// Whether functions call each other in a ring, and one of them starts the next in the background or in a
/// pipe.
fn start_each_other(all: &[(String, String)]) -> bool {
    let ways = |how: fn(&str, &str) -> bool| -> Vec<Vec<usize>> {
        let of = |body: &str| (0..all.len()).filter(|to| how(body, &all[*to].0)).collect();
        all.iter().map(|(_, body)| of(body)).collect()
    };
    let started = ways(starts);
    let called = ways(calls);
    let comes_back = |first: usize, next: usize| {
        let mut seen = vec![next];
        let mut at = 0;
        while let Some(from) = seen.get(at).copied() {
            let more: Vec<usize> = called[from].iter().filter(|to| !seen.contains(to)).copied().collect();
            seen.extend(more);
            at += 1;
        }
        seen.contains(&first)
    };
    started.iter().enumerate().any(|(first, ways)| ways.iter().any(|next| comes_back(first, *next)))
}

/// The functions of a line, each with its body, without blanks.
fn functions(text: &str) -> Vec<(String, String)> {
    // `function f {` is `f() {`.
    let mut plain = String::with_capacity(text.len());
    for (n, part) in text.split("function ").enumerate() {
        let end = part.find(|c: char| c.is_whitespace() || "({".contains(c)).unwrap_or(part.len());
        let (name, rest) = part.split_at(if n == 0 { 0 } else { end });
        let brace = rest.trim_start().starts_with('{') && n > 0;
        plain.extend([if n == 0 { "" } else { ";" }, name, if brace { "()" } else { "" }, rest]);
    }
    let mut plain = plain.replace(")\n{", "){").replace('\n', ";");
    plain.retain(|c| !c.is_whitespace());
    let found = plain.match_indices("(){").take(FUNCTIONS + 1).map(|(at, sign)| {
        let before = &plain[..at];
        let begin = before.rfind([';', '&', '|', '(', '{', '}', '\'', '"']).map_or(0, |at| at + 1);
        let rest = &plain[at + sign.len()..];
        let mut depth = 1;
        let closes = |c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        };
        let body = rest.find(closes).map_or(rest, |end| &rest[..end]);
        (before[begin..].to_owned(), body.to_owned())
    });
    found.filter(|(name, _)| !name.is_empty()).collect()
}

/// Whether this body calls the function at the start of a command.
fn calls(body: &str, name: &str) -> bool {
    called(body, name).any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "_-./=(".contains(c)))
}

/// Like `calls`, but the call runs in the background or feeds another command: `f&`, `f|`.
fn starts(body: &str, name: &str) -> bool {
    let once = |rest: &str, sign: char| rest.starts_with(sign) && !rest[1..].starts_with(sign);
    called(body, name).any(|rest| once(rest, '&') || once(rest, '|'))
}

/// The text after the name, at each place where a command of that name may begin.
fn called<'b>(body: &'b str, name: &'b str) -> impl Iterator<Item = &'b str> {
    let begins = |at: usize| body[..at].is_empty() || body[..at].ends_with([';', '&', '|', '(', '{', '!']);
    body.match_indices(name).filter(move |(at, _)| begins(*at)).map(move |(at, _)| &body[at + name.len()..])
}

fn unquoted(text: &str) -> String {
    let mut quote = None;
    let outside = |letter: &char| match (quote, *letter) {
        (None, '"' | '\'') => {
            quote = Some(*letter);
            false
        }
        (Some(open), letter) if letter == open => {
            quote = None;
            false
        }
        (open, _) => open.is_none(),
    };
    text.chars().filter(outside).collect()
}

/// `while true; do work & done`: an endless loop that starts background jobs and never waits for them.
fn loops_apart(text: &str) -> bool {
    let spaced = text
        .replace([';', '\n'], " ; ")
        .replace("&&", " and ")
        .replace('&', " & ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let endless = |at: usize| match words[at] {
        "while" => {
            matches!(words.get(at + 1), Some(&("true" | ":" | "/bin/true" | "/usr/bin/true" | "1")))
                || matches!(words.get(at + 1..at + 3), Some(["[[" | "[", "1" | "true"]))
                || matches!(words.get(at + 1..at + 4), Some(["(", "(", "1"]))
        }
        "until" => matches!(words.get(at + 1), Some(&("false" | "/bin/false" | "/usr/bin/false"))),
        // `for ((i=0;;i++))`: nothing between the two signs.
        "for" => {
            let head: Vec<&str> = words[at..].iter().copied().take_while(|word| *word != "do").collect();
            head.get(1..3) == Some(&["(", "("][..]) && head.windows(2).any(|pair| pair == [";", ";"])
        }
        _ => false,
    };
    (0..words.len()).filter(|at| endless(*at)).any(|at| {
        let end = words[at..].iter().position(|word| *word == "done").map_or(words.len(), |end| at + end);
        let body = &words[at..end];
        let last = body.iter().rposition(|word| *word == "&");
        // It does not slow the loop down if it is in a subshell, in a branch that may not run, or itself in
        // the background.
        let held = |at: usize| {
            let sure = at > 0 && !matches!(body[at - 1], "(" | "then" | "else");
            let end = body[at..].iter().find(|word| matches!(**word, ";" | "&" | ")" | "and"));
            let waits = body[at] == "wait" && last.is_some_and(|last| at > last);
            let rests = matches!(body[at], "sleep" | "break" | "exit" | "return" | "read");
            sure && end != Some(&"&") && (waits || rests)
        };
        last.is_some_and(|last| body.get(last + 1) == Some(&")") || !(0..body.len()).any(held))
    })
}

/// `umount -a`, `umount -l /home`: file systems that everybody uses. What users mount in or next to their
/// home is their own.
pub(super) fn umount(search: &mut Search, call: &Call) {
    let forced = call.has(&["-f", "--force", "-l", "--lazy"]);
    // These folders contain only mounts.
    let mounts = ["/mnt/", "/media/", "/Volumes/", "/run/media/"];
    let held = |word: &Word| {
        let spot = search.place.spot(call.simple, word);
        let own = mounts.iter().any(|folder| word.starts_with(folder));
        matches!(spot, Spot::Root | Spot::System | Spot::Project) && !own
    };
    let operands = call.operands();
    if call.has(&["-a", "-A", "--all"]) || forced && operands.iter().any(|(_, word)| held(word)) {
        search.add("disk-write", call.simple);
    }
}

/// A connection that gives the other side a shell.
pub(super) fn netcat(search: &mut Search, call: &Call) {
    // In `telnet` and `tftp` these letters mean something else.
    let executes = call.has(&["-e", "-c", "--exec", "--sh-exec"]) && !matches!(call.name, "telnet" | "tftp");
    let hands = executes
        || call
            .texts
            .iter()
            .any(|text| text.to_lowercase().contains("exec:") || text.to_lowercase().contains("system:"));
    let shell = call.texts.iter().any(|text| text.eq_ignore_ascii_case("shell"));
    if hands || shell && call.name == "socat" {
        search.add("reverse-shell", call.simple);
    }
    let stops = |text: &String| text.contains("disable server") || text.contains("shutdown sessions");
    if call.simple.script.as_ref().is_some_and(stops) {
        search.add("service-stop", call.simple);
    }
    secret::sends(search, call);
    outgoing::sends(search, call);
}

/// `mkfs.ext4 /dev/sdb1`; with `-n` it only prints what it would do.
pub(super) fn mkfs(search: &mut Search, call: &Call) {
    // `mkfs.ext4 disk.img` formats a disk image, not a disk.
    let image = |word: &&Word| {
        let spot = search.place.spot(call.simple, word);
        word.literal().is_some() && matches!(spot, Spot::Scratch | Spot::Inside | Spot::Source)
    };
    let last = call.operands().last().map(|(_, word)| *word);
    if !call.has(&["-n"]) && !last.as_ref().is_some_and(image) {
        search.add("disk-write", call.simple);
    }
}

/// `fallocate -l 1T file`
pub(super) fn fallocate(search: &mut Search, call: &Call) {
    let digs = ["-d", "-p", "-c", "--dig-holes", "--punch-hole", "--collapse-range"];
    if call.texts.iter().any(|text| is_huge(text)) && !call.has(&digs) {
        search.add("disk-write", call.simple);
    }
}

/// Whether a size fills most disks: `1T`, `-l900G`.
pub(super) fn is_huge(text: &str) -> bool {
    let text = text.rsplit('=').next().unwrap_or_default().trim_start_matches("-l").trim_start_matches("-c");
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let Ok(number) = text[..end].parse::<u64>() else { return false };
    let unit = match text[end..].to_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" | "p" | "e" => 1 << 40,
        _ => return false,
    };
    number.saturating_mul(unit) >= 100 << 30
}

/// `history -c`
pub(super) fn history(search: &mut Search, call: &Call) {
    if call.has(&["-c", "-w"]) && call.has(&["-c"]) {
        search.add("file-wipe", call.simple);
    }
}
