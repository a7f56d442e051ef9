//! From a prompt to a task in the real client: context file, instruction, the hydrator's own request, the
//! state.

use super::added::main_requests;
use super::agents::{plan, start};
use super::checks::says;
use super::whole_loop::write;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::json;
use std::fs;

#[test]
fn a_prompt_becomes_a_task() {
    let sandbox = Sandbox::repository("0.0");
    fs::write(sandbox.data().join("greetings.md"), "# Greetings\nA zebra greeting is two lines long.\n")
        .unwrap();
    let model = Model::new([start("prompt-hydrator"), Turn::text("Planned.")])
        .reporting("prompt-hydrator", &plan("minor-edit"));
    let prompt = "make the zebra greeting in hello.txt";
    let run = Client::guarded(&sandbox, &model).run(prompt);
    run.ended("Planned.");

    let session = Session::new(&sandbox, run.session_id());
    let heard = main_requests(&model)[0].said_by("system").join("\n");
    let (_, instruction) = heard.split_once("UserPromptSubmit hook additional context: ").unwrap();
    let instruction = instruction.split("\n\n").next().unwrap();
    assert!(instruction.contains("`prompt-hydrator`") && instruction.chars().count() < 600, "{instruction}");
    let file = instruction.split(&[' ', ')']).find(|word| word.contains("/context/hydration-")).unwrap();
    assert!(std::path::Path::new(file).starts_with(session.folder().join("context")), "{file}");
    let written = fs::read_to_string(file).unwrap();
    assert!(written.len() < 12_000, "{} bytes", written.len());

    let hydrator = model.requests().into_iter().find(|request| request.agent.is_some()).unwrap();
    let read = hydrator.pieces().join("\n");
    for words in [
        "# Context for the prompt hydrator",
        "> make the zebra greeting in hello.txt",
        "A zebra greeting is two lines long.",
        "Tracker: ",
        "`feature-dev`",
        "**Never weaken a test.**",
    ] {
        assert!(written.contains(words), "no `{words}` in the file: {written}");
        assert!(read.contains(words), "no `{words}` in what the hydrator reads: {read}");
    }

    let state = session.state();
    assert_eq!(state["state"]["current_workflow"], "minor-edit");
    assert_eq!(state["state"]["hydration_pending"], false);
    assert_eq!(state["hydration"]["original_prompt"], prompt);
    assert_eq!(state["hydration"]["hydrated_intent"], "hello.txt greets the reader");
    assert_eq!((&state["phase"], &state["sandbox"]), (&json!("execute"), &json!("open")), "{state:#}");
}

#[test]
fn a_projects_own_workflows_are_used() {
    let sandbox = Sandbox::repository("0.0");
    let shipped = include_str!("../../../workflows/minor-edit.md");
    let stricter = shipped.replace("gates: [qa]", "gates: [critic, qa]");
    sandbox.put(".aops/workflows/minor-edit.md", &stricter);
    let own =
        shipped.replace("id: minor-edit", "id: house-style").replace("gates: [qa]", "gates: [critic, qa]");
    sandbox
        .put(".aops/workflows/house-style.md", &own.replace("title: Minor edit", "title: Our house style"));
    let model = Model::new([
        start("prompt-hydrator"),
        write(&sandbox, "hello\n"),
        start("prompt-hydrator"),
        write(&sandbox, "hello\n"),
        Turn::text("Waiting."),
    ])
    .reporting("prompt-hydrator", &plan("minor-edit"))
    .reporting("prompt-hydrator", &plan("house-style"));
    let run = Client::guarded(&sandbox, &model).run("make hello.txt");
    run.ended("Waiting.");

    let hydrator = model.requests().into_iter().find(|request| request.agent.is_some()).unwrap();
    let read = hydrator.pieces().join("\n");
    assert!(read.contains("- `house-style`: Our house style"), "{read}");
    let refused: Vec<_> = model.tool_results().into_iter().filter(|result| result.is_error).collect();
    let wants = |workflow: &str| format!("workflow `{workflow}` wants its plan reviewed first");
    assert_eq!(refused.len(), 2, "{refused:?}");
    for (result, workflow) in refused.iter().zip(["minor-edit", "house-style"]) {
        assert!(result.text.contains(&wants(workflow)), "{result:?}");
    }
    assert_eq!(Session::new(&sandbox, run.session_id()).state()["state"]["current_workflow"], "house-style");
}

#[test]
fn a_broken_configuration_refuses_in_words_the_user_sees() {
    let sandbox = Sandbox::repository("0.0");
    let file = sandbox.put(".aops/config.toml", "# ours\n[gates]\nsandbox = \"sometimes\"\n");
    let model = Model::new([Turn::text("Nobody should hear this.")]);
    let client = Client::guarded(&sandbox, &model);
    for prompt in ["make hello.txt", ". make hello.txt"] {
        let run = client.run(prompt);
        assert_eq!(model.requests().len(), 0, "{run:?}");
        says(&run, &[&format!("{}:3:", file.display()), "sandbox", "sometimes", "hint:"]);
    }
    // Mended, it goes on.
    fs::write(&file, "[gates]\nsandbox = \"enforce\"\n").unwrap();
    client.run("hello").ended("Nobody should hear this.");
}

/// Whoever brings it, the client or we: the model reads it once.
#[test]
fn agents_md_is_read_once_whoever_brings_it() {
    for (name, words) in [("other.md", "x"), ("CLAUDE.md", "Be kind.\n"), ("CLAUDE.md", "@AGENTS.md\n")] {
        let sandbox = Sandbox::repository("0.0");
        sandbox.put("AGENTS.md", "Greet in lower case.\n");
        sandbox.put(name, words);
        let model = Model::new([Turn::text("It does.")]);
        Client::guarded(&sandbox, &model).run("does it greet?").ended("It does.");
        let read = model
            .requests()
            .into_iter()
            .rfind(|request| request.agent.is_none())
            .unwrap()
            .pieces()
            .join("\n");
        assert_eq!(read.matches("Greet in lower case.").count(), 1, "{name} with {words}: {read}");
    }
}
