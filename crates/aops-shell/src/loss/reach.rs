//! Whether a line can still reach a file that it removed. If not, a second name of the file is a copy of it.
//!
//! Reads the line; knows nothing of the disk. Invariant: a command that is not known to leave contents alone
//! may have made another name, or hold the file open.

use crate::syntax::{Line, Simple, Word};

/// Programs that remove, or that change no content of an existing file: git makes files anew.
const HARMLESS: [&str; 41] = [
    ":", "[", "basename", "cat", "cd", "date", "diff", "dirname", "du", "echo", "egrep", "exit", "false",
    "file", "find", "git", "grep", "grm", "head", "ls", "mkdir", "popd", "printf", "pushd", "pwd",
    "readlink", "realpath", "rg", "rm", "rmdir", "set", "sleep", "sort", "stat", "tail", "test", "tree",
    "true", "unlink", "wc", "which",
];
const REMOVERS: [&str; 6] = ["find", "git", "grm", "rm", "unlink", "xargs"];
/// Parts of words that make a line go back, or run two commands at once.
const RETURNING: [&str; 8] = ["for", "while", "until", "select", "coproc", "trap", ">(", "<("];

/// After its last removal a line may do anything: the removed file has no name any more. Before that, and in
/// a pipe beside it, only harmless commands may run.
pub(super) fn is_out_of_reach(line: &Line) -> bool {
    let is_unsure = line.background || line.unclear || line.beyond || !line.unread.is_empty();
    if is_unsure || !line.functions.is_empty() {
        return false;
    }
    let is_named = |simple: &Simple| simple.name().is_none_or(|name| REMOVERS.contains(&name));
    let goes_back = RETURNING.iter().any(|word| line.text.contains(word)) || !line.programs.is_empty();
    let removed = line.commands.iter().rposition(|simple| is_named(simple)).map_or(0, |at| at + 1);
    let before = if goes_back { line.commands.len() } else { removed };
    let together = line.commands[before..].iter().filter(|simple| !simple.fed.is_empty());
    line.commands[..before].iter().chain(together).all(|simple| is_harmless(simple))
}

fn is_harmless(simple: &Simple) -> bool {
    let Some(name) = simple.name().filter(|name| HARMLESS.contains(name) && !simple.function) else {
        return false;
    };
    let into: &[&str] = match name {
        "find" => &["-exec", "-ok", "-fls", "-fprint"],
        "git" | "sort" | "tree" => &["-o", "--o"],
        _ => &[],
    };
    let is_into = |word: &Word| into.iter().any(|option| word.starts_with(option));
    !simple.words.iter().any(is_into) && simple.writes.iter().all(|file| file.is("/dev/null"))
}

#[cfg(test)]
mod tests {
    use crate::syntax::{Ground, cut};

    #[test]
    fn a_removed_file_is_out_of_reach_unless_something_else_may_hold_it() {
        let reached = |text: &str| {
            let ground = Ground { cwd: "/p", home: "/h", variables: &[] };
            !super::is_out_of_reach(&cut(text, &ground))
        };
        for line in [
            "rm a",
            "rm -rf a && make",
            "cd x && ls && rm -f a; npm run build > log",
            "git add -A; rm -r a",
            "rm a 2>/dev/null",
            "cat a; git clean -fd",
            "find . -name '*.o' -delete",
            "rm a | cat",
        ] {
            assert!(!reached(line), "{line}");
        }
        for line in [
            "touch a; rm a",
            "ln a b; rm a; : > b",
            "cp -l a b; rm a",
            "exec 3>>a; rm a; echo x >&3",
            "python3 -c 'x' & rm a",
            "rm a | python3 x.py",
            "f() { ln $1 b; }; f a; rm a",
            "rm -v a >> a",
            "for f in a b; do rm $f; ln b c; done",
            "rm a > >(python3 x.py)",
            "git log --output=a; rm a",
            "sort -o a b; rm a",
            "find . -exec truncate -s0 {} +; rm a",
            "$X a; rm a",
            "trap 'ln a b' DEBUG; rm a",
        ] {
            assert!(reached(line), "{line}");
        }
    }
}
