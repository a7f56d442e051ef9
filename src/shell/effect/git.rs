//! `git` by its verb: what only looks, what closes the work (`add`, `commit`, `push`, `tag`, `fetch`), and all else.
//!
//! Invariant: `-c` and kin can make any verb run a program, so only settings known to be harmless pass; so can the
//! configuration of another repository, so `--git-dir` and `--work-tree` never do.

use super::line::Said;
use super::options::Sorted;
use super::table::Command;
use crate::model::call::Effect;
use crate::shell::syntax::Word;

/// Options before the verb.
const GLOBAL: &str = "-pP -C= --no-pager --paginate --namespace= --no-optional-locks --bare \
    --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-advice \
    --version --help --html-path --man-path --info-path --exec-path";

/// Settings that change how git prints, or whose name stands in a commit.
static SETTINGS: &[&str] = &[
    "color.",
    "core.quotepath=",
    "core.pager=cat",
    "advice.",
    "user.name=",
    "user.email=",
    "commit.gpgsign=false",
    "tag.gpgsign=false",
    "diff.noprefix=",
    "log.showsignature=",
    "core.abbrev=",
    "diff.renames=",
];

/// How a difference is shown.
const DIFF: &str = "-pusRabwzW -U? -M? -C? -B? -D -l= -S= -G= -O= -X? --patch --no-patch --raw --stat --numstat \
    --shortstat --dirstat --summary --patch-with-stat --patch-with-raw --unified= --minimal --patience --histogram \
    --diff-algorithm= --anchored= --compact-summary --name-only --name-status --submodule --color --no-color --color-moved \
    --color-words --word-diff --word-diff-regex= --no-renames --rename-empty --find-renames --find-copies \
    --find-copies-harder --check --ws-error-highlight= --full-index --binary --abbrev --no-abbrev --break-rewrites \
    --diff-filter= --pickaxe-all --pickaxe-regex --relative --no-relative --text --ignore-space-at-eol \
    --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --inter-hunk-context= \
    --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules --src-prefix= --dst-prefix= \
    --no-prefix --line-prefix= --ita-invisible-in-index --cached --staged --merge-base --no-index --cc --combined-all-paths \
    --stat-width= --stat-count= --stat-name-width= --exclude= --stdin --root -r -t -m -c";

/// Which commits are shown, and how.
const LOG: &str = "-# -n= -L= -i -E -F -P -g -q --oneline --format= --pretty --graph --decorate --no-decorate --decorate-refs= \
    --decorate-refs-exclude= --source --use-mailmap --no-mailmap --full-diff --log-size --max-count= --skip= --since= --after= --until= \
    --before= --author= --committer= --grep= --grep-reflog= --all-match --invert-grep --regexp-ignore-case \
    --extended-regexp --fixed-strings --perl-regexp --basic-regexp --merges --no-merges --min-parents= --max-parents= --first-parent \
    --not --all --branches --tags --remotes --glob= --reflog --walk-reflogs --merge --boundary --simplify-by-decoration \
    --full-history --dense --sparse --simplify-merges --ancestry-path --date-order --author-date-order --topo-order \
    --reverse --no-walk --do-walk --abbrev-commit --no-abbrev-commit --encoding= --expand-tabs --notes --no-notes \
    --show-signature --relative-date --date= --parents --children --left-right --cherry --cherry-pick --cherry-mark \
    --left-only --right-only --show-pulls --follow --count --objects --disk-usage --no-commit-header --timestamp \
    --clear-decorations --show-linear-break --exclude-first-parent-only --ignore-missing --bisect";

