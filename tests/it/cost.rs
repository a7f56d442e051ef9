//! What the loop costs: the same tasks in the real client with our hooks and without, side by side.
//!
//! `bench/cost` prints the table. The snapshot holds every figure that is the same on all machines.

mod agent;
mod calls;
mod conversation;
mod count;
mod day;
mod interactive;
mod session;
mod table;
mod tasks;

use crate::client::Client;
use crate::model::Model;
use crate::support::NO_TRACKER;
use agent::Temperament::{self, Obedient, Realistic};
use agent::answer;
use count::Cost;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::{fs, thread};
use table::{COUNTS, Row, SENT, list_rows, to_json, to_markdown, to_text};
use tasks::{Prompts, SESSIONS, Task, project};

/// The name of a row in the table, what the user has in `config.toml`, and the agents that behave differently
/// there.
type Configuration = (&'static str, &'static str, &'static [Temperament]);

const CONFIGURATIONS: &[Configuration] = &[
    ("observe", "mode.level = \"observe\"\n", &[Realistic]),
    ("guard", "mode.level = \"guard\"\n", &[Realistic]),
    ("loop", "mode.level = \"loop\"\n", &[Obedient, Realistic]),
    ("strict", "", &[Obedient, Realistic]),
];

/// What there is beside the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setup {
    Plain,
    /// Our agents and commands, which the client lists for the model, and no hooks.
    Listed,
    Hooked(Configuration, Temperament),
}

/// One prompt in one setup.
struct Measured {
    setup: Setup,
    task: &'static str,
    is_first_of_session: bool,
    cost: Cost,
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn every_task_in_every_mode() {
    let rows = list_rows(&measure_all());
    println!("{}\n{}", to_text(&rows, &[&COUNTS[..], &SENT].concat()), to_json(&rows));
    for Row { mode, task, agent, ours, plain, .. } in &rows {
        assert_eq!((plain.subagents, plain.refusals), (0, 0), "{task} without our hooks");
        let (request, before) = (ours.sent / ours.requests, plain.sent / plain.requests);
        assert!(
            request * 100 < before * 115,
            "{mode}, {task}, {agent}: a request has {request} bytes, not {before}"
        );
    }
    insta::assert_snapshot!(to_text(&rows, &COUNTS));
    rows.iter().for_each(hold_target);
    for page in ["README.md", "docs/modes.md"] {
        hold_table(page, &to_markdown(&rows));
    }
}

/// No more than a user puts up with: requests, subagents, refusals, and bytes in the main conversation.
fn hold_target(row: &Row) {
    let most = match (row.mode, row.task, row.agent) {
        ("observe" | "guard", ..) => [0, 0, 0, 0],
        ("loop", "feature", "obedient") => [6, 3, 1, 6_000],
        ("loop", "feature", _) => [9, 3, 1, 6_000],
        ("loop", ..) => [0, 0, 0, 1_200],
        ("strict", "typo", "obedient") => [7, 3, 1, 8_000],
        ("strict", "typo", _) => [9, 3, 1, 8_000],
        _ => return,
    };
    let more = [row.ours.requests - row.plain.requests, row.ours.subagents, row.ours.refusals, row.added()];
    let held = more.iter().zip(most).all(|(more, most)| *more <= most);
    assert!(held, "{}, {}, {}: {more:?}, and the target is {most:?}", row.mode, row.task, row.agent);
}

/// The page shows these figures. With `AOPS_WRITE_COST` set they are written into it.
#[expect(clippy::disallowed_methods, reason = "the one switch of this test: write instead of compare")]
fn hold_table(page: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- cost:begin -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- cost:end -->").unwrap();
    if std::env::var_os("AOPS_WRITE_COST").is_some() {
        fs::write(&path, format!("{before}<!-- cost:begin -->\n{table}<!-- cost:end -->{after}")).unwrap();
    } else {
        assert_eq!(shown, table, "{page} shows old figures; AOPS_WRITE_COST=1 writes the new ones");
    }
}

/// Two sessions at a time, those with the longest tasks first.
fn measure_all() -> Vec<Measured> {
    let mut sessions: Vec<(Setup, Prompts)> = vec![(Setup::Listed, SESSIONS[0])];
    for prompts in SESSIONS {
        sessions.push((Setup::Plain, prompts));
        for &config in CONFIGURATIONS {
            sessions
                .extend(config.2.iter().map(|&temperament| (Setup::Hooked(config, temperament), prompts)));
        }
    }
    let (left, measured) = (Mutex::new(sessions), Mutex::new(BTreeMap::new()));
    let take = || {
        let mut left = left.lock().unwrap();
        left.pop().map(|session| (left.len(), session))
    };
    let work = || {
        while let Some((place, (setup, prompts))) = take() {
            let costs = measure(setup, prompts);
            measured.lock().unwrap().insert(place, costs);
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    measured.into_inner().unwrap().into_values().flatten().collect()
}

/// A session with these prompts, one after another.
fn measure(setup: Setup, prompts: Prompts) -> Vec<Measured> {
    let sandbox = project();
    let (config, temperament) = match setup {
        Setup::Plain | Setup::Listed => ("", Realistic),
        Setup::Hooked((_, config, _), temperament) => (config, temperament),
    };
    sandbox.configure(&format!("{NO_TRACKER}{config}"));
    let (tasks, known) = (prompts(&sandbox.project()), prompts(&sandbox.project()));
    let model = Model::minded(move |request| answer(request, &known, temperament));
    let client = if setup == Setup::Plain {
        Client::unguarded(&sandbox, &model)
    } else {
        Client::guarded(&sandbox, &model)
    };
    if setup == Setup::Listed {
        fs::remove_file(sandbox.config().join("settings.json")).unwrap();
    }
    let mut session: Option<String> = None;
    let measure_task = |task: &Task| {
        let before = model.requests();
        let run = match &session {
            None => client.run(task.prompt),
            Some(id) => client.resume(id, task.prompt),
        };
        run.ended(task.last_words);
        let is_first_of_session = session.replace(run.session_id().to_owned()).is_none();
        let cost = Cost::count(&sandbox, &before, &model.requests(), task.prompt);
        Measured { setup, task: task.name, is_first_of_session, cost }
    };
    tasks.iter().map(measure_task).collect()
}
