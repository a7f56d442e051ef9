//! `mode` and `install --mode`: shown, set, asked for; the file keeps all that a person wrote in it.

use crate::install::{Home, PROGRAM, Said};
use crate::policy::setting;
use crate::support::{BINARY, Sandbox, client_pid};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn config(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".config/aops/config.toml")
}

fn in_force(sandbox: &Sandbox) -> Value {
    setting(&sandbox.person(&["policy", "show", "--json"]).json(), "mode.level")["value"].clone()
}

#[test]
fn it_says_the_mode_where_it_comes_from_and_what_each_costs() {
    let sandbox = Sandbox::unchosen();
    let said = sandbox.person(&["mode"]);
    said.said(&[
        "mode      loop\n", "from      the default", "* loop ", "\n  strict ", "(recommended)",
        "costs nothing",
    ]);
    said.said(&["your next prompt works as usual while the task is small", "`aops-hook mode LEVEL`"]);
    let shown = sandbox.person(&["mode", "--json"]).json();
    assert_eq!(
        (&shown["level"], &shown["from"], &shown["at"]),
        (&json!("loop"), &json!("default"), &json!([]))
    );
    sandbox.configure("# mine\n[mode]\nlevel = \"guard\"\n[gates]\nqa = \"enforce\"\n");
    let said = sandbox.person(&["mode"]);
    said.said(&["mode      guard\n", "config.toml:3\n", "qa is \"enforce\" by", "config.toml:5", "* guard "]);
    sandbox.put(".aops/config.toml", "mode.level = \"loop\"\n");
    let shown = sandbox.person(&["mode", "--json"]).json();
    assert_eq!((&shown["level"], &shown["from"]), (&json!("loop"), &json!("project")));
}

#[test]
fn it_is_a_persons_to_set() {
    let sandbox = Sandbox::new();
    let before = sandbox.files();
    sandbox.person(&["mode", "loop"]).failed(2, &["needs a person at a terminal", "--yes"]);
    for arguments in [&["mode", "loop", "--yes"][..], &["mode", "observe", "--project", "--yes"], &["mode"]] {
        sandbox.inside(arguments).failed(2, &["inside a tool call", "hint: "]);
    }
    sandbox.person(&["mode", "calm", "--yes"]).failed(2, &["observe, guard, loop, strict"]);
    // Without a level it only shows, whatever else is asked.
    assert_eq!(sandbox.person(&["mode", "--project"]).out, sandbox.person(&["mode"]).out);
    assert_eq!(sandbox.files(), before);
    // And the guard says the same of a line that runs it.
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt(".please");
    session.ask_bash("aops-hook mode observe --yes").refused(&["aops-hook mode observe --yes", "person"]);
}

#[test]
fn setting_it_keeps_the_rest_of_the_file() {
    let sandbox = Sandbox::new();
    let mine = "#:schema x\ntracker.command = \"none\" # mine\n\n[gates] # levels\nqa   = 'warn'\n";
    sandbox.configure(mine);
    sandbox.person(&["mode", "loop", "--yes"]).said(&[
        "mode `loop` is set in",
        "config.toml`\n",
        "your next prompt works as usual while the task is small; one with more than 3 files and more than 60 lines",
    ]);
    let wanted = format!("{mine}\n[mode]\nlevel = \"loop\"\n");
    assert_eq!(fs::read_to_string(config(&sandbox)).unwrap(), wanted);
    assert_eq!(in_force(&sandbox), "loop");
    let again = sandbox.person(&["mode", "loop", "--yes", "--json"]).json();
    assert_eq!((&again["changed"], &again["level"]), (&json!(false), &json!("loop")));
    assert_eq!(fs::read_to_string(config(&sandbox)).unwrap(), wanted);
    for (level, next) in
        [("observe", "`loop` would have blocked is recorded"), ("guard", "your rules"), ("strict", "")]
    {
        sandbox.person(&["mode", level, "--yes"]).said(&[
            &format!("mode `{level}` is set in"),
            "your next prompt",
            next,
        ]);
        assert_eq!(in_force(&sandbox), level);
        assert_eq!(
            fs::read_to_string(config(&sandbox)).unwrap(),
            wanted.replace("\"loop\"", &format!("{level:?}"))
        );
    }
}

