//! Options as programs read them: names that are cut short, options that a later one takes back, bundles.

use super::found;

#[rustfmt::skip]
const FOUND: &[(&str, &str)] = &[
    ("wipefs --al /dev/sda", "disk-write"), ("git push --mirr origin", "git-delete-remote"),
    ("git push --del origin topic", "git-delete-remote"), ("git branch --del --forc topic", "git-delete-branch"),
    ("git update-ref --del refs/heads/topic", "git-history"), ("git commit --gpg-s -m x", "sign-as-user"),
    ("git tag --sig v1", "sign-as-user"), ("mv --targ=/tmp .git", "mv-away"), ("mv --targ /tmp .git", "mv-away"),
    ("cp --targ=/etc x", "system-write"), ("install --targ=/etc x", "system-write"), ("cp -t/etc x", "system-write"),
    ("flock --comm 'rm -rf ~' /tmp/l", "rm-system"), ("su --comm 'rm -rf ~'", "rm-system"),
    ("wget --meth=DELETE https://api.x.example/v1/u", "http-delete"), ("crontab --rem", "account-change"),
    ("curl --req DELETE https://api.x.example/v1/u", "http-delete"),
    ("git push --dry-run --no-dry-run --force origin main", "git-force-push"),
    ("git push -n --no-dry --force origin main", "git-force-push"),
    ("rsync --dry-run --no-dry-run --delete a/ b/", "sync-delete"), ("rsync -n --no-n --delete a/ b/", "sync-delete"),
    ("git clean --forc -d", "git-clean"), ("git clean --f", "git-clean"), ("git clean -n --no-dry-run -fdx", "git-clean"),
    ("git worktree remove --forc ../wt", "git-remove-worktree"), ("git rm -r --forc .", "git-discard"),
    ("git rm --cached --no-cached -f a", "git-discard"), ("git checkout --forc topic", "git-discard"),
    ("git switch --disc topic", "git-discard"), ("git restore --staged --no-staged a", "git-discard"),
    ("git switch -qC topic main", "git-delete-branch"), ("git checkout -qB topic main", "git-delete-branch"),
    ("git worktree add -f -B topic ../wt main", "git-delete-branch"),
    ("git symbolic-ref refs/heads/topic refs/heads/main", "git-history"),
    ("git fetch -up origin 'refs/heads/*:refs/heads/*'", "git-delete-branch"),
    ("git remote add --mirror=fetch m ../r.git", "git-delete-branch"),
    ("echo src/*.rs | xargs rm", "rm-source"), ("printf \"'a b'\" | xargs rm", "rm-unknown"),
    ("echo ~ | xargs -I{} rm -rf {}", "rm-system"), ("echo ~ | xargs -I{} sh -c 'rm -rf {}'", "rm-system"),
];

#[rustfmt::skip]
const PASSED: &[&str] = &[
    "git push --force-with-lease", "git push --dry-run --force", "git clean --dry-run -fd", "git clean -nfd",
    "rsync -an --delete a/ b/", "rsync --dry-run --delete a/ b/", "git push --no-dry-run origin main",
    "git rm --cached a", "git restore --staged a", "docker compose run --rm web", "pip install --pre x",
    "git checkout -b topic", "git switch -c topic", "git worktree add -b topic ../wt", "git worktree add -bB ../wt",
    "git symbolic-ref HEAD refs/heads/main", "git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main",
    "git fetch -p", "git fetch --prune origin '+refs/heads/*:refs/remotes/origin/*'", "git remote add --mirror=push m x",
    "git remote add m ../r.git", "git fetch origin main:main", "git checkout main", "git checkout src",
    "echo build | xargs -I{} mkdir {}", "echo notes.txt | xargs rm", "cp --target-directory=sub x",
];

#[test]
fn options_are_read_as_the_program_reads_them() {
    let missed: Vec<_> = FOUND.iter().filter(|(line, rule)| !found(line).contains(rule)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let stopped: Vec<_> = PASSED.iter().filter(|line| !found(line).is_empty()).collect();
    assert!(stopped.is_empty(), "{stopped:#?}");
}
