//! The client as a run starts it: the program, its settings and agents, its arguments, and the stream it prints.
//!
//! Reads texts in force and the stream's file; writes two files below the run's folder. Invariants: every start has our
//! hooks, installed or not; our agents have our prefix, so that a project's file cannot replace them.

mod stream;

pub use stream::{ClientResult, Stream, micros, usd};

use crate::claude::settings;
use crate::config::policy::Policy;
use crate::config::texts::{Kind, Texts};
use crate::model::agent::ours;
use crate::run::plan::{PlannedStep, StepAction};
use crate::session::state::Sandbox;
use crate::system::env::Env;
use crate::system::files;
use crate::text::yaml::{self, Value as Yaml};
use serde_json::{Map, Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// The tools of a step that names none.
const USUAL: [&str; 8] = ["Bash", "Edit", "Write", "Read", "Grep", "Glob", "NotebookEdit", "WebFetch"];

/// The program: `$AOPS_CLAUDE`, the configured one, or `claude` on `PATH`.
pub fn find(env: &Env, policy: &Policy) -> Result<PathBuf, String> {
    let named = env.claude().map(PathBuf::from).or_else(|| policy.run.claude.as_ref().map(PathBuf::from));
    let named = named.unwrap_or_else(|| PathBuf::from("claude"));
    let found = if named.components().count() > 1 {
        Some(env.from_here(&named)).filter(|path| path.is_file())
    } else {
        env.on_path(&named.to_string_lossy())
    };
    found.ok_or_else(|| {
        format!(
            "there is no client `{}`\nhint: install Claude Code, or name the program in AOPS_CLAUDE or under `[run] claude`",
            named.display()
        )
    })
}

/// Settings and agents of a run, in its folder.
#[derive(Clone, Debug)]
pub struct Kit {
    settings: PathBuf,
    agents: PathBuf,
}

impl Kit {
    pub fn write(env: &Env, texts: &Texts, folder: &Path) -> io::Result<Self> {
        let program = env.program()?;
        let text = settings::register("{}", &program.to_string_lossy()).map_err(|e| io::Error::other(e.to_string()))?;
        let kit = Self { settings: folder.join("settings.json"), agents: folder.join("agents.json") };
        files::find(&kit.settings)?.replace(text.as_bytes(), 0o600)?;
        files::find(&kit.agents)?.replace(agents(texts).to_string().as_bytes(), 0o600)?;
        Ok(kit)
    }

    /// The arguments of one start. Without a prompt the session continues with its deferred call.
    pub fn arguments(&self, step: &PlannedStep, session: &str, known: bool, prompt: Option<&str>) -> Vec<String> {
        let StepAction::Client { tools, .. } = &step.does else { return Vec::new() };
        let mut arguments: Vec<String> = vec!["-p".to_owned()];
        arguments.extend(prompt.map(str::to_owned));
        let mut add = |name: &str, value: &str| arguments.extend([name.to_owned(), value.to_owned()]);
        add(if known { "--resume" } else { "--session-id" }, session);
        add("--output-format", "stream-json");
        add("--settings", &self.settings.to_string_lossy());
        add("--agents", &self.agents.to_string_lossy());
        add("--permission-mode", if step.sandbox == Sandbox::Open { "acceptEdits" } else { "default" });
        let usual = || USUAL.map(str::to_owned).to_vec();
        let mut allowed = tools.clone().unwrap_or_else(usual);
        // Audits and verdicts need agents, whatever tools the step names.
        allowed.push("Agent".to_owned());
        add("--allowedTools", &allowed.join(","));
        if tools.is_some() {
            add("--tools", &allowed.join(","));
        }
        if let Some(agent) = step.foreign_agent() {
            add("--agent", agent);
        }
        arguments.push("--verbose".to_owned());
        arguments
    }
}

/// Every agent in force, in the client's form.
fn agents(texts: &Texts) -> Value {
    let mut all = Map::new();
    for text in texts.of(Kind::Agent) {
        let name = if ours(&text.id).is_some() { format!("aops:{}", text.id) } else { text.id.clone() };
        all.insert(name, agent(&text.id, &text.text));
    }
    Value::Object(all)
}

fn agent(id: &str, text: &str) -> Value {
    let parts = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let (front, body) = parts.unwrap_or(("", text));
    let mut form = json!({"description": id, "prompt": body.trim()});
    let Ok(yaml::Node { value: Yaml::Map(pairs), .. }) = yaml::parse(front, 1) else { return form };
    for (key, node) in pairs {
        match (key.name.as_str(), node.value) {
            ("description" | "model", Yaml::Text(value)) => form[key.name] = json!(value),
            ("tools", Yaml::Text(list)) => {
                form["tools"] = list.split(',').map(|tool| json!(tool.trim())).collect();
            }
            _ => {}
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_file_becomes_what_the_client_takes() {
        let form =
            agent("critic", "---\nname: critic\ndescription: looks\nmodel: opus\ntools: Read, Grep\n---\n\n# Critic\n");
        assert_eq!(
            form,
            json!({"description": "looks", "model": "opus", "prompt": "# Critic", "tools": ["Read", "Grep"]})
        );
    }

    #[test]
    fn a_step_without_a_prompt_goes_on() {
        let step = PlannedStep {
            id: "a".to_owned(),
            name: "A".to_owned(),
            description: "d".to_owned(),
            inner: None,
            does: StepAction::Client { agent: None, tools: Some(vec!["Read".to_owned()]) },
            phase: crate::model::phase::Phase::Review,
            sandbox: Sandbox::Shut,
            closes: false,
            verifies: false,
        };
        let kit = Kit { settings: PathBuf::from("/s"), agents: PathBuf::from("/a") };
        let said = kit.arguments(&step, "id", true, None).join(" ");
        assert_eq!(
            said,
            "-p --resume id --output-format stream-json --settings /s --agents /a --permission-mode default --allowedTools Read,Agent --tools Read,Agent --verbose"
        );
        assert!(kit.arguments(&step, "id", false, Some("do it")).join(" ").starts_with("-p do it --session-id id "));
    }
}
