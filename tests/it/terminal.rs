//! Never in the way of the terminal: nothing waits for input that nobody sends, colours only where they are
//! wanted, and the shells complete what there is.

use crate::support::{BINARY, NO_TRACKER, Sandbox};
use std::fs;
use std::path::PathBuf;

/// An event's name typed by hand is no event: nobody would send it.
#[test]
fn what_the_client_calls_does_not_hang_when_typed() {
    let sandbox = Sandbox::new();
    let typed = sandbox.on_terminal("Status", "");
    assert_eq!(typed.code, Some(2), "{typed:?}");
    assert!(typed.out.contains("hint: commands are in lower case: `aops-hook status`"), "{typed:?}");
    let event = sandbox.on_terminal("PreToolUse", "");
    assert!(event.code == Some(2) && event.out.contains("`aops-hook simulate FILE`"), "{event:?}");
    let line = sandbox.on_terminal("statusline", "");
    assert!(line.code == Some(0) && line.out.contains("no session in this project yet"), "{line:?}");
    let _ = sandbox.working();
    assert_eq!(sandbox.on_terminal("statusline", "").out, "aops: execute · sandbox open · mode strict\n");
    // In a pipe an unknown event is recorded and passed, as ever.
    assert_eq!(sandbox.raw("Status", "{}").code, Some(0));
    let dry = sandbox.person(&["uninstall", "--dry-run"]);
    dry.said(&["not registered"]);
}

#[test]
fn colours_are_where_they_are_wanted() {
    let sandbox = Sandbox::new();
    let _ = sandbox.working();
    let coloured = |line: &str| sandbox.on_terminal(line, "").out.contains('\x1b');
    assert!(coloured("status") && !coloured("status --color never"));
    assert!(!sandbox.person(&["status"]).out.contains('\x1b'));
    assert!(sandbox.person(&["status", "--color", "always"]).out.contains('\x1b'));
    let line = format!("TERM=dumb exec {BINARY} status");
    let dumb = sandbox.command("script").args(["-q", "-e", "-c", &line, "/dev/null"]).output().unwrap();
    assert!(dumb.status.success() && !dumb.stdout.contains(&0x1b), "{dumb:?}");
    sandbox.person(&["status", "--color", "sometimes"]).failed(2, &["auto, always, never"]);
}

/// A usage error is said once, and so is a refusal.
#[test]
fn one_error_is_said_once() {
    let sandbox = Sandbox::new();
    for (line, words) in
        [("status nobody", "no session `nobody`"), ("run x --workflow minor-edit", "a git repository")]
    {
        let shown = sandbox.on_terminal(&format!("{line} --color=never"), "").out;
        assert_eq!(shown.matches("aops-hook: ").count(), 1, "{shown}");
        assert!(shown.contains(words) && !shown.contains("{\""), "{shown}");
    }
}

#[test]
fn a_dry_run_of_a_queue_shows_its_tasks() {
    let sandbox = Sandbox::new();
    sandbox.put("tasks.txt", "# mine\nadd a greeting\n\nfix the typo\n");
    let arguments = ["run", "--queue", "tasks.txt", "--workflow", "minor-edit", "--dry-run"];
    sandbox
        .person(&arguments)
        .said(&["  1. add a greeting\n  2. fix the typo\n2 tasks, each by these steps", "\nlocate\t"]);
    let said = sandbox.person(&[&arguments[..], &["--json"]].concat()).json();
    assert_eq!(said["tasks"], serde_json::json!(["add a greeting", "fix the typo"]));
    let empty = sandbox.person(&["run", "--queue", "none.txt", "--dry-run"]);
    empty.failed(2, &["`none.txt`", "one task per line"]);
}

#[test]
fn the_policy_fits_on_a_terminal() {
    let sandbox = Sandbox::new();
    let shown = sandbox.on_terminal("policy show --color=never", "").out;
    let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(shown.contains("small.never") && wide.is_empty(), "{wide:#?}");
    assert!(
        sandbox.person(&["policy", "show"]).out.contains("\"packages.lock.json\"]"),
        "in a pipe it is whole"
    );
}

