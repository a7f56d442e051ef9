//! Files that hold secrets, and commands that print, copy or send them.

use super::Search;
use super::call::{Call, may_be};
use super::masked::{self, is_secret_name};
use super::place::Place;
use crate::commands::given;
use crate::syntax::{Bit, Simple, Word, globbed};
use std::rc::Rc;

/// File names that are secret in any folder.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    ".dev.vars", ".env", ".envrc", ".git-credentials", ".htpasswd", ".my.cnf", ".netrc", ".npmrc", ".pgpass", ".pypirc", ".s3cfg",
    ".vault-token", "_netrc", ".boto", "application_default_credentials.json", "auth.json", "client_secret.json",
    "credentials", "credentials.csv", "credentials.db", "credentials.json", "credentials.toml", "credentials.yaml",
    "credentials.yml", "deploy_key", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "id_xmss", "kubeconfig", "login data",
    "logins.json", "master.key", "private.key", "secret.json", "secret.yaml", "secret.yml", "secrets.env", "secrets.json",
    "secrets.toml", "secrets.yaml", "secrets.yml", "secrets.enc.yaml", "token.json", "wallet.dat", "rclone.conf",
    ".dockercfg", ".secret", ".secrets", ".vault_pass", ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", "key4.db", "shadow-",
];
/// Endings of names; some certificates and public keys share them.
const ENDS: &[&str] = &[
    ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".pkcs12", ".tfvars", ".ovpn",
    ".p8",
];
/// Endings of files that hold a private key, whatever else their name says.
const PRIVATE_ENDS: &[&str] = &[".p12", ".pfx", ".pkcs12", ".jks", ".keystore", ".kdbx", ".ppk"];
const PUBLIC: &[&str] =
    &["cert", "chain", "public", "pub.", "ca.", "ca-", "root", "example", "sample", "dhparam", "test"];
/// Endings of paths.
#[rustfmt::skip]
const PATHS: &[&str] = &[
    "/.docker/config.json", "/.kube/config", "/.config/gh/hosts.yml", "/.aws/config", "/.cargo/credentials.toml",
    "/.m2/settings.xml", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/master.passwd", "/.gem/credentials",
    "/.config/hub", "/.terraform.d/credentials.tfrc.json", "/.composer/auth.json", "/.ssh/config.secret",
    "/etc/krb5.keytab", "/etc/kubernetes/admin.conf", "/.config/pypoetry/auth.toml", "/.config/glab-cli/config.yml", "/.claude/.credentials.json", "/.codex/auth.json",
];
/// Folders that hold only secrets, and the files in them that are not secret.
#[rustfmt::skip]
const FOLDERS: &[&str] = &[
    "/.ssh/", "/.gnupg/", "/.aws/", "/.azure/", "/.config/gcloud/", "/.kube/cache/", "/.password-store/",
    "/library/keychains/", "/.local/share/keyrings/", "/.config/op/", "/etc/ssl/private/", "/run/secrets/",
    "/etc/sudoers.d/", "/aops/keys/", "/.claude/checkpoints/",
];
const PLAIN: &[&str] = &[
    "known_hosts", "known_hosts.old", "authorized_keys", "config", "gpg.conf", "gpg-agent.conf", ".pub",
    ".md",
];

/// Folders whose name says that they hold keys.
const KEY_FOLDERS: &[&str] = &["certs", "/.ssh", "/.gnupg", "/.aws", "secrets", "private-keys"];
/// Commands that print the whole environment, or the history of typed commands.
pub(super) const DUMPS: &[&str] = &["env", "printenv", "set", "export", "declare", "history"];

