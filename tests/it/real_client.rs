//! Whole sessions in the real client: what it is told, what the model sees, what the ledger keeps.
//!
//! Every prompt of this file begins with `.`: it waives the loop, so these tests are about the ground floor
//! alone. `whole_loop` is about the rest.

mod added;
pub(crate) mod agents;
mod attempts;
mod attested;
mod authority;
mod auto;
mod checks;
mod ci;
mod daily;
mod dialogs;
mod halts;
mod hydration;
mod jail;
mod managed;
mod network;
mod queued;
mod questions;
mod quiet;
mod rules;
mod servers;
mod undone;
mod unsaved;
mod whole_loop;
mod worktree;

use crate::client::{Client, Run};
use crate::insights::insights;
use crate::model::{Model, Request, Turn};
use crate::support::{Sandbox, Session};
use checks::{commands_by, events, says, state_is_right, verifies};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

const RAN: [&str; 4] = ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"];
const BROKE: [&str; 4] = ["PENDING", "AUTHORIZED", "EXECUTING", "FAILED"];
const REFUSED: [&str; 2] = ["PENDING", "DENIED"];

#[test]
fn a_session_with_several_tools_is_kept_whole() {
    let sandbox = Sandbox::new();
    let notes = sandbox.put("notes.md", "remember the milk\n");
    let letter = sandbox.project().join("letter.txt");
    let model = Model::new([
        Turn::call("Read", json!({"file_path": notes})),
        Turn::call("Bash", json!({"command": "echo hello"})),
        Turn::call("Write", json!({"file_path": letter, "content": "dear reader\n"})),
        Turn::call("Bash", json!({"command": "exit 3"})),
        Turn::text("All done."),
    ]);
    let run = Client::guarded(&sandbox, &model).run(". try the tools");
    run.ended("All done.");
    assert_eq!(fs::read_to_string(letter).unwrap(), "dear reader\n");

    let session = Session::new(&sandbox, run.session_id());
    let calls = session.calls();
    let ids: Vec<&String> = calls.keys().collect();
    assert_eq!(ids, ["toolu_000100", "toolu_000200", "toolu_000300", "toolu_000400"]);
    assert_eq!(calls.values().cloned().collect::<Vec<_>>(), [RAN, RAN, RAN, BROKE]);
    assert_eq!(
        events(&session),
        [
            "SessionStart", "UserPromptSubmit", "PostToolBatch", "PostToolBatch", "PostToolBatch",
            "PostToolBatch", "Stop", "SessionEnd"
        ]
    );
    verifies(&sandbox, &session);
    state_is_right(&session);
}

/// Our slash commands run the program where it is, without `PATH`; and a project's run its script.
#[test]
fn our_commands_work_without_the_program_on_the_path() {
    for level in ["--user", "--project"] {
        let sandbox = Sandbox::new();
        let local = sandbox.home().join(".local/bin");
        fs::create_dir_all(&local).unwrap();
        std::os::unix::fs::symlink(crate::support::BINARY, local.join("aops-hook")).unwrap();
        let model = Model::new([Turn::text("It stands well."), Turn::text("Insightful.")]);
        sandbox.person(&["install", level]).said(&["registered"]);
        let run = Client::unguarded(&sandbox, &model).run("/aops-status");
        run.ended("It stands well.");
        let heard = model.requests()[0].said_by("user").join("\n");
        let id = run.session_id();
        assert!(
            heard.contains("session") && heard.contains(id) && heard.contains("phase"),
            "{level}: {heard}"
        );
        assert!(!heard.contains("not found") && !heard.contains("CLAUDE_PLUGIN_ROOT"), "{level}: {heard}");
    }
}