/// What may come after these words, as the scripts ask it.
fn completed(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let said = sandbox.person(&[&["__complete"], words].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    said.out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn what_there_is_can_be_completed() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = sandbox.working();
    sandbox.person(&["checkpoint", "create", "-m", "mine"]).said(&["mine"]);
    assert_eq!(completed(&sandbox, &["stat"]), ["status", "statusline"]);
    assert_eq!(completed(&sandbox, &["status", ""]), [session.id.as_str()]);
    assert_eq!(completed(&sandbox, &["why", "--session", &session.id[..4]]), [session.id.as_str()]);
    assert_eq!(completed(&sandbox, &["waive", "q"]), ["qa"]);
    assert_eq!(completed(&sandbox, &["workflow", "show", "minor"]), ["minor-edit"]);
    assert_eq!(completed(&sandbox, &["run", "x", "--workflow", "tdd"]), ["tdd-cycle"]);
    let checkpoints = completed(&sandbox, &["checkpoint", "rollback", ""]);
    assert!(checkpoints.starts_with(&["latest".to_owned(), "mine".to_owned()]), "{checkpoints:?}");
    assert!(checkpoints.contains(&"manual/POST_execute_v1".to_owned()), "{checkpoints:?}");
    assert_eq!(completed(&sandbox, &["mode", "s"]), ["strict"]);
    assert_eq!(completed(&sandbox, &["log", "--ref"]), ["--refused"]);
    assert_eq!(completed(&sandbox, &["status", "--color", "=", "al"]), ["always"]);
    assert_eq!(completed(&sandbox, &["nonsense", "x", ""]), [""; 0]);
}

/// A folder on PATH with the program under its own name.
fn on_path(sandbox: &Sandbox) -> String {
    let folder = sandbox.tmp().join("bin");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(BINARY, folder.join("aops-hook")).unwrap();
    format!("{}:/usr/bin:/bin", folder.display())
}

fn script(sandbox: &Sandbox, shell: &str) -> PathBuf {
    let path = sandbox.tmp().join(format!("completions.{shell}"));
    fs::write(&path, sandbox.person(&["completions", shell]).out).unwrap();
    path
}

/// The shells themselves find a session and a gate.
#[test]
fn bash_zsh_and_fish_complete() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = sandbox.working();
    let path = on_path(&sandbox);
    let run = |shell: &str, line: &str| {
        let output = sandbox.command(shell).env("PATH", &path).args(["-c", line]).output();
        let output = output.unwrap_or_else(|error| {
            panic!("`{shell}` cannot be run: {error}\nhint: install the package `{shell}`")
        });
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let bash = script(&sandbox, "bash");
    let asked = "COMP_WORDS=(aops-hook status ''); COMP_CWORD=2; _aops__hook; echo ${COMPREPLY[@]}";
    let said = run("bash", &format!("source {}; {asked}", bash.display()));
    assert!(said.contains(&session.id), "{said}");
    let zsh = script(&sandbox, "zsh");
    // `_describe` shows what it was given, without a screen to draw on.
    let asked = "compdef() { :; }; _files() { echo files; }; _describe() { echo ${(P)3}; }";
    let said = run(
        "zsh",
        &format!("{asked}; source {}; words=(aops-hook waive ''); CURRENT=3; _aops-hook", zsh.display()),
    );
    assert!(said.contains("sandbox") && said.contains("qa"), "{said}");
    let said = run(
        "zsh",
        &format!("{asked}; source {}; words=(aops-hook report -o ''); CURRENT=4; _aops-hook", zsh.display()),
    );
    assert_eq!(said, "files\n");
    let fish = script(&sandbox, "fish");
    let said = run("fish", &format!("source {}; complete -C 'aops-hook status '", fish.display()));
    assert!(said.contains(&session.id), "{said}");
    let said = run("fish", &format!("source {}; complete -C 'aops-hook waive q'", fish.display()));
    assert!(said.starts_with("qa"), "{said}");
}

#[test]
fn manual_pages_are_made_from_the_table() {
    let sandbox = Sandbox::new();
    let folder = sandbox.tmp().join("man1");
    sandbox.person(&["man", "--output", folder.to_str().unwrap()]).said(&["wrote "]);
    for command in aops_hook::cli::COMMANDS {
        let page = fs::read_to_string(folder.join(format!("aops-hook-{}.1", command.name))).unwrap();
        assert!(
            page.starts_with(&format!(
                ".TH AOPS\\-HOOK\\-{}",
                command.name.to_uppercase().replace('-', "\\-")
            )),
            "{page}"
        );
    }
    let page = folder.join("aops-hook-checkpoint.1");
    let output = sandbox.command("man").env("MANWIDTH", "80").args(["--warnings", "-l"]).arg(&page).output();
    let output = output
        .unwrap_or_else(|error| panic!("`man` cannot be run: {error}\nhint: install the package `man-db`"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("aops-hook checkpoint create") && text.contains("EXAMPLES"), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    sandbox.person(&["man", "status"]).said(&[".SH EXAMPLES"]);
    sandbox.person(&["man", "nonsense"]).failed(2, &["no command `nonsense`"]);
}
