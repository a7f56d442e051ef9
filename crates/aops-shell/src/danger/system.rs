//! Disks, processes and the shell itself.

use super::Search;
use super::call::Call;
use super::secret;
use crate::syntax::Line;

/// `:(){ :|:& };:`: a function that starts itself twice.
pub(super) fn fork_bomb(search: &mut Search, line: &Line) {
    if !line.text.contains('(') || !line.text.contains('&') {
        return;
    }
    let text: String = line.text.chars().filter(|c| !c.is_whitespace()).collect();
    let bomb = text.match_indices("(){").any(|(at, _)| {
        let before = &text[..at];
        let begin = before.rfind([';', '&', '|', '(', '{', '\'', '"', '\n']).map_or(0, |at| at + 1);
        let name = before[begin..].trim_start_matches("function");
        let body = &text[at + 3..];
        !name.is_empty() && body.contains(&format!("{name}|{name}"))
    });
    if bomb {
        search.add_what("fork-bomb", line.text.chars().take(80).collect());
    }
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
    if hands {
        search.add("reverse-shell", call.simple);
    }
    secret::sends(search, call);
}

/// `history -c`
pub(super) fn history(search: &mut Search, call: &Call) {
    if call.has(&["-c", "-w"]) && call.has(&["-c"]) {
        search.add("file-wipe", call.simple);
    }
}
