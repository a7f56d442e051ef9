//! Tools with verbs that only look. A verb is one or more leading words, written literally; only known
//! options may come before it. Invariant: each verb has its own options, and one that is not on its list
//! makes the call a write.

use super::command::{Class, Invocation};
use super::options::{WordShape, shape};
use crate::syntax::{Bit, Word};

/// A verb of one or more words, and what may follow it.
type Verb = (&'static str, &'static str);

/// What may follow a verb: anything, since none of its options writes, or nothing.
const ANY: &str = "*";
const NONE: &str = "";

/// One tool: its names, the options before its verb (`=`: with a value), its verbs.
struct Tool {
    names: &'static [&'static str],
    globals: &'static str,
    verbs: &'static [Verb],
}

/// The options allowed after a verb; `@` allows operands too.
const KUBECTL: &str = "@ -n -l -o -c -L -A -f -w -p -R --namespace --all-namespaces --output --selector --tail --since --since-time --follow --previous \
    --container --all-containers --show-labels --no-headers --sort-by --context --client --field-selector --watch --timeout \
    --timestamps --prefix --max-log-requests --limit-bytes --ignore-not-found --show-kind --show-managed-fields --label-columns --subresource \
    --recursive --api-version --api-group --namespaced --verbs --containers --minify --flatten --revision --sum --for --types --chunk-size";
const GH: &str = "@ -R -L -s -S -a -A -l -q -t -b -u -e -j -c -i -p -H --repo --limit --state --search --author --assignee --label --jq --template --json --comments \
    --log --log-failed --job --branch --workflow --user --event --status --verbose --exit-status --name-only --patch --color --required --order \
    --sort --yaml --owner --language --head --base --draft --milestone --mention --app --commit --attempt --visibility --topic --source \
    --fork --archived --no-archived --exclude-drafts --exclude-pre-releases --closed --created --updated --merged --match --interval --fail-fast --watch";
const NPM: &str = "@ -a -l -g -p --json --depth --all --long --global --omit --prod --dev --parseable --production --workspaces --workspace -w -ws";
const CARGO: &str = "@ -e -i -p -d -f -F -q -v -V --depth --edges --invert --package --workspace --exclude --all-features --features --no-default-features --target \
    --format --prefix --charset --locked --offline --frozen --no-dedupe --duplicates --prune --quiet --verbose --color --manifest-path --format-version \
    --no-deps --filter-platform --limit --registry --index --message-format";
const HELM: &str = "@ -n -A -a -o -q -l -d -f -s --namespace --all-namespaces --all --output --kube-context --revision --short --max --selector --filter --failed --deployed \
    --pending --superseded --uninstalled --version --versions --devel --regexp --show-desc --show-resources --values --set --set-string \
    --name-template --show-only --debug --include-crds --max-col-width --offset --reverse --date";
const TERRAFORM: &str = "@ -json -no-color -raw -state -id -diff -check -recursive -type -draw-cycles";
const UV: &str = "@ --depth --no-dev --dev --only-dev --frozen --locked --outdated --package --prune --invert --no-dedupe --format --only-installed \
    --all-versions --universal -q -v --quiet --verbose --extra --all-extras --group --no-group --strict --editable --exclude-editable --offline";
const PIP: &str = "@ -f -l -o -v -u -e -q --outdated --uptodate --format --user --local --verbose --files --not-required --all --path --editable --exclude --pre";
const YARN: &str = "@ -R -r --json --pattern --depth --recursive --all --peers --no-default-rc --verbose --long --parseable --filter --prod --dev --global -g";
const SYSTEMCTL: &str = "@ -a -l -q -n -t -p --user --system --no-pager --all --type --state --property --value --failed --plain --no-legend --lines --full --output -o --reverse --with-dependencies";

