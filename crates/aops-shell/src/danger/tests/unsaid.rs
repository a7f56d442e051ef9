//! What the line leaves uncertain: values of variables set in other branches, and verbs that a substitution
//! prints.

use super::found;

#[rustfmt::skip]
const PERHAPS: &[&str] = &[
    "o=reset; if false; then o=status; fi; git $o --hard",
    "o=reset; if true; then :; else o=status; fi; git $o --hard",
    "o=reset; if false; then o=status; elif false; then o=log; fi; git $o --hard",
    "o=status; if true; then o=reset; else o=log; fi; git $o --hard",
    "o=reset; while false; do o=status; done; git $o --hard",
    "o=reset; until true; do o=status; done; git $o --hard",
    "o=reset; for x in; do o=status; done; git $o --hard",
    "o=reset; for x in $(true); do o=status; done; git $o --hard",
    "o=reset; for x in *.none; do o=status; done; git $o --hard",
    "o=reset; for ((i=0; i<0; i++)); do o=status; done; git $o --hard",
    "o=reset; false && o=status; git $o --hard",
    "o=reset; true || o=status; git $o --hard",
    "o=reset; false && true && o=status || true; git $o --hard",
    "o=status; false && o=log || o=reset; git $o --hard",
    "o=reset; case x in y) o=status;; esac; git $o --hard",
    "o=status; case x in y) o=log;; *) o=reset;; esac; git $o --hard",
    "o=status; case x in x) o=reset;& y) p=1;; esac; git $o --hard",
    "o=reset; f() { o=status; }; git $o --hard",
    "o=reset; f() { local o=status; echo $o; }; f x; git $o --hard",
    "o=reset; false && f() { o=status; }; f; git $o --hard",
    "o=status; f() { o=reset; }; f; git $o --hard",
    "o=status; f() { o=reset; }; g() { f; }; g; git $o --hard",
    "o=reset; (o=status); git $o --hard",
    "o=reset; { o=status; } & git $o --hard",
    "o=reset; o=status | true; git $o --hard",
    "o=reset; o=status & wait; git $o --hard",
    "o=reset; x=$(o=status); git $o --hard",
    "o=reset; sh -c 'o=status'; git $o --hard",
    "o=status; true | o=reset; git $o --hard",
    "o=status; for i in 1 2; do git $o --hard; o=reset; done",
    "o=status; n=reset; while read x; do git $o --hard; o=$n; done",
    "a=status; b=log; for i in 1 2 3; do git $a --hard; a=$b; b=reset; done",
    "for i in 1 2; do git $o --hard; o=reset; done",
    "false && o=status; git $o reset --hard",
    "if false; then o=status; fi; git ${o} reset --hard",
    "o=status; unset o; git $o reset --hard",
    "o=; git $o reset --hard",
    "o=' reset'; git $o --hard",
    "a=(); git \"${a[@]}\" reset --hard",
    "a=(reset); a+=(--hard); git \"${a[@]}\"",
    "a=(); if x; then a+=(status); fi; git \"${a[@]}\" reset --hard",
    "o=re; o+=set; git $o --hard",
    "readonly o=reset\no=status\ngit $o --hard",
    "declare -r o=reset\no=status\ngit $o --hard",
    "o=; : ${o:=reset}; git $o --hard",
    "sh -c 'o=status; o=reset :; git $o --hard'",
    "set -- reset; if false; then set -- status; fi; git $1 --hard",
    "o=status; p=status; for q in status reset; do p=$q; done; git $p --hard",
];

#[rustfmt::skip]
const SURELY: &[&str] = &[
    "o=status; if x; then o=log; fi; git $o",
    "if x; then o=-v; fi; git branch $o",
    "cd api && d=$(mktemp -d); rm -rf \"$d\"",
    "cd api && d=/tmp/x; rm -rf $d",
    "if x; then d=/tmp/a; else d=/tmp/b; fi; rm -rf \"$d/c\"",
    "o=reset; o=status; git $o --hard",
    "if x; then o=status; else o=log; fi; git $o --hard",
    "case $1 in a) o=status;; *) o=log;; esac; git $o --hard",
    "files=; for f in a.o b.o; do files=\"$files $f\"; done; ls $files",
    "args=(); [ -n \"$x\" ] && args+=(--verbose); git log \"${args[@]}\"",
    "l=; for f in segments/*.go; do n=$(basename $f); [ -n \"$n\" ] && { k=$((k+1)); l=\"$l $n\"; }; done; echo \"$l\"",
    "n=0; while [ $n -lt 3 ]; do n=$((n+1)); echo $n; done",
    "f() { local d; d=$(mktemp -d); echo \"$d\"; }; f; git status",
];

