//! Which words of a program are hosts that it reaches.
//!
//! Pure. A program that is not known reaches the URLs that are whole words or values of its options; one that
//! only prints, compares or stores its words reaches none.

use super::url::{Host, of_authority, of_text, of_url};
use crate::commands::before_verb;
use crate::syntax::{Line, Simple, Word};

/// For these programs a word is text, or a file.
const TEXT: &[&str] = &[
    ":", "[", "[[", "ack", "ag", "alias", "aops-hook", "awk", "base64", "basename", "bd", "cat", "cd",
    "chmod", "cp", "cut", "date", "declare", "diff", "dirname", "echo", "ed", "egrep", "export", "expr",
    "false", "fd", "fgrep", "file", "find", "gawk", "gh", "glab", "grep", "head", "jq", "kill", "less", "ln",
    "local", "logger", "ls", "mkdir", "more", "mv", "nl", "notify-send", "patch", "pkill", "pgrep", "printf",
    "read", "readonly", "rg", "rm", "say", "sd", "sed", "set", "sha256sum", "sort", "sqlite3", "stat",
    "tail", "tee", "test", "touch", "tr", "true", "type", "typeset", "uniq", "unset", "wc", "which", "xclip",
    "yq",
];
/// Programs whose code is a word or their input.
const INTERPRETERS: &[&str] = &[
    "bun", "deno", "elixir", "ghci", "groovy", "irb", "julia", "jshell", "lua", "node", "osascript", "perl",
    "php", "pwsh", "python", "r", "rscript", "ruby", "scala", "tclsh", "ts-node", "tsx",
];
/// For these programs, a word without a scheme is a URL too.
const BARE: &[&str] = &["curl", "http", "https", "httpie", "wget", "xh"];
/// Package managers: after `config` or `set`, nothing is contacted yet.
const MANAGERS: &[&str] =
    &["bun", "bundle", "composer", "conda", "gem", "npm", "pip", "pip3", "pnpm", "poetry", "uv", "yarn"];
const SETTINGS: &[&str] = &["config", "pkg", "set"];
/// Git verbs that contact a remote named in the line.
const GIT: &[&str] = &["archive", "clone", "fetch", "lfs", "ls-remote", "pull", "push", "submodule", "svn"];
/// Letters of `curl` and `wget` that take the next word as a value, which is not contacted.
const VALUED: &[(&str, &str)] = &[("curl", "AbcCdDeEFHKmoPQrtTuUwXyYz"), ("wget", "aBDeiIloOPQRtTUwX")];
/// Long options of `curl` and `wget` without a value, or with one that is contacted; all others take one that
/// is not.
const ALONE: &[&str] = &[
    "--compressed",
    "--doh-url",
    "--fail",
    "--fail-with-body",
    "--get",
    "--head",
    "--http1.1",
    "--http2",
    "--http2-prior-knowledge",
    "--include",
    "--insecure",
    "--ipv4",
    "--ipv6",
    "--location",
    "--no-check-certificate",
    "--no-progress-meter",
    "--no-verbose",
    "--preproxy",
    "--progress-bar",
    "--proxy",
    "--quiet",
    "--remote-header-name",
    "--remote-name",
    "--show-error",
    "--silent",
    "--socks4",
    "--socks4a",
    "--socks5",
    "--socks5-hostname",
    "--spider",
    "--url",
    "--verbose",
];
/// Clients of one server: the options for its name and port, and the usual port.
const CLIENTS: &[(&[&str], &str, &str, u16)] = &[
    (
        &[
            "createdb", "dropdb", "pg_basebackup", "pg_dump", "pg_dumpall", "pg_isready", "pg_restore",
            "pgbench", "psql",
        ],
        "-h --host",
        "-p --port",
        5432,
    ),
    (&["mariadb", "mariadb-dump", "mysql", "mysqladmin", "mysqldump"], "-h --host", "-P --port", 3306),
    (&["redis-cli", "valkey-cli"], "-h", "-p", 6379),
    (&["mongo", "mongodump", "mongorestore", "mongosh"], "-h --host", "-p --port", 27017),
    (&["clickhouse", "clickhouse-client"], "-h --host", "--port", 9000),
    (&["ldapmodify", "ldapsearch"], "-h", "-p", 389),
    (&["openssl"], "-connect -proxy", "-port", 443),
    (&["gpg", "gpg2"], "--keyserver", "--port", 11371),
    (&["mosquitto_pub", "mosquitto_sub"], "-h --host", "-p --port", 1883),
];
/// Programs whose operand is a host, perhaps with its port behind it, and the usual port.
const BY_NAME: &[(&str, u16)] = &[
    ("cqlsh", 9042),
    ("ftp", 21),
    ("grpcurl", 443),
    ("lftp", 21),
    ("ncftp", 21),
    ("nmap", 443),
    ("ssh-keyscan", 22),
    ("whois", 43),
];
/// Verbs of container programs that contact a registry.
const IMAGES: &[&str] = &["copy", "create", "inspect", "login", "manifest", "pull", "push", "run"];