#[rustfmt::skip]
static TOOLS: &[Tool] = &[
    Tool { names: &["apt"], globals: "", verbs: &[("list", "@ -a --installed --upgradable --all-versions"), ("policy", "@"), ("search", "@ -n --names-only"), ("show", "@ -a")] },
    Tool { names: &["apt-cache"], globals: "", verbs: &[("depends", "@"), ("policy", "@"), ("rdepends", "@"), ("search", "@ -n --names-only"), ("show", "@"), ("showpkg", "@")] },
    Tool { names: &["aws", "az", "gcloud"], globals: "", verbs: &[] },
    Tool { names: &["brew"], globals: "", verbs: &[("--cellar", "@"), ("--prefix", "@"), ("--repository", NONE), ("config", NONE), ("deps", "@ --tree --installed"), ("desc", "@"), ("info", "@ --json --cask --formula"), ("leaves", "@"), ("list", "@ -1 --versions --json --cask --formula --full-name"), ("uses", "@ --installed")] },
    Tool { names: &["cargo"], globals: "", verbs: &[("--list", NONE), ("help", "@"), ("info", CARGO), ("locate-project", "@ --workspace --message-format"), ("pkgid", CARGO), ("read-manifest", CARGO), ("search", CARGO), ("tree", CARGO), ("verify-project", CARGO), ("version", "@ -v --verbose")] },
    Tool { names: &["conda", "mamba"], globals: "", verbs: &[("env list", "@ --json"), ("info", "@ --json -e --envs"), ("list", "@ --json -n --name -e --export"), ("search", "@ --json -c")] },
    Tool { names: &["diskutil"], globals: "", verbs: &[("info", "@ -all -plist"), ("list", "@ -plist")] },
    Tool { names: &["docker", "podman"], globals: "--context= -c=", verbs: &[
        ("buildx du", ANY), ("buildx ls", ANY), ("buildx version", NONE), ("container inspect", ANY), ("container list", ANY), ("container logs", ANY), ("container ls", ANY), ("container port", ANY), ("container stats", ANY), ("container top", ANY),
        ("context inspect", ANY), ("context ls", ANY), ("context show", NONE), ("diff", ANY), ("events", ANY), ("history", ANY), ("image history", ANY), ("image inspect", ANY), ("image list", ANY), ("image ls", ANY), ("images", ANY), ("info", ANY), ("inspect", ANY),
        ("logs", ANY), ("manifest inspect", ANY), ("network inspect", ANY), ("network list", ANY), ("network ls", ANY), ("node ls", ANY), ("plugin ls", ANY), ("port", ANY), ("ps", ANY), ("search", ANY), ("secret ls", ANY), ("service inspect", ANY), ("service logs", ANY),
        ("service ls", ANY), ("service ps", ANY), ("stack ls", ANY), ("stack ps", ANY), ("stack services", ANY), ("stats", ANY), ("system df", ANY), ("system info", ANY), ("top", ANY), ("version", ANY), ("volume inspect", ANY), ("volume list", ANY), ("volume ls", ANY)] },
    Tool { names: &["docker-compose"], globals: COMPOSE, verbs: COMPOSING },
    Tool { names: &["dotnet"], globals: "", verbs: &[("--info", NONE), ("--list-runtimes", NONE), ("--list-sdks", NONE)] },
    Tool { names: &["gem"], globals: "", verbs: &[("env", "@"), ("environment", "@"), ("info", "@"), ("list", "@ -l --local -a --all -d --details"), ("which", "@")] },
    Tool { names: &["gh"], globals: "", verbs: &[
        ("api", "@ -q -t -H -i --jq --template --paginate --slurp --include --header --cache --hostname"), ("auth status", GH), ("cache list", GH), ("gist list", GH), ("gist view", GH), ("issue list", GH), ("issue status", GH), ("issue view", GH), ("label list", GH), ("org list", GH), ("pr checks", GH),
        ("pr diff", GH), ("pr list", GH), ("pr status", GH), ("pr view", GH), ("release list", GH), ("release view", GH), ("repo list", GH), ("repo view", GH), ("ruleset list", GH), ("run list", GH), ("run view", GH), ("search code", GH), ("search commits", GH),
        ("search issues", GH), ("search prs", GH), ("search repos", GH), ("secret list", GH), ("status", GH), ("variable list", GH), ("workflow list", GH), ("workflow view", GH)] },
    Tool { names: &["go"], globals: "", verbs: &[("doc", "@ -all -short -src -u -c -cmd"), ("env", "@ -json -changed"), ("help", "@"), ("list", "@ -m -json -f -deps -u -versions -test -e -find -retracted"), ("mod graph", NONE), ("mod verify", NONE), ("mod why", "@ -m"), ("version", "@ -m -v")] },
    Tool { names: &["helm"], globals: "-n= --namespace= --kube-context=", verbs: &[
        ("dependency list", HELM), ("env", "@"), ("get all", HELM), ("get hooks", HELM), ("get manifest", HELM), ("get metadata", HELM), ("get notes", HELM), ("get values", HELM), ("history", HELM), ("lint", HELM), ("list", HELM), ("ls", HELM), ("plugin list", HELM),
        ("repo list", HELM), ("search hub", HELM), ("search repo", HELM), ("show all", HELM), ("show chart", HELM), ("show crds", HELM), ("show readme", HELM), ("show values", HELM), ("status", HELM), ("template", HELM), ("version", HELM)] },
    Tool { names: &["hostnamectl", "localectl", "timedatectl"], globals: "", verbs: &[("show", "@ -p --property --value"), ("status", NONE)] },
    Tool { names: &["ip"], globals: "-4 -6 -s -j -o -d -c -br -brief -json -p -details", verbs: &[("a", "show list"), ("addr", "show list"), ("address", "show list"), ("l", "show list"), ("link", "show list"), ("n", "show"), ("neigh", "show"), ("r", "show list"), ("route", "show list"), ("rule", "show list"), ("addr show", "@"), ("address show", "@"), ("link show", "@"), ("route get", "@"), ("route show", "@")] },
    Tool { names: &["just"], globals: "", verbs: &[("--list", "@ -u --unsorted"), ("--summary", NONE), ("-l", "@")] },
    Tool { names: &["kubectl", "oc"], globals: "-n= --namespace= --context= --cluster=", verbs: &[
        ("api-resources", KUBECTL), ("api-versions", KUBECTL), ("auth can-i", KUBECTL), ("auth whoami", KUBECTL), ("cluster-info", NONE), ("config current-context", KUBECTL), ("config get-clusters", KUBECTL), ("config get-contexts", KUBECTL), ("config get-users", KUBECTL), ("config view", KUBECTL),
        ("describe", KUBECTL), ("events", KUBECTL), ("explain", KUBECTL), ("get", KUBECTL), ("logs", KUBECTL), ("options", NONE), ("rollout history", KUBECTL), ("rollout status", KUBECTL), ("top", KUBECTL), ("version", KUBECTL)] },
    Tool { names: &["loginctl"], globals: "", verbs: &[("list-sessions", NONE), ("list-users", NONE)] },
    Tool { names: &["node"], globals: "", verbs: &[("--check", "@"), ("-c", "@")] },
    Tool { names: &["npm"], globals: "-g -s --global --json --silent", verbs: &[
        ("audit", "-a --json --omit --production"), ("bin", NPM), ("config get", "@ --json"), ("config list", "@ --json -l"), ("config ls", "@ --json -l"), ("explain", NPM), ("fund", NPM), ("help", NPM), ("info", NPM), ("list", NPM), ("ll", NPM), ("ls", NPM), ("outdated", NPM), ("ping", NPM), ("pkg get", NPM), ("prefix", NPM), ("query", NPM),
        ("root", NPM), ("run", NONE), ("search", NPM), ("show", NPM), ("v", NPM), ("view", NPM), ("whoami", NPM), ("why", NPM)] },
    Tool { names: &["openssl"], globals: "", verbs: &[("crl", X509), ("dgst", X509), ("req", X509), ("verify", "@ -CAfile -CApath -untrusted -verbose"), ("version", "@ -a -d -v"), ("x509", X509)] },
    Tool { names: &["pip", "pip3"], globals: "-q --quiet --disable-pip-version-check", verbs: &[("cache dir", PIP), ("check", PIP), ("config list", PIP), ("debug", PIP), ("freeze", PIP), ("help", PIP), ("index versions", PIP), ("inspect", PIP), ("list", PIP), ("show", PIP)] },
    Tool { names: &["pipx"], globals: "", verbs: &[("list", "@ --short --json")] },
    Tool { names: &["plutil"], globals: "", verbs: &[("-lint", "@"), ("-p", "@")] },
    Tool { names: &["pnpm"], globals: "-r -C=", verbs: &[("config get", "@"), ("config list", "@"), ("list", YARN), ("ls", YARN), ("outdated", YARN), ("root", YARN), ("store path", "@"), ("why", YARN)] },
    Tool { names: &["poetry"], globals: "", verbs: &[("about", NONE), ("check", "@ --lock --strict"), ("config --list", NONE), ("debug info", NONE), ("env info", "@ -p --path"), ("env list", "@ --full-path"), ("show", "@ -t -l -o -a -T --tree --latest --outdated --all --why --with --without --only --top-level --no-dev"), ("version", "-s --short")] },
    Tool { names: &["rustc"], globals: "", verbs: &[("--explain", "@"), ("--print", "cfg sysroot target-list target-libdir host-tuple crate-name file-names target-cpus target-features")] },
    Tool { names: &["rustup"], globals: "", verbs: &[("check", NONE), ("component list", "@ --installed --toolchain -v"), ("show", "@ -v"), ("show active-toolchain", "@"), ("show home", NONE), ("target list", "@ --installed --toolchain"), ("toolchain list", "@ -v"), ("which", "@ --toolchain")] },
    Tool { names: &["security"], globals: "", verbs: &[("list-keychains", NONE)] },
    Tool { names: &["ssh-add"], globals: "", verbs: &[("-L", NONE), ("-l", NONE)] },
    Tool { names: &["ssh-keygen"], globals: "", verbs: &[("-l", "@ -f -v -E"), ("-lf", "@ -v -E")] },
    Tool { names: &["systemctl"], globals: "--user --system --no-pager -q --quiet -a --all -l", verbs: &[
        ("--failed", SYSTEMCTL), ("cat", SYSTEMCTL), ("get-default", NONE), ("is-active", SYSTEMCTL), ("is-enabled", SYSTEMCTL), ("is-failed", SYSTEMCTL), ("is-system-running", NONE), ("list-dependencies", SYSTEMCTL), ("list-jobs", SYSTEMCTL), ("list-sockets", SYSTEMCTL), ("list-timers", SYSTEMCTL),
        ("list-unit-files", SYSTEMCTL), ("list-units", SYSTEMCTL), ("show", SYSTEMCTL), ("show-environment", NONE), ("status", SYSTEMCTL)] },
    Tool { names: &["terraform", "tofu"], globals: "-chdir", verbs: &[("fmt -check", TERRAFORM), ("graph", TERRAFORM), ("output", TERRAFORM), ("providers", "-no-color"), ("show", TERRAFORM), ("state list", TERRAFORM), ("state show", TERRAFORM), ("validate", TERRAFORM), ("version", TERRAFORM), ("workspace list", NONE), ("workspace show", NONE)] },
    Tool { names: &["tmux"], globals: "", verbs: &[("has-session", "-t"), ("info", NONE), ("list-clients", NONE), ("list-keys", NONE), ("list-panes", "-a -s"), ("list-sessions", NONE), ("list-windows", "-a"), ("ls", NONE)] },
    Tool { names: &["uv"], globals: "-q --quiet --offline", verbs: &[("cache dir", NONE), ("pip check", UV), ("pip freeze", UV), ("pip list", UV), ("pip show", UV), ("pip tree", UV), ("python dir", NONE), ("python list", UV), ("tool dir", NONE), ("tool list", UV), ("tree", UV)] },
    Tool { names: &["xcode-select"], globals: "", verbs: &[("--print-path", NONE), ("-p", NONE)] },
    Tool { names: &["xcodebuild"], globals: "", verbs: &[("-list", "@ -json -project -workspace"), ("-showsdks", NONE), ("-version", NONE)] },
    Tool { names: &["yarn"], globals: "-s --silent --cwd=", verbs: &[("config get", YARN), ("config list", YARN), ("info", YARN), ("list", YARN), ("outdated", YARN), ("why", YARN), ("workspaces info", YARN), ("workspaces list", YARN)] },
];