#[test]
fn a_project_gets_a_row_in_the_users_file() {
    let sandbox = Sandbox::unchosen();
    let project = sandbox.files().into_keys().filter(|path| path.starts_with(sandbox.project())).count();
    sandbox
        .person(&["mode", "observe", "--project", "--yes"])
        .said(&["mode `observe` is set for `", "/project` in"]);
    let text = fs::read_to_string(config(&sandbox)).unwrap();
    assert_eq!(sandbox.scrub(&text), "[[project]]\npath = \"[sandbox]/project\"\nmode = \"observe\"\n");
    assert_eq!(in_force(&sandbox), "observe");
    let now = sandbox.files().into_keys().filter(|path| path.starts_with(sandbox.project())).count();
    assert_eq!(now, project, "nothing in the repository");
    // The row is the one that is changed, and it counts over the default.
    sandbox.person(&["mode", "guard", "--project", "--yes"]).said(&["is set for"]);
    assert_eq!(fs::read_to_string(config(&sandbox)).unwrap(), text.replace("observe", "guard"));
    let said = sandbox.person(&["mode", "loop", "--yes"]);
    said.said(&[
        "mode `loop` is set in",
        "in this folder it stays `guard`",
        "`aops-hook mode loop --project`",
    ]);
    assert_eq!(in_force(&sandbox), "guard");
    sandbox.person(&["mode", "loop", "--project", "--yes"]).said(&["is set for"]);
    assert_eq!(in_force(&sandbox), "loop");
    // A folder that is everybody's is no project.
    let mut command = sandbox.command(BINARY);
    let output =
        command.args(["mode", "loop", "--project", "--yes"]).current_dir(sandbox.home()).output().unwrap();
    assert!(
        output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("is no project")
    );
}

/// A row's path is a pattern, so it would hold in folders beside this one.
#[test]
fn a_folder_that_reads_as_a_pattern_gets_no_row() {
    let sandbox = Sandbox::new();
    let text = || fs::read_to_string(config(&sandbox)).ok();
    let before = text();
    for name in ["p*", "p?", "**"] {
        let folder = sandbox.home().join(name);
        fs::create_dir_all(folder.join(".git")).unwrap();
        for words in [
            &["mode", "observe", "--project", "--yes"][..],
            &["danger", "off", "git-clean", "--here", "--yes"],
            &["network", "allow", "example.com", "--yes"],
        ] {
            let output = sandbox.command(BINARY).args(words).current_dir(&folder).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                output.status.code() == Some(2) && said.contains("reads as a pattern"),
                "{words:?}: {said}"
            );
            assert_eq!(text(), before, "{words:?}");
        }
    }
    let everywhere = ["network", "allow", "example.com", "--everywhere", "--yes"];
    let output =
        sandbox.command(BINARY).args(everywhere).current_dir(sandbox.home().join("p*")).output().unwrap();
    assert!(output.status.success(), "the hint works: {output:?}");
}

#[test]
fn a_projects_row_is_taken_out_again() {
    let sandbox = Sandbox::new();
    let mine = "# mine\n[mode]\nlevel = \"loop\"\n";
    sandbox.configure(mine);
    let nothing = ["has no `[[project]]` row for `", "hint: `aops-hook mode` shows"];
    sandbox.person(&["mode", "--project", "--unset", "--yes"]).failed(2, &nothing);
    sandbox.person(&["mode", "observe", "--project", "--yes"]).said(&["is set for"]);
    assert_eq!(in_force(&sandbox), "observe");
    sandbox.inside(&["mode", "--project", "--unset", "--yes"]).failed(2, &["inside a tool call"]);
    sandbox.person(&["mode", "--unset", "--yes"]).failed(2, &["--project"]);
    sandbox.person(&["mode", "loop", "--project", "--unset", "--yes"]).failed(2, &["cannot be used with"]);
    let said = sandbox.person(&["mode", "--project", "--unset", "--yes"]);
    said.said(&[
        "the row for `",
        "was removed from",
        "the mode here is now `loop`",
        "your next prompt works as usual",
    ]);
    assert_eq!(fs::read_to_string(config(&sandbox)).unwrap(), mine);
    assert_eq!(in_force(&sandbox), "loop");
}

#[test]
fn a_project_that_holds_it_higher_is_named() {
    let sandbox = Sandbox::new();
    sandbox.configure("mode.level = \"guard\"\n");
    sandbox.put(".aops/config.toml", "[mode]\nlevel = \"strict\"\n");
    let before = sandbox.files();
    for scope in [&[][..], &["--project"]] {
        let said = sandbox.person(&[&["mode", "loop", "--yes"], scope].concat());
        said.failed(2, &["sets the mode to `strict`", ".aops/config.toml:2", "hint: "]);
    }
    // So is one that the new mode would make invalid.
    sandbox.put(".aops/config.toml", "[gates]\nqa = \"warn\"\n");
    let said = sandbox.person(&["mode", "strict", "--yes"]);
    said.failed(2, &["would not be accepted", ".aops/config.toml:2:6: `gates.qa`", "hint: "]);
    sandbox.put(".aops/config.toml", "[mode]\nlevel = \"strict\"\n");
    assert_eq!(sandbox.files(), before);
    // The advice, followed.
    sandbox.put(".aops/config.toml", "[mode]\nlevel = \"loop\"\n");
    sandbox.person(&["mode", "loop", "--yes"]).said(&["is set"]);
    assert_eq!(in_force(&sandbox), "loop");
}

