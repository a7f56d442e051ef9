//! Sessions whose commands no jail confines: such a command may have read the keys, and signed anything.
//!
//! Reads entries, writes nothing. Invariant: the log records it before such a session's first command, and
//! again after new keys, as long as such a session continues.

use crate::ledger::entry::Line;
use crate::model::profile::JailState;
use crate::session::fact::{Fact, Happened};
use crate::session::memory::Memory;

/// The log's entry about it.
pub const UNHELD: &str = "unheld";

/// What confines the commands of a session whose entries are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// The kernel, or the ledger says what does.
    Held,
    /// Nothing: their text alone is judged.
    Unheld,
}

impl Commands {
    fn of(jail: Option<&JailState>) -> Self {
        if jail.is_some_and(JailState::is_on) { Self::Held } else { Self::Unheld }
    }

    /// `through_us`: the client starts commands through us. If the session's start is not in its record, each
    /// command finds out for itself what confines it.
    pub fn of_session(memory: &Memory, through_us: bool) -> Self {
        let is_unknown = memory.client.jail.is_none() && memory.place.root.is_empty();
        match (memory.client.unjailed, is_unknown && through_us) {
            (true, _) => Self::Unheld,
            (false, true) => Self::Held,
            (false, false) => Self::of(memory.client.jail.as_ref()),
        }
    }
}

/// A session whose commands no jail confines starts here.
pub fn starts(line: &Line) -> bool {
    if line.kind != "event" || !line.with.contains("\"session_started\"") {
        return false;
    }
    let Some(Fact::Event(seen)) = Fact::read(line.kind, line.with) else { return false };
    matches!(&seen.what, Happened::SessionStarted(start) if Commands::of(start.jail.as_ref()) == Commands::Unheld)
}

/// The log has recorded it since the last keys were made. `events`: the log's own entries.
pub fn is_told(events: &str) -> bool {
    let mut kinds = events.lines().rev().filter_map(|line| Some(Line::read(line.as_bytes())?.kind));
    kinds.find(|kind| matches!(*kind, UNHELD | "key")) == Some(UNHELD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::profile::Hold;

    #[test]
    fn a_command_that_ran_outside_the_jail_leaves_nothing_held() {
        let mut memory = Memory::default();
        memory.client.jail = Some(JailState { hold: Hold::Namespaces, ..JailState::default() });
        assert_eq!(Commands::of_session(&memory, true), Commands::Held);
        memory.client.unjailed = true;
        assert_eq!(Commands::of_session(&memory, true), Commands::Unheld);
    }
}

/// The leaf from which on no command can have read the keys, and which session's commands may have read
/// earlier ones.
#[derive(Clone, Debug, Default)]
pub struct HeldFrom {
    pub leaf: u64,
    pub session: Option<String>,
}