/// The hosts that the commands of this line name, each once.
pub fn named(line: &Line) -> Vec<Host> {
    let mut all = Vec::new();
    for simple in line.commands.iter().filter(|simple| !simple.function) {
        for host in of_command(simple) {
            if !is_own(&host.name) && !all.contains(&host) {
                all.push(host);
            }
        }
    }
    all
}

/// Whether it is this machine or an IP address; only host names are judged. What the line does not say is no
/// host either.
fn is_own(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let address = last.starts_with(|c: char| c.is_ascii_digit()) || name.contains([':', '[']);
    address || last == "localhost" || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn of_command(simple: &Simple) -> Vec<Host> {
    let files = simple.writes.iter().chain(&simple.words);
    let mut hosts: Vec<Host> = files.filter_map(|word| of_device(&word.lossy())).collect();
    let Some(name) = simple.name() else { return hosts };
    let words: Vec<String> = simple.words.iter().skip(1).map(Word::lossy).collect();
    // `python3.12` is `python`.
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_ascii_lowercase();
    let is_manager = MANAGERS.contains(&name);
    if name == "git" {
        hosts.extend(of_git(&simple.words[1..]));
    } else if !TEXT.contains(&name) {
        let first = words.iter().find(|word| !word.starts_with('-'));
        if !is_manager || !first.is_some_and(|word| SETTINGS.contains(&word.as_str())) {
            hosts.extend(of_words(name, &words));
        }
        if INTERPRETERS.contains(&bare.as_str()) {
            hosts.extend(words.iter().map(String::as_str).chain(simple.script.as_deref()).flat_map(of_text));
        }
        // `DATABASE_URL=postgres://a.test/x ./migrate`
        hosts.extend(simple.values.iter().filter_map(|value| of_url(&value.lossy())));
    }
    hosts
}

fn of_words(name: &str, words: &[String]) -> Vec<Host> {
    let mut hosts = of_downloader(name, words);
    match name {
        "ssh" | "sftp" | "mosh" | "autossh" | "ssh-copy-id" | "sshfs" => hosts.extend(of_login(words)),
        "scp" | "rsync" => hosts.extend(words.iter().filter_map(|word| of_copy(word, true))),
        "nc" | "ncat" | "netcat" | "telnet" => hosts.extend(of_pair(words, 23)),
        "socat" => hosts.extend(words.iter().filter_map(|word| of_socat(word))),
        "docker" | "podman" | "nerdctl" | "buildah" | "skopeo" | "crane" => hosts.extend(of_image(words)),
        "go" => hosts.extend(words.iter().skip(1).filter_map(|word| of_module(&words[0], word))),
        "dig" => hosts.extend(words.iter().filter_map(|word| of_authority(word.strip_prefix('@')?, 53))),
        _ if MANAGERS.contains(&name) => {
            // `git@a.test:x`, but not `test.js:3` or `x@npm:y`.
            let is_login = |word: &&String| {
                let login = word.split_once(':').and_then(|(login, _)| login.split_once('@'));
                login.is_some_and(|(_, host)| host.contains('.'))
            };
            hosts.extend(words.iter().filter(is_login).filter_map(|word| of_copy(word, false)));
        }
        _ => {
            let client = CLIENTS.iter().find(|(names, ..)| names.contains(&name));
            hosts.extend(client.and_then(|(_, host, port, usual)| of_client(words, (host, port), *usual)));
            let by_name = BY_NAME.iter().find(|(known, _)| *known == name);
            hosts.extend(by_name.and_then(|(_, usual)| of_pair(words, *usual)));
        }
    }
    hosts
}

/// `/dev/tcp/a.test/80`, which the shell connects to.
fn of_device(word: &str) -> Option<Host> {
    let (name, port) = word.strip_prefix("/dev/tcp/")?.split_once('/')?;
    Some(Host { name: name.to_ascii_lowercase(), port: port.parse().ok()? })
}

fn of_git(words: &[Word]) -> Vec<Host> {
    let (_, _, rest) = before_verb(words);
    let Some((verb, rest)) = rest.split_first().map(|(verb, rest)| (verb.lossy(), rest)) else {
        return Vec::new();
    };
    let words: Vec<String> = rest.iter().map(Word::lossy).collect();
    let fetches = || {
        words.first().is_some_and(|word| word == "add")
            && words.iter().any(|word| word == "-f" || word == "--fetch")
    };
    let names_host = GIT.contains(&verb.as_str()) || verb == "remote" && fetches();
    if !names_host {
        return Vec::new();
    }
    // A refspec has a colon too, but a clone has none.
    let any = verb == "clone";
    let value = |word: &str| word.split_once('=').map(|(_, value)| value.to_owned());
    let of = |word: &String| {
        let word = if word.starts_with('-') { value(word)? } else { word.clone() };
        of_url(&word).or_else(|| of_copy(&word, any))
    };
    words.iter().filter_map(of).collect()
}

/// The URLs among these words; for some programs, every operand.
fn of_downloader(name: &str, words: &[String]) -> Vec<Host> {
    let mut hosts = Vec::new();
    let mut is_value = false;
    for word in words {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word.starts_with('-') {
            is_value = takes_value(name, word);
            // `--index-url=https://…`, `-Drepository=id::https://…`
            hosts.extend(word.split_once('=').map(|(_, value)| of_text(value)).unwrap_or_default());
            // `-xproxy.test:3128`
            let proxy = word.strip_prefix("-x").filter(|proxy| name == "curl" && !proxy.is_empty());
            hosts.extend(proxy.and_then(|proxy| of_url(proxy).or_else(|| of_authority(proxy, 1080))));
            continue;
        }
        let bare = || {
            let looks_like_host = word.split(['/', ':']).next().is_some_and(|host| host.contains('.'));
            let plain = BARE.contains(&name) && looks_like_host && !word.starts_with(['.', '/', '@']);
            if plain { of_authority(word, 80) } else { None }
        };
        // `name=https://…` of a tool, `package @ git+https://…`
        let value = || word.split(['=', '@', ' ']).find_map(of_url);
        hosts.extend(of_url(word).or_else(value).or_else(bare));
    }
    hosts
}

/// Whether the next word is the value of this option, and so not contacted.
fn takes_value(name: &str, option: &str) -> bool {
    let Some((_, letters)) = VALUED.iter().find(|(known, _)| *known == name) else { return false };
    match option.strip_prefix("--") {
        Some(long) => !long.contains('=') && !ALONE.contains(&option) && !option.starts_with("--no-"),
        None => {
            option.chars().skip(1).position(|letter| letters.contains(letter))
                == Some(option.chars().count() - 2)
        }
    }
}

/// `user@host:path`, the form that scp, rsync and git accept. `any`: a name without dots is a host as well.
fn of_copy(word: &str, any: bool) -> Option<Host> {
    let (host, path) =
        word.split_once(':').filter(|(host, path)| !host.contains('/') && !path.starts_with("//"))?;
    let named = (any || host.contains(['@', '.'])) && !host.starts_with('-') && !host.is_empty();
    // `rsync host::module`
    let usual = if path.starts_with(':') { 873 } else { 22 };
    if named { of_authority(host, usual) } else { None }
}

/// `ssh -p 2222 -J jump user@host …`
fn of_login(words: &[String]) -> Vec<Host> {
    const VALUED: &str = "bcDEeFIiJLlmOoQRSWw";
    let mut hosts = Vec::new();
    let mut port = 22;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-') else {
            let host = if word.contains("://") {
                of_url(word)
            } else {
                word.split(':').next().and_then(|host| of_authority(host, port))
            };
            hosts.extend(host);
            break;
        };
        let jumps = |text: &str| text.split(',').filter_map(|one| of_authority(one, 22)).collect::<Vec<_>>();
        match letters {
            "p" | "P" => port = words.next().and_then(|word| word.parse().ok()).unwrap_or(port),
            "J" => hosts.extend(words.next().map(|word| jumps(word)).unwrap_or_default()),
            "o" => {
                let jump = words.next().and_then(|word| word.strip_prefix("ProxyJump="));
                hosts.extend(jump.map(jumps).unwrap_or_default());
            }
            _ if letters.chars().next_back().is_some_and(|last| VALUED.contains(last)) => drop(words.next()),
            _ => {}
        }
    }
    hosts
}

