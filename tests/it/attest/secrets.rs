//! Every shape of secret that we know, in every place from which a statement takes words: none is in it.

use super::world;
use crate::redact::secrets;
use crate::support::Sandbox;
use aops_attest::statement::Statement;
use aops_core::model::agent::AgentId;
use aops_core::model::call::{CallKey, CallState};
use aops_core::model::event::EventKind;
use aops_core::model::gate_id::GateId;
use aops_core::model::named::Stored;
use aops_core::model::outcome::CheckEnding;
use aops_core::model::trigger::CheckpointTrigger;
use aops_core::session::agent_report::AgentReport;
use aops_core::session::fact::{CallDenied, Checked, Fact, Opened, Reported, Seen, Step, Taken};
use aops_core::session::observed::{Committed, CommittedBy, HeadSeen, Observed, PromptSeen};
use aops_core::session::question::{Answered, Answerer};
use aops_core::system::env::Env;
use aops_core::text::sha256::NO_DIGEST;
use aops_hook::attest::objects::Repositories;
use aops_hook::attest::statement::{Wanted, make};
use aops_ledger::entry::Frame;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const TRACE: &str = "5f0c1f3a-0000-4000-8000-00000000cafe";
const TS: &str = "2026-01-13T10:00:00.000Z";

/// The facts that hold names of others, each with this text for a name.
fn facts(text: &str) -> Vec<Fact> {
    let text = || text.to_owned();
    let call = CallKey { id: text(), server: text(), tool: text() };
    let finding = Some(AgentReport { intent: Some(text()), ..AgentReport::default() });
    vec![
        Fact::Open(Opened { binary: "0.2.0".to_owned(), project: text(), ..Opened::default() }),
        Fact::Event(Box::new(Seen { agent_id: Some(text()), ..Seen::of(EventKind::SubagentStart) })),
        Fact::Call(Step {
            call: call.clone(),
            to: CallState::Completed,
            reason: Some(text()),
            ..Step::default()
        }),
        Fact::Call(Step {
            call: call.clone(),
            to: CallState::Denied,
            denied: Some(CallDenied { rule: Some(text()), ..CallDenied::default() }),
            ..Step::default()
        }),
        Fact::Verdict(Reported {
            agent: AgentId::Critic.into(),
            agent_id: text(),
            finding,
            ..Reported::default()
        }),
        Fact::Check(Checked { ending: CheckEnding::Exit(0), id: text(), run: text(), ..Checked::default() }),
        Fact::Checkpoint(Taken {
            digest: NO_DIGEST.to_owned(),
            id: format!("{TRACE}/{}", text()),
            measures: false,
            trigger: CheckpointTrigger::ALL[0].into(),
        }),
        Fact::Answer(Answered {
            allowed: true,
            by: Answerer::Person,
            call,
            gate: GateId::Danger.into(),
            line: text(),
            ms: None,
            rule: Some(text()),
            secret: None,
        }),
    ]
}

struct Scene {
    sandbox: Sandbox,
    folder: PathBuf,
    env: Env,
}

impl Scene {
    fn new() -> Self {
        let sandbox = world();
        let folder = sandbox.tmp().join("sessions/project").join(TRACE);
        fs::create_dir_all(&folder).unwrap();
        let env =
            Env { home: sandbox.home(), data: sandbox.data(), cwd: sandbox.project(), ..Env::default() };
        Self { sandbox, folder, env }
    }

    /// Where the session stands: its commit, and a prompt and a branch with this text.
    fn place(&self, text: &str) -> Vec<Fact> {
        let root = self.sandbox.project().to_str().unwrap().to_owned();
        let commit = super::head(&self.sandbox);
        let git = format!("{root}/.git");
        let head = HeadSeen {
            branch: Some(format!("refs/heads/{text}")),
            git,
            root: root.clone(),
            ..HeadSeen::default()
        };
        let prompt = PromptSeen { attended: true, salt: "s".to_owned(), sha256: NO_DIGEST.to_owned() };
        let observed = Observed { head: Some(head), prompt: Some(prompt), ..Observed::default() };
        let observed = Some(Box::new(observed));
        let seen = Seen { observed, mode: Some(Stored::of(text)), ..Seen::of(EventKind::UserPromptSubmit) };
        let by = CommittedBy::Outside;
        vec![Fact::Event(Box::new(seen)), Fact::Commit(Committed { before: None, by, commit, root })]
    }

