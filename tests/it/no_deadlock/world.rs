//! A session and the world around it, moved by the library's own gates, records and fold: no process, no
//! clock, no luck but what is given.

use aops_core::config::policy::{self, Policy, Source};
use aops_core::gate::{Context, EndContext, Found, checks, facts};
use aops_core::hook;
use aops_core::host::claude::wire::read;
use aops_core::model::agent::AGENTS;
use aops_core::model::event::{Event, EventKind};
use aops_core::model::named::Stored;
use aops_core::model::outcome::PhaseOutcome;
use aops_core::model::verdict::{Ruling, Verdict};
use aops_core::model::worktree::Worktree;
use aops_core::observe;
use aops_core::session::agent_report::AgentReport;
use aops_core::session::fact::{Checked, Fact, Opened, Seen};
use aops_core::session::fold::Session;
use aops_core::session::growth::{ChangedFile, Growth};
use aops_core::session::memory::Waiver;
use aops_core::system::env::Env;
use serde_json::{Value, json};
use std::collections::VecDeque;
use tempfile::TempDir;

const ID: &str = "no-deadlock";
const TS: &str = "2026-01-13T10:00:00.000Z";

pub(super) struct World {
    folder: TempDir,
    env: Env,
    pub(super) session: Session,
    /// Agents that were started and have not ended: id, the name they were started under.
    pub(super) running: Vec<(String, String)>,
    calls: Vec<Value>,
    made: u64,
    dirty: bool,
    ahead: bool,
    /// Somebody else pushed, and a fetch has shown it.
    behind: bool,
    attended: bool,
    pub(super) checks_pass: bool,
    /// A foreign file carries our agents' names.
    pub(super) shadowed: bool,
    /// What agents and the audit's lot will do next; when it is used up all is well.
    pub(super) luck: VecDeque<u8>,
}

