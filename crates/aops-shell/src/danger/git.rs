//! Git commands that lose work or history.

mod signing;

use super::Search;
use super::call::{Call, is_open, may_be, quoted};
use super::place::is_generated;
use super::{files, secret};
use crate::commands::{lines_of_git, moved_branch};
use crate::flags::{holds, is_option};
use crate::syntax::{Bit, Word, globbed};
use signing::{SIGNING, TRUE, configures_signing, signs, takes_signature};

/// Options before the verb that take the next word.
const VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"];

/// One verb with its arguments.
struct Verb<'a> {
    name: &'a str,
    words: &'a [Word],
    texts: &'a [String],
}

impl Verb<'_> {
    /// The words before `--`.
    fn before(&self) -> &[String] {
        let end = self.texts.iter().position(|text| text == "--").unwrap_or(self.texts.len());
        &self.texts[..end]
    }

    fn has(&self, wanted: &[&str]) -> bool {
        self.before().iter().any(|text| wanted.iter().any(|option| is_option(self.letters(text), option)))
    }

    /// The same for options that make the command harmless: a later `--no-…` takes them back.
    fn spares(&self, wanted: &[&str]) -> bool {
        holds(self.before().iter().map(|text| self.letters(text)), wanted)
    }

    /// `-bfix` names a branch: what is glued to `-b` is not an option.
    fn letters<'t>(&self, text: &'t str) -> &'t str {
        let names = matches!(self.name, "checkout" | "switch" | "worktree") && !text.starts_with("--");
        let end = text.find(['b', 'B', 'c', 'C']).filter(|_| names).map_or(text.len(), |at| at + 1);
        &text[..end]
    }

    fn operands(&self) -> Vec<&str> {
        const VALUED: &[&str] =
            &["--conflict", "--unified", "-U", "--inter-hunk-context", "--pathspec-from-file"];
        let valued = |at: usize| at > 0 && VALUED.contains(&self.texts[at - 1].as_str());
        let plain = self.texts.iter().enumerate().filter(|(at, text)| !text.starts_with('-') && !valued(*at));
        plain.map(|(_, text)| text.as_str()).collect()
    }

    fn first(&self) -> &str {
        self.operands().first().copied().unwrap_or_default()
    }

    /// Words after `--`.
    fn paths(&self) -> usize {
        self.texts.len() - (self.before().len() + 1).min(self.texts.len())
    }
}

pub(super) fn git(search: &mut Search, call: &Call) {
    for line in lines_of_git(call.words) {
        search.perhaps(&line, call.simple);
    }
    verb(search, call, call.behind_options(0, VALUED));
}

/// Judges the verb at this position, known or unknown.
fn verb(search: &mut Search, call: &Call, at: usize) {
    aliases(search, call, at);
    let Some(name) = call.texts.get(at).map(|name| name.to_lowercase()) else { return };
    if call.words[at].literal().is_none() {
        return unknown_verb(search, call, at);
    }
    configured(search, call, at, &name);
    let verb = Verb { name: &name, words: call.from(at + 1), texts: &call.texts[at + 1..] };
    if verb.texts.first().is_some_and(|text| text == "--help") {
        return;
    }
    if let Some(id) = judge(&verb) {
        search.add(id, call.simple);
    }
    names(search, call, &verb);
}

/// Verbs that are dangerous with certain options, or with a certain word after them.
const ASKED: &[&str] = &[
    "am", "annex", "branch", "checkout", "checkout-index", "cherry-pick", "clean", "credential", "gc", "lfs",
    "merge", "read-tree", "rebase", "reflog", "replace", "reset", "restore", "revert", "rm", "stash",
    "submodule", "switch", "symbolic-ref", "tag", "update-ref", "worktree",
];
/// For these verbs, the word after them decides.
const TWO_WORDS: &[&str] = &["annex", "credential", "lfs", "reflog", "stash", "submodule", "worktree"];
/// Arguments that mean all files: no verb that only looks needs one.
const ALL: &[&str] = &[".", ":/", "*"];

