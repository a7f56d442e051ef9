//! Options whose value another program runs: one table for all programs, read as GNU programs read options.

use super::Search;
use super::call::Call;
use super::code;
use super::typed::line;
use crate::commands::given;
use crate::syntax::Word;

/// What the value is.
#[derive(Clone, Copy)]
enum Value {
    /// A shell line, or a program with its arguments.
    Line,
    /// The same, and it gets the name of each file that the program works on.
    Filter,
    /// Source code for the interpreter.
    Code,
}
use Value::{Code, Filter, Line};

#[rustfmt::skip]
static ROWS: &[(&[&str], &[&str], Value)] = &[
    (&["tar", "gtar", "bsdtar"], &[
        "-I", "-F", "--use-compress-program", "--info-script", "--new-volume-script", "--to-command", "--rsh-command",
        "--rmt-command", "--checkpoint-action",
    ], Line),
    (&["cpio"], &["--rsh-command"], Line),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"], Line),
    (&["ssh", "scp", "sftp", "autossh"], &["-o"], Line),
    (&["scp", "sftp"], &["-S", "-D"], Line),
    (&["man"], &["-P", "--pager", "-H", "--html"], Line),
    (&["ag", "ack", "bat", "batcat", "delta", "mysql", "mariadb"], &["--pager"], Line),
    (&["rg"], &["--pre"], Filter),
    (&["rg"], &["--hostname-bin"], Line),
    (&["fzf"], &["--preview"], Line),
    (&["sort", "gsort"], &["--compress-program"], Line),
    (&["split", "gsplit"], &["--filter"], Line),
    (&["zip"], &["-TT", "--unzip-command"], Line),
    (&["wget"], &["--use-askpass"], Line),
    (&["aria2c"], &["--on-download-complete", "--on-download-error", "--on-download-start", "--on-download-stop"], Line),
    (&["go"], &["-exec", "-toolexec"], Line),
    (&["cargo"], &["-s", "--shell"], Line),
    (&["npm", "pnpm", "yarn"], &["--script-shell"], Line),
    (&["bazel", "bazelisk"], &["--run_under"], Line),
    (&["hyperfine"], &["-p", "-s", "-c", "--prepare", "--setup", "--cleanup", "--conclude"], Line),
    (&["fish", "nix-shell", "nu", "script", "sg", "su", "xonsh"], &["-c", "--command"], Line),
    (&["nix-shell"], &["--run"], Line),
    (&["php"], &["-B", "-R", "-E", "--run", "--process-begin", "--process-code", "--process-end"], Code),
    (&["awk", "gawk", "mawk", "nawk"], &["-e", "--source"], Code),
];

/// Judges the values of these options as if they had been typed.
pub(super) fn options(search: &mut Search, call: &Call) {
    for (_, options, value) in ROWS.iter().filter(|(names, ..)| names.contains(&call.name)) {
        for word in given(call.words, options) {
            let text = setting(call.name, &word.code());
            match value {
                Line => line(search, &text, call.simple),
                Filter => search.text(&format!("git ls-files | xargs {text}"), call.simple),
                Code => code::judge(search, call.simple, &text),
            }
        }
    }
    banged(search, call);
}

/// `-o ProxyCommand=line`, `-o 'ProxyCommand line'`, `--checkpoint-action=exec=line`: what is run of a
/// setting.
fn setting(program: &str, text: &str) -> String {
    match program {
        "tar" | "gtar" | "bsdtar" => text.trim_start_matches("exec=").to_owned(),
        "ssh" | "scp" | "sftp" | "autossh" => match text.split_once(['=', ' ']) {
            Some((name, line)) if name.to_lowercase().ends_with("command") => line.to_owned(),
            Some(_) => String::new(),
            None => text.to_owned(),
        },
        _ => text.to_owned(),
    }
}

/// `less '+!line'`, `sftp <<< '!line'`, `lftp -e '!line'`: text that a program at work hands to a shell.
fn banged(search: &mut Search, call: &Call) {
    let rows = match call.name {
        "less" | "more" | "most" => {
            let given = call.texts.iter().filter_map(|text| text.strip_prefix('+'));
            given.map(str::to_owned).collect()
        }
        "ftp" | "sftp" | "lftp" | "dc" | "bc" => {
            let given = given(call.words, &["-e", "-c"]).into_iter().map(|word| word.code());
            given.chain(call.simple.script.clone()).collect::<Vec<String>>()
        }
        // They start a shell that reads it.
        "newgrp" | "script" => {
            let script = call.simple.script.iter();
            return script.for_each(|text| search.text(text, call.simple));
        }
        _ => return,
    };
    for row in rows.iter().flat_map(|text| text.split(['\n', ';'])) {
        if let Some(line) = row.trim_start().strip_prefix('!') {
            search.text(line, call.simple);
        }
    }
}

/// Programs that may begin among the words of another one, which no rule knows: `rbenv exec rm -rf x`.
#[rustfmt::skip]
const BEHIND: &[&str] = &[
    "bash", "chmod", "chown", "dash", "dd", "docker", "find", "git", "kubectl", "mv", "node", "perl", "psql", "python", "python3",
    "rm", "ruby", "sh", "shred", "terraform", "truncate", "unlink", "zsh",
];
/// Programs that look their words up.
#[rustfmt::skip]
const LOOKING: &[&str] = &[
    "apropos", "brew", "cheat", "command", "grep", "help", "howdoi", "info", "man", "navi", "pacman", "tldr", "type", "whatis",
    "whereis", "which",
];

/// The command that begins at one of the arguments.
pub(super) fn behind(search: &mut Search, call: &Call) {
    if LOOKING.contains(&call.name) {
        return;
    }
    let begins = |word: &Word| {
        let name = word.last_part();
        BEHIND.iter().any(|known| name.is(known))
    };
    for at in (0..call.words.len()).filter(|at| begins(&call.words[*at])).take(4) {
        search.words(call.from(at), call.simple);
    }
}
