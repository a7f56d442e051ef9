//! A session is found by its id: working directory and transcript move within it, and it stays one ledger.

use crate::faults::{self, LEDGER, STATE, passed, python_verifier, sound};
use crate::speed::counted;
use crate::support::{Answer, Sandbox, Session};
use aops_core::model::event::EVENTS;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the client stands, and where it keeps the transcript.
#[derive(Clone, Debug)]
struct Place {
    cwd: PathBuf,
    transcript: String,
}

fn dashed(path: &Path) -> String {
    path.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// As the client does it in this folder.
fn at(sandbox: &Sandbox, cwd: PathBuf, id: &str) -> Place {
    let transcript = sandbox.config().join("projects").join(dashed(&cwd)).join(format!("{id}.jsonl"));
    Place { cwd, transcript: transcript.display().to_string() }
}

/// The project, a worktree of the client's, a folder in that, a worktree beside the project, a folder that is
/// gone, one that has nothing to do with it; a transcript that is told and one that is not.
fn places(sandbox: &Sandbox, id: &str) -> Vec<Place> {
    let project = sandbox.project();
    let (worktree, beside) = (project.join(".claude/worktrees/side"), project.with_file_name("side"));
    fs::create_dir_all(worktree.join("src")).unwrap();
    fs::create_dir_all(&beside).unwrap();
    let main = at(sandbox, project.clone(), id);
    let inside = Place { cwd: worktree.join("src"), ..at(sandbox, worktree.clone(), id) };
    let untold = Place { cwd: beside.clone(), transcript: String::new() };
    let apart = Place { cwd: beside.clone(), ..main.clone() };
    let gone = at(sandbox, project.join(".claude/worktrees/gone"), id);
    vec![
        main,
        at(sandbox, worktree, id),
        inside,
        at(sandbox, beside, id),
        gone,
        at(sandbox, "/".into(), id),
        untold,
        apart,
    ]
}

fn tell(session: &Session, sandbox: &Sandbox, place: &Place, name: &str, fields: Value) -> Answer {
    let mut payload = session.payload(name, fields);
    payload["cwd"] = json!(place.cwd);
    payload["transcript_path"] = json!(place.transcript);
    sandbox.hook(name, &payload)
}

/// Every folder of this session, of whatever project.
fn folders(sandbox: &Sandbox, session: &Session) -> Vec<PathBuf> {
    let projects = fs::read_dir(sandbox.config().join("projects")).into_iter().flatten().flatten();
    let items = projects.filter_map(|project| fs::read_dir(project.path()).ok()).flatten().flatten();
    items.map(|item| item.path()).filter(|path| session.owns(path)).collect()
}

/// There is one ledger of this session, and it holds.
#[track_caller]
fn one(sandbox: &Sandbox, session: &Session) -> PathBuf {
    let found = folders(sandbox, session);
    assert_eq!(found.len(), 1, "{found:?}");
    sound(&session.id, &found[0]);
    found[0].clone()
}

#[track_caller]
fn verifies(sandbox: &Sandbox, session: &Session) {
    let said = sandbox.person(&["verify", &session.id, "--json"]).json();
    assert_eq!((&said["ok"], &said["torn_bytes"]), (&json!(true), &json!(0)), "{said}");
    let second = python_verifier::verify(&[one(sandbox, session)]);
    assert_eq!((&second[0]["ok"], &second[0]["entries"]), (&json!(true), &said["entries"]), "{second:?}");
}

fn bash(n: usize) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": format!("ls {n}")}, "tool_use_id": format!("toolu_b{n}")})
}

fn plan_mode(n: usize) -> Value {
    json!({"tool_name": "ExitPlanMode", "tool_input": {}, "tool_use_id": format!("toolu_p{n}"), "permission_mode": "plan"})
}

