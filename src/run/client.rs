//! The client as a run starts it: the program, its settings and agents, its arguments, and the stream it
//! prints.
//!
//! Reads texts in force and the stream's file; writes two files below the run's folder. Invariants: every
//! start of Claude Code has our hooks, installed or not, and our agents have our prefix, so that a project's
//! file cannot replace them; Codex is started only if our hooks are registered and trusted.

pub mod codex;

pub use aops_core::insight::document::{micros, usd};

use crate::run::plan::{PlannedStep, StepAction};
use aops_core::config::policy::Policy;
use aops_core::config::policy::jail::JailLevel;
use aops_core::config::texts::{Kind, Texts};
use aops_core::host;
use aops_core::host::claude::settings::{self, prefix};
use aops_core::model::agent::ours;
use aops_core::model::client::Client;
use aops_core::model::phase::Sandbox;
use aops_core::system::env::{Env, names_us};
use aops_core::system::files;
use aops_core::text::json::{self, Json};
use aops_core::text::yaml::{self, Value as Yaml};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The tools of a step that names none.
const USUAL: [&str; 8] = ["Bash", "Edit", "Write", "Read", "Grep", "Glob", "NotebookEdit", "WebFetch"];

/// The clients that a run can drive.
pub const DRIVEN: [Client; 2] = [Client::Claude, Client::Codex];

/// The program: `$AOPS_CLAUDE`, the configured one, the one that `install` recorded, or `claude` on `PATH`;
/// likewise `$AOPS_CODEX` and `codex`. `PATH` is used only if nothing is recorded, since a step could plant a
/// program there.
pub fn find(env: &Env, policy: &Policy) -> Result<PathBuf, String> {
    let client = env.host;
    let has_agent = |(name, _): &(String, String)| env.folder_of(client).join(name).exists();
    let is_ready = || host::is_hooked(env, client) && host::agents::files(client).iter().all(has_agent);
    if client.is_registered_by_name() && !is_ready() {
        let title = host::table::host(client).title;
        let name = client.name();
        return Err(format!(
            "our hooks and agents are not in {title}\nhint: `aops-hook install --client {name}`"
        ));
    }
    let configured =
        policy.run.claude.as_ref().filter(|_| !client.is_registered_by_name()).map(PathBuf::from);
    let named = env.client_program(client).map(PathBuf::from).or(configured);
    let named = named.or_else(|| host::recorded::program(env, client));
    let named = named.unwrap_or_else(|| PathBuf::from(client.name()));
    let found = if named.components().count() > 1 {
        Some(env.from_here(&named)).filter(|path| path.is_file())
    } else {
        env.on_path(&named.to_string_lossy())
    };
    found.ok_or_else(|| {
        format!(
            "there is no client `{}`\nhint: install {}, or name the program in {}{}",
            named.display(),
            host::table::host(client).title,
            Env::variable_of(client),
            if client.is_registered_by_name() { "" } else { " or under `[run] claude`" }
        )
    })
}

/// Settings and agents of a run, in its folder.
#[derive(Clone, Debug)]
pub struct Kit {
    client: Client,
    settings: PathBuf,
    agents: PathBuf,
}

impl Kit {
    pub fn write(env: &Env, policy: &Policy, texts: &Texts, folder: &Path) -> io::Result<Self> {
        let program = env.program()?.to_string_lossy().into_owned();
        let unreadable = |error: settings::Unreadable| io::Error::other(error.to_string());
        let mut text = settings::register("{}", &program).map_err(unreadable)?;
        if cfg!(target_os = "linux") && policy.jail.level != JailLevel::Off {
            text = prefix::with_prefix(&chained(env, text), &program).map_err(unreadable)?;
        }
        let kit = Self {
            client: env.host,
            settings: folder.join("settings.json"),
            agents: folder.join("agents.json"),
        };
        files::find(&kit.settings)?.replace(text.as_bytes(), 0o600)?;
        files::find(&kit.agents)?.replace(agents(texts).to_string().as_bytes(), 0o600)?;
        Ok(kit)
    }

