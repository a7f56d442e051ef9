//! What a program that no jail can hold is told to run: `sudo apt-get install x` is known, `sudo ./x.sh` is
//! not.
//!
//! Reads words as the program receives them. Invariant: whatever is not in these tables is unknown: a script,
//! a shell, an option that changes what runs or where it comes from, a file that contains code, a reader of a
//! file that the user may have replaced with a link.

use crate::commands::{Showing, program, showing};
use crate::syntax::Word;

/// Options of a program: those without a value, and those with one.
struct Options {
    plain: &'static [&'static str],
    valued: &'static [&'static str],
    /// If one of these is last, no command runs; before a command some still run it: `sudo -k ./x.sh`.
    instead: &'static [&'static str],
}

const SUDO: Options = Options {
    plain: &["-H", "-S", "-n", "--non-interactive", "--set-home", "--stdin"],
    valued: &["-g", "-p", "-u", "--group", "--prompt", "--user"],
    instead: &[
        "-K", "-V", "-k", "-l", "-v", "--help", "--list", "--remove-timestamp", "--validate", "--version",
    ],
};
const DOAS: Options = Options { plain: &["-n"], valued: &["-u"], instead: &["-L"] };

/// A program called with a verb, options without a value, and plain names.
struct Manager {
    names: &'static [&'static str],
    verbs: &'static [&'static str],
    options: &'static [&'static str],
}

#[rustfmt::skip]
static MANAGERS: &[Manager] = &[
    Manager {
        names: &["apt", "apt-get"],
        verbs: &["autoclean", "autoremove", "clean", "dist-upgrade", "full-upgrade", "install", "list", "policy", "purge", "reinstall", "remove", "search", "show", "update", "upgrade"],
        options: &["-V", "-f", "-q", "-qq", "-qy", "-s", "-y", "-yq", "-yqq", "--assume-yes", "--autoremove", "--dry-run", "--fix-broken", "--install-recommends", "--installed", "--no-install-recommends", "--only-upgrade", "--purge", "--quiet", "--reinstall", "--simulate", "--upgradable", "--yes"],
    },
    Manager {
        names: &["dnf", "microdnf", "yum"],
        verbs: &["autoremove", "check-update", "clean", "info", "install", "list", "makecache", "reinstall", "remove", "search", "update", "upgrade"],
        options: &["-q", "-y", "--assumeyes", "--quiet", "--refresh"],
    },
    Manager { names: &["apk"], verbs: &["add", "del", "info", "list", "search", "update", "upgrade"], options: &["-U", "-q", "--no-cache", "--quiet", "--update"] },
    Manager { names: &["pacman"], verbs: &["-Q", "-Qi", "-Ql", "-R", "-Rs", "-S", "-Si", "-Ss", "-Sy", "-Syu", "-Syyu"], options: &["--needed", "--noconfirm"] },
    Manager {
        names: &["zypper"],
        verbs: &["in", "info", "install", "ref", "refresh", "remove", "rm", "se", "search", "up", "update"],
        options: &["-n", "-q", "-y", "--no-confirm", "--non-interactive", "--quiet"],
    },
    Manager {
        names: &["systemctl"],
        verbs: &["cat", "daemon-reload", "disable", "enable", "is-active", "is-enabled", "is-failed", "list-timers", "list-unit-files", "list-units", "reload", "restart", "show", "start", "status", "stop", "try-restart"],
        options: &["-a", "-l", "-q", "--all", "--failed", "--full", "--no-pager", "--now", "--quiet"],
    },
];
/// They show what the system has logged or opened. They need approval only if the line is not known to read.
const LOOKING: [&str; 5] = ["dmesg", "dpkg-query", "journalctl", "lsof", "ss"];

/// Verbs of `podman` and `buildah` that only look, and their options. Other options, before or after the
/// verb, can name programs and configuration.
const CONTAINERS: [&str; 18] = [
    "containers", "diff", "history", "image", "images", "info", "inspect", "logs", "network", "port", "ps",
    "search", "stats", "system", "top", "version", "volume", "--version",
];
/// Second words that only look, for verbs that take one.
const SECOND: [&str; 8] = ["df", "exists", "history", "info", "inspect", "list", "ls", "tree"];
const LOOKING_AT_CONTAINERS: [&str; 27] = [
    "-a", "-f", "-l", "-n", "-p", "-q", "-s", "-t", "-v", "--all", "--digests", "--filter", "--follow",
    "--format", "--human", "--json", "--last", "--latest", "--names", "--no-stream", "--no-trunc",
    "--noheading", "--quiet", "--since", "--size", "--tail", "--until",
];

/// What is known about the line and the disk.
pub struct Outside<'a> {
    /// The line as a whole is known to read.
    pub reads: bool,
    /// Whether the user is unable to change where this path leads.
    pub fixed: &'a dyn Fn(&str) -> bool,
}

