//! `install` and `uninstall` with the real program in throwaway homes.

use crate::support::{BINARY, real_home};
use aops_core::config::texts;
use aops_core::host::claude::settings::survey;
use aops_shell::verbs::starter;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = BINARY;

/// A throwaway home and project, and the program run in them with a cleared environment.
pub(crate) struct Home {
    folder: TempDir,
    pub program: PathBuf,
    pub variables: Vec<(String, PathBuf)>,
}

/// What one run said.
pub(crate) struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        assert_ne!(real_home(), Some(folder.path().join("home")), "a throwaway home is never the real one");
        fs::create_dir(folder.path().join("home")).unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        Self { folder, program: PROGRAM.into(), variables: Vec::new() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join("home/.claude").join(path)
    }

    pub(crate) fn project(&self, path: &str) -> PathBuf {
        self.root().join("project").join(path)
    }

    #[expect(clippy::disallowed_methods, reason = "runs the program under test")]
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:/usr/bin:/bin", self.root().join("bin").display());
        command.env_clear().env("HOME", self.root().join("home")).env("PATH", path);
        command.env("AOPS_TEST_MANAGED", self.root().join("managed"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.root().join("project")).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(&self.program).args(arguments).output().unwrap())
    }

    /// Run it, and it must go well.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {}{}", said.out, said.err);
        assert_eq!(said.err, "", "{arguments:?}");
        said.out
    }

    /// Run it, and it must fail with this code, these words, and leave everything as it is.
    fn refused(&self, arguments: &[&str], code: i32, words: &[&str]) {
        let before = self.tree();
        let said = self.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (code, ""), "{arguments:?}: {}", said.err);
        for word in words {
            assert!(said.err.contains(word), "{arguments:?}: {word}: {}", said.err);
        }
        assert!(said.err.contains("\nhint: "), "a next step: {}", said.err);
        assert_eq!(self.tree(), before, "{arguments:?} changed something");
    }

    /// Everything below: what it is, its mode, what is in it (of a program only size and time).
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut tree = BTreeMap::new();
        let mut open = vec![self.root().to_owned()];
        while let Some(path) = open.pop() {
            let known = fs::symlink_metadata(&path).unwrap();
            let held = if known.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if known.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                Vec::new()
            } else if known.len() > 1 << 20 {
                format!("{} {} {}", known.len(), known.mtime(), known.mtime_nsec()).into_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            tree.insert(path, (known.mode(), held));
        }
        tree
    }

    fn settings(&self) -> String {
        fs::read_to_string(self.path("settings.json")).unwrap()
    }
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A file, and the folders above it.
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Settings as people, editors and other tools write them.
const FOREIGN: &[&str] = &[
    "{}",
    "{ }\n",
    "",
    "\n",
    "{\"model\":\"opus\"}",
    "{\r\n\t\"n\": 1e5,\r\n\t\"big\": 12345678901234567890123,\r\n\t\"z\": \"\\u00e9\\ud800\",\r\n\t\"a\": 1.0\r\n}\r\n",
    "{\n    \"hooks\": {\n        \"Stop\": []\n    }\n}",
    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": [ { \"type\": \"command\", \"command\": \"other\" } ] }\n    ]\n  },\n  \"permissions\": { \"deny\": [ \"Read(.env)\" ] }\n}\n",
];

#[test]
fn a_fresh_home_is_registered_and_left_as_found() {
    let home = Home::new();
    let before = home.tree();
    let out = home.done(&["install"]);
    assert!(out.contains("registered for 30 events"), "{out}");
    let ours = survey(&home.settings()).unwrap().ours;
    assert!(ours.len() == 30 && ours.iter().all(|one| one.current && one.command == PROGRAM));
    for asset in texts::placed() {
        let text = asset.text.replace("${CLAUDE_PLUGIN_ROOT}/bin/aops-hook", PROGRAM);
        assert_eq!(fs::read_to_string(home.path(asset.path)).unwrap(), text);
    }
    assert_eq!(fs::metadata(home.path("aops")).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(home.path("aops/installed.json")).unwrap().mode() & 0o777, 0o600);

    let installed = home.tree();
    assert!(home.done(&["install"]).contains("already registered"));
    assert_eq!(home.tree(), installed, "twice is once");

    home.done(&["uninstall", "--yes"]);
    assert_eq!(home.tree(), before, "as if we had never been there");
    assert!(home.done(&["uninstall", "--yes"]).contains("not registered"));
    assert_eq!(home.tree(), before);
}

