//! Work, stashes, branches and working trees that a git command drops.

use super::{Loss, has, is_place, operands, placed};
use crate::commands::moved_branch;
use crate::danger::value_of;
use crate::flags::is_option;
use crate::syntax::{Bit, Simple, Word};
use std::rc::Rc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitLoss {
    /// Changes to tracked files, below these paths or all of them. `target`: where the new content comes
    /// from.
    Changes {
        paths: Vec<String>,
        target: Target,
    },
    /// Untracked files, below these paths or all below the folder; with `ignored`, ignored files too.
    Untracked {
        paths: Vec<String>,
        ignored: bool,
    },
    Stashes,
    /// Branches, by their short names; empty means all, because the line does not say which.
    Branches(Vec<String>),
    Tags(Vec<String>),
    Worktree(Word),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The index, or the commit that is checked out.
    Same,
    /// A commit, if one has this name; otherwise a path.
    Named(String),
    /// `git checkout NAME`: a commit; a path only if one of this name is on the disk. Needs no rule.
    Either(String),
    /// A commit that the line does not name.
    Unknown,
    /// One side of a conflict, which needs no rule: only what was resolved by hand is nowhere else.
    Side,
}

impl GitLoss {
    /// Whether no rule asks about it, and yet something may be lost.
    pub fn is_free(&self) -> bool {
        matches!(self, Self::Changes { target: Target::Side | Target::Either(_), .. })
    }
}

/// `None` if the command loses none of these, or cannot be listed completely.
pub(super) fn losses(simple: &Simple) -> Option<Vec<Loss>> {
    if simple.assigned.iter().any(|name| name.starts_with("GIT_")) {
        return None;
    }
    let mut words = &simple.words[1..];
    let mut inner: Option<&Word> = None;
    while let [option, value, behind @ ..] = words
        && (option.is("-C") || option.is("-c"))
    {
        if option.is("-C") && inner.replace(value).is_some() || option.is("-c") && is_odd(value) {
            return None;
        }
        words = behind;
    }
    let (verb, words) = words.split_first()?;
    let what = of_verb(&verb.literal()?, words)?;
    let folder = |folder: &Word| inner.map_or_else(|| folder.clone(), |inner| placed(inner, folder));
    let folders: Vec<Word> = simple.folders.iter().map(folder).collect();
    let is_known = |folder: &Word| folder.literal().is_some() || is_place(folder);
    folders.iter().all(is_known).then(|| {
        folders
            .into_iter()
            .map(|folder| match &what {
                GitLoss::Worktree(path) => {
                    Loss::Git { what: GitLoss::Worktree(placed(path, &folder)), folder }
                }
                what => Loss::Git { folder, what: what.clone() },
            })
            .collect()
    })
}

/// Whether an earlier command of the line creates what this one drops, so that it cannot be saved before the
/// line runs.
pub(super) fn is_made(before: &[Rc<Simple>], loss: &Loss) -> bool {
    let Loss::Git { folder, what } = loss else { return false };
    before.iter().filter(|simple| simple.name() == Some("git")).any(|git| {
        let words: Vec<String> = git.words.iter().skip(1).map(Word::lossy).collect();
        let is_value = |at: usize| at > 0 && matches!(words[at - 1].as_str(), "-C" | "-c");
        let is_verb = |at: &usize| !words[*at].starts_with('-') && !is_value(*at);
        let Some(at) = (0..words.len()).find(is_verb) else { return false };
        let verb = words[at].as_str();
        let rest = &words[at + 1..];
        let first = rest.first().map(String::as_str).unwrap_or_default();
        let unstashes = verb == "stash" && matches!(first, "pop" | "apply" | "branch");
        match what {
            GitLoss::Stashes => {
                verb == "stash" && !matches!(first, "apply" | "clear" | "drop" | "list" | "pop" | "show")
            }
            GitLoss::Changes { .. } => {
                // The commits of the branch that is checked out there.
                let adds_tree = verb == "worktree" && first == "add" && !git.folders.contains(folder);
                let is_new = |word: &String| {
                    new_branch(word).is_some() || is_option(word, "-d") || is_option(word, "--detach")
                };
                matches!(verb, "add" | "apply" | "mv" | "stage" | "update-index")
                    || unstashes
                    || adds_tree && !rest.iter().any(is_new)
            }
            GitLoss::Untracked { .. } => {
                verb == "rm" || unstashes || verb == "reset" && !rest.iter().any(|word| word == "--hard")
            }
            GitLoss::Branches(_) | GitLoss::Tags(_) => matches!(verb, "am" | "cherry-pick" | "commit"),
            GitLoss::Worktree(_) => false,
        }
    })
}

