//! The gates, and the verdict they come to together.
//!
//! Reads the session, the event and the scene the edges prepared; writes nothing. Deciding is pure and total: no file, no
//! clock, no `Result`. A new gate is a file in `gate/` and a row in `GATES`.

pub mod block;
pub mod disarm;
pub mod guard;
pub mod moved;
pub mod repeat;

use crate::event::Event;
use crate::fact::Step;
use crate::session::Session;
use crate::verdict::{Ruling, Verdict};
use std::collections::BTreeMap;

/// What a gate may know beside session and event; gathered by the edges before anybody decides.
#[derive(Debug, Default)]
pub struct Scene {
    /// The variables that decide where we live, as they are now.
    pub folders: BTreeMap<String, String>,
    /// How a call of this key ended earlier.
    pub past: Option<Step>,
    /// Other sessions of this project that are blocked: id, reason.
    pub blocked_beside: Vec<(String, String)>,
}

/// One named rule.
pub struct Gate {
    pub name: &'static str,
    /// What it refuses, for `--help` and the docs.
    pub refuses: &'static str,
    pub judge: fn(&Session, &Event, &Scene) -> Verdict,
}

/// In the order they speak: of two refusals the first is heard.
pub static GATES: &[Gate] = &[
    Gate { name: "block", refuses: "everything, until a person clears the block", judge: block::judge },
    Gate { name: "guard", refuses: "being moved away from one's own state", judge: moved::judge },
    Gate { name: "repeat", refuses: "a call that already ended, or an id used twice", judge: repeat::judge },
];

/// The joined verdict of all gates. A refusal ends the round: later gates have nothing to add to it.
pub fn judge(session: &Session, event: &Event, scene: &Scene) -> Verdict {
    let mut verdict = Verdict::pass();
    for gate in GATES {
        verdict = verdict.join((gate.judge)(session, event, scene));
        if verdict.ruling == Ruling::Deny {
            break;
        }
    }
    verdict
}
