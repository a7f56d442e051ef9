//! Timers that outlive their session: the client may send their words to any session of the project, and
//! takes them off its own list as it does.
//!
//! Reads and appends `<config>/aops/timers/PROJECT`, one mark per line. Invariants: a mark is on the disk
//! before the call that sets its timer passes; one that was refused stays, which only makes its words weaker.

use crate::config::texts;
use crate::model::error::Failure;
use crate::model::event::Event;
use crate::session::timer::{SpokenPrompt, TimerMark};
use crate::system::env::Env;
use crate::system::{files, folder};
use crate::text::json::{self, Json};
use crate::text::sha256::sha256;
use std::path::{Path, PathBuf};

/// A longer list is not read: then no prompt in its project has a person's authority.
const LONGEST: u64 = 256 << 10;
const FOLDER: [&str; 2] = ["aops", "timers"];

/// Remembers the timer that this call sets, if it outlives the session.
pub(super) fn remember(env: &Env, event: &Event) -> Result<(), Failure> {
    let call = event.call().filter(|call| call.key.tool == "CronCreate" && !env.dry_run);
    let Some(input) = call.and_then(|call| json::read(&call.input).ok()) else { return Ok(()) };
    let lasts = !matches!(input.get("durable"), None | Some(Json::Bool(false)));
    let Some(prompt) = input.text_of("prompt").filter(|_| lasts) else { return Ok(()) };
    let mark = String::from(TimerMark::of(&prompt));
    for name in names(env, event) {
        let known = files::read_text(place(env, &name)).unwrap_or_default();
        if !known.lines().any(|line| line == mark) {
            let (file, _) =
                folder::append_line(&files::open_own(&env.config, &FOLDER)?, &name, format!("{mark}\n"))?;
            file.sync_data().map_err(|error| Failure::storage(name, error))?;
        }
    }
    Ok(())
}

/// Why a timer of another session may send this prompt.
pub(super) fn sends(env: &Env, event: &Event, prompt: &SpokenPrompt) -> Option<String> {
    names(env, event).into_iter().find_map(|name| {
        let place = place(env, &name);
        let long = place.symlink_metadata().ok()?.len();
        let text = if long > LONGEST { None } else { files::read_text(&place).ok() };
        let Some(text) = text else {
            let place = place.display();
            return Some(format!(
                "the project's lasting timers in `{place}` cannot be read; remove that file if none is left"
            ));
        };
        let is_said = |line: &str| TimerMark::from(line.to_owned()).is_said_by(prompt);
        text.lines().any(is_said).then(|| "a lasting timer of this project sends the same words".to_owned())
    })
}

/// The project by its folder, and by the one that the client was started in.
fn names(env: &Env, event: &Event) -> Vec<String> {
    let name = |root: &Path| sha256(&[root.as_os_str().as_encoded_bytes()])[..16].to_owned();
    let here = name(&texts::project(env, Path::new(&event.cwd)));
    let started = name(&env.client.project);
    if here == started { vec![here] } else { vec![here, started] }
}

fn place(env: &Env, name: &str) -> PathBuf {
    FOLDER.iter().fold(env.config.clone(), |path, part| path.join(part)).join(name)
}