const X509: &str = "@ -in -noout -text -subject -issuer -dates -startdate -enddate -serial -fingerprint -sha1 -sha256 -sha512 -md5 -pubkey -ext -email -purpose -nameopt -inform \
    -checkend -verify -modulus -hash -r -hex -crl_nextupdate -crl_lastupdate";

/// `docker compose` has options of its own before its verb.
const COMPOSE: &str =
    "-f= -p= --file= --project-name= --profile= --env-file= --project-directory= --ansi= --progress=";
#[rustfmt::skip]
const COMPOSING: &[Verb] = &[
    ("config", "@ -q --quiet --services --images --volumes --profiles --networks --environment --format --hash --no-interpolate"), ("events", ANY), ("images", ANY), ("logs", ANY), ("ls", ANY), ("port", ANY), ("ps", ANY), ("stats", ANY), ("top", ANY),
    ("version", ANY), ("volumes", ANY),
];

pub(super) fn class(command: &Invocation) -> Class {
    let Some(tool) = TOOLS.iter().find(|tool| tool.names.contains(&command.name)) else {
        return Err(command.refusal(""));
    };
    let composes = matches!(command.name, "docker" | "podman")
        && command.arguments.first().is_some_and(|word| is(word, "compose"));
    let looks = if composes {
        looks(command, &command.arguments[1..], COMPOSE, COMPOSING)
    } else {
        looks(command, command.arguments, tool.globals, tool.verbs)
    };
    let first = command.arguments.iter().find(|word| !word.is_option()).map(Word::lossy).unwrap_or_default();
    let formats = command.name == "cargo" && checks_format(command.arguments);
    let cloud = matches!(command.name, "aws" | "az" | "gcloud") && looks_far(command);
    command.reads_if(looks || formats || cloud || alone(command), &first)
}

