//! Programs that quiet mode leaves to the person: those that contact other machines or daemons, install,
//! manage containers, or end processes. Lists are sorted.

use super::Left;
use crate::syntax::{Simple, Word};

/// Folders that a line can always use: each jail profile provides its own.
pub(super) const FREE: &[&str] = &["/tmp", "/var/tmp", "/private/tmp", "/dev"];

/// Programs that always contact another machine or a daemon.
#[rustfmt::skip]
const FAR: &[&str] = &[
    "aria2c", "aws", "az", "bq", "claude", "curl", "dig", "docker", "docker-compose", "doctl", "eksctl", "fly", "flyctl", "ftp",
    "gcloud", "gh", "glab", "gsutil", "helm", "heroku", "host", "hostnamectl", "http", "https", "hub", "jira",
    "journalctl", "kubectl", "launchctl", "linear", "localectl", "loginctl", "mongo", "mongosh", "mosh", "mysql", "nc", "ncat",
    "nerdctl", "netcat", "nmap", "nslookup", "oc", "oci", "ping", "podman", "psql", "railway", "redis-cli", "rsync",
    "scp", "sftp", "skopeo", "socat", "ssh", "ssh-add", "ssh-keyscan", "supabase", "systemctl", "telnet", "timedatectl",
    "tmux", "traceroute", "vercel", "wget", "whois", "wrangler", "xh",
];

/// Programs that do so with these verbs of one or two words.
#[rustfmt::skip]
const FAR_BY_VERB: &[(&str, &[&str])] = &[
    ("apt", &["search"]), ("brew", &["info", "search"]), ("cargo", &["info", "search"]), ("conda", &["search"]),
    ("git", &["ls-remote", "remote show"]), ("mamba", &["search"]),
    ("npm", &["audit", "fund", "info", "outdated", "ping", "search", "show", "v", "view", "whoami"]),
    ("openssl", &["s_client"]), ("pip", &["index", "list --outdated"]), ("pip3", &["index"]),
    ("pnpm", &["audit", "info", "outdated", "view"]), ("poetry", &["show --latest", "show --outdated", "show -l", "show -o"]),
    ("rustup", &["check"]), ("terraform", &["output", "show", "state list", "state show"]),
    ("tofu", &["output", "show", "state list", "state show"]), ("uv", &["python list"]),
    ("yarn", &["audit", "info", "npm", "outdated"]),
];

const SYSTEM_PACKAGES: &[&str] = &[
    "apk", "apt", "apt-get", "aptitude", "brew", "choco", "dnf", "dpkg", "flatpak", "nix", "nix-env",
    "pacman", "port", "rpm", "rustup", "scoop", "snap", "winget", "yum", "zypper",
];

/// Programs that install packages with these verbs.
#[rustfmt::skip]
const INSTALLS: &[(&str, &[&str])] = &[
    ("bun", &["add", "i", "install", "remove", "update", "upgrade"]),
    ("bundle", &["add", "install", "update"]),
    ("cargo", &["add", "binstall", "fetch", "install", "login", "remove", "uninstall", "update"]),
    ("composer", &["install", "remove", "require", "update"]),
    ("conda", &["create", "install", "remove", "update"]),
    ("corepack", &["enable", "install", "prepare", "use"]),
    ("dotnet", &["add", "new", "restore", "tool", "workload"]),
    ("gem", &["install", "uninstall", "update"]),
    ("go", &["get", "install", "mod download", "mod tidy"]),
    ("mamba", &["create", "install", "remove", "update"]),
    ("npm", &["add", "ci", "create", "i", "init", "install", "link", "remove", "rm", "uninstall", "update", "upgrade"]),
    ("pip", &["download", "install", "uninstall"]),
    ("pip3", &["download", "install", "uninstall"]),
    ("pipx", &["inject", "install", "run", "uninstall", "upgrade"]),
    ("pnpm", &["add", "create", "dlx", "i", "import", "install", "link", "remove", "up", "update"]),
    ("poetry", &["add", "install", "lock", "remove", "self", "update"]),
    ("uv", &["add", "lock", "pip install", "pip sync", "pip uninstall", "remove", "sync", "tool install"]),
    ("winget", &["install"]),
    ("yarn", &["add", "create", "dlx", "install", "link", "remove", "up", "upgrade"]),
];

