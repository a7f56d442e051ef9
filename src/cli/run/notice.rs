//! Tells the user that a run pauses or has ended, by the command they configured.
//!
//! Starts that command. Invariant: whatever becomes of it, the run is not touched by it.

use super::super::Io;
use super::driver::Finish;
use super::progress;
use crate::config::policy::Policy;
use crate::system::process::{self, Ending, Task};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn send(io: &mut Io, policy: &Policy, root: &Path, finish: &Finish) {
    let Some(line) = &policy.run.notify else { return };
    let mut variables = io.env.variables(|_| true);
    let packet = finish.packet.display().to_string();
    let said = [
        (crate::system::env::RUN, finish.run_id.as_str()),
        ("AOPS_OUTCOME", finish.outcome.name()),
        ("AOPS_REASON", finish.reason.as_str()),
        ("AOPS_PACKET", packet.as_str()),
    ];
    variables.extend(said.map(|(name, value)| (name.to_owned(), OsString::from(value))));
    let variables: Vec<(&str, &OsStr)> = variables.iter().map(|(n, v)| (n.as_str(), v.as_os_str())).collect();
    let task = Task {
        program: Path::new("/bin/sh"),
        args: &["-c".to_owned(), line.clone()],
        folder: root,
        variables: &variables,
        input: b"",
        timeout: PATIENCE,
        keep: 1000,
    };
    if !process::run(&task).is_ok_and(|done| done.ending == Ending::Exit(0)) {
        progress::words(io, "the command under `[run] notify` failed");
    }
}
