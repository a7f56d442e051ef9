//! Runs the command under `[run] notify` when a run pauses or ends.
//!
//! Starts that command. Invariant: its failure does not change the run.

use super::finish::Finish;
use super::reporter::Reporter;
use crate::config::policy::Policy;
use crate::system::env::{Env, RUN};
use crate::system::process::{self, Ending, Task};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn notify(env: &Env, reporter: &mut dyn Reporter, policy: &Policy, root: &Path, finish: &Finish) {
    let Some(line) = &policy.run.notify else { return };
    let mut variables = env.variables(|_| true);
    let packet = finish.packet.display().to_string();
    let added = [
        (RUN, finish.run_id.as_str()),
        ("AOPS_OUTCOME", finish.outcome.name()),
        ("AOPS_REASON", finish.reason.as_str()),
        ("AOPS_PACKET", packet.as_str()),
    ];
    variables.extend(added.map(|(name, value)| (name.to_owned(), OsString::from(value))));
    let variables: Vec<(&str, &OsStr)> = variables.iter().map(|(n, v)| (n.as_str(), v.as_os_str())).collect();
    let task = Task {
        program: Path::new("/bin/sh"),
        args: &["-c".to_owned(), line.clone()],
        folder: root,
        variables: &variables,
        input: b"",
        timeout: TIMEOUT,
        keep: 1000,
    };
    if !process::run(&task).is_ok_and(|done| done.ending == Ending::Exit(0)) {
        reporter.note("the command under `[run] notify` failed");
    }
}