/// The part of this command that is unknown, in a few words; `None` if all of it is known.
pub fn unknown(words: &[String], around: &Outside) -> Option<String> {
    let (first, rest) = words.split_first()?;
    match first.rsplit('/').next().unwrap_or(first) {
        "sudo" => behind(rest, &SUDO, around),
        "doas" => behind(rest, &DOAS, around),
        "su" => Some("a shell of another user".to_owned()),
        "podman" | "buildah" => containers(rest),
        "fusermount" => rest
            .iter()
            .find(|word| word.starts_with('-') && !is_of(word, &["-u", "-q", "-z", "-uz", "-V"]))
            .cloned(),
        // Such a program takes only numbers; any other one is on the user's own list, and so the user's
        // choice.
        _ => None,
    }
}

fn is_of(word: &str, known: &[&str]) -> bool {
    known.contains(&word)
}

/// The command after these options.
fn behind(words: &[String], options: &Options, around: &Outside) -> Option<String> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (name, glued) = word.split_once('=').map_or((word.as_str(), false), |(name, _)| (name, true));
        let glued = glued || name.len() > 2 && !name.starts_with("--");
        let valued = |known: &&&str| name == **known || !known.starts_with("--") && name.starts_with(**known);
        match word.as_str() {
            "--" => return command(rest.as_slice(), around),
            plain if is_of(plain, options.plain) => {}
            instead if is_of(instead, options.instead) && rest.as_slice().is_empty() => return None,
            option if option.starts_with('-') => match options.valued.iter().find(valued) {
                Some(_) if glued => {}
                Some(_) => drop(rest.next()),
                None => return Some(option.to_owned()),
            },
            _ => return command(&words[words.len() - rest.len() - 1..], around),
        }
    }
    Some("a shell".to_owned())
}

fn command(words: &[String], around: &Outside) -> Option<String> {
    let Some((first, rest)) = words.split_first() else { return Some("a shell".to_owned()) };
    let not_known = || Some(first.clone());
    // An assignment before the command, or a program in another folder, is unknown too.
    let Some(name) = program(first, "\0") else { return not_known() };
    if let Some(known) = showing(name) {
        return shown(name, rest, known, around);
    }
    if around.reads && LOOKING.contains(&name) {
        return None;
    }
    if name == "service" {
        return rest.iter().find(|word| !is_plain(word)).cloned();
    }
    let Some(manager) = MANAGERS.iter().find(|manager| manager.names.contains(&name)) else {
        return not_known();
    };
    let is_known =
        |word: &&String| is_of(word, manager.options) || is_of(word, manager.verbs) || is_plain(word);
    let verb = rest.iter().find(|word| !is_of(word, manager.options));
    match verb {
        Some(verb) if !is_of(verb, manager.verbs) => Some(format!("{name} {verb}")),
        _ => rest.iter().find(|word| !is_known(word)).map(|word| format!("{name} {word}")),
    }
}

/// The unknown part of a reader's arguments: an option, or a file that the user may have replaced with a
/// link.
fn shown(name: &str, words: &[String], known: Showing, around: &Outside) -> Option<String> {
    let words: Vec<Word> = words.iter().map(|word| Word::of(word)).collect();
    let unknown = match known {
        Showing::Names => None,
        Showing::NamesBy(options) => options.files(&words).err(),
        Showing::Content(options) => match options.files(&words) {
            Ok(files) => files.into_iter().find(|file| !(around.fixed)(file)),
            Err(option) => Some(option),
        },
    };
    unknown.map(|word| format!("{name} {word}"))
}

/// Whether it is the plain name of a package or a service: not an option, a path, or a file that could
/// contain programs.
fn is_plain(word: &str) -> bool {
    let extension = word.rsplit_once('.').map_or("", |(_, extension)| extension);
    let holds_code = is_of(extension, &["apk", "deb", "rpm", "xz", "zst"]);
    !word.starts_with(['-', '.', '@']) && !word.contains('/') && !holds_code
}