/// `git $(…) --hard`: an unknown verb is taken for every verb that would be dangerous with these arguments.
/// It may also be an option, or nothing: then the verb is the next word.
fn unknown_verb(search: &mut Search, call: &Call, at: usize) {
    let word = &call.words[at];
    let words = call.from(at + 1);
    let texts = &call.texts[at + 1..];
    let bare: Vec<String> = texts.iter().filter(|text| !text.starts_with('-')).cloned().collect();
    for name in ASKED.iter().filter(|name| may_be(&word.bits, name)) {
        let id = judge(&Verb { name, words, texts });
        // A verb that is dangerous without any option is left out; otherwise every unknown verb would need
        // approval.
        let by_itself = || judge(&Verb { name, words, texts: &bare }).is_some();
        let is_all = || matches!(bare.as_slice(), [all] if ALL.contains(&all.as_str()));
        if let Some(id) = id.filter(|_| TWO_WORDS.contains(name) || is_all() || !by_itself()) {
            search.add(id, call.simple);
        }
    }
    if may_be(&word.bits, "push") {
        pushed(search, call, &Verb { name: "push", words, texts });
    }
    if is_open(word) {
        verb(search, call, call.behind_options(at + 1, VALUED));
    }
}

/// The files, lines and branches that a verb names.
fn names(search: &mut Search, call: &Call, verb: &Verb) {
    match verb.name {
        "push" | "send-pack" | "http-push" => pushed(search, call, verb),
        "rm" if !verb.spares(&["--cached"]) && !verb.spares(&["-n", "--dry-run"]) => {
            let paths = verb.words.iter().filter(|word| !word.is_option());
            // Git expands patterns itself, and removes a folder only with `-r`.
            let named: Vec<Word> = paths.map(globbed).filter(|word| word.bits != [Bit::Any]).collect();
            if verb.has(&["-r"]) {
                files::removed(search, call.simple, &named);
            } else {
                files::unlinked(search, call.simple, &named);
            }
        }
        "log" | "whatchanged" | "stash" | "format-patch" | "grep" | "archive" | "difftool" => {
            let lines = |text: &String| text.starts_with("-L");
            let shows = verb.has(&["-p", "--patch", "-u", "--stdout"]) || verb.texts.iter().any(lines);
            if shows || matches!(verb.name, "grep" | "archive" | "difftool" | "whatchanged") {
                let named = verb.words.iter().filter(|word| !word.is_option() || word.starts_with("-L"));
                secret::named(search, call.simple, named, "secret-file");
            }
        }
        "add" | "stage" => secret::named(search, call.simple, verb.words, "secret-file"),
        "show" | "cat-file" | "diff" | "blame" | "annotate" => {
            let after = |word: &Word| word.past(':').unwrap_or_else(|| word.clone());
            let named: Vec<Word> = verb.words.iter().filter(|word| !word.is_option()).map(after).collect();
            secret::named(search, call.simple, &named, "secret-file");
        }
        _ => {}
    }
}

/// `git -c gc.pruneExpire=now gc`: an option given as a setting.
fn configured(search: &mut Search, call: &Call, verb: usize, name: &str) {
    let set = |key: &str, values: &[&str]| {
        call.texts[..verb].windows(2).filter(|pair| pair[0] == "-c").any(|pair| {
            let (known, value) = pair[1].split_once('=').unwrap_or((&pair[1], "true"));
            known.eq_ignore_ascii_case(key) && values.contains(&value.to_lowercase().as_str())
        })
    };
    match name {
        "gc" if set("gc.pruneexpire", &["now", "all"]) => search.add("git-history", call.simple),
        "clean" if set("clean.requireforce", &["false", "no", "off", "0"]) => {
            search.add("git-clean", call.simple);
        }
        "push" => {
            // `-c remote.origin.push=+HEAD:main`, `-c remote.origin.mirror=true`
            let settings = call.texts[..verb].windows(2).filter(|pair| pair[0] == "-c");
            for pair in settings.filter(|pair| pair[1].to_lowercase().starts_with("remote.")) {
                let (key, value) = pair[1].split_once('=').unwrap_or((&pair[1], "true"));
                match key.rsplit('.').next() {
                    Some("push") => {
                        search.text(&format!("git push origin '{}'", value.replace('\'', "")), call.simple);
                    }
                    Some("mirror") if TRUE.contains(&value) => search.text("git push --mirror", call.simple),
                    _ => {}
                }
            }
        }
        _ if takes_signature(name) && SIGNING.iter().any(|key| set(key, TRUE)) => {
            search.add("sign-as-user", call.simple);
        }
        _ => {}
    }
}