/// Whether this path is a file of secrets, judged by its name alone.
pub fn is_secret(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    if path.len() > 4096 || !path.contains(['.', '/', '_', 'c', 's']) {
        return false;
    }
    let lower = format!("/{}", path.trim_start_matches("./").trim_start_matches('/').to_lowercase());
    let name = lower.rsplit('/').next().unwrap_or_default();
    if let Some(kind) = name.strip_prefix(".env.").or_else(|| name.strip_prefix(".env-")) {
        return !is_model(kind);
    }
    let named = NAMES.contains(&name) && !in_code(&lower, name);
    let is_private = PRIVATE_ENDS.iter().any(|end| name.ends_with(end));
    let is_tried = ["example", "sample", "test"].iter().any(|part| name.contains(part));
    let public = if is_private { is_tried } else { PUBLIC.iter().any(|part| name.contains(part)) };
    let tried = lower
        .split('/')
        .any(|part| matches!(part, "test" | "tests" | "fixtures" | "testdata" | "__fixtures__" | "mocks"));
    let ends = !tried && ENDS.iter().any(|end| name.ends_with(end) && name.len() > end.len()) && !public;
    let (stem, kind) = name.rsplit_once('.').unwrap_or((name, ""));
    let by_name = tells(stem, kind) && !tried && !is_model(stem);
    let folder = |folder: &&str| lower.contains(*folder) || format!("{lower}/").ends_with(folder);
    let plain = PLAIN.iter().any(|end| name == *end || end.starts_with('.') && name.ends_with(end));
    let aws = lower.contains("/.aws/") && name == "config";
    let dotted = kind == "env" && !stem.is_empty() && !is_model(stem);
    let process = lower.starts_with("/proc/") && name == "environ";
    named
        || ends
        || by_name
        || dotted
        || process
        || aws
        || PATHS.iter().any(|end| lower.ends_with(end))
        || FOLDERS.iter().any(folder) && !plain
}

/// Whether a settings file's name says that it holds secrets: `gcp-credentials.json`, `secrets.properties`,
/// `id_rsa.bak`.
fn tells(stem: &str, kind: &str) -> bool {
    const SETTINGS: &[&str] = &["json", "yml", "yaml", "toml", "ini", "properties", "cfg", "conf", "csv"];
    const HOLDS: &[&str] =
        &["credentials", "service-account", "service_account", "serviceaccount", "adminsdk", "client_secret"];
    let parts = || stem.split(['.', '-', '_']);
    let holds = HOLDS.iter().any(|word| stem.contains(word))
        || parts().any(|part| matches!(part, "secrets" | "passwords"));
    let key = ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"].iter().any(|name| stem.starts_with(name));
    let kept = matches!(kind, "bak" | "old" | "backup" | "orig" | "txt");
    holds && SETTINGS.contains(&kind) || key && kept || stem.ends_with("_rsa") && kind.is_empty()
}

/// `.env.example` and similar files hold no values.
fn is_model(kind: &str) -> bool {
    const MODELS: &[&str] = &[
        "example", "sample", "template", "dist", "defaults", "default", "schema", "tpl", "tmpl", "d.ts",
        "vault",
    ];
    MODELS.iter().any(|model| kind.split(['.', '-', '_']).any(|part| part == *model) || kind == *model)
}

/// Source code such as `src/auth/credentials`, and `aws credentials` in plain text, are not files of secrets.
fn in_code(path: &str, name: &str) -> bool {
    name == "credentials" && !path.contains("/.")
}

/// The paths a word may name; what is glued to `@`, `=` or `:` counts too.
fn names(word: &Word) -> Vec<String> {
    let text = word.lossy();
    let text = text.strip_prefix("file://").unwrap_or(&text);
    let mut all = vec![text.to_owned()];
    for sign in ['@', '=', ':'] {
        if let Some((_, rest)) = text.rsplit_once(sign) {
            let rest = rest.split(',').next().unwrap_or_default();
            all.push(rest.trim_matches(['"', '\'', ';', '<']).to_owned());
        }
    }
    all
}

fn holds_secret(word: &Word) -> bool {
    // Text with brackets, blanks or a scheme is a pattern of another kind or a URL, not a file name.
    let bare = |text: &String| !text.contains(['(', ')', '{', ' ']) && !text.starts_with("http");
    names(word).iter().filter(|text| bare(text)).any(|text| may_be_secret(&text.replace('…', "")))
}

/// Whether a path is a file of secrets, or a pattern that matches one: `.env*` may match `.env`, and `*.pem`
/// matches any key.
pub fn may_be_secret(path: &str) -> bool {
    let filled = |with: &str| is_secret(&path.replace(['*', '?'], with));
    is_secret(path) || path.contains(['*', '?']) && (filled("") || filled("x"))
}

/// Whether a file is secret because of its folder, whatever its name.
fn is_placed(path: &str) -> bool {
    let lower = path.to_lowercase();
    let (folder, name) = lower.rsplit_once('/').unwrap_or_default();
    let beside =
        PATHS.iter().any(|end| end.rsplit_once('/').is_some_and(|(parent, _)| folder.ends_with(parent)));
    let plain = PLAIN.iter().any(|end| name == *end || end.starts_with('.') && name.ends_with(end));
    PATHS.iter().any(|end| lower.ends_with(end))
        || beside && name == "*"
        || FOLDERS.iter().any(|folder| lower.contains(folder)) && !plain
}

