//! Lines that are answered in the person's place: which are, which never, and that the kernel holds each.

use super::world::{Jailed, JailedSession, Ran};
use crate::support::{BINARY, Call};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

const READING: &str = "tracker.command = \"none\"\nmode.level = \"guard\"\n[quiet]\nallow = \"reading\"\n";
const CONTAINED: &str = "tracker.command = \"none\"\nmode.level = \"guard\"\n[quiet]\nallow = \"contained\"\n";

fn answering(configuration: &str) -> Jailed {
    let world = Jailed::attended(configuration);
    world.sandbox.put("a.txt", "one\n");
    world
}

fn commit_all(world: &Jailed) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
    world.sandbox.git(&["init", "-q"]);
    world.sandbox.git(&["add", "-A"]);
    world.sandbox.git(&[&identity[..], &["commit", "-qm", "x"]].concat());
}

fn decision(answer: &crate::support::Answer) -> String {
    if answer.out.is_empty() {
        return String::new();
    }
    let said: Value = serde_json::from_str(&answer.out).unwrap();
    said["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or_default().to_owned()
}

fn is_answered(session: &JailedSession, line: &str) -> bool {
    let call = session.inner.call("Bash", json!({"command": line}));
    let said = session.inner.pre(&call);
    let _ = session.inner.batch(&[&call]);
    decision(&said) == "allow"
}

/// A line that is answered, run as the client runs it, and ended.
#[track_caller]
fn run_answered(session: &JailedSession, line: &str) -> (Call, Ran) {
    let call = session.inner.call("Bash", json!({"command": line}));
    let said = session.inner.pre(&call);
    assert_eq!(decision(&said), "allow", "{line}: {said:?}");
    let ran = session.run_and_end(&call, line);
    (call, ran)
}

#[test]
fn a_line_that_only_reads_is_answered_held_and_recorded() {
    let world = answering(READING);
    let session = world.prompted();
    let call = session.inner.call("Bash", json!({"command": "cat a.txt | head -3", "description": "look"}));
    let said = session.inner.pre(&call);
    assert_eq!(decision(&said), "allow", "{said:?}");
    assert!(said.out.contains("answered for you") && said.out.contains("aops-hook quiet off"), "told once: {said:?}");
    assert!(!said.out.contains("updatedInput") && !said.out.contains("updatedPermissions"), "{said:?}");
    let ran = session.run_and_end(&call, "cat a.txt | head -3");
    assert_eq!((ran.code, ran.out.as_str(), ran.profile().as_str()), (Some(0), "one\n", "quiet-read"), "{ran:?}");
    let entries = session.inner.entries();
    let fact = entries.iter().rev().find_map(|entry| entry["with"]["asks"]["means"].get("quiet")).unwrap();
    assert_eq!((fact["level"].as_str(), fact["rules"].as_u64()), (Some("reading"), Some(0)), "{fact}");
    assert_eq!(fact["proof"][0], json!({"by": "reads", "command": "cat a.txt"}), "{fact}");
    let second = session.inner.call("Bash", json!({"command": "ls"}));
    let said = session.inner.pre(&second);
    assert!(decision(&said) == "allow" && !said.out.contains("systemMessage"), "{said:?}");
}

/// By the kernel: whatever a reading line starts in truth, it can change nothing and reach nobody.
#[test]
fn an_answered_line_changes_nothing() {
    let world = answering(READING);
    let session = world.prompted();
    let before = world.tree();
    let home = fs::read_dir(world.sandbox.home()).unwrap().count();
    for line in ["ls -la", "find . -name '*.txt' | sort", "git status --short", "cat a.txt; pwd"] {
        run_answered(&session, line);
    }
    assert_eq!(world.tree(), before);
    assert_eq!(fs::read_dir(world.sandbox.home()).unwrap().count(), home);
}

/// Another command may exchange what a path leads to while nobody looks.
#[test]
fn a_path_that_leads_elsewhere_by_now_is_not_read() {
    let world = answering(READING);
    let (link, folder) = (world.project().join("link"), world.project().join("sub"));
    fs::write(world.sandbox.home().join("diary"), "dear diary\n").unwrap();
    fs::write(world.root().join("a.txt"), "not yours\n").unwrap();
    let session = world.prompted();
    for (line, path, elsewhere) in
        [("cat link", &link, world.sandbox.home().join("diary")), ("cd sub && cat a.txt", &folder, world.root())]
    {
        symlink(if path == &link { "a.txt" } else { "." }, path).unwrap();
        let (_, ran) = run_answered(&session, line);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "one\n"), "{ran:?}");
        let call = session.inner.call("Bash", json!({"command": line}));
        assert_eq!(decision(&session.inner.pre(&call)), "allow");
        fs::remove_file(path).unwrap();
        symlink(elsewhere, path).unwrap();
        let ran = session.run_and_end(&call, line);
        assert_eq!((ran.code, ran.out.as_str()), (Some(126), ""), "{line}: {ran:?}");
        assert!(ran.err.contains("leads elsewhere"), "{line}: {ran:?}");
    }
}

