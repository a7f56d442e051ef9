//! What git commands touch: the paths they are given, and what `clean` sweeps.

use super::Act;
use super::operand::sort;
use crate::command_line::Word;

/// Paths a git command may write.
pub(super) fn touched(arguments: &[Word]) -> Vec<(Word, Act)> {
    let (folder, rest) = global(arguments);
    let Some((verb, rest)) = rest.split_first() else { return Vec::new() };
    let verb = verb.lossy();
    let valued: &[&str] = match verb.as_str() {
        "format-patch" | "archive" => &["-o", "--output"],
        "clean" => &["-e", "--exclude"],
        _ => &["--output"],
    };
    let sorted = sort(rest, valued);
    let files = sorted.operands.clone();
    let mut all: Vec<(Word, Act)> =
        sorted.given(&["--output", "-o"]).into_iter().map(|f| (f, Act::Write)).collect();
    let paths = match verb.as_str() {
        "clean" if sorted.has(&["-n", "--dry-run"]) => Vec::new(),
        "clean" if files.is_empty() => vec![Word::of(".")],
        "checkout" | "restore" | "rm" | "mv" | "stash" | "checkout-index" | "reset" | "clean" => files,
        "clone" => {
            // Without a folder, that of the address.
            let folder = match files.as_slice() {
                [only] => only.last_part(),
                [.., last] => last.clone(),
                [] => return all,
            };
            all.extend([(folder.clone(), Act::Write), (folder, Act::Become)]);
            Vec::new()
        }
        "worktree" | "init" | "submodule" | "archive" | "bundle" | "hash-object" => {
            all.extend(files.into_iter().map(|file| (file, Act::Write)));
            Vec::new()
        }
        _ => Vec::new(),
    };
    // `git checkout .` puts tracked files back; only a path that names more than the whole tree is ours to judge.
    let sweeping = verb == "clean" || verb == "rm" || verb == "mv";
    let narrow =
        paths.into_iter().filter(|path| sweeping || !(path.is(".") || path.is("./") || path.is(":/")));
    all.extend(narrow.map(|path| (path, Act::Whole)));
    if let Some(folder) = folder {
        for (path, _) in &mut all {
            *path = path.from_folder(&folder);
        }
    }
    all
}

/// `git -C dir -c key=value …`: the folder and the rest.
fn global(arguments: &[Word]) -> (Option<Word>, &[Word]) {
    let mut folder: Option<Word> = None;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.lossy();
        match text.as_str() {
            "-C" | "--work-tree" => {
                let next = arguments.get(at + 1).cloned().unwrap_or_default();
                folder = Some(folder.map_or(next.clone(), |folder| next.from_folder(&folder)));
                at += 2;
            }
            "-c" | "--git-dir" | "--namespace" | "--exec-path" | "--config-env" => at += 2,
            _ if text.starts_with("--work-tree=") => {
                folder = word.past('=');
                at += 1;
            }
            _ if word.is_option() => at += 1,
            _ => break,
        }
    }
    (folder, &arguments[at.min(arguments.len())..])
}

/// Files a patch on standard input names.
pub(super) fn patched(script: &str) -> Vec<Word> {
    let lines =
        script.lines().filter_map(|line| line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")));
    let paths = lines.filter_map(|line| line.split_whitespace().next());
    let stripped =
        paths.map(|path| path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path));
    let renamed = script.lines().filter_map(|line| {
        line.strip_prefix("*** Update File: ")
            .or_else(|| line.strip_prefix("*** Add File: "))
            .or_else(|| line.strip_prefix("*** Delete File: "))
    });
    stripped.chain(renamed).filter(|path| *path != "/dev/null").map(Word::of).collect()
}
