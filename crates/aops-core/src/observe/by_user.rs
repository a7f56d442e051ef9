//! What the user's configuration requires of a call, and where the user's plan mode may write.
//!
//! Resolves links in the paths that a call names; decides nothing.

use crate::config::policy::Policy;
use crate::gate::{CallContext, CheckFacts, Evidence, RuleFacts};
use crate::model::call::ToolCall;
use crate::model::client::Ability;
use crate::model::event::Event;
use crate::observe::{evidence, named, real_paths};
use crate::system::env::Env;
use crate::text::json;
use crate::tool::targets::Targets;
use crate::tool::{table, tracking};
use aops_shell::syntax::Word;
use std::path::{Path, PathBuf};

/// What the user's rules, checks and commands require of a call that reaches these targets.
pub(super) fn asked(
    env: &Env,
    policy: &Policy,
    event: &Event,
    (call, project): (&ToolCall, &str),
    reach: Targets,
) -> CallContext {
    let mut seen = CallContext::default();
    if !policy.checks.is_empty() {
        seen.checks =
            CheckFacts { saves: saves(event, call), commits: reach.runs.iter().any(named::commits) };
    }
    if !policy.rules.is_empty() {
        let (paths, read, commands) = named::list(event, call, &reach);
        seen.rules = RuleFacts { paths, read, commands };
    }
    // Other clients do not report exit codes.
    let test = policy.evidence.test.as_deref().filter(|_| env.host.can(Ability::TellsExits));
    let roots = [project, event.cwd.as_str()];
    seen.task.tests = test.map_or(Evidence::Other, |test| evidence::of(test, call, &reach, &roots));
    let format = policy.close.format.as_deref();
    seen.task.formats =
        format.is_some_and(|format| evidence::of(format, call, &reach, &roots) != Evidence::Other);
    seen.task.tracks = tracking::of(&policy.tracker.command, &call.key.tool, &call.input, &reach);
    seen.task.looks = seen.task.tracks.is_empty() && tracking::only_looks(&policy.tracker.command, &reach);
    seen.reach = reach;
    seen
}

/// The file that an edit tool is about to save.
pub(super) fn saves(event: &Event, call: &ToolCall) -> Option<String> {
    let field = table::edited_field(&call.key.tool)?;
    let path = json::read(&call.input).ok()?.text_of(field).unwrap_or_default();
    let path = Path::new(&event.cwd).join(path);
    Some(real_paths::real(&path).unwrap_or(path).to_string_lossy().into_owned())
}

/// Where plan mode may write: nowhere if a link leads out of the folder.
pub(super) fn plans(env: &Env, event: &Event, reach: &Targets) -> PathBuf {
    let plans = env.config.join("plans");
    if event.is_planning() && leaves(&plans, reach) { PathBuf::new() } else { plans }
}

/// A link among these targets leads out of this folder.
fn leaves(folder: &Path, reach: &Targets) -> bool {
    let real = real_paths::real(folder).unwrap_or_else(|| folder.to_path_buf());
    let inside = |word: &Word| word.literal().is_some_and(|path| Path::new(&path).starts_with(&real));
    reach.paths.iter().filter_map(|target| target.real.as_ref()).any(|word| !inside(word))
}
