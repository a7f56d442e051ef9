//! The commands that only read, and the options by which some of them write after all.

use super::Act;
use super::files::all;
use super::operand::sort;
use crate::shell::syntax::Word;

/// Commands that write no file named by their arguments, however they are called. Sorted.
#[rustfmt::skip]
static READERS: &[&str] = &[
    ".", ":", "[", "ack", "ag", "alias", "apropos", "arch", "b2sum", "base32", "base64", "basename",
    "bat", "batcat", "bc", "bg", "break", "cal", "cat", "cd", "chdir", "cksum", "clear", "cloc", "cmp",
    "colordiff", "column", "comm", "command", "continue", "cut", "date", "declare", "delta", "df", "diff",
    "diff3", "diffstat", "dig", "dirname", "dirs", "disown", "du", "echo", "egrep", "env", "exa", "exit",
    "expand", "export", "expr", "eza", "factor", "false", "fg", "fgrep", "file", "fmt", "fold", "free",
    "getconf", "getent", "getopts", "glow", "grep", "groups", "hash", "hd", "head", "help", "hexdump",
    "history", "host", "hostname", "iconv", "id", "jobs", "join", "jq", "kill", "killall", "ldd", "less",
    "let", "local", "locate", "logname", "look", "ls", "lsb_release", "lsof", "md5", "md5sum",
    "mdfind", "more", "most", "nl", "nm", "nproc", "numfmt", "objdump", "od", "paste", "pbcopy", "pgrep",
    "pidof", "ping", "pkill", "popd", "pr", "printenv", "printf", "ps", "pstree", "pushd", "pwd", "read",
    "readelf", "readlink", "readonly", "realpath", "return", "rev", "rg", "sdiff", "seq", "set", "sha1sum",
    "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum", "shellcheck", "shift", "shopt", "size",
    "sleep", "sort", "source", "stat", "strings", "sum", "tac", "tail", "test", "test-path", "times", "tldr",
    "tokei", "top", "tput", "tr", "trap", "tree", "true", "tsort", "tty", "type", "typeset", "ug", "ugrep",
    "ulimit", "umask", "unalias", "uname", "unexpand", "unset", "uptime", "users", "vmstat", "w",
    "wait", "wc", "whatis", "whereis", "which", "who", "whoami", "wl-copy", "xclip", "yes", "zcat", "zgrep",
    "zless",
];

/// Options by which a reader writes after all.
static OUTPUTS: &[(&str, &[&str])] = &[
    ("sort", &["-o", "--output"]),
    ("tree", &["-o", "--output"]),
    ("less", &["-o", "-O", "--log-file", "--LOG-FILE"]),
    ("diff", &["--output"]),
    ("sdiff", &["-o", "--output"]),
    ("base64", &["-o", "--output"]),
    ("iconv", &["-o", "--output"]),
    ("time", &["-o", "--output"]),
    ("rg", &["--pre"]),
    (
        "curl",
        &[
            "-o",
            "--output",
            "-D",
            "--dump-header",
            "-c",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
        ],
    ),
    ("wget", &["-O", "--output-document", "-o", "--output-file", "-a", "--append-output"]),
    ("strace", &["-o", "--output"]),
    ("aria2c", &["-o", "--out", "-l", "--log", "--save-session"]),
];

pub(super) fn is_reader(name: &str) -> bool {
    READERS.binary_search(&name).is_ok()
}

/// Files a reader writes by option; `None` if it has no such option or none is given.
pub(super) fn outputs(name: &str, arguments: &[Word]) -> Option<Vec<(Word, Act)>> {
    let (_, options) = OUTPUTS.iter().find(|(known, _)| *known == name)?;
    let sorted = sort(arguments, options);
    let mut files = all(&sorted.given(options), Act::Write);
    if matches!(name, "curl" | "wget") {
        let folders = sort(arguments, &["--output-dir", "-P", "--directory-prefix"]);
        let here =
            sorted.has(&["-O", "--remote-name", "--remote-name-all"]) || name == "wget" && files.is_empty();
        let folders = folders.given(&["--output-dir", "-P", "--directory-prefix"]);
        let folder = folders.first().cloned().unwrap_or_else(|| Word::of("."));
        let names = sorted.operands.iter().filter(|_| here).map(Word::last_part);
        files.extend(names.map(|name| (name.from_folder(&folder), Act::Write)));
        return Some(files);
    }
    if name == "aria2c" {
        let folders = sort(arguments, &["-d", "--dir"]).given(&["-d", "--dir"]);
        let folder = folders.first().cloned().unwrap_or_else(|| Word::of("."));
        let names = sorted.operands.iter().map(Word::last_part).map(|name| (name, Act::Write));
        let inside = files.into_iter().chain(names).map(|(file, act)| (file.from_folder(&folder), act));
        return Some(inside.chain([(folder.clone(), Act::Into)]).collect());
    }
    (!files.is_empty()).then_some(files)
}

#[cfg(test)]
mod tests {
    #[test]
    fn readers_are_sorted_so_that_they_are_found() {
        assert!(super::READERS.is_sorted());
    }
}
