//! What `git clean` leaves alone of the protected places: what git tracks, and what it ignores.
//!
//! Asks git, and only if such a line would otherwise be refused. Invariant: where git does not answer, or may
//! be told otherwise by an option or a variable, every place that exists counts as swept.

use crate::gate::guard::Protected;
use crate::model::event::Event;
use crate::system::env::Env;
use crate::system::git;
use crate::tool::targets::{Act, CommandRun, Targets};
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(2);

/// Removes the places that stay from those that are in the way.
pub(super) fn leave_out(env: &Env, event: &Event, reach: &Targets, protected: &mut Protected) {
    let Some(standing) = &mut protected.on_disk.standing else { return };
    let below: Vec<Act> =
        reach.paths.iter().map(|target| target.act).filter(|act| act.goes_below()).collect();
    let sweeps = !below.is_empty() && below.iter().all(|act| *act == Act::Sweep);
    if !sweeps || !reach.runs.iter().all(is_as_configured) {
        return;
    }
    let project = Path::new(&protected.project);
    let (inside, outside): (Vec<_>, Vec<_>) =
        std::mem::take(standing).into_iter().partition(|place| Path::new(place).starts_with(project));
    let ask = ["ls-files", "-z", "--others", "--exclude-standard", "--"];
    let words: Vec<&str> = ask.into_iter().chain(inside.iter().map(String::as_str)).collect();
    let said = git::run(env, Path::new(&event.cwd), &words, b"", PATIENCE);
    let stays = inside.is_empty() || said.is_ok_and(|swept| swept.is_empty());
    *standing = if stays { outside } else { [inside, outside].concat() };
}

/// It only reads, or is `git clean` with git's own configuration: nothing in the line changes what is tracked
/// or ignored.
fn is_as_configured(run: &CommandRun) -> bool {
    let cleans = matches!(&run.command.words[..], [git, verb, ..] if git.is("git") && verb.is("clean"));
    run.assigned.is_empty() && (run.reads || cleans)
}
