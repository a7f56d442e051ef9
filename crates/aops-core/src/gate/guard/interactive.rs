//! Finds commands that wait for typed input: shells, interpreters, consoles, editors; and those that pass
//! typed input on (`docker exec -it`).
//!
//! Why: Codex types into a running command without asking a hook, so we would not see what such a program is
//! told to do. Invariant: a command that the line itself feeds, or that is given its program, does not wait.

use crate::tool::targets::{CommandRun, Targets};
use aops_shell::syntax::Word;

/// Programs that wait for typed input if they have at most `most` operands and none of the options `told`.
struct Waits {
    names: &'static [&'static str],
    most: usize,
    /// Options that tell it what to do; a one-letter option may also be part of a cluster.
    told: &'static [&'static str],
    /// One-letter options that take the next word as their value.
    values: &'static str,
}

#[rustfmt::skip]
static WAITING: &[Waits] = &[
    Waits { names: &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "yash", "csh", "tcsh", "pwsh", "nu"],
        most: 0, told: &["-c", "-n", "--version", "--help"], values: "oO" },
    Waits { names: &["python", "python2", "python3", "pypy", "pypy3", "ipython", "bpython"],
        most: 0, told: &["-c", "-m", "-V", "-h", "--version", "--help"], values: "WX" },
    Waits { names: &["node", "deno", "bun", "ts-node", "tsx", "ruby", "irb", "pry", "perl", "php", "lua", "luajit", "R", "julia", "ghci", "iex",
            "erl", "elixir", "ocaml", "utop", "sbcl", "clisp", "guile", "racket", "tclsh", "wish", "jshell", "scala", "groovysh",
            "clj", "clojure", "bb", "swift"],
        most: 0, told: &["-e", "-p", "-r", "-v", "-V", "-h", "-l", "--eval", "--print", "--version", "--help", "-eval"], values: "" },
    Waits { names: &["psql", "mysql", "mariadb", "mongosh", "mongo", "sqlite3", "redis-cli", "sqlcmd", "duckdb"],
        most: 1, told: &["-c", "-e", "-f", "-l", "-Q", "--command", "--execute", "--eval", "--file", "--list", "--version", "--help"], values: "hpUudPn" },
    Waits { names: &["ssh", "telnet", "rlogin", "mosh"],
        most: 1, told: &["-V", "-N", "-G", "-Q"], values: "pilobcDeEFIJLmORSwW" },
    Waits { names: &["gdb", "lldb", "bc", "dc", "ftp", "sftp"], most: 2, told: &["-batch", "--batch", "-v", "--version", "--help", "-b", "-e"], values: "x" },
    Waits { names: &["su", "screen", "tmux", "script", "expect", "vi", "vim", "nvim", "ed", "ex", "emacs", "nano"],
        most: usize::MAX, told: &["-c", "-S", "--version", "--help", "--batch", "-batch", "ls", "-ls", "-list", "list-sessions", "kill-session"], values: "" },
];

/// Commands that pass typed input to the program they start, or ask for it themselves.
struct Starts {
    names: &'static [&'static str],
    /// Verbs of which one is needed; if empty, any verb counts.
    verbs: &'static [&'static str],
    when: When,
    /// Options with which it does not ask for input.
    unless: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// With `-i` among its own options, which end at the first operand after the verb.
    Interactive,
    /// The same, but its options may be anywhere before `--`.
    InteractiveAnywhere,
}

const HELP: &[&str] = &["-h", "--help", "-V", "--version", "-n", "--dry-run", "--just-print", "-l", "--list"];

