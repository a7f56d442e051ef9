//! The same tests as an ordinary user, where they run as root.

use super::world::UNPREPARED;

/// Runs every other test of the jail that needs no client, as a user without any rights.
#[expect(clippy::disallowed_methods, reason = "this very program, as another user")]
fn run_all(variables: &[(&str, &str)]) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).unwrap();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--groups=12345"]).arg(std::env::current_exe().unwrap());
    // The compiler, and what it installed, may lie in a home that is not this user's.
    let skipped = ["ordinary", "of_cargo", "of_git", "of_npm", "of_python", "real_client"];
    command.arg("jail::").args(skipped.iter().flat_map(|name| ["--skip", name])).args(["--test-threads", "2"]);
    command.env("HOME", home.path()).env("TMPDIR", "/tmp").env_remove("CARGO_HOME").current_dir(home.path());
    let ran = command.envs(variables.iter().copied()).output().expect("`setpriv` is needed: install util-linux");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert!(String::from_utf8_lossy(&ran.stdout).contains(" passed"), "{ran:?}");
}

#[test]
fn an_ordinary_user_is_held_too() {
    run_all(&[]);
}

#[test]
fn an_ordinary_user_is_held_where_no_jail_waits() {
    run_all(&[(UNPREPARED, "1")]);
}