#[test]
fn settings_of_others_come_back_to_the_byte() {
    for (n, text) in FOREIGN.iter().enumerate() {
        let home = Home::new();
        write(&home.path("settings.json"), text);
        let mode = [0o600, 0o640, 0o644, 0o664][n % 4];
        set_mode(&home.path("settings.json"), mode);
        let before = home.tree();
        home.done(&["install"]);
        assert_eq!(fs::metadata(home.path("settings.json")).unwrap().mode() & 0o7777, mode, "mode kept");
        assert_eq!(survey(&home.settings()).unwrap().ours.len(), 30);
        home.done(&["install"]);
        home.done(&["uninstall", "--yes"]);
        assert_eq!(home.tree(), before, "{text}");
    }
}

#[test]
fn what_was_edited_in_between_stays() {
    let home = Home::new();
    let path = home.path("settings.json");
    write(&path, "{\n  \"model\": \"opus\"\n}\n");
    home.done(&["install"]);
    write(&path, &home.settings().replace("\"opus\"", "\"haiku\",\n  \"theme\": \"dark\""));
    home.done(&["install"]);
    let out = home.done(&["uninstall", "--yes"]);
    assert_eq!(home.settings(), "{\n  \"model\": \"haiku\",\n  \"theme\": \"dark\"\n}\n", "{out}");

    home.done(&["install"]);
    write(&path, &home.settings().replace("\"dark\"", "\"light\""));
    assert!(home.done(&["uninstall", "--yes"]).contains("later edits stay"));
    assert_eq!(home.settings(), "{\n  \"model\": \"haiku\",\n  \"theme\": \"light\"\n}\n");
}

