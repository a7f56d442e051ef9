//! A session that nobody watched and that ended with a refusal is no success: whoever started it reads why.
//!
//! Reads what was observed; writes nothing. Invariant: refuses nothing.

use super::Context;
use crate::model::event::Event;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::template::one_line;

pub fn judge(_: &Session, _: &Event, context: &Context) -> Verdict {
    let Some(why) = &context.refused else { return Verdict::pass() };
    let words = format!(
        "the last thing that was tried was refused, and nothing was done after it: {}\n\
         hint: `aops-hook why` says more; with `AOPS_MODE=guard`, or a prompt that begins with `.`, there is no loop",
        one_line(why, 300)
    );
    Verdict { aloud: true, ..Verdict::notice("unfinished", words) }
}