/// `nc host 443`
fn of_pair(words: &[String], usual: u16) -> Option<Host> {
    let listens =
        words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('l'));
    let operands: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-') && !word.contains("://"))
        .collect();
    match operands[..] {
        _ if listens => None,
        [.., name, port] if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(Host { name: name.to_ascii_lowercase(), port: port.parse().ok()? })
        }
        [.., name] if name.contains('.') && !name.contains('/') => of_authority(name, usual),
        _ => None,
    }
}

/// `TCP4:host:443`
fn of_socat(word: &str) -> Option<Host> {
    let (kind, rest) = word.split_once(':')?;
    let kind = kind.to_ascii_lowercase();
    let goes_out =
        ["tcp", "openssl", "ssl", "socks", "proxy", "sctp"].iter().any(|begin| kind.starts_with(begin));
    let (name, rest) = rest.split_once(':').filter(|_| goes_out && !kind.contains("listen"))?;
    let port = rest.split([',', ':']).next()?.parse().ok()?;
    Some(Host { name: name.to_ascii_lowercase(), port })
}

/// `-h host -p 5432`, `--host=host`, `-hhost`, `host=host port=5432`
fn of_client(words: &[String], (host, port): (&str, &str), usual: u16) -> Option<Host> {
    let value = |options: &str, key: &str| {
        let mut found = None;
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            for option in options.split(' ') {
                let joined = word.strip_prefix(option).filter(|value| !value.is_empty());
                let joined =
                    if option.starts_with("--") { joined.and_then(|v| v.strip_prefix('=')) } else { joined };
                let joined = joined.filter(|_| option.len() == 2 || option.starts_with("--"));
                found = joined.map(str::to_owned).or(found);
                if word == option {
                    found = rest.next().cloned();
                    break;
                }
            }
            found =
                word.split_whitespace().find_map(|part| part.strip_prefix(key)).map(str::to_owned).or(found);
        }
        found
    };
    let name = value(host, "host=")?;
    let port = value(port, "port=").and_then(|port| port.parse().ok()).unwrap_or(usual);
    if name.contains("://") { of_url(&name) } else { of_authority(&name, port) }
}

/// The registry before an image's name: `registry.test:5000/x:1`; of `login` the word itself.
fn of_image(words: &[String]) -> Vec<Host> {
    let Some(verb) = words.iter().find(|word| IMAGES.contains(&word.as_str())) else { return Vec::new() };
    let named = |word: &&String| !word.starts_with(['-', '.', '/']) && !word.contains(['=', ' ']);
    let of = |word: &String| {
        let registry = match word.split_once('/') {
            Some((registry, _)) if !word.contains("://") => registry,
            None if verb == "login" => word,
            _ => return None,
        };
        let is_host = registry.contains('.') || registry.contains(':');
        if is_host { of_authority(registry, 443) } else { None }
    };
    words.iter().filter(named).filter_map(of).collect()
}

/// `go get a.test/x@latest`: the module's own host is asked where its proxy does not have it.
fn of_module(verb: &str, word: &str) -> Option<Host> {
    let is_fetched = matches!(verb, "get" | "install") || word.contains('@');
    let host =
        word.split(['/', '@']).next().filter(|host| host.contains('.') && !host.starts_with(['.', '-']))?;
    let is_module = word.contains('/') || word.contains('@');
    if is_fetched && is_module { of_authority(host, 443) } else { None }
}
