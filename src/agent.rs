//! The five agents that owe a verdict: their names, and what a verdict of each is called.
//!
//! Reads nothing, writes nothing. Invariant: a name counts bare or with our plugin's prefix, and in no other spelling.

/// One of ours, as a row.
#[derive(Debug, PartialEq, Eq)]
pub struct Agent {
    pub name: &'static str,
    /// May change nothing but the tracker and the memory, or run tests.
    pub may: May,
    /// The exact form of its block, for an agent that forgot it.
    pub form: &'static str,
}

/// What an agent of ours may do beside reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    OnlyRead,
    Track,
    RunTests,
}

pub static AGENTS: &[Agent] = &[
    Agent {
        name: "prompt-hydrator",
        may: May::Track,
        form: r#"{"workflow": "ID", "intent": "TEXT", "task": "new" or "continue", "acceptance_criteria": ["TEXT"], "steps": ["TEXT"]}"#,
    },
    Agent {
        name: "critic",
        may: May::OnlyRead,
        form: r#"{"verdict": "PROCEED", "REVISE" or "HALT", "acceptance_criteria": ["TEXT"], "problems": ["TEXT"]}"#,
    },
    Agent {
        name: "custodiet",
        may: May::OnlyRead,
        form: r#"{"verdict": "OK"} or {"verdict": "BLOCK", "violation": "TEXT"}"#,
    },
    Agent {
        name: "qa-verifier",
        may: May::RunTests,
        form: r#"{"verdict": "VERIFIED"} or {"verdict": "ISSUES", "issues": ["TEXT"]}"#,
    },
    Agent {
        name: "framework",
        may: May::Track,
        form: r#"{"reflection": {"request": "TEXT", "guidance_received": "TEXT", "followed": "Yes, No or Partial …", "outcome": "success, partial or failure", "accomplishment": "TEXT", "root_cause": "TEXT", "proposed_change": "TEXT"}}"#,
    },
];

/// The agent of this name; `aops:critic` and `critic` are the same one.
pub fn ours(agent_type: &str) -> Option<&'static Agent> {
    let bare = agent_type.strip_prefix("aops:").unwrap_or(agent_type);
    AGENTS.iter().find(|agent| agent.name == bare)
}
