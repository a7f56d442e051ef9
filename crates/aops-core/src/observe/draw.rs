//! Draws the audits: decides by lot which changes an auditor looks at.
//!
//! Reads the system's random bytes. Invariant: if there are none, an audit is drawn.

use crate::config::policy::Level;
use crate::gate::{Context, is_waived, rehearsal};
use crate::model::call::Effect;
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::session::fold::Session;
use crate::session::memory::OpenCall;

/// Whether an audit is drawn for this write; `None` if this event cannot draw one. Closing the work is not
/// new work to audit. Mode `observe` draws at the rate of the mode that it rehearses.
pub(super) fn draw(session: &Session, event: &Event, open: &OpenCall, context: &Context) -> Option<bool> {
    if event.by_our_agent().is_some()
        || !open.means.effect.is_some_and(|effect| effect.is_write() && effect != Effect::Close)
    {
        return None;
    }
    let rehearsed = session.policy().rehearsal().map(|policy| rehearsal::stand(session, policy));
    let session = rehearsed.as_ref().unwrap_or(session);
    let policy = session.policy();
    if policy.gates.audit == Level::Off
        || session.state.audit.due
        || session.is_small()
        || is_waived(session, context, GateId::Audit)
    {
        return None;
    }
    let late = session.memory.progress.audit.writes_since_draw + 1 >= policy.audit.at_least_every;
    Some(is_drawn(random(), policy.audit.rate.in_millionths(), late))
}

/// `rate`: audits per million writes. A `late` write is always drawn unless the rate is zero.
fn is_drawn(random: Option<u32>, rate: u32, late: bool) -> bool {
    let by_lot = random.is_none_or(|random| (u64::from(random) * 1_000_000) >> 32 < u64::from(rate));
    rate > 0 && (late || by_lot)
}

fn random() -> Option<u32> {
    #[cfg(test_switches)]
    if let Some(lot) = crate::system::env::fixed_lot() {
        return Some(lot);
    }
    let mut bytes = [0_u8; 4];
    crate::system::random::fill(&mut bytes).ok()?;
    Some(u32::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_randomness_the_audit_is_drawn_unless_the_rate_is_zero() {
        let half = 500_000;
        assert!(is_drawn(None, half, false) && is_drawn(None, 1, false) && !is_drawn(None, 0, false));
        assert!(is_drawn(Some(0), half, false) && !is_drawn(Some(u32::MAX), half, false));
        assert!(is_drawn(Some(u32::MAX), half, true) && !is_drawn(Some(0), 0, true));
    }
}