/// Whether it names a secret file, seen from one of the folders that the command may run in.
fn is_held(simple: &Simple, word: &Word) -> bool {
    let texts =
        names(word).into_iter().filter(|text| !text.is_empty() && !text.contains(['(', ')', '{', ' ']));
    let texts: Vec<Word> = texts
        .map(|text| Word::of(&text))
        .filter(|text| !text.is_option() && !text.starts_with("/"))
        .collect();
    simple
        .folders
        .iter()
        .any(|folder| texts.iter().any(|text| is_placed(&text.from_folder(folder).tidied().lossy())))
}

/// Whether a word of this command, or what its substitutions name, is a file of secrets.
pub(crate) fn names_secret(simple: &Simple, word: &Word) -> bool {
    let holds = |word: &Word| holds_secret(word) || is_held(simple, word);
    holds(word) || word.named.iter().any(holds)
}

/// Whether a pattern really matches a file of secrets. If there are too many to look at, it counts if it
/// could match the name of one. A search through everything is not a pattern of names.
fn finds(place: &Place, around: &[Rc<Simple>], simple: &Simple, word: &Word) -> bool {
    let Some(disk) = place.disk else { return false };
    let is_sign = |bit: &Bit| matches!(bit, Bit::Star | Bit::One);
    let last = word.last_bits();
    let is_deep = word.bits.windows(2).any(|pair| pair == [Bit::Star, Bit::Star]);
    let is_all = is_deep && last.iter().all(|bit| *bit == Bit::Star);
    if is_all || word.is_option() || word.bits.contains(&Bit::Any) || !word.bits.iter().any(is_sign) {
        return false;
    }
    let sets = |simple: &Rc<Simple>| {
        let globs = simple.name() == Some("shopt") && simple.words.iter().any(|word| word.is("dotglob"));
        globs || simple.assigned.iter().any(|name| name == "GLOBIGNORE")
    };
    let with_hidden = around.iter().any(sets);
    let could_be = || last.len() > LONGEST_PATTERN || NAMES.iter().any(|name| may_be(last, name));
    let is_found = |folder: &Word| {
        let pattern = word.from_folder(folder).tidied();
        let found = if pattern.bits.contains(&Bit::Any) { None } else { (disk.find)(&pattern, with_hidden) };
        found.map_or_else(could_be, |found| found.iter().any(|path| is_secret(path)))
    };
    simple.folders.iter().any(is_found)
}

/// A longer pattern is not tried against each name.
const LONGEST_PATTERN: usize = 64;

/// Adds the rule if one of these words names a secret file.
pub(super) fn named<'w>(
    search: &mut Search,
    simple: &Simple,
    words: impl IntoIterator<Item = &'w Word>,
    id: &'static str,
) {
    if simple.exported {
        return;
    }
    // What a network tool names may be a host (`ssh host`), so the folder alone does not make it a secret
    // file.
    let held = |word: &Word| id == "secret-file" && is_held(simple, word);
    let place = *search.place;
    let around = &search.around;
    let holds = |word: &Word| holds_secret(word) || held(word) || finds(&place, around, simple, word);
    let mut found = words.into_iter().filter(|word| holds(word) || word.named.iter().any(holds)).peekable();
    let masked = |word: &Word| {
        let mut inside = word.named.iter().filter(|word| holds(word));
        masked::goes_through(&search.around, simple, word)
            || !holds(word) && inside.all(|file| masked::is_masked_inside(&search.around, word, file))
    };
    if found.peek().is_none() || id == "secret-file" && found.all(masked) {
        return;
    }
    if id == "secret-file" && simple.captured {
        search.captured.push(simple.clone());
    } else {
        search.add(id, simple);
    }
}

