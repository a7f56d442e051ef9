//! `git` by its verb: verbs that only look, verbs that close the work (`add`, `commit`, `push`, `tag`,
//! `fetch`), and all others; which paths it touches, and which programs it runs.
//!
//! Invariant: `-c` and similar options can make any verb run a program, so only settings known to be harmless
//! pass. The configuration of another repository can too, so `--git-dir` and `--work-tree` never pass.

mod verbs;
mod carried;

use super::command::{Act, Class, Files, Invocation, Touched, every};
use super::options::Sorted;
use crate::effect::Effect;
use crate::syntax::{Word, globbed};
pub use carried::lines;
use verbs::{BRANCHES, DIFF, LOG, LOOKING, SUBVERBS, TAGS};

/// Options before the verb.
const GLOBAL: &str = "-pP -C= --no-pager --paginate --namespace= --no-optional-locks --bare \
    --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-advice \
    --version --help --html-path --man-path --info-path --exec-path";

/// Options before the verb that take the next word.
const VALUED: [&str; 7] =
    ["-C", "--work-tree", "-c", "--git-dir", "--namespace", "--exec-path", "--config-env"];

/// Settings that only change how git prints, or a name recorded in a commit: by prefix, and by full name.
static SETTINGS: &[&str] = &[
    "color.", "core.quotepath=", "advice.", "user.name=", "user.email=", "diff.noprefix=",
    "log.showsignature=", "core.abbrev=", "diff.renames=",
];
const WHOLE: [&str; 3] = ["core.pager=cat", "commit.gpgsign=false", "tag.gpgsign=false"];

const CLOSING: [&str; 5] = ["add", "commit", "fetch", "push", "tag"];

pub(super) fn class(command: &Invocation) -> Class {
    let Some(at) = verb_at(command)? else { return Ok(Effect::Read) };
    let word = &command.arguments[at];
    let Some(verb) = word.literal().filter(|_| word.is_firm()) else {
        return Err(command.refusal(&word.lossy()));
    };
    let said = format!("git {verb}");
    let rest = Invocation { name: &said, arguments: &command.arguments[at + 1..], ..*command };
    if CLOSING.contains(&verb.as_str()) {
        return closing(&verb, &rest);
    }
    if let Ok(row) = LOOKING.binary_search_by_key(&verb.as_str(), |(known, _)| known) {
        let sorted = rest.sorted_by(LOOKING[row].1)?;
        return rest.unless(sorted.operands.into_iter().find(|word| verb == "ls-remote" && is_program(word)));
    }
    by_operands(&verb, &rest)
}

/// The position of the verb; `None` if git is only asked about itself.
fn verb_at(command: &Invocation) -> Result<Option<usize>, String> {
    let mut at = 0;
    while let Some(word) = command.arguments.get(at) {
        if !word.is_option() {
            // A word that may be an option, or vanish, would move the verb.
            return if word.shifts.is_some() { Err(command.refusal(&word.lossy())) } else { Ok(Some(at)) };
        }
        let setting = command.arguments.get(at + 1).filter(|_| word.is("-c"));
        if let Some(setting) = setting {
            let text = setting.lossy().to_lowercase();
            let key = text.find('=').map_or(text.len(), |at| at + 1);
            let firm = setting.shifts.is_none_or(|from| from >= key) && !setting.splits;
            let known =
                SETTINGS.iter().any(|known| text.starts_with(known)) || WHOLE.contains(&text.as_str());
            if !firm || !known {
                return Err(command.refusal(&format!("-c {text}")));
            }
            at += 2;
            continue;
        }
        let pair = &command.arguments[at..(at + 2).min(command.arguments.len())];
        let sorted = Invocation { arguments: &pair[..1], ..*command }.sorted_by(&[GLOBAL])?;
        let valued = matches!(word.lossy().as_str(), "-C" | "--namespace");
        if valued && pair.get(1).is_none_or(|value| value.splits) || word.starts_with("--exec-path=") {
            return Err(command.refusal(&word.lossy()));
        }
        if sorted.has(&["--version", "--help", "--exec-path"]) {
            return Ok(None);
        }
        at += 1 + usize::from(valued);
    }
    Ok(None)
}

/// Whether this remote address runs a program (`ext::sh -c …`), or might.
fn is_program(word: &Word) -> bool {
    word.lossy().contains("::") || word.shifts == Some(0)
}

