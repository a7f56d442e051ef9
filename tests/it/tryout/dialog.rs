//! At a terminal: what is offered after a tryout, and what an installation does with it.

use super::*;
use crate::support::tmux::Tmux;

fn config(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.home().join(".config/aops/config.toml")).unwrap_or_default()
}

/// A yes writes the user's file, and nothing else; Enter and a no write nothing.
#[test]
fn the_users_file_is_written_after_a_yes() {
    let sandbox = sandbox();
    Past::new(&sandbox, "s1", 15)
        .bash("git reset --hard", PERSON)
        .bash("git checkout -- a.txt", PERSON)
        .bash("git stash clear", PERSON)
        .bash("gh pr view 1", PERSON)
        .write();
    let said = sandbox.on_terminal("tryout", "\n\n\n");
    assert!(said.code == Some(0) && said.out.contains("nothing to change"), "{said:?}");
    assert!(said.out.contains("`git-discard` (2): keep, ask, off? [keep]: "), "{said:?}");
    assert!(
        said.out.contains(
            "quiet, which answers for you (at most 0 at reading, 0 at contained): off, reading, contained? [off]"
        ),
        "{said:?}"
    );
    let said = sandbox.on_terminal("tryout", "off\n\nreading\ny\nn\n");
    assert!(
        said.out.contains("danger rule `git-discard`: `off`") && said.out.contains("nothing was changed"),
        "{said:?}"
    );
    assert_eq!(config(&sandbox), "");
    let said = sandbox.on_terminal("tryout", "off\n");
    assert!(said.out.contains("nothing was changed"), "who goes away changes nothing: {said:?}");
    let before = sandbox.files();
    let said = sandbox.on_terminal("tryout", "perhaps\noff\n\nreading\ny\ny\n");
    assert!(said.out.contains("one of keep, ask, off; Enter leaves it as it is"), "{said:?}");
    assert!(said.out.contains("may `gh` use the network to read (1 more)? [y/N]: "), "{said:?}");
    assert_eq!(
        config(&sandbox),
        "[danger]\ngit-discard = \"off\"\n\n[quiet]\nnetwork = [\"gh\"]\nallow = \"reading\"\n"
    );
    let mut after = sandbox.files();
    after.retain(|path, _| !before.contains_key(path));
    assert!(
        after.keys().all(|path| path.ends_with("config.toml") || path.to_string_lossy().contains("aops")),
        "{after:?}"
    );
    let policy = sandbox.person(&["policy", "--json"]).json();
    let set = |key: &str| {
        policy["settings"].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap()["value"].clone()
    };
    assert_eq!((set("quiet.allow"), set("quiet.network")), (json!("reading"), json!(["gh"])));
    assert_eq!(set("danger.git-discard"), "off");
    // It is judged by what was chosen, too.
    assert_eq!(sandbox.person(&["tryout", "--json"]).json()["kept"], 1);
}

/// In a pipe nobody is asked.
#[test]
fn without_a_terminal_nothing_is_offered() {
    let sandbox = sandbox();
    Past::new(&sandbox, "s1", 15).bash("git reset --hard", PERSON).write();
    let said = sandbox.person(&["tryout"]);
    assert!(said.code == Some(0) && !said.out.contains("Enter leaves"), "{said:?}");
}

/// An installation at a terminal shows it at its end; with `--yes`, or where there is no past, it does not.
#[test]
fn an_installation_ends_with_it() {
    let sandbox = sandbox();
    let said = sandbox.on_terminal("install --mode guard", "n\n");
    assert!(said.code == Some(0) && !said.out.contains("looking at your own sessions"), "{said:?}");
    Past::new(&sandbox, "s1", 15).bash("git reset --hard", PERSON).write();
    let said = sandbox.on_terminal("install --mode guard", "off\n\ny\n");
    assert!(said.out.contains("looking at your own sessions") && said.out.contains(": 1 kept"), "{said:?}");
    assert!(config(&sandbox).contains("git-discard = \"off\""), "{said:?}");
    let said = sandbox.on_terminal("install --mode guard --yes", "");
    assert!(said.code == Some(0) && !said.out.contains("looking at your own sessions"), "{said:?}");
    sandbox.person(&["uninstall", "--yes"]).said(&["removed"]);
}

/// Without a past the quiet level is offered alone, once, and not where a file says it already.
#[test]
fn without_a_past_the_quiet_level_is_offered() {
    let sandbox = sandbox();
    let said = sandbox.on_terminal("install --mode guard", "n\n\n");
    assert!(
        said.out.contains("which of the client's questions") && said.out.contains("quiet [off]: "),
        "{said:?}"
    );
    assert!(!config(&sandbox).contains("quiet"), "Enter leaves it as it is: {}", config(&sandbox));
    let said = sandbox.on_terminal("install --mode guard", "reading\n");
    assert!(said.code == Some(0) && said.out.contains("quiet: `reading`"), "{said:?}");
    assert!(config(&sandbox).contains("allow = \"reading\""), "{}", config(&sandbox));
    for arguments in ["install --mode guard", "install --mode guard --yes", "install --mode guard --dry-run"]
    {
        let said = sandbox.on_terminal(arguments, "");
        assert!(said.code == Some(0) && !said.out.contains("quiet [off]"), "{arguments}: {said:?}");
    }
    sandbox.person(&["uninstall", "--yes"]).said(&["removed"]);
}

/// Ctrl-C ends the look, not the installation.
#[test]
fn ctrl_c_skips_it() {
    let sandbox = sandbox();
    sandbox.configure_only("mode.level = \"guard\"\n");
    let past = (0..20_000)
        .fold(Past::new(&sandbox, "s1", 15), |past, n| past.bash(&format!("git log -{n} | head"), CONFIG));
    past.write();
    let line = format!("trap : INT; {BINARY} install --mode guard; echo ended with $?; exec sleep 600");
    let screen = Tmux::open(&sandbox, sandbox.environment(), (100, 30), &["sh", "-c", &line]);
    screen.wait_for("the look", |screen| screen.contains("Ctrl-C skips this"));
    screen.press("C-c");
    screen.wait_for("the end", |screen| screen.contains("ended with 0"));
    screen.shows(&["skipped; `aops-hook tryout` shows it"]);
}