/// Tools that list something when called without arguments.
fn alone(command: &Invocation) -> bool {
    let lists = ["hostnamectl", "timedatectl", "localectl", "systemctl", "loginctl"];
    command.arguments.is_empty() && lists.contains(&command.name)
}

fn is(word: &Word, text: &str) -> bool {
    word.is_firm() && word.is(text)
}

fn looks(command: &Invocation, arguments: &[Word], globals: &str, verbs: &[Verb]) -> bool {
    let mut rest = arguments;
    let found = |rest: &[Word]| {
        verbs.iter().filter(|(verb, _)| begins(rest, verb)).max_by_key(|(verb, _)| verb.len()).copied()
    };
    while let Some((word, behind)) = rest.split_first().filter(|_| found(rest).is_none()) {
        let text = word.lossy();
        let name = text.split('=').next().unwrap_or_default();
        let taken = globals.split(' ').find(|row| row.trim_end_matches('=') == name && !name.is_empty());
        let glued = text.len() > name.len();
        match taken {
            Some(row) if word.is_firm() && row.ends_with('=') && !glued => {
                if behind.first().is_none_or(|value| value.splits || value.is_option()) {
                    return false;
                }
                rest = &behind[1..];
            }
            Some(_) if word.is_firm() => rest = behind,
            _ => return false,
        }
    }
    let Some((verb, options)) = found(rest) else { return false };
    if locks(command.name, verb) && !rest.iter().any(|word| is(word, "--locked") || is(word, "--frozen")) {
        return false;
    }
    may_follow(command, &rest[verb.split(' ').count()..], options)
}

