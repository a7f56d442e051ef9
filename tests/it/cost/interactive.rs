//! The same tasks in a terminal, where every agent works in the background, and in the client's auto mode,
//! where it also hands its report back with a tool.

use super::agent::{Temperament, answer};
use super::count::Cost;
use super::tasks::{Prompts, Task, feature, project, typo_and_follow_up};
use crate::client::Client;
use crate::model::Model;
use crate::support::NO_TRACKER;
use std::collections::BTreeMap;
use std::fs;

/// What the person lets the client do unasked.
const EDITS: &[&str] = &["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Agent,Edit,Write"];
const AUTO: &[&str] = &["--permission-mode", "auto"];

/// The tasks in order, and the mode; without one there are no hooks.
fn measure(
    prompts: Prompts,
    mode: Option<&str>,
    temperament: Temperament,
    allowed: &[&str],
) -> BTreeMap<&'static str, Cost> {
    let config = format!("{NO_TRACKER}mode.level = \"{}\"\n", mode.unwrap_or("observe"));
    measure_with(prompts, Some(&config).filter(|_| mode.is_some()), temperament, allowed)
}

/// The same with this configuration.
fn measure_with(
    prompts: Prompts,
    config: Option<&String>,
    temperament: Temperament,
    allowed: &[&str],
) -> BTreeMap<&'static str, Cost> {
    let sandbox = project();
    sandbox.configure(config.map_or(NO_TRACKER, String::as_str));
    let (tasks, known) = (prompts(&sandbox.project()), prompts(&sandbox.project()));
    let model = Model::minded(move |request| answer(request, &known, temperament));
    let client = if config.is_none() {
        Client::unguarded(&sandbox, &model)
    } else {
        Client::guarded(&sandbox, &model)
    };
    let terminal = client.sit_down(allowed);
    let give = |task: &Task| {
        let before = model.requests();
        terminal.type_prompt(task.prompt);
        let is_closed = |screen: &str| {
            let end = screen.rsplit_once(task.last_words).map(|(_, end)| end).unwrap_or_default();
            let is_idle = end.contains("· done ") || end.contains(" finished · ");
            is_idle && !end.contains("Stop hook error")
        };
        terminal.wait_for(task.last_words, is_closed);
        (task.name, Cost::count(&sandbox, &before, &model.requests(), task.prompt))
    };
    let costs: BTreeMap<_, _> = tasks.iter().map(give).collect();
    let folders = fs::read_dir(sandbox.sessions()).into_iter().flatten().flatten();
    let ledgers = folders.filter_map(|folder| fs::read_to_string(folder.path().join("ledger.jsonl")).ok());
    let in_background = ledgers.into_iter().any(|ledger| ledger.contains("\"launched\":true"));
    assert_eq!(
        in_background,
        costs.values().any(|cost| cost.subagents > 0),
        "agents work in the background here"
    );
    costs
}

/// A mode, its tasks, and the most requests that each may take more than in a plain client.
type Target = (&'static str, Prompts, &'static [(&'static str, usize)]);

const TARGETS: [Target; 8] = [
    ("observe", typo_and_follow_up, &[("typo", 0), ("follow-up", 0)]),
    ("guard", typo_and_follow_up, &[("typo", 0), ("follow-up", 0)]),
    ("loop", typo_and_follow_up, &[("typo", 0), ("follow-up", 0)]),
    ("strict", typo_and_follow_up, &[("typo", 9)]),
    ("observe", feature, &[("feature", 0)]),
    ("guard", feature, &[("feature", 0)]),
    ("loop", feature, &[("feature", 8)]),
    ("strict", feature, &[("feature", 12)]),
];

/// How many requests more than a plain client the loop takes; `tests/long-run` measures every mode.
#[test]
fn what_the_loop_costs_in_a_terminal() {
    insta::assert_snapshot!(more_than_plain(EDITS, |mode| mode == "loop"));
}

/// In the client's default, which asks a model instead of a person, the targets are the same.
#[test]
fn what_the_loop_costs_in_auto_mode() {
    insta::assert_snapshot!(more_than_plain(AUTO, |mode| mode == "loop"));
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn what_every_mode_costs_in_a_terminal() {
    let table = more_than_plain(EDITS, |_| true);
    println!("{table}\n"); // `bench/cost` shows it
    insta::assert_snapshot!(table);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn what_every_mode_costs_in_auto_mode() {
    insta::assert_snapshot!(more_than_plain(AUTO, |_| true));
}

/// One audit, drawn at the fourth change.
#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn what_an_audit_costs() {
    let mut table = vec!["audit in mode | agent | more requests | agents".to_owned()];
    for mode in ["loop", "strict"] {
        for temperament in [Temperament::Obedient, Temperament::Realistic] {
            let cost = |audit: &str| {
                let config = format!("tracker.command = \"none\"\n{audit}mode.level = \"{mode}\"\n");
                measure_with(feature, Some(&config), temperament, EDITS)["feature"]
            };
            let without = cost("audit.rate = 0\n");
            let with = cost("audit.rate = 0.000001\naudit.at_least_every = 4\n");
            let agents = with.subagents - without.subagents;
            let more = with.requests - without.requests;
            table.push(format!("{mode} | {} | {more} | {agents}", temperament.name()));
            assert!(agents == 1 && more <= 4, "{table:#?}");
        }
    }
    println!("{}\n", table.join("\n")); // `bench/cost` shows it
}

/// The table, once every target in it is held.
fn more_than_plain(allowed: &[&str], wanted: impl Fn(&str) -> bool) -> String {
    let mut held = true;
    let mut table = vec!["mode | task | agent | more requests | agents".to_owned()];
    let plain = [typo_and_follow_up as Prompts, feature]
        .map(|prompts| measure(prompts, None, Temperament::Realistic, allowed));
    for (mode, prompts, most) in TARGETS.into_iter().filter(|(mode, ..)| wanted(mode)) {
        // Where nothing is asked of it, an obedient agent does what any does.
        let is_free = matches!(mode, "observe" | "guard");
        for temperament in
            [Temperament::Obedient, Temperament::Realistic].into_iter().skip(usize::from(is_free))
        {
            let ours = measure(prompts, Some(mode), temperament, allowed);
            for (task, most) in most {
                let before = plain.iter().find_map(|costs| costs.get(task)).unwrap();
                let more = ours[task].requests - before.requests;
                table.push(format!(
                    "{mode} | {task} | {} | {more} | {}",
                    temperament.name(),
                    ours[task].subagents
                ));
                held &= more <= *most;
            }
        }
    }
    let table = table.join("\n");
    assert!(held, "a target is missed:\n{table}");
    table
}