#[test]
fn an_edit_in_a_file_of_ours_alone_leaves_that_edit_alone() {
    let home = Home::new();
    home.done(&["install"]);
    let with = home.settings().replacen('{', "{\n  \"model\": \"opus\",", 1);
    write(&home.path("settings.json"), &with);
    home.done(&["uninstall", "--yes"]);
    assert_eq!(home.settings(), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn without_receipt_or_backup_our_entries_still_go() {
    for gone in ["installed.json", "backup"] {
        let home = Home::new();
        let text = "{\n  \"model\": \"opus\"\n}\n";
        write(&home.path("settings.json"), text);
        home.done(&["install"]);
        let path = home.path("aops").join(gone);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
        home.done(&["uninstall", "--yes"]);
        assert_eq!(home.settings(), text, "{gone}");
    }
}

#[test]
fn a_program_that_moved_is_registered_in_the_old_ones_place() {
    let mut home = Home::new();
    let text = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"bell\"}]}]}}\n";
    write(&home.path("settings.json"), text);
    home.done(&["install"]);
    let first = home.settings();
    let moved = home.root().join("bin/aops-hook");
    fs::copy(PROGRAM, &moved).unwrap();
    home.program.clone_from(&moved);
    home.done(&["install"]);
    let moved = moved.to_str().unwrap();
    assert_eq!(home.settings(), first.replace(PROGRAM, moved).replace(&starter(PROGRAM), &starter(moved)));
    home.done(&["uninstall", "--yes"]);
    assert_eq!(home.settings(), text);
}

#[test]
fn a_link_on_the_path_is_registered_as_it_is() {
    let home = Home::new();
    let link = home.root().join("bin/aops-hook");
    symlink(PROGRAM, &link).unwrap();
    home.done(&["install"]);
    assert!(survey(&home.settings()).unwrap().ours.iter().all(|one| one.command == link.to_str().unwrap()));
}

#[test]
fn a_program_of_another_name_is_not_registered() {
    let mut home = Home::new();
    home.program = home.root().join("bin/other");
    fs::copy(PROGRAM, &home.program).unwrap();
    home.refused(&["install"], 1, &["must be called `aops-hook`"]);
}

#[test]
fn a_linked_settings_file_stays_a_link() {
    let home = Home::new();
    let real = home.root().join("dotfiles/claude.json");
    write(&real, "{\"a\": 1}\n");
    fs::create_dir_all(home.path("")).unwrap();
    symlink("../../dotfiles/claude.json", home.path("settings.json")).unwrap();
    let before = home.tree();
    home.done(&["install"]);
    assert!(home.path("settings.json").is_symlink());
    assert_eq!(survey(&fs::read_to_string(&real).unwrap()).unwrap().ours.len(), 30);
    home.done(&["uninstall", "--yes"]);
    assert_eq!(home.tree(), before);
    fs::remove_file(&real).unwrap();
    let before = home.tree();
    home.done(&["install"]);
    assert!(home.path("settings.json").is_symlink() && real.is_file(), "a link to nothing gets its file");
    home.done(&["uninstall", "--yes"]);
    assert_eq!(home.tree(), before);
}

#[test]
fn what_cannot_be_read_is_refused_untouched() {
    for (text, place) in [
        ("{\n  // my settings\n}\n", "line 2, column 3"),
        ("{\n  \"a\": 1,\n}\n", "line 3, column 1"),
        ("[]\n", "line 1, column 1"),
        ("{\"hooks\": [1]}", "line 1, column 11"),
        ("{\"hooks\": {\"Stop\": null}}", "line 1, column 20"),
    ] {
        let home = Home::new();
        write(&home.path("settings.json"), text);
        let path = home.path("settings.json").display().to_string();
        home.refused(&["install"], 1, &[place, &path]);
        home.refused(&["install", "--dry-run"], 1, &[place, &path]);
        assert_eq!(
            home.run(&["uninstall", "--yes"]).code,
            i32::from(!text.starts_with("{\"hooks\"")),
            "{text}"
        );
        assert_eq!(home.settings(), text);
    }
    let home = Home::new();
    fs::create_dir_all(home.path("")).unwrap();
    fs::write(home.path("settings.json"), b"{\n \"a\": \"\xff\"}").unwrap();
    home.refused(&["install"], 1, &["line 2, column 8: not UTF-8"]);
}

#[test]
fn odd_places_are_refused_by_name() {
    let home = Home::new();
    fs::create_dir_all(home.path("settings.json")).unwrap();
    let said = home.run(&["install"]);
    assert!(said.code == 1 && said.err.contains("settings.json`: not a regular file"), "{}", said.err);

    let home = Home::new();
    write(&home.path("settings.json"), "{}\n");
    set_mode(&home.path("settings.json"), 0o444);
    home.refused(&["install"], 1, &["is read-only (mode 444)", "chmod u+w"]);
    set_mode(&home.path("settings.json"), 0o644);
    home.done(&["install"]);
    set_mode(&home.path("settings.json"), 0o444);
    home.refused(&["uninstall", "--yes"], 1, &["is read-only"]);

    let mut home = Home::new();
    let file = home.root().join("file");
    write(&file, "");
    home.variables = vec![("CLAUDE_CONFIG_DIR".to_owned(), file.join("config"))];
    let before = home.tree();
    let said = home.run(&["install"]);
    assert!(said.code == 1 && said.err.contains(file.to_str().unwrap()), "{}", said.err);
    assert_eq!(home.tree(), before);
}

#[test]
fn without_a_home_nothing_is_written_anywhere() {
    let home = Home::new();
    let before = home.tree();
    for arguments in [&["install"][..], &["install", "--project"], &["uninstall", "--yes"]] {
        let said = Said::of(home.command(&home.program).env_remove("HOME").args(arguments).output().unwrap());
        assert!(said.code == 1 && said.err.contains("`HOME` is not set"), "{}", said.err);
    }
    assert_eq!(home.tree(), before);
}

#[test]
fn files_of_others_are_never_overwritten_and_no_reason_to_refuse() {
    let home = Home::new();
    let (theirs, ours) = (home.path("agents/critic.md"), home.path("agents/aops-critic.md"));
    write(&theirs, "---\nname: critic\n---\nmine\n");
    write(&home.path("commands/session-insights.md"), "mine\n");
    write(&home.path("commands/aops-status.md"), "mine too\n");
    let before = home.tree();
    let out = home.done(&["install"]);
    let note =
        format!("note: `{}` is another `critic`: ours is installed as `aops-critic`", theirs.display());
    for words in
        [note.as_str(), "is another `/session-insights`: ours is installed as `/aops-session-insights`"]
    {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(out.contains("is another `/aops-status`: it stays, and ours is left out"), "{out}");
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "---\nname: critic\n---\nmine\n");
    let text = fs::read_to_string(&ours).unwrap();
    assert!(text.starts_with("---\nname: aops-critic\n") && text.len() > 500, "{text}");
    assert!(
        home.path("agents/custodiet.md").exists() && home.path("commands/aops-session-insights.md").exists()
    );
    let again = home.tree();
    home.done(&["install"]);
    assert_eq!(home.tree(), again, "twice is once");
    home.done(&["uninstall", "--yes"]);
    assert_eq!(home.tree(), before);

    // Without the clash the name is ours again, and the other one goes.
    home.done(&["install"]);
    fs::remove_file(&theirs).unwrap();
    let out = home.done(&["install"]);
    assert!(!out.contains("another `critic`") && theirs.exists() && !ours.exists(), "{out}");
    // An agent of ours that the user edited is the user's.
    write(&theirs, "edited\n");
    assert!(home.done(&["install"]).contains("is another `critic`"));
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "edited\n");
    home.done(&["uninstall", "--yes"]);
    assert!(theirs.exists() && !ours.exists() && !home.path("settings.json").exists());
    // Where even the second name is taken there is nothing left to do.
    write(&ours, "---\nname: aops-critic\n---\nmine\n");
    home.refused(&["install"], 1, &["not from aops-hook", ours.to_str().unwrap()]);
}

#[test]
fn an_older_text_of_ours_is_renewed_and_one_we_dropped_goes() {
    let home = Home::new();
    home.done(&["install"]);
    let receipt = home.path("aops/installed.json");
    let (critic, old) = (home.path("agents/critic.md"), home.path("agents/old.md"));
    write(&critic, "old\n");
    write(&old, "old\n");
    let mut kept: serde_json::Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    let sha256 = aops_core::text::sha256::sha256(&[b"old\n"]);
    let files = kept["files"].as_array_mut().unwrap();
    files.retain(|file| file["path"] != critic.to_str().unwrap());
    files.push(serde_json::json!({"path": critic, "sha256": sha256}));
    files.push(serde_json::json!({"path": old, "sha256": sha256}));
    fs::write(&receipt, kept.to_string()).unwrap();
    home.done(&["install"]);
    assert!(!old.exists());
    assert_eq!(fs::read_to_string(&critic).unwrap(), texts::placed().next().unwrap().text);
    assert!(!home.path("agents/aops-critic.md").exists());
}

#[test]
fn levels_are_apart_and_texts_stay_for_the_last() {
    let home = Home::new();
    let before = home.tree();
    let out = home.done(&["install", "--project"]);
    assert_eq!(out.contains("judged only by their text"), cfg!(target_os = "linux"), "{out}");
    home.done(&["install", "--local"]);
    let named =
        |name: &str| fs::read_to_string(home.project(name)).unwrap().contains("CLAUDE_CODE_SHELL_PREFIX");
    assert!(!named(".claude/settings.json"), "people without aops-hook read it too");
    assert_eq!(named(".claude/settings.local.json"), cfg!(target_os = "linux"));
    let out = home.done(&["install", "--project"]);
    assert!(!out.contains("judged only by their text"), "{out}");
    assert!(
        home.project(".claude/settings.json").is_file()
            && home.project(".claude/settings.local.json").is_file()
    );
    assert!(!home.path("settings.json").exists() && home.path("agents/critic.md").is_file());
    assert!(home.project(".claude/agents/critic.md").is_file(), "beside the settings they belong to");
    let out = home.done(&["uninstall", "--project", "--yes"]);
    assert!(out.contains("still registered in") && home.path("agents/critic.md").is_file(), "{out}");
    assert!(!home.project(".claude/settings.json").exists() && !home.project(".claude/agents").exists());
    home.done(&["uninstall", "--local", "--yes"]);
    assert_eq!(home.tree(), before);
    assert_eq!(home.run(&["install", "--project", "--local"]).code, 2);
}

/// A colleague without the program is told so in one line, and not held up.
#[test]
fn a_projects_script_finds_the_program_or_says_what_is_missing() {
    let mut home = Home::new();
    home.done(&["install", "--project", "--statusline"]);
    let script = home.project(".claude/aops-hook");
    let settings = fs::read_to_string(home.project(".claude/settings.json")).unwrap();
    let ours = survey(&settings).unwrap().ours;
    assert!(
        ours.len() == 30 && ours.iter().all(|one| one.command == "${CLAUDE_PROJECT_DIR}/.claude/aops-hook")
    );
    assert!(
        ours.iter().all(|one| one.args.as_deref() == Some(std::slice::from_ref(&one.event))),
        "exec form"
    );
    assert!(!settings.contains("sh -c") && !settings.contains(PROGRAM), "{settings}");
    assert_ne!(fs::metadata(&script).unwrap().mode() & 0o111, 0, "it can be run");
    let command = fs::read_to_string(home.project(".claude/commands/aops-status.md")).unwrap();
    assert!(command.contains("!`.claude/aops-hook status`") && !command.contains(PROGRAM), "{command}");

    let event = serde_json::json!({"hook_event_name": "PreToolUse"}).to_string();
    let hook = |home: &Home, name: &str| {
        let mut command = assert_cmd::Command::from_std(home.command(&script));
        Said::of(command.arg(name).env("CLAUDECODE", "1").write_stdin(event.clone()).output().unwrap())
    };
    for name in ["PreToolUse", "Stop", "SessionStart"] {
        let said = hook(&home, name);
        assert_eq!((said.code, said.err.lines().count()), (0, 1), "{name}: {}", said.err);
        assert!(
            said.err.contains("not on this machine") && said.err.contains("./install.sh"),
            "{}",
            said.err
        );
        let told = serde_json::from_str::<serde_json::Value>(&said.out).ok();
        assert_eq!(told.is_some(), name == "SessionStart", "{}", said.out);
        assert!(told.is_none_or(|told| told["systemMessage"].as_str().unwrap().contains("./install.sh")));
    }
    // Where it is, it is run, and its word counts.
    for place in ["home/.local/bin", "bin"] {
        fs::create_dir_all(home.root().join(place)).unwrap();
        symlink(PROGRAM, home.root().join(place).join("aops-hook")).unwrap();
        let said = hook(&home, "PreToolUse");
        assert!(said.code == 2 && said.err.contains("INPUT_INVALID"), "{place}: {}", said.err);
        assert!(home.done(&["doctor"]).contains("all is well"));
        fs::remove_file(home.root().join(place).join("aops-hook")).unwrap();
    }
    home.variables = Vec::new();
    home.done(&["uninstall", "--project", "--yes"]);
    assert!(!script.exists() && !home.project(".claude").exists());
}

#[test]
fn the_status_line_comes_on_request_and_goes_with_us() {
    let home = Home::new();
    let before = "{\n  \"model\": \"opus\"\n}\n";
    write(&home.path("settings.json"), before);
    home.done(&["install"]);
    assert!(!home.settings().contains("statusLine"), "nobody asked");
    let said = home.done(&["install", "--statusline"]);
    assert!(said.contains("status line"), "{said}");
    let settings: serde_json::Value = serde_json::from_str(&home.settings()).unwrap();
    let line = settings["statusLine"]["command"].as_str().unwrap().to_owned();
    assert_eq!(line, format!("{PROGRAM} statusline"));
    // What is registered runs: an unknown session is silence.
    let mut shell = home.command(Path::new("/bin/sh"));
    let output = shell.args(["-c", &format!("echo '{{\"session_id\":\"x\"}}' | {line}")]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    // Installing again without the option leaves it there.
    home.done(&["install"]);
    assert!(home.settings().contains("statusline"));
    home.done(&["uninstall", "--yes"]);
    assert_eq!(home.settings(), before);
}

#[test]
fn a_status_line_of_others_is_never_overwritten() {
    let home = Home::new();
    let before = "{\"statusLine\": {\"type\": \"command\", \"command\": \"my-line --fancy\"}}\n";
    write(&home.path("settings.json"), before);
    let tree = home.tree();
    home.refused(
        &["install", "--statusline"],
        1,
        &["my-line --fancy", "another status line", "hint: nothing was installed"],
    );
    assert_eq!(home.tree(), tree);
    // Its advice, the first half: our text inside their status line.
    home.done(&["install"]);
    assert!(home.settings().contains("my-line --fancy"));
    home.done(&["uninstall", "--yes"]);
    assert_eq!(home.settings(), before);
    // The second half.
    write(&home.path("settings.json"), "{}\n");
    home.done(&["install", "--statusline"]);
    // A user puts their own in its place: that stays.
    let edited = home.settings().replace(&format!("{PROGRAM} statusline"), "my-line");
    write(&home.path("settings.json"), &edited);
    home.done(&["uninstall", "--yes"]);
    assert!(
        home.settings().contains("my-line") && !home.settings().contains("aops-hook"),
        "{}",
        home.settings()
    );
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let home = Home::new();
    write(&home.path("settings.json"), "{\n  \"a\": 1\n}\n");
    let before = home.tree();
    let path = home.path("settings.json").display().to_string();
    let out = home.done(&["install", "--dry-run"]);
    assert!(out.starts_with(&format!("--- {path}\n+++ {path}\n@@ -1,3 +1,")), "{out}");
    assert!(
        out.contains("\n-  \"a\": 1\n+  \"a\": 1,\n+  \"hooks\": {\n") && out.contains("would write"),
        "{out}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&home.done(&["install", "--dry-run", "--json"])).unwrap();
    assert!(json["dry_run"] == true && json["changed"] == true && json["events"] == 30, "{json}");
    assert_eq!(home.tree(), before);
    home.done(&["install"]);
    let installed = home.tree();
    let out = home.done(&["uninstall", "--dry-run", "--yes"]);
    assert!(out.contains("-  \"hooks\": {") && out.contains("would be restored"), "{out}");
    let json: serde_json::Value =
        serde_json::from_str(&home.done(&["uninstall", "--dry-run", "--yes", "--json"])).unwrap();
    assert!(
        json["restored"] == true && json["removed"].as_array().unwrap().len() == texts::placed().count(),
        "{json}"
    );
    assert_eq!(home.tree(), installed);
}

#[test]
fn a_tool_call_installs_nothing_and_uninstalling_needs_a_terminal() {
    let mut home = Home::new();
    home.refused(&["uninstall"], 2, &["needs a person at a terminal", "--yes"]);
    assert!(home.done(&["uninstall", "--dry-run"]).contains("not registered"));
    home.variables = vec![("CLAUDECODE".to_owned(), "1".into())];
    home.refused(&["install"], 2, &["inside a tool call"]);
    home.refused(&["uninstall", "--yes"], 2, &["inside a tool call"]);
}

#[test]
fn completions_know_every_command() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let out = home.done(&["completions", shell]);
        for command in aops_hook::cli::COMMANDS {
            assert!(out.contains(command.name), "{shell}: {}", command.name);
        }
    }
    assert_eq!(home.run(&["completions", "cobol"]).code, 2);
    // And bash itself finds what comes after a command.
    write(&home.path("completions"), &home.done(&["completions", "bash"]));
    symlink(PROGRAM, home.root().join("bin/aops-hook")).unwrap();
    let asked = "source \"$1\"; COMP_WORDS=(aops-hook policy ''); COMP_CWORD=2; _aops__hook aops-hook '' policy; echo ${COMPREPLY[@]}";
    let bash =
        home.command(Path::new("/bin/bash")).args(["-c", asked, "-"]).arg(home.path("completions")).output();
    let found = String::from_utf8(bash.unwrap().stdout).unwrap();
    assert!(found.contains("hash") && found.contains("diff"), "after `policy`: {found}");
}

#[test]
fn every_help_has_an_example() {
    let home = Home::new();
    for command in aops_hook::cli::COMMANDS {
        let out = home.done(&[command.name, "--help"]);
        assert!(
            out.contains("Examples:\n") && out.contains(&format!("  aops-hook {}", command.name)),
            "{out}"
        );
    }
}

/// No segment of this 64-bit ELF file asks for a loader, and nothing is relocated at its start (no PIE).
fn is_static(elf: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    const FIXED_ADDRESS: usize = 2;
    let short = |at: usize| usize::from(u16::from_le_bytes(elf[at..at + 2].try_into().unwrap()));
    let table = usize::try_from(u64::from_le_bytes(elf[32..40].try_into().unwrap())).unwrap();
    let kinds = (0..short(56)).map(|n| table + n * short(54));
    assert_eq!(&elf[..5], b"\x7fELF\x02");
    assert_eq!(short(16), FIXED_ADDRESS, "a position-independent program");
    kinds.map(|at| u32::from_le_bytes(elf[at..at + 4].try_into().unwrap())).all(|kind| kind != INTERPRETER)
}

/// `install.sh` with the program of these tests; `tests/long-run` lets it build one.
#[test]
#[expect(clippy::disallowed_methods, reason = "the toolchain is where the real home says")]
fn the_script_installs_and_undoes_it_all() {
    let mut home = Home::new();
    let before = home.tree();
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let real = real_home().unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of = |name: &str, default: PathBuf| (name.to_owned(), variable(name).unwrap_or(default));
    home.variables = vec![
        of("PATH", "/usr/bin:/bin".into()),
        of("CARGO_HOME", real.join(".cargo")),
        of("RUSTUP_HOME", real.join(".rustup")),
        of("CARGO_TARGET_DIR", here.join("target")),
        of("AOPS_PROGRAM", BINARY.into()),
    ];
    let script = |arguments: &[&str]| {
        let said = Said::of(home.command(&here.join("install.sh")).args(arguments).output().unwrap());
        assert_eq!(said.code, 0, "{arguments:?}: {}{}", said.out, said.err);
        said.out
    };
    assert!(script(&["--help"]).contains("usage: ./install.sh"));
    assert!(script(&["--dry-run"]).contains("+  \"hooks\": {"));
    assert_eq!(home.tree(), before, "a dry run leaves everything as it is");

    let said = Said::of(home.command(&here.join("install.sh")).args(["--mode", "calm"]).output().unwrap());
    assert!(
        said.code == 1 && said.err.contains("no mode `calm`") && said.err.contains("hint: "),
        "{}",
        said.err
    );
    assert_eq!(home.tree(), before);
    let out = script(&["--mode", "loop"]);
    let program = home.root().join("home/.local/bin/aops-hook");
    assert!(out.contains("all is well") && out.contains("export PATH="), "{out}");
    let ending: Vec<&str> = out.lines().rev().take(2).collect();
    assert!(ending[1].starts_with("your next prompt works as usual while the task is small"), "{out}");
    assert!(
        ending[0].starts_with("to change that: `") && ending[0].contains("mode observe|guard|loop|strict"),
        "{out}"
    );
    let config = home.root().join("home/.config");
    assert_eq!(fs::read_to_string(config.join("aops/config.toml")).unwrap(), "[mode]\nlevel = \"loop\"\n");
    fs::remove_dir_all(config).unwrap();
    let text = home.settings();
    assert!(survey(&text).unwrap().ours.iter().all(|one| one.command == program.to_str().unwrap()), "{text}");
    assert!(!cfg!(target_os = "linux") || is_static(&fs::read(&program).unwrap()), "a static program");

    let again = Said::of(home.command(&here.join("install.sh")).arg("--project").output().unwrap());
    assert!(again.code == 1 && again.out.contains("and again in"), "doctor's word counts: {}", again.out);
    let out = script(&["--uninstall", "--project", "--yes"]);
    assert!(out.contains("kept `"), "{out}");
    script(&["--uninstall", "--yes"]);
    fs::remove_dir_all(home.root().join("home/.local")).unwrap();
    assert_eq!(home.tree(), before, "as if we had never been there");
    let said = Said::of(home.command(&here.join("install.sh")).arg("--nonsense").output().unwrap());
    assert!(said.code == 1 && said.err.contains("unknown option `--nonsense`"), "{}", said.err);
}

/// Only who asks for it gets the database client, whose crates are a good part of the build.
#[test]
fn the_script_builds_without_the_shared_database() {
    let home = Home::new();
    let tool = |name: &str, text: &str| {
        let path = home.root().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    tool("rustc", "case $1 in -vV) echo 'host: here' ;; *) echo 'rustc 1.99.0' ;; esac\n");
    let asked = home.root().join("asked");
    let target = home.root().join("target");
    let made = target.join("here/release");
    tool(
        "cargo",
        &format!(
            "echo \"$@\" >{0}\nmkdir -p {1}\ncp {BINARY} {1}/aops-hook\n",
            asked.display(),
            made.display()
        ),
    );
    let built_by = |arguments: &[&str]| {
        let mut script = home.command(&Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh"));
        let said = Said::of(script.env("CARGO_TARGET_DIR", &target).args(arguments).output().unwrap());
        assert_eq!(said.code, 0, "{arguments:?}: {}{}", said.out, said.err);
        fs::read_to_string(&asked).unwrap()
    };
    assert!(built_by(&["--dry-run"]).contains(" --no-default-features "));
    assert!(!built_by(&["--dry-run", "--fleet"]).contains("features"));
}

/// Each of these leaves our entries standing, and our hooks off: the change is not applied.
#[test]
fn a_change_that_makes_our_hooks_void_is_refused() {
    let sandbox = crate::support::Sandbox::new();
    sandbox.person(&["install"]).said(&["registered"]);
    let path = sandbox.config().join("settings.json");
    let whole: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut text = whole.clone();
        change(&mut text);
        fs::write(&path, serde_json::to_string_pretty(&whole).unwrap()).unwrap();
        let session = sandbox.session();
        let _ = session.start("startup");
        fs::write(&path, serde_json::to_string_pretty(&text).unwrap()).unwrap();
        session.event("ConfigChange", serde_json::json!({"source": "user_settings", "file_path": path}))
    };
    let list = |text: &mut serde_json::Value, entry: serde_json::Value| {
        text["hooks"]["Stop"].as_array_mut().unwrap().push(entry);
    };
    changed(&|text| list(text, serde_json::json!({"matcher": {}}))).refused(&["drops every hook"]);
    changed(&|text| list(text, serde_json::json!({"matcher": "x"}))).refused(&["drops every hook"]);
    let first = |text: &mut serde_json::Value, key: &str, value: serde_json::Value| {
        text["hooks"]["PreToolUse"][0]["hooks"][0][key] = value;
    };
    changed(&|text| first(text, "args", serde_json::json!(["PostToolUse"])))
        .refused(&["our hook for `PreToolUse`"]);
    changed(&|text| first(text, "timeout", serde_json::json!(0.001))).refused(&["our hook for `PreToolUse`"]);
    changed(&|text| text["env"] = serde_json::json!({"CLAUDE_CODE_SIMPLE": "1"}))
        .refused(&["CLAUDE_CODE_SIMPLE"]);
    changed(&|text| text["model"] = serde_json::json!("opus")).silent();
    changed(&|text| list(text, serde_json::json!({"hooks": [{"type": "command", "command": "true"}]})))
        .silent();
}
