//! Inputs and files that are not what they should be: tool inputs without a form, hard links, escape
//! sequences in what we write, a transcript without an end, a workflow that cannot be read.

use crate::faults::passed;
use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox, Session, fenced};
use aops_core::host::claude::transcript::scan::{Lens, scan};
use aops_core::model::event::EVENTS;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

fn pre(session: &Session, tool: &str, input: Option<Value>) -> Answer {
    let mut fields = json!({"tool_name": tool, "tool_use_id": format!("{tool}-{input:?}")});
    if let Some(input) = input {
        fields["tool_input"] = input;
    }
    session.event("PreToolUse", fields)
}

/// A pipe that nobody writes into is waited for by whoever opens it, git too.
#[test]
fn a_pipe_in_the_place_of_gits_configuration_delays_nothing() {
    for name in [".gitconfig", ".config/git/config", ".config/git/ignore"] {
        let sandbox = Sandbox::repository("0");
        sandbox.configure(NO_TRACKER);
        let pipe = sandbox.home().join(name);
        fs::create_dir_all(pipe.parent().unwrap()).unwrap();
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let session = sandbox.working();
        session.write("hello.txt").silent();
        let said = session.stop("done");
        assert!(said.err.contains("commit"), "{name}: {said:?}");
    }
}

/// Also where nothing else is refused: the sandbox is open, and mode `guard` refuses little.
#[test]
fn a_tool_input_without_its_form_is_unreadable() {
    let sandbox = Sandbox::repository("0");
    let open = sandbox.working();
    pre(&open, "Write", Some(json!({"file_path": sandbox.project().join("x"), "content": "x"}))).silent();
    let guarded = Sandbox::new();
    guarded.configure(&format!("{NO_TRACKER}mode.level = \"guard\"\n"));
    let begun = guarded.session();
    begun.start("startup").silent();
    for session in [open, begun] {
        let not_objects = [
            None,
            Some(json!(null)),
            Some(json!("ls")),
            Some(json!(["ls"])),
            Some(json!(7)),
            Some(json!(true)),
        ];
        for tool in ["Bash", "Write", "Read", "Agent", "mcp__x__get", "SomethingNew"] {
            for input in &not_objects {
                pre(&session, tool, input.clone()).refused(&["INPUT_INVALID", "`tool_input`"]);
                let mut fields = json!({"tool_name": tool});
                fields["tool_input"] = input.clone().unwrap_or_default();
                session.event("PermissionRequest", fields).refused(&["INPUT_INVALID", "`tool_input`"]);
            }
        }
        for (tool, field) in [
            ("Bash", "command"),
            ("Monitor", "command"),
            ("PowerShell", "command"),
            ("Write", "file_path"),
            ("Edit", "file_path"),
            ("MultiEdit", "file_path"),
            ("NotebookEdit", "notebook_path"),
        ] {
            pre(&session, tool, Some(json!({}))).refused(&["INPUT_INVALID", field]);
            for wrong in [json!(null), json!(7), json!(["rm", "x"]), json!({"a": "b"}), json!(true)] {
                pre(&session, tool, Some(json!({ field: wrong }))).refused(&["INPUT_INVALID", field]);
            }
        }
        // A field that the tool does not need, of a form that we cannot read either.
        pre(&session, "Grep", Some(json!({"pattern": "x", "path": ["/etc"]})))
            .refused(&["INPUT_INVALID", "path"]);
        pre(&session, "Read", Some(json!({"file_path": 7}))).refused(&["INPUT_INVALID", "file_path"]);
        pre(&session, "Grep", Some(json!({"pattern": "x"}))).silent();
        pre(&session, "mcp__x__get", Some(json!({"path": ["a", "b"]}))).silent();
    }
}

