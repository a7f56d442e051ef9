//! Which command of a line has an effect outside this machine: it publishes, deploys, sends or pushes.
//!
//! Invariant: looking at something outside is no effect; what is not in the table is taken to stay here.

use crate::commands::shown;
use crate::syntax::{Line, Simple, Word};

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
    let words: Vec<String> = found.words.iter().take(3).map(shown).collect();
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
#[rustfmt::skip]
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
        return push(&simple.words[1..]).is_some_and(|push| push.is_none_or(|push| !is_own(&push)));
    }
    let Some((_, reach)) = TABLE.iter().find(|(names, _)| names.contains(&name.as_str())) else { return false };
    let call = Call { name, words: simple.words[1..].iter().map(Word::lossy).collect() };
    // Asked about itself, or told to change nothing.
    if call.has(&["--help", "--version", "--dry-run", "--dryrun", "--dry-run=client", "--dry-run=server"]) {
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
    "--chdir",
    "--config",
    "--context",
    "--cwd",
    "--dir",
    "--host",
    "--kubeconfig",
    "--manifest-path",
    "--namespace",
    "--prefix",
    "--profile",
    "--project",
    "--region",
    "--repo",
    "--subscription",
    "-C",
    "-H",
    "-R",
    "-c",
    "-n",
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

/// A shell or a message elsewhere; a program asked for its own settings stays here.
fn far(call: &Call) -> bool {
    let here = |word: &str| is_here(word.rsplit('@').next().unwrap_or(word));
    let asks = call.name == "ssh" && call.has(&["-V", "-G", "-Q"]);
    call.operands().first().is_some_and(|first| !here(first)) && !asks
}

/// `aws s3 cp`, `gcloud run deploy`: one of the first words says whether it looks.
fn cloud(call: &Call) -> bool {
    let operands = call.operands();
    let looks = |word: &&str| LOOKS.iter().any(|look| word.starts_with(look));
    !operands.is_empty() && !operands.iter().take(4).any(looks) || operands.is_empty() && call.name == "vercel"
}

/// What a forge's tool does to pull requests, issues, releases; not what it fetches.
fn forge(call: &Call) -> bool {
    let operands = call.operands();
    let (first, second) = (operands.first().copied().unwrap_or_default(), operands.get(1).copied().unwrap_or_default());
    let local = ["alias", "browse", "extension", "ssh-key"];
    if first == "api" {
        let sends =
            |word: &String| ["-f", "-F", "--field", "--raw-field", "--input"].iter().any(|o| word.starts_with(o));
        return call.words.iter().any(sends) || method(&call.words).is_some_and(|verb| !is_look(&verb));
    }
    let looks = |word: &str| LOOKS.iter().chain(&["checkout", "checks", "download"]).any(|look| word.starts_with(look));
    !second.is_empty() && !looks(first) && !looks(second) && !local.contains(&first)
}

fn image_pushed(call: &Call) -> bool {
    let operands = call.operands();
    let verb = operands.first().copied().unwrap_or_default();
    let nested = matches!(verb, "compose" | "image" | "manifest" | "buildx") && operands.get(1) == Some(&"push");
    verb == "push" || nested || matches!(verb, "build" | "buildx") && call.has(&["--push"])
}

/// `user@host:path`, `host::module`, `rsync://host/path`: the last operand is where files go.
fn copied_away(call: &Call) -> bool {
    let operands = call.operands();
    let Some(to) = operands.last().filter(|_| operands.len() > 1) else { return false };
    let host = to.split_once(':').filter(|(host, _)| !host.contains('/')).map(|(host, _)| host);
    let named = host.map(|host| host.rsplit('@').next().unwrap_or(host));
    named.is_some_and(|host| !is_here(host))
}

/// The value of `-X`, `--request` or `--method`, glued or not.
fn method(words: &[String]) -> Option<String> {
    let names = ["-X", "--request", "--method"];
    let next = |at: usize| words.get(at + 1).cloned();
    words.iter().enumerate().find_map(|(at, word)| {
        if names.contains(&word.as_str()) {
            return next(at);
        }
        let glued = names.iter().find_map(|name| word.strip_prefix(name))?;
        Some(glued.trim_start_matches('=').to_owned())
    })
}

fn is_look(verb: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE"].iter().any(|look| verb.eq_ignore_ascii_case(look))
}

fn curl_sends(call: &Call) -> bool {
    let data = ["--data", "--form", "--json", "--upload-file", "-F", "-T", "-d"];
    let sends = |word: &String| data.iter().any(|option| word.starts_with(option));
    let sent = call.words.iter().any(sends) && !call.has(&["-G", "--get"]);
    let told = method(&call.words).is_some_and(|verb| !is_look(&verb));
    (sent || told) && addressed_away(&call.words)
}

fn wget_sends(call: &Call) -> bool {
    let sends = |word: &String| ["--post-", "--body-"].iter().any(|option| word.starts_with(option));
    let told = method(&call.words).is_some_and(|verb| !is_look(&verb));
    (call.words.iter().any(sends) || told) && addressed_away(&call.words)
}

/// `http POST host a=b`, or fields without a verb.
fn http_sends(call: &Call) -> bool {
    let operands = call.operands();
    let verb = operands.first().filter(|verb| verb.len() > 2 && verb.chars().all(|c| c.is_ascii_uppercase()));
    let fields = operands.iter().skip(1).any(|word| word.contains('=') && !word.contains("=="));
    verb.map_or(fields, |verb| !is_look(verb)) && addressed_away(&call.words)
}

/// Some address is not of this machine; without any that can be read, it may be.
fn addressed_away(words: &[String]) -> bool {
    let mut hosts = words.iter().filter_map(|word| host(word)).peekable();
    hosts.peek().is_none() || hosts.any(|host| !is_here(host))
}

fn host(word: &str) -> Option<&str> {
    let local = ["localhost", "127.", "[::1]", "0.0.0.0", ":"].iter().any(|known| word.starts_with(known));
    let rest = match word.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['=', '"', '{']) => rest,
        _ if local => word,
        _ => return None,
    };
    let host = rest.split(['/', '?', '#']).next()?;
    Some(host.rsplit('@').next().unwrap_or(host))
}

