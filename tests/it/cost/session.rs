//! One session in mode `loop`, in a terminal: five prompts, and for each what was told, refused, owed, and
//! what it cost. (When the session begins, the guide of the mode is told once; `every_task_in_every_mode`
//! measures it.)

use super::agent::{Temperament, answer};
use super::conversation::hear;
use super::count::Cost;
use super::table::in_kb;
use super::tasks::{Task, five_prompts, project};
use crate::client::Client;
use crate::client::terminal::Terminal;
use crate::model::{Model, Request};
use crate::support::{BINARY, NO_TRACKER, Sandbox};

#[test]
fn five_prompts_in_mode_loop() {
    let sandbox = project();
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"loop\"\n"));
    let (tasks, known) = (five_prompts(&sandbox.project()), five_prompts(&sandbox.project()));
    let model = Model::minded(move |request| answer(request, &known, Temperament::Realistic));
    let client = Client::guarded(&sandbox, &model);
    let terminal =
        client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Agent,Edit,Write"]);
    let mut table = vec!["prompt | requests | agents | told (KB) | refused | owed afterwards".to_owned()];
    table.extend(tasks.iter().map(|task| give(&sandbox, &model, &terminal, task)));
    insta::assert_snapshot!(table.join("\n"));
}

/// One prompt, up to the last words of its answer; a row of the table.
fn give(sandbox: &Sandbox, model: &Model, terminal: &Terminal, task: &Task) -> String {
    let before = model.requests();
    if task.is_planned_by_person {
        terminal.press("BTab");
        terminal.wait_for("plan mode", |screen| screen.contains("plan mode on"));
    }
    terminal.type_prompt(task.prompt);
    if task.is_planned_by_person {
        terminal.answer("Would you like to proceed?", "2");
    }
    // The client closes a turn that no hook holds open with a line of its own.
    let is_closed =
        |screen: &str| screen.rsplit_once(task.last_words).is_some_and(|(_, end)| end.contains("· done "));
    terminal.wait_for(task.last_words, is_closed);
    let requests = model.requests();
    let cost = Cost::count(sandbox, &before, &requests, task.prompt);
    let main =
        |requests: &[Request]| requests.iter().rfind(|request| request.agent.is_none()).map_or(vec![], hear);
    let heard = main(&requests).split_off(main(&before).len());
    let told = heard.iter().filter_map(|heard| {
        heard.context().or_else(|| Some(heard.text().to_owned()).filter(|_| heard.is_refusal()))
    });
    let told: usize = told.map(|text| sandbox.scrub(&text).replace(BINARY, "aops-hook").len()).sum();
    let refused = heard.iter().filter(|heard| heard.is_refusal());
    let refused: Vec<String> = refused.map(|heard| first_line(sandbox, heard.text())).collect();
    let status = sandbox.person(&["status", "--json"]).json();
    let owed = status["owed"].as_array().unwrap().len();
    let refused = if refused.is_empty() { "nothing".to_owned() } else { refused.join("; ") };
    format!("{} | {} | {} | {} | {refused} | {owed}", task.name, cost.requests, cost.subagents, in_kb(told))
}

fn first_line(sandbox: &Sandbox, text: &str) -> String {
    let text = text.rsplit_once(" hook error: ").map_or(text, |(_, words)| words);
    let mut lines = text.lines().filter(|line| !line.ends_with(" hook feedback:"));
    let line = lines.next().unwrap_or_default();
    sandbox.scrub(line.rsplit_once("]: ").map_or(line, |(_, words)| words))
}
