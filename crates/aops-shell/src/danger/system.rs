//! Disks, processes and the shell itself.

use super::Search;
use super::call::Call;
use super::secret;
use crate::syntax::Line;

/// `:(){ :|:& };:`: a function that starts itself twice.
pub(super) fn fork_bomb(search: &mut Search, line: &Line) {
    if !line.text.contains('&') {
        return;
    }
    let text: String = line.text.chars().filter(|c| !c.is_whitespace()).collect();
    let bomb = text.match_indices("(){").any(|(at, _)| {
        let before = &text[..at];
        let begin = before.rfind([';', '&', '|', '(', '{', '\'', '"', '\n']).map_or(0, |at| at + 1);
        let name = before[begin..].trim_start_matches("function");
        let body = &text[at + 3..];
        // `b() { b & }`: a call of its own, left behind.
        let own = body.split('}').next().unwrap_or_default();
        let begins =
            |at: usize| !own[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        let again = own
            .match_indices(&format!("{name}&"))
            .any(|(at, call)| begins(at) && !own[at + call.len()..].starts_with('&'));
        !name.is_empty() && (body.contains(&format!("{name}|{name}")) || again)
    });
    if bomb || loops_apart(&line.text) {
        search.add_what("fork-bomb", line.text.chars().take(80).collect());
    }
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

/// `while true; do work & done`: a loop without an end, whose last job nobody waits for.
fn loops_apart(text: &str) -> bool {
    // Between quotes it is prose, unless a shell gets it.
    let text = if text.contains("-c ") { text.replace(['"', '\''], " ") } else { unquoted(text) };
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
        }
        "until" => matches!(words.get(at + 1), Some(&("false" | "/bin/false" | "/usr/bin/false"))),
        // `for ((i=0;;i++))`: nothing between the two signs.
        "for" => {
            words[at..].iter().take(8).collect::<Vec<_>>().windows(2).any(|pair| *pair[0] == ";" && *pair[1] == ";")
        }
        _ => false,
    };
    (0..words.len()).filter(|at| endless(*at)).any(|at| {
        let end = words[at..].iter().position(|word| *word == "done").map_or(words.len(), |end| at + end);
        let body = &words[at..end];
        let last = body.iter().rposition(|word| *word == "&");
        // In a subshell, or where it may not run, it holds nothing back.
        let held = |at: usize| {
            let sure = !matches!(body[at - 1], "(" | "then" | "else");
            sure && matches!(body[at], "wait" | "sleep" | "break" | "exit" | "return" | "read")
        };
        last.is_some_and(|last| body.get(last + 1) == Some(&")") || !(last + 1..body.len()).any(held))
    })
}

pub(super) fn kill(search: &mut Search, call: &Call) {
    let everything = call.texts.iter().skip(1).any(|text| text == "-1") || call.texts == ["-1"];
    let first = call.operands().iter().any(|(at, _)| call.texts[*at] == "1");
    if everything || first && call.name == "kill" {
        search.add("kill-all", call.simple);
    }
}

/// `pkill -u user`, `killall -9 -u me`, `pkill -9 .`
pub(super) fn pkill(search: &mut Search, call: &Call) {
    let user = call.has(&["-u", "-U", "--euid", "--uid", "--user"]);
    let last = call.texts.last().map(String::as_str).unwrap_or_default();
    let all = matches!(last, "." | ".*" | "" | "*") || call.name == "killall5";
    let system =
        ["sshd", "systemd", "init", "launchd", "dockerd", "Finder", "WindowServer", "loginwindow", "dbus-daemon"];
    if user && call.operands().len() <= 1 || all || system.contains(&last) {
        search.add("kill-all", call.simple);
    }
}

/// A connection that hands out a shell.
pub(super) fn netcat(search: &mut Search, call: &Call) {
    let hands = call.has(&["-e", "-c", "--exec", "--sh-exec"])
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
}

/// `fallocate -l 1T file`
pub(super) fn fallocate(search: &mut Search, call: &Call) {
    let digs = ["-d", "-p", "-c", "--dig-holes", "--punch-hole", "--collapse-range"];
    if call.texts.iter().any(|text| is_huge(text)) && !call.has(&digs) {
        search.add("disk-write", call.simple);
    }
}

/// A size that fills most disks: `1T`, `-l900G`.
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

/// Options of `ssh`, `scp`, `rsync` and `tar` whose value is a line: `-o ProxyCommand=…`, `-e …`, `--to-command=…`.
pub(super) fn option_lines(search: &mut Search, call: &Call) {
    #[rustfmt::skip]
    const LONG: &[&str] = &[
        "--rsh=", "--info-script=", "--new-volume-script=", "--use-compress-program=", "--to-command=", "--rsh-command=",
        "--rmt-command=", "--checkpoint-action=exec=", "--rsync-path=",
    ];
    let letters = if matches!(call.name, "ssh" | "scp" | "sftp") { "o" } else { "eIF" };
    for (at, text) in call.texts.iter().enumerate().filter(|(_, text)| text.starts_with('-')) {
        let glued = LONG.iter().find_map(|option| text.strip_prefix(option));
        let next = || {
            let alone = LONG.iter().any(|option| option.trim_end_matches('=') == text);
            let bundled = !text.starts_with("--") && text.ends_with(|c| letters.contains(c));
            (alone || bundled).then(|| call.texts.get(at + 1)).flatten().map(String::as_str)
        };
        let value = glued.or_else(next).unwrap_or(text);
        let line = value.split_once("Command=").map(|(_, line)| line);
        if line.is_some() || value != text {
            search.text(line.unwrap_or(value), call.simple);
        }
    }
}

/// `history -c`
pub(super) fn history(search: &mut Search, call: &Call) {
    if call.has(&["-c", "-w"]) && call.has(&["-c"]) {
        search.add("file-wipe", call.simple);
    }
}
