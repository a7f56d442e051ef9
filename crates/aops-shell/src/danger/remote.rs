//! Programs that come from elsewhere (downloaded, decoded, or unknown) and are run at once.

use super::Search;
use super::call::{Call, is_unknown};
use crate::syntax::{Line, Simple, Word};
use std::rc::Rc;

pub(super) const DOWNLOADERS: &[&str] = &[
    "curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "links", "w3m", "nc", "ncat", "netcat",
    "lwp-request", "axel", "ftp", "tftp",
];
const DECODERS: &[&str] = &[
    "base64", "base32", "xxd", "openssl", "uudecode", "rev", "gunzip", "zcat", "gzip", "bunzip2", "xz",
    "gpg", "tr", "od", "hexdump",
];
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "yash", "rbash", "csh", "tcsh"];
/// Programs that print settings for the shell that started them.
#[rustfmt::skip]
const SETTINGS: &[&str] = &[
    "brew", "conda", "dircolors", "direnv", "docker-machine", "fnm", "fzf", "gpg-agent", "hub", "keychain", "lesspipe",
    "lesspipe.sh", "luarocks", "micromamba", "minikube", "mise", "nodenv", "opam", "pipx", "podman", "poetry", "pyenv",
    "rbenv", "register-python-argcomplete", "rtx", "scw", "ssh-agent", "starship", "tmux", "vault", "zoxide", "asdf",
    "atuin", "navi", "thefuck", "goenv", "jenv", "phpenv", "mcfly", "resize", "xmodmap", "setxkbmap", "cargo", "perl",
    "docker", "kubectl", "npm", "gh", "stack", "ghcup", "swiftenv", "tfenv", "volta", "lsof",
];

/// Whether one of these programs is among the known ones.
pub(super) fn any(names: &[Rc<str>], known: &[&str]) -> bool {
    names.iter().any(|name| known.contains(&&**name))
}

/// The rule for a program that is printed by these programs.
pub(super) fn by_source(names: &[Rc<str>]) -> &'static str {
    if any(names, DOWNLOADERS) {
        "remote-code"
    } else if any(names, DECODERS) {
        "decoded-code"
    } else {
        "unknown-code"
    }
}

/// The program after `-c` or a similar option.
fn as_words(search: &mut Search, call: &Call, at: usize, shell: bool) {
    let program = call.words.get(at + 1..).unwrap_or_default().iter().find(|word| !word.is_option());
    match program {
        Some(word) if is_unknown(word) => {
            // What `xargs` appends comes from the pipe.
            let from = if word.printed.is_empty() { &call.simple.fed } else { &word.printed };
            search.add(by_source(from), call.simple);
        }
        // `xargs` appends the program.
        None if shell && !call.simple.fed.is_empty() => search.add(by_source(&call.simple.fed), call.simple),
        _ => {}
    }
}

/// A shell or an interpreter whose program is not in the line: `curl … | sh`, `bash <(…)`, `sh -c "$x"`.
pub(super) fn interpreter(search: &mut Search, call: &Call) {
    // `bash -i >& /dev/tcp/…` is recognised by its redirection.
    let shell = SHELLS.contains(&call.name);
    let flags: &[&str] =
        if shell { &["-c"] } else { &["-c", "-e", "-E", "-r", "-p", "--eval", "--print", "-ne", "-pe"] };
    let given = call.texts.iter().position(|text| flags.contains(&text.as_str()) || shell && is_c(text));
    if let Some(at) = given.filter(|at| !is_of_script(call, *at, shell)) {
        return as_words(search, call, at, shell);
    }
    // `bash -n x.sh` only checks the syntax.
    if shell && call.has(&["-n"]) {
        return;
    }
    // `bash -euo pipefail`: the value of an option.
    let valued = |at: usize| {
        shell
            && at > 0
            && call.texts[at - 1].starts_with(['-', '+'])
            && call.texts[at - 1].ends_with(['o', 'O'])
    };
    let operand = call.operands().into_iter().find(|(at, _)| !valued(*at)).map(|(_, word)| word);
    if call.simple.arriving.iter().any(|word| word.starts_with("/dev/tcp/") || word.starts_with("/dev/udp/"))
    {
        search.add("remote-code", call.simple);
    }
    if shell && call.has(&["-x", "-v"]) {
        super::secret::named(search, call.simple, operand, "secret-file");
    }
    match operand {
        Some(word) if is_descriptor(word) => return search.add("unknown-code", call.simple),
        Some(word) if word.bits.len() == 1 && !word.printed.is_empty() && is_unknown(word) => {
            return search.add(by_source(&word.printed), call.simple);
        }
        // `xargs sh`: each line is a file or a program. `sh $x` runs a file, and so does `sh "$x"`.
        Some(word) if shell && is_unknown(word) && word.splits && word.unknown.is_empty() => {
            return search.add("unknown-code", call.simple);
        }
        Some(word) if !word.is("-") && !call.has(&["-s"]) => return,
        _ => {}
    }
    let module = !shell && call.has(&["-m"]);
    if !call.simple.fed.is_empty()
        && call.simple.script.is_none()
        && !module
        && !call.has(&["-V", "-v", "--version", "-h"])
    {
        search.add(by_source(&call.simple.fed), call.simple);
    }
}

