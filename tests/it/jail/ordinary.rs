//! The same tests as an ordinary user, where they run as root.

use super::world::UNPREPARED;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Names a folder that only the superuser can write, with programs that stand for some which are not
/// installed everywhere.
pub(super) const STAND_INS: &str = "JAIL_TESTS_STAND_INS";

/// In a folder above which only the superuser can write, too.
fn stand_ins() -> tempfile::TempDir {
    let folder = ["/opt", "/srv", "/usr/local/lib"].iter().find_map(|place| tempfile::tempdir_in(place).ok());
    let folder = folder.expect("a superuser can make a folder in `/opt`");
    let programs = [("sudo", "#!/bin/sh\nexec \"$@\"\n"), ("podman", "#!/bin/sh\necho NAMES\n")];
    for (name, text) in programs {
        fs::write(folder.path().join(name), text).unwrap();
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Runs every other test of the jail of these names that needs no client, as a user without any rights; none
/// of `besides`.
#[expect(clippy::disallowed_methods, reason = "this very program, as another user")]
fn run_all(names: &[&str], variables: &[(&str, &str)], besides: &[&str]) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).unwrap();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--groups=12345"]).arg(std::env::current_exe().unwrap());
    // The compiler, and what it installed, may lie in a home that is not this user's.
    let skipped = ["ordinary", "of_cargo", "of_git", "of_npm", "of_python", "real_client"];
    let mut python = std::process::Command::new("setpriv");
    python.args(["--reuid=65534", "--regid=65534", "--clear-groups", "python3", "-c", "import cryptography"]);
    // What the second verifier needs may lie there, too.
    let has_python = python.env("HOME", home.path()).output().is_ok_and(|ran| ran.status.success());
    let verified: &[&str] = if has_python { &[] } else { &["where_words_alone"] };
    let skipped = skipped.iter().chain(besides).chain(verified);
    command.args(names).args(skipped.flat_map(|name| ["--skip", name])).args(["--test-threads", "2"]);
    command.env("HOME", home.path()).env("TMPDIR", "/tmp").env_remove("CARGO_HOME").current_dir(home.path());
    let stand_ins = stand_ins();
    command.env(STAND_INS, stand_ins.path());
    let ran =
        command.envs(variables.iter().copied()).output().expect("`setpriv` is needed: install util-linux");
    let words = [ran.stdout.as_slice(), &ran.stderr].concat();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&words));
    assert!(String::from_utf8_lossy(&ran.stdout).contains(" passed"), "{ran:?}");
}

#[test]
fn an_ordinary_user_is_held_too() {
    run_all(&["jail::"], &[], &["everyday"]);
}

/// The sample that CI takes of them.
#[test]
fn an_ordinary_user_signals_nobody_and_holds_no_lock() {
    run_all(&["jail::border::", "jail::locks::"], &[], &[]);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn an_ordinary_user_is_held_where_no_jail_waits() {
    run_all(&["jail::"], &[(UNPREPARED, "1")], &[]);
}