/// `add`, `commit`, `push`, `tag`, `fetch`; listing tags is a read.
fn closing(verb: &str, command: &Invocation) -> Class {
    if verb == "tag"
        && let Ok(sorted) = command.sorted_by(&[TAGS])
        && lists(&sorted)
    {
        return Ok(Effect::Read);
    }
    for word in command.arguments {
        let text = word.lossy();
        // These run a program that the line names, on this machine or the remote one.
        let runs =
            ["--rec", "--upl", "--exe"].iter().any(|option| text.starts_with(option)) || text.contains("::");
        if runs && matches!(verb, "push" | "fetch") {
            return Err(command.refusal(&text));
        }
    }
    Ok(Effect::Close)
}

/// Whether it lists refs: no operand would create one, unless an option says it is a pattern.
fn lists(sorted: &Sorted) -> bool {
    let patterns = ["-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged"];
    sorted.operands.is_empty() || sorted.has(&patterns)
}

/// Verbs that look or change depending on what follows: the first word, or the word after options that may
/// come first.
fn by_operands(verb: &str, command: &Invocation) -> Class {
    let first = command.arguments.first();
    let leading = ["-v", "--verbose", "-q", "--quiet"];
    let skips = matches!(verb, "notes" | "remote" | "submodule")
        && first.is_some_and(|word| {
            word.is_firm() && (leading.iter().any(|option| word.is(option)) || word.starts_with("--ref="))
        });
    let first = if skips { command.arguments.get(1) } else { first };
    let sub = first.filter(|word| word.is_firm()).map(Word::lossy).unwrap_or_default();
    if let Some((.., lists)) = SUBVERBS.iter().find(|(name, subs, _)| {
        // `""` in the list means no operand; an operand of unknown value also has an empty text, but is not
        // meant.
        *name == verb
            && (subs.is_empty() || subs.contains(&sub.as_str()) && (first.is_none() || !sub.is_empty()))
    }) {
        return command.reads_if(command.sorted_by(lists).is_ok(), &sub);
    }
    let looks = match verb {
        "branch" => lists(&command.sorted_by(&[BRANCHES])?),
        "remote" if sub == "show" || sub == "get-url" => {
            !command.sorted_by(&["-nv --push --all"])?.operands.into_iter().any(is_program)
        }
        "reflog" => {
            let changes =
                |word: &Word| ["expire", "delete", "drop", "write"].iter().any(|verb| word.is(verb));
            command.sorted_by(&[DIFF, LOG]).is_ok() && !command.arguments.iter().any(changes)
        }
        "symbolic-ref" => is_one(&command.sorted_by(&["-q --short --quiet --no-recurse"])?),
        "config" => return config(command),
        "clean" => command.sorted_by(&["-ndxXq -e= --dry-run --exclude="])?.has(&["-n", "--dry-run"]),
        "apply" => command
            .sorted_by(&["-p= -R --check --stat --numstat --summary --reverse --verbose --directory="])?
            .has(&["--check", "--stat", "--numstat", "--summary"]),
        _ => false,
    };
    command.reads_if(looks, &sub)
}

/// Exactly one operand, and it cannot split into several words.
fn is_one(sorted: &Sorted) -> bool {
    matches!(sorted.operands.as_slice(), [only] if !only.is_several())
}

/// `git config` reads one key or lists them; a second operand would be the new value.
fn config(command: &Invocation) -> Class {
    let sorted = command.sorted_by(&[
        "-lz -f= --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --global --local --system \
         --worktree --file= --blob= --type= --bool --int --path --null --name-only --show-origin --show-scope --includes \
         --no-includes --default= --all --regexp --value= --fixed-value --url= --no-type",
    ])?;
    let first = command.arguments.first().filter(|word| word.is_firm()).map(Word::lossy).unwrap_or_default();
    let is_verb = matches!(first.as_str(), "get" | "list");
    // After a key, an option is the new value: `git config a.b --get`.
    let key = sorted
        .operands
        .first()
        .and_then(|key| command.arguments.iter().position(|word| std::ptr::eq(*key, word)));
    let late =
        key.filter(|_| !is_verb).and_then(|at| command.arguments[at..].iter().find(|word| word.is_option()));
    command.unless(late)?;
    let named = sorted.options.iter().any(|(name, _)| name.starts_with("--get"));
    let lists = sorted.has(&["-l", "--list"]) || is_verb;
    let changes = |word: &&Word| {
        ["edit", "set", "unset", "rename-section", "remove-section"].iter().any(|verb| word.is(verb))
    };
    let plain = is_one(&sorted) && !sorted.operands.iter().any(changes);
    command.reads_if(named || lists || plain, &first)
}