/// Verbs that look, with the options that let them. Sorted.
static LOOKING: &[(&str, &[&str])] = &[
    ("annotate", BLAME),
    ("blame", BLAME),
    (
        "cat-file",
        &[
            "-tsepZ --batch --batch-check --batch-all-objects --follow-symlinks --unordered --buffer --use-mailmap",
        ],
    ),
    ("check-attr", &["-az --stdin --cached --all"]),
    ("check-ignore", &["-qvnz --quiet --verbose --stdin --non-matching --no-index"]),
    ("check-ref-format", &["--branch --normalize --allow-onelevel --refspec-pattern"]),
    ("cherry", &["-v --abbrev --verbose"]),
    ("count-objects", &["-vH --verbose --human-readable"]),
    (
        "describe",
        &[
            "--all --tags --contains --abbrev --candidates= --exact-match --debug --long --match= --exclude= --always --first-parent --dirty --broken",
        ],
    ),
    ("diff", &[DIFF, "-# -q --base --ours --theirs -0"]),
    ("diff-files", &[DIFF, "-q"]),
    ("diff-index", &[DIFF]),
    ("diff-tree", &[DIFF, LOG, "-v --no-commit-id"]),
    (
        "for-each-ref",
        &[
            "-s --count= --sort= --format= --color --shell --perl --python --tcl --points-at= --merged --no-merged --contains --no-contains --ignore-case --omit-empty --exclude= --include-root-refs",
        ],
    ),
    (
        "grep",
        &[
            "-aiIwvhHEGPFnlLzocqrpW -e= -f= -A= -B= -C= -m= -# --cached --untracked --no-index --exclude-standard --no-exclude-standard --recurse-submodules --text --ignore-case --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color --no-color --break --heading --show-function --function-context --context= --after-context= --before-context= --max-depth= --recursive --and --or --not --all-match --quiet --max-count= --threads=",
        ],
    ),
    ("log", &[DIFF, LOG]),
    (
        "ls-files",
        &[
            "-cdmoistukvfz -X= -x= --cached --deleted --modified --others --ignored --stage --directory --no-empty-directory --unmerged --killed --resolve-undo --exclude= --exclude-from= --exclude-standard --error-unmatch --full-name --recurse-submodules --abbrev --debug --eol --deduplicate --format= --sparse",
        ],
    ),
    ("ls-remote", &["-htbq --heads --branches --tags --refs --quiet --exit-code --get-url --sort= --symref"]),
    (
        "ls-tree",
        &["-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev --format="],
    ),
    ("merge-base", &["-a --all --octopus --is-ancestor --independent --fork-point"]),
    ("name-rev", &["--tags --refs= --exclude= --all --annotate-stdin --name-only --no-undefined --always"]),
    ("range-diff", &[DIFF, "--no-dual-color --creation-factor= --left-only --right-only --notes --no-notes"]),
    (
        "rev-list",
        &[
            DIFF,
            LOG,
            "--header --oneline --quiet --max-age= --min-age= --use-bitmap-index --filter= --missing=",
        ],
    ),
    (
        "rev-parse",
        &[
            "-q --abbrev-ref --all --branches --tags --remotes --glob= --exclude= --disambiguate= --git-dir --absolute-git-dir --git-common-dir --show-toplevel --show-cdup --show-prefix --show-superproject-working-tree --show-object-format --show-ref-format --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --resolve-git-dir --git-path --verify --quiet --short --symbolic --symbolic-full-name --local-env-vars --path-format= --default= --revs-only --no-revs --flags --no-flags --since= --until= --prefix= --shared-index-path --not --end-of-options",
        ],
    ),
    ("shortlog", &[LOG, "-snec -w? --numbered --summary --email --group= --committer"]),
    ("show", &[DIFF, LOG]),
    (
        "show-branch",
        &[
            "-ar --all --remotes --current --topo-order --date-order --sparse --more= --list --merge-base --independent --no-name --sha1-name --topics --color --no-color",
        ],
    ),
    (
        "show-ref",
        &["-dhqs --head --tags --heads --branches --dereference --hash --verify --quiet --abbrev --exists"],
    ),
    (
        "status",
        &[
            "-sbvz -u? -M? --short --branch --show-stash --porcelain --long --verbose --untracked-files --ignore-submodules --ignored --column --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames",
        ],
    ),
    ("var", &["-l"]),
    ("verify-commit", &["-v --verbose --raw"]),
    ("verify-tag", &["-v --verbose --raw --format="]),
    ("version", &["--build-options"]),
    ("whatchanged", &[DIFF, LOG]),
];

