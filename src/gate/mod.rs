//! The gates, and the verdict they come to together.
//!
//! Reads the session, the event and the context the edges prepared; writes nothing. Deciding is pure and total: no file, no
//! clock, no `Result`. A new gate is a file in `gate/` and a row in `GATES`.

pub mod block;
pub mod checks;
pub mod guard;
pub mod moved;
pub mod owed;
pub mod facts;
pub mod repeat;
pub mod report;
pub mod rules;
pub mod sandbox;
pub mod audit;
pub mod watch;

use crate::config::policy::{Level, Policy};
use crate::model::call::Effect;
use crate::model::event::Event;
use crate::model::verdict::{Ruling, Verdict};
use crate::model::worktree::Worktree;
use crate::session::agent_report::AgentReport;
use crate::session::fact::{Checked, Step};
use crate::session::fold::Session;
use crate::session::state::{RunStep, Waiver};
use crate::shell::targets::Targets;
use std::collections::BTreeMap;

use guard::Protected;

/// What a gate may know beside session and event; gathered by the edges before anybody decides.
#[derive(Debug, Default)]
pub struct Context {
    /// The variables that decide where we live, as they are now.
    pub folders: BTreeMap<String, String>,
    /// How a call of this key ended earlier.
    pub past: Option<Step>,
    /// A file that is not ours and defines one of our agents' names.
    pub shadowed: Option<String>,
    /// What the call would reach, and what it must not.
    pub reach: Option<(Protected, Targets)>,
    /// `ConfigChange`: the new text of the settings file.
    pub settings: Option<String>,
    /// The end of a write: settings, configuration and program as they are now.
    pub marks: Option<BTreeMap<String, String>>,
    /// The end of a write that switched us off: how.
    pub disarmed: Option<String>,
    /// The end of a write that changed something of ours otherwise.
    pub changed: Vec<String>,
    /// The end of a call to the tracker.
    pub tracked: bool,
    /// The end of a write: whether the audit's lot fell on it.
    pub drawn: Option<bool>,
    /// What the call of this event does.
    pub effect: Option<Effect>,
    /// The call writes into the working tree or changes the repository: more than running tests.
    pub touches_tree: bool,
    /// Writes that are free after a draw, and refusals before a stop is let go.
    pub grace: u64,
    pub refusals: u64,
    /// What the call names: paths as the disk sees them, and the words of each simple command.
    pub paths: Vec<String>,
    pub commands: Vec<Vec<String>>,
    pub home: String,
    /// The file an edit tool would save, and whether a line would commit; looked for only where there are checks.
    pub saves: Option<String>,
    pub commits: bool,
    /// The user's checks that were run for this event.
    pub checks: Vec<Checked>,
    /// A person can answer.
    pub attended: bool,
    /// Why it is a write, in a few words.
    pub why: String,
    /// Before the names of our agents: empty, or our plugin's prefix.
    pub prefix: &'static str,
    /// `SubagentStop` of an agent we wait for: what it found, or what is wrong with its report.
    pub report: Option<Result<AgentReport, String>>,
    /// Stop after work: what the working tree still owes.
    pub tree: Worktree,
    /// Other agents or commands are still running.
    pub busy: bool,
    pub now_ms: i64,
    /// Other sessions of this project that are blocked: id, reason.
    pub blocked_beside: Vec<(String, String)>,
    /// A question is deferred: nobody sits there, and somebody says that a run's driver will ask them.
    pub defers: bool,
    /// The step of a run that its driver started the client for; nothing where that is not proven.
    pub stage: Option<RunStep>,
}

impl Context {
    /// The name under which an agent of ours can be started here.
    pub fn agent(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Lifted for this task, or by a person for a while.
pub fn is_waived(session: &Session, context: &Context, gate: &str) -> bool {
    let by_prompt = session.state.task.as_ref().is_some_and(|task| task.waiver.is_some());
    let by_person = |waiver: &Waiver| waiver.gate == gate && waiver.until_ms > context.now_ms;
    by_prompt && !session.state.state.hydration_pending
        || session.memory.progress.waivers.iter().any(by_person)
}

/// How strictly a gate is held. Block and guard always are; observe mode softens all others.
fn level(policy: &Policy, gate: &str) -> Level {
    let set = match gate {
        "block" | "guard" | "repeat" => return Level::Enforce,
        "sandbox" => policy.gates.sandbox,
        "audit" => policy.gates.audit,
        "checks" => policy.gates.checks,
        "critic" => policy.gates.critic,
        _ => Level::Enforce,
    };
    if policy.mode.observe { set.min(Level::Warn) } else { set }
}

/// One named rule.
pub struct Gate {
    pub name: &'static str,
    /// What it refuses, for `--help` and the docs.
    pub refuses: &'static str,
    pub judge: fn(&Session, &Event, &Context) -> Verdict,
}

/// In the order they speak: of two refusals the first is heard.
pub static GATES: &[Gate] = &[
    Gate { name: "block", refuses: "everything, until a person clears the block", judge: block::judge },
    Gate { name: "guard", refuses: "being moved away from one's own state", judge: moved::judge },
    Gate { name: "guard", refuses: "writes to what guards, and a person's verbs", judge: watch::judge },
    Gate { name: "repeat", refuses: "a call that already ended, or an id used twice", judge: repeat::judge },
    Gate { name: "rules", refuses: "what the user's own rules say", judge: rules::judge },
    Gate { name: "sandbox", refuses: "changes before the task has a reviewed plan", judge: sandbox::judge },
    Gate { name: "audit", refuses: "changes while a drawn audit has not begun", judge: audit::judge },
    Gate { name: "checks", refuses: "what a failing check of the user's guards", judge: checks::judge },
    Gate { name: "report", refuses: "the end of an agent of ours without its verdict", judge: report::judge },
    Gate { name: "owed", refuses: "the end of a turn while the task owes something", judge: owed::judge },
];

/// Inside a run nobody sits there: a question makes the run pause, unless a person has answered it. An agent within the
/// client cannot pause it, so its question is a refusal. Deferring is no freedom, so it takes no proof.
fn in_run(said: Verdict, event: &Event, context: &Context) -> Verdict {
    if said.ruling != Ruling::Ask || !context.defers {
        return said;
    }
    let approved = context.stage.as_ref().and_then(|stage| stage.approved.as_deref());
    if approved.is_some() && approved == event.call.as_ref().map(|call| call.key.id.as_str()) {
        return Verdict::pass();
    }
    let ruling = if event.agent_id.is_some() { Ruling::Deny } else { Ruling::Defer };
    Verdict { ruling, ..said }
}

/// The joined verdict of all gates. A refusal ends the round: later gates have nothing to add to it.
pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let mut verdict = Verdict::pass();
    let policy = session.policy();
    for gate in GATES {
        let said = (gate.judge)(session, event, context);
        let said = in_run(said, event, context);
        verdict = verdict.join(match level(&policy, gate.name) {
            Level::Enforce => said,
            Level::Warn => said.soften(),
            Level::Off => Verdict::pass(),
        });
        if verdict.ruling == Ruling::Deny {
            break;
        }
    }
    verdict
}

#[cfg(test)]
mod tests;
