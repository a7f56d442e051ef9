//! Lines in the arguments of other programs: options, settings, scripts, mounts. The corpora have more.

use super::found;

#[rustfmt::skip]
const FOUND: &[(&str, &str)] = &[
    // git: options, verbs and settings.
    ("git rebase --exec='rm -rf src' main", "rm-source"), ("git rebase -x'rm -rf src' main", "rm-source"),
    ("git submodule foreach --recursive rm -rf src", "rm-source"), ("git bisect run rm -rf src", "rm-source"),
    ("git difftool -yx 'rm -rf src' HEAD", "rm-source"), ("git difftool --ext 'rm -rf src'", "rm-source"),
    ("git grep -nO'rm -rf src' foo", "rm-source"), ("git grep --op='rm -rf src' foo", "rm-source"),
    ("git grep -lO'rm' TODO", "rm-unknown"), ("git -c core.pager='rm -rf src' log", "rm-source"),
    ("git -c Alias.X='!rm -rf src' x", "rm-source"), ("git -c alias.X='reset --hard' x", "git-discard"),
    ("git clone -c core.sshCommand='rm -rf src' x", "rm-source"), ("git config core.pager 'rm -rf src'", "rm-source"),
    ("git config alias.wipe '!git reset --hard'", "git-discard"),
    // awk and sed.
    (r#"awk 'BEGIN{system("rm -rf src")}'"#, "rm-source"), (r#"awk '{system("rm " $1)}' x"#, "rm-unknown"),
    (r#"awk '{system("rm -rf " $1)}' x"#, "rm-unknown"), (r#"awk '{print "rm " $1 | "sh"}' x"#, "unknown-code"),
    (r#"awk 'BEGIN{"rm -rf src" | getline}'"#, "rm-source"), (r#"awk 'BEGIN{c="rm -rf src"; c | getline}'"#, "rm-source"),
    ("awk -v c='rm -rf src' 'BEGIN{system(c)}'", "rm-source"), (r#"awk '{print > "/etc/hosts"}' x"#, "system-write"),
    ("sed 's/.*/rm -rf src/e' x", "rm-source"), ("sed -n '1!e rm -rf src' x", "rm-source"),
    ("sed --expr='1e rm -rf src' x", "rm-source"), ("sed 's/^/rm -rf /e' x", "rm-unknown"), ("sed e x", "unknown-code"),
    // Options of other programs, glued, cut short and bundled.
    ("tar xf a.tar --to-com='rm -rf src'", "rm-source"), ("tar cf /tmp/a . --checkpoint-act=exec='rm -rf src'", "rm-source"),
    ("tar --use-comp='rm -rf src' -xf a.tar", "rm-source"), ("ssh -o 'proxycommand=rm -rf src' host", "rm-source"),
    ("sftp -oProxyCommand='rm -rf src' host", "rm-source"), ("man --pag 'rm -rf src' ls", "rm-source"),
    ("rg --pre rm foo", "rm-unknown"), ("sort --compress-pr='rm -rf src' x", "rm-source"),
    ("split --filt='rm -rf src' x", "rm-source"), ("zip -T -TT 'rm -rf src' a.zip x", "rm-source"),
    ("go test -exec 'rm -rf src' ./...", "rm-source"), ("script --comm 'rm -rf src' x", "rm-source"),
    ("env --split-str='rm -rf src'", "rm-source"), ("less '+!rm -rf src' x", "rm-source"),
    ("vim -c \"silent execute '!rm -rf src'\" -c q", "rm-source"), ("sftp -b - h <<< '!rm -rf src'", "rm-source"),
    ("expect -c 'spawn rm -rf src; expect eof'", "rm-source"), ("emacs --batch --eval '(shell-command \"rm -rf src\")'", "rm-source"),
    ("make SHELL='rm -rf src #'", "rm-source"), ("make --eval='$(shell rm -rf src)'", "rm-source"),
    ("make -f - <<< 'x:; rm -rf src'", "rm-source"), ("parallel :::: lines", "unknown-code"), ("parallel < lines", "unknown-code"),
    ("sqlite3 a.db '.sh rm -rf src'", "rm-source"), ("psql -c \"COPY (SELECT 1) TO PROGRAM 'rm -rf src'\"", "rm-source"),
    ("tmux new -d rm -rf src", "rm-source"), ("rbenv exec rm -rf src", "rm-source"), ("direnv exec . git reset --hard", "git-discard"),
    ("nix develop -c rm -rf src", "rm-source"), ("ip netns exec x rm -rf src", "rm-source"), ("cmake -E env A=b rm -rf src", "rm-source"),
    ("docker run -v $PWD:/w alpine rm -rf /w/src", "rm-source"), ("docker run -v .:/w -w /w alpine sh -c 'rm -rf *'", "rm-project"),
    // Lines that a program puts together.
    ("python3 -c 'import os,sys; os.system(\"rm -rf \" + sys.argv[1])' src", "rm-unknown"),
    ("python3 -c 'import os; p=\"src\"; os.system(f\"rm -rf {p}\")'", "rm-unknown"),
    ("python3 -c 'import os; os.system(\"rm -rf %s\" % p)'", "rm-unknown"),
    ("python3 -c 'import subprocess; subprocess.run([\"rm\", \"-rf\", path])'", "rm-unknown"),
    ("python3 -c 'import subprocess; c=[\"rm\",\"-rf\",\"src\"]; subprocess.run(c)'", "rm-source"),
    ("node -e 'const {execSync:x}=require(\"child_process\"); x(\"rm -rf src\")'", "rm-source"),
    ("perl -e 'system(\"rm -rf \" . $ARGV[0])' src", "rm-unknown"), ("ruby -e 'system(\"rm -rf #{ARGV[0]}\")' src", "rm-unknown"),
    ("lua -e 'os.execute(\"rm -rf \" .. arg[1])'", "rm-unknown"),
];

#[rustfmt::skip]
const PASSED: &[&str] = &[
    "git rebase --exec 'cargo test' main", "git bisect run ./test.sh", "git grep -Oless TODO", "git grep -n -- -Orm",
    "git -c core.pager=cat log", "git config core.pager 'less -FRX'", "git config alias.st 'status -sb'", "git config user.name 'rm -rf src'",
    "git add run rm", r#"awk '{print $1 | "sort -u"}' x"#, r#"awk '{print > "part-" NR}' x"#, "awk '/rm -rf/{print}' x",
    r#"awk 'BEGIN{"date" | getline d; print d}'"#, "sed 's/rm -rf/ls/g' x", "sed 's/e/E/; y/abc/xyz/' x", "sed -n '/e rm/p' x",
    "tar -I 'zstd -T0' -cf /tmp/a.tar src", "tar cf /tmp/a . --checkpoint-action=dot", "ssh -o ProxyCommand='ssh -W %h:%p b' host ls",
    "ssh -o StrictHostKeyChecking=no host", "man --pager='less -R' git", "split --filter='gzip > $FILE.gz' x", "less +F x",
    "vim -c 'wq!' x", "vim -c '%s/a/b/g' -c wq x", "make CFLAGS='-O2 -g'", "parallel gzip ::: a b", "parallel -j 4 'cargo test -p {}' ::: a",
    "tldr git reset --hard", "man rm", "brew install git", "docker run -v $PWD:/w -w /w node npm ci", "docker run -v $PWD:/w alpine rm -rf /w/dist",
    "python3 -c 'import subprocess; subprocess.run([\"git\", \"log\", rev], check=True)'", "python3 -c 'import os; os.system(\"ls \" + p)'",
];

#[test]
fn a_line_that_another_program_runs_is_judged_as_if_typed() {
    let missed: Vec<_> = FOUND.iter().filter(|(line, rule)| !found(line).contains(rule)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let stopped: Vec<_> = PASSED.iter().filter(|line| !found(line).is_empty()).collect();
    assert!(stopped.is_empty(), "{stopped:#?}");
}
