use super::*;
use crate::syntax::{Ground, cut};

fn of(line: &str) -> (Vec<String>, usize) {
    let ground = Ground { cwd: "/p", home: "/h", variables: &[] };
    let line = cut(line, &ground);
    let losses = losses(&line).unwrap_or_else(|| Losses { rest: line, ..Losses::default() });
    let shown = |loss: &Loss| match loss {
        Loss::Removed(word) => format!("- {}", word.lossy()),
        Loss::Overwritten(word) => format!("> {}", word.lossy()),
        Loss::Found { root, names } => {
            let names: Vec<String> = names.iter().map(Word::lossy).collect();
            format!("? {} {}", root.lossy(), names.join(" "))
        }
        Loss::Replaced { sources, target, .. } => {
            let sources: Vec<String> = sources.iter().map(Word::lossy).collect();
            format!("{} > {}", sources.join(" "), target.lossy())
        }
        Loss::Crontab => "crontab".to_owned(),
        Loss::Git { folder, what: GitLoss::Worktree(path) } => {
            format!("{}: worktree {}", folder.lossy(), path.lossy())
        }
        Loss::Git { folder, what } => format!("{}: {what:?}", folder.lossy()),
    };
    (losses.all.iter().map(shown).collect(), losses.rest.commands.len())
}

#[test]
fn files_that_go() {
    for (line, want, rest) in [
        ("rm -rf notes data/*.csv", &["- /p/notes", "- /p/data/*.csv"][..], 0),
        ("cd sub && rm x", &["- /p/sub/x"], 1),
        ("echo hi > .env", &["> /p/.env"], 1),
        ("echo hi >> .env", &[], 1),
        (": > a", &["> /p/a"], 1),
        ("tee out.txt < x", &["> /p/out.txt"], 0),
        ("tee -a out.txt", &[], 1),
        ("aops-hook report -o notes.txt", &["> /p/notes.txt"], 1),
        ("curl -sSLo page.html https://x.example", &["> /p/page.html"], 1),
        ("curl -O https://x.example/a", &[], 1),
        ("wget -qO- https://x.example", &[], 1),
        ("wget -Olist https://x.example", &["> /p/list"], 1),
        ("sort --output=a a", &["> /p/a"], 1),
        ("sort -- -o a", &[], 1),
        ("{ echo a; echo b; } > .env", &["> /p/.env"], 3),
        ("(echo a) >> .env", &[], 2),
        ("for i in 1 2; do echo $i; done > list", &["> /p/list"], 3),
        ("if true; then echo a; fi >| list", &["> /p/list"], 3),
        ("[[ a ]] > list", &["> /p/list"], 1),
        ("exec 3<> list", &["> /p/list"], 1),
        ("mv $made list", &["> /p/list"], 1),
        ("cp -n $made list", &[], 1),
        ("echo a b | xargs rm -f", &["- /p/a", "- /p/b"], 1),
        ("xargs rm <<< a", &["- /p/a"], 0),
        ("rm $(echo a)", &["- /p/a"], 1),
        ("cp a b", &["/p/a > /p/b"], 1),
        ("cp -n a b", &[], 1),
        ("git mv -f a b", &["/p/a > /p/b"], 1),
        ("git mv a b", &[], 1),
        ("mv -t dir a b", &["/p/a /p/b > /p/dir"], 1),
        ("sed -i s/a/b/ f.txt", &["> /p/s/a/b/", "> /p/f.txt"], 0),
        ("sed -Ei s/a/b/ f.txt", &["> /p/s/a/b/", "> /p/f.txt"], 0),
        ("sed -ni.bak p f.txt", &["> /p/p", "> /p/f.txt"], 0),
        ("sed -n s/i/b/ f.txt", &[], 1),
        ("cp --backup=none a b", &["/p/a > /p/b"], 1),
        ("cp --backup a b", &[], 1),
        ("VERSION_CONTROL=none cp -b a b", &["/p/a > /p/b"], 1),
        ("truncate -s 0 app.db", &["> /p/app.db"], 0),
        ("dd if=/dev/zero of=disk.img", &["> /p/disk.img"], 0),
        ("find logs -name '*.old' -delete", &["? /p/logs *.old"], 0),
        ("find . -type f ! -name keep -delete", &["? /p/. "], 0),
        ("sudo rm x", &["- /p/x"], 0),
        ("bash -c 'rm x'", &["- /p/x"], 0),
        ("rm \"$x\"", &[], 1),
        ("find . -exec rm {} +", &[], 2),
        ("find . -name x.txt -exec cp a {} \\;", &["/p/a > /p/**/x.txt"], 2),
        ("find . -name '*.txt' -exec sed -i s/a/b/ {} +", &["> /p/s/a/b/", "> /p/**/*.txt"], 1),
        ("find . -name x | xargs tee", &["> /p/**/x"], 1),
        ("find d -name x -exec dd if=a of={} \\;", &["> /p/d/**/x"], 1),
        ("find d -name x -exec mv {} b \\;", &["/p/d/**/x > /p/b"], 2),
        ("find d -name x -exec grep a {} \\;", &[], 2),
        ("coproc rm a", &["- /p/a"], 0),
        ("r$(:)m a", &["- /p/a"], 2),
        ("make clean", &[], 1),
        ("crontab -r", &["crontab"], 1),
        ("crontab new.txt", &["crontab"], 1),
        ("crontab -l", &[], 1),
        ("crontab -u bob -r", &[], 1),
        // An empty variable leaves the folder that the line began in.
        ("cd \"$X\" && rm x", &["- /p/x"], 2),
        ("cd /tmp/$X && rm x", &[], 2),
        (". f; rm x", &["- /p/x"], 1),
        ("echo *.txt | xargs rm", &["- /p/*.txt"], 1),
        ("printf '%s\\n' *.txt | xargs unlink", &["- /p/*.txt"], 1),
        ("printf '%s\\0' n* | xargs -0 truncate -s0", &["> /p/n*"], 1),
        ("echo a.txt | xargs -I{} sh -c 'rm {}'", &["- /p/a.txt"], 2),
        ("echo a.txt | xargs -I{} sh -c '> {}'", &["> /p/a.txt"], 3),
        ("echo n*.txt | xargs -I% rm %", &["- /p/n*.txt"], 2),
        ("cp --targ=d a", &["/p/a > /p/d"], 1),
        ("truncate --siz 0 a", &["> /p/a"], 0),
        ("sed --in-p s/a/b/ f", &["> /p/s/a/b/", "> /p/f"], 0),
    ] {
        let (found, left) = of(line);
        assert_eq!(found, want, "{line}");
        assert_eq!(left, rest, "{line}: commands that are left");
    }
}

