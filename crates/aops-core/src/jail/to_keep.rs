//! Keeps the files that a command would lose, right before it begins and outside of its jail.

use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::system::env::Env;
use crate::system::threads;
use crate::undo::before;
use crate::undo::look::Bounds;
use std::path::PathBuf;

/// A command that was allowed because the files it would lose are kept.
pub(super) struct ToKeep {
    command: String,
    call_id: String,
    rules: Vec<String>,
    root: PathBuf,
    session_id: String,
    bounds: Bounds,
}

impl ToKeep {
    pub(super) fn of(command: &str, calls: &[&OpenCall], session: &Session) -> Option<Self> {
        let (open, rules) = calls.iter().find_map(|open| Some((open, open.means.jailing.keeps.clone()?)))?;
        Some(Self {
            command: command.to_owned(),
            call_id: open.call.id.clone(),
            rules,
            root: PathBuf::from(&session.memory.place.root),
            session_id: session.state.session_id.clone(),
            bounds: Bounds::of(session.policy()),
        })
    }

    pub(super) fn keep(&self, env: &Env) -> Result<(), String> {
        let cwd = env.cwd.to_string_lossy();
        let command = before::Command {
            env,
            root: &self.root,
            line: &self.command,
            cwd: &cwd,
            rules: &self.rules,
            call_id: &self.call_id,
            session_id: &self.session_id,
            bounds: self.bounds,
        };
        command.keep().map_err(|why| format!("what it would lose cannot be kept: {why}"))?;
        threads::wait_until_alone();
        Ok(())
    }
}