const CONTAINERS: &[&str] = &[
    "colima", "docker", "docker-compose", "kind", "lxc", "minikube", "nerdctl", "podman", "qemu", "vagrant",
    "virsh",
];

const PROCESSES: &[&str] = &[
    "at", "batch", "crontab", "disown", "fg", "initctl", "kill", "killall", "launchctl", "nohup", "pkill",
    "reboot", "renice", "screen", "service", "setsid", "shutdown", "supervisorctl", "systemctl", "tmux",
    "xkill",
];

/// Programs that run something as another user, or as part of the system.
const SUPERUSER: &[&str] =
    &["chroot", "doas", "mount", "nsenter", "pkexec", "run0", "su", "sudo", "umount", "unshare"];

/// The verb of a command, alone and together with the word after it.
fn verbs(simple: &Simple) -> (String, String) {
    let words = || simple.words.iter().skip(1).map(Word::lossy);
    let first = words().find(|word| !word.starts_with(['-', '+'])).unwrap_or_default();
    let second = words().skip_while(|word| *word != first).nth(1).unwrap_or_default();
    let both = format!("{first} {second}");
    (first, both)
}

fn has_verb(table: &[(&str, &[&str])], name: &str, simple: &Simple) -> bool {
    let Some((_, known)) = table.iter().find(|(program, _)| *program == name) else { return false };
    let (one, both) = verbs(simple);
    known.contains(&one.as_str()) || known.contains(&both.as_str())
}

/// Whether it is asked for its version or its help, which need no contact.
fn asks_itself(simple: &Simple) -> bool {
    let [_, only] = simple.words.as_slice() else { return false };
    ["--version", "-V", "--help", "version", "help"].iter().any(|word| only.is(word))
}

/// Whether this command contacts another machine or a daemon, judging by its name and verb.
pub(super) fn reaches(simple: &Simple) -> bool {
    let Some(name) = simple.name() else { return false };
    let looks_up = name == "go" && simple.words.iter().any(|word| word.is("-u") || word.is("-versions"));
    !asks_itself(simple) && (FAR.contains(&name) || looks_up || has_verb(FAR_BY_VERB, name, simple))
}

/// Options of curl that neither send nor read a file, alone or with their value.
#[rustfmt::skip]
const CURL: &[&str] = &[
    "-A", "-H", "-I", "-L", "-S", "-X", "-f", "-g", "-i", "-k", "-m", "-o", "-s", "-v", "-w", "--compressed", "--connect-timeout",
    "--fail", "--head", "--header", "--http1.1", "--http2", "--include", "--location", "--max-time", "--output", "--request",
    "--retry", "--show-error", "--silent", "--user-agent", "--verbose", "--write-out",
];

/// Whether it contacts a host other than its own, or sends a file's content, so that its words do not show
/// what leaves the machine.
pub(super) fn sends_more(simple: &Simple) -> bool {
    let texts: Vec<String> = simple.words.iter().skip(1).map(Word::lossy).collect();
    match simple.name() {
        // A repository name has two parts; with a third, the first is a host.
        Some("gh" | "glab") => {
            texts.iter().any(|text| {
                let value = text.rsplit('=').next().unwrap_or_default();
                let is_elsewhere = text.contains("://") || text.starts_with("--hostname");
                is_elsewhere || text.starts_with('@') || value.starts_with('@')
            }) || texts
                .windows(2)
                .any(|pair| matches!(pair[0].as_str(), "-R" | "--repo") && pair[1].matches('/').count() > 1)
        }
        Some("curl") => texts.iter().any(|text| {
            let short = text.starts_with('-') && !text.starts_with("--");
            let mut letters = text.chars().skip(1).map(|letter| format!("-{letter}"));
            let is_known = |option: &str| CURL.contains(&option);
            let option = text.split('=').next().unwrap_or_default();
            let is_known = if short { letters.all(|letter| is_known(&letter)) } else { is_known(option) };
            text.starts_with('-') && !is_known || text.starts_with('@') || text.contains("file:")
        }),
        Some("http" | "https" | "httpie" | "xh") => texts.iter().any(|text| text.contains('@')),
        _ => false,
    }
}