/// Whether a file or module precedes this option, which then belongs to that program: `python3 train.py -c
/// "$config"`.
fn is_of_script(call: &Call, at: usize, shell: bool) -> bool {
    const VALUED: &[&str] =
        &["-W", "-X", "-I", "-r", "--require", "--import", "--loader", "--rcfile", "--init-file"];
    let value = |at: usize| {
        let before = if at > 0 { call.texts[at - 1].as_str() } else { "" };
        VALUED.contains(&before) || shell && before.starts_with(['-', '+']) && before.ends_with(['o', 'O'])
    };
    let module = |at: usize| !shell && call.texts[at] == "-m";
    (0..at).any(|at| module(at) || !call.texts[at].starts_with(['-', '+']) && !value(at))
}

/// `pip install git+https://…`, `npm i https://….tgz`, `deno run https://…`: downloaded code runs at once.
pub(super) fn installs(search: &mut Search, call: &Call) {
    if installs_from_elsewhere(call) {
        search.add("remote-code", call.simple);
    }
}

/// Whether a package is named by a URL instead of its name in a registry.
pub(super) fn installs_from_elsewhere(call: &Call) -> bool {
    const VERBS: &[&str] = &["install", "i", "add", "run", "dlx", "x", "exec", "create"];
    const SOURCES: &[&str] =
        &["http://", "https://", "git://", "ssh://", "github:", "gitlab:", "bitbucket:", "git@"];
    const PACKAGE: &[&str] = &["--from", "-p", "--package", "--with", "--spec"];
    const OTHER: &[&str] = &[
        "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--registry", "--proxy", "--index",
        "-c", "--constraint", "--default-index", "--cert", "--trusted-host",
    ];
    let is_source = |at: usize| {
        let text = call.texts[at].as_str();
        let value = at > 0 && OTHER.contains(&call.texts[at - 1].as_str());
        !value && (text.contains("git+") || SOURCES.iter().any(|source| text.starts_with(source)))
    };
    let verb = call.texts.iter().position(|text| VERBS.contains(&text.as_str()));
    let begin = match verb {
        _ if matches!(call.name, "npx" | "uvx" | "bunx" | "pnpx") => 0,
        Some(verb) if matches!(call.texts[verb].as_str(), "install" | "i" | "add") => {
            return (verb..call.texts.len()).any(is_source);
        }
        Some(verb) => verb + 1,
        None => return false,
    };
    // The first name is what is run; a URL after it is an argument: `npx wait-on http://localhost:3000`.
    let package = |at: &usize| {
        PACKAGE.contains(&call.texts[*at - 1].as_str()) || call.texts[*at].starts_with("--from=")
    };
    let operand = (begin..call.texts.len()).find(|at| !call.texts[*at].starts_with('-'));
    operand.is_some_and(is_source) || (begin.max(1)..call.texts.len()).filter(package).any(is_source)
}

/// `/dev/fd/3`, `/proc/self/fd/3`: the content comes from another command.
fn is_descriptor(word: &Word) -> bool {
    word.starts_with("/dev/fd/") || word.starts_with("/proc/") && word.lossy().contains("/fd/")
}

fn is_c(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.ends_with('c')
}

/// `eval "$x"`, `source <(curl …)`
pub(super) fn evaluated(search: &mut Search, call: &Call) {
    let printed: Vec<Rc<str>> = call.words.iter().flat_map(|word| word.printed.iter().cloned()).collect();
    let reads_file = call.name != "eval";
    if reads_file {
        if call.words.iter().any(is_descriptor) {
            search.add("unknown-code", call.simple);
        }
        if call.simple.arriving.iter().any(|word| word.starts_with("/dev/tcp/")) {
            search.add("remote-code", call.simple);
        }
        let fetched = any(&printed, DOWNLOADERS) || any(&printed, DECODERS);
        if fetched
            || call.words.iter().any(|word| word.is("/dev/stdin")) && any(&call.simple.fed, DOWNLOADERS)
        {
            search.add(by_source(&printed), call.simple);
        }
        return;
    }
    let unknown = call.words.iter().any(is_unknown);
    let settings = any(&printed, SETTINGS) || prints_settings(search, &printed);
    if unknown && (printed.is_empty() || !settings || any(&printed, DOWNLOADERS)) {
        search.add(by_source(&printed), call.simple);
    }
}