/// `git -c alias.x='!rm -rf /' x`: the line that the alias runs.
fn aliases(search: &mut Search, call: &Call, verb: usize) {
    for pair in call.texts[..verb.min(call.texts.len())].windows(2).filter(|pair| pair[0] == "-c") {
        let Some((name, value)) =
            pair[1].split_once('=').filter(|(name, _)| name.to_lowercase().starts_with("alias."))
        else {
            continue;
        };
        if call.texts.get(verb).is_some_and(|verb| name[6..].eq_ignore_ascii_case(verb)) {
            let line = value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned);
            // The arguments after the alias are appended to what it stands for.
            let rest = call.from(verb + 1).iter().map(quoted);
            search.text(&std::iter::once(line).chain(rest).collect::<Vec<_>>().join(" "), call.simple);
        }
    }
}

fn judge(verb: &Verb) -> Option<&'static str> {
    let force = &["-f", "--force"][..];
    let is = |holds: bool, id: &'static str| holds.then_some(id);
    match verb.name {
        "reset" => {
            let hard = verb.has(&["--hard", "--merge", "--keep"]);
            is(hard || may_be_option(verb), "git-discard")
        }
        "checkout" | "restore" | "clean" if is_made_again(verb) => None,
        // One side of a conflict: both sides are in commits.
        "checkout" | "restore" if verb.has(&["--ours", "--theirs"]) => None,
        "checkout" if checkout_discards(verb) => Some("git-discard"),
        _ if moves_ref(verb) => Some("git-delete-branch"),
        "restore" => {
            let staged = verb.spares(&["--staged", "-S"]) && !verb.has(&["--worktree", "-W"]);
            is(!staged && !verb.texts.is_empty() && !verb.has(&["-h"]), "git-discard")
        }
        "switch" if verb.has(&["--discard-changes", "-f", "--force"]) => Some("git-discard"),
        // Conflicts that were resolved by hand.
        "am" | "cherry-pick" | "merge" | "rebase" | "revert" if verb.has(&["--abort"]) => Some("git-discard"),
        "read-tree" => is(verb.has(&["--reset", "-u"]), "git-discard"),
        "checkout-index" => is(verb.has(force), "git-discard"),
        "rm" => {
            let spares = verb.spares(&["--cached"]) || verb.spares(&["-n", "--dry-run"]);
            is(verb.has(force) && !spares, "git-discard")
        }
        "clean" => {
            let previews = verb.spares(&["-n", "--dry-run"]) || verb.spares(&["-i", "--interactive"]);
            is((verb.has(force) || verb.words.iter().any(is_open)) && !previews, "git-clean")
        }
        "stash" => is(matches!(verb.first(), "drop" | "clear"), "git-drop-stash"),
        "reflog" => is(matches!(verb.first(), "expire" | "delete" | "drop"), "git-history"),
        "gc" => is(verb.texts.iter().any(|text| prunes_now(text)), "git-history"),
        "prune" | "filter-branch" | "filter-repo" | "fast-import" => {
            is(!verb.spares(&["-n", "--dry-run"]), "git-history")
        }
        "update-ref" => {
            is(verb.has(&["-d", "--delete", "--stdin"]) || verb.operands().len() > 1, "git-history")
        }
        "annex" => {
            let drops = matches!(verb.first(), "drop" | "dropunused" | "uninit" | "forget");
            is(drops && verb.has(force), "git-discard")
        }
        "symbolic-ref" => is(verb.has(&["-d", "--delete"]) || covers_branch(verb), "git-history"),
        "replace" => is(verb.has(&["-d", "--delete"]), "git-history"),
        "lfs" => is(matches!(verb.first(), "migrate" | "prune" | "uninstall"), "git-history"),
        "worktree" => is(verb.first() == "remove" && verb.has(force), "git-remove-worktree"),
        "credential" => is(verb.first() == "fill", "secret-print"),
        "submodule" => {
            let drops = verb.first() == "deinit" && verb.has(&["-f", "--force", "--all"]);
            is(drops || verb.first() == "update" && verb.has(force), "git-discard")
        }
        "config" => is(configures_signing(verb), "sign-as-user"),
        name if takes_signature(name) => is(signs(verb), "sign-as-user"),
        _ => None,
    }
}