#[test]
fn files_that_an_option_names() {
    for (line, want) in [
        ("git log --output=.env", Some("> /p/.env")),
        ("git -C sub show --output .env", Some("> /p/sub/.env")),
        ("git archive -o a.zip HEAD", Some("> /p/a.zip")),
        ("git bundle create b main", Some("> /p/b")),
        ("git config -f .env a.b c", Some("> /p/.env")),
        ("git config -f .env a.b", None),
        ("find . -name x -fls .env", Some("> /p/.env")),
        ("find . -fprintf a %p", Some("> /p/a")),
        ("sed 's/1/2/w .env' c.txt", Some("> /p/.env")),
        ("sed -n '/x/w out' c.txt", Some("> /p/out")),
        ("sed 's/a/b/' c.txt", None),
        ("openssl enc -base64 -in c.txt -out .env", Some("> /p/.env")),
        ("script -q -c ls .env", Some("> /p/.env")),
        ("script -a log", None),
        ("tar cf a.tar x", Some("> /p/a.tar")),
        ("tar -czf a.tgz x", Some("> /p/a.tgz")),
        ("tar --create --file=a.tar x", Some("> /p/a.tar")),
        ("tar xf a.tar", None),
        ("tar cf - x", None),
        ("pg_dump -f dump.sql db", Some("> /p/dump.sql")),
    ] {
        assert_eq!(of(line).0, want.into_iter().collect::<Vec<_>>(), "{line}");
    }
}

/// A sourced file may change the meaning of words; nothing else is assumed.
#[test]
fn a_line_that_is_read() {
    let is = |line: &str| is_read(&cut(line, &Ground { cwd: "/p", home: "/h", variables: &[] }));
    for line in ["rm x", ". f; rm x", "source venv/bin/activate && git reset --hard"] {
        assert!(is(line), "{line}");
    }
    for line in ["eval \"$X\"", ". f; eval \"$X\"; rm x", "eval \"$X\"; . f", "rm x; if", "bash -c \"$X\""] {
        assert!(!is(line), "{line}");
    }
}

