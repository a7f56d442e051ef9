//! The verbs of git that only look, each with the options that keep it so, and option lists that several
//! verbs share.

/// Options that choose how a difference is shown.
pub(super) const DIFF: &str = "-pusRabwzW -U? -M? -C? -B? -D -l= -S= -G= -O= -X? --patch --no-patch --raw --stat --numstat \
    --shortstat --dirstat --summary --patch-with-stat --patch-with-raw --unified= --minimal --patience --histogram \
    --diff-algorithm= --anchored= --compact-summary --name-only --name-status --submodule --color --no-color --color-moved \
    --color-words --word-diff --word-diff-regex= --no-renames --rename-empty --find-renames --find-copies \
    --find-copies-harder --check --ws-error-highlight= --full-index --binary --abbrev --no-abbrev --break-rewrites \
    --diff-filter= --pickaxe-all --pickaxe-regex --relative --no-relative --text --ignore-space-at-eol \
    --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --inter-hunk-context= \
    --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules --src-prefix= --dst-prefix= \
    --no-prefix --line-prefix= --ita-invisible-in-index --cached --staged --merge-base --no-index --cc --combined-all-paths \
    --stat-width= --stat-count= --stat-name-width= --exclude= --stdin --root -r -t -m -c";

/// Options that choose which commits are shown, and how.
pub(super) const LOG: &str = "-# -n= -L= -i -E -F -P -g -q --oneline --format= --pretty --graph --decorate --no-decorate --decorate-refs= \
    --decorate-refs-exclude= --source --use-mailmap --no-mailmap --full-diff --log-size --max-count= --skip= --since= --after= --until= \
    --before= --author= --committer= --grep= --grep-reflog= --all-match --invert-grep --regexp-ignore-case \
    --extended-regexp --fixed-strings --perl-regexp --basic-regexp --merges --no-merges --min-parents= --max-parents= --first-parent \
    --not --all --branches --tags --remotes --glob= --reflog --walk-reflogs --merge --boundary --simplify-by-decoration \
    --full-history --dense --sparse --simplify-merges --ancestry-path --date-order --author-date-order --topo-order \
    --reverse --no-walk --do-walk --abbrev-commit --no-abbrev-commit --encoding= --expand-tabs --notes --no-notes \
    --show-signature --relative-date --date= --parents --children --left-right --cherry --cherry-pick --cherry-mark \
    --left-only --right-only --show-pulls --follow --count --objects --disk-usage --no-commit-header --timestamp \
    --clear-decorations --show-linear-break --exclude-first-parent-only --ignore-missing --bisect";

