//! Programs that read or write by their verb: ours, the tracker, and tools people ask about their state.

use super::line::{Said, unknown};
use super::table::Command;
use crate::model::call::Effect;
use crate::model::event::EventKind;
use crate::shell::syntax::Word;

/// Tools by the verbs that only look; options on the list may follow.
static LOOKING: &[(&str, &[&str], &str)] = &[
    ("apt", &["list", "policy", "search", "show"], "-a --installed --upgradable --all-versions"),
    ("apt-cache", &["depends", "policy", "rdepends", "search", "show", "showpkg"], "-n --names-only"),
    ("brew", &["info", "leaves", "list"], "--versions --json --cask --formula"),
    ("docker", CONTAINERS, CONTAINER_OPTIONS),
    (
        "gh",
        &[
            "auth status",
            "issue list",
            "issue status",
            "issue view",
            "label list",
            "pr checks",
            "pr diff",
            "pr list",
            "pr status",
            "pr view",
            "release list",
            "release view",
            "repo list",
            "repo view",
            "run list",
            "run view",
            "search code",
            "search commits",
            "search issues",
            "search prs",
            "search repos",
            "workflow list",
            "workflow view",
        ],
        "-R= -L= -s= -S= -a= -A= -l= -q= -t= -b= -w= -u= -e= -j= -c --repo= --limit= --state= --search= --author= --assignee= --label= --jq= --template= --json= --comments --log --log-failed --job= --branch= --workflow= --user= --event= --status= --verbose --exit-status --name-only --patch --color= --required --order= --sort= --yaml --owner= --language=",
    ),
    ("go", &["help", "version"], "-m -v"),
    (
        "ip",
        &[
            "a",
            "addr",
            "addr list",
            "addr show",
            "address",
            "l",
            "link",
            "link show",
            "n",
            "neigh",
            "r",
            "route",
            "route show",
            "rule",
        ],
        "-46sjodc",
    ),
    (
        "kubectl",
        &[
            "api-resources",
            "api-versions",
            "cluster-info",
            "describe",
            "explain",
            "get",
            "logs",
            "top",
            "version",
        ],
        "-Afwp -n= -l= -o= -c= --namespace= --all-namespaces --output= --selector= --tail= --since= --follow --previous --container= --show-labels --no-headers --sort-by= --context= --client --field-selector= --watch",
    ),
    (
        "npm",
        &[
            "bin",
            "config get",
            "config list",
            "config ls",
            "explain",
            "help",
            "info",
            "list",
            "ls",
            "outdated",
            "prefix",
            "root",
            "show",
            "v",
            "view",
            "why",
        ],
        "-algp --json --depth= --all --long --global --omit= --prod --dev --parseable",
    ),
    ("pip", PIP, PIP_OPTIONS),
    ("pip3", PIP, PIP_OPTIONS),
    ("podman", CONTAINERS, CONTAINER_OPTIONS),
    (
        "rustup",
        &["component list", "show", "target list", "toolchain list", "which"],
        "--installed --toolchain= -v",
    ),
    (
        "systemctl",
        &[
            "cat",
            "is-active",
            "is-enabled",
            "is-failed",
            "list-dependencies",
            "list-timers",
            "list-unit-files",
            "list-units",
            "show",
            "status",
        ],
        "-alq -n= -t= -p= --user --system --no-pager --all --type= --state= --property= --value --failed --plain --no-legend --lines=",
    ),
];

const CONTAINERS: &[&str] = &[
    "compose ls",
    "compose ps",
    "container list",
    "container ls",
    "diff",
    "history",
    "image list",
    "image ls",
    "images",
    "info",
    "inspect",
    "logs",
    "network inspect",
    "network list",
    "network ls",
    "port",
    "ps",
    "top",
    "version",
    "volume inspect",
    "volume list",
    "volume ls",
];
const CONTAINER_OPTIONS: &str = "-aqlsft -n= --all --quiet --latest --size --filter= --format= --no-trunc --tail= --since= --until= --timestamps --follow --digests --type=";
const PIP: &[&str] = &["check", "debug", "freeze", "help", "index versions", "list", "show"];
const PIP_OPTIONS: &str =
    "-flov --outdated --format= --user --local --verbose --files --not-required --all --path=";

/// Programs that are harmless when asked for their version alone.
#[rustfmt::skip]
static VERSIONED: &[&str] = &[
    "apt", "aws", "az", "bash", "black", "brew", "bun", "bundle", "c++", "cargo", "cargo-clippy", "cargo-nextest", "cc",
    "clang", "clang++", "claude", "cmake", "composer", "deno", "docker", "dotnet", "elixir", "emacs", "erl", "eslint", "fish", "g++", "gcc",
    "gem", "gh", "ghc", "git", "go", "gradle", "helm", "java", "javac", "julia", "just", "kubectl", "ld", "lua", "make",
    "meson", "mvn", "mypy", "nginx", "ninja", "node", "npm", "npx", "perl", "php", "pip", "pip3", "pnpm", "podman",
    "poetry", "prettier", "psql", "pytest", "python", "python3", "ruby", "ruff", "rustc", "rustfmt", "rustup", "sqlite3", "terraform", "tsc",
    "uv", "vim", "zsh",
];