/// One thing that the client does, as the events that it sends.
fn deed(lot: usize, n: usize) -> Vec<(&'static str, Value)> {
    let done = |call: Value, response: Value| {
        faults::with(call, &json!({"tool_response": response, "duration_ms": 3}))
    };
    let plan = json!({"plan": "# Greet\n\n- say hello\n", "isAgent": false, "filePath": "/nowhere/p.md"});
    let row = &EVENTS[lot % EVENTS.len()];
    match lot % (EVENTS.len() + 8) {
        lot if lot < EVENTS.len() => vec![(
            row.name,
            json!({
                "prompt": "do it", "source": "resume", "reason": "other", "tool_name": "Read", "tool_input": {"file_path": "/x"},
                "tool_use_id": format!("toolu_r{n}"), "tool_response": "x", "error": "x", "agent_id": "a1", "agent_type": "critic",
                "last_assistant_message": "Done.", "new_cwd": "/", "old_cwd": "/", "task_id": "1", "task_subject": "s",
                "tool_calls": [], "background_tasks": [], "session_crons": [],
            }),
        )],
        lot if lot < EVENTS.len() + 3 => vec![
            ("PreToolUse", plan_mode(n)),
            ("PermissionRequest", plan_mode(n)),
            ("PostToolUse", done(plan_mode(n), plan)),
        ],
        lot if lot < EVENTS.len() + 6 => {
            vec![("PreToolUse", bash(n)), ("PostToolUse", done(bash(n), json!({"stdout": ""})))]
        }
        _ => vec![
            ("UserPromptSubmit", json!({"prompt": "do it"})),
            (
                "Stop",
                json!({"stop_hook_active": false, "last_assistant_message": "Done.", "background_tasks": [],
                "session_crons": []}),
            ),
        ],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any events of any kind, approved plans among them, with a move or a lost state before each.
    #[test]
    fn any_session_is_one_ledger_wherever_it_goes(
        mode in 0..3_usize,
        deeds in vec((any::<u8>(), any::<u8>(), any::<u8>()), 4..14),
    ) {
        is_one_ledger(mode, deeds)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, failure_persistence: None, ..ProptestConfig::default() })]

    /// The sample that CI takes of them.
    #[test]
    fn some_sessions_are_one_ledger_wherever_they_go(
        mode in 0..3_usize,
        deeds in vec((any::<u8>(), any::<u8>(), any::<u8>()), 4..8),
    ) {
        is_one_ledger(mode, deeds)?;
    }
}

fn is_one_ledger(mode: usize, deeds: Vec<(u8, u8, u8)>) -> Result<(), TestCaseError> {
    let sandbox = Sandbox::new().with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    let mode = ["strict", "loop", "guard"][mode];
    sandbox.configure(&format!("mode.level = \"{mode}\"\n{}", crate::support::NO_TRACKER));
    let session = sandbox.session();
    let places = places(&sandbox, &session.id);
    passed(&session.start("startup"));
    for (n, (lot, moves, loses)) in deeds.into_iter().enumerate() {
        let place = &places[usize::from(moves) % places.len()];
        if loses % 4 == 0 {
            fs::remove_file(one(&sandbox, &session).join(STATE)).unwrap();
        }
        for (name, fields) in deed(usize::from(lot), n) {
            let told = tell(&session, &sandbox, place, name, fields);
            let said = format!("{} {}", told.out, told.err);
            prop_assert!(!said.contains("STATE_"), "{name} at {place:?}: {said}");
            one(&sandbox, &session);
        }
    }
    verifies(&sandbox, &session);
    let states = folders(&sandbox, &session);
    prop_assert_eq!(states[0].parent().unwrap(), sandbox.sessions(), "where it began");
    Ok(())
}

/// The steps of the review: after a refusal its head is exported; the client goes to a worktree, works there,
/// and comes back.
#[test]
fn a_worktree_is_entered_and_left() {
    for mode in ["strict", "loop", "guard", "observe"] {
        let sandbox = Sandbox::new();
        sandbox.configure(&format!("mode.level = \"{mode}\"\n"));
        let session = sandbox.session();
        let [main, worktree, ..] = &places(&sandbox, &session.id)[..] else { panic!("two places") };
        passed(&session.start("startup"));
        passed(&session.prompt("go"));
        // Refused in every mode: our record.
        let record = sandbox.sessions().join("20260101-00000000/ledger.jsonl");
        let record = session.call("Write", json!({"file_path": record, "content": "{}"}));
        session.pre(&record).refused(&["our record"]);
        let enter =
            json!({"tool_name": "EnterWorktree", "tool_input": {"name": "side"}, "tool_use_id": "toolu_e"});
        let exit = json!({"tool_name": "ExitWorktree", "tool_input": {}, "tool_use_id": "toolu_x"});
        let _ = tell(&session, &sandbox, main, "PreToolUse", enter.clone());
        let response = json!({"tool_response": {"worktreePath": worktree.cwd}});
        passed(&tell(&session, &sandbox, worktree, "PostToolUse", faults::with(enter, &response)));
        for n in 0..3 {
            passed(&tell(&session, &sandbox, worktree, "PreToolUse", bash(n)));
            passed(&tell(&session, &sandbox, worktree, "PostToolUse", bash(n)));
        }
        passed(&tell(&session, &sandbox, worktree, "UserPromptSubmit", json!({"prompt": "and on"})));
        let _ = tell(&session, &sandbox, worktree, "PreToolUse", exit.clone());
        let left = tell(&session, &sandbox, main, "PostToolUse", exit);
        assert!(!format!("{left:?}").contains("STATE_"), "{mode}: {left:?}");
        passed(&session.stop("Done."));
        verifies(&sandbox, &session);
        let odd = session.entries().iter().any(|entry| entry.to_string().contains("project folder mismatch"));
        assert!(!odd, "{mode}: that the transcript moved with the client is nothing odd");
    }
}

