//! Commands that end processes: one by its id, all of a name, or all of a user.

use super::Search;
use super::call::Call;
use crate::syntax::{Bit, Word};

pub(super) fn kill(search: &mut Search, call: &Call) {
    let everything = call.texts.iter().skip(1).any(|text| text == "-1") || call.texts == ["-1"];
    let first = call.operands().iter().any(|(at, _)| call.texts[*at] == "1");
    let words = || call.words.iter();
    let each = words().chain(words().flat_map(|word| &word.named)).chain(&call.simple.arriving).any(is_each);
    if everything || each || first && call.name == "kill" || words().any(|word| is_everybody(call, word)) {
        search.add("kill-all", call.simple);
    }
}

/// Every entry of `/proc`, without a filter: `for p in /proc/[0-9]*; do kill ${p##*/}`.
fn is_each(word: &Word) -> bool {
    let text = word.lossy();
    let number = text.strip_prefix("/proc/").map_or("", |rest| rest.trim_end_matches('/'));
    number.contains(['*', '?', '[']) && !number.contains(|c: char| c.is_ascii_alphabetic() || c == '/')
}

/// Programs that others depend on: databases, servers, the system's own.
#[rustfmt::skip]
const SERVICES: &[&str] = &[
    "apache2", "auditd", "consul", "containerd", "cron", "crond", "cupsd", "dbus-daemon", "docker", "dockerd", "elasticsearch",
    "etcd", "finder", "firewalld", "gdm", "gnome-shell", "haproxy", "httpd", "init", "kafka", "kubelet", "launchd",
    "loginwindow", "mariadbd", "memcached", "mongod", "mysql", "mysqld", "named", "networkmanager", "nginx", "postgres",
    "postgresql", "rabbitmq", "redis-server", "rsyslogd", "sshd", "systemd", "vault", "windowserver", "xorg",
];
/// The ports of these services.
const PORTS: &[&str] =
    &["22", "1433", "1521", "2379", "3306", "5432", "5672", "6379", "6443", "9042", "9200", "11211", "27017"];

/// Runtimes that every project of a machine uses: ending all of that name also ends other people's programs
/// and the user's own windows.
#[rustfmt::skip]
const SHARED: &[&str] = &[
    "bash", "beam.smp", "brave", "brave browser", "bun", "cargo", "chrome", "chromium", "chromium-browser", "clang", "cmd", "code",
    "code-server", "codex", "conhost", "cursor", "deno", "dock", "docker-compose", "docker desktop", "dotnet", "electron", "emacs",
    "explorer", "firefox", "fish", "gcc", "gemini", "gnome-terminal", "go", "google chrome", "google-chrome", "gradle", "iterm2",
    "java", "kitty", "make", "microsoft edge", "msedge", "mvn", "node", "node_modules", "nodejs", "npm", "npx", "nvim", "opencode",
    "perl", "php", "pip", "pnpm", "powershell", "pwsh", "python", "python2", "python3", "ruby", "rustc", "safari", "screen", "sh",
    "ssh", "sudo", "systemuiserver", "terminal", "tmux", "uv", "vim", "wezterm", "wezterm-gui", "windowsterminal", "wsl", "yarn",
    "zellij", "zsh",
];
/// Words that occur in the command lines of many unrelated programs.
const COMMON: &[&str] = &[
    "app", "bin", "dev", "index", "local", "main", "run", "serve", "server", "start", "test", "usr", "watch",
];

/// Whether a pattern also matches other people's programs: the name of a runtime or of a service. A script, a
/// path or several words are specific enough.
fn is_broad(pattern: &str, whole_line: bool) -> bool {
    pattern.split('|').any(|one| {
        let plain = one.replace(['[', ']', '^', '$', '(', ')', '\\', '"', '\''], "").to_lowercase();
        let plain = plain.trim().trim_end_matches(".*").trim_end_matches('*').trim_end_matches(".exe").trim();
        let name = if plain.starts_with("/usr/") || plain.starts_with("/bin/") {
            plain.rsplit('/').next()
        } else {
            None
        };
        let name = name.unwrap_or(plain);
        let versioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is = |known: &[&str]| known.contains(&name) || versioned.len() > 2 && known.contains(&versioned);
        is(SHARED) || is(SERVICES) || whole_line && (is(COMMON) || name.chars().count() < 3)
    })
}