#[rustfmt::skip]
const ASKED: &[(&str, &str)] = &[
    ("git $(echo reset) --hard", "git-discard"), ("git `echo reset` --hard", "git-discard"),
    ("git $(printf reset) --hard", "git-discard"), ("git $(printf '%s\\n' reset) --hard", "git-discard"),
    ("git \"$(echo reset)\" --hard", "git-discard"), ("git $(echo reset --hard)", "git-discard"),
    ("git re$(echo set) --hard", "git-discard"), ("git reset $(echo --hard)", "git-discard"),
    ("o=$(echo reset); git $o --hard", "git-discard"), ("for o in $(echo status reset); do git $o --hard; done", "git-discard"),
    ("o=reset; git $(echo $o) --hard", "git-discard"), ("git clean $(echo -fdx)", "git-clean"),
    ("rm $(echo -rf) ~", "rm-system"), ("terraform $(echo destroy)", "infra-destroy"),
    ("git $(cat verb) --hard", "git-discard"), ("git \"$VERB\" --hard", "git-discard"),
    ("git $(cat verb) --force origin main", "git-force-push"), ("git re$(cat rest) --hard", "git-discard"),
    ("git rese? --hard", "git-discard"), ("git $(cat v) drop", "git-drop-stash"),
    ("git $(cat v) -D topic", "git-delete-branch"), ("git $(cat v) -- .", "git-discard"),
    ("git $OPTS reset --hard", "git-discard"), ("git $(cat opts) push --force", "git-force-push"),
    ("git clean $(cat opts)", "git-clean"), ("git clean $OPTS", "git-clean"), ("git reset $(cat how)", "git-discard"),
    ("terraform $(cat verb) -auto-approve", "infra-destroy"), ("docker $(cat what) prune -a", "container-wipe"),
    ("kubectl $OPTS delete ns prod", "cluster-delete"),
    ("f() { git $1 --hard; }; f $(cat verb)", "git-discard"),
];

#[rustfmt::skip]
const PASSED: &[&str] = &[
    "git log $(git merge-base a b)..HEAD",
    "git show $(git rev-parse HEAD)",
    "git show $(cat commit)",
    "git checkout $(cat branch)",
    "git checkout $BRANCH",
    "git reset $(git merge-base a b)",
    "git reset --soft $BASE",
    "git push origin $(git branch --show-current)",
    "git push origin $BRANCH",
    "git $CMD",
    "git \"$@\"",
    "git $OPTS commit -m x",
    "git $OPTS checkout main",
    "git $(cat verb) --stat HEAD~1 HEAD",
    "git -C \"$d\" status",
    "kill $(cat server.pid)",
    "docker $CMD ps",
    "npm run $SCRIPT",
    "systemctl restart $SERVICE",
    "service $s restart",
    "kubectl get $KIND -o yaml",
    "terraform $CMD",
    "gh pr $VERB 12",
    "git $(echo status)",
    "git log $(echo --oneline)",
    "echo $(echo git reset --hard)",
];