/// Without a head nothing names the place: the first event elsewhere looks everywhere, and later ones need
/// not, however many projects and sessions there are.
#[test]
fn a_session_without_a_head_is_found_too_and_later_cheaply() {
    let counts = [0, 60].map(|others| {
        let sandbox = Sandbox::new();
        let session = sandbox.session();
        let beside = places(&sandbox, &session.id).swap_remove(3);
        passed(&session.start("startup"));
        passed(&session.prompt("go"));
        for n in 0..others {
            let project = sandbox.config().join(format!("projects/-other-{n}"));
            for m in 0..20 {
                fs::create_dir_all(project.join(format!("20260113-{n:04x}{m:04x}"))).unwrap();
            }
        }
        assert!(!sandbox.config().join("aops/heads.jsonl").exists(), "no head yet");
        passed(&tell(&session, &sandbox, &beside, "Notification", json!({"message": "m"})));
        one(&sandbox, &session);
        let heads = fs::read_to_string(sandbox.config().join("aops/heads.jsonl")).unwrap();
        assert!(heads.contains(&dashed(&sandbox.project())), "{heads}");
        let mut payload = session.payload("PreToolUse", faults::tool("toolu_1"));
        payload["cwd"] = json!(beside.cwd);
        payload["transcript_path"] = json!(beside.transcript);
        let calls = counted(&sandbox, &payload).len();
        verifies(&sandbox, &session);
        calls
    });
    assert_eq!(counts[0], counts[1], "system calls with one project and with sixty more");
}

/// In mode `loop` a command that changed nothing is no work; the tree of the project does not show what it
/// did elsewhere.
#[test]
fn a_command_in_a_worktree_counts_as_work() {
    for outside in [false, true] {
        let sandbox = Sandbox::repository("0.0");
        sandbox.configure("mode.level = \"loop\"\naudit.rate = 0\n");
        let project = sandbox.project();
        let worktree =
            if outside { project.with_file_name("side") } else { project.join(".claude/worktrees/side") };
        sandbox.git(&["worktree", "add", "-q", "-b", "side", worktree.to_str().unwrap()]);
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt("make a file");
        let writes = || session.state()["task"]["writes"].clone();
        for (n, folder) in [project, worktree].into_iter().enumerate() {
            let place = at(&sandbox, folder.clone(), &session.id);
            let call = json!({"tool_name": "Bash", "tool_input": {"command": "sh make.sh"}, "tool_use_id": format!("toolu_{n}")});
            passed(&tell(&session, &sandbox, &place, "PreToolUse", call.clone()));
            fs::write(folder.join("made.txt"), "made\n").unwrap();
            let response = json!({"tool_response": {"stdout": "", "stderr": ""}});
            let _ = tell(&session, &sandbox, &place, "PostToolUse", faults::with(call, &response));
            assert_eq!(writes(), n + 1, "outside: {outside}, in {}", folder.display());
        }
        verifies(&sandbox, &session);
    }
}

/// A project that was moved, with the client's folder or without it.
#[test]
fn a_moved_project_keeps_its_session() {
    for (case, moves_record) in [("the project alone", false), ("the client's folder too", true)] {
        let sandbox = Sandbox::new();
        let session = sandbox.session();
        passed(&session.start("startup"));
        passed(&session.prompt(". go"));
        passed(&session.stop("Done."));
        let new = sandbox.project().with_file_name("new-name");
        fs::create_dir_all(&new).unwrap();
        let place = at(&sandbox, new.clone(), &session.id);
        if moves_record {
            fs::rename(sandbox.sessions(), sandbox.config().join("projects").join(dashed(&new))).unwrap();
        }
        passed(&tell(&session, &sandbox, &place, "SessionStart", json!({"source": "resume"})));
        passed(&tell(&session, &sandbox, &place, "UserPromptSubmit", json!({"prompt": ". go on"})));
        passed(&tell(&session, &sandbox, &place, "PreToolUse", faults::tool("toolu_1")));
        one(&sandbox, &session);
        let said = sandbox.person(&["verify", &session.id, "--json"]).json();
        assert_eq!(said["ok"], true, "{case}: {said}");
    }
}