/// Verbs that write files from the index or a commit into the tree.
const FILLING: [&str; 6] = ["checkout", "restore", "checkout-index", "read-tree", "reset", "stash"];

pub(super) fn touched(command: &Invocation) -> Touched {
    let mut files = written(command);
    files.extend(patched(command));
    Touched { files, lines: lines(command.arguments), ..Touched::default() }
}

fn written(command: &Invocation) -> Files {
    let (folder, tree, rest) = global(command);
    let Some((verb, rest)) = rest.split_first() else { return Vec::new() };
    let verb = verb.lossy();
    let options = match verb.as_str() {
        "format-patch" | "archive" => "-o> --output>",
        "clean" => "-dfinqxX -e= --exclude= --dry-run --force --interactive --quiet",
        _ => "-P= --output> --prefix= --directory= --cached",
    };
    let sorted = Invocation { arguments: rest, ..*command }.sort_by(&[options]);
    let filling = FILLING.contains(&verb.as_str()) || verb == "apply" || verb == "am";
    let files: Vec<Word> = sorted.operands.iter().map(|word| pathspec(word)).collect();
    let mut all = written_by_options(&sorted, &files, filling);
    all.extend(trees(&verb, &sorted, &files).map(|place| (place.clone(), Act::Become)));
    let paths = match verb.as_str() {
        "clean" if sorted.has(&["-n", "--dry-run"]) => Vec::new(),
        "clean" if files.is_empty() => vec![Word::of(".")],
        "rm" if sorted.has(&["--cached"]) => Vec::new(),
        "checkout" | "restore" | "rm" | "mv" | "stash" | "checkout-index" | "reset" | "clean" => files,
        "clone" => {
            all.extend(cloned(&files));
            Vec::new()
        }
        "worktree" | "init" | "submodule" | "archive" | "bundle" | "hash-object" => {
            all.extend(files.into_iter().map(|file| (file, Act::Write)));
            Vec::new()
        }
        _ => Vec::new(),
    };
    // `git checkout .` puts tracked files back, so it is not listed here; `clean`, `rm` and `mv` of the whole
    // tree are.
    let sweeping = verb == "clean" || verb == "rm" || verb == "mv";
    let narrow = paths.into_iter().filter(|path| sweeping || !is_around(path));
    let ignored = verb != "clean" || sorted.odd.is_some() || sorted.has(&["-x", "-X"]);
    // What is put back is tracked, and never what git ignores.
    let whole = ignored && sweeping;
    let act = spared(&verb, &sorted).unwrap_or(if whole { Act::Whole } else { Act::Sweep });
    all.extend(narrow.map(|path| (path, act)));
    all.extend(tree.as_ref().filter(|_| filling).map(|folder| (folder.clone(), Act::Into)));
    for (path, _) in &mut all {
        for folder in tree.iter().chain(&folder) {
            *path = path.from_folder(folder);
        }
    }
    all
}

/// The folder that git runs in, one above it, or the whole tree.
fn is_around(path: &Word) -> bool {
    let is_step = |part: &str| matches!(part, "" | "." | "..");
    let text = path.literal().unwrap_or_default();
    text == ":/" || !text.is_empty() && !text.starts_with('/') && text.split('/').all(is_step)
}

/// `git clean -e .claude` of the whole tree. With `-X`, `-e` would instead remove such a folder, and we do
/// not follow a pattern that exempts it again.
fn spared(verb: &str, sorted: &Sorted) -> Option<Act> {
    let whole = sorted.operands.iter().all(|word| word.is("."));
    if verb != "clean" || !whole || sorted.odd.is_some() || sorted.has(&["-X"]) {
        return None;
    }
    let kept: Option<Vec<String>> = sorted.values(&["-e", "--exclude"]).map(Word::literal).collect();
    let kept = kept.filter(|kept| !kept.iter().any(|pattern| pattern.starts_with('!')))?;
    let is_kept = |name: &str| kept.iter().any(|pattern| pattern.trim_end_matches('/') == name);
    is_kept(".claude").then(|| if is_kept(".aops") { Act::SpareBoth } else { Act::Spare })
}

/// The folder of `git clone`; without one, it is named after the URL.
fn cloned(files: &[Word]) -> Files {
    let folder = files.last().map(|last| if files.len() == 1 { last.last_part() } else { last.clone() });
    folder.into_iter().flat_map(|folder| [(folder.clone(), Act::Write), (folder, Act::Become)]).collect()
}