#[rustfmt::skip]
static STARTING: &[Starts] = &[
    Starts { names: &["docker", "podman", "nerdctl"], verbs: &["exec", "run", "start", "create"], when: When::Interactive, unless: HELP },
    Starts { names: &["docker", "podman", "nerdctl"], verbs: &["attach"], when: When::Always, unless: &["--no-stdin", "--help"] },
    // These have a terminal unless an option says otherwise.
    Starts { names: &["docker", "podman", "docker-compose", "podman-compose"], verbs: &["compose exec", "compose run"], when: When::Always,
        unless: &["-T", "--no-TTY", "-d", "--detach", "--help"] },
    Starts { names: &["docker-compose", "podman-compose"], verbs: &["exec", "run"], when: When::Always,
        unless: &["-T", "--no-TTY", "-d", "--detach", "--help"] },
    Starts { names: &["kubectl", "oc", "k3s", "microk8s"], verbs: &["exec", "attach", "run", "debug", "rsh"], when: When::InteractiveAnywhere, unless: HELP },
    Starts { names: &["vagrant", "multipass", "toolbox", "distrobox", "limactl", "machinectl"], verbs: &["ssh", "shell", "enter", "login"],
        when: When::Always, unless: &["-c", "--command", "--help"] },
    Starts { names: &["npm", "pnpm", "yarn", "bun"], verbs: &["init", "create", "login", "adduser"], when: When::Always, unless: &["-y", "--yes", "--help"] },
    // Without `make`, `cargo run`, `npm run`: they start what they were written for, dozens of times a day.
    Starts { names: &["poetry", "pipenv", "pdm", "hatch", "nix"], verbs: &["shell"], when: When::Always, unless: &["--help"] },
    Starts { names: &["git"], verbs: &["rebase", "add", "checkout", "reset", "stash", "clean", "commit"], when: When::Interactive, unless: &["--help"] },
    Starts { names: &["gh", "glab", "aws", "gcloud", "az", "fly", "flyctl", "heroku"],
        verbs: &["auth login", "ssm start-session", "compute ssh", "ssh console", "run:inside"], when: When::Always, unless: &["--with-token", "--help"] },
    Starts { names: &["crontab", "visudo", "vipw", "vigr", "sudoedit", "less", "more", "man", "top", "htop", "fzf"], verbs: &[], when: When::Always,
        unless: &["-l", "-r", "-c", "--version", "--help", "-b", "-V", "-h", "-f", "--filter", "-k", "-w"] },
];

/// One-letter options of container programs that take the next word.
const TAKES_WORD: &str = "eEvpwunlhmcfHx";

/// Why this call would leave a program running that waits for typed input.
pub(super) fn refused(targets: &Targets) -> Option<String> {
    let line = |run: &CommandRun| run.command.words.iter().map(Word::lossy).collect::<Vec<_>>().join(" ");
    if let Some(run) = targets.runs.iter().find(|run| starts(run)) {
        return Some(format!(
            "`{}` starts a program that may run what is typed into it, and no hook sees that\n\
             hint: give it no input: add `< /dev/null`",
            super::clip(&line(run))
        ));
    }
    let run = targets.runs.iter().find(|run| waits(run))?;
    let line = line(run);
    Some(format!(
        "`{}` waits for what is typed into it, and no hook sees that\n\
         hint: give it its commands in the line itself: `bash -c '…'`, `python3 -c '…'`, a script, a here-document",
        super::clip(&line)
    ))
}

/// Why this call would edit files in a way whose end no hook sees.
pub(super) fn patches(targets: &Targets) -> Option<String> {
    let is = |run: &&CommandRun| matches!(run.command.name(), Some("apply_patch" | "applypatch"));
    targets.runs.iter().find(is)?;
    Some(
        "`apply_patch` in a shell line edits files, and no hook sees it end\n\
         hint: use the tool `apply_patch` itself"
            .to_owned(),
    )
}

fn waits(run: &CommandRun) -> bool {
    let simple = &run.command;
    let Some(row) = simple.name().and_then(|name| WAITING.iter().find(|row| row.names.contains(&name)))
    else {
        return false;
    };
    let arguments: Vec<String> = simple.words[1..].iter().map(Word::lossy).collect();
    let asks = arguments.iter().any(|word| word == "-i" || word == "--interactive");
    if arguments.iter().any(|word| is_told(row, word)) {
        return false;
    }
    let fed = simple.script.is_some()
        || !simple.arriving.is_empty()
        || is_fed(simple.fed.iter().map(AsRef::as_ref));
    asks && row.most == 0 || !fed && operands(row, &arguments) <= row.most
}