/// Whether a setting changes the repository or what runs.
fn is_odd(value: &Word) -> bool {
    let text = value.lossy().to_lowercase();
    ["core.worktree", "alias.", "core.hookspath", "core.fsmonitor", "include"]
        .iter()
        .any(|key| text.starts_with(key))
}

fn of_verb(verb: &str, words: &[Word]) -> Option<GitLoss> {
    let is_firm = words.iter().all(|word| word.literal().is_some());
    let options_said = words.iter().all(|word| word.literal().is_some() || !may_be_option(word));
    match verb {
        "checkout" | "switch" if is_firm && !is_forced(words) && made_anew(words).is_some() => {
            Some(GitLoss::Branches(made_anew(words).into_iter().collect()))
        }
        "checkout" if operand(words).is_some() => {
            operand(words).map(|name| GitLoss::Changes { paths: Vec::new(), target: Target::Either(name) })
        }
        "am" | "cherry-pick" | "merge" | "rebase" | "revert" if is_firm && has(words, &["--abort"]) => {
            Some(GitLoss::Changes { paths: Vec::new(), target: Target::Same })
        }
        "checkout" | "restore" | "reset" | "switch" | "read-tree" | "checkout-index" | "rm" => {
            Some(if is_firm {
                changes(verb, words)
            } else {
                GitLoss::Changes { paths: Vec::new(), target: Target::Unknown }
            })
        }
        // A patch that is taken back may be the only place of these changes.
        "apply" if has(words, &["-R", "--reverse"]) => {
            Some(GitLoss::Changes { paths: Vec::new(), target: Target::Side })
        }
        "clean" if is_firm => {
            let paths = texts(&operands(words, &["-e", "--exclude"]));
            Some(GitLoss::Untracked { paths, ignored: has(words, &["-x", "-X"]) })
        }
        "stash" if is_firm && words.first().is_some_and(|word| word.is("drop") || word.is("clear")) => {
            Some(GitLoss::Stashes)
        }
        "fetch" if is_firm => moved_branches(words).map(GitLoss::Branches),
        "branch" if options_said => Some(GitLoss::Branches(names(words, is_firm))),
        "tag" if options_said && has(words, &["-d", "--delete", "-f", "--force"]) => {
            Some(GitLoss::Tags(names(words, is_firm)))
        }
        "worktree" if is_firm && words.first().is_some_and(|word| word.is("add")) => {
            made_anew(&words[1..]).map(|name| GitLoss::Branches(vec![name]))
        }
        "worktree" if is_firm && words.first().is_some_and(|word| word.is("remove")) => {
            let path = operands(&words[1..], &[]).into_iter().next()?;
            Some(GitLoss::Worktree(path.clone()))
        }
        _ => None,
    }
}

/// The local branches that a fetch points at other commits; `None` if there are none, or it names a pattern.
fn moved_branches(words: &[Word]) -> Option<Vec<String>> {
    let forced = has(words, &["-f", "--force"]);
    let moved: Vec<String> = words.iter().filter_map(|word| moved_branch(&word.lossy(), forced)).collect();
    (!moved.is_empty() && !moved.iter().any(|name| name.contains('*'))).then_some(moved)
}

/// With `--force`, changes are lost as well, and git keeps the branch's log.
fn is_forced(words: &[Word]) -> bool {
    let forces = |text: String| {
        // What is glued to `-B` is a name.
        let end = text.len() - new_branch(&text).map_or(0, str::len);
        ["-f", "--force", "--discard-changes"].iter().any(|option| is_option(&text[..end], option))
    };
    words.iter().map(Word::lossy).any(forces)
}