impl World {
    pub(super) fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_path_buf();
        let env = Env {
            config: home.join(".claude"),
            user_config: home.join(".config/aops"),
            data: home.join("data"),
            now_ms: 1_768_298_400_000,
            home: home.clone(),
            ..Env::default()
        };
        let env = env.for_project(&home);
        let mut session = Session::default();
        let opened = Opened { policy: configured(config), ..Opened::default() };
        session.apply(ID, TS, &Fact::Open(opened)).unwrap();
        Self {
            folder,
            env,
            session,
            running: Vec::new(),
            calls: Vec::new(),
            made: 0,
            dirty: false,
            behind: false,
            ahead: false,
            attended: false,
            checks_pass: true,
            shadowed: false,
            luck: VecDeque::new(),
        }
    }

    /// Another configuration is in force from here on.
    pub(super) fn configure(&mut self, config: &str) {
        let seen = Seen {
            policy: configured(config),
            policy_hash: Some("h".to_owned()),
            ..Seen::of(EventKind::UserPromptSubmit)
        };
        self.fold(&Fact::Event(Box::new(seen)));
    }

    pub(super) fn never_let_go(&mut self) {
        self.session.memory.configured.policy.get_or_insert_default().stop.refusals = u64::MAX;
    }

    /// Plan mode ends with a person's yes.
    pub(super) fn plan(&mut self) {
        let call =
            json!({"tool_name": "ExitPlanMode", "tool_input": {}, "tool_use_id": format!("p{}", self.made)});
        self.made += 1;
        self.attended = true;
        let said = self.event("PreToolUse", &call);
        let asked = self.event("PermissionRequest", &call);
        self.attended = false;
        if said.ruling != Ruling::Deny && asked.ruling != Ruling::Deny {
            let _ = self.event("PostToolUse", &call);
        }
    }

    /// What is measured of a call: as much as the lot says.
    fn weigh(&mut self, name: &str, event: &Event, context: &mut Context) {
        let (weighs, tool) = (self.session.measures(), event.call().map(|call| call.key.tool.as_str()));
        let file =
            |path: String, lines| ChangedFile { is: "new".to_owned(), lines, path, ..ChangedFile::default() };
        match (name, tool) {
            ("PreToolUse", Some("Write")) if weighs => {
                let lot = self.lot();
                let grows = file(format!("f{}", lot % 8), u64::from(lot % 80));
                if let Some(call) = context.call_mut() {
                    call.does.grows = Some(grows);
                }
            }
            ("PostToolUse", Some("Bash")) if weighs => {
                let lot = self.lot();
                let all = (0..lot % 6).map(|n| file(format!("f{n}"), u64::from(lot % 30))).collect();
                end_of(context).recorded.measured.grown = Some(Growth::of(all));
            }
            ("PostToolUse", Some("ExitPlanMode")) if self.session.memory.progress.plan.asked.is_some() => {
                let (gates, workflow) = (vec![Stored::of("qa")], Some("feature-dev".to_owned()));
                let plan =
                    AgentReport { intent: Some("i".to_owned()), gates, workflow, ..AgentReport::default() };
                end_of(context).recorded.plan = Some(Box::new(plan));
            }
            _ => {}
        }
    }

    fn lot(&mut self) -> u8 {
        self.luck.pop_front().unwrap_or(u8::MAX)
    }

    /// One event, judged and recorded as the hook does it.
    pub(super) fn event(&mut self, name: &str, fields: &Value) -> Verdict {
        let mut payload =
            json!({"session_id": ID, "cwd": self.folder.path(), "hook_event_name": name, "prompt_id": "p"});
        payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let event = read::read(name, payload.to_string().as_bytes()).unwrap();
        let mut context = observe::call::again(&self.env, &self.session, &event, self.env.now_ms);
        context.attended = self.attended;
        self.weigh(name, &event, &mut context);
        let bare = event
            .agent_type
            .as_deref()
            .is_none_or(|name| !name.starts_with("aops:") && !name.starts_with("aops-"));
        if let Found::Start(start) = &mut context.found
            && self.shadowed
            && bare
        {
            start.shadowed = Some(".claude/agents/critic.md".to_owned());
            start.clashes = AGENTS.iter().map(|agent| agent.name.to_owned()).collect();
        }
        if name == "Stop" && self.session.state.task.as_ref().is_some_and(|task| task.writes > 0) {
            let push = self.ahead.then(|| ("git push".to_owned(), "1 commit is".to_owned()));
            context.tree = Worktree {
                uncommitted: self.dirty.then(|| "a.txt".to_owned()).into_iter().collect(),
                behind: u64::from(self.behind && push.is_some()),
                push,
                ..Worktree::default()
            };
        }
        if name.starts_with("PostToolUse") {
            end_of(&mut context).recorded.drawn = Some(self.lot() < 60 && !self.session.state.audit.due);
        }
        let mut verdict = hook::judge(&self.env, &self.session, &event, &context).unwrap();
        loop {
            let wanted = checks::wanted(&self.session, &event, &context, &verdict);
            let Some(check) = wanted.first() else { break };
            let outcome = if self.checks_pass { PhaseOutcome::Pass } else { check.outcome.into() };
            let ending = if self.checks_pass { "exit 0" } else { "exit 1" };
            context.checks.push(Checked {
                ending: ending.to_owned().into(),
                id: check.id.clone(),
                on: check.on,
                outcome: outcome.into(),
                run: check.run.clone(),
                ..Checked::default()
            });
            verdict = hook::judge(&self.env, &self.session, &event, &context).unwrap();
        }
        for fact in facts::facts(&self.session, &event, &verdict, &context) {
            self.fold(&fact);
        }
        verdict
    }

    pub(super) fn fold(&mut self, fact: &Fact) {
        self.session.apply(ID, TS, fact).unwrap_or_else(|code| panic!("{}: {fact:?}", code.name()));
    }

    pub(super) fn waive(&mut self, gate: &str) {
        let until_ms = self.env.now_ms + 1;
        self.fold(&Fact::Waive(Waiver { gate: gate.to_owned().into(), reason: "r".to_owned(), until_ms }));
    }

    pub(super) fn prompt(&mut self, words: &str) -> Verdict {
        self.event("UserPromptSubmit", &json!({"prompt": words}))
    }

    pub(super) fn stop(&mut self, busy: bool) -> Verdict {
        let background = if busy { json!([{"id": "b1", "status": "running"}]) } else { json!([]) };
        self.event("Stop", &json!({"background_tasks": background, "last_assistant_message": "Done."}))
    }

    /// Asks for a call; where it passes, it stays open until it is ended.
    pub(super) fn call(&mut self, tool: &str, input: &Value) -> Verdict {
        self.made += 1;
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": format!("t{}", self.made)});
        let said = self.event("PreToolUse", &call);
        if said.ruling != Ruling::Deny {
            self.calls.push(call);
        }
        said
    }

    /// The newest open call ends, well or not.
    pub(super) fn end(&mut self, well: bool) {
        let Some(mut call) = self.calls.pop() else { return };
        let name = if well { "PostToolUse" } else { "PostToolUseFailure" };
        call[if well { "tool_response" } else { "error" }] = json!("x");
        let _ = self.event(name, &call);
    }

    pub(super) fn write(&mut self) -> Verdict {
        let file = self.folder.path().join("a.txt");
        let said = self.call("Write", &json!({"file_path": file, "content": "x"}));
        if said.ruling != Ruling::Deny {
            self.dirty = true;
            self.end(true);
        }
        said
    }

    pub(super) fn bash(&mut self, line: &str) -> Verdict {
        let said = self.call("Bash", &json!({"command": line}));
        if said.ruling != Ruling::Deny {
            match line {
                "make test" => {}
                "git push" => self.ahead = false,
                "git fetch" => self.behind = true,
                "git pull --rebase" => self.behind = false,
                line if line.starts_with("bd ") || line.starts_with("mb ") => {}
                line if line.starts_with("git commit") => {
                    self.ahead |= self.dirty;
                    self.dirty = false;
                }
                _ => self.dirty = true,
            }
            self.end(true);
        }
        said
    }

    /// Starts an agent under this name; a refusal is handed back.
    pub(super) fn start(&mut self, name: &str) -> Verdict {
        let said = self.call("Agent", &json!({"subagent_type": name, "prompt": "p", "description": "d"}));
        if said.ruling != Ruling::Deny {
            self.end(true);
            self.made += 1;
            let id = format!("a{}", self.made);
            let _ = self.event("SubagentStart", &json!({"agent_id": id, "agent_type": name}));
            self.running.push((id, name.to_owned()));
        }
        said
    }

    /// The newest agent reports, as its luck has it.
    pub(super) fn report(&mut self) -> Option<Verdict> {
        let (id, name) = self.running.last().cloned()?;
        let lot = self.lot();
        let block = block(name.trim_start_matches("aops:").trim_start_matches("aops-"), lot);
        let report = block.map_or_else(|| "I forgot.".to_owned(), |block| format!("```aops\n{block}\n```\n"));
        let fields = json!({"agent_id": id, "agent_type": name, "last_assistant_message": report});
        let said = self.event("SubagentStop", &fields);
        if said.ruling != Ruling::Deny {
            self.running.pop();
        }
        Some(said)
    }
}