/// Verbs that look, but write a lock file if it is missing or outdated.
fn locks(name: &str, verb: &str) -> bool {
    matches!((name, verb), ("cargo", "pkgid"))
}

fn begins(words: &[Word], verb: &str) -> bool {
    let mut words = words.iter();
    verb.split(' ').all(|part| words.next().is_some_and(|word| is(word, part)))
}

/// Whether these words may follow the verb: options on its list, and operands if it takes them.
fn may_follow(command: &Invocation, words: &[Word], options: &str) -> bool {
    let listed = |name: &str| options.split_ascii_whitespace().any(|known| known == name);
    let known = |word: &Word| {
        let text = word.lossy();
        match shape(word, command.line) {
            WordShape::Either => false,
            WordShape::Operand => listed("@") || word.is_firm() && listed(&text),
            WordShape::Option => {
                let name = text.split('=').next().unwrap_or_default();
                let firm = word.shifts.is_none_or(|at| at > name.chars().count());
                // These tools write long options with one dash, so letters are not bundled and take no glued
                // value.
                let words = ["go", "terraform", "tofu", "openssl", "xcodebuild", "plutil", "ip", "diskutil"];
                let bundles = !words.contains(&command.name);
                let letters =
                    || !name.starts_with("--") && name.chars().skip(1).all(|c| listed(&format!("-{c}")));
                // `-ojson`, `-n3`: a letter with its value.
                let glued = || {
                    let (letter, value) = text.split_at_checked(2).unwrap_or_default();
                    let plain = matches!(letter, "-o" | "-n") || value.bytes().all(|b| b.is_ascii_digit());
                    word.is_firm() && letter != "--" && listed(letter) && plain
                };
                firm && (listed(name) || bundles && (letters() || glued()))
            }
        }
    };
    options == ANY || words.iter().all(known)
}