    /// The client's own file, in which models and versions have these names.
    fn transcript(&self, texts: &[String]) {
        let line = |(n, text): (usize, &String)| {
            let usage = json!({"input_tokens": 1, "output_tokens": n});
            let message = json!({"id": format!("m{n}"), "model": text, "content": [], "usage": usage});
            let agent = if n % 2 == 0 { text.as_str() } else { "" };
            json!({"type": "assistant", "timestamp": TS, "agentId": agent, "version": text, "message": message})
                .to_string()
        };
        let lines: Vec<String> = texts.iter().enumerate().map(line).collect();
        let file = self.folder.parent().unwrap().join(format!("{TRACE}.jsonl"));
        fs::write(file, lines.join("\n") + "\n").unwrap();
    }

    fn statement(&self, facts: &[Fact]) -> Statement {
        let mut ledger = String::new();
        for (seq, fact) in (1..).zip(facts) {
            let (kind, with) = fact.stored();
            let frame =
                Frame { prev: NO_DIGEST, seq, mark: None, trace_id: TRACE, ts: TS, kind, with: &with };
            ledger += &frame.write().0;
        }
        fs::write(self.folder.join("ledger.jsonl"), ledger).unwrap();
        let (commit, root) = (super::head(&self.sandbox), self.sandbox.project());
        let last = facts.len() as u64;
        let (env, folder) = (&self.env, self.folder.as_path());
        make(&Wanted {
            repositories: &Repositories::new(env),
            folder,
            trace: TRACE,
            root: &root,
            commit: &commit,
            last,
            late: false,
        })
        .unwrap()
        .unwrap()
    }
}

/// Every text in a document.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            found.push(name.clone());
            texts(member, found);
        }),
        _ => {}
    }
}

#[track_caller]
fn tells_none(statement: &Statement, secrets: &[String]) {
    let mut found = Vec::new();
    texts(&serde_json::from_str(&statement.to_json()).unwrap(), &mut found);
    for part in secrets.iter().flat_map(|secret| secret.split('\n')).map(|part| part.trim_end_matches('=')) {
        let told = found.iter().find(|text| text.contains(part));
        assert_eq!(told, None, "{part:?}");
    }
}

/// All shapes at once, in all names that a ledger or the client's own file can hold many of.
#[test]
fn no_shape_of_secret_is_in_a_statement() {
    let scene = Scene::new();
    let shapes = secrets();
    assert!(shapes.len() >= 250);
    let mut all = scene.place("main");
    all.extend(shapes.iter().flat_map(|(text, _)| facts(text)));
    scene.transcript(&shapes.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>());
    let statement = scene.statement(&all);
    // They are all in it, without what is secret.
    let parts = &statement.predicate.build_definition.internal_parameters;
    assert_eq!(parts.subagents.len(), shapes.len());
    assert!(parts.agent.tools.len() > 50 && parts.agent.runtime.as_ref().unwrap().version.is_some());
    assert!(statement.session().unwrap().1.tokens.len() > 50);
    tells_none(&statement, &shapes.into_iter().flat_map(|(_, secrets)| secrets).collect::<Vec<_>>());
}

/// Of these there is one in a statement: the branch, the address of the repository, the name of a file.
#[test]
fn nor_where_it_names_one_thing() {
    let scene = Scene::new();
    // A name of a file or a branch holds neither of these.
    let shapes: Vec<_> = secrets().into_iter().filter(|(text, _)| !text.contains(['/', '\n'])).collect();
    for (name, secrets) in shapes.iter().step_by(shapes.len() / 12) {
        scene.sandbox.git(&[
            "remote",
            "set-url",
            "origin",
            &format!("https://me:{name}@forge.example/{name}/calc"),
        ]);
        fs::write(scene.sandbox.project().join(name.get(..200).unwrap_or(name)), "x\n").unwrap();
        scene.sandbox.git(&["add", "-A"]);
        scene.sandbox.git(&["commit", "-q", "-m", name]);
        tells_none(&scene.statement(&scene.place(name)), secrets);
    }
}