/// Whoever writes to the other name of a guarded file writes to the file.
#[test]
fn a_hard_link_to_what_guards_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"guard\"\n"));
    let session = sandbox.session();
    let config = sandbox.config();
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("settings.json"), "{}").unwrap();
    sandbox.put(".claude/settings.local.json", "{}");
    passed(&session.start("startup"));
    passed(&session.stop("done"));
    let guarded = [
        config.join("settings.json"),
        sandbox.project().join(".claude/settings.local.json"),
        sandbox.home().join(".config/aops/config.toml"),
        config.join("aops/heads.jsonl"),
        session.folder().join("ledger.jsonl"),
        session.folder().join("session-state.json"),
    ];
    for (n, path) in guarded.iter().enumerate() {
        let link = sandbox.project().join(format!("innocent-{n}"));
        fs::hard_link(path, &link).unwrap();
        let write = json!({"file_path": link, "content": "{}"});
        pre(&session, "Write", Some(write)).refused(&["no tool call may"]);
        let edit = json!({"file_path": link, "old_string": "a", "new_string": "b"});
        pre(&session, "Edit", Some(edit)).refused(&["no tool call may"]);
        for line in [
            format!("echo x > innocent-{n}"),
            format!("sed -i s/a/b/ ./innocent-{n}"),
            format!("tee innocent-{n}"),
        ] {
            pre(&session, "Bash", Some(json!({ "command": line }))).refused(&["no tool call may"]);
        }
        pre(&session, "mcp__fs__write_file", Some(json!({"path": link, "content": "x"})))
            .refused(&["no tool call may"]);
        pre(&session, "Read", Some(json!({"file_path": link}))).silent();
        pre(&session, "Bash", Some(json!({"command": format!("cat innocent-{n}")}))).silent();
    }
    // Two names of a file of the project's own are nothing to us.
    let own = sandbox.put("one", "1");
    fs::hard_link(own, sandbox.project().join("two")).unwrap();
    pre(&session, "Write", Some(json!({"file_path": sandbox.project().join("two"), "content": "2"})))
        .silent();
    // And making such a link is refused.
    let settings = config.join("settings.json");
    let line = format!("ln {} x", settings.display());
    pre(&session, "Bash", Some(json!({ "command": line }))).refused(&["no tool call may"]);
}

const ESCAPES: &str = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\u{8}\u{202e}cba\r";

/// Every file below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).into_iter().flatten().map(|item| item.unwrap().path());
    items.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

fn is_plain(text: &str) -> bool {
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || ('\u{202a}'..='\u{202e}').contains(&c);
    !text.contains(odd)
}

/// A prompt, a file, an agent's words and a reason full of escapes: nothing of them is in what a person may
/// print.
#[test]
fn no_file_of_ours_holds_an_escape_sequence() {
    let sandbox = Sandbox::repository("1");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt(&format!("add a greeting {ESCAPES}"));
    session.hydrate("minor-edit", "new");
    let name = format!("odd{ESCAPES}.txt");
    sandbox.put(&name, ESCAPES);
    let call = session.call("Write", json!({"file_path": sandbox.project().join(&name), "content": ESCAPES}));
    let _ = session.pre(&call);
    let _ = session.post(&call);
    let _ = session.fail(&session.call("Bash", json!({"command": format!("echo '{ESCAPES}'")})), ESCAPES);
    let block = json!({"verdict": "BLOCK", "reason": format!("it wrote {ESCAPES}"), "violation": ESCAPES});
    let (_, answer) = session.agent_reports("custodiet", &fenced(block));
    assert!(is_plain(&answer.err), "{answer:?}");
    let report = fs::read_to_string(session.folder().join("halt-report.md")).unwrap();
    assert!(report.contains("red") && is_plain(&report), "{report:?}");
    let _ = session.stop(ESCAPES);
    let _ = session.end();
    let page = sandbox.tmp().join("report.html");
    assert_eq!(sandbox.person(&["report", "-o", page.to_str().unwrap()]).code, Some(0));
    let told = sandbox.person(&["transcript", &session.id]);
    assert!(is_plain(&told.out), "{told:?}");
    let ours = [session.folder(), sandbox.config().join("aops"), sandbox.data(), sandbox.tmp()];
    let files: Vec<PathBuf> = ours.iter().flat_map(|folder| below(folder)).collect();
    assert!(files.len() > 8, "{files:?}");
    let binary = |path: &&PathBuf| path.extension().is_some_and(|kind| kind == "index");
    let git = |path: &&PathBuf| path.to_string_lossy().contains("remote.git");
    for path in files.iter().filter(|path| !git(path) && !binary(path)) {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        assert!(!text.contains('\u{1b}'), "{}: an escape", path.display());
        let lines = path.extension().is_some_and(|kind| kind == "md" || kind == "html");
        assert!(!lines || is_plain(&text), "{}: {text:?}", path.display());
    }
}

/// One line of five gigabytes, of which nothing is on the disk: a Stop passes, and its insights are written.
#[test]
fn a_transcript_without_an_end_does_not_hold_a_stop_up() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = sandbox.session();
    passed(&session.start("startup"));
    let transcript = sandbox.sessions().join(format!("{}.jsonl", session.id));
    File::create(&transcript).unwrap().set_len(5 << 30).unwrap();
    session.stop("done").silent();
    session.end().silent();
    assert!(session.entries().iter().any(|entry| entry["type"] == "insights"), "{:?}", session.entries());
    // What is read of it is bounded, whatever the clock says.
    let read = scan(&transcript, &Lens::default()).unwrap();
    assert!(read.cut_short && read.bytes < 200 << 20, "{} bytes", read.bytes);
}