/// `eval "$(./app init zsh)"`: a program that is asked, by a verb, for settings of the shell.
fn prints_settings(search: &Search, printed: &[Rc<str>]) -> bool {
    #[rustfmt::skip]
    const VERBS: &[&str] = &[
        "activate", "completion", "completions", "env", "generate-shell-completion", "hook", "init", "shell-hook", "shell-init", "shellenv",
    ];
    // These print a file, or the output of another program.
    const OTHERS: &[&str] = &["awk", "cat", "echo", "git", "grep", "jq", "printf", "sed", "ssh", "docker"];
    let asked = |simple: &Rc<Simple>| {
        let runs =
            |name: &str| name.starts_with("python") || matches!(name, "node" | "perl" | "ruby" | "php");
        let program = simple
            .name()
            .is_some_and(|name| !OTHERS.contains(&name) && !runs(name) && !SHELLS.contains(&name));
        let verb = |word: &Word| VERBS.iter().any(|verb| word.is(verb));
        program && simple.words.iter().skip(1).take(3).any(verb)
    };
    let prints = |simple: &&Rc<Simple>| {
        simple.captured && simple.name().is_some_and(|name| printed.iter().any(|known| &**known == name))
    };
    let mut all = search.around.iter().filter(prints).peekable();
    all.peek().is_some() && all.all(asked)
}

/// A file that one command of this line downloads, decodes or writes, and another one runs.
pub(super) fn run_after_download(search: &mut Search, line: &Line) {
    let mut kept: Vec<(String, &'static str)> = Vec::new();
    let mut written: Vec<(String, String)> = Vec::new();
    let mut unpacked = None;
    for simple in &line.commands {
        let Some(name) = simple.name() else { continue };
        match unpacked {
            Some(from) if runs_unpacked(simple, name, from) => search.add("remote-code", simple),
            _ => unpacked = unpacked.or_else(|| unpacks(simple, name, &kept)),
        }
        if let Some(file) = runs(simple, name).filter(|_| !kept.is_empty() || !written.is_empty()) {
            if let Some((_, rule)) = kept.iter().find(|(kept, _)| *kept == file) {
                search.add(rule, simple);
            }
            for (_, text) in written.iter().filter(|(name, _)| *name == file) {
                search.text(text, simple);
            }
        }
        left(simple, name, &mut kept);
        if let Some(text) = says(simple, name) {
            written.extend(simple.writes.iter().map(|word| (word.last_part().lossy(), text.clone())));
        }
    }
}

/// How downloaded code arrived in a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Archive,
    Clone,
}

/// Whether it unpacks an earlier download, or fetches a repository.
fn unpacks(simple: &Simple, name: &str, kept: &[(String, &'static str)]) -> Option<From> {
    const UNPACKERS: &[&str] = &[
        "tar", "bsdtar", "gtar", "unzip", "7z", "7za", "unrar", "cpio", "gunzip", "xz", "unxz", "bunzip2",
        "zstd",
    ];
    let known = |word: &Word| kept.iter().any(|(known, _)| *known == word.last_part().lossy());
    if UNPACKERS.contains(&name) && (any(&simple.fed, DOWNLOADERS) || simple.words.iter().skip(1).any(known))
    {
        return Some(From::Archive);
    }
    let clones = name == "git" && simple.words.get(1).is_some_and(|word| word.is("clone"));
    clones.then_some(From::Clone)
}

/// Whether it runs a file, by its path or by an interpreter, that may have just been downloaded. For a cloned
/// repository only install and setup scripts count, not builds: whoever cloned it can look at those first.
fn runs_unpacked(simple: &Simple, name: &str, from: From) -> bool {
    let path = simple.words[0].lossy();
    let system = crate::syntax::SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder));
    let file = simple.words.iter().skip(1).find(|word| !word.is_option());
    let script = || file.is_some_and(|word| word.is_firm() && !word.starts_with("/usr"));
    let by_path = path.contains('/') && !system;
    let by_shell =
        (SHELLS.contains(&name) || name.starts_with("python") || matches!(name, "perl" | "ruby" | "node"))
            && script();
    let installs =
        |text: &str| ["install", "setup", "bootstrap", "init.sh"].iter().any(|word| text.contains(word));
    match from {
        From::Archive => {
            by_path || by_shell || name == "make" && simple.words.iter().any(|word| word.is("install"))
        }
        From::Clone => {
            by_path && installs(name)
                || by_shell
                    && SHELLS.contains(&name)
                    && file.is_some_and(|word| installs(&word.last_part().lossy()))
        }
    }
}