const BLAME: &[&str] = &[
    "-beflnstpwck -L= -S= -M? -C? -h --root --show-stats --reverse --first-parent --porcelain --line-porcelain --incremental --encoding= --date= --color-lines --color-by-age --score-debug --show-name --show-number --show-email --abbrev --ignore-rev= --ignore-revs-file=",
];

/// Listing refs: options that take a commit or a pattern, and those that say a pattern may follow.
const BRANCHES: &str = "-arvqil --all --remotes --verbose --list --show-current --contains --no-contains --merged --no-merged --points-at= --sort= --format= --column --no-column --color --no-color --abbrev --no-abbrev --ignore-case --omit-empty";
const TAGS: &str = "-l -n? -i --list --contains --no-contains --merged --no-merged --points-at= --sort= --format= --column --no-column --color --ignore-case --omit-empty";

const CLOSING: [&str; 5] = ["add", "commit", "fetch", "push", "tag"];

pub(super) fn judge(command: &Command) -> Said {
    let Some(at) = verb_at(command)? else { return Ok(Effect::Read) };
    let word = &command.arguments[at];
    let Some(verb) = word.literal().filter(|_| word.is_firm()) else {
        return Err(command.refused(&word.lossy()));
    };
    let said = format!("git {verb}");
    let rest = Command { name: &said, arguments: &command.arguments[at + 1..], ..*command };
    if CLOSING.contains(&verb.as_str()) {
        return closing(&verb, &rest);
    }
    if let Ok(row) = LOOKING.binary_search_by_key(&verb.as_str(), |(known, _)| known) {
        let sorted = rest.sorted(LOOKING[row].1)?;
        return match sorted.operands.into_iter().find(|word| verb == "ls-remote" && is_program(word)) {
            Some(word) => Err(rest.refused(&word.lossy())),
            None => Ok(Effect::Read),
        };
    }
    by_operands(&verb, &rest)
}

/// Where the verb stands; nothing if git is only asked about itself.
fn verb_at(command: &Command) -> Result<Option<usize>, String> {
    let mut at = 0;
    while let Some(word) = command.arguments.get(at) {
        if !word.is_option() {
            // A word that may be an option, or no word at all, would move the verb.
            return if word.shifts.is_some() { Err(command.refused(&word.lossy())) } else { Ok(Some(at)) };
        }
        let setting = command.arguments.get(at + 1).filter(|_| word.is("-c"));
        if let Some(setting) = setting {
            let text = setting.lossy().to_lowercase();
            let key = text.find('=').map_or(text.len(), |at| at + 1);
            let firm = setting.shifts.is_none_or(|from| from >= key) && !setting.splits;
            let exact = |known: &&&str| {
                if known.contains("=c") || known.contains("=f") {
                    text == **known
                } else {
                    text.starts_with(**known)
                }
            };
            if !firm || SETTINGS.iter().find(exact).is_none() {
                return Err(command.refused(&format!("-c {text}")));
            }
            at += 2;
            continue;
        }
        let pair = &command.arguments[at..(at + 2).min(command.arguments.len())];
        let sorted = Command { arguments: &pair[..1], ..*command }.sorted(&[GLOBAL])?;
        let valued = matches!(word.lossy().as_str(), "-C" | "--namespace");
        if valued && pair.get(1).is_none_or(|value| value.splits) || word.starts_with("--exec-path=") {
            return Err(command.refused(&word.lossy()));
        }
        if sorted.has(&["--version", "--help", "--exec-path"]) {
            return Ok(None);
        }
        at += 1 + usize::from(valued);
    }
    Ok(None)
}

/// An address that runs a program, `ext::sh -c …`, or may be one.
fn is_program(word: &Word) -> bool {
    word.lossy().contains("::") || word.shifts == Some(0)
}