fn is_here(host: &str) -> bool {
    let name = if host.starts_with('[') { host.split_inclusive(']').next() } else { host.split(':').next() };
    let name = name.unwrap_or_default();
    matches!(name, "" | "localhost" | "0.0.0.0" | "[::1]") || name.starts_with("127.") || name.ends_with(".localhost")
}

/// Options of `git push` that send no more than the branch.
const PLAIN: &[&str] = &[
    "--no-verify",
    "--porcelain",
    "--progress",
    "--quiet",
    "--set-upstream",
    "--verbose",
    "--verify",
    "-q",
    "-u",
    "-v",
];

/// The push among these arguments of git; `Some(None)` where it sends more than a branch, or it is not certain what.
fn push(arguments: &[Word]) -> Option<Option<Push>> {
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
            _ if !word.is_firm() => return Some(None),
            "-u" | "--set-upstream" => push.sets_upstream = true,
            option if option.starts_with('-') && !PLAIN.contains(&option) => return Some(None),
            option if option.starts_with('-') => {}
            _ if push.remote.is_none() => push.remote = Some(text),
            _ => push.refs.push(text),
        }
    }
    Some(Some(push))
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
mod tests {
    use super::*;
    use crate::syntax::{Ground, cut};

    fn reached(text: &str) -> Option<String> {
        let ground = Ground { cwd: "/p", home: "/h", variables: &[] };
        outside(&cut(text, &ground), &|push| push.is_own("main", Some("origin/main")))
    }