/// `cargo fmt --check`, `cargo fmt --all -- --check`
fn checks_format(words: &[Word]) -> bool {
    let known = ["--check", "--all", "--", "-q", "-v", "--quiet", "--verbose", "-l", "--color=never"];
    let checks = words.iter().any(|word| is(word, "--check"));
    words.first().is_some_and(|word| is(word, "fmt"))
        && checks
        && words[1..].iter().all(|word| known.iter().any(|known| is(word, known)))
}

/// What `az` and `gcloud` can look at.
#[rustfmt::skip]
const FAR: [&str; 22] = [
    "account list", "account show", "acr list", "ad signed-in-user show", "aks list", "artifacts repositories list", "auth list", "compute instances list",
    "config configurations list", "config list", "container clusters list", "functions list", "group list", "group show", "info", "projects list",
    "run services list", "services list", "vm list", "vm show", "webapp list", "webapp show",
];

/// Whether a cloud command only looks, judging by the words before the first option: `aws ec2
/// describe-instances`, `gcloud compute instances list`.
fn looks_far(command: &Invocation) -> bool {
    let words: Vec<String> =
        command.arguments.iter().take_while(|word| !word.is_option()).map(Word::lossy).collect();
    let firm = command
        .arguments
        .iter()
        .all(|word| shape(word, command.line) != WordShape::Either && !word.bits.contains(&Bit::Star));
    let options = ["--cli-input", "--generate", "--output-file", "--log-file", "--flags-file", "--endpoint"];
    let odd = |word: &Word| options.iter().any(|option| word.starts_with(option));
    let looks = match command.name {
        "aws" => {
            let verb = words.get(1).map(String::as_str).unwrap_or_default();
            let sees = ["describe-", "list-"].iter().any(|begin| verb.starts_with(begin));
            words.len() == 2 && (sees || verb == "get-caller-identity")
                || words.iter().take(2).eq(["s3", "ls"])
        }
        _ => FAR.contains(&words.join(" ").as_str()),
    };
    let bare =
        words.iter().all(|word| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_/:.".contains(&b)));
    firm && bare && looks && !command.arguments.iter().any(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_stands_once() {
        let mut names: Vec<&str> = TOOLS.iter().flat_map(|tool| tool.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