/// What was answered is counted where people look.
#[test]
fn what_was_answered_is_told_everywhere() {
    let world = answering(READING);
    let session = world.prompted();
    run_answered(&session, "cat a.txt");
    run_answered(&session, "ls");
    let words = "2 lines answered, 0 prompts seen";
    for arguments in [&["status"][..], &["quiet"], &["insights", &session.inner.id]] {
        let told = world.sandbox.person(arguments);
        assert!(told.out.contains(words), "{arguments:?}: {told:?}");
    }
    let mut watch = world.started([BINARY, "watch", "--json"]);
    let mut watch = watch.env_remove("CLAUDECODE").env_remove("AI_AGENT").stdout(Stdio::piped()).spawn().unwrap();
    let mut row = String::new();
    BufReader::new(watch.stdout.take().unwrap()).read_line(&mut row).unwrap();
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(row.contains(words), "{row}");
}

#[test]
fn everything_else_is_left_to_the_client() {
    let world = answering(READING);
    world.sandbox.put(".env", "KEY=1\n");
    symlink("/etc", world.project().join("away")).unwrap();
    let session = world.prompted();
    assert!(is_answered(&session, "cat a.txt"));
    for line in [
        "touch x",
        "rm a.txt",
        "make",
        "npm test",
        "git commit -m x",
        "git push",
        "python3 a.py",
        "sudo ls",
        "cat /etc/passwd",
        "cat ~/.ssh/id_rsa",
        "cat .env",
        "cat $X",
        "cat $(cat a.txt)",
        "cat away/passwd",
        "curl -s https://x.example",
        "gh pr list",
        "docker ps",
        "ls > x",
        "cat a.txt | tee x",
        "kill 1",
        "git diff --ext-diff",
        "rg --pre ./x y",
        "find . -exec ./x {} +",
        "sort -o a.txt a.txt",
        "man -P ./x ls",
        "tar --to-command=./x -xf a.tar",
        "sed e a.txt",
        "awk 'BEGIN{system(\"x\")}'",
        "xargs ./x < a.txt",
        "PATH=. ls",
        "GIT_EXTERNAL_DIFF=./x git diff",
        "LD_PRELOAD=./x ls",
        "[[ -v a[$(x)] ]]",
        "echo $((a[$(x)]))",
        "cat /proc/self/root/etc/passwd",
        "bash -c 'cat /etc/passwd'",
        "eval cat /etc/passwd",
        "grep sk-ant-A1b2C3d4E5f6G7h8I9j0A1b2C3d4E5f6G7h8I9j0 a.txt",
        "ls &",
        "aops-hook block x",
    ] {
        assert!(!is_answered(&session, line), "{line}");
    }
}

#[test]
fn other_modes_tools_and_inputs_are_left_to_the_client() {
    let world = answering(READING);
    let session = world.prompted();
    let with = |fields: Value| {
        let call = session.inner.call("Bash", json!({"command": "ls"}));
        let mut payload = call.fields();
        payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        decision(&session.inner.event("PreToolUse", payload)) == "allow"
    };
    assert!(with(json!({"permission_mode": "default"})) && with(json!({"permission_mode": "acceptEdits"})));
    for mode in ["plan", "auto", "dontAsk", "bypassPermissions", "other"] {
        assert!(!with(json!({"permission_mode": mode})), "{mode}");
    }
    for (name, value) in
        [("run_in_background", json!(true)), ("dangerouslyDisableSandbox", json!(true)), ("x", json!(1))]
    {
        assert!(!with(json!({"tool_input": {"command": "ls", name: value}})), "{name}");
    }
    assert!(!with(json!({"tool_name": "PowerShell"})) && !with(json!({"tool_name": "Monitor"})));
    for (tool, input) in [("Read", json!({"file_path": "a.txt"})), ("WebFetch", json!({"url": "https://x.example"}))] {
        let call = session.inner.call(tool, input);
        assert_ne!(decision(&session.inner.pre(&call)), "allow", "{tool}");
    }
    // A prompt is recorded and never answered.
    let asked = session.inner.call("Bash", json!({"command": "ls"}));
    let said = session.inner.event("PermissionRequest", asked.fields());
    assert!(!said.out.contains("allow"), "{said:?}");
}

