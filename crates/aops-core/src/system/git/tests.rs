//! Real repositories in throwaway folders.

use super::*;
use std::fs;

/// A repository `tree` with one commit, below a separate home.
pub(crate) fn repository() -> (tempfile::TempDir, Env) {
    let home = tempfile::tempdir().unwrap();
    let env = Env {
        home: home.path().to_owned(),
        config: home.path().join(".claude"),
        cwd: home.path().join("tree"),
        ..Env::default()
    };
    fs::write(home.path().join(".gitconfig"), "[user]\nname = t\nemail = t@example.invalid\n").unwrap();
    fs::create_dir(&env.cwd).unwrap();
    run(&env, &["init", "-q", "-b", "main"]);
    run(&env, &["commit", "-q", "--allow-empty", "-m", "start"]);
    (home, env)
}

pub(crate) fn run(env: &Env, args: &[&str]) -> String {
    let said = git(env, &env.cwd, args).unwrap_or_else(|| panic!("git {args:?}"));
    String::from_utf8(said).unwrap()
}

/// 4,500 tracked files with names of 240 bytes, so that the list is longer than a mebibyte, followed by
/// `last`.
pub(crate) fn track_many(env: &Env, last: &str) {
    for n in 0..4_500 {
        fs::write(env.cwd.join(format!("{n:0240}")), "").unwrap();
    }
    fs::write(env.cwd.join(last), "kept\n").unwrap();
    run(env, &["add", "--all", "--force"]);
}

#[test]
fn status_is_read() {
    let said = b"# branch.oid abc\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -0\x001 .M N... 100644 100644 100644 a b src/a b.rs\x002 R. N... 1 1 1 a b R100 new name\0old name\0? un tracked\0";
    let (status, untracked) = parse(said);
    assert_eq!(
        (status.head.as_str(), status.branch.as_str(), status.upstream, status.ahead),
        ("abc", "main", true, 2)
    );
    assert_eq!(
        (status.dirty.join(", "), untracked.join(", ")),
        ("src/a b.rs, new name, old name".into(), "un tracked".into())
    );
}

#[test]
fn a_long_list_of_tracked_files_is_whole() {
    let (_home, env) = repository();
    track_many(&env, "last");
    let list = tracked(&env, &env.cwd).unwrap().unwrap();
    assert!(list.len() > 1 << 20 && list.ends_with(b"\0last\0"), "{} bytes", list.len());
    assert_eq!(list.split(|b| *b == 0).count(), 4_502);
}

/// More changes than the baseline stores individually; each path is `<kind><n>`.
#[test]
fn old_changes_are_not_owed_however_many() {
    let (_home, env) = repository();
    let path = |kind: char, n: usize| env.cwd.join(format!("{kind}{n}"));
    for n in 0..10 {
        fs::write(path('d', n), "").unwrap();
    }
    run(&env, &["add", "--all"]);
    run(&env, &["commit", "-q", "-m", "more"]);
    for n in 0..10 {
        fs::remove_file(path('d', n)).unwrap();
    }
    for n in 0..2_500 {
        fs::write(path('n', n), "").unwrap();
    }
    let before = baseline(&env, &env.cwd).unwrap();
    assert!(before.len() < 2_100, "{}", before.len());
    assert_eq!(owed(&env, &env.cwd, &env.cwd, &before, &Deeds::ALL).uncommitted, [""; 0]);
    assert_eq!(touched(&env, &env.cwd, &before), [""; 0]);
    for name in ["n2499", "n1", "a"] {
        fs::write(env.cwd.join(name), "changed\n").unwrap();
    }
    assert_eq!(owed(&env, &env.cwd, &env.cwd, &before, &Deeds::ALL).uncommitted, ["a", "n1", "n2499"]);
    assert_eq!(touched(&env, &env.cwd, &before), ["a", "n1", "n2499"]);
}

#[test]
fn the_advice_names_the_remote_of_the_repository() {
    let command = |config: &[&str]| {
        let (_home, env) = repository();
        for pair in config.chunks_exact(2) {
            run(&env, &["config", pair[0], pair[1]]);
        }
        owed(&env, &env.cwd, &env.cwd, &BTreeMap::new(), &Deeds::ALL).push.map(|(command, _)| command)
    };
    let [origin, mine, theirs] = ["origin", "mine", "theirs"].map(|name| format!("remote.{name}.url"));
    for (config, remote) in [
        (&[] as &[&str], None),
        (&[&origin, "/x"], Some("origin")),
        (&[&mine, "/x"], Some("mine")),
        (&[&mine, "/x", &theirs, "/y"], Some("origin")),
        (&[&mine, "/x", &theirs, "/y", "branch.main.remote", "theirs"], Some("theirs")),
        (
            &[&origin, "/x", &mine, "/y", "branch.main.remote", "origin", "remote.pushDefault", "mine"],
            Some("mine"),
        ),
        (
            &[&origin, "/x", &mine, "/y", "remote.pushDefault", "origin", "branch.main.pushRemote", "mine"],
            Some("mine"),
        ),
        (&[&mine, "/x", &theirs, "/y", "branch.main.remote", "."], Some("origin")),
        (&[&mine, "/x", "branch.main.remote", "x; rm -rf ."], Some("mine")),
    ] {
        assert_eq!(command(config), remote.map(|name| format!("git push -u {name} main")), "{config:?}");
    }
}

#[test]
fn the_users_own_configuration_of_git_is_read_where_it_is() {
    let (home, mut env) = repository();
    let config = home.path().join("xdg");
    fs::create_dir_all(config.join("git")).unwrap();
    fs::write(config.join("git/ignore"), "ignored\n").unwrap();
    fs::write(env.cwd.join("ignored"), "").unwrap();
    assert_eq!(status(&env, &env.cwd).unwrap().dirty, ["ignored"]);
    env.folders = vec![("XDG_CONFIG_HOME".to_owned(), config.to_string_lossy().into_owned())];
    assert_eq!(status(&env, &env.cwd).unwrap().dirty, [""; 0]);
}

/// If git does not answer, that does not mean that there is no repository.
#[test]
fn a_git_that_cannot_be_asked_is_no_missing_repository() {
    let (home, env) = repository();
    let before = baseline(&env, &env.cwd).unwrap();
    fs::write(env.cwd.join("new"), "x").unwrap();
    assert_eq!(owed(&env, &env.cwd, &env.cwd, &before, &Deeds::ALL).uncommitted, ["new"]);
    // The client's folder is elsewhere.
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    assert_eq!(owed(&env, &elsewhere, &env.cwd, &before, &Deeds::ALL).uncommitted, ["new"]);
    assert_eq!(owed(&env, &elsewhere, &env.cwd, &BTreeMap::new(), &Deeds::ALL).asked, Asked::NoRepository);
    let why = |env: &Env, cwd: &Path, before| match owed(env, cwd, &env.cwd, before, &Deeds::ALL).asked {
        Asked::Unasked(why) => why,
        asked => panic!("{asked:?}"),
    };
    fs::rename(env.cwd.join(".git/HEAD"), env.cwd.join(".git/DAEH")).unwrap();
    assert!(why(&env, &env.cwd.clone(), &before).contains("no longer exists"));
    fs::rename(env.cwd.join(".git/DAEH"), env.cwd.join(".git/HEAD")).unwrap();
    // If there is no repository, git need not be asked.
    assert_eq!(owed(&env, &elsewhere, &elsewhere, &BTreeMap::new(), &Deeds::ALL).asked, Asked::NoRepository);
    assert!(has_repository(&env.cwd.join("a/b")) && !has_repository(&elsewhere));
}