/// The person hears of it where the session starts, in every mode, with file and line.
#[test]
fn a_broken_workflow_is_named_when_a_session_starts() {
    for mode in ["observe", "guard", "loop", "strict"] {
        let sandbox = Sandbox::new();
        sandbox.configure(&format!("{NO_TRACKER}mode.level = \"{mode}\"\n"));
        sandbox.put(".aops/workflows/release.md", "---\nid: release # mine\n---\n");
        let user = sandbox.home().join(".config/aops/workflows");
        fs::create_dir_all(&user).unwrap();
        fs::write(user.join("mine.md"), "no frontmatter\n").unwrap();
        let session = sandbox.session();
        let answer = session.start("startup");
        let said = answer.json()["systemMessage"].as_str().unwrap_or_default().to_owned();
        for word in [".aops/workflows/release.md", "mine.md", "aops-hook workflow check"] {
            assert!(said.contains(word), "{mode}: {word}: {answer:?}");
        }
        // The advice names the same files.
        let listed = sandbox.person(&["workflow", "check"]);
        assert!(listed.out.contains("release.md") && listed.out.contains("mine.md"), "{listed:?}");
        fs::remove_file(user.join("mine.md")).unwrap();
        fs::remove_file(sandbox.project().join(".aops/workflows/release.md")).unwrap();
        let again = session.start("resume");
        assert!(!again.out.contains("workflow check"), "{mode}: {again:?}");
    }
}

/// What agents and people are handed holds no secret either: a diff has its sign before each line.
#[test]
fn no_output_holds_a_secret() {
    let sandbox = Sandbox::repository("1");
    let session = sandbox.session();
    let _ = session.start("startup");
    let word = format!("hunt{}er{}", "xyz", 42);
    let lines = [
        format!("  password: {word}a"),
        format!("mysql -u root -p{word}b shop"),
        format!("db.prod:5432:shop:bob:{word}c"),
        format!("<password>{word}d</password>"),
        format!("kind: Secret\ndata:\n  any: {word}e"),
        format!("sshpass -p {word}f ssh h"),
    ];
    let text = lines.join("\n") + "\n";
    let _ = session.prompt(&format!("add a greeting\n{text}"));
    session.hydrate("feature-dev", "new");
    session.critic("PROCEED").silent();
    let path = sandbox.put("deploy.txt", &text);
    let call = session.call("Write", json!({"file_path": path, "content": text}));
    session.pre(&call).silent();
    let _ = session.post(&call);
    let _ = session.agent_reports("custodiet", &fenced(json!({"verdict": "OK"})));
    let _ = session.agent_reports("qa-verifier", &fenced(json!({"verdict": "ISSUES", "issues": [text]})));
    let _ = session.stop(&text);
    let block = fenced(json!({"verdict": "BLOCK", "violation": text}));
    let _ = session.agent_reports("custodiet", &block);
    let _ = session.end();
    let _ = sandbox.person(&["report", "-o", sandbox.tmp().join("report.html").to_str().unwrap()]);
    let told = sandbox.person(&["log", &session.id]).out + &sandbox.person(&["transcript", &session.id]).out;
    let ours = [session.folder(), sandbox.config().join("aops"), sandbox.data(), sandbox.tmp()];
    let git = |path: &&PathBuf| path.to_string_lossy().contains("remote.git");
    let files: Vec<PathBuf> = ours.iter().flat_map(|folder| below(folder)).collect();
    assert!(files.iter().any(|path| path.starts_with(session.folder().join("context"))), "{files:?}");
    for path in files.iter().filter(|path| !git(path)) {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(&word)).collect();
        assert!(lines.is_empty(), "{}: {lines:#?}", path.display());
    }
    assert!(told.len() > 500 && !told.contains(&word), "{told}");
}

/// Every file that we open below a project, wherever a repository can plant one.
const PLANTED: [&str; 24] = [
    ".claude/CLAUDE.md",
    ".claude/agents/critic.md",
    ".claude/agents/aops-critic.md",
    ".claude/agents/other.md",
    ".claude/aops-hook",
    ".claude/commands/go.md",
    ".claude/hooks/go.sh",
    ".claude/rules/go.md",
    ".claude/scheduled_tasks.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/skills/go/SKILL.md",
    ".claude-plugin/plugin.json",
    ".mcp.json",
    ".gitmodules",
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "a.txt",
    "below/AGENTS.md",
    "below/CLAUDE.md",
    "hooks/hooks.json",
    "package.json",
    "README.md",
];