/// Whether these ids come from a search that names no program, or one that others run too.
fn is_everybody(call: &Call, word: &Word) -> bool {
    let simple = call.simple;
    let printed = || word.printed.iter().chain(simple.fed.iter().filter(|_| word.bits.contains(&Bit::Any)));
    if !word.bits.contains(&Bit::Any) || printed().next().is_none() {
        return false;
    }
    let has = |names: &[&str]| printed().any(|name| names.contains(&&**name));
    let given: Vec<String> = word.named.iter().chain(&simple.arriving).map(Word::lossy).collect();
    let asks = |text: &String| text.contains(['/', '~', '=']) && text.contains(['{', '/']);
    let filtered =
        has(&["grep", "egrep", "fgrep", "rg", "ag", "head", "tail", "sed", "cut", "docker", "jobs", "cat"]);
    let lists = has(&["ps"])
        && !filtered
        && !given.iter().any(asks)
        && !given.iter().any(|text| text == "-C" || text == "-p");
    let searched = has(&["pgrep", "pidof", "ps"]);
    // A second word narrows the search: `grep node | grep server.js`.
    let says = |text: &&String| {
        !text.starts_with(['-', '{']) && !matches!(text.as_str(), "grep" | "aux" | "ax" | "kill")
    };
    let words: Vec<&String> = given.iter().filter(says).filter(|text| !text.contains("print")).collect();
    let broad = !words.is_empty() && words.iter().all(|text| is_broad(text, false));
    let port = |text: &String| text.rsplit_once(':').is_some_and(|(_, port)| PORTS.contains(&port));
    let held = given.iter().any(|text| port(text) && has(&["lsof", "fuser"]));
    let service =
        |text: &String| SERVICES.contains(&text.trim_matches(['^', '$', '[', ']']).to_lowercase().as_str());
    lists || searched && broad || held || given.iter().any(service)
}

/// `pkill -u user`, `killall -9 node`, `pkill -9 .`
pub(super) fn pkill(search: &mut Search, call: &Call) {
    let user = call.has(&["-u", "-U", "--euid", "--uid", "--user"]);
    let valued =
        ["-P", "-s", "-g", "-t", "-G", "--parent", "--signal", "--pgroup", "--session", "--terminal"];
    let value = |at: usize| at > 0 && valued.contains(&call.texts[at - 1].as_str());
    let operands = call.operands();
    let patterns: Vec<&String> =
        operands.iter().filter(|(at, _)| !value(*at)).map(|(at, _)| &call.texts[*at]).collect();
    let last = call.texts.last().map(String::as_str).unwrap_or_default();
    let all = matches!(last, "." | ".*" | "" | "*") || call.name == "killall5";
    // Limited to the children of one process, or only a question whether such processes exist.
    let narrowed =
        call.has(&["-P", "--parent", "-0"]) || call.texts.windows(2).any(|pair| pair == ["--signal", "0"]);
    let whole_line = call.name == "pkill" && call.has(&["-f", "--full"]);
    let broad = patterns.iter().any(|pattern| is_broad(pattern, whole_line));
    if user && operands.len() <= 1 || all || broad && !narrowed {
        search.add("kill-all", call.simple);
    }
}

/// `taskkill /F /IM node.exe`; a process named by its id is taken to be one's own.
pub(super) fn taskkill(search: &mut Search, call: &Call) {
    let lower: Vec<String> = call.texts.iter().map(|text| text.to_lowercase().replace("//", "/")).collect();
    let value =
        |option: &str| lower.windows(2).filter(|pair| pair[0] == option).any(|pair| is_broad(&pair[1], true));
    let filtered = lower.iter().any(|text| text == "/fi" || text == "-fi");
    if value("/im")
        || value("-im")
        || filtered
        || call.name == "tskill" && lower.iter().any(|text| is_broad(text, true))
    {
        search.add("kill-all", call.simple);
    }
}

/// `fuser -k 5432/tcp`, `fuser -km /`
pub(super) fn fuser(search: &mut Search, call: &Call) {
    let port = |text: &String| text.split_once('/').is_some_and(|(port, _)| PORTS.contains(&port));
    let whole = call.has(&["-m", "--mount", "-M"]) || call.texts.iter().any(|text| text == "/");
    if call.has(&["-k", "--kill"]) && (whole || call.texts.iter().any(port)) {
        search.add("kill-all", call.simple);
    }
}

/// `Stop-Process -Name node`, `Get-Process node | Stop-Process`, in a line of PowerShell.
pub(super) fn powershell_kills(line: &str) -> bool {
    let lower = line.to_lowercase();
    let words: Vec<&str> = lower.split([' ', '|', ';', '\n', '\t']).filter(|word| !word.is_empty()).collect();
    let kills = words.iter().any(|word| matches!(*word, "stop-process" | "spps"));
    let named = |at: usize| {
        let verb = words[at - 1];
        let asked = matches!(verb, "-name" | "get-process" | "gps" | "-processname" | "stop-process");
        asked && words[at].split(',').any(|name| is_broad(name, true))
    };
    kills && (1..words.len()).any(named)
}
