//! The facts that ledger entries hold, and their stored form.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order (the plain serialisation is the
//! canonical form) and no name that sorts after `working_digest`, which a commit mark appends. Invariant:
//! everything a fold needs is in the fact; nothing is looked up or recomputed later.

mod call_asked;
mod call_ended;
mod checked;
mod kept;
mod opened;
mod reached;
mod turn_before;
mod session_started;
mod happened;
mod seen;
mod recovered;
mod reported;
mod starts;
mod step;
mod task_chosen;
mod taken;
mod unasked;
mod violation;

pub use crate::session::call_means::{CallMeans, Jailing};
pub use crate::session::quieted::{AnswerLevel, Harmless, Quieted};
pub use crate::session::said::Said;
pub use call_asked::CallAsked;
pub use call_ended::{CallDenied, CallEnded, Measured, Under};
pub use checked::Checked;
pub use happened::{
    AgentStarted, AgentStopped, BatchEnded, GoesOn, Happened, PermissionAsked, PromptHeard, SessionEnded,
    TurnEnded,
};
pub use kept::{Kept, KeptBounds};
pub use opened::{FORMAT, Opened, Previous};
pub use reached::{NetworkChange, NetworkChanged, Reached};
pub use recovered::Recovered;
pub use reported::Reported;
pub use seen::{Seen, TimersHeard};
pub use session_started::SessionStarted;
pub use starts::Starts;
pub use step::Step;
pub use taken::Taken;
pub use task_chosen::{TaskChosen, TaskMove};
pub use turn_before::{Baseline, LeftChanged, TurnBefore};
pub use unasked::Unasked;
pub use violation::{Violation, ViolationKind};

use crate::model::named::Stored;
use crate::model::outcome::{PhaseOutcome, RunOutcome};
use crate::session::memory::{BroughtBack, Memory, ModeAsked, RollbackState, RunStep, Undone, Waiver};
use crate::session::observed::{Attested, Committed};
use crate::session::question::{Answered, Asked};
use crate::session::state::State;
use crate::text::stored::canonical;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Generates the enum, and the code that writes and reads each kind, from the same rows.
macro_rules! facts {
    ($($kind:literal: $name:ident($fact:ty),)*) => {
        #[derive(Clone, Debug)]
        pub enum Fact {
            $($name($fact),)*
        }

        impl Fact {
            /// The entry's `type` and `with`.
            pub fn stored(&self) -> (&'static str, String) {
                match self {
                    $(Fact::$name(fact) => ($kind, canonical(fact)),)*
                }
            }

            /// The fact of a stored entry; `None` for a type or form that this version does not know. The
            /// first entry of a ledger in another format yields `None`, so that none of its entries is
            /// misread.
            pub fn read(kind: &str, with: &str) -> Option<Fact> {
                let fact = match kind {
                    $($kind => serde_json::from_str(with).ok().map(Fact::$name),)*
                    _ => None,
                };
                fact.filter(|fact| !matches!(fact, Fact::Open(open) if open.format != FORMAT))
            }
        }
    };
}

// A new kind is a row here and an arm in the fold.
facts! {
    "open": Open(Opened),
    "event": Event(Box<Seen>),
    "call": Call(Step),
    "question": Question(Asked),
    "answer": Answer(Answered),
    "block": Block(Blocked),
    "unblock": Unblock(Unblocked),
    "verdict": Verdict(Reported),
    "waiver": Waive(Waiver),
    "task": Task(TaskChosen),
    "check": Check(Checked),
    "mode": Mode(ModeAsked),
    "run": Run(Staged),
    "violation": Violation(Violation),
    "recovery": Recovery(Recovered),
    "checkpoint": Checkpoint(Taken),
    "rollback": Rollback(Undone),
    "undo": Undo(BroughtBack),
    "commit": Commit(Committed),
    "attest": Attest(Attested),
    "network": Network(NetworkChanged),
    "insights": Insights(Concluded),
    "snapshot": Snapshot(Box<Snapshot>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Blocked {
    pub by: String,
    pub reason: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unblocked {
    pub by: String,
}

/// A run's driver begins a step in this session, or ends one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Staged {
    /// The outcome of the step that was under way, as its driver judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Stored<PhaseOutcome>>,
    pub run_id: String,
    /// Set when the run ends or pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_outcome: Option<Stored<RunOutcome>>,
    /// `None`: no step is under way any more.
    pub stage: Option<RunStep>,
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
}

/// The reason of a call whose end was never reported.
pub const NO_EFFECT: &str = "no_effect_observed";
/// The reason of a call whose end was never reported, although its file is as the call would leave it.
pub const UNREPORTED: &str = "its end was not reported, and its file is changed as it asked";

/// The session's results so far, for the state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Concluded {
    /// Canonical and redacted; long lists are cut.
    pub insights: Box<RawValue>,
}

/// The whole fold, so that a lost state is rebuilt from here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    pub memory: Box<Memory>,
    pub state: Box<State>,
}

impl Fact {
    /// It must survive a power loss, so it is flushed to the disk before we answer.
    pub fn must_sync(&self) -> bool {
        match self {
            Fact::Open(_)
            | Fact::Block(_)
            | Fact::Unblock(_)
            | Fact::Verdict(_)
            | Fact::Waive(_)
            | Fact::Task(_)
            | Fact::Run(_)
            | Fact::Recovery(_)
            | Fact::Checkpoint(_) => true,
            Fact::Rollback(undone) => undone.stage != RollbackState::Told,
            Fact::Undo(brought) => !brought.told,
            Fact::Event(seen) => seen.ends_turn(),
            _ => false,
        }
    }
}