/// Whether a branch or tag is removed, or gets another commit.
fn moves_ref(verb: &Verb) -> bool {
    match verb.name {
        "checkout" => verb.has(&["-B"]),
        "switch" => verb.has(&["-C", "--force-create"]) && !verb.has(&["--discard-changes", "-f", "--force"]),
        "worktree" => verb.first() == "add" && verb.has(&["-B"]),
        "branch" => loses_branch(verb),
        "tag" => verb.has(&["-d", "--delete", "-f", "--force"]),
        // A later `fetch --prune` removes every local branch that the remote does not have.
        "remote" => {
            let mirrors = |text: &String| is_option(text, "--mirror") && !text.ends_with("=push");
            verb.first() == "add" && verb.before().iter().any(mirrors)
        }
        "fetch" | "pull" => {
            verb.words.iter().any(|word| moves_branch(verb, word) || prunes_branches(verb, word))
        }
        _ => false,
    }
}

/// `git reset $(cat how)`: the output of a program other than git may be an option. A variable is taken for a
/// commit.
fn may_be_option(verb: &Verb) -> bool {
    let before = verb.words.iter().take(verb.before().len());
    let printed = |word: &Word| !word.printed.is_empty() && !word.printed.iter().any(|name| &**name == "git");
    before.into_iter().any(|word| is_open(word) && word.filled.is_empty() && printed(word))
}

fn prunes_now(text: &str) -> bool {
    text.contains('=') && is_option(text, "--prune") && !text.contains("week") && !text.contains("day")
}

/// Whether everything it names can be recreated by one command: lock files, folders of generated files.
fn is_made_again(verb: &Verb) -> bool {
    #[rustfmt::skip]
    const LOCKS: &[&str] = &[
        "bun.lockb", "cargo.lock", "composer.lock", "flake.lock", "gemfile.lock", "go.sum", "mix.lock", "package-lock.json",
        "pdm.lock", "pipfile.lock", "pnpm-lock.yaml", "podfile.lock", "poetry.lock", "pubspec.lock", "uv.lock", "yarn.lock",
        "npm-shrinkwrap.json", "deno.lock", "bun.lock",
    ];
    let is_lock =
        |text: &str| LOCKS.contains(&text.rsplit('/').next().unwrap_or_default().to_lowercase().as_str());
    let is_made = |text: &&str| is_lock(text) || is_generated(text);
    let operands = verb.operands();
    // The first operand may be a commit.
    let named = match operands.as_slice() {
        [first, rest @ ..]
            if verb.name == "checkout" && !rest.is_empty() && !is_made(first) && !is_path(first) =>
        {
            rest
        }
        all => all,
    };
    !named.is_empty() && named.iter().all(is_made) && !verb.has(&["--pathspec-from-file"])
}

fn loses_branch(verb: &Verb) -> bool {
    let force = verb.has(&["-f", "--force"]);
    let deletes = verb.has(&["-d", "--delete"]) && force;
    // `git branch -M main` after `git init` renames only the current branch.
    let named = verb.has(&["-m", "--move"]) && verb.operands().len() < 2;
    let over = verb.has(&["-M", "-C"]) && verb.operands().len() > 1;
    verb.has(&["-D"]) || deletes || over || force && !named && !backs_up(verb)
}

/// `git branch -f backup HEAD` names the current commit, as a backup before trying something else.
fn backs_up(verb: &Verb) -> bool {
    const NAMES: &[&str] = &["backup", "bak", "save", "saved", "snapshot", "tmp", "temp", "wip", "safety"];
    let operands = verb.operands();
    let here = operands.get(1).is_none_or(|at| matches!(*at, "HEAD" | "@"));
    let named =
        |name: &&str| name.to_lowercase().split(['/', '-', '_', '.']).any(|part| NAMES.contains(&part));
    here && operands.len() < 3
        && operands.first().is_some_and(named)
        && !verb.has(&["-d", "-D", "-m", "-M", "--delete"])
}

