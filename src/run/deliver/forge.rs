//! The pull request of a delivered branch, made by the forge's own program.
//!
//! Starts a shell command, jailed like the agent's own commands. Invariant: a request is never made twice: a
//! known forge is first asked for an existing one, and the command for any other is started once per commit.

use super::repository::{reason, variables_for};
use aops_core::config::policy::deliver::{AUTO, NONE};
use aops_core::system::env::Env;
use aops_core::system::files::{self, Scratch};
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Ending, Task, variable};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_mins(2);
const LONGEST_ANSWER: usize = 1 << 20;

/// A program that makes pull requests. Its commands get the variables that `docs/runs.md` lists.
struct Forge {
    program: &'static str,
    /// Parts of its host names.
    hosts: &'static [&'static str],
    find: &'static str,
    make: &'static str,
    /// A part of a pull request's address.
    mark: &'static str,
}

static FORGES: [Forge; 3] = [
    Forge {
        program: "gh",
        hosts: &["github"],
        find: r#"gh pr list --head "$AOPS_BRANCH" --state all --limit 1 --json url --jq '.[].url'"#,
        make: concat!(
            r#"gh pr create --head "$AOPS_BRANCH" --title "$AOPS_TITLE" --body-file "$AOPS_BODY" "#,
            r#"${AOPS_BASE:+--base "$AOPS_BASE"}"#
        ),
        mark: "/pull/",
    },
    Forge {
        program: "glab",
        hosts: &["gitlab"],
        find: r#"glab mr list --source-branch "$AOPS_BRANCH" --all --output json"#,
        make: concat!(
            r#"glab mr create --yes --source-branch "$AOPS_BRANCH" --title "$AOPS_TITLE" "#,
            r#"--description "$(cat "$AOPS_BODY")" ${AOPS_BASE:+--target-branch "$AOPS_BASE"}"#
        ),
        mark: "/merge_requests/",
    },
    Forge {
        program: "tea",
        hosts: &["gitea", "forgejo", "codeberg"],
        find: "tea pulls list --state all --fields head,url --output simple | \
            grep -F -- \"$AOPS_BRANCH\" || true",
        make: concat!(
            r#"tea pulls create --head "$AOPS_BRANCH" --title "$AOPS_TITLE" "#,
            r#"--description "$(cat "$AOPS_BODY")" ${AOPS_BASE:+--base "$AOPS_BASE"}"#
        ),
        mark: "/pulls/",
    },
];

/// The content of a pull request, and the branches it is about.
#[derive(Debug)]
pub struct Request<'a> {
    pub branch: &'a str,
    /// The target branch; empty means the forge's own choice.
    pub base: &'a str,
    pub title: &'a str,
    pub body: &'a str,
    /// `[deliver] pull_request`.
    pub command: &'a str,
    pub remote: &'a str,
    /// An earlier driver may have started the command.
    pub is_again: bool,
}

/// The address of the pull request; `None` if none is wanted. An error says why there is none.
pub fn request(env: &Env, root: &Path, request: &Request) -> Result<Option<String>, String> {
    let Some((forge, command)) = choose(env, request)? else { return Ok(None) };
    let scratch = Scratch::new("request").map_err(|error| error.to_string())?;
    let body = scratch.0.join("body.md");
    files::replace_private(&body, request.body.as_bytes()).map_err(|error| error.to_string())?;
    let mut variables = variables_for(env, root);
    variables.extend([
        variable("AOPS_BRANCH", request.branch),
        variable("AOPS_BASE", request.base),
        variable("AOPS_TITLE", request.title),
        variable("AOPS_BODY", &body),
    ]);
    let shell = |line: &str| start(env, root, line, &variables);
    let mark = forge.map_or("", |forge| forge.mark);
    match forge {
        Some(forge) => {
            let found = shell(forge.find)
                .map_err(|why| format!("`{}` cannot say if there is one: {why}", forge.program))?;
            if let Some(found) = address_in(&found, mark) {
                return Ok(Some(found));
            }
        }
        None if request.is_again => {
            return Err("its command was started before; look whether there is one".to_owned());
        }
        None => {}
    }
    let said = shell(&command)?;
    Ok(Some(address_in(&said, mark).unwrap_or_else(|| "made".to_owned())))
}

/// The forge, if we know it, and the command that makes the request; `None` if none is wanted.
fn choose(env: &Env, request: &Request) -> Result<Option<(Option<&'static Forge>, String)>, String> {
    match request.command {
        NONE => Ok(None),
        AUTO => {
            let host = host_of(request.remote);
            let known = FORGES.iter().find(|forge| forge.hosts.iter().any(|name| host.contains(name)));
            let Some(forge) = known else { return Ok(None) };
            env.on_path(forge.program).ok_or_else(|| format!("`{}` is not on PATH", forge.program))?;
            Ok(Some((Some(forge), forge.make.to_owned())))
        }
        command => {
            let program = command.split_whitespace().next().unwrap_or_default();
            let forge = FORGES.iter().find(|forge| forge.program == program);
            Ok(Some((forge, command.replace("{branch}", request.branch))))
        }
    }
}

/// `https://user@host:8443/x`, `git@host:x.git`, `ssh://git@host/x`; empty for a folder.
fn host_of(remote: &str) -> String {
    let (scheme, rest) = remote.split_once("://").unwrap_or(("", remote));
    if scheme == "file" || scheme.is_empty() && !rest.split('/').next().unwrap_or_default().contains(':') {
        return String::new();
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default().to_ascii_lowercase()
}

/// The first address in this text that contains the mark.
fn address_in(text: &str, mark: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control() || "\"'<>,|".contains(c));
    let is_one =
        |word: &&str| (word.starts_with("https://") || word.starts_with("http://")) && word.contains(mark);
    words.into_iter().find(is_one).map(str::to_owned)
}

fn start(env: &Env, root: &Path, line: &str, variables: &[(String, OsString)]) -> Result<String, String> {
    let args = ["-c".to_owned(), line.to_owned()];
    let guarded = env.for_project(root);
    let program =
        Program::find(&guarded, Identity::At(Path::new("/bin/sh"))).map_err(|error| error.to_string())?;
    let task = Task { keep: LONGEST_ANSWER, ..Task::new(&program, &args, root, variables, PATIENCE) };
    let said = process::run(&task).map_err(|error| error.to_string())?;
    match said.ending {
        Ending::Exit(0) => Ok(String::from_utf8_lossy(&said.stdout).into_owned()),
        Ending::TimedOut => Err("its command did not end in time".to_owned()),
        _ => Err(reason(&String::from_utf8_lossy(&said.stderr))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_from_every_form_of_address() {
        for (remote, host) in [
            ("https://me:word@GitHub.com:8443/x.git", "github.com"),
            ("git@gitlab.example:team/x.git", "gitlab.example"),
            ("ssh://git@codeberg.org/x", "codeberg.org"),
            ("/srv/github/x.git", ""),
            ("../github:x", ""),
            ("file:///srv/github", ""),
        ] {
            assert_eq!(host_of(remote), host, "{remote}");
        }
    }

    #[test]
    fn the_address_of_a_request_is_found_among_others() {
        let said = r#"[{"author":{"web_url":"https://h/me"},"web_url":"https://h/x/-/merge_requests/7"}]"#;
        assert_eq!(address_in(said, "/merge_requests/").as_deref(), Some("https://h/x/-/merge_requests/7"));
        assert_eq!(address_in("made https://h/x/pull/3\n", "/pull/").as_deref(), Some("https://h/x/pull/3"));
        assert_eq!(address_in("", "/pull/"), None);
    }
}
