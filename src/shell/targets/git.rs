//! What git commands touch: the paths they are given, and what `clean` sweeps.

use super::operand::sort;
use super::{Act, inner};
use crate::shell::syntax::{Simple, Word, globbed};

/// Verbs that put files of the index or a commit into the tree.
const FILLING: [&str; 6] = ["checkout", "restore", "checkout-index", "read-tree", "reset", "stash"];

/// Paths a git command may write.
pub(super) fn touched(simple: &Simple) -> Vec<(Word, Act)> {
    let (folder, tree, rest) = global(simple);
    let Some((verb, rest)) = rest.split_first() else { return Vec::new() };
    let verb = verb.lossy();
    let valued: &[&str] = match verb.as_str() {
        "format-patch" | "archive" => &["-o", "--output"],
        "clean" => &["-e", "--exclude"],
        _ => &["--output", "--prefix", "--directory"],
    };
    let sorted = sort(rest, valued);
    let mut all: Vec<(Word, Act)> =
        sorted.given(&["--output", "-o"]).into_iter().map(|f| (f, Act::Write)).collect();
    // `checkout-index --prefix=folder/`, `read-tree --prefix=folder/`, `apply --directory=folder`.
    let filling = FILLING.contains(&verb.as_str()) || verb == "apply" || verb == "am";
    let prefix = sorted.given(&["--prefix", "--directory"]).into_iter().find(|_| filling);
    let files: Vec<Word> = sorted.operands.iter().map(pathspec).collect();
    let inside = prefix.iter().flat_map(|prefix| files.iter().map(|file| file.from_folder(prefix)));
    all.extend(inside.map(|file| (file, Act::Write)).collect::<Vec<_>>());
    all.extend(prefix.map(|prefix| (prefix, Act::Into)));
    let paths = match verb.as_str() {
        "clean" if sorted.has(&["-n", "--dry-run"]) => Vec::new(),
        "clean" if files.is_empty() => vec![Word::of(".")],
        "rm" if sorted.has(&["--cached"]) => Vec::new(),
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
    if let Some(folder) = tree.as_ref().filter(|_| filling) {
        all.push((folder.clone(), Act::Into));
    }
    for (path, _) in &mut all {
        for folder in tree.iter().chain(&folder) {
            *path = path.from_folder(folder);
        }
    }
    all
}

/// A path as git reads it: `:(top)a`, `:/a`, and signs of a pattern that were quoted for the shell.
fn pathspec(word: &Word) -> Word {
    let magic = word.starts_with(":(").then(|| word.past(')')).flatten();
    let short = (word.starts_with(":/") && word.bits.len() > 2).then(|| word.after(2));
    globbed(&magic.or(short).unwrap_or_else(|| word.clone()))
}

/// Lines a git command runs: `rebase --exec`, `submodule foreach`, `bisect run`, filters, and settings that are some.
pub(super) fn programs(arguments: &[Word]) -> Vec<String> {
    let mut all = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let text = word.lossy();
        let next = arguments.get(at + 1);
        let value = word.past('=').filter(|_| text.starts_with("--"));
        let runs =
            text.starts_with("--ex") || text == "-x" || text.starts_with("--") && text.contains("-filter");
        if runs {
            all.extend(value.as_ref().or(next).map(inner::code));
        }
        if matches!(text.as_str(), "foreach" | "run") {
            let rest = arguments[at + 1..].iter().filter(|word| !word.is("--recursive"));
            let one = rest.clone().count() == 1;
            all.push(
                rest.map(|word| if one { inner::code(word) } else { inner::quoted(word) })
                    .collect::<Vec<_>>()
                    .join(" "),
            );
        }
        // `-c alias.x='!…'`, `-c core.pager=…`
        let setting = if text == "-c" { next.and_then(|word| word.past('=')) } else { None };
        let glued = (text.starts_with("-c") && text.len() > 2).then(|| word.past('=')).flatten();
        all.extend(setting.or(glued).as_ref().map(inner::code));
        if text == "config" {
            all.extend(arguments.last().filter(|word| word.starts_with("!")).map(inner::code));
        }
    }
    all
}

/// `git -C dir --work-tree=dir …`: where it goes, where its tree is, and the rest.
fn global(simple: &Simple) -> (Option<Word>, Option<Word>, &[Word]) {
    let arguments = &simple.words[1..];
    let set = simple.assigned.iter().zip(&simple.values).find(|(name, _)| *name == "GIT_WORK_TREE");
    let (mut folder, mut tree): (Option<Word>, _) = (None, set.map(|(_, value)| value.clone()));
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.lossy();
        match text.as_str() {
            "-C" => {
                let next = arguments.get(at + 1).cloned().unwrap_or_default();
                folder = Some(folder.map_or(next.clone(), |folder| next.from_folder(&folder)));
                at += 2;
            }
            "--work-tree" => {
                tree = arguments.get(at + 1).cloned();
                at += 2;
            }
            "-c" | "--git-dir" | "--namespace" | "--exec-path" | "--config-env" => at += 2,
            _ if text.starts_with("--work-tree=") => {
                tree = word.past('=');
                at += 1;
            }
            _ if word.is_option() => at += 1,
            _ => break,
        }
    }
    (folder, tree, &arguments[at.min(arguments.len())..])
}

/// Files a patch on standard input names, for `patch`, `git apply` and `git am`.
pub(super) fn patched(simple: &Simple) -> Vec<(Word, Act)> {
    let applies = simple.words.iter().any(|word| word.is("apply") || word.is("am"))
        || simple.name().is_some_and(|name| name.contains("patch"));
    if !applies {
        return Vec::new();
    }
    let sorted = sort(&simple.words[1..], &["-d", "--directory"]);
    let folder = sorted.given(&["-d", "--directory"]).into_iter().next();
    let base = folder.clone().unwrap_or_else(|| Word::of("."));
    let script = simple.script.as_deref().unwrap_or_default();
    let files = script.lines().flat_map(named).map(|path| (Word::of(path).from_folder(&base), Act::Write));
    files.chain(folder.map(|folder| (folder, Act::Into))).collect()
}

/// The paths in one line of a patch, without the letter git puts before them.
fn named(line: &str) -> Vec<&str> {
    const HEADS: [&str; 11] = [
        "+++ ",
        "--- ",
        "Index: ",
        "rename to ",
        "rename from ",
        "copy to ",
        "copy from ",
        "diff --git ",
        "*** Update File: ",
        "*** Add File: ",
        "*** Delete File: ",
    ];
    let Some(rest) = HEADS.iter().find_map(|head| line.strip_prefix(head)) else { return Vec::new() };
    let plain = |path: &'_ str| path.trim_matches('"').len();
    let paths = rest.split_whitespace().filter(|path| plain(path) > 0).map(|path| path.trim_matches('"'));
    let bare = |path| str::strip_prefix(path, "a/").or_else(|| str::strip_prefix(path, "b/")).unwrap_or(path);
    paths.map(bare).filter(|path| *path != "/dev/null").collect()
}