fn starts(run: &CommandRun) -> bool {
    let simple = &run.command;
    let Some(name) = simple.name() else { return false };
    let fed = simple.script.is_some()
        || !simple.arriving.is_empty()
        || is_fed(simple.fed.iter().map(AsRef::as_ref));
    if fed || !STARTING.iter().any(|row| row.names.contains(&name)) {
        return false;
    }
    let arguments: Vec<String> = simple.words[1..].iter().map(Word::lossy).collect();
    let own = arguments.iter().position(|word| word == "--").map_or(&arguments[..], |end| &arguments[..end]);
    STARTING.iter().filter(|row| row.names.contains(&name)).any(|row| {
        let Some(behind) = behind_verb(row, own) else { return false };
        let told = |word: &String| row.unless.iter().any(|told| word == told);
        match row.when {
            When::Always => !own.iter().any(told),
            When::Interactive => {
                !own.iter().any(told) && own_options(&own[behind..]).any(|word| is_interactive(word))
            }
            When::InteractiveAnywhere => own.iter().any(|word| is_interactive(word)),
        }
    })
}

/// Where the words after its verb begin; `None` if it is called with another verb. A word after an option may
/// be the option's value.
fn behind_verb(row: &Starts, words: &[String]) -> Option<usize> {
    if row.verbs.is_empty() {
        return Some(0);
    }
    let is_plain = |at: &usize| !words[*at].starts_with(['-', '+']);
    let plain: Vec<usize> = (0..words.len()).filter(is_plain).collect();
    let after_option = |at: usize| at > 0 && words[at - 1].starts_with('-') && !words[at - 1].contains('=');
    for (n, at) in plain.iter().enumerate() {
        let two = || plain.get(n + 1).map(|next| (format!("{} {}", words[*at], words[*next]), next + 1));
        if row.verbs.contains(&words[*at].as_str()) {
            return Some(at + 1);
        }
        if let Some((_, end)) = two().filter(|(both, _)| row.verbs.contains(&both.as_str())) {
            return Some(end);
        }
        if !after_option(*at) {
            return None;
        }
    }
    None
}

/// The options before the first operand, without their values.
fn own_options(words: &[String]) -> impl Iterator<Item = &String> {
    let mut is_value = false;
    words.iter().take_while(move |word| {
        let was_value = std::mem::take(&mut is_value);
        let short = word.strip_prefix('-').filter(|rest| rest.len() == 1);
        is_value = short.is_some_and(|rest| TAKES_WORD.contains(rest))
            || word.starts_with("--") && !word.contains('=');
        // A long option may take no value: then this word is another option.
        was_value || word.starts_with('-')
    })
}

fn is_interactive(word: &str) -> bool {
    let cluster = word.strip_prefix('-').filter(|rest| rest.bytes().all(|b| b.is_ascii_alphabetic()));
    matches!(word, "--interactive" | "--stdin" | "--patch" | "--interactive=true" | "--stdin=true")
        || cluster.is_some_and(|letters| letters.contains('i'))
}

fn is_told(row: &Waits, word: &str) -> bool {
    row.told.iter().any(|told| {
        let letter = told.strip_prefix('-').filter(|letter| letter.len() == 1);
        let clustered = letter
            .is_some_and(|letter| word.starts_with('-') && !word.starts_with("--") && word.contains(letter));
        word == *told || clustered || told.starts_with("--") && word.starts_with(&format!("{told}="))
    })
}

/// An earlier stage of the pipe determines the input, unless it merely passes on what is typed.
fn is_fed<'a>(mut programs: impl Iterator<Item = &'a str>) -> bool {
    programs.any(|program| !matches!(program, "cat" | "tee" | "head" | "sed" | "tr"))
}

