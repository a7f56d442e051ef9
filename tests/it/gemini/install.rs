//! `install --client gemini` and `--client qwen`, and back.

use super::conform::shell;
use super::{Kind, results, session};
use crate::bundle::administered;
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::Value;
use std::fs;

/// Both take comments in their settings: none is lost, and all is as it was afterwards.
#[test]
fn comments_stay_and_come_back() {
    for kind in [Kind::Gemini, Kind::Qwen] {
        let sandbox = Sandbox::new();
        let settings = kind.home(&sandbox).join("settings.json");
        fs::create_dir_all(kind.home(&sandbox)).unwrap();
        let own = "// mine\n{\n  /* as at home */\n  \"theme\": \"dark\" // really\n}\n";
        fs::write(&settings, own).unwrap();
        sandbox.person(&["install", "--client", kind.name()]).said(&["registered for"]);
        let with = fs::read_to_string(&settings).unwrap();
        assert!(
            with.starts_with("// mine\n{\n  /* as at home */\n  \"theme\": \"dark\", // really\n"),
            "{with}"
        );
        sandbox.person(&["install", "--client", kind.name()]).said(&["already registered"]);
        let rows: Value = sandbox.person(&["doctor", "--json"]).json_of_any_exit();
        let row = rows.as_array().unwrap().iter().find(|row| row["check"] == kind.name()).unwrap();
        assert_eq!(row["ok"], true, "{row}");
        sandbox.person(&["uninstall", "--client", kind.name(), "--yes"]).said(&["removed"]);
        assert_eq!(fs::read_to_string(&settings).unwrap(), own);
    }
}

/// Registered by an administrator's bundle alone.
#[test]
fn gemini_obeys_an_administrator() {
    let sandbox = administered();
    let kind = Kind::Gemini;
    fs::create_dir_all(kind.home(&sandbox)).unwrap();
    fs::write(kind.home(&sandbox).join("settings.json"), kind.settings().to_string()).unwrap();
    let model = Model::new([shell("deploy now"), shell("echo 42"), Turn::text("Then not.")]);
    let run = kind.run(&sandbox, &model, "deploy it");
    let results = results(&model);
    assert!(results[0].contains("held by the house") && results[1].contains("42"), "{results:?} {run:?}");
}

/// Where a person registered us too, each call is still one.
#[test]
fn an_administrators_and_a_persons_hooks_are_one() {
    let sandbox = administered();
    let kind = Kind::Gemini;
    let model = Model::new([shell("deploy now"), shell("echo one"), Turn::text("Then not.")]);
    let run = kind.run(&sandbox, &model, "deploy it");
    session(&sandbox, &run).had(1, 2);
}

/// A person who turns the administrator's file away with a variable still has their own hooks: those must not
/// stand aside.
#[test]
fn a_file_that_is_not_read_excuses_no_hook() {
    let sandbox = administered();
    let elsewhere = sandbox.tmp().join("none.json");
    let sandbox = sandbox.with("GEMINI_CLI_SYSTEM_SETTINGS_PATH", elsewhere);
    let model = Model::new([shell("deploy now"), shell("echo one"), Turn::text("Then not.")]);
    let run = Kind::Gemini.run(&sandbox, &model, "deploy it");
    session(&sandbox, &run).had(1, 2);
}
