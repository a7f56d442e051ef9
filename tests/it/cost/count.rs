//! What a task cost, counted in the requests that the model got.

use super::conversation::{Heard, hear, hear_since};
use crate::model::Request;
use crate::support::{BINARY, Sandbox};
use std::collections::BTreeMap;
use std::fs;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) requests: usize,
    /// Bytes of all requests.
    pub(super) sent: usize,
    pub(super) subagents: usize,
    /// Calls and ends of turns that were refused.
    pub(super) refusals: usize,
    /// Bytes that the main agent was given to read: prompts, results, reports, and what hooks say.
    pub(super) context: usize,
}

impl Cost {
    /// Of one prompt: all requests that followed those `before` it.
    #[expect(
        clippy::print_stdout,
        reason = "shown where the test fails: a figure alone does not tell what was refused"
    )]
    pub(super) fn count(sandbox: &Sandbox, before: &[Request], all: &[Request], prompt: &str) -> Self {
        let requests = &all[before.len()..];
        // The last request of a conversation holds all of it.
        let mut agents: BTreeMap<_, _> = requests.iter().map(|request| (&request.agent, request)).collect();
        let main = agents.remove(&None).unwrap();
        let read =
            |request| hear(request).iter().map(|heard| measure_text(sandbox, heard.text())).sum::<usize>();
        let read_before = before.iter().rfind(|request| request.agent.is_none()).map_or(0, read);
        let say = |heard: &&Heard| {
            println!("refused after `{prompt}`: {}", heard.text());
            if heard.text().contains("has been at work") {
                println!("the agent's steps:\n{}", list_agent_steps(sandbox));
            }
        };
        let refused =
            |heard: Vec<Heard>| heard.iter().filter(|heard| heard.is_refusal()).inspect(say).count();
        Self {
            requests: requests.len(),
            sent: requests.iter().map(|request| measure_text(sandbox, &request.body.to_string())).sum(),
            subagents: agents.len(),
            refusals: refused(hear_since(main, prompt).unwrap())
                + agents.values().map(|request| refused(hear(request))).sum::<usize>(),
            context: read(main) - read_before,
        }
    }
}

/// The entries of all ledgers about the agents that were started: one of them is held for one that still
/// works.
fn list_agent_steps(sandbox: &Sandbox) -> String {
    let folders = fs::read_dir(sandbox.sessions()).unwrap().map(|folder| folder.unwrap().path());
    let ledgers: String =
        folders.filter_map(|folder| fs::read_to_string(folder.join("ledger.jsonl")).ok()).collect();
    let about_agents =
        |line: &&str| ["\"starts\"", "\"Agent\"", "\"Subagent"].iter().any(|word| line.contains(word));
    let steps: Vec<String> =
        ledgers.lines().filter(about_agents).map(|line| format!("{line:.600}")).collect();
    steps.join("\n")
}

/// The length of a text without what is longer on one machine, or in one run, than in another.
fn measure_text(sandbox: &Sandbox, text: &str) -> usize {
    let text = sandbox.scrub(text).replace(BINARY, "aops-hook");
    let varying = ["duration_ms: ", "OS Version: "].map(|name| {
        let values = text.split(name).skip(1);
        values.map(|value| value.find(['\n', '\\', '<']).unwrap_or(value.len())).sum::<usize>()
    });
    text.len() - varying.iter().sum::<usize>()
}