/// The same for what decides the configuration: then guarding events are refused, and answered.
const CONFIGURED: [&str; 7] = [
    ".aops/agents/critic.md",
    ".aops/config.toml",
    ".aops/templates/refusals/sandbox.md",
    ".aops/workflows/minor-edit.md",
    ".aops/project.toml",
    ".aops/AXIOMS.md",
    ".aops/WORKFLOWS.md",
];

/// Puts something that is no plain file there: a FIFO that nobody writes to, a link to a device without an
/// end, a folder, a socket.
fn plant(kind: &str, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    match kind {
        "fifo" => {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }
        "device" => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        "folder" => fs::create_dir(path).unwrap(),
        _ => drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
    }
}

fn fields(event: &str, project: &Path) -> Value {
    let file = project.join("a.txt");
    match event {
        "SessionStart" => json!({"source": "startup"}),
        "UserPromptSubmit" => json!({"prompt": "go on"}),
        "ConfigChange" => {
            json!({"source": "project_settings", "file_path": project.join(".claude/settings.json")})
        }
        "SubagentStart" => json!({"agent_id": "a", "agent_type": "critic"}),
        "Stop" => json!({"stop_hook_active": false, "last_assistant_message": "done"}),
        _ => json!({"tool_name": "Edit", "tool_use_id": "t",
            "tool_input": {"file_path": file, "old_string": "a", "new_string": "b"}}),
    }
}

#[test]
fn no_event_and_no_verb_waits_for_what_is_no_plain_file() {
    for kind in ["fifo", "device", "folder", "socket"] {
        for names in [&PLANTED[..], &CONFIGURED[..]] {
            let sandbox = Sandbox::repository("0");
            for name in names {
                plant(kind, &sandbox.project().join(name));
            }
            let session = sandbox.session();
            let agent =
                json!({"tool_name": "Agent", "tool_use_id": "g", "tool_input": {"subagent_type": "critic"}});
            let bash = json!({"tool_name": "Bash", "tool_use_id": "b", "tool_input": {"command": "cat a.txt; make"}});
            for event in EVENTS {
                let answer = session.event(event.name, fields(event.name, &sandbox.project()));
                assert!(matches!(answer.code, Some(0 | 2)), "{kind}: {}: {answer:?}", event.name);
            }
            for fields in [agent, bash] {
                let answer = session.event("PreToolUse", fields);
                assert!(matches!(answer.code, Some(0 | 2)), "{kind}: {answer:?}");
            }
            for verb in
                ["status", "policy", "workflow", "doctor", "checkpoint create x", "insights", "report"]
            {
                let answer = sandbox.person(&verb.split(' ').collect::<Vec<_>>());
                assert!(answer.code.is_some(), "{kind}: {verb}: {answer:?}");
            }
        }
    }
}

/// A list can forget a file; the system calls do not.
#[test]
fn nothing_below_a_project_is_opened_in_a_way_that_waits() {
    let sandbox = Sandbox::repository("0");
    for name in PLANTED.iter().chain(&CONFIGURED) {
        sandbox.put(name, "");
    }
    fs::remove_file(sandbox.project().join(".aops/config.toml")).unwrap();
    let session = sandbox.session();
    let (project, trace) = (sandbox.project(), sandbox.tmp().join("trace"));
    let mut unknown = Vec::new();
    for event in EVENTS {
        let payload = session.payload(event.name, fields(event.name, &project));
        let mut strace = sandbox.command("strace");
        // Without what it starts: git has its own time limit.
        strace.args(["-e", "trace=openat,openat2,open", "-o"]).arg(&trace).args([BINARY, event.name]);
        let output = strace.envs(sandbox.inside_client()).write_stdin(payload.to_string()).output();
        assert!(output.unwrap().status.code().is_some(), "{}", event.name);
        let text = fs::read_to_string(&trace).unwrap();
        let opened = text.lines().filter(|line| line.contains("O_RDONLY") && !line.contains("O_DIRECTORY"));
        // Opened without waiting, or only to be named.
        let waits = |line: &&str| !line.contains("O_NONBLOCK") && !line.contains("O_PATH");
        let opened = opened.filter(waits).filter_map(|line| line.split('"').nth(1));
        let below = opened.filter_map(|path| path.strip_prefix(project.to_str().unwrap())?.strip_prefix('/'));
        unknown.extend(below.map(|name| format!("{}: {name}", event.name)));
    }
    assert_eq!(unknown, [""; 0], "opened in a way that waits for a FIFO");
}
