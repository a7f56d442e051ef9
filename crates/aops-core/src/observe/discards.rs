//! Whether a line that discards changes in git's working tree would really discard any.
//!
//! Asks git about the paths that the line names, and only once the danger rule has found something.
//! Invariant: if the line does anything else, has a form that we do not know, or git does not answer,
//! something may be lost.

use crate::model::call::ToolCall;
use crate::system::disk::DISK;
use crate::system::env::Env;
use crate::system::git;
use crate::tool::danger::{self, Danger};
use crate::tool::targets::{CommandRun, Targets};
use aops_shell::syntax::{Ground, Line, Word};
use std::path::{Path, PathBuf};

/// The dangers of this call, without commands that would discard nothing.
pub(super) fn left(
    env: &Env,
    call: &ToolCall,
    line: Option<&Line>,
    ground: &Ground,
    reach: &Targets,
) -> Vec<Danger> {
    let mut dangers = danger::of(&call.key.tool, &call.input, line, ground, Some(DISK));
    let discards = |danger: &Danger| danger.rule.id() == "git-discard";
    if dangers.iter().any(discards) && line.is_some_and(|line| loses_nothing(env, line, reach)) {
        dangers.retain(|danger| !discards(danger));
    }
    dangers
}

fn loses_nothing(env: &Env, line: &Line, reach: &Targets) -> bool {
    let is_plain = !line.unclear && !line.background && line.guessed.is_none() && reach.hidden.is_empty();
    let moves_git = |run: &CommandRun| run.assigned.iter().any(|name| name.starts_with("GIT_"));
    let writes = |run: &CommandRun| !run.command.writes.is_empty() || run.command.function;
    is_plain
        && !reach.runs.is_empty()
        && reach.runs.iter().all(|run| {
            !moves_git(run) && !writes(run) && (run.reads || fetches(run) || discards_nothing(env, run))
        })
}

/// The verb of a git command, the words after it, and the folders that it may run in.
fn git_words(run: &CommandRun) -> Option<(String, Vec<String>, Vec<PathBuf>)> {
    let simple = &run.command;
    let words: Vec<String> =
        simple.words.iter().filter(|word| word.is_firm()).filter_map(Word::literal).collect();
    let mut folders: Vec<PathBuf> =
        simple.folders.iter().filter_map(Word::literal).map(PathBuf::from).collect();
    if words.len() != simple.words.len()
        || folders.len() != simple.folders.len()
        || simple.name() != Some("git")
    {
        return None;
    }
    let mut rest = &words[1..];
    if let [option, folder, behind @ ..] = rest
        && option == "-C"
    {
        for at in &mut folders {
            *at = at.join(folder);
        }
        rest = behind;
    }
    let (verb, rest) = rest.split_first()?;
    Some((verb.clone(), rest.to_vec(), folders))
}

fn fetches(run: &CommandRun) -> bool {
    git_words(run).is_some_and(|(verb, ..)| verb == "fetch")
}

fn discards_nothing(env: &Env, run: &CommandRun) -> bool {
    let Some((verb, words, folders)) = git_words(run) else { return false };
    let Some(paths) = discarded(&verb, &words) else { return false };
    !folders.is_empty() && folders.iter().all(|folder| is_clean(env, folder, &paths))
}

fn is_clean(env: &Env, folder: &Path, paths: &[&str]) -> bool {
    git::has_changes(env, folder, paths) == Some(false)
}

/// The paths whose changes a command discards; an empty list means all of them. `None` if it may lose
/// something else.
fn discarded<'w>(verb: &str, words: &'w [String]) -> Option<Vec<&'w str>> {
    let free: &[&str] = match verb {
        "reset" => &["--hard", "-q", "--quiet"],
        "checkout" => &["-q", "--quiet"],
        "submodule" => &["-q", "--quiet", "-f", "--force", "--init", "--recursive"],
        "restore" => &["-q", "--quiet", "-W", "--worktree", "-S", "--staged", "--source=HEAD"],
        _ => return None,
    };
    let (options, paths) = match words.iter().position(|word| word == "--") {
        Some(at) => (&words[..at], Some(&words[at + 1..])),
        None => (words, None),
    };
    let before: Vec<&str> = options.iter().map(String::as_str).filter(|word| !free.contains(word)).collect();
    let behind: Vec<&str> = paths.unwrap_or_default().iter().map(String::as_str).collect();
    match (verb, before.as_slice()) {
        _ if before.iter().any(|word| word.starts_with('-')) => None,
        ("submodule", ["update", named @ ..]) => Some([named, &behind].concat()),
        // Resetting to another commit would drop commits.
        ("reset", [] | ["HEAD" | "@"]) if paths.is_none() && words.iter().any(|word| word == "--hard") => {
            Some(behind)
        }
        ("checkout", [] | ["HEAD" | "@"]) if !behind.is_empty() => Some(behind),
        // A single word is a path or a branch; the first of several may be another commit.
        ("checkout", [path] | ["HEAD" | "@", path]) if paths.is_none() => Some(vec![path]),
        ("restore", named) if named.len() + behind.len() > 0 => Some([named, &behind].concat()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_throw_away_changes_of_paths_alone() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            discarded(&words[0], &words[1..]).map(|paths| paths.join(" "))
        };
        for (line, paths) in [
            ("reset --hard", ""),
            ("reset --hard -q HEAD", ""),
            ("checkout -- a b", "a b"),
            ("checkout HEAD -- a", "a"),
            ("checkout .", "."),
            ("checkout HEAD a", "a"),
            ("restore a b", "a b"),
            ("restore --staged --worktree -- a", "a"),
            ("submodule update --init --force", ""),
            ("submodule update -f -- libs/a", "libs/a"),
        ] {
            assert_eq!(of(line).as_deref(), Some(paths), "{line}");
        }
        for line in [
            "reset --hard HEAD~1",
            "reset --hard origin/main",
            "reset --merge",
            "reset HEAD",
            "checkout -f",
            "checkout -f main",
            "checkout main a",
            "checkout main -- a",
            "checkout -p",
            "restore --source=HEAD~1 a",
            "submodule update --force --remote",
            "submodule deinit -f a",
            "restore -s main a",
            "restore --pathspec-from-file=x",
            "switch -f main",
            "rm -f a",
            "stash drop",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