fn operands(row: &Waits, arguments: &[String]) -> usize {
    let mut words = arguments.iter();
    let mut found = 0;
    while let Some(word) = words.next() {
        let value = word.strip_prefix('-').filter(|rest| rest.len() == 1 && row.values.contains(*rest));
        if value.is_some() {
            words.next();
        } else if !word.starts_with('-') {
            found += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_shell::syntax::Ground;

    #[test]
    fn what_starts_a_program_that_may_wait_is_known() {
        let ground = Ground { cwd: "/p", home: "/home/u", variables: &[] };
        let of = |line: &str| {
            let mut targets = Targets::default();
            targets.line(line, &ground);
            refused(&targets).is_some()
        };
        for line in [
            "docker exec -it web sh",
            "docker exec -i web cat",
            "docker exec --interactive web sh",
            "docker run --rm -it alpine",
            "docker run -e A=1 -it alpine",
            "docker -H tcp://x exec -it web sh",
            "docker attach web",
            "docker compose exec web sh",
            "podman run -ti x",
            "kubectl exec -it pod -- sh",
            "kubectl -n ns exec pod -it -- bash",
            "kubectl run x --stdin --image=y",
            "npm init",
            "npm --prefix web init",
            "npm create vite",
            "yarn create x",
            "poetry shell",
            "git rebase -i HEAD~3",
            "git add -i",
            "gh auth login",
            "crontab -e",
            "less a.txt",
            "man ls",
            "vagrant ssh",
        ] {
            assert!(of(line), "{line}");
        }
        for line in [
            "docker exec web ls",
            "docker exec web grep -i x a",
            "docker run --rm alpine ls -i",
            "docker ps",
            "docker build -t x .",
            "docker compose exec -T web ls",
            "docker compose up -d",
            "kubectl get pods",
            "kubectl exec pod -- grep -i x",
            "npm init -y",
            "npm install",
            "npm ci",
            "npm test",
            "cargo test run",
            "cargo build",
            "go test ./...",
            "make",
            "cargo run",
            "npm run dev",
            "npx thing",
            "uv run x.py",
            "docker exec -it web sh < /dev/null",
            "echo y | npm init",
            "docker exec -i db psql < dump.sql",
            "git add -A",
            "git commit -m x",
            "git rebase main",
            "gh auth status",
            "crontab -l",
            "ls make",
        ] {
            assert!(!of(line), "{line}");
        }
    }

    #[test]
    fn what_waits_for_typing_is_known() {
        let ground = Ground { cwd: "/p", home: "/home/u", variables: &[] };
        let of = |line: &str| {
            let mut targets = Targets::default();
            targets.line(line, &ground);
            refused(&targets).is_some()
        };
        for line in [
            "bash", "sh -i", "/bin/zsh -l", "cd x && bash", "exec bash", "env FOO=1 python3",
            "python3 -i x.py", "node", "cat | bash", "sqlite3 a.db", "psql -h db -U me app",
            "ssh -p 22 host", "vim a.txt", "su", "tmux", "timeout 9 python", "bash -s", "python3 -q", "irb",
        ] {
            assert!(of(line), "{line}");
        }
        for line in [
            "bash -c 'ls'",
            "bash -lc ls",
            "bash x.sh",
            "bash < x.sh",
            "echo ls | bash",
            "python3 x.py",
            "python3 -m pytest",
            "python3 - <<'E'\nprint(1)\nE",
            "node -e 1",
            "sqlite3 a.db 'select 1'",
            "psql -c 'select 1'",
            "ssh host ls",
            "ssh -p 22 host ls",
            "perl -pe 's/a/b/'",
            "node --version",
            "ruby x.rb",
            "php -v",
            "tmux ls",
            "git log",
            "cargo test",
        ] {
            assert!(!of(line), "{line}");
        }
    }
}