/// A program that prints or changes the files it names.
pub(super) fn reads(search: &mut Search, call: &Call) {
    let searches = matches!(
        call.name,
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "sed" | "awk" | "gawk" | "jq" | "yq"
    );
    let sends = call.texts.first().is_some_and(|verb| verb == "s_client");
    if call.name == "openssl" && sends && call.simple.arriving.iter().any(holds_secret) {
        search.add("secret-send", call.simple);
    }
    if call.name == "openssl" {
        let shows = call.texts.first().is_some_and(|verb| {
            matches!(verb.as_str(), "rsa" | "pkey" | "ec" | "dsa" | "pkcs8" | "pkcs12" | "enc" | "base64")
        });
        let read: Vec<&Word> = call.values(&["-in"]).filter(|_| shows).collect();
        return named(search, call.simple, read, "secret-file");
    }
    let dumps = |name: &Rc<str>| DUMPS.contains(&&**name);
    let asked = |text: &String| {
        !text.starts_with('-') && is_secret_name(&text.to_uppercase().replace(['^', '.', '*', '|'], "_"))
    };
    let leaves_out = call.has(&["-v", "--invert-match"]) && call.name.ends_with("grep");
    if searches && call.simple.fed.iter().any(dumps) && call.texts.iter().any(asked) && !leaves_out {
        search.add("secret-print", call.simple);
    }
    if matches!(call.name, "grep" | "rg" | "ag") {
        let patterns = given(call.words, &["--include", "--glob", "-g"]);
        let shown: Vec<Word> = patterns.iter().filter(|word| !word.starts_with("!")).map(globbed).collect();
        named(search, call.simple, &shown, "secret-file");
    }
    let explicit = call.has(&["-e", "-f", "--regexp"]);
    let operands = call.operands();
    // The first operand is the pattern or the program.
    let skipped = usize::from(searches && !explicit && operands.len() > 1);
    let quiet =
        call.has(&["-q", "--quiet", "-c", "-l"]) && searches && call.name != "sed" && call.name != "awk";
    let only = searches && !explicit && operands.len() == 1;
    if !quiet && !only {
        let read = operands.into_iter().skip(skipped).map(|(_, word)| word);
        named(search, call.simple, read.filter(|word| !masked::masks(call, word)), "secret-file");
    }
}

/// A network tool: it sends the files it names and its input.
pub(super) fn sends(search: &mut Search, call: &Call) {
    // The identity file of a connection stays on this machine.
    let identity = |at: usize| {
        at > 0 && matches!(call.texts[at - 1].as_str(), "-i" | "-F" | "--key" | "--cert" | "--cacert" | "-E")
    };
    let upload = |at: usize| {
        let form = at > 0
            && matches!(call.texts[at - 1].as_str(), "-F" | "--form")
            && call.texts[at].contains(['@', '<']);
        form || !identity(at)
    };
    let copies = matches!(call.name, "scp" | "rsync" | "sftp");
    let words: Vec<&Word> =
        call.words.iter().enumerate().filter(|(at, _)| upload(*at)).map(|(_, word)| word).collect();
    // `scp host:.env .` fetches a file.
    let words = words.into_iter().filter(|word| !(copies && word.lossy().contains(':')));
    let words: Vec<&Word> = words.filter(|word| !is_address(&word.lossy())).collect();
    if words.iter().any(|word| names(word).iter().any(|name| name == "/etc/passwd")) && !copies {
        search.add("secret-send", call.simple);
    }
    let looks = call.simple.fed.iter().any(|name| matches!(&**name, "grep" | "rg" | "ag" | "ack"));
    if looks
        && call
            .simple
            .arriving
            .iter()
            .any(|word| word.starts_with("AKIA") || word.lossy().contains("PRIVATE KEY"))
    {
        search.add("secret-send", call.simple);
    }
    let keys = |word: &&Word| {
        KEY_FOLDERS
            .iter()
            .any(|name| word.lossy().trim_end_matches("/*").trim_end_matches('/').ends_with(name))
    };
    if words.iter().copied().chain(&call.simple.arriving).any(|word| keys(&word)) {
        search.add("secret-send", call.simple);
    }
    let files = ["-T", "--upload-file", "--post-file", "--body-file", "-a", "-A", "--attach"];
    let is_file = |word: &&Word| {
        let at = call.words.iter().position(|known| std::ptr::eq(known, *word)).unwrap_or_default();
        copies || word.lossy().contains(['@', '<']) || at > 0 && files.contains(&call.texts[at - 1].as_str())
    };
    if words.iter().copied().filter(is_file).any(|word| is_held(call.simple, word)) {
        search.add("secret-send", call.simple);
    }
    named(search, call.simple, words, "secret-send");
    // `lftp -e 'put .env; bye'`
    let puts = |text: &String| {
        text.contains("put ")
            && text.split([' ', ';', '"', '\'']).any(|part| !part.is_empty() && is_secret(part))
    };
    if matches!(call.name, "lftp" | "smbclient" | "ftp" | "sftp") && call.texts.iter().any(puts) {
        search.add("secret-send", call.simple);
    }
    let dumps = |name: &Rc<str>| DUMPS.contains(&&**name);
    let given = call.words.iter().any(|word| word.printed.iter().any(dumps));
    if call.simple.fed.iter().any(dumps) || given {
        search.add("secret-send", call.simple);
    }
    if call.simple.arriving.iter().any(|word| holds_secret(word) || is_held(call.simple, word)) {
        search.add("secret-send", call.simple);
    }
    let glued = |word: &&Word| GLUED_DATA.iter().any(|option| word.starts_with(option));
    let sent = call.values(DATA).chain(call.words.iter().filter(glued)).any(holds_variable);
    // `curl --variable %TOKEN`: the variable is part of what is sent.
    let taken = |word: &Word| {
        let text = word.lossy();
        let name = text.strip_prefix('%').and_then(|rest| rest.split(['=', '@', ':', '[']).next());
        name.is_some_and(is_secret_name)
    };
    let sent = sent || call.values(&["--variable"]).any(taken) || call.words.iter().any(is_host);
    if sent && matches!(call.name, "curl" | "wget") && !is_local(call) {
        search.add("secret-send", call.simple);
    }
}

