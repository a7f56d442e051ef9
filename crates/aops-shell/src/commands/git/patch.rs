//! Patches: the files that a patch on standard input names, for `patch`, `git apply` and `git am`.

use crate::commands::command::{Act, Files, Invocation, Touched, every};
use crate::syntax::Word;

/// `patch` may write each argument, and what the patch names.
pub(in crate::commands) fn touched(command: &Invocation) -> Touched {
    let mut files = every(command.arguments);
    files.extend(patched(command));
    Touched::files(files)
}

/// Files a patch on standard input names, for `patch`, `git apply` and `git am`.
pub(in crate::commands) fn patched(command: &Invocation) -> Files {
    let applies = command.arguments.iter().any(|word| word.is("apply") || word.is("am"));
    if !applies && !command.name.contains("patch") {
        return Vec::new();
    }
    let sorted = command.sort_by(&["-d= --directory="]);
    let folder = sorted.values(&["-d", "--directory"]).next().cloned();
    let base = folder.clone().unwrap_or_else(|| Word::of("."));
    let script = command.simple.script.as_deref().unwrap_or_default();
    let files = script.lines().flat_map(named).map(|path| (Word::of(path).from_folder(&base), Act::Write));
    files.chain(folder.map(|folder| (folder, Act::Into))).collect()
}

/// The paths in one line of a patch, without the letter git puts before them.
fn named(line: &str) -> Vec<&str> {
    #[rustfmt::skip]
    const HEADS: [&str; 11] = [
        "+++ ", "--- ", "Index: ", "rename to ", "rename from ", "copy to ", "copy from ",
        "diff --git ", "*** Update File: ", "*** Add File: ", "*** Delete File: ",
    ];
    let Some(rest) = HEADS.iter().find_map(|head| line.strip_prefix(head)) else { return Vec::new() };
    let paths = rest.split_whitespace().map(|path| path.trim_matches('"'));
    let bare = |path| str::strip_prefix(path, "a/").or_else(|| str::strip_prefix(path, "b/")).unwrap_or(path);
    paths.map(bare).filter(|path| !path.is_empty() && *path != "/dev/null").collect()
}