/// Why a command that does not read is left to the person, by its name.
pub(super) fn left(simple: &Simple) -> Option<Left> {
    let name = simple.name()?;
    let installs = SYSTEM_PACKAGES.contains(&name)
        || has_verb(INSTALLS, name, simple)
        || matches!(name, "pnpm" | "yarn") && simple.words.len() == 1
        || is_module_pip(name, simple);
    // They stop other processes, and read or write their memory.
    let attaches =
        ["-p", "--pid", "-a", "attach"].iter().any(|sign| simple.words.iter().any(|word| word.is(sign)));
    match name {
        "gdb" | "lldb" | "strace" | "ltrace" | "perf" | "bpftrace" | "rr" if attaches => {
            Some(Left::Processes)
        }
        _ if CONTAINERS.contains(&name) => Some(Left::Containers),
        _ if PROCESSES.contains(&name) => Some(Left::Processes),
        _ if SUPERUSER.contains(&name) => Some(Left::Superuser),
        _ if installs => Some(Left::Installs),
        _ if announces(simple) => Some(Left::Outside),
        _ if reaches(simple) => Some(Left::Network),
        _ => None,
    }
}

/// Words by which a target of `make`, a script of `npm run` or an unknown program says that it acts outside.
const ANNOUNCED: &[&str] = &["deploy", "install", "publish", "release", "upload"];

/// `make deploy`, `npm run publish:beta`, `cmake --install build`, `npx create-app`
fn announces(simple: &Simple) -> bool {
    let says = |word: &Word| {
        let text = word.lossy();
        let parts = text.strip_prefix("--").filter(|name| *name == "install").unwrap_or(&text);
        !parts.starts_with('-') && parts.split([':', '-']).any(|part| ANNOUNCED.contains(&part))
    };
    let fetches = simple.name() == Some("npx") && simple.words.iter().any(|word| word.starts_with("create-"));
    fetches || simple.words.iter().skip(1).any(says)
}

/// `python -m pip install x`
fn is_module_pip(name: &str, simple: &Simple) -> bool {
    let module = simple
        .words
        .windows(2)
        .any(|pair| pair[0].is("-m") && (pair[1].is("pip") || pair[1].is("ensurepip")));
    name.starts_with("python") && module
}

/// Whether a word of the line is a program that grants more rights. Wrappers were removed when the line was
/// split, so the text itself is searched; a quoted word may match too, and then a person is asked once more
/// than needed.
pub(super) fn needs_superuser(text: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || ";|&(){}`'\"$=".contains(c);
    let gives = |word: &str| {
        ["sudo", "doas", "pkexec", "run0", "su", "chroot", "nsenter", "unshare"]
            .contains(&word.rsplit('/').next().unwrap_or(word))
    };
    text.split(ends).any(gives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for list in [FAR, SYSTEM_PACKAGES, CONTAINERS, PROCESSES, SUPERUSER] {
            assert!(list.is_sorted_by(|a, b| a < b), "{list:?}");
        }
        for table in [FAR_BY_VERB, INSTALLS] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
            for (name, verbs) in table {
                assert!(verbs.is_sorted_by(|a, b| a < b), "{name}");
            }
        }
    }
}
