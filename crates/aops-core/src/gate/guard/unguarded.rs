//! Finds commands that start an agent without our hooks: the client with its hooks disabled, its server, and
//! other agents' clients.

use super::path::Protected;
use crate::host::claude::disarm;
use crate::host::table;
use crate::model::client::{CLIENTS, Client};
use crate::tool::targets::CommandRun;
use aops_shell::syntax::{Bit, Word};

/// Options of the client that disable our hooks.
const OPTIONS: [&str; 5] = ["--bare", "--safe-mode", "--restricted", "--settings", "--setting-sources"];
/// Variables that move its configuration.
const MOVING: [&str; 2] = ["CLAUDE_CONFIG_DIR", "HOME"];
/// Commands of the client that run tools without a hook, remove our records, or remove our plugin: the first
/// word, then one of the other words, if there are any.
const VERBS: [(&str, &[&str]); 7] = [
    ("mcp", &["serve"]),
    ("purge", &[]),
    ("project", &["purge"]),
    ("plugin", &["disable", "uninstall", "remove", "rm"]),
    ("plugins", &["disable", "uninstall", "remove", "rm"]),
    ("plugin marketplace", &["remove", "rm"]),
    ("plugins marketplace", &["remove", "rm"]),
];
/// Those that bring programs which run without asking: servers, plugins.
const BRINGING: [(&str, &[&str]); 5] = [
    ("mcp", &["add", "add-json", "add-from-claude-desktop"]),
    ("plugin", &["install", "i", "enable", "update"]),
    ("plugins", &["install", "i", "enable", "update"]),
    ("plugin marketplace", &["add", "update"]),
    ("plugins marketplace", &["add", "update"]),
];
/// Clients of other agents. If words are listed, one of them must follow, since other programs have the same
/// name.
#[rustfmt::skip]
const OTHERS: &[(&str, &[&str])] = &[
    ("aider", &[]), ("cursor-agent", &[]), 
    ("grok", &[]), ("amp", &[]), ("crush", &[]), ("auggie", &[]), ("kiro-cli", &[]),
    ("cline", &[]), ("openhands", &[]), ("plandex", &[]), ("kimi", &[]), ("kilocode", &[]), ("roo", &[]),
    ("rovodev", &[]), ("acli", &["rovodev"]), ("goose", &["run", "session", "web", "acp"]), ("droid", &["exec"]),
    ("q", &["chat"]), ("cursor", &["agent"]), ("gh", &["copilot", "agent-task"]), ("cn", &["-p", "--print"]),
    ("interpreter", &[]), ("mini", &["-t", "--task"]), ("sweagent", &[]), ("gptme", &[]), ("letta", &[]),
];
/// Names of the same clients as packages.
const PACKAGES: [&str; 11] = [
    "aider-chat", "@vibe-kit/grok-cli", "@sourcegraph/amp", "@charmland/crush", "@augmentcode/auggie",
    "cline", "@kilocode/cli", "openhands-ai", "open-interpreter", "@continuedev/cli", "mini-swe-agent",
];
const RUNNERS: [&str; 10] = ["npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "uv"];

/// These arguments start the client without our hooks.
pub(super) fn is_unhooked(arguments: &[Word]) -> bool {
    let given = |word: &Word, option: &str| word.is(option) || word.starts_with(&format!("{option}="));
    let named = |word: &Word| OPTIONS.iter().any(|option| given(word, option));
    // `echo --bare | xargs claude`: the piped text may contain any option.
    let says = |word: &Word| named(word) || word.named.iter().any(named);
    arguments.iter().any(|word| says(word) || word.splits && word.shifts == Some(0))
}

/// The command starts it with variables that disable our hooks or move the configuration.
pub(super) fn is_moved(run: &CommandRun) -> bool {
    let leaves_out = |name: &str| disarm::VARIABLES.contains(&name) || MOVING.contains(&name);
    run.assigned.iter().any(|name| leaves_out(name))
}

pub(super) fn takes_us_away(arguments: &[Word]) -> bool {
    says(&VERBS, arguments)
}

pub(super) fn brings_programs(arguments: &[Word]) -> bool {
    says(&BRINGING, arguments)
}

fn says(table: &[(&str, &[&str])], arguments: &[Word]) -> bool {
    let words: Vec<String> = arguments.iter().filter(|word| !word.is_option()).map(Word::lossy).collect();
    table.iter().any(|(first, then)| {
        let first: Vec<&str> = first.split(' ').collect();
        let begins = words.len() >= first.len() && first.iter().zip(&words).all(|(one, two)| one == two);
        begins
            && (then.is_empty() || words.get(first.len()).is_some_and(|word| then.contains(&word.as_str())))
    })
}

/// Keys of git's configuration whose value is a program; a star is any name.
#[rustfmt::skip]
const GIT_PROGRAMS: [&str; 43] = [
    "alias.*", "core.hookspath", "core.fsmonitor", "core.pager", "core.editor", "core.sshcommand", "core.askpass",
    "core.gitproxy", "core.alternaterefscommand", "sequence.editor", "include.path", "includeif.*", "credential.*",
    "diff.external", "diff.*.command", "diff.*.textconv", "merge.*.driver", "filter.*", "gpg.program", "gpg.*", "pager.*",
    "interactive.difffilter", "uploadpack.packobjectshook", "init.templatedir", "difftool.*.cmd", "mergetool.*.cmd",
    "man.*.cmd", "browser.*.cmd", "trailer.*", "submodule.*.update", "protocol.ext.allow", "url.ext::*", "remote.*.uploadpack",
    "remote.*.receivepack", "remote.*.vcs", "core.attributesfile", "hook.*.command", "tar.*.command", "sendemail.*cmd",
    "imap.tunnel", "guitool.*.cmd", "instaweb.httpd", "lfs.customtransfer.*",
];

/// It sets a program that git will run.
pub(super) fn sets_git_program(run: &CommandRun) -> bool {
    let words: Vec<String> = run.command.words.iter().map(|word| word.lossy().to_lowercase()).collect();
    let is_git = words.first().is_some_and(|word| word.rsplit('/').next() == Some("git"));
    let Some(at) = words.iter().position(|word| word == "config").filter(|_| is_git) else { return false };
    let sets = |key: &str| {
        GIT_PROGRAMS.iter().any(|known| match known.split_once('*') {
            Some((begin, end)) => {
                key.starts_with(begin) && key.ends_with(end) && key.len() > begin.len() + end.len()
            }
            None => key == *known,
        })
    };
    let rest = &words[at + 1..];
    rest.iter().enumerate().any(|(n, word)| {
        sets(word) && !(word.starts_with("alias.") && names_verb(&rest[n + 1..]))
            || word == "--edit"
            || word == "-e"
    })
}

/// An alias for one of git's own verbs that runs no other program.
fn names_verb(value: &[String]) -> bool {
    const PLAIN: [&str; 20] = [
        "add", "blame", "branch", "checkout", "cherry-pick", "commit", "describe", "diff", "fetch", "log",
        "ls-files", "merge", "pull", "push", "remote", "rev-parse", "show", "stash", "status", "switch",
    ];
    let [value] = value else { return false };
    let runs = |word: &str| {
        ["--exec", "--upload-pack", "--receive-pack"].iter().any(|option| word.starts_with(option))
    };
    let mut words = value.split_whitespace();
    words.next().is_some_and(|verb| PLAIN.contains(&verb)) && !words.any(runs)
}

/// An agent's client that a command starts.
pub(super) struct Started {
    /// The client, if we can be registered in it.
    pub(super) client: Option<Client>,
    /// It may be started without its hooks.
    drops: bool,
}

impl Started {
    /// Why none of our hooks sees it, and the way out.
    pub(super) fn unseen(&self, protected: &Protected) -> Option<(String, Option<String>)> {
        let Some(client) = self.client else {
            return Some(("starts another agent, which our hooks do not see".to_owned(), None));
        };
        // If Claude Code runs us, starting it is judged by rules of its own.
        if !client.is_registered_by_name() && protected.host == client {
            return None;
        }
        let title = table::host(client).title;
        if !protected.hooked.contains(&client) {
            let option = client.option();
            let hint = format!(
                "ask the user to run `aops-hook install{option}` in a terminal of their own; then {title} can be started from here"
            );
            return Some((format!("starts another agent, {title}, which our hooks do not see"), Some(hint)));
        }
        let hint = format!(
            "start {title} plainly, with the user's own configuration, and write out every word of the line"
        );
        self.drops.then(|| {
            (format!("starts another agent, {title}, in a way that may leave our hooks out"), Some(hint))
        })
    }
}

/// The client that this command starts by its name, as a program or as a package.
pub(super) fn started(run: &CommandRun) -> Option<Started> {
    let words: Vec<String> = run.command.words.iter().map(|word| word.lossy().to_lowercase()).collect();
    let (program, rest) = words.split_first()?;
    if rest.first().is_some_and(|word| asks(word)) {
        return None;
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    if let Some(client) = Client::of(name) {
        return Some(Started { client: Some(client), drops: drops(client, run) });
    }
    is_other_client(name, rest).then_some(Started { client: None, drops: true })
}

fn asks(word: &str) -> bool {
    matches!(word, "--version" | "--help" | "-h" | "-v" | "version" | "help")
}

/// Its hooks may be disabled, or it does something else than work under them.
fn drops(client: Client, run: &CommandRun) -> bool {
    let host = table::host(client);
    let words = &run.command.words[1..];
    let named = |word: &Word| {
        host.drops.iter().any(|option| {
            let joined =
                word.starts_with(&format!("{option}=")) || option.len() == 2 && word.starts_with(option);
            word.is(option) || joined
        })
    };
    let unsure = |word: &Word| word.splits || !matches!(word.bits.first(), None | Some(Bit::Char(_)));
    let named_verb = |verb: &Word| host.verbs.iter().any(|known| verb.is(known));
    let other = !host.verbs.is_empty() && !words.first().is_some_and(named_verb);
    let moved = run.assigned.iter().any(|name| name == "HOME" || host.variables.contains(&name.as_str()));
    words.iter().any(|word| named(word) || unsure(word)) || other || moved
}

/// The name or package name of a client for which we have an adapter.
fn is_ours(name: &str) -> bool {
    let mut rows = CLIENTS.iter().filter(|row| row.client.is_registered_by_name());
    rows.any(|row| row.client.name() == name || row.packages.contains(&name))
}

/// A client in which we cannot be registered.
fn is_other_client(name: &str, rest: &[String]) -> bool {
    let is = |(other, then): &(&str, &[&str])| {
        *other == name && (then.is_empty() || rest.iter().any(|word| then.contains(&word.as_str())))
    };
    let package = |word: &String| {
        let unversioned =
            word.get(1..).and_then(|tail| tail.find('@')).map_or(word.as_str(), |at| &word[..=at]);
        let is_other = || OTHERS.iter().any(|(other, then)| then.is_empty() && *other == unversioned);
        PACKAGES.contains(&unversioned) || is_ours(unversioned) || is_other()
    };
    let runs = match name {
        "npm" | "pnpm" | "yarn" | "bun" | "pipx" | "uv" => {
            rest.first().is_some_and(|verb| matches!(verb.as_str(), "exec" | "x" | "dlx" | "run" | "tool"))
        }
        _ => true,
    };
    OTHERS.iter().any(is) || is_ours(name) || RUNNERS.contains(&name) && runs && rest.iter().any(package)
}