/// The branch that `checkout -B`, `switch -qC` or `worktree add -B` points at another commit.
fn made_anew(words: &[Word]) -> Option<String> {
    words.iter().enumerate().find_map(|(at, word)| {
        let text = word.lossy();
        let next = || words.get(at + 1).map(Word::lossy);
        if is_option(&text, "--force-create") {
            return text.split_once('=').map(|(_, name)| name.to_owned()).or_else(next);
        }
        let named = new_branch(&text).filter(|named| named.starts_with(['B', 'C']))?;
        if named.len() > 1 { Some(named[1..].to_owned()) } else { next() }
    })
}

/// What follows in a bundle from the letter on that takes the name of a new branch: `Bfix` of `-qBfix`.
fn new_branch(text: &str) -> Option<&str> {
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    letters.find(['b', 'B', 'c', 'C']).map(|at| &letters[at..])
}

/// The only operand of a `git checkout` that makes no branch and is not told which words are paths. A pattern
/// is a path.
fn operand(words: &[Word]) -> Option<String> {
    let is_known = |word: &Word| !word.bits.contains(&Bit::Any) || is_place(word);
    let makes = |word: &Word| new_branch(&word.lossy()).is_some();
    let other = ["-f", "--force", "-d", "--detach", "-t", "--track", "--orphan", "--ours", "--theirs"];
    let is_other = has(words, &other) || has(words, &["--pathspec-from-file"]) || words.iter().any(makes);
    match operands(words, &["--conflict"]).as_slice() {
        [only] if !is_other && words.iter().all(is_known) && !words.iter().any(|word| word.is("--")) => {
            Some(if is_place(only) { ":/".to_owned() } else { only.lossy() })
        }
        _ => None,
    }
}

/// Whether it begins with an unknown part, and so may be an option.
fn may_be_option(word: &Word) -> bool {
    word.bits.first().is_none_or(|bit| !matches!(bit, Bit::Char(c) if *c != '-'))
        && !(word.bits.first() == Some(&Bit::Any) && word.names + word.commits > 0
            || !word.unknown.is_empty())
}

fn names(words: &[Word], is_firm: bool) -> Vec<String> {
    if is_firm { texts(&operands(words, &["-u", "--set-upstream-to", "-m"])) } else { Vec::new() }
}

fn texts(words: &[&Word]) -> Vec<String> {
    words.iter().map(|word| word.lossy()).collect()
}

/// All words must be known. If it is unclear which words are paths, all changes are meant.
fn changes(verb: &str, words: &[Word]) -> GitLoss {
    let end = words.iter().position(|word| word.is("--"));
    let before = &words[..end.unwrap_or(words.len())];
    let behind: Vec<String> = words[end.map_or(words.len(), |at| at + 1)..].iter().map(Word::lossy).collect();
    let valued = ["-s", "--source", "--conflict", "-b", "-B", "-c", "-C", "--pathspec-from-file"];
    let named = texts(&operands(before, &valued));
    let from_file = has(words, &["--pathspec-from-file"]);
    let named_target = |name: Option<&String>| name.map_or(Target::Same, |name| Target::Named(name.clone()));
    let source = || named_target(value_of(before, 's', "--source").map(|word| word.lossy()).as_ref());
    let (paths, target) = match verb {
        "checkout" | "restore" if has(words, &["--ours", "--theirs"]) && !from_file => {
            ([named, behind].concat(), Target::Side)
        }
        _ if from_file => (Vec::new(), Target::Unknown),
        "restore" => ([named, behind].concat(), source()),
        "rm" => ([named, behind].concat(), Target::Same),
        // The words before `--` name a commit; without `--`, the first word may be one, or all are paths.
        "checkout" if end.is_some() => (behind, named_target(named.first())),
        "checkout" | "reset" | "switch" | "read-tree" => (Vec::new(), named_target(named.first())),
        _ => (Vec::new(), Target::Same),
    };
    GitLoss::Changes { paths, target }
}
