//! Which command of a line has an effect outside this machine: it publishes, deploys, sends or pushes.
//!
//! Invariant: looking at something outside is no effect; what is not in the table is taken to stay here.

mod rules;

use crate::commands::shown;
use crate::syntax::{Line, Simple, Word};
use rules::{cloud, copied_away, curl_sends, far, forge, http_sends, image_pushed, wget_sends};

/// Where a `git push` goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Push {
    /// `git -C folder push`.
    pub folder: Option<String>,
    pub remote: Option<String>,
    pub refs: Vec<String>,
    /// `-u`: the branch gets this as its upstream.
    pub sets_upstream: bool,
}

/// The first command of this line that reaches outside. `is_own`: this push goes to the branch's own upstream.
pub fn outside(line: &Line, is_own: &dyn Fn(&Push) -> bool) -> Option<String> {
    let found = line.commands.iter().find(|simple| !simple.function && reaches(simple, is_own))?;
    let words: Vec<String> = found.words.iter().map(shown).collect();
    Some(words.join(" "))
}

enum Reach {
    /// However it is called.
    Always,
    /// With these verbs, some of two words.
    Verbs(&'static [&'static str]),
    /// With any verb but those that begin like these.
    Unless(&'static [&'static str]),
    By(fn(&Call) -> bool),
}

/// A program with its arguments as they stand in the line.
struct Call {
    name: String,
    words: Vec<String>,
}

/// What a tool for something far away looks at, or keeps here.
const LOOKS: &[&str] = &[
    "auth", "check", "clone", "completion", "config", "configure", "describe", "diff", "explain", "get", "help",
    "history", "info", "inspect", "list", "log", "login", "ls", "plan", "print", "query", "read", "search", "show",
    "status", "tail", "template", "test", "top", "validate", "version", "view", "wait", "watch", "whoami",
];

const PACKAGES: &[&str] = &["access", "deprecate", "dist-tag", "owner", "publish", "unpublish"];
const CLUSTER: &[&str] = &["apply", "deploy", "destroy", "import", "refresh", "state", "taint", "untaint", "up"];

/// One row for programs that reach outside in the same way.
#[rustfmt::skip]
static TABLE: &[(&[&str], Reach)] = &[
    (&["ansible", "ansible-playbook", "fab", "mail", "mailx", "mosh", "mutt", "sendmail", "sftp", "ssh", "ssh-copy-id",
        "telnet", "wall"], Reach::By(far)),
    (&["aws", "az", "bq", "doctl", "eb", "eksctl", "firebase", "fly", "flyctl", "gcloud", "gsutil", "heroku", "jira",
        "linear", "netlify", "oci", "railway", "slack", "vercel", "wrangler"], Reach::By(cloud)),
    (&["bun", "npm", "pnpm", "yarn"], Reach::Verbs(PACKAGES)),
    (&["cargo"], Reach::Verbs(&["owner", "publish", "yank"])),
    (&["cdk", "pulumi", "serverless", "sls", "terraform", "terragrunt", "tofu"], Reach::Verbs(CLUSTER)),
    (&["curl"], Reach::By(curl_sends)),
    (&["docker", "podman"], Reach::By(image_pushed)),
    (&["gem"], Reach::Verbs(&["owner", "push", "yank"])),
    (&["gh", "glab", "hub"], Reach::By(forge)),
    (&["helm"], Reach::Verbs(&["delete", "install", "push", "rollback", "uninstall", "upgrade"])),
    (&["http", "https", "xh", "xhs"], Reach::By(http_sends)),
    (&["kubectl", "oc"], Reach::Unless(LOOKS)),
    (&["rsync", "scp"], Reach::By(copied_away)),
    (&["poetry", "uv", "hatch", "flit"], Reach::Verbs(&["publish"])),
    (&["skopeo"], Reach::Verbs(&["copy", "delete", "sync"])),
    (&["twine"], Reach::Verbs(&["upload"])),
    (&["wget"], Reach::By(wget_sends)),
    (&["goreleaser", "lerna", "np", "release-it", "semantic-release"], Reach::Always),
];