    #[test]
    fn what_reaches_outside() {
        for line in [
            "gh pr create --fill",
            "gh issue comment 3 -b x",
            "gh -R a/b release create v1",
            "gh api repos -f a=b",
            "gh api -X DELETE repos/a",
            "glab mr create",
            "npm publish",
            "pnpm --dir x publish",
            "cargo publish",
            "cargo +nightly publish",
            "cargo yank --version 1.0.0 x",
            "twine upload dist/*",
            "gem push a.gem",
            "uv publish",
            "curl -X POST https://api.example.com",
            "curl -XDELETE https://example.com/x",
            "curl https://example.com -d a=b",
            "curl --data-binary @f https://example.com",
            "curl -T f ftp://example.com",
            "curl -F a=@b \"$URL\"",
            "curl --json '{}' https://x.example",
            "wget --post-data=a=b https://example.com",
            "wget --method=PUT https://example.com",
            "http POST example.com a=b",
            "scp a.txt me@host:/tmp",
            "rsync -a ./ host:site",
            "rsync a rsync://host/x",
            "ssh host uptime",
            "ssh -p 22 me@host",
            "sftp host",
            "docker push x/y",
            "docker buildx build --push .",
            "docker compose push",
            "kubectl apply -f x.yaml",
            "kubectl -n prod delete pod x",
            "helm upgrade a b",
            "terraform apply -auto-approve",
            "tofu destroy",
            "pulumi up",
            "aws s3 cp a s3://b",
            "aws --profile p ec2 terminate-instances --instance-ids i",
            "vercel",
            "gcloud run deploy x",
            "az webapp create",
            "fly deploy",
            "ansible-playbook site.yml",
            "mail -s x a@b.example",
            "semantic-release",
            "git push origin other",
            "git push fork",
            "git push --force",
            "git push --tags",
            "git push --mirror",
            "git push \"$R\" main",
            "git push https://github.com/a/b main",
            "git push origin :main",
            "sh -c 'npm publish'",
            "echo a && sudo docker push x",
            "git -C sub push other main",
        ] {
            assert!(reached(line).is_some(), "{line}");
        }
        for line in [
            "gh pr view 3",
            "gh pr list",
            "gh pr checkout 3",
            "gh repo clone a/b",
            "gh run watch 1",
            "gh auth status",
            "gh api repos/a/b",
            "gh --version",
            "npm install",
            "npm test",
            "npm publish --dry-run",
            "cargo test publish",
            "cargo build",
            "curl https://example.com",
            "curl -X GET https://example.com",
            "curl -G -d a=b https://x.example",
            "curl -X POST http://localhost:8080/x -d a=b",
            "curl -d a=b http://127.0.0.1:3000",
            "curl -d x [::1]:80",
            "wget https://example.com/a.tgz",
            "http example.com",
            "http GET example.com",
            "scp me@host:/tmp/a .",
            "rsync -a host:site ./",
            "rsync -a a/ b/",
            "ssh -V",
            "ssh localhost true",
            "docker build .",
            "docker ps",
            "docker run x push",
            "kubectl get pods",
            "kubectl -n prod logs x",
            "kubectl apply --dry-run=client -f x",
            "helm list",
            "terraform plan",
            "terraform show",
            "aws s3 ls",
            "aws ec2 describe-instances",
            "gcloud config list",
            "git push",
            "git push origin",
            "git push origin main",
            "git push -q origin HEAD",
            "git push origin HEAD:main",
            "git push -u origin main",
            "git push --dry-run origin other",
            "git commit -m push",
            "git fetch",
            "ls",
            "make deploy",
            "echo git push origin other",
            "",
        ] {
            assert_eq!(reached(line), None, "{line}");
        }
        assert_eq!(reached("cd x && gh pr create --fill").as_deref(), Some("gh pr create"));
    }

    #[test]
    fn a_push_to_the_branchs_own_upstream() {
        let push = |text: &str| {
            let words: Vec<Word> = text.split(' ').map(Word::of).collect();
            push(&words).unwrap().unwrap()
        };
        assert!(push("push -u origin topic").is_own("topic", None));
        assert!(!push("push origin topic").is_own("topic", None));
        assert!(push("push").is_own("topic", None));
        assert!(push("push origin topic:other").is_own("topic", Some("origin/other")));
        assert!(!push("push origin topic").is_own("topic", Some("origin/other")));
        assert!(!push("push fork").is_own("topic", Some("origin/topic")));
        assert_eq!(push("-C sub push").folder.as_deref(), Some("sub"));
    }
}