/// `add`, `commit`, `push`, `tag`, `fetch`; listing tags is a look.
fn closing(verb: &str, command: &Command) -> Said {
    if verb == "tag"
        && let Ok(sorted) = command.sorted(&[TAGS])
        && lists(&sorted, &["-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged"])
    {
        return Ok(Effect::Read);
    }
    for word in command.arguments {
        let text = word.lossy();
        // These run a program of the line's choice, here or there.
        let runs =
            ["--rec", "--upl", "--exe"].iter().any(|option| text.starts_with(option)) || text.contains("::");
        if runs && matches!(verb, "push" | "fetch") {
            return Err(command.refused(&text));
        }
    }
    Ok(Effect::Close)
}

/// No name that would be made, unless an option says it is a pattern.
fn lists(sorted: &Sorted, patterns: &[&str]) -> bool {
    sorted.operands.is_empty() || sorted.has(patterns)
}

/// Verbs that look or change by what follows them.
fn by_operands(verb: &str, command: &Command) -> Said {
    let first = command.arguments.iter().find(|word| !word.is_option());
    let sub = first.filter(|word| word.is_firm()).map(Word::lossy).unwrap_or_default();
    let after = |list: &str| -> Result<usize, String> { Ok(command.sorted(&[list])?.operands.len()) };
    let looks = match verb {
        "branch" => {
            let sorted = command.sorted(&[BRANCHES])?;
            lists(&sorted, &["-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged"])
        }
        "stash" if sub == "list" || sub == "show" => command.sorted(&[DIFF, LOG]).is_ok(),
        "remote" if first.is_none() => command.sorted(&["-v --verbose"]).is_ok(),
        "remote" if sub == "show" || sub == "get-url" => {
            let sorted = command.sorted(&["-nv --push --all"])?;
            !sorted.operands.into_iter().any(is_program)
        }
        "worktree" if sub == "list" => command.sorted(&["-vz --porcelain --verbose"]).is_ok(),
        "reflog" if !matches!(sub.as_str(), "expire" | "delete" | "drop" | "write") => {
            command.sorted(&[DIFF, LOG]).is_ok()
        }
        "notes" if first.is_none() || sub == "list" || sub == "show" => command.sorted(&["--ref="]).is_ok(),
        "submodule" if first.is_none() || sub == "status" || sub == "summary" => {
            command.sorted(&["-q --quiet --recursive --cached"]).is_ok()
        }
        "symbolic-ref" => after("-q --short --quiet --no-recurse")? == 1,
        "config" => return config(command, &sub),
        "clean" => command.sorted(&["-ndxXq -e= --dry-run --exclude="])?.has(&["-n", "--dry-run"]),
        "hash-object" => command.sorted(&["-t= --stdin --path= --no-filters --literally"]).is_ok(),
        "apply" => {
            let sorted = command
                .sorted(&["-p= -R --check --stat --numstat --summary --reverse --verbose --directory="])?;
            sorted.has(&["--check", "--stat", "--numstat", "--summary"])
        }
        "bisect" => matches!(sub.as_str(), "log"),
        "help" => command.sorted(&["-ag --all --guides --config --man"]).is_ok(),
        _ => false,
    };
    if looks { Ok(Effect::Read) } else { Err(command.refused(&sub)) }
}

/// Reads one key, or lists them; a second operand would be the new value.
fn config(command: &Command, sub: &str) -> Said {
    let sorted = command.sorted(&[
        "-lz -f= --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --global --local --system \
         --worktree --file= --blob= --type= --bool --int --path --null --name-only --show-origin --show-scope --includes \
         --no-includes --default= --all --regexp --value= --fixed-value --url= --no-type",
    ])?;
    let named = sorted.has(&[
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
        "--get-colorbool",
    ]);
    let lists = sorted.has(&["-l", "--list"]) || matches!(sub, "get" | "list");
    let splits = sorted.operands.iter().any(|word| word.splits && word.shifts.is_some());
    let plain = sorted.operands.len() == 1 && !splits && !matches!(sub, "edit" | "set" | "unset");
    if named || lists || plain { Ok(Effect::Read) } else { Err(command.refused(sub)) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn verbs_are_sorted_so_that_they_are_found() {
        assert!(super::LOOKING.is_sorted_by_key(|(verb, _)| *verb));
    }
}