fn reaches(simple: &Simple, is_own: &dyn Fn(&Push) -> bool) -> bool {
    let Some(name) = simple.words.first().and_then(Word::literal) else { return false };
    let name = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    if name == "git" {
        return push(&simple.words[1..]).is_some_and(|push| !push.is_ok_and(|push| is_own(&push)));
    }
    let Some((_, reach)) = TABLE.iter().find(|(names, _)| names.contains(&name.as_str())) else { return false };
    let call = Call { name, words: simple.words[1..].iter().map(Word::lossy).collect() };
    // Asked about itself, or told to change nothing.
    if call.words == ["--version"]
        || call.has(&["--help", "--dry-run", "--dryrun", "--dry-run=client", "--dry-run=server"])
    {
        return false;
    }
    match reach {
        Reach::Always => true,
        Reach::Verbs(verbs) => call.verb().is_some_and(|(one, both)| verbs.contains(&one) || verbs.contains(&&*both)),
        Reach::Unless(looks) => call.verb().is_some_and(|(one, _)| !looks.iter().any(|look| one.starts_with(look))),
        Reach::By(rule) => rule(&call),
    }
}

/// Options before a verb that take the next word.
const VALUED: &[&str] = &[
    "--chdir", "--config", "--context", "--cwd", "--dir", "--host", "--kubeconfig", "--manifest-path", "--namespace",
    "--prefix", "--profile", "--project", "--region", "--repo", "--subscription", "-C", "-H", "-R", "-c", "-n",
];

impl Call {
    fn has(&self, options: &[&str]) -> bool {
        self.words.iter().any(|word| options.contains(&word.as_str()))
    }

    /// Everything that is neither an option nor the value of one before the verb. `cargo +nightly` chooses a toolchain.
    fn operands(&self) -> Vec<&str> {
        let mut words = self.words.iter().map(String::as_str);
        let mut operands = Vec::new();
        while let Some(word) = words.next() {
            if VALUED.contains(&word) && operands.is_empty() {
                words.next();
            } else if !word.starts_with(['-', '+']) && !word.is_empty() {
                operands.push(word);
            }
        }
        operands
    }

    /// The verb, and the verb with the word after it.
    fn verb(&self) -> Option<(&str, String)> {
        let operands = self.operands();
        let first = *operands.first()?;
        Some((first, operands.iter().take(2).copied().collect::<Vec<_>>().join(" ")))
    }
}

/// Options of `git push` that send no more than the branch.
const PLAIN: &[&str] = &[
    "--no-verify", "--porcelain", "--progress", "--quiet", "--set-upstream", "--verbose", "--verify", "-q", "-u", "-v",
];

/// It sends more than a branch, or it is not certain what.
#[derive(Debug)]
struct Unclear;

/// The push among these arguments of git.
fn push(arguments: &[Word]) -> Option<Result<Push, Unclear>> {
    let mut words = arguments.iter();
    let mut push = Push::default();
    loop {
        let word = words.next()?;
        match word.lossy().as_str() {
            "-C" => push.folder = Some(words.next()?.lossy()),
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env" => drop(words.next()?),
            "push" => break,
            option if option.starts_with('-') => {}
            _ => return None,
        }
    }
    let rest: Vec<&Word> = words.collect();
    let text: Vec<String> = rest.iter().map(|word| word.lossy()).collect();
    if text.iter().any(|word| matches!(word.as_str(), "--dry-run" | "-n" | "--help")) {
        return None;
    }
    for (word, text) in rest.into_iter().zip(text) {
        match text.as_str() {
            _ if !word.is_firm() => return Some(Err(Unclear)),
            "-u" | "--set-upstream" => push.sets_upstream = true,
            option if option.starts_with('-') && !PLAIN.contains(&option) => return Some(Err(Unclear)),
            option if option.starts_with('-') => {}
            _ if push.remote.is_none() => push.remote = Some(text),
            _ => push.refs.push(text),
        }
    }
    Some(Ok(push))
}

impl Push {
    /// It goes to the upstream of the branch that is checked out: `branch`, and `upstream` as `origin/main`.
    pub fn is_own(&self, branch: &str, upstream: Option<&str>) -> bool {
        let (remote, target) = match upstream.and_then(|name| name.split_once('/')) {
            Some((remote, target)) => (remote, target),
            // It gets its upstream by this push.
            None if self.sets_upstream => (self.remote.as_deref().unwrap_or_default(), branch),
            None => return self.remote.is_none(),
        };
        let bare = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
        let own = |spec: &String| match spec.split_once(':') {
            Some((from, to)) => (from == "HEAD" || bare(from) == branch) && bare(to) == target,
            None => (spec == "HEAD" || bare(spec) == branch) && branch == target,
        };
        self.remote.as_deref().is_none_or(|name| name == remote) && self.refs.iter().all(own)
    }
}

#[cfg(test)]
mod tests;
