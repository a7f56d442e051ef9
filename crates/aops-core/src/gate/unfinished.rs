//! A session that nobody watched and that ended with a refusal is no success: whoever started it reads why.
//!
//! Reads what was observed; writes nothing. Invariant: refuses nothing.

use super::{Context, LastRefusal};
use crate::model::event::Event;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::template::one_line;

pub fn judge(_: &Session, _: &Event, context: &Context) -> Verdict {
    let Some(last) = &context.refused else { return Verdict::pass() };
    let words = format!(
        "the last thing that was tried was refused, and nothing was done after it: {}\n\
         hint: `aops-hook why` says more; {}",
        one_line(&last.why, 300),
        way_out(last)
    );
    Verdict { aloud: true, ..Verdict::notice("unfinished", words) }
}

/// How to let it pass the next time. A mode lifts the loop and nothing else.
fn way_out(last: &LastRefusal) -> String {
    match (last.gate.as_str(), last.rule.as_deref()) {
        ("danger", Some(rule)) => format!(
            "run it yourself, start the client at a terminal to be asked, or let it pass with `aops-hook danger off {rule}`"
        ),
        ("sandbox" | "audit" | "critic" | "owed" | "report" | "lease", _) => {
            "with `AOPS_MODE=guard`, or a prompt that begins with `.`, there is no loop".to_owned()
        }
        (gate, _) => format!("`{gate}` refuses this in every mode, so do it yourself in a terminal of your own"),
    }
}