#[test]
fn nobody_there_no_jail_or_a_project_that_wants_it_are_no_reason() {
    let unattended = Jailed::with(READING);
    assert!(!is_answered(&unattended.prompted(), "ls"));
    let wanted = Jailed::with(&format!("{READING}unattended = true\n"));
    assert!(is_answered(&wanted.prompted(), "ls"));
    let off = Jailed::attended("tracker.command = \"none\"\nmode.level = \"guard\"\n");
    fs::create_dir_all(off.project().join(".aops")).unwrap();
    fs::write(off.project().join(".aops/config.toml"), "[quiet]\nallow = \"contained\"\n").unwrap();
    let raised = off.sandbox.session();
    let call = raised.call("Bash", json!({"command": "ls"}));
    let _ = (raised.start("startup"), raised.prompt("go"));
    assert_ne!(decision(&raised.pre(&call)), "allow");
    let unjailed = Jailed::attended(&format!("{READING}[jail]\nlevel = \"off\"\n"));
    let session = unjailed.sandbox.session();
    let _ = (session.start("startup"), session.prompt("go"));
    let call = session.call("Bash", json!({"command": "ls"}));
    assert_ne!(decision(&session.pre(&call)), "allow");
}

#[test]
fn variables_that_run_something_first_end_it() {
    for (name, value) in [
        ("BASH_ENV", "/nowhere/x"),
        ("LD_PRELOAD", "/nowhere/x.so"),
        ("PROMPT_COMMAND", "x"),
        ("BASH_FUNC_ls%%", "() {  :; }"),
    ] {
        let mut world = answering(READING);
        world.sandbox = world.sandbox.with(name, value);
        assert!(!is_answered(&world.prompted(), "ls"), "{name}");
    }
    let mut world = answering(READING);
    let path = format!("{}:/usr/bin:/bin", world.project().join("bin").display());
    world.sandbox = world.sandbox.with("PATH", path);
    assert!(!is_answered(&world.prompted(), "ls"));
}

/// The text, the folder and the variables of the judgement, or exit code 126.
#[test]
fn an_answer_holds_for_the_very_line_it_was_given_for() {
    let world = answering(READING);
    let session = world.prompted();
    let call = session.inner.call("Bash", json!({"command": "cat a.txt"}));
    assert_eq!(decision(&session.inner.pre(&call)), "allow");
    // Another hook has changed it: nobody judged that.
    world.sandbox.put("b.txt", "two\n");
    let other = Ran::of(&session.line("rm b.txt; cat a.txt").output().unwrap());
    assert!(other.err.contains("throwaway layer"), "{other:?}");
    assert!(world.project().join("b.txt").exists());
    assert_eq!(session.run_and_end(&call, "cat a.txt").out, "one\n");
    fs::create_dir(world.project().join("sub")).unwrap();
    let changes: [&dyn Fn(&mut Command); 3] = [
        &|command| {
            let _ = command.env("PATH", "/bin:/usr/bin:/opt/x");
        },
        &|command| {
            let _ = command.env("BASH_ENV", "/nowhere/x");
        },
        &|command| {
            let _ = command.current_dir(world.project().join("sub"));
        },
    ];
    for (nth, change) in changes.iter().enumerate() {
        let call = session.inner.call("Bash", json!({"command": "cat a.txt"}));
        assert_eq!(decision(&session.inner.pre(&call)), "allow", "{nth}");
        let mut command = session.line("cat a.txt");
        change(&mut command);
        let ran = Ran::of(&command.output().unwrap());
        assert_eq!((ran.code, ran.out.as_str()), (Some(126), ""), "{nth}: {ran:?}");
        assert!(ran.err.contains("nobody was asked"), "{nth}: {ran:?}");
        // It did not run, so nothing ran without the jail.
        session.inner.fail(&call, "Exit code 126").silent();
    }
}

#[test]
fn an_answer_without_a_proof_ends_all_answers() {
    let world = answering(READING);
    let session = world.prompted();
    let call = session.inner.call("Bash", json!({"command": "ls"}));
    assert_eq!(decision(&session.inner.pre(&call)), "allow");
    let ended = session.inner.post(&call);
    assert!(ended.out.contains("nothing is answered any more"), "{ended:?}");
    let recorded = |entry: &Value| entry.to_string().contains("ran without the jail that the session has");
    assert!(session.inner.entries().iter().any(recorded), "a fact");
    assert!(!is_answered(&session, "ls"));
}

