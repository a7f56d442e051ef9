//! The steps of one task, as a session takes them: a plan, its review, changes, verification, reflection,
//! commands.

use super::session::Call;
use super::{Answer, Sandbox, Session};
use serde_json::{Value, json};
use std::fmt::Display;

/// A report whose verdict block is this.
pub(crate) fn fenced(block: impl Display) -> String {
    format!("My report.\n\n```aops\n{block:#}\n```\n")
}

impl Sandbox {
    /// A project that is a repository with a remote, and audits drawn at this rate.
    pub(crate) fn repository(audit_rate: &str) -> Self {
        let sandbox = Self::new();
        sandbox.configure(&format!("[audit]\nrate = {audit_rate}\n"));
        let remote = sandbox.tmp().join("remote.git");
        let remote = remote.to_str().unwrap();
        sandbox.put("README.md", "# a project\n");
        for arguments in [
            &["init", "-q", "--bare", "-b", "main", remote][..],
            &["init", "-q", "-b", "main"],
            &["config", "user.email", "t@example.invalid"],
            &["config", "user.name", "t"],
            &["add", "-A"],
            &["commit", "-q", "-m", "start"],
            &["remote", "add", "origin", remote],
            &["push", "-q", "-u", "origin", "main"],
        ] {
            sandbox.git(arguments);
        }
        sandbox
    }

    /// Somebody else commits and pushes to the remote of `repository`; nobody here is told.
    pub(crate) fn somebody_pushes(&self) {
        let (other, remote) = (self.tmp().join("other"), self.tmp().join("remote.git"));
        let (other, remote) = (other.to_str().unwrap(), remote.to_str().unwrap());
        self.git(&["clone", "-q", remote, other]);
        let by = ["-C", other, "-c", "user.name=o", "-c", "user.email=o@example.invalid"];
        std::fs::write(self.tmp().join("other/other.txt"), "other\n").unwrap();
        self.git(&["-C", other, "add", "other.txt"]);
        self.git(&[&by[..], &["commit", "-q", "-m", "other"]].concat());
        self.git(&["-C", other, "push", "-q"]);
    }

    /// Runs git in the project; gives what it prints.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.command("git").args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A session that was started and prompted.
    pub(crate) fn begun(&self, prompt: &str) -> Session<'_> {
        let session = self.session();
        let _ = session.start("startup");
        let _ = session.prompt(prompt);
        session
    }

    /// The same with a plan that needs no review.
    pub(crate) fn working(&self) -> Session<'_> {
        let session = self.begun("add a greeting");
        session.hydrate("minor-edit", "new");
        session
    }
}

impl Session<'_> {
    /// An agent from start to end, with this verdict block: the answer to its report.
    pub(crate) fn agent(&self, kind: &str, block: impl Display) -> Answer {
        self.agent_reports(kind, &fenced(block)).1
    }

    /// An agent from start to end: the context it was given, and the answer to its report.
    pub(crate) fn agent_reports(&self, kind: &str, report: &str) -> (String, Answer) {
        let call = self.agent_call(kind);
        let _ = self.pre(&call);
        let id = format!("a{}", self.entries().len());
        let start = self.event("SubagentStart", json!({"agent_id": id, "agent_type": kind}));
        let context = if start.out.is_empty() { Value::Null } else { start.json() };
        let context = context["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
        let answer = self.stop_agent(&id, kind, report);
        if answer.code == Some(0) {
            let _ = self.post(&call);
        }
        (context.to_owned(), answer)
    }

    fn agent_call(&self, kind: &str) -> Call {
        let input =
            json!({"subagent_type": kind, "prompt": "p", "description": "d", "run_in_background": false});
        self.call("Agent", input)
    }

    /// The call that starts an agent, and its start: the answer to that.
    pub(crate) fn begin_agent(&self, id: &str, kind: &str) -> Answer {
        let _ = self.pre(&self.agent_call(kind));
        self.event("SubagentStart", json!({"agent_id": id, "agent_type": kind}))
    }

    pub(crate) fn stop_agent(&self, id: &str, kind: &str, report: &str) -> Answer {
        let fields = json!({"agent_id": id, "agent_type": kind, "last_assistant_message": report,
            "stop_hook_active": false, "background_tasks": [], "session_crons": []});
        self.event("SubagentStop", fields)
    }

    /// The hydrator plans by this workflow; gives the context it was given.
    pub(crate) fn hydrate(&self, workflow: &str, task: &str) -> String {
        let block = json!({"workflow": workflow, "intent": "add a greeting", "task": task,
            "acceptance_criteria": ["it greets"], "steps": ["write it"]});
        let (context, answer) = self.agent_reports("prompt-hydrator", &fenced(block));
        answer.silent();
        context
    }

    pub(crate) fn critic(&self, verdict: &str) -> Answer {
        let problems = if verdict == "PROCEED" { json!([]) } else { json!(["the plan has no test"]) };
        let criteria = ["it greets, and is tested"];
        let block = json!({"verdict": verdict, "acceptance_criteria": criteria, "problems": problems});
        self.agent("critic", block)
    }

    pub(crate) fn qa(&self, verdict: &str) -> Answer {
        let issues = if verdict == "VERIFIED" { json!([]) } else { json!(["no greeting"]) };
        self.agent("qa-verifier", json!({"verdict": verdict, "issues": issues}))
    }

    pub(crate) fn reflect(&self) -> Answer {
        let reflection = json!({"request": "r", "guidance_received": "g", "followed": "Yes",
            "outcome": "success", "accomplishment": "a", "root_cause": "none", "proposed_change": "none"});
        self.agent("framework", json!({ "reflection": reflection }))
    }

    /// Asks for a write and, where it passes, does it and reports it.
    pub(crate) fn write(&self, name: &str) -> Answer {
        let file = self.sandbox.project().join(name);
        let call = self.call("Write", json!({"file_path": file, "content": "hello\n"}));
        let answer = self.pre(&call);
        if answer.code == Some(0) {
            self.sandbox.put(name, "hello\n");
            let _ = self.post(&call);
        }
        answer
    }

    /// Asks for a command; gives the answer.
    pub(crate) fn ask_bash(&self, line: &str) -> Answer {
        self.pre(&self.call("Bash", json!({"command": line})))
    }

    /// A command that passes, is run and reported.
    pub(crate) fn bash(&self, line: &str) {
        let call = self.call("Bash", json!({"command": line}));
        self.pre(&call).silent();
        self.sandbox.command("sh").args(["-c", line]).assert().success();
        let _ = self.post(&call);
    }
}