/// Adds the files that this command writes, if their content comes from elsewhere.
fn left(simple: &Simple, name: &str, kept: &mut Vec<(String, &'static str)>) {
    let operands: Vec<&Word> = simple.words.iter().skip(1).filter(|word| !word.is_option()).collect();
    let last = |word: &Word| word.last_part().lossy().rsplit(':').next().unwrap_or_default().to_owned();
    let names: Vec<String> = match name {
        _ if DOWNLOADERS.contains(&name) => downloads(simple),
        "rsync" | "scp" if operands.iter().rev().skip(1).any(|word| word.lossy().contains(':')) => {
            operands.iter().map(|word| last(word)).collect()
        }
        "tee" => operands.iter().map(|word| last(word)).collect(),
        _ => simple.writes.iter().map(last).collect(),
    };
    let fetched =
        DOWNLOADERS.contains(&name) || matches!(name, "rsync" | "scp") || any(&simple.fed, DOWNLOADERS);
    let decoders = ["base64", "base32", "xxd", "uudecode"];
    let decoded = decoders.contains(&name) || any(&simple.fed, &decoders);
    let moved =
        operands.split_last().filter(|_| matches!(name, "mv" | "cp" | "install" | "ln" | "link" | "rsync"));
    let from = moved.and_then(|(to, from)| {
        let (_, rule) = kept.iter().find(|(known, _)| from.iter().any(|word| last(word) == *known))?;
        Some((last(to), *rule))
    });
    kept.extend(from);
    if fetched || decoded {
        let rule = if fetched { "remote-code" } else { "decoded-code" };
        kept.extend(names.into_iter().map(|name| (name, rule)));
    }
}

/// The program text that this command writes, if the line contains it.
fn says(simple: &Simple, name: &str) -> Option<String> {
    match name {
        _ if simple.writes.is_empty() => None,
        "echo" | "printf" => Some(simple.words.iter().skip(1).map(Word::lossy).collect::<Vec<_>>().join(" ")),
        "cat" => simple.script.clone(),
        _ => None,
    }
}

/// The names of the files that this download saves.
fn downloads(simple: &Simple) -> Vec<String> {
    let texts: Vec<String> = simple.words.iter().map(Word::lossy).collect();
    let last = |text: &str| {
        text.split(['?', '#']).next().unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned()
    };
    let named =
        texts.windows(2).filter(|pair| matches!(pair[0].as_str(), "-o" | "--output" | "--output-document"));
    let mut all: Vec<String> = named.map(|pair| last(&pair[1])).collect();
    let wget = texts
        .windows(2)
        .filter(|pair| pair[0].starts_with('-') && pair[0].ends_with('O') && texts[0].ends_with("wget"));
    all.extend(wget.map(|pair| last(&pair[1])));
    all.extend(
        texts
            .iter()
            .filter_map(|text| text.strip_prefix("-o").or_else(|| text.strip_prefix("--output=")))
            .map(last),
    );
    // `curl -fsSLo file address`
    let bundled = texts
        .windows(2)
        .filter(|pair| pair[0].starts_with('-') && !pair[0].starts_with("--") && pair[0].ends_with('o'));
    all.extend(bundled.map(|pair| last(&pair[1])));
    all.extend(
        texts.iter().skip(1).filter(|text| text.contains("://") || text.contains('.')).map(|text| last(text)),
    );
    all.extend(simple.writes.iter().map(|word| last(&word.lossy())));
    all.retain(|name| !name.is_empty() && name != "-" && name != "null");
    all
}

/// The name of the file that this command runs.
fn runs(simple: &Simple, name: &str) -> Option<String> {
    let path = simple.words[0].lossy();
    if path.contains('/') {
        return Some(name.to_owned());
    }
    let interpreted = SHELLS.contains(&name)
        || matches!(
            name,
            "pwsh" | "powershell" | "source" | "." | "node" | "perl" | "ruby" | "php" | "deno" | "bun"
        );
    let installs = matches!(name, "dpkg" | "rpm" | "installer");
    if !(interpreted || installs || name.starts_with("python")) {
        return None;
    }
    let file = simple.words.iter().skip(1).find(|word| !word.is_option())?;
    Some(file.last_part().lossy())
}

/// Ports of search engines, time series databases and key stores.
#[rustfmt::skip]
const STORES: &[&str] = &[
    ":9200", ":9201", ":9090", ":5984", ":8086", ":7700", ":8529", ":15672", ":8001", ":8500", ":2379", ":6333",
    ":19200", ":8080/api/v1/namespaces",
];

/// Whether the address is another machine's, or a local one that serves data.
pub(super) fn is_addressed_away(call: &Call) -> bool {
    let is_here = |text: &String| {
        let rest = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
        let here = ["localhost", "127.", "0.0.0.0", "[::1]", ":", "host.docker.internal"]
            .iter()
            .any(|host| rest.starts_with(host));
        here && !STORES.iter().any(|port| rest.contains(port))
    };
    !call.texts.iter().filter(|text| !text.starts_with('-')).any(is_here)
}