/// `/session-insights` with and without arguments: this session, another one, all of them; an analysis is a
/// person's; and arguments are words, never commands.
#[test]
fn session_insights_does_what_it_says() {
    let sandbox = Sandbox::new();
    let answer = json!({"learning_observations": [{"category": "c", "evidence": "e", "lesson": "read first"}],
        "skill_compliance": {"suggested": [], "used": []}, "context_gaps": ["the style"], "user_mood": 0.5,
        "conversation_flow": ["asked"]});
    let program = sandbox.tmp().join("analyst");
    fs::write(&program, format!("#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{answer}\nEND\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.configure(&format!("[insights]\ncommand = \"{}\"\n", program.display()));
    sandbox.person(&["install", "--user"]).said(&["registered"]);
    let run_both = |asked: &str, program: &str, words: &str| {
        let line = format!("{program} insights {words}");
        let model = Model::new([Turn::call("Bash", json!({"command": line})), Turn::text("Told.")]);
        let run = Client::unguarded(&sandbox, &model).run(&format!("/session-insights {asked}"));
        run.ended("Told.");
        (run.session_id().to_owned(), model.requests())
    };
    let run_it = |words: &str| run_both(words, crate::support::BINARY, words);
    let printed = |heard: &[Request]| heard[1].tool_results()[0].text.clone();
    let (first, heard) = run_it("current --analyse");
    let asked = heard[0].said_by("user").join("\n");
    assert!(asked.contains(&first) && asked.contains("current --analyse"), "{asked}");
    let told = printed(&heard);
    assert!(told.contains("terminal") && !told.contains("read first"), "{told}");
    sandbox.person(&["insights", &first, "--analyse"]).said(&["read first", "the style", &first]);
    let rich = insights(&sandbox, &Session::new(&sandbox, &first));
    assert_eq!((&rich["context_gaps"], &rich["user_mood"]), (&json!(["the style"]), &json!(0.5)));
    // Without an option the model that is there fills in the same fields.
    let own = answer.to_string().replace("read first", "ask first");
    let (third, heard) = run_both("", "aops-hook", &format!("current --fill '{own}'"));
    assert!(printed(&heard).contains("ask first"), "{heard:?}");
    assert!(
        heard[0].said_by("user").join("\n").contains("insights current --fill '{"),
        "the command says how"
    );
    let rich = insights(&sandbox, &Session::new(&sandbox, &third));
    assert_eq!(rich["learning_observations"][0]["lesson"], "ask first");
    let (second, heard) = run_it(&first[..8]);
    let told = printed(&heard);
    assert!(second != first && told.contains(&format!("session   {first}")), "{told}");
    let (_, heard) = run_it("batch");
    assert!(printed(&heard).contains("wrote insights of 4 sessions"), "{heard:?}");
    let model = Model::new([Turn::text("Told.")]);
    let marker = sandbox.project().join("ran");
    let prompt = format!("/session-insights !`touch {}`; $(touch {0})", marker.display());
    Client::unguarded(&sandbox, &model).run(&prompt).ended("Told.");
    assert!(!marker.exists(), "an argument was run");
}

#[test]
fn parallel_calls_and_a_background_agent_are_all_recorded() {
    let sandbox = Sandbox::new();
    let notes = sandbox.put("notes.md", "remember the milk\n");
    sandbox.put(
        ".claude/agents/checker.md",
        "---\nname: checker\ndescription: checks things\n---\nYou are the checker of this test.\n",
    );
    let model = Model::new([
        Turn::call("Read", json!({"file_path": notes}))
            .and("Bash", json!({"command": "echo one"}))
            .and("Bash", json!({"command": "echo two"}))
            .and("Agent", json!({"description": "check", "prompt": "check it", "subagent_type": "checker"})),
        Turn::text("Started."),
    ])
    .agent(
        "the checker of this test",
        [
            Turn::call("Bash", json!({"command": "echo three"})).and("Bash", json!({"command": "echo four"})),
            Turn::text("Checked."),
        ],
    );
    let run = Client::guarded(&sandbox, &model).run(". do four things");
    assert_eq!(run.code, Some(0), "{run:?}");

    let session = Session::new(&sandbox, run.session_id());
    let agents: Vec<String> = model.requests().into_iter().filter_map(|request| request.agent).collect();
    let agent = agents.first().expect("the agent asked the model");
    assert!(agents.iter().all(|other| other == agent), "{agents:?}");
    let calls = session.calls();
    assert_eq!(calls.len(), 6, "{calls:?}");
    assert!(calls.values().all(|steps| *steps == RAN), "{calls:?}");
    assert_eq!(commands_by(&session, None), ["echo one", "echo two"]);
    assert_eq!(commands_by(&session, Some(agent)), ["echo four", "echo three"]);
    let told = |event: &str| {
        let ours =
            |entry: &&Value| entry["with"]["event"] == event && entry["with"]["agent_id"] == agent.as_str();
        session.entries().iter().filter(ours).count()
    };
    assert_eq!((told("SubagentStart"), told("SubagentStop")), (1, 1));
    verifies(&sandbox, &session);
}