#[test]
fn what_git_drops() {
    let changes = |paths: &[&str], target: Option<&str>| {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        let target = match target {
            None => Target::Same,
            Some("") => Target::Unknown,
            Some(name) => Target::Named(name.to_owned()),
        };
        format!("/p: {:?}", GitLoss::Changes { paths, target })
    };
    let either = |name: &str| {
        format!("/p: {:?}", GitLoss::Changes { paths: Vec::new(), target: Target::Either(name.to_owned()) })
    };
    let branch = |name: &str| format!("/p: {:?}", GitLoss::Branches(vec![name.to_owned()]));
    for (line, want) in [
        ("git reset --hard", changes(&[], None)),
        ("git reset --hard origin/main", changes(&[], Some("origin/main"))),
        ("git checkout -- a b", changes(&["a", "b"], None)),
        ("git checkout main -- a", changes(&["a"], Some("main"))),
        ("git checkout a.txt", either("a.txt")),
        ("git checkout -q src", either("src")),
        ("git checkout $PWD", either("/p")),
        ("git checkout a.t*", either("a.t*")),
        ("git checkout -b src", changes(&[], None)),
        ("git checkout -fq src", changes(&[], Some("src"))),
        ("git checkout src --", changes(&[], Some("src"))),
        (
            "git clean --forc -d",
            format!("/p: {:?}", GitLoss::Untracked { paths: Vec::new(), ignored: false }),
        ),
        ("git switch -qC topic main", branch("topic")),
        ("git checkout -qBfix main", branch("fix")),
        ("git switch --force-c topic main", branch("topic")),
        ("git worktree add -f -B topic ../w main", branch("topic")),
        ("git checkout $x -- .", changes(&[], Some(""))),
        ("git restore -s HEAD~1 a", changes(&["a"], Some("HEAD~1"))),
        ("git stash drop stash@{1}", format!("/p: {:?}", GitLoss::Stashes)),
        ("git branch -D topic", format!("/p: {:?}", GitLoss::Branches(vec!["topic".to_owned()]))),
        ("git branch -D $b", format!("/p: {:?}", GitLoss::Branches(Vec::new()))),
        ("git worktree remove --force ../w", "/p: worktree /w".to_owned()),
        ("git fetch . +main:b", format!("/p: {:?}", GitLoss::Branches(vec!["b".to_owned()]))),
        ("git fetch -f . main:refs/heads/b", format!("/p: {:?}", GitLoss::Branches(vec!["b".to_owned()]))),
        ("git clean -fdx", format!("/p: {:?}", GitLoss::Untracked { paths: Vec::new(), ignored: true })),
    ] {
        assert_eq!(of(line).0, [want], "{line}");
        assert_eq!(of(line).1, 0, "{line}: commands that are left");
    }
    let back = GitLoss::Changes { paths: Vec::new(), target: Target::Side };
    assert_eq!(of("git diff | git apply -R").0, [format!("/p: {back:?}")]);
    for line in [
        "git push --force",
        "git apply a.patch",
        "git fetch . main:b",
        "git worktree add -b new ../w",
        "git fetch origin +main:refs/remotes/origin/main",
        "git fetch . '+refs/heads/*:refs/heads/*'",
        "git fetch -f git@github.com:o/r.git",
        "git fetch --force https://x.example/o/r.git",
        "git $x --hard",
        "GIT_DIR=x git reset --hard",
        "git -c core.worktree=/ reset --hard",
    ] {
        assert_eq!(of(line).0, <[String; 0]>::default(), "{line}");
    }
    assert_eq!(of("git -C sub reset --hard").0[0], changes(&[], None).replace("/p:", "/p/sub:"));
}

/// What the line itself creates cannot be saved before it runs; what it moves can, at its old place.
#[test]
fn what_the_line_puts_there_first_is_not_told_whole() {
    for (line, left) in [
        ("git stash && git stash drop", 2),
        ("git stash -u; git stash clear", 2),
        ("git add -A && git reset --hard", 2),
        ("git add u.txt && git commit -qm x && git reset --hard HEAD~1", 3),
        ("git reset && git clean -fd", 1),
        ("git rm --cached a && git clean -fd", 1),
        ("git stash pop && git checkout -- .", 2),
        ("git stash branch b && git checkout -qf main", 2),
        ("git commit -qam x && git branch -D topic", 2),
        ("git worktree add ../w topic; git -C ../w reset --hard main", 2),
        ("git -C . worktree add ../w topic; cd ../w; git reset --hard main", 3),
        ("git worktree add -b new ../w; git -C ../w reset --hard main", 1),
        // These words only reduce the loss.
        ("git stash && git reset --hard origin/main", 1),
        ("git fetch && git reset --hard origin/main", 1),
        ("git reset --hard && git clean -fd", 0),
        ("git commit -qam x && git reset --hard HEAD~1", 1),
        ("git merge topic && git branch -D topic", 1),
    ] {
        assert_eq!(of(line).1, left, "{line}: {:?}", of(line).0);
    }
    // What was changed before is kept, whatever the line adds.
    assert_eq!(of("git add a && git checkout src").0.len(), 1);
    for (line, source) in [
        ("mv a b && rm b", "- /p/a"),
        ("mv a b/ && rm -rf b", "- /p/a"),
        ("mv d e; rm e/x", "- /p/d"),
        ("mv a b; : > b", "- /p/a"),
        ("mv a t/; rm -rf t/*", "- /p/a"),
    ] {
        assert!(of(line).0.iter().any(|loss| loss == source), "{line}: {:?}", of(line).0);
    }
    assert!(!of("mv a b && rm c").0.iter().any(|loss| loss == "- /p/a"));
}