#[test]
fn a_running_session_has_the_new_mode_at_its_next_prompt() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.write("a.txt").refused(&["plan"]);
    sandbox.person(&["mode", "guard", "--yes"]).said(&["is set"]);
    let _ = session.prompt("add a greeting");
    assert_eq!(session.write("a.txt").code, Some(0));
}

fn ends(out: &str, next: &str) {
    let lines: Vec<&str> = out.lines().collect();
    let [.., first, last] = lines.as_slice() else { panic!("{out}") };
    assert!(first.starts_with("your next prompt") && first.contains(next), "{out}");
    assert!(
        last.starts_with("to change that: `") && last.ends_with(" mode observe|guard|loop|strict`"),
        "{out}"
    );
}

#[test]
fn an_installation_sets_the_mode_and_says_what_comes_next() {
    let home = Home::new();
    let file = home.root().join("home/.config/aops/config.toml");
    let before = home.tree();
    let out = home.done(&["install", "--mode", "loop", "--dry-run"]);
    assert!(out.contains("mode `loop`"), "{out}");
    assert_eq!(home.tree(), before);
    ends(&home.done(&["install"]), "works as usual while the task is small");
    assert!(!file.exists(), "without a terminal the default stays");
    let out = home.done(&["install", "--mode", "loop"]);
    assert!(out.contains("mode `loop` is set in"), "{out}");
    ends(&out, "works as usual while the task is small");
    assert_eq!(fs::read_to_string(&file).unwrap(), "[mode]\nlevel = \"loop\"\n");
    let said: Value = serde_json::from_str(&home.done(&["install", "--mode", "guard", "--json"])).unwrap();
    assert_eq!(said["mode"]["level"], "guard");
    assert_eq!(home.run(&["install", "--mode", "calm"]).code, 2);
    // Hooks of one project: a mode for that project.
    home.done(&["uninstall", "--yes"]);
    ends(&home.done(&["install", "--local", "--mode", "observe"]), "without aops-hook");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("[[project]]\n") && text.contains("level = \"guard\""), "{text}");
    // What it says to run, runs.
    let ending = home.done(&["install", "--local"]);
    let program =
        ending.lines().last().unwrap().split(['`', ' ']).find(|word| word.ends_with("aops-hook")).unwrap();
    let said = Said::of(home.command(program.as_ref()).args(["mode", "strict", "--yes"]).output().unwrap());
    assert_eq!((said.code, program), (0, PROGRAM), "{}", said.err);
}