/// Verbs that only look, with the options that keep them so. Sorted.
#[rustfmt::skip]
pub(super) static LOOKING: &[(&str, &[&str])] = &[
    ("annotate", BLAME),
    ("blame", BLAME),
    ("cat-file", &["-tsepZ --batch --batch-check --batch-all-objects --follow-symlinks --unordered --buffer --use-mailmap"]),
    ("check-attr", &["-az --stdin --cached --all"]),
    ("check-ignore", &["-qvnz --quiet --verbose --stdin --non-matching --no-index"]),
    ("check-ref-format", &["--branch --normalize --allow-onelevel --refspec-pattern"]),
    ("cherry", &["-v --abbrev --verbose"]),
    ("count-objects", &["-vH --verbose --human-readable"]),
    ("describe", &["--all --tags --contains --abbrev --candidates= --exact-match --debug --long --match= --exclude= --always --first-parent --dirty --broken"]),
    ("diff", &[DIFF, "-# -q --base --ours --theirs -0"]),
    ("diff-files", &[DIFF, "-q"]),
    ("diff-index", &[DIFF]),
    ("diff-tree", &[DIFF, LOG, "-v --no-commit-id"]),
    ("for-each-ref", &["-s --count= --sort= --format= --color --shell --perl --python --tcl --points-at= --merged --no-merged --contains --no-contains --ignore-case --omit-empty --exclude= --include-root-refs"]),
    ("fsck", &["-v --full --no-full --strict --unreachable --dangling --no-dangling --root --tags --cache --no-reflogs --verbose --connectivity-only --name-objects --progress --no-progress --references --no-references"]),
    ("grep", &["-aiIwvhHEGPFnlLzocqrpW -e= -f= -A= -B= -C= -m= -# --cached --untracked --no-index --exclude-standard --no-exclude-standard --recurse-submodules --text --ignore-case --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color --no-color --break --heading --show-function --function-context --context= --after-context= --before-context= --max-depth= --recursive --and --or --not --all-match --quiet --max-count= --threads="]),
    ("log", &[DIFF, LOG]),
    ("ls-files", &["-cdmoistukvfz -X= -x= --cached --deleted --modified --others --ignored --stage --directory --no-empty-directory --unmerged --killed --resolve-undo --exclude= --exclude-from= --exclude-standard --error-unmatch --full-name --recurse-submodules --abbrev --debug --eol --deduplicate --format= --sparse"]),
    ("ls-remote", &["-htbq --heads --branches --tags --refs --quiet --exit-code --get-url --sort= --symref"]),
    ("ls-tree", &["-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev --format="]),
    ("merge-base", &["-a --all --octopus --is-ancestor --independent --fork-point"]),
    ("name-rev", &["--tags --refs= --exclude= --all --annotate-stdin --name-only --no-undefined --always"]),
    ("range-diff", &[DIFF, "--no-dual-color --creation-factor= --left-only --right-only --notes --no-notes"]),
    ("rev-list", &[DIFF, LOG, "--header --oneline --quiet --max-age= --min-age= --use-bitmap-index --filter= --missing="]),
    ("rev-parse", &["-q --abbrev-ref --all --branches --tags --remotes --glob= --exclude= --disambiguate= --git-dir --absolute-git-dir --git-common-dir --show-toplevel --show-cdup --show-prefix --show-superproject-working-tree --show-object-format --show-ref-format --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --resolve-git-dir --git-path --verify --quiet --short --symbolic --symbolic-full-name --local-env-vars --path-format= --default= --revs-only --no-revs --flags --no-flags --since= --until= --prefix= --shared-index-path --not --end-of-options"]),
    ("shortlog", &["-snec -w? --numbered --summary --email --group= --committer", LOG]), // its own `-n` takes nothing
    ("show", &[DIFF, LOG]),
    ("show-branch", &["-ar --all --remotes --current --topo-order --date-order --sparse --more= --list --merge-base --independent --no-name --sha1-name --topics --color --no-color"]),
    ("show-ref", &["-dhqs --head --tags --heads --branches --dereference --hash --verify --quiet --abbrev --exists"]),
    ("status", &["-sbvz -u? -M? --short --branch --show-stash --porcelain --long --verbose --untracked-files --ignore-submodules --ignored --column --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames"]),
    ("var", &["-l"]),
    ("verify-commit", &["-v --verbose --raw"]),
    ("verify-tag", &["-v --verbose --raw --format="]),
    ("version", &["--build-options"]),
    ("whatchanged", &[DIFF, LOG]),
];

/// Verbs that only look with these words after them (`""`: none; an empty list: any), and the options that
/// keep them so.
pub(super) static SUBVERBS: &[(&str, &[&str], &[&str])] = &[
    ("bisect", &["log"], &[]),
    ("hash-object", &[], &["-t= --stdin --path= --no-filters --literally"]),
    ("help", &[], &["-ag --all --guides --config --man"]),
    ("lfs", &["env", "ls-files", "status", "version"], &["-l --long --size --all --json --porcelain"]),
    ("notes", &["", "list", "show"], &["--ref="]),
    ("remote", &[""], &["-v --verbose"]),
    ("stash", &["list", "show"], &[DIFF, LOG]),
    ("submodule", &["", "status", "summary"], &["-q --quiet --recursive --cached"]),
    ("worktree", &["list"], &["-vz --porcelain --verbose"]),
];

#[rustfmt::skip]
const BLAME: &[&str] = &["-beflnstpwck -L= -S= -M? -C? -h --root --show-stats --reverse --first-parent --porcelain --line-porcelain --incremental --encoding= --date= --color-lines --color-by-age --score-debug --show-name --show-number --show-email --abbrev --ignore-rev= --ignore-revs-file="];

/// Options with which a verb still lists refs: those that take a commit or a pattern, and those that say a
/// pattern may follow.
pub(super) const BRANCHES: &str = "-arvqil --all --remotes --verbose --list --show-current --contains --no-contains --merged --no-merged --points-at= --sort= --format= --column --no-column --color --no-color --abbrev --no-abbrev --ignore-case --omit-empty";
pub(super) const TAGS: &str = "-l -n? -i --list --contains --no-contains --merged --no-merged --points-at= --sort= --format= --column --no-column --color --ignore-case --omit-empty";

#[cfg(test)]
mod tests {
    #[test]
    fn verbs_are_sorted_so_that_they_are_found() {
        assert!(super::LOOKING.is_sorted_by_key(|(verb, _)| *verb));
    }
}
