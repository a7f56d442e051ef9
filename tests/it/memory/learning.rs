//! What a reflection teaches is stored: in the memory server, or as a note.

use super::server::{Habit, Server};
use crate::support::{Sandbox, Session, fenced};
use serde_json::{Value, json};
use std::fs;

/// A planned task of this kind that was worked on and verified.
fn verified<'a>(sandbox: &'a Sandbox, workflow: &str, kind: Option<&str>) -> Session<'a> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("feed the wombat");
    let mut block = json!({"workflow": workflow, "intent": "feed the wombat", "task": "new",
        "acceptance_criteria": ["it is fed"], "steps": ["feed it"]});
    block["kind"] = json!(kind);
    session.agent_reports("prompt-hydrator", &fenced(block)).1.silent();
    session.write("bowl.txt").silent();
    session.qa("VERIFIED").silent();
    session
}

fn reflection(done: &str, change: &str) -> Value {
    json!({"reflection": {"request": "feed the wombat", "guidance_received": "g", "followed": "Yes", "outcome": "success",
        "accomplishment": done, "root_cause": "nobody knew when", "proposed_change": change}})
}

fn remembering() -> (Sandbox, Server) {
    let (sandbox, server) = (Sandbox::repository("0.0"), Server::start(Habit::Json).remembering());
    sandbox.configure(&format!("[audit]\nrate = 0.0\n[memory]\nserver = \"{}\"\n", server.url()));
    (sandbox, server)
}

#[test]
fn a_reflection_that_counts_is_stored_once() {
    let (sandbox, server) = remembering();
    let session = verified(&sandbox, "minor-edit", None);
    session.write("bowl.txt").silent();
    session.agent("framework", reflection("a", "too early to count")).silent();
    session.qa("VERIFIED").silent();
    session.agent("framework", reflection("it is fed", "none")).silent();
    assert_eq!(server.stored(), [""; 0], "it was not verified, or teaches nothing");
    for _ in 0..2 {
        session.agent("framework", reflection("it is fed", "docs/wombat.md: say when")).silent();
    }
    let learnt = "In `project`: it is fed\nLearnt: docs/wombat.md: say when\nCause: nobody knew when";
    assert_eq!(server.stored(), [learnt]);
    let next = sandbox.session();
    let _ = next.start("startup");
    let _ = next.prompt("when is the wombat fed?");
    next.begin_agent("a1", "prompt-hydrator").said(&["Learnt: docs/wombat.md: say when"]);
}

#[test]
fn without_a_server_it_is_a_note_that_the_next_session_finds() {
    for server in ["", "[memory]\nserver = \"http://127.0.0.1:9/mcp\"\n"] {
        let sandbox = Sandbox::repository("0.0");
        sandbox.configure(&format!("[audit]\nrate = 0.0\n{server}"));
        let session = verified(&sandbox, "minor-edit", None);
        session.agent("framework", reflection("it is fed", "docs/wombat.md: say when")).silent();
        let notes: Vec<_> = fs::read_dir(sandbox.data().join("learnings")).unwrap().flatten().collect();
        let [note] = &notes[..] else { panic!("{notes:?}") };
        let text = fs::read_to_string(note.path()).unwrap();
        assert!(text.starts_with("---\ntitle: \"learning: docs/wombat.md: say when\"\ndate: "), "{text}");
        assert!(text.ends_with("tags: [aops, learning]\n---\n\nIn `project`: it is fed\nLearnt: docs/wombat.md: say when\nCause: nobody knew when\n"), "{text}");
        let next = sandbox.session();
        let _ = next.start("startup");
        let _ = next.prompt("when is the wombat fed?");
        next.begin_agent("a1", "prompt-hydrator").said(&["Learnt: docs/wombat.md: say when"]);
    }
}

#[test]
fn after_architecture_domain_and_refactoring_work_the_memory_is_updated() {
    for (workflow, kind, keeps) in [
        ("minor-edit", Some("architecture"), true),
        ("minor-edit", Some("domain"), true),
        ("minor-edit", Some("refactor"), true),
        ("minor-edit", Some("cooking"), false),
        ("minor-edit", None, false),
        ("context-bootstrap", None, true),
    ] {
        let (sandbox, server) = remembering();
        let session = verified(&sandbox, workflow, kind);
        session.agent("framework", reflection("wombats eat at dusk", "none")).silent();
        let kept = if keeps { vec!["In `project`: wombats eat at dusk"] } else { vec![] };
        assert_eq!(server.stored(), kept, "{workflow} {kind:?}");
    }
}

/// In mode `loop` no agent reflects on work that went smoothly; what was done is remembered all the same.
#[test]
fn work_that_went_smoothly_is_remembered_from_the_ledger() {
    let (sandbox, server) = remembering();
    sandbox.configure(&format!(
        "[mode]\nlevel = \"loop\"\n[audit]\nrate = 0.0\n[memory]\nserver = \"{}\"\n",
        server.url()
    ));
    let session = verified(&sandbox, "minor-edit", Some("domain"));
    session.bash("git add -A && git commit -q -m fed");
    assert_eq!(server.stored(), [""; 0]);
    session.stop("Done.").silent();
    assert_eq!(server.stored(), ["In `project`: feed the wombat (1 file, 1 line; verified)"]);
}

/// Intent to generate context: no review, its own steps, verified and remembered.
#[test]
fn context_is_bootstrapped_on_a_path_of_its_own() {
    let (sandbox, _server) = remembering();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("write an AGENTS.md for this repository");
    let context = session.hydrate("context-bootstrap", "new");
    assert!(context.contains("(AGENTS.md, CORE.md, notes)? → `context-bootstrap`"), "{context}");
    session.write("AGENTS.md").silent();
    let stop = session.stop("Done.");
    stop.refused(&["1. `qa-verifier`", "2. `framework`", "3. `commit`", "4. `push`"]);
}
