//! What the client itself does with an administrator's hooks, and with files that a prompt names.

use crate::bundle::administered;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::json;
use std::fs;

/// Whatever switches a person's hooks off leaves those of managed settings, so a call that the house forbids
/// is refused.
#[cfg(target_os = "linux")]
#[test]
fn an_administrators_hooks_fire_whatever_switches_others_off() {
    let off = r#"{"disableAllHooks": true}"#;
    for (arguments, settings) in [
        (&["--bare"][..], None),
        (&["--safe-mode"], None),
        (&["--restricted"], None),
        (&["--setting-sources", "project"], None),
        (&["--settings", off], None),
        (&[], Some(".claude/settings.local.json")),
    ] {
        let sandbox = administered();
        if let Some(path) = settings {
            sandbox.put(path, off);
        }
        let model = Model::new([
            Turn::call("Bash", json!({"command": "deploy now"})),
            Turn::text("Then not."),
            Turn::text("x"),
        ]);
        let run = Client::unguarded(&sandbox, &model).start("deploy it", arguments);
        let results = model.tool_results();
        let refused =
            results.iter().any(|result| result.is_error && result.text.contains("held by the house"));
        // With this one there is no `Bash` that could be refused.
        assert!(refused || arguments == ["--restricted"], "{arguments:?} {settings:?}: {results:?} {run:?}");
        let told = Session::new(&sandbox, run.session_id()).entries();
        let prompted = told.iter().any(|entry| entry.to_string().contains("deploy it"));
        assert!(prompted, "{arguments:?} {settings:?}: {told:?}");
    }
}

/// What a prompt names with `@` is read without a call; the client's own rules are asked all the same.
#[test]
fn a_file_that_a_prompt_names_is_read_unless_a_rule_denies_it() {
    for denied in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.put(".env", "TOKEN=quite-unlikely-word\n");
        sandbox.put("notes.txt", "another-unlikely-word\n");
        let model = Model::new([Turn::text("Seen."), Turn::text("x")]);
        let words: &[&str] = if denied { &["install", "--deny-secrets"] } else { &["install"] };
        sandbox.person(words).said(&["registered"]);
        let _ = Client::unguarded(&sandbox, &model).run("look at @.env and @notes.txt");
        let heard = model.requests()[0].body.to_string();
        assert!(heard.contains("another-unlikely-word"), "{heard}");
        assert_eq!(heard.contains("quite-unlikely-word"), !denied, "{heard}");
        let settings = fs::read_to_string(sandbox.config().join("settings.json")).unwrap();
        assert_eq!(settings.contains("Read(./.env)"), denied);
    }
}