#[test]
fn a_blocked_session_is_refused_until_a_person_clears_it() {
    let sandbox = Arc::new(Sandbox::new());
    let outside = Arc::clone(&sandbox);
    let block = move || outside.person(&["block", "--reason", "the plan was dropped"]).said(&["blocked"]);
    let touch = |name: &str| Turn::call("Bash", json!({"command": format!("touch {name}")}));
    let model = Model::new([
        touch("before"),
        touch("meanwhile").after(block),
        Turn::text("Hello from a new session."),
        touch("afterwards"),
        Turn::text("Back at work."),
    ]);
    let client = Client::guarded(&sandbox, &model);
    let there = |name: &str| sandbox.project().join(name).exists();

    let first = client.run(". make two files");
    let session = Session::new(&sandbox, first.session_id());
    assert!(there("before") && !there("meanwhile"), "{first:?}");
    assert_eq!(model.requests().len(), 2, "the turn ended with the refusal: {first:?}");
    assert_eq!(session.calls()["toolu_000200"], REFUSED);
    assert_eq!(session.state()["state"]["custodiet_blocked"], true);

    let again = client.resume(&session.id, ". go on");
    assert_eq!(model.requests().len(), 2, "a blocked prompt does not reach the model: {again:?}");
    says(&again, &["the plan was dropped", "clear-block"]);

    client.run(". a fresh start").ended("Hello from a new session.");
    assert_eq!(model.requests().len(), 3);

    sandbox.inside(&["clear-block", &session.id, "--yes"]).failed(2, &["person", "hint:"]);
    sandbox.person(&["clear-block", &session.id]).failed(2, &["terminal", "--yes"]);
    sandbox.person(&["clear-block", &session.id, "--yes"]).said(&["no longer blocked"]);
    client.resume(&session.id, ". now go on").ended("Back at work.");
    assert!(there("afterwards") && !there("meanwhile"));
    let seen = model.tool_results().into_iter().find(|result| result.id == "toolu_000200").unwrap();
    assert!(seen.is_error && seen.text.contains("the plan was dropped"), "{seen:?}");
    assert_eq!(session.state()["state"]["custodiet_blocked"], false);
    verifies(&sandbox, &session);
}

#[test]
fn without_a_place_for_its_state_the_prompt_is_refused() {
    let sandbox = Sandbox::new();
    let (other, session) = (sandbox.session(), sandbox.session());
    let _ = other.start("startup");
    let today = other.folder().file_name().unwrap().to_str().unwrap()[..8].to_owned();
    for hash in session.hashes() {
        fs::write(sandbox.sessions().join(format!("{today}-{hash}")), "in the way").unwrap();
    }
    let model = Model::new([Turn::text("Nobody should hear this.")]);
    let run = Client::guarded(&sandbox, &model).start(". hello", &["--session-id", &session.id]);
    assert_eq!(model.requests().len(), 0, "{run:?}");
    says(&run, &["STORAGE_FAILED", "hint: a person can"]);
}

#[test]
fn a_call_is_refused_when_the_state_folder_is_lost_on_the_way() {
    let sandbox = Arc::new(Sandbox::new());
    let session = sandbox.session();
    let (inside, id) = (Arc::clone(&sandbox), session.id.clone());
    let lose = move || {
        let folder = Session::new(&inside, &id).folder();
        fs::rename(&folder, inside.tmp().join("moved")).unwrap();
        fs::write(&folder, "in the way").unwrap();
    };
    let model = Model::new([
        Turn::call("Bash", json!({"command": "touch unseen"})).after(lose),
        Turn::text("I could not."),
    ]);
    let run = Client::guarded(&sandbox, &model).start(". make a file", &["--session-id", &session.id]);
    assert!(!sandbox.project().join("unseen").exists(), "{run:?}");
    says(&run, &["STORAGE_FAILED", "hint: a person can"]);
}

#[test]
fn a_silent_pass_adds_nothing_to_what_the_model_reads() {
    let turns = || {
        let echo = |n: u32| Turn::call("Bash", json!({"command": format!("echo {n}")}));
        [echo(1), echo(2).and("Bash", json!({"command": "exit 3"})), Turn::text("Done so far.")]
    };
    let read = |start: fn(&Sandbox, &Model) -> Run| {
        let (sandbox, model) = (Sandbox::new(), Model::new(turns()));
        let run = start(&sandbox, &model);
        run.ended("Done so far.");
        let last = model.requests().pop().unwrap().body["messages"].to_string();
        let calls = Session::new(&sandbox, run.session_id()).folders().len();
        (calls, sandbox.scrub(&last).replace(run.session_id(), "[session]"))
    };
    let (none, alone) = read(|sandbox, model| {
        // Our agents are there in both worlds, our hooks in one.
        let client = Client::guarded(sandbox, model);
        fs::remove_file(sandbox.config().join("settings.json")).unwrap();
        client.run(". count")
    });
    let (one, watched) = read(|sandbox, model| Client::guarded(sandbox, model).run(". count"));
    assert_eq!((none, one), (0, 1), "the hook was there once");
    // The session is greeted once; nothing else is added.
    let (before, rest) = watched.split_once("SessionStart hook additional context: ").unwrap();
    let (greeting, after) = rest.split_once("# Environment").unwrap();
    assert!(greeting.starts_with("# How work goes here") && greeting.len() < 6_000, "{greeting}");
    assert_eq!(format!("{before}# Environment{after}"), alone);
}