/// Words and lines that the shell puts together in other ways than by plain text.
#[rustfmt::skip]
const PUT_TOGETHER: &[(&str, &str)] = &[
    ("g$()it push --force origin main", "git-force-push"), ("g$(:)it push --force origin main", "git-force-push"),
    ("g$@it push --force origin main", "git-force-push"), ("g${u}it push --force origin main", "git-force-push"),
    ("git pu${u}sh --fo${u}rce origin main", "git-force-push"), ("git push --fo$(true)rce origin main", "git-force-push"),
    ("r\"\"m -rf /", "rm-system"), ("r$(:)m -rf ~", "rm-system"), ("r${u}m -${u}rf /", "rm-system"),
    ("sudo r${u}m -rf /", "rm-system"), ("ba${u}sh -c 'rm -rf /'", "rm-system"), ("c$@at .env", "secret-file"),
    ("$'\\x{72}\\x{6d}' -rf /", "rm-system"), ("rm${IFS}-rf${IFS}/", "rm-system"), ("cat${IFS}.env", "secret-file"),
    ("c='GIT PUSH --FORCE ORIGIN MAIN'; ${c,,}", "git-force-push"), ("c=RM; ${c,,} -rf /", "rm-system"),
    ("c='xxgit push --force'; ${c#xx}", "git-force-push"), ("c=git.exe; ${c%.*} push --force", "git-force-push"),
    ("c='git push --force'; d=c; ${!d}", "git-force-push"), ("declare -n r=c; c='git push --force'; $r", "git-force-push"),
    ("a=(git push --force); ${a[0]} ${a[1]} ${a[2]} origin main", "git-force-push"), ("g=git; $g push --force", "git-force-push"),
    ("IFS=_; c=git_push_--force_origin_main; $c", "git-force-push"),
    ("x='a[$(git push --force)]'; echo $((x))", "git-force-push"), ("test -v 'a[$(rm -rf /)]'", "rm-system"),
    ("let 'a[$(rm -rf /)]=1'", "rm-system"), ("printf -v 'a[`rm -rf /`]' x", "rm-system"), ("unset 'a[$(rm -rf /)]'", "rm-system"),
    ("x='$(git push --force)'; echo ${x@P}", "git-force-push"), ("PS4='$(rm -rf /)'; set -x; true", "rm-system"),
    ("echo --force origin main | xargs git push", "git-force-push"), ("xargs git push <<< '--force origin main'", "git-force-push"),
    ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0='push --force' git p origin main", "git-force-push"),
    ("git -c remote.origin.push=+HEAD:main push origin", "git-force-push"), ("git -c remote.origin.mirror=true push origin", "git-delete-remote"),
    ("git send-pack --force ../remote.git main", "git-force-push"), ("coproc rm -rf /", "rm-system"),
    ("bash --rcfile <(echo 'rm -rf /') -ic true", "rm-system"), ("BASH_ENV=<(echo 'rm -rf /') bash -c true", "rm-system"),
];

/// These have the same forms, and nothing dangerous in them.
#[rustfmt::skip]
const PUT_TOGETHER_PLAINLY: &[&str] = &[
    "python$v -m venv .venv", "head -n$n a.txt", "make -j$(nproc)", "git checkout release-$v", "git log --since=$d",
    "x=${y,,}; echo \"$x\"", "f=a/b.txt; echo ${f##*/} ${f%.txt}", "a=(x y); echo ${a[0]}", "IFS=, read -r a b <<< 'x,y'",
    "IFS=$'\\n'; for f in $(ls); do echo $f; done", "PS1='$(git branch --show-current)'; true", "coproc cat; wait",
    "echo main | xargs git log", "git -c remote.origin.fetch=+refs/heads/x:refs/remotes/origin/x fetch origin",
    "cat notes$n", "git diff a${x}b", "test -v 'a[0]'",
];

fn all_found<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>) {
    let missed: Vec<&str> =
        lines.filter(|(line, rule)| !found(line).contains(rule)).map(|(line, _)| line).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

fn none_found(lines: &[&str]) {
    let stopped = lines.iter().map(|line| (*line, found(line))).filter(|(_, found)| !found.is_empty());
    let stopped: Vec<_> = stopped.collect();
    assert!(stopped.is_empty(), "{stopped:#?}");
}

/// An assignment that may not have happened adds a value, and removes none.
#[test]
fn what_may_not_have_run_takes_no_value_away() {
    all_found(PERHAPS.iter().map(|line| (*line, "git-discard")));
    none_found(SURELY);
}

/// An unknown verb or option needs approval if the rest of the command fits a rule.
#[test]
fn a_verb_that_is_not_said_is_the_dangerous_one() {
    all_found(ASKED.iter().copied());
    none_found(PASSED);
}

/// Empty expansions, values made of others, text that is expanded once more.
#[test]
fn a_line_is_what_the_shell_puts_together() {
    all_found(PUT_TOGETHER.iter().copied());
    none_found(PUT_TOGETHER_PLAINLY);
}

/// A line never counts as only reading because of what a substitution prints.
#[test]
fn a_printed_option_reads_nothing() {
    use crate::class::{LineSetting, class};
    let ground = crate::syntax::Ground { cwd: "/home/u/proj", home: "/home/u", variables: &[] };
    let setting = LineSetting::of(ground);
    for line in ["find . $(echo -delete)", "git log $(echo --output=f)", "git $(echo push)", "$(echo rm) x"] {
        assert!(class(&crate::syntax::cut(line, &ground), &setting).effect.is_write(), "{line}");
    }
}
