//! Finds commands that wait for what is typed into them: shells, interpreters, consoles, editors.
//!
//! Why: Codex types into a running command without asking a hook, so whatever such a program is told to do passes unseen.
//! Invariant: a command that the line itself feeds, or that is given its program, does not wait.

use crate::tool::targets::{CommandRun, Targets};
use aops_shell::syntax::Word;

/// Programs that wait for typing while they have no more operands than `most` and none of the options `told`.
struct Waits {
    names: &'static [&'static str],
    most: usize,
    /// Options with which it is told what to do; one letter stands in a cluster too.
    told: &'static [&'static str],
    /// Letters of options that take the next word.
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

/// Why this call would leave a program that waits for typing.
pub(super) fn refused(targets: &Targets) -> Option<String> {
    let run = targets.runs.iter().find(|run| waits(run))?;
    let line = run.command.words.iter().map(Word::lossy).collect::<Vec<_>>().join(" ");
    Some(format!(
        "`{}` waits for what is typed into it, and no hook sees that\n\
         hint: give it its commands in the line itself: `bash -c '…'`, `python3 -c '…'`, a script, a here-document",
        super::clip(&line)
    ))
}

/// Why this call edits files where no hook sees it end.
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
    let Some(row) = simple.name().and_then(|name| WAITING.iter().find(|row| row.names.contains(&name))) else {
        return false;
    };
    let arguments: Vec<String> = simple.words[1..].iter().map(Word::lossy).collect();
    let asks = arguments.iter().any(|word| word == "-i" || word == "--interactive");
    if arguments.iter().any(|word| is_told(row, word)) {
        return false;
    }
    let fed = simple.script.is_some() || !simple.arriving.is_empty() || is_fed(simple.fed.iter().map(AsRef::as_ref));
    asks && row.most == 0 || !fed && operands(row, &arguments) <= row.most
}

fn is_told(row: &Waits, word: &str) -> bool {
    row.told.iter().any(|told| {
        let letter = told.strip_prefix('-').filter(|letter| letter.len() == 1);
        let clustered =
            letter.is_some_and(|letter| word.starts_with('-') && !word.starts_with("--") && word.contains(letter));
        word == *told || clustered || told.starts_with("--") && word.starts_with(&format!("{told}="))
    })
}

/// A stage before it says what arrives; one that hands on what is typed does not.
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
    fn what_waits_for_typing_is_known() {
        let ground = Ground { cwd: "/p", home: "/home/u", variables: &[] };
        let of = |line: &str| {
            let mut targets = Targets::default();
            targets.line(line, &ground);
            refused(&targets).is_some()
        };
        for line in [
            "bash", "sh -i", "/bin/zsh -l", "cd x && bash", "exec bash", "env FOO=1 python3", "python3 -i x.py",
            "node", "cat | bash", "sqlite3 a.db", "psql -h db -U me app", "ssh -p 22 host", "vim a.txt", "su", "tmux",
            "timeout 9 python", "bash -s", "python3 -q", "irb",
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
