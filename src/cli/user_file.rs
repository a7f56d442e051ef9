//! The user's own configuration file, edited by a command: an invalid text is never written.

use super::{Io, refused};
use anyhow::Context;
use aops_core::config::in_force::{CONFIG_FILE, read_policy};
use aops_core::config::policy::{Origins, Policy, Source};
use aops_core::observe::own_changes;
use aops_core::system::env::Env;
use aops_core::system::files::{self, Found};
use std::path::Path;

/// The file with a change that is not written yet.
pub struct Edited {
    file: Found,
    pub shown: String,
    old: String,
    new: String,
    /// The policy in force in the project after the change.
    pub policy: Policy,
}

/// Refuses to write `what` for a project whose path covers other folders too: one above the home, or one that
/// reads as a pattern. `otherwise`: how to do without such a row.
pub fn check_covers_one(env: &Env, project: &Path, what: &str, otherwise: &str) -> anyhow::Result<()> {
    let shown = project.display().to_string();
    if env.home.starts_with(project) {
        return refused(format!(
            "`{shown}` is no project: {what} for it would hold for everything below\n\
            hint: run this in the project's folder, or {otherwise}"
        ));
    }
    if shown.contains(['*', '?']) {
        return refused(format!(
            "`{shown}` reads as a pattern: {what} for it could hold in other folders, too\n\
            hint: take `*` and `?` out of the folder's name, or run this {otherwise}"
        ));
    }
    Ok(())
}

/// Makes a change in the text of the file. `by_hand`: what a person has to write if the change cannot be
/// made.
pub fn edit(
    io: &Io,
    project: &Path,
    change: impl Fn(&str) -> Option<String>,
    by_hand: &str,
) -> anyhow::Result<Edited> {
    let path = io.env.user_config.join(CONFIG_FILE);
    let shown = path.display().to_string();
    let file = files::find(&path).with_context(|| format!("`{shown}`"))?;
    let old =
        String::from_utf8(file.bytes.clone().unwrap_or_default()).with_context(|| format!("`{shown}`"))?;
    let Some(new) = change(&old) else {
        return refused(format!(
            "`{shown}` is written in a form that we cannot edit\nhint: write {by_hand} there yourself"
        ));
    };
    let (policy, _) = accepted(io, project, Source { file: &shown, text: &new })?;
    Ok(Edited { file, shown, old, new, policy })
}

/// What would be in force in the project with this text, and the source of each value; refused if it has a
/// problem.
pub fn accepted(io: &Io, project: &Path, source: Source) -> anyhow::Result<(Policy, Origins)> {
    read_policy(io.env, project, Some(source)).or_else(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n{problem}")).collect();
        refused(format!(
            "the configuration would not be accepted, so nothing was changed:{}\n\
            hint: fix that first, then try again",
            lines.concat()
        ))
    })
}

impl Edited {
    pub fn is_new(&self) -> bool {
        self.old != self.new
    }

    pub fn write(&self, io: &Io) -> anyhow::Result<()> {
        let file = &self.file;
        let shown = &self.shown;
        file.check_writable().with_context(|| format!("`{shown}`"))?;
        if self.is_new() {
            let parent = file.path.parent().unwrap_or(Path::new("/"));
            files::make_folders(parent, 0o777).with_context(|| format!("`{shown}`"))?;
            own_changes::announce(io.env, &file.path, Some(self.new.as_bytes()));
            file.replace(self.new.as_bytes(), 0o666).with_context(|| format!("`{shown}`"))?;
        }
        Ok(())
    }
}