/// `install …` on a terminal whose keys are these; what it shows.
#[expect(clippy::disallowed_methods, reason = "a program on a terminal of its own")]
fn on_a_terminal(home: &Home, options: &str, keys: &str) -> String {
    let clean = home.command(&home.program);
    let variables: Vec<_> =
        clean.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    let mut child = Command::new("script")
        .args(["-q", "-e", "-c", &format!("stty -echo; exec {BINARY} install {options}"), "/dev/null"])
        .env_clear()
        .envs(variables)
        .current_dir(home.project(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("`script` of util-linux is needed: {error}"));
    child.stdin.take().unwrap().write_all(keys.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

#[test]
fn a_person_at_a_terminal_is_asked_once() {
    for (keys, level) in [("\n", "loop"), ("calm\nobserve\n", "observe"), ("s\n", "strict")] {
        let home = Home::new();
        let out = on_a_terminal(&home, "", keys);
        assert!(out.contains("how much of the loop do you want?") && out.contains("mode [loop]: "), "{out}");
        assert_eq!(out.lines().filter(|line| line.contains("cost")).count(), 4, "{out}");
        let text = fs::read_to_string(home.root().join("home/.config/aops/config.toml")).unwrap();
        assert_eq!(text, format!("[mode]\nlevel = {level:?}\n"), "{out}");
        ends(&out, "");
        let out = on_a_terminal(&home, "", "");
        assert!(!out.contains("how much"), "asked twice: {out}");
    }
    // The other questions: what the client reads, and which hosts commands reach.
    let home = Home::new();
    let out = on_a_terminal(&home, "", "\nn\ny\n");
    assert!(out.contains("note which hosts your commands reach"), "{out}");
    let text = fs::read_to_string(home.root().join("home/.config/aops/config.toml")).unwrap();
    assert_eq!(text, "[mode]\nlevel = \"loop\"\n\n[network]\nmode = \"observe\"\n", "{out}");
    assert!(!on_a_terminal(&home, "", "").contains("note which hosts"), "asked twice");
    // Without an answer the default stays.
    let home = Home::new();
    let out = on_a_terminal(&home, "", "\u{4}");
    assert!(out.contains("how much"), "{out}");
    ends(&out, "works as usual");
    assert!(!home.root().join("home/.config").exists());
    // A person who says `--yes` is not asked: the program would wait for a key that never comes.
    let home = Home::new();
    let out = on_a_terminal(&home, "--yes", "");
    assert!(!out.contains("how much") && out.contains("registered for 30 events"), "{out}");
    ends(&out, "works as usual");
    assert!(!home.root().join("home/.config").exists(), "the mode stays as it is");
    ends(&on_a_terminal(&home, "--yes --mode guard", ""), "your rules");
}

/// Every command that the guide shows is run, in its order, and says what the guide says; `…` is anything.
#[test]
fn the_guides_commands_work() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/modes.md")).unwrap();
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.write("hello.txt").refused(&["hint: "]);
    let home = sandbox.home().display().to_string();
    let mut run = 0;
    for block in page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        for shown in block.split("$ ").skip(1) {
            let (line, wanted) = shown.split_once('\n').unwrap();
            let mut words: Vec<&str> = line.split(' ').skip(1).collect();
            if words.first() == Some(&"mode") && words.len() > 1 {
                words.push("--yes");
            }
            let said = sandbox.person(&words);
            assert_eq!(said.code, Some(0), "{line}: {said:?}");
            let out = said.out.replace(&home, "~");
            for part in wanted.lines().flat_map(|line| line.split('…')).filter(|part| !part.trim().is_empty())
            {
                assert!(out.contains(part), "{line}: no `{part}` in {out}");
            }
            run += 1;
        }
    }
    assert!(run >= 5, "the commands were found: {run}");
    // The figures have a place to be written to.
    assert!(page.contains("<!-- cost:begin -->\n|") && page.contains("|\n<!-- cost:end -->"), "{page}");
    // And the guide is found.
    for from in ["README.md", "docs/configuration.md", "docs/gates.md"] {
        let text = fs::read_to_string(format!("{}/{from}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(text.contains("modes.md)"), "{from}");
    }
}

/// The client gives the `env` of every settings file to its hooks.
#[test]
fn a_projects_settings_do_not_move_the_persons_configuration() {
    let lax = "[mode]\nlevel = \"observe\"\n[jail]\nlevel = \"off\"\n";
    let begun = |sandbox: &Sandbox| {
        let session = sandbox.session();
        let said = session.start("startup");
        let _ = session.prompt("make a.txt");
        (said.out, session.write("a.txt").out.contains("deny"))
    };
    for name in ["settings.json", "settings.local.json"] {
        let sandbox = Sandbox::new().of_client(client_pid()).with("XDG_CONFIG_HOME", "/proc/self/cwd/.cfg");
        sandbox.configure("");
        sandbox.put(".cfg/aops/config.toml", lax);
        let moves = json!({"env": {"XDG_CONFIG_HOME": "/proc/self/cwd/.cfg"}});
        let file = sandbox.put(&format!(".claude/{name}"), &moves.to_string());
        let (said, is_refused) = begun(&sandbox);
        assert!(is_refused, "the person's mode is strict: {said}");
        assert!(said.contains(&format!("`{}` sets `XDG_CONFIG_HOME`", file.display())), "{said}");
    }
    // Nor make the session one of a run, whose key nobody has.
    let sandbox = Sandbox::new().of_client(client_pid()).with("AOPS_RUN", "x");
    sandbox.put(".claude/settings.json", &json!({"env": {"AOPS_RUN": "x"}}).to_string());
    let session = sandbox.session();
    let said = session.start("startup").out;
    assert!(said.contains("sets `AOPS_RUN`"), "{said}");
    let _ = session.prompt("look");
    session.ask_bash("ls").silent();
    // What a person sets where they start the client counts.
    let sandbox = Sandbox::new();
    sandbox.put("elsewhere/aops/config.toml", lax);
    let elsewhere = sandbox.project().join("elsewhere");
    let sandbox = sandbox.with("XDG_CONFIG_HOME", elsewhere);
    sandbox.configure("");
    sandbox.put(".claude/settings.json", &json!({"env": {"OTHER": "x"}}).to_string());
    let (said, is_refused) = begun(&sandbox);
    assert!(!is_refused && !said.contains("XDG_CONFIG_HOME"), "{said}");
}