    /// The arguments of one start. Without a prompt the session continues with its deferred call.
    pub fn arguments(
        &self,
        step: &PlannedStep,
        session: &str,
        known: bool,
        prompt: Option<&str>,
    ) -> Vec<String> {
        let StepAction::Client { tools, .. } = &step.does else { return Vec::new() };
        if self.client == Client::Codex {
            return codex::arguments(step, session, prompt.unwrap_or_default());
        }
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

/// The settings with the program that the user's own settings name as shell prefix, so that it is still
/// called.
fn chained(env: &Env, text: String) -> String {
    let own = files::read_text(env.config.join("settings.json")).unwrap_or_default();
    let foreign = prefix::found(&own).filter(|program| !names_us(program));
    foreign.and_then(|program| prefix::with_value(&text, &program).ok()).unwrap_or(text)
}

/// Every agent in force, in the client's format.
fn agents(texts: &Texts) -> Value {
    let mut all = Map::new();
    for text in texts.of(Kind::Agent) {
        let name = if ours(&text.id).is_some() { format!("aops:{}", text.id) } else { text.id.clone() };
        all.insert(name, agent(&text.id, &text.text));
    }
    Value::Object(all)
}

fn agent(id: &str, text: &str) -> Value {
    let (front, body) = host::agents::split(text);
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

/// What one start of the client has printed so far.
#[derive(Debug, Default)]
pub struct Stream {
    path: PathBuf,
    at: u64,
    rest: Vec<u8>,
    counted: BTreeSet<String>,
    /// The last message in a turn of Codex.
    said: String,
    /// A record named the session, so the client got as far as its hooks.
    pub announced: bool,
    pub tokens: u64,
    pub last_tool: Option<String>,
    pub result: Option<ClientResult>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientResult {
    pub subtype: String,
    /// The id of the call that was deferred.
    pub deferred: Option<String>,
    /// The whole input of that call, as JSON without its secrets.
    pub input: Option<String>,
    /// Cost of the whole session, in millionths of a dollar.
    pub cost: Option<u64>,
    /// Tokens of the whole session.
    pub tokens: Option<u64>,
    pub words: String,
}

impl Stream {
    pub fn of(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }

    /// The last message of the client.
    pub fn words(&self) -> &str {
        self.result.as_ref().map_or("", |result| result.words.as_str())
    }

    /// Reads what is new. Returns whether there was something.
    pub fn follow(&mut self) -> bool {
        let Ok(mut file) = files::open(&self.path) else { return false };
        let mut new = Vec::new();
        let read = file.seek(SeekFrom::Start(self.at)).and_then(|_| file.read_to_end(&mut new));
        self.at += read.unwrap_or_default() as u64;
        self.rest.extend_from_slice(&new);
        let Some(end) = self.rest.iter().rposition(|b| *b == b'\n') else { return !new.is_empty() };
        let lines: Vec<u8> = self.rest.drain(..=end).collect();
        for line in String::from_utf8_lossy(&lines).lines() {
            if let Ok(record) = json::read(line) {
                self.take(&record);
            }
        }
        true
    }

    fn take(&mut self, record: &Json) {
        self.announced |= record.text_of("session_id").is_some();
        match record.text_of("type").as_deref() {
            Some("assistant") => self.count_message(record),
            Some("thread.started") => self.announced = true,
            Some("item.completed") => {
                let message = record
                    .get("item")
                    .filter(|item| item.text_of("type").as_deref() == Some("agent_message"));
                self.said =
                    message.and_then(|item| item.text_of("text")).unwrap_or(std::mem::take(&mut self.said));
            }
            Some("item.started") => self.last_tool = record.get("item").and_then(|item| item.text_of("type")),
            Some(ended @ ("turn.completed" | "turn.failed")) => {
                let error = record.get("error").and_then(|error| error.text_of("message"));
                let words = error.unwrap_or(std::mem::take(&mut self.said));
                self.result =
                    Some(ClientResult { subtype: ended.to_owned(), words, ..ClientResult::default() });
            }
            Some("result") => {
                let ended = read_result(record);
                self.tokens = ended.tokens.unwrap_or(self.tokens);
                self.result = Some(ended);
            }
            _ => {}
        }
    }

    fn count_message(&mut self, record: &Json) {
        let Some(message) = record.get("message") else { return };
        if let (Some(id), Some(usage)) = (message.text_of("id"), message.get("usage"))
            && self.counted.insert(id)
        {
            let names =
                ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
            self.tokens += names.iter().filter_map(|name| usage.number_of(name)).sum::<u64>();
        }
        let Some(Json::List(blocks)) = message.get("content") else { return };
        let tools = blocks.iter().filter(|block| block.text_of("type").as_deref() == Some("tool_use"));
        if let Some(name) = tools.filter_map(|block| block.text_of("name")).next_back() {
            self.last_tool = Some(name);
        }
    }
}

fn read_result(record: &Json) -> ClientResult {
    let tokens = record.get("modelUsage").and_then(|usage| {
        let Json::Object(models) = usage else { return None };
        let names = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
        Some(models.iter().flat_map(|(_, model)| names.iter().filter_map(|name| model.number_of(name))).sum())
    });
    let cost = match record.get("total_cost_usd") {
        Some(Json::Number(text)) => text.parse::<f64>().ok().map(micros),
        _ => None,
    };
    ClientResult {
        subtype: record.text_of("subtype").unwrap_or_default(),
        deferred: record.get("deferred_tool_use").map(|call| call.text_of("id").unwrap_or_default()),
        input: record.get("deferred_tool_use").and_then(|call| call.get("input")).map(json::canonical),
        cost,
        tokens,
        words: record.text_of("result").unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn an_agent_file_becomes_what_the_client_takes() {
        let form = agent(
            "critic",
            "---\nname: critic\ndescription: looks\nmodel: opus\ntools: Read, Grep\n---\n\n# Critic\n",
        );
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
            model: None,
            phase: aops_core::model::phase::Phase::Review,
            sandbox: Sandbox::Shut,
            closes: false,
            verifies: false,
            mends: None,
        };
        let kit = Kit { client: Client::Claude, settings: PathBuf::from("/s"), agents: PathBuf::from("/a") };
        let said = kit.arguments(&step, "id", true, None).join(" ");
        assert_eq!(
            said,
            "-p --resume id --output-format stream-json --settings /s --agents /a --permission-mode default \
            --allowedTools Read,Agent --tools Read,Agent --verbose"
        );
        assert!(
            kit.arguments(&step, "id", false, Some("do it"))
                .join(" ")
                .starts_with("-p do it --session-id id ")
        );
    }

    #[test]
    fn a_growing_file_is_followed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut stream = Stream::of(file.path().to_owned());
        assert!(!stream.follow());
        let usage = r#""usage":{"input_tokens":10,"output_tokens":1}"#;
        let content = r#""content":[{"type":"tool_use","name":"Bash"}]"#;
        let message =
            format!(r#"{{"type":"assistant","session_id":"s","message":{{"id":"m",{content},{usage}}}}}"#);
        write!(file, "noise\n{message}\n{message}\n{{\"type\":\"res").unwrap();
        assert!(stream.follow());
        assert_eq!((stream.tokens, stream.last_tool.as_deref(), stream.announced), (11, Some("Bash"), true));
        let result = [
            r#"ult","subtype":"success","total_cost_usd":0.00105,"#,
            r#""deferred_tool_use":{"id":"toolu_1","name":"Bash","input":{"command":"ls"}},"#,
            r#""modelUsage":{"m":{"inputTokens":100,"outputTokens":10}},"result":""}"#,
        ]
        .concat();
        writeln!(file, "{result}").unwrap();
        stream.follow();
        let ended = stream.result.unwrap();
        assert_eq!(
            (ended.cost, ended.tokens, ended.deferred.as_deref()),
            (Some(1050), Some(110), Some("toolu_1"))
        );
    }
}
