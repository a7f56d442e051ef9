//! Which command of a line has an effect outside this machine: it publishes, deploys, sends or pushes.
//!
//! Invariant: looking at something outside is not an effect; a command that is not in the table is assumed to
//! stay here.

mod rules;

use crate::syntax::{Line, Simple, Word};
use rules::{
    addressed_away, cloud, copied_away, curl_sends, far, forge, http_sends, image_pushed, wget_sends,
};

/// Whether a command of this line has an effect outside this machine.
pub fn outside(line: &Line) -> bool {
    line.commands.iter().any(|simple| !simple.function && reaches(simple))
}

/// Whether this line contacts a server on this machine, and all its other commands only read.
pub fn asks_here(line: &Line) -> bool {
    const CLIENTS: &[&str] = &["curl", "http", "https", "wget", "xh", "xhs"];
    const READS: &[&str] =
        &["cat", "cut", "echo", "grep", "head", "jq", "printf", "rg", "sleep", "tail", "true", "wc"];
    let is = |simple: &Simple, known: &[&str]| simple.name().is_some_and(|name| known.contains(&name));
    let fits = |simple: &Simple| {
        simple.writes.is_empty() && !simple.function && (is(simple, CLIENTS) || is(simple, READS))
    };
    let asks = line.commands.iter().any(|simple| is(simple, CLIENTS));
    let here =
        line.commands.iter().filter(|simple| is(simple, CLIENTS)).all(|simple| !names_host_away(simple));
    asks && here && !line.unclear && line.commands.iter().all(|simple| fits(simple))
}

/// Whether some address of this command is another machine's, or none can be read.
fn names_host_away(simple: &Simple) -> bool {
    addressed_away(&simple.words[1..].iter().map(Word::lossy).collect::<Vec<_>>())
}

enum Reach {
    /// However it is called.
    Always,
    /// With these verbs of one or two words.
    Verbs(&'static [&'static str]),
    /// With any verb, except those with one of these prefixes.
    Unless(&'static [&'static str]),
    By(fn(&Call) -> bool),
}

/// A program with its arguments as the line has them.
struct Call {
    name: String,
    words: Vec<String>,
}

/// Verbs of remote tools that only look, or only change local settings.
const LOOKS: &[&str] = &[
    "auth", "check", "clone", "completion", "config", "configure", "describe", "diff", "explain", "get",
    "help", "history", "info", "inspect", "list", "log", "login", "ls", "plan", "print", "query", "read",
    "search", "show", "status", "tail", "template", "test", "top", "validate", "version", "view", "wait",
    "watch", "whoami",
];

const PACKAGES: &[&str] = &["access", "deprecate", "dist-tag", "owner", "publish", "unpublish"];
const CLUSTER: &[&str] =
    &["apply", "deploy", "destroy", "import", "refresh", "state", "taint", "untaint", "up"];

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

fn reaches(simple: &Simple) -> bool {
    let Some(name) = simple.words.first().and_then(Word::literal) else { return false };
    let name = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    if name == "git" {
        return pushes(&simple.words[1..]);
    }
    let Some((_, reach)) = TABLE.iter().find(|(names, _)| names.contains(&name.as_str())) else {
        return false;
    };
    let call = Call { name, words: simple.words[1..].iter().map(Word::lossy).collect() };
    // It only asks for help or a version, or is told to change nothing.
    if call.words == ["--version"]
        || call.has(&["--help", "--dry-run", "--dryrun", "--dry-run=client", "--dry-run=server"])
    {
        return false;
    }
    match reach {
        Reach::Always => true,
        Reach::Verbs(verbs) => {
            call.verb().is_some_and(|(one, both)| verbs.contains(&one) || verbs.contains(&&*both))
        }
        Reach::Unless(looks) => {
            call.verb().is_some_and(|(one, _)| !looks.iter().any(|look| one.starts_with(look)))
        }
        Reach::By(rule) => rule(&call),
    }
}

/// Options before a verb that take the next word.
const VALUED: &[&str] = &[
    "--chdir", "--config", "--context", "--cwd", "--dir", "--host", "--kubeconfig", "--manifest-path",
    "--namespace", "--prefix", "--profile", "--project", "--region", "--repo", "--subscription", "-C", "-H",
    "-R", "-c", "-n",
];

impl Call {
    fn has(&self, options: &[&str]) -> bool {
        self.words.iter().any(|word| options.contains(&word.as_str()))
    }

    /// Everything that is neither an option nor the value of one before the verb. `cargo +nightly` selects a
    /// toolchain.
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

    /// The verb alone, and together with the word after it.
    fn verb(&self) -> Option<(&str, String)> {
        let operands = self.operands();
        let first = *operands.first()?;
        Some((first, operands.iter().take(2).copied().collect::<Vec<_>>().join(" ")))
    }
}

/// Whether these arguments of git push something.
fn pushes(arguments: &[Word]) -> bool {
    let mut words = arguments.iter().map(Word::lossy);
    loop {
        match words.next().as_deref() {
            Some(
                "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env",
            ) => {
                words.next();
            }
            Some("push") => return !words.any(|word| matches!(word.as_str(), "--dry-run" | "-n" | "--help")),
            Some(option) if option.starts_with('-') => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests;