/// What only looks, by verb or by being asked for a version.
pub(super) fn judge(command: &Command) -> Said {
    if asks_version(command) {
        return Ok(Effect::Read);
    }
    let Some((_, verbs, list)) = LOOKING.iter().find(|(name, ..)| *name == command.name) else {
        return Err(unknown(command.name));
    };
    let sorted = command.sorted(&[list])?;
    let firm = |n: usize| sorted.operands.get(n).filter(|word| word.is_firm()).map(|word| word.lossy());
    let first = firm(0).unwrap_or_default();
    let both = firm(1).map(|second| format!("{first} {second}")).unwrap_or_default();
    // `docker ps` may be followed by anything; `ip addr` by nothing but its second verb.
    let strict = command.name == "ip" && sorted.operands.len() > 1;
    if verbs.contains(&both.as_str()) || verbs.contains(&first.as_str()) && !strict {
        return Ok(Effect::Read);
    }
    Err(command.refused(&first))
}

fn asks_version(command: &Command) -> bool {
    let [only] = command.arguments else { return false };
    let asks = match only.lossy().as_str() {
        "--version" | "-V" | "-version" | "-vV" => true,
        "-v" => matches!(command.name, "node" | "npm" | "php" | "perl" | "ruby" | "pnpm" | "gem"),
        "version" => matches!(command.name, "go" | "terraform" | "helm"),
        _ => false,
    };
    asks && only.is_firm() && VERSIONED.binary_search(&command.name).is_ok()
}

/// Verbs of ours that tell, and change nothing.
static TELLING: &[&str] = &[
    "completions",
    "demo",
    "doctor",
    "help",
    "insights",
    "log",
    "policy",
    "replay",
    "report",
    "runs",
    "sessions",
    "simulate",
    "status",
    "statusline",
    "transcript",
    "why",
    "workflow",
];

/// Ours: telling reads, `block` only tightens, the rest is a person's.
pub(super) fn ours(command: &Command) -> Said {
    let words = command.arguments;
    let refused = || Err(command.refused(&words.first().map(Word::lossy).unwrap_or_default()));
    if words.iter().any(|word| word.shifts == Some(0)) {
        return refused();
    }
    if words.is_empty() || words.iter().any(|word| word.is("--help") || word.is("-h") || word.is("--version"))
    {
        return Ok(Effect::Read);
    }
    let mut operands = words.iter().filter(|word| !word.is_option());
    let verb = operands.next().filter(|word| word.is_firm()).map(Word::lossy).unwrap_or_default();
    let second = operands.next().map(Word::lossy).unwrap_or_default();
    let damages = words.iter().any(|word| word.starts_with("--q"));
    if words.iter().any(|word| word.starts_with("--o") || word.starts_with("-o") || word.starts_with("--i")) {
        return refused();
    }
    match verb.as_str() {
        "block" => Ok(Effect::Control),
        "verify" if !damages => Ok(Effect::Read),
        "checkpoint" if matches!(second.as_str(), "list" | "show" | "diff" | "verify") => Ok(Effect::Read),
        verb if TELLING.contains(&verb) && !EventKind::is_event_name(verb) => Ok(Effect::Read),
        _ => refused(),
    }
}

/// The tracker, but for what it does to the repository and its own storage.
pub(super) fn tracker(command: &Command) -> Said {
    const REACHING: [&str; 3] = ["sync", "hooks", "dolt"];
    const VALUED: [&str; 3] = ["--actor", "--db", "--dolt-auto-commit"];
    const FLAGS: [&str; 12] = [
        "--global",
        "--json",
        "--profile",
        "-q",
        "--quiet",
        "--readonly",
        "--sandbox",
        "-v",
        "--verbose",
        "-h",
        "--help",
        "--version",
    ];
    // `export -o file` writes wherever it is told.
    let written = |word: &&Word| word.starts_with("--out") || word.starts_with("-o");
    if let Some(word) = command.arguments.iter().find(written) {
        return Err(command.refused(&word.lossy()));
    }
    let mut words = command.arguments.iter();
    while let Some(word) = words.next() {
        let text = word.lossy();
        let option = word.is_option();
        if word.shifts == Some(0) || word.splits || option && !word.is_firm() && !text.contains('=') {
            return Err(command.refused(&text));
        }
        if option && VALUED.contains(&text.as_str()) {
            words.next();
        } else if option && !text.contains('=') && !FLAGS.contains(&text.as_str()) {
            // It may take a word with it, so that the verb is not certain.
            let reaches = words.clone().take(2).any(|word| REACHING.iter().any(|verb| word.is(verb)));
            return if reaches { Err(command.refused(&text)) } else { Ok(Effect::Tracker) };
        } else if !option {
            return if REACHING.contains(&text.as_str()) {
                Err(command.refused(&text))
            } else {
                Ok(Effect::Tracker)
            };
        }
    }
    Ok(Effect::Tracker)
}