/// Two ledgers of one session, as versions that looked by place could begin them. `heads`: whose head is the
/// exported one.
struct Two {
    sandbox: Sandbox,
    id: String,
}

impl Two {
    /// The one in the project has a head, the one in the worktree has none; or the other way round.
    fn new(head_of_main: bool, block: bool) -> Self {
        let sandbox = Sandbox::new();
        let session = sandbox.session();
        let id = session.id.clone();
        let places = places(&sandbox, &id);
        let (first, second) = if head_of_main { (&places[0], &places[1]) } else { (&places[1], &places[0]) };
        // The second one is begun where nothing is known of the first.
        let _ = tell(&session, &sandbox, second, "SessionStart", json!({"source": "startup"}));
        let _ = tell(&session, &sandbox, second, "PreToolUse", faults::tool("toolu_second"));
        if block {
            sandbox.person(&["block", &id, "--reason", "let me look"]).said(&["blocked"]);
        }
        let (records, heads) = (sandbox.config().join("projects"), sandbox.config().join("aops/heads.jsonl"));
        let kept = sandbox.tmp().join("kept");
        fs::rename(&records, &kept).unwrap();
        let _ = fs::remove_file(&heads);
        let _ = tell(&session, &sandbox, first, "SessionStart", json!({"source": "startup"}));
        passed(&tell(&session, &sandbox, first, "UserPromptSubmit", json!({"prompt": ". go"})));
        let _ = tell(
            &session,
            &sandbox,
            first,
            "Stop",
            json!({"last_assistant_message": "Done.", "background_tasks": []}),
        );
        for project in fs::read_dir(kept).unwrap().flatten() {
            fs::rename(project.path(), records.join(project.file_name())).unwrap();
        }
        assert_eq!(folders(&sandbox, &session).len(), 2);
        Self { sandbox, id }
    }
}

#[test]
fn of_two_ledgers_the_exported_one_counts_and_names_the_other() {
    for (head_of_main, now) in [(true, 0), (true, 1), (false, 0), (false, 1)] {
        let Two { sandbox, id } = Two::new(head_of_main, false);
        let session = Session::new(&sandbox, &id);
        let places = places(&sandbox, &id);
        let case = format!("the head is of the project's: {head_of_main}, the client is at {now}");
        let prompted =
            tell(&session, &sandbox, &places[now], "UserPromptSubmit", json!({"prompt": ". go on"}));
        assert_eq!(prompted.code, Some(0), "{case}: {prompted:?}");
        // As long as nothing was compared, each place goes on with its own.
        let moved = if now == usize::from(!head_of_main) { &places[1 - now] } else { &places[now] };
        passed(&tell(&session, &sandbox, moved, "UserPromptSubmit", json!({"prompt": ". and on"})));
        let kept = one(&sandbox, &session);
        let main = kept.parent() == Some(sandbox.sessions().as_path());
        assert_eq!(main, head_of_main, "{case}");
        let ledger = fs::read_to_string(kept.join(LEDGER)).unwrap();
        assert!(
            ledger.contains("a second ledger of this session") && ledger.contains(".second-1"),
            "{case}: {ledger}"
        );
        for place in &places {
            passed(&tell(&session, &sandbox, place, "Notification", json!({"message": "m"})));
            passed(&tell(&session, &sandbox, place, "UserPromptSubmit", json!({"prompt": ". again"})));
        }
        verifies(&sandbox, &session);
    }
}

#[test]
fn a_block_in_the_ledger_that_is_set_aside_holds_on() {
    let Two { sandbox, id } = Two::new(true, true);
    let session = Session::new(&sandbox, &id);
    let places = places(&sandbox, &id);
    let prompt = || tell(&session, &sandbox, &places[1], "UserPromptSubmit", json!({"prompt": "go on"}));
    assert!(format!("{:?}", prompt()).contains("let me look"), "{:?}", prompt());
    one(&sandbox, &session);
    assert_eq!(sandbox.person(&["status", &id, "--json"]).json()["blocked"], true);
    sandbox.person(&["clear-block", &id, "--yes"]).said(&["no longer blocked"]);
    passed(&tell(&session, &sandbox, &places[1], "UserPromptSubmit", json!({"prompt": ". go on"})));
    verifies(&sandbox, &session);
}