#[test]
fn a_jail_that_failed_before_the_first_answer_gives_none() {
    let world = answering(READING);
    let session = world.prompted();
    let call = session.inner.call("Bash", json!({"command": "touch x"}));
    assert_ne!(decision(&session.inner.pre(&call)), "allow");
    let ended = session.inner.post(&call);
    assert!(ended.out.contains("without the jail"), "{ended:?}");
    assert!(!is_answered(&session, "ls"));
}

#[test]
fn a_line_that_the_jail_hinders_is_left_to_the_person_for_the_task() {
    let world = answering(CONTAINED);
    commit_all(&world);
    let session = world.prompted();
    world
        .sandbox
        .put("Makefile", "all:\n\techo x > .git/made && echo made > made.txt\nfine:\n\techo made > made.txt\n");
    let (_, fine) = run_answered(&session, "make fine");
    assert_eq!((fine.code, fine.profile().as_str()), (Some(0), "quiet-work"), "{fine:?}");
    assert!(world.project().join("made.txt").exists(), "what a build makes stays");
    let call = session.inner.call("Bash", json!({"command": "make all"}));
    assert_eq!(decision(&session.inner.pre(&call)), "allow");
    let ran = Ran::of(&session.line("make all").output().unwrap());
    assert!(ran.err.contains("Read-only file system") && ran.code == Some(2), "{ran:?}");
    let ended = session.inner.fail(&call, &format!("Exit code 2\n{}", ran.err));
    assert!(ended.out.contains("run it again and the user is asked"), "{ended:?}");
    assert!(!is_answered(&session, "make all") && is_answered(&session, "make fine"));
    let _ = (session.inner.stop("done"), session.inner.prompt("now something else entirely"));
    assert!(is_answered(&session, "make all"));
}

