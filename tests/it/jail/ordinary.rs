//! The same tests as an ordinary user, where they run as root.

/// Every other test of the jail that needs no client; the everyday lines as root are enough for each change.
#[test]
fn an_ordinary_user_is_held_too() {
    run_as_nobody("jail::", &["everyday"]);
}

#[test]
#[ignore = "takes a minute: run `tests/long-run`"]
fn everyday_lines_of_an_ordinary_user_are_as_without_the_jail() {
    run_as_nobody("jail::everyday", &[]);
}

/// Runs these tests as a user without any rights.
#[expect(clippy::disallowed_methods, reason = "this very program, as another user")]
fn run_as_nobody(tests: &str, left_out: &[&str]) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).unwrap();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--groups=12345"]).arg(std::env::current_exe().unwrap());
    // The compiler, and what it installed, may lie in a home that is not this user's.
    let skipped = ["ordinary", "of_cargo", "of_git", "of_npm", "of_python", "real_client"];
    let skipped = skipped.iter().chain(left_out).flat_map(|name| ["--skip", name]);
    command.arg(tests).args(skipped).args(["--test-threads", "2"]);
    command.env("HOME", home.path()).env("TMPDIR", "/tmp").env_remove("CARGO_HOME").current_dir(home.path());
    let ran = command.output().expect("`setpriv` is needed: install util-linux");
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains(" passed") && !told.contains(" 0 passed"), "{told}");
}