/// The policy of this configuration, where it is not the shipped one.
fn configured(config: &str) -> Option<Box<Policy>> {
    let source = Source { file: "config.toml", text: config };
    let (policy, _) = policy::read(Some(source), None).unwrap();
    Some(Box::new(policy)).filter(|policy| **policy != Policy::default())
}

/// The verdict of an agent by lot: the highest number is the kindest, one in eight has none.
fn block(name: &str, lot: u8) -> Option<Value> {
    if lot % 8 == 3 {
        return None;
    }
    let bad = lot < 80;
    Some(match name {
        "prompt-hydrator" => {
            let workflows =
                ["simple-question", "feature-dev", "spec-review", "direct-skill", "batch-processing"];
            let workflow = workflows.get(usize::from(lot / 8)).copied().unwrap_or("minor-edit");
            let task = if lot.is_multiple_of(2) { "continue" } else { "new" };
            json!({"workflow": workflow, "intent": "i", "task": task, "acceptance_criteria": ["c"], "steps": ["s"]})
        }
        "critic" => {
            let verdict = if lot < 10 {
                "HALT"
            } else if bad {
                "REVISE"
            } else {
                "PROCEED"
            };
            json!({"verdict": verdict, "acceptance_criteria": ["c"], "problems": if bad { json!(["p"]) } else { json!([]) }})
        }
        "custodiet" if lot < 20 => json!({"verdict": "BLOCK", "violation": "v"}),
        "custodiet" => json!({"verdict": "OK"}),
        "qa-verifier" if bad => json!({"verdict": "ISSUES", "issues": ["i"]}),
        "qa-verifier" => json!({"verdict": "VERIFIED", "issues": []}),
        _ => {
            json!({"reflection": {"request": "r", "guidance_received": "g", "followed": "Yes", "outcome": "success",
            "accomplishment": "a", "root_cause": "r", "proposed_change": "p"}})
        }
    })
}

fn end_of(context: &mut Context) -> &mut EndContext {
    match &mut context.found {
        Found::End(end) => end,
        other => panic!("no call has ended: {other:?}"),
    }
}