/// What an unknown program overwrites in the tree comes back; where it changes nothing, nothing is said.
#[test]
fn what_a_contained_line_overwrites_was_kept() {
    let world = answering(CONTAINED);
    commit_all(&world);
    world.sandbox.put("notes.txt", "mine\n");
    world.sandbox.put("spoil.py", "open('notes.txt', 'w').write('spoiled')\n");
    world.sandbox.put("look.py", "print(open('notes.txt').read())\n");
    let session = world.prompted();
    let (_, looked) = run_answered(&session, "python3 look.py");
    assert_eq!((looked.out.as_str(), looked.told.as_str()), ("mine\n\n", ""), "{looked:?}");
    let (_, ran) = run_answered(&session, "python3 spoil.py");
    assert!(ran.told.contains("kept as 2"), "{ran:?}");
    let undone = world.sandbox.person(&["undo", "2", "--yes"]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(fs::read_to_string(world.project().join("notes.txt")).unwrap(), "mine\n");
}

#[test]
fn contained_leaves_what_acts_outside_and_the_rules_of_the_user() {
    let world = answering(CONTAINED);
    commit_all(&world);
    let session = world.prompted();
    assert!(is_answered(&session, "make fine"));
    for line in
        ["git commit -m x", "npm install", "sudo make", "docker build .", "pkill x", "make > /etc/x", "npm publish"]
    {
        assert!(!is_answered(&session, line), "{line}");
    }
    let file = world.sandbox.home().join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, r#"{"permissions":{"deny":["Edit(secret/**)"]}}"#).unwrap();
    assert!(!is_answered(&session, "make fine") && is_answered(&session, "ls"));
}

/// What the user's rules forbid to read is not there for an answered line.
#[test]
fn what_may_not_be_read_is_hidden_from_answered_lines() {
    let world = answering(READING);
    world.sandbox.put("private/key.txt", "hush\n");
    world.sandbox.put("sub/.env.local", "hush\n");
    world.sandbox.put(".claude/settings.json", r#"{"permissions":{"deny":["Read(./private/**)", "Read(.env*)"]}}"#);
    let session = world.prompted();
    let (_, ran) = run_answered(&session, "grep -rs hush . ; ls sub");
    assert!(!ran.out.contains("hush"), "{ran:?}");
    for line in [
        "cat private/key.txt",
        "cat ./private/../private/key.txt",
        "bash -c 'cat private/key.txt'",
        "cat priv*/key.txt",
        "for f in private/key.txt; do cat $f; done",
        "git show HEAD:private/key.txt",
        "cat sub/.env.local",
        "git log -p",
        "git diff",
    ] {
        assert!(!is_answered(&session, line), "{line}");
    }
    fs::hard_link(world.project().join("private/key.txt"), world.project().join("second")).unwrap();
    assert!(!is_answered(&session, "cat second"));
}

/// Rules of the user's, however the line hides what they are about.
#[test]
fn two_hundred_rules_are_never_answered_over() {
    let world = answering(READING);
    let session = world.prompted();
    let commands = [
        "cat a.txt", "grep -n x a.txt", "git log", "ls -la sub", "head -3 a.txt", "wc -l a.txt", "git status",
        "sort a.txt",
    ];
    let nestings = [
        "{}",
        "cd . && {}",
        "bash -c '{}'",
        "for i in 1; do {}; done",
        "ls; {} | head",
        "x=$({}); echo $x",
        "eval '{}'",
        "timeout 5 {}",
    ];
    let mut tried = 0;
    for (n, command) in commands.iter().enumerate() {
        let name = command.split(' ').next().unwrap();
        let prefix = command.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let rules = [
            format!("Bash({command})"),
            format!("Bash({name}:*)"),
            format!("Bash({name} *)"),
            format!("Bash({prefix}*)"),
            "Bash".to_owned(),
        ];
        for (m, rule) in rules.iter().enumerate() {
            let list = if (n + m) % 2 == 0 { "deny" } else { "ask" };
            let place = [".claude/settings.json", ".claude/settings.local.json"][m % 2];
            world.sandbox.put(place, &json!({"permissions": {list: [rule]}}).to_string());
            for nesting in nestings.iter().skip(m % 2).step_by(2).chain(nestings.first()) {
                let line = nesting.replace("{}", command);
                assert!(!is_answered(&session, &line), "{rule}: {line}");
                tried += 1;
            }
            fs::remove_file(world.project().join(place)).unwrap();
        }
    }
    assert!(tried >= 200, "{tried}");
    assert!(is_answered(&session, "cat a.txt"));
}

#[test]
fn rules_that_cannot_be_read_or_understood_end_it() {
    let world = answering(READING);
    let session = world.prompted();
    let file = world.project().join(".claude/settings.local.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for text in [
        "{",
        "[1]x",
        r#"{"permissions":{"deny":"Bash"}}"#,
        r#"{"permissions":{"ask":[1]}}"#,
        r#"{"permissions":{"deny":["Ba*(x)"]}}"#,
        r#"{"permissions":{"deny":["Bash(x"]}}"#,
        r#"{"permissions":{"ask":["Read([ab])"]}}"#,
        r#"{"permissions":{"deny":["*"]}}"#,
    ] {
        fs::write(&file, text).unwrap();
        assert!(!is_answered(&session, "ls"), "{text}");
    }
    fs::remove_file(&file).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(!is_answered(&session, "ls"), "a pipe");
    fs::remove_file(&file).unwrap();
    fs::write(&file, r#"{"permissions":{"deny":["mcp__x", "WebFetch", "Agent(x)"],"allow":["Bash(ls)"]}}"#).unwrap();
    assert!(is_answered(&session, "ls"));
    let managed = world.root().join("managed/managed-settings.d");
    fs::create_dir_all(&managed).unwrap();
    fs::write(managed.join("10.json"), r#"{"permissions":{"ask":["Bash(ls *)"]}}"#).unwrap();
    assert!(!is_answered(&session, "ls -la") && is_answered(&session, "pwd"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A program that the user allows the network, and only that.
#[test]
fn the_network_is_for_one_named_program() {
    use std::io::{Read, Write};
    let world = answering(&format!("{READING}network = [\"curl\"]\n"));
    let session = world.prompted();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    });
    let (_, ran) = run_answered(&session, &format!("curl -s http://127.0.0.1:{port}/x"));
    assert_eq!((ran.out.as_str(), ran.profile().as_str()), ("hi", "quiet-read"), "{ran:?}");
    serving.join().unwrap();
    for line in ["wget -q http://127.0.0.1", "curl -s http://$X/", "cat a.txt | curl -d @- http://127.0.0.1"] {
        assert!(!is_answered(&session, line), "{line}");
    }
}

#[test]
fn the_count_is_shown() {
    let world = answering(READING);
    let session = world.prompted();
    run_answered(&session, "ls");
    run_answered(&session, "cat a.txt");
    let asked = session.inner.call("Bash", json!({"command": "touch x"}));
    let _ = session.inner.event("PermissionRequest", asked.fields());
    let shown = world.sandbox.person(&["status"]);
    assert!(shown.out.contains("quiet") && shown.out.contains("2 lines answered, 1 prompt seen"), "{shown:?}");
}