/// Options with data that is sent.
const DATA: &[&str] = &[
    "-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "-F", "--form",
    "--form-string", "--url-query", "--post-data", "--body-data",
];
const GLUED_DATA: &[&str] = &["--data", "--json=", "--form", "--post-data=", "--body-data="];

/// Whether it holds a variable that is named like a secret.
pub(super) fn holds_variable(word: &Word) -> bool {
    word.unknown.iter().chain(&word.filled).any(|name| is_secret_name(name))
}

/// `https://$TOKEN.x.example`: a secret in the name of the host. Before `@` it says who asks.
fn is_host(word: &Word) -> bool {
    let text = word.lossy();
    let host = text.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    let host = host.map(|host| host.rsplit('@').next().unwrap_or_default());
    host.is_some_and(|host| host.contains('…') && host.contains('.'))
        && word.unknown.iter().all(|name| is_secret_name(name))
        && holds_variable(word)
}

/// Whether every address in the command is of this machine.
fn is_local(call: &Call) -> bool {
    let host = |text: &str| text.split_once("://").map_or(text, |(_, rest)| rest).to_owned();
    let here =
        |text: &str| ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"].iter().any(|name| text.starts_with(name));
    let mut named =
        call.texts.iter().filter(|text| is_address(text) || here(text)).map(|text| host(text)).peekable();
    named.peek().is_some() && named.all(|text| here(&text))
}

fn is_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://") || text.starts_with("ftp://")
}

/// A command with a secret file as its standard input: `python < .env`, `while read x; do …; done < .env`.
pub(super) fn arriving(search: &mut Search, simple: &Simple, name: &str) {
    const SILENT: &[&str] = &["wc", "read", "test", "true", "docker", "kubectl", "xargs", "source", "."];
    let masks = |word: &Word| !simple.words.is_empty() && masked::masks(&Call::new(name, simple), word);
    let shows = |word: &Word| word.unknown.iter().any(|name| is_secret_name(name));
    if simple.fed.is_empty() && FILTERS.contains(&name) && simple.arriving.iter().any(shows) {
        search.shown.push(simple.clone());
    }
    // `cat 3< .env <&3`
    let direct = simple.fed.iter().all(|name| &**name == "descriptor");
    if direct
        && !SILENT.contains(&name)
        && simple.arriving.iter().any(|word| {
            let found = || finds(search.place, &search.around, simple, word);
            (holds_secret(word) || is_held(simple, word) || found()) && !masks(word)
        })
    {
        search.add("secret-file", simple);
    }
}

/// Programs that print their input.
pub(super) const FILTERS: &[&str] = &[
    "awk", "base32", "base64", "bat", "cat", "column", "egrep", "fold", "gawk", "grep", "hexdump", "jq",
    "less", "more", "nl", "od", "rev", "sed", "tac", "tee", "tr", "xxd", "yq",
];
/// Programs that send their input.
pub(super) const SENDERS: &[&str] =
    &["curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "http", "https", "xh", "mail", "ssh"];
