//! The five agents that owe a verdict: their names, and the possible verdicts of each.
//!
//! Reads nothing, writes nothing. Invariant: a verdict counts only under the bare name, with our plugin's
//! prefix, or with the name that our file has if the bare name is taken; a call that starts an agent may use
//! any spelling that the client accepts.

use crate::model::named::named;
use unicode_normalization::UnicodeNormalization;

/// Prefix of our agents' names if they come from our plugin.
pub const PLUGIN_PREFIX: &str = "aops:";
/// Prefix of an agent's name if a foreign file uses the bare name.
pub const FILE_PREFIX: &str = "aops-";

named! {
    pub enum AgentId {
        Hydrator = "prompt-hydrator",
        Critic = "critic",
        Custodiet = "custodiet",
        QaVerifier = "qa-verifier",
        Framework = "framework",
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub name: &'static str,
    /// What it may change: nothing but the tracker and the memory; or it may run tests.
    pub may: May,
    /// The exact form of its block, to show to an agent that forgot it.
    pub form: &'static str,
}

/// What one of our agents may do apart from reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    OnlyRead,
    Track,
    RunTests,
}

pub static AGENTS: &[Agent] = &[
    Agent {
        id: AgentId::Hydrator,
        name: AgentId::Hydrator.name(),
        may: May::Track,
        form: r#"{"workflow": "ID", "intent": "TEXT", "task": "new" or "continue", "acceptance_criteria": ["TEXT"], "steps": ["TEXT"]}"#,
    },
    Agent {
        id: AgentId::Critic,
        name: AgentId::Critic.name(),
        may: May::OnlyRead,
        form: r#"{"verdict": "PROCEED", "REVISE" or "HALT", "acceptance_criteria": ["TEXT"], "problems": ["TEXT"]}"#,
    },
    Agent {
        id: AgentId::Custodiet,
        name: AgentId::Custodiet.name(),
        may: May::OnlyRead,
        form: r#"{"verdict": "OK"} or {"verdict": "BLOCK", "violation": "TEXT"}"#,
    },
    Agent {
        id: AgentId::QaVerifier,
        name: AgentId::QaVerifier.name(),
        may: May::RunTests,
        form: r#"{"verdict": "VERIFIED"} or {"verdict": "ISSUES", "issues": ["TEXT"]}"#,
    },
    Agent {
        id: AgentId::Framework,
        name: AgentId::Framework.name(),
        may: May::Track,
        form: r#"{"reflection": {"request": "TEXT", "guidance_received": "TEXT", "followed": "Yes, No or Partial …", "outcome": "success, partial or failure", "accomplishment": "TEXT", "root_cause": "TEXT", "proposed_change": "TEXT"}}"#,
    },
];

/// The agent of this name; `aops:critic`, `aops-critic` and `critic` are the same one.
pub fn ours(agent_type: &str) -> Option<&'static Agent> {
    let bare = bare(agent_type);
    AGENTS.iter().find(|agent| agent.name == bare)
}

/// A name without our prefixes. `aops-helper` is not one of our names and stays.
pub fn bare(agent_type: &str) -> &str {
    let is_ours = |name: &&str| AGENTS.iter().any(|agent| agent.name == *name);
    let by_plugin = agent_type.strip_prefix(PLUGIN_PREFIX);
    by_plugin.or_else(|| agent_type.strip_prefix(FILE_PREFIX).filter(is_ours)).unwrap_or(agent_type)
}

/// Which of our agents the client would start under this name: it accepts `QA_Verifier` for `qa-verifier`.
pub fn meant(spelled: &str) -> Option<String> {
    let spelled = folded(spelled);
    let names = AGENTS.iter().flat_map(|agent| {
        let name = agent.name;
        [name.to_owned(), format!("{PLUGIN_PREFIX}{name}"), format!("{FILE_PREFIX}{name}")]
    });
    names.into_iter().find(|name| folded(name) == spelled)
}

/// The name in the form in which the client compares names: compatible characters unified, without case,
/// white space and dashes.
pub fn folded(name: &str) -> String {
    let dash = |c: char| matches!(c, '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}');
    name.nfkc().flat_map(char::to_lowercase).filter(|c| !c.is_whitespace() && !dash(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_meant_however_it_is_spelled() {
        for spelled in ["critic", "Critic", " CRITIC ", "cri-tic", "ｃｒｉｔｉｃ", "𝐜𝐫𝐢𝐭𝐢𝐜"]
        {
            assert_eq!(meant(spelled).as_deref(), Some("critic"), "{spelled}");
        }
        for spelled in ["qa verifier", "QA_Verifier", "qaverifier", "qa\u{2010}verifier"] {
            assert_eq!(meant(spelled).as_deref(), Some("qa-verifier"), "{spelled}");
        }
        assert_eq!(meant("aops:Critic").as_deref(), Some("aops:critic"));
        assert_eq!(meant("AOPS critic").as_deref(), Some("aops-critic"));
        for spelled in ["critics", "other:critic", "general-purpose", ""] {
            assert_eq!(meant(spelled), None, "{spelled}");
        }
    }
}