fn containers(words: &[String]) -> Option<String> {
    let verb = words.first()?;
    if !is_of(verb, &CONTAINERS) {
        return Some(verb.clone());
    }
    let has_more = is_of(verb, &["image", "network", "system", "volume"]);
    let second = words.get(1).filter(|_| has_more);
    if has_more && !second.is_some_and(|word| is_of(word, &SECOND)) {
        return Some(format!("{verb} {}", second.map_or("", String::as_str)).trim().to_owned());
    }
    let name = |word: &str| word.split_once('=').map_or(word, |(name, _)| name).to_owned();
    let is_known = |word: &String| !word.starts_with('-') || is_of(&name(word), &LOOKING_AT_CONTAINERS);
    words[1..].iter().find(|word| !is_known(word)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let fixed = |path: &str| !path.contains("planted");
        unknown(&words, &Outside { reads: line.contains("journalctl"), fixed: &fixed })
    }

    #[rustfmt::skip]
    const KNOWN: &[&str] = &[
        "sudo apt-get install -y jq",
        "sudo apt-get update",
        "sudo apt install libssl-dev=3.0.2",
        "sudo -n true",
        "sudo -u www cat x",
        "sudo -uwww cat x",
        "sudo --user=www -n -- cat x",
        "sudo systemctl status nginx",
        "sudo systemctl restart docker",
        "sudo service ssh restart",
        "sudo journalctl -u nginx",
        "sudo dnf install -y gcc-c++",
        "sudo pacman -S --noconfirm jq",
        "sudo -v",
        "sudo -n -v",
        "sudo -l",
        "sudo /usr/bin/cat x",
        "sudo tail -n 50 -f /var/log/syslog",
        "sudo tail -50 x",
        "sudo tail -n50 x",
        "sudo head -c 10 x y",
        "sudo grep -in planted /var/log/syslog",
        "sudo grep -e planted -C3 x",
        "sudo grep --color=never -A 3 -- -planted x",
        "sudo ls -laR planted",
        "sudo stat planted",
        "sudo du -sh planted",
        "sudo du -h --max-depth=1 /var",
        "sudo wc -l x",
        "sudo sha256sum x",
        "sudo id planted",
        "doas apk add --no-cache jq",
        "doas -u www ls /root",
        "/usr/bin/sudo ls /root",
        "podman ps -a --format {{.Names}}",
        "podman logs -f web",
        "podman image ls",
        "podman --version",
        "podman",
        "buildah images",
        "newuidmap 12 0 1000 1",
        "fusermount -u mnt",
    ];
    #[rustfmt::skip]
    const UNKNOWN: &[&str] = &[
        "sudo cat planted",
        "sudo -u www cat x planted",
        "sudo cat -- planted",
        "sudo head -n 99 planted",
        "sudo tail -f planted",
        "sudo wc planted",
        "sudo cmp x planted",
        "sudo grep x planted",
        "sudo grep -e x planted",
        "sudo grep -xe x planted",
        "sudo grep -f planted x",
        "sudo grep -fplanted x",
        "sudo grep -hfplanted x",
        "sudo grep --file=planted x",
        "sudo grep -r . x",
        "sudo grep . -R",
        "sudo grep -hR . x",
        "sudo grep -d recurse . x",
        "sudo grep -drecurse . x",
        "sudo grep --directories=recurse . x",
        "sudo grep --dir=recurse . x",
        "sudo grep --recursive . x",
        "sudo grep --rec . x",
        "sudo grep --dereference-recursive . x",
        "sudo egrep -r . x",
        "sudo zgrep -r . x",
        "sudo wc --files0-from=x",
        "sudo du --files0-from=x",
        "sudo du -X x y",
        "sudo jq -n import x",
        "sudo dig -f x",
        "sudo strings @x",
        "sudo readelf @x",
        "sudo shellcheck x",
        "sudo who x",
        "sudo ./x.sh",
        "sudo x.sh",
        "sudo /home/u/x",
        "sudo /home/u/bin/cat x",
        "sudo",
        "sudo -s",
        "sudo -i",
        "sudo -n -i",
        "sudo -E ls",
        "sudo --preserve-env=PATH ls",
        "sudo -e /etc/hosts",
        "sudo -D /tmp ls",
        "sudo -R /tmp ls",
        "sudo -nE ls",
        "sudo PATH=/tmp ls",
        "sudo env X=y ls",
        "sudo sh -c ls",
        "sudo bash",
        "sudo -u root bash x",
        "sudo -- ./x.sh",
        "sudo -k ./x.sh",
        "sudo -h host ./x.sh",
        "sudo --use=root ./x.sh",
        "sudo -- -s",
        "sudo -u",
        "sudo sudo ls",
        "sudo nice ls",
        "sudo make install",
        "sudo git status",
        "sudo find . -name x",
        "sudo npm ls",
        "sudo python3 x.py",
        "sudo cp x y",
        "sudo chown me x",
        "sudo apt-get install ./x.deb",
        "sudo apt-get install -o Dpkg::Pre-Invoke::=./x jq",
        "sudo apt-get -c x.conf update",
        "sudo apt-get source x",
        "sudo dnf install x.rpm",
        "sudo apk add --allow-untrusted x",
        "sudo apk add x.apk",
        "sudo pacman -U x.pkg.tar.zst",
        "sudo systemctl enable /home/u/x.service",
        "sudo systemctl link x",
        "sudo systemctl --root=/tmp status x",
        "sudo systemctl edit x",
        "sudo service /tmp/x start",
        "sudo dmesg",
        "su",
        "su -c ./x.sh",
        "su - -c ls",
        "su www",
        "doas -s",
        "doas -C /tmp/x ls",
        "doas ./x.sh",
        "podman run alpine ls",
        "podman run -v /:/h alpine ls",
        "podman exec web ls",
        "podman start web",
        "podman build .",
        "podman unshare ./x.sh",
        "podman --runtime ./x ps",
        "podman ps --runtime ./x",
        "podman ps --runtime=./x",
        "podman ps --conmon ./x",
        "podman --module x.conf ps",
        "podman -c x ps",
        "podman system service",
        "podman image",
        "podman image build .",
        "podman network create x",
        "buildah run x ls",
        "fusermount -o allow_other mnt",
    ];

    #[test]
    fn everyday_commands_are_known() {
        for line in KNOWN {
            assert_eq!(judged(line), None, "{line}");
        }
    }

    #[test]
    fn scripts_shells_and_options_that_change_what_runs_are_not() {
        for line in UNKNOWN {
            assert!(judged(line).is_some(), "{line}");
        }
    }
}
