//! `insights --analyse`: a model's words, held to the schema.

use super::{insights, insights_file, whole_loop};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A model in a shell script: keeps what it was asked, answers with this.
fn model(sandbox: &Sandbox, answer: &str) {
    let program = sandbox.tmp().join("model");
    fs::write(sandbox.tmp().join("answer"), answer).unwrap();
    let script = format!(
        "#!/bin/sh\ncat > {0}/asked\nwc -l < /dev/null > {0}/folder; ls -A | wc -l >> {0}/folder\ncat {0}/answer\n",
        sandbox.tmp().display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!("[insights]\ncommand = \"{} --flag\"\n", program.display());
    sandbox.configure(&text);
}

fn good() -> Value {
    json!({"learning_observations": [{"category": "tests", "evidence": "none", "lesson": "write them"}],
        "skill_compliance": {"suggested": [], "used": []}, "context_gaps": ["the style"], "user_mood": 0.5,
        "conversation_flow": ["asked", "answered"]})
}

#[test]
fn only_the_rich_fields_change() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("my password is hunter2hunter2: ghp_0123456789abcdefghijABCDEFGHIJ012345");
    session.stop("Hello.").silent();
    let before = insights(&sandbox, &session);
    model(&sandbox, &format!("Here it is:\n```json\n{}\n```\n", good()));
    let said = sandbox.person(&["insights", "--analyse", "--json"]).json();
    let after = insights(&sandbox, &session);
    for (name, value) in good().as_object().unwrap() {
        assert_eq!((&after[name], &said[name]), (value, value), "{name}");
    }
    for name in ["outcome", "user_prompts", "gates", "tokens", "summary"] {
        assert_eq!(after[name], before[name], "{name}");
    }
    let asked = fs::read_to_string(sandbox.tmp().join("asked")).unwrap();
    assert!(asked.starts_with(". You read") && asked.contains("learning_observations"), "{asked}");
    assert!(!asked.contains("ghp_0123456789"), "a secret went out: {asked}");
    // Later turns do not lose it.
    session.stop("Bye.").silent();
    assert_eq!(insights(&sandbox, &session)["context_gaps"], json!(["the style"]));
}

#[test]
fn a_bad_answer_changes_nothing() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    session.stop("Hello.").silent();
    let file = insights_file(&sandbox, &session);
    let before = fs::read(&file).unwrap();
    let mut wrong = good();
    wrong["user_mood"] = json!(7);
    let mut more = good();
    more["outcome"] = json!("success");
    for (answer, why) in [
        ("I would rather not.".to_owned(), "no JSON object"),
        ("{\"a\": }".to_owned(), "is not JSON"),
        ("{}".to_owned(), "`learning_observations` is missing"),
        (wrong.to_string(), "`user_mood` must be a number from -1 to 1"),
        (more.to_string(), "`outcome` is not one of"),
    ] {
        model(&sandbox, &answer);
        let said = sandbox.person(&["insights", "--analyse"]);
        said.failed(1, &["was refused", why, "the old insights stay"]);
        assert_eq!(fs::read(&file).unwrap(), before, "{answer}");
    }
    sandbox.configure("[insights]\ncommand = \"no-such-model -p\"\n");
    sandbox.person(&["insights", "--analyse"]).failed(1, &["`no-such-model` was not found"]);
}

/// What `/session-insights` does: whoever read the conversation fills in what the ledger cannot say.
#[test]
fn the_fields_of_an_analysis_are_filled_in_by_who_read_the_session() {
    let sandbox = Sandbox::new();
    let session = whole_loop(&sandbox);
    session.stop("Done.").silent();
    let before = insights(&sandbox, &session);
    let fields = json!({"learning_observations": [{"category": "c", "evidence": "e", "lesson": "read first"}],
        "skill_compliance": null, "context_gaps": ["the style"], "user_mood": 0.5, "conversation_flow": ["asked"]});
    let fill = |words: &str| sandbox.person(&["insights", &session.id, "--fill", words]);
    for (words, why) in [
        ("{}", "`learning_observations` is missing"),
        ("nothing", "no JSON object"),
        (r#"{"outcome": "success"}"#, "`outcome` is not one of the fields"),
    ] {
        fill(words).failed(2, &[why, "hint:"]);
    }
    sandbox
        .person(&["insights", "batch", "--fill", &fields.to_string()])
        .failed(2, &["one session", "hint:"]);
    assert_eq!(insights(&sandbox, &session), before, "a refused one changes nothing");
    fill(&fields.to_string()).said(&["read first", "the style"]);
    let after = insights(&sandbox, &session);
    for (name, value) in before.as_object().unwrap() {
        let wanted = fields.get(name).unwrap_or(value);
        assert_eq!(&after[name], wanted, "{name}");
    }
    assert_eq!(session.state()["insights"]["context_gaps"], json!(["the style"]));
    // An agent in the session may do it, before there is a plan too.
    let line = format!("aops-hook insights current --fill '{fields}'");
    let other = sandbox.session();
    let _ = other.start("startup");
    let _ = other.prompt("how did it go?");
    other.ask_bash(&line).silent();
}