/// The folder that receives a whole tree: `worktree add folder`, `submodule add address folder`, `subtree add
/// --prefix=folder`.
fn trees<'a>(verb: &str, sorted: &'a Sorted, files: &'a [Word]) -> impl Iterator<Item = &'a Word> {
    let places = matches!(verb, "worktree" | "submodule");
    let adds = places && files.first().is_some_and(|word| word.is("add") || word.is("move"));
    let prefixes = if verb == "subtree" { &["-P", "--prefix"][..] } else { &[] };
    files.iter().skip(1).filter(move |_| adds).chain(sorted.values(prefixes))
}

/// `--output=file`, `checkout-index --prefix=folder/`, `read-tree --prefix=folder/`,
/// `apply --directory=folder`.
fn written_by_options(sorted: &Sorted, files: &[Word], filling: bool) -> Files {
    let mut all: Files = sorted.written.iter().map(|file| (file.clone(), Act::Write)).collect();
    let prefix = sorted.values(&["--prefix", "--directory"]).find(|_| filling);
    let inside = prefix.iter().flat_map(|prefix| files.iter().map(|file| file.from_folder(prefix)));
    all.extend(inside.map(|file| (file, Act::Write)));
    all.extend(prefix.map(|prefix| (prefix.clone(), Act::Into)));
    all
}

/// A path as git reads it: `:(top)a`, `:/a`, and wildcards that were quoted for the shell.
fn pathspec(word: &Word) -> Word {
    let magic = word.starts_with(":(").then(|| word.past(')')).flatten();
    let short = (word.starts_with(":/") && word.bits.len() > 2).then(|| word.after(2));
    globbed(&magic.or(short).unwrap_or_else(|| word.clone()))
}

/// The same with what the variable says of the work tree.
fn global<'a>(command: &Invocation<'a>) -> (Option<Word>, Option<Word>, &'a [Word]) {
    let simple = command.simple;
    let set = simple.assigned.iter().zip(&simple.values).find(|(name, _)| *name == "GIT_WORK_TREE");
    let (folder, tree, rest) = before_verb(command.arguments);
    (folder, tree.or_else(|| set.map(|(_, value)| value.clone())), rest)
}

/// `git -C dir --work-tree=dir …`: the folder it changes to, its work tree, and the words from the verb on.
pub fn before_verb(arguments: &[Word]) -> (Option<Word>, Option<Word>, &[Word]) {
    let mut folder: Option<Word> = None;
    let mut tree = None;
    let mut rest = arguments;
    while let [word, behind @ ..] = rest
        && word.is_option()
    {
        let text = word.lossy();
        let takes = VALUED.contains(&text.as_str());
        let value = if takes { behind.first().cloned() } else { word.past('=') };
        if text == "-C" {
            let next = value.unwrap_or_default();
            folder = Some(folder.map_or(next.clone(), |folder| next.from_folder(&folder)));
        } else if text == "--work-tree" || text.starts_with("--work-tree=") {
            tree = value;
        }
        rest = behind.get(usize::from(takes)..).unwrap_or_default();
    }
    (folder, tree, rest)
}

/// `patch` may write each argument, and the files that the patch names.
pub(super) fn patched_files(command: &Invocation) -> Touched {
    let mut files = every(command.arguments);
    files.extend(patched(command));
    Touched::files(files)
}

/// Files that a patch on standard input names, for `patch`, `git apply` and `git am`.
fn patched(command: &Invocation) -> Files {
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
pub fn named(line: &str) -> Vec<&str> {
    const HEADS: [&str; 11] = [
        "+++ ", "--- ", "Index: ", "rename to ", "rename from ", "copy to ", "copy from ", "diff --git ",
        "*** Update File: ", "*** Add File: ", "*** Delete File: ",
    ];
    let Some(rest) = HEADS.iter().find_map(|head| line.strip_prefix(head)) else { return Vec::new() };
    let paths = rest.split_whitespace().map(|path| path.trim_matches('"'));
    let bare = |path| str::strip_prefix(path, "a/").or_else(|| str::strip_prefix(path, "b/")).unwrap_or(path);
    paths.map(bare).filter(|path| !path.is_empty() && *path != "/dev/null").collect()
}

/// The local branch that `+main:topic` points at another commit, or without `+` if all are forced.
pub fn moved_branch(refspec: &str, forced: bool) -> Option<String> {
    let (from, to) = refspec.split_once(':')?;
    let is_address = from.contains('@') || to.starts_with("//") || from.starts_with('-');
    if is_address || !forced && !from.starts_with('+') {
        return None;
    }
    let name = to.strip_prefix("refs/heads/").unwrap_or(to);
    (!name.is_empty() && !name.starts_with("refs/")).then(|| name.to_owned())
}