/// `git fetch . +main:topic`: the local branch gets another commit.
fn moves_branch(verb: &Verb, word: &Word) -> bool {
    let forced = verb.has(&["-f", "--force"]) && !verb.spares(&["--dry-run"]);
    moved_branch(&word.lossy(), forced).is_some()
}

/// `git fetch -p origin 'refs/heads/*:refs/heads/*'`: local branches that the remote does not have.
fn prunes_branches(verb: &Verb, word: &Word) -> bool {
    let text = word.lossy();
    let is_local = |to: &str| to.starts_with("refs/heads/") || to.starts_with("refs/*");
    text.split_once(':').is_some_and(|(_, to)| is_local(to))
        && verb.has(&["-p", "--prune"])
        && !verb.spares(&["--dry-run"])
}

/// `git symbolic-ref refs/heads/topic refs/heads/main`: the branch becomes another name for the other one.
fn covers_branch(verb: &Verb) -> bool {
    let is_branch = |name: &str| name.starts_with("refs/heads/") || name.starts_with("refs/tags/");
    matches!(verb.operands().as_slice(), [name, _, ..] if is_branch(name))
}

fn checkout_discards(verb: &Verb) -> bool {
    if verb.has(&["-b", "-B", "--orphan", "-t", "--track", "--detach", "-d"]) && verb.paths() == 0 {
        return verb.has(&["-f", "--force"]);
    }
    let operands = verb.operands();
    let dots = |word: &str| matches!(word, "." | "*" | ":/");
    // `git checkout HEAD file`, `git checkout main src/x.rs`: the second operand is a path.
    let path = operands.len() > 1 && !verb.has(&["-b", "-B"]);
    let whole = verb.has(&["-f", "--force", "--pathspec-from-file", "-p", "--patch"]);
    verb.paths() > 0
        || operands.iter().any(|word| dots(word) || is_path(word))
        || path
        || whole && !verb.has(&["-p", "--patch"])
        || verb.has(&["--pathspec-from-file"])
}

/// `src/`, `./src`, `a.txt` cannot be branches or commits; `v1.2.3` and `2.x` can.
fn is_path(word: &str) -> bool {
    let last = word.rsplit('/').next().unwrap_or_default();
    let named = last.rsplit_once('.').is_some_and(|(stem, end)| {
        let version = stem.trim_start_matches('v');
        let numbered =
            !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        !numbered && !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    named || word.ends_with('/') || word.starts_with("./") || word.starts_with("../")
}

fn pushed(search: &mut Search, call: &Call, verb: &Verb) {
    const LIVE: &[&str] = &["heroku", "dokku", "production", "prod", "live", "deploy", "piku"];
    if verb.spares(&["-n", "--dry-run"]) {
        return;
    }
    let lease =
        |text: &str| text == "--force-if-includes" || text.split('=').next() == Some("--force-with-lease");
    let exact = |text: &String| text.starts_with("--forc") && !lease(text);
    let short = |text: &String| text.starts_with('-') && !text.starts_with("--") && text[1..].contains('f');
    let forced = verb.before().iter().any(|text| exact(text) || short(text));
    let operands = verb.operands();
    // `--force-with-lease=main:` expects that the branch does not exist, and so protects nothing.
    let blind = |text: &String| text.starts_with("--force-with-lease=") && text.ends_with(':');
    let forced = forced || verb.before().iter().any(blind);
    let plus = operands.iter().skip(1).any(|word| word.starts_with('+'));
    if forced || plus {
        search.add("git-force-push", call.simple);
    }
    if operands.first().is_some_and(|remote| LIVE.contains(remote)) {
        search.add("publish-release", call.simple);
    }
    let empties = operands.iter().skip(1).any(|word| word.starts_with(':') && word.len() > 1);
    // What was kept for an undo stays here.
    let sends_kept = |word: &&str| {
        let from = word.trim_start_matches('+').split(':').next().unwrap_or_default();
        from.starts_with("refs/aops") || from.starts_with("refs/*")
    };
    if empties
        || operands.iter().skip(1).any(sends_kept)
        || verb.has(&["--delete", "--mirror", "--prune", "-d"])
    {
        search.add("git-delete-remote", call.simple);
    }
}
