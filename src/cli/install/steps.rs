//! What happens to each file, decided before anything is done: an installation, and how to undo it, for any
//! client.
//!
//! Reads the files that its makers name; writes them and the receipt. Invariants: every refusal happens
//! before the first write; the receipt is written before the changes it lists, so a crash in between leaves
//! nothing unlisted; the old text of a shared file is saved, including later edits, and is restored byte for
//! byte if the file was not edited since.

use super::receipt::{Edited, Receipt, back_up, quote_path};
use anyhow::{Context, bail};
use aops_core::config::problem::position;
use aops_core::host::claude::settings::Unreadable;
use aops_core::observe::own_changes;
use aops_core::proof::life;
use aops_core::system::env::Env;
use aops_core::system::files::{self, Found};
use aops_core::text::diff::unified;
use aops_core::text::sha256::sha256;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The permissions of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// According to the person's umask.
    Usual,
    /// Like `Usual`, and executable.
    Program,
    /// Only the person.
    Own,
    /// Everybody, whatever root's umask is.
    Everybody,
}

impl Readers {
    fn file(self) -> u32 {
        match self {
            Self::Usual => 0o666,
            Self::Program => 0o777,
            Self::Own => 0o600,
            Self::Everybody => 0o644,
        }
    }

    fn folder(self) -> u32 {
        match self {
            Self::Usual | Self::Program => 0o777,
            Self::Own => 0o700,
            Self::Everybody => 0o755,
        }
    }
}

/// The new state of a file.
#[derive(Clone, Debug)]
pub enum Becomes {
    Text(String),
    /// A link to this target.
    Link(PathBuf),
    Gone,
}

impl Becomes {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// One file and what happens to it.
#[derive(Debug)]
pub struct Step {
    pub found: Found,
    pub becomes: Becomes,
    readers: Readers,
    /// For a file that others write too: its text without our entries, which is kept.
    without: Option<String>,
    /// Open sessions recognise this change as ours.
    announced: bool,
}

impl Step {
    pub fn write(found: Found, text: String, readers: Readers) -> Self {
        Self { found, becomes: Becomes::Text(text), readers, without: None, announced: false }
    }

    pub fn link(path: PathBuf, to: PathBuf) -> Self {
        let found = Found { path, bytes: None };
        Self { becomes: Becomes::Link(to), ..Self::write(found, String::new(), Readers::Everybody) }
    }

    /// Removes what is at this path, without following a link there.
    pub fn remove_at(path: PathBuf) -> Self {
        Self::remove(Found { path, bytes: None })
    }

    pub fn remove(found: Found) -> Self {
        Self { becomes: Becomes::Gone, ..Self::write(found, String::new(), Readers::Usual) }
    }

    /// A file that others write too. `without`: its text without our entries.
    pub fn merge(found: Found, text: String, without: String, readers: Readers) -> Self {
        Self { without: Some(without), ..Self::write(found, text, readers).announced() }
    }

    /// Restores a merged file; `None` means that there was no file.
    pub fn restore(found: Found, text: Option<String>, readers: Readers) -> Self {
        let becomes = text.map_or(Becomes::Gone, Becomes::Text);
        Self { becomes, ..Self::write(found, String::new(), readers).announced() }
    }

    #[must_use]
    pub fn announced(self) -> Self {
        Self { announced: true, ..self }
    }

    pub fn old(&self) -> String {
        String::from_utf8_lossy(self.found.bytes.as_deref().unwrap_or_default()).into_owned()
    }

    pub fn path(&self) -> String {
        self.found.path.display().to_string()
    }

    pub fn changes(&self) -> bool {
        match &self.becomes {
            Becomes::Text(text) => self.found.bytes.as_deref() != Some(text.as_bytes()),
            Becomes::Link(to) => fs::read_link(&self.found.path).ok().as_ref() != Some(to),
            Becomes::Gone => self.found.path.symlink_metadata().is_ok(),
        }
    }

    pub fn text(&self) -> Option<&str> {
        self.becomes.text()
    }

    pub fn is_gone(&self) -> bool {
        matches!(self.becomes, Becomes::Gone)
    }

    pub fn diff(&self) -> String {
        let path = self.path();
        let name = |there: bool| if there { path.clone() } else { "/dev/null".to_owned() };
        let new = self.becomes.text();
        unified(&name(self.found.bytes.is_some()), &name(new.is_some()), &self.old(), new.unwrap_or_default())
    }

    fn carry_out(&self) -> anyhow::Result<()> {
        let path = &self.found.path;
        let done = match &self.becomes {
            _ if !self.changes() => Ok(()),
            Becomes::Text(text) => self.found.replace(text.as_bytes(), self.readers.file()).and_then(|()| {
                let is_new = self.readers == Readers::Everybody && self.found.bytes.is_none();
                if is_new {
                    fs::set_permissions(path, fs::Permissions::from_mode(self.readers.file()))
                } else {
                    Ok(())
                }
            }),
            Becomes::Link(to) => {
                let _ = fs::remove_file(path);
                std::os::unix::fs::symlink(to, path)
            }
            // Its content was not read: it is a link, or belongs to us alone.
            Becomes::Gone if self.found.bytes.is_none() => fs::remove_file(path),
            Becomes::Gone => self.found.remove(),
        };
        done.with_context(|| quote_path(path))
    }

    /// Records a merged file in the receipt. Returns the copy of its original, if a new one was made.
    fn enter(&self, env: &Env, receipt: &mut Receipt) -> anyhow::Result<Option<PathBuf>> {
        let Some(without) = &self.without else { return Ok(None) };
        let path = self.found.path.clone();
        let known = receipt.edited(&path).cloned();
        let (original, kept) = match known {
            Some(known) if known.untouched(&self.found) => (known.original, None),
            _ => {
                // If the file held only our entries, there was no file before.
                let was_there =
                    !(without.is_empty() && self.found.bytes.as_ref().is_some_and(|old| !old.is_empty()));
                let wanted = self.found.bytes.is_some() && was_there;
                let copy = wanted.then(|| back_up(env, &path, without.as_bytes())).transpose()?;
                (copy.clone(), copy)
            }
        };
        let wrote_sha256 = sha256(&[self.becomes.text().unwrap_or_default().as_bytes()]);
        receipt.settings.retain(|edited| edited.path != path);
        receipt.settings.push(Edited { path, wrote_sha256, original });
        Ok(kept)
    }
}

/// Everything to do, in this order.
#[derive(Debug, Default)]
pub struct Steps {
    pub list: Vec<Step>,
    /// The receipt as it will be; `None` for an administrator's files.
    pub receipt: Option<Receipt>,
    /// Something installed is removed.
    pub takes_back: bool,
    /// Copies of originals that were restored byte for byte.
    pub needless: Vec<PathBuf>,
    /// Removing the last settings also removes the key, if no session was ever recorded.
    pub forgets_key: bool,
    /// A merged file is restored byte for byte.
    pub restores: bool,
    /// Our files that were edited since, and are therefore left.
    pub left: Vec<PathBuf>,
}

impl Steps {
    /// Refuses a read-only file before anything is done.
    pub fn check(self) -> anyhow::Result<Self> {
        for step in self.list.iter().filter(|step| step.changes()) {
            step.found.check_writable().map_err(|error| {
                let path = step.path();
                anyhow::anyhow!("`{path}` is {error}\nhint: run `chmod u+w {path}`, then try again")
            })?;
        }
        Ok(self)
    }

    pub fn changes(&self) -> bool {
        self.list.iter().any(Step::changes)
    }

    pub fn diff(&self) -> String {
        self.list.iter().filter(|step| step.changes()).map(Step::diff).collect()
    }

    /// Carries out the steps. Returns where the original of a merged file was saved, if a new copy was made.
    pub fn carry_out(mut self, env: &Env) -> anyhow::Result<Option<PathBuf>> {
        self.make_folders(env)?;
        for step in self.list.iter().filter(|step| step.announced && step.changes()) {
            own_changes::announce(env, &step.found.path, step.becomes.text().map(str::as_bytes));
        }
        let mut kept = None;
        if let Some(receipt) = self.receipt.as_mut().filter(|_| !self.takes_back) {
            for step in &self.list {
                kept = step.enter(env, receipt)?.or(kept);
            }
            receipt.write(env)?;
        }
        self.list.iter().try_for_each(Step::carry_out)?;
        for copy in &self.needless {
            let _ = fs::remove_file(copy);
        }
        let Some(receipt) = self.receipt.filter(|_| self.takes_back) else { return Ok(kept) };
        if self.forgets_key && receipt.settings.is_empty() {
            life::forget_unused(env)?;
        }
        receipt.close(env).map(|()| kept)
    }

    fn make_folders(&mut self, env: &Env) -> anyhow::Result<()> {
        let root = Path::new("/");
        let new = self.list.iter().filter(|step| step.changes() && !step.is_gone());
        let folders: Vec<_> =
            new.map(|step| (step.found.path.parent().unwrap_or(root).to_owned(), step.readers)).collect();
        let Some(receipt) = &mut self.receipt else {
            for (folder, readers) in folders {
                for made in files::make_folders(&folder, readers.folder())? {
                    fs::set_permissions(made, fs::Permissions::from_mode(readers.folder()))?;
                }
            }
            return Ok(());
        };
        if self.takes_back {
            return Ok(());
        }
        receipt.make_folders(&env.config, 0o777)?;
        receipt.make_folders(&env.config.join("aops/backup"), 0o700)?;
        folders.iter().try_for_each(|(folder, readers)| receipt.make_folders(folder, readers.folder()))
    }
}

/// How a merged file is restored.
pub struct TakenBack {
    pub step: Step,
    /// The file is restored byte for byte, as it was before the installation.
    pub is_exact: bool,
    /// The copy that is then no longer needed.
    pub copy: Option<PathBuf>,
}

/// `without`: its text without our entries, computed from the original.
pub fn taken_back(
    receipt: &Receipt,
    found: Found,
    readers: Readers,
    without: impl FnOnce(Option<&str>) -> anyhow::Result<String>,
) -> anyhow::Result<TakenBack> {
    let edited = receipt.edited(&found.path).cloned();
    if found.bytes.is_none() {
        let is_exact = edited.is_some_and(|edited| edited.untouched(&found));
        return Ok(TakenBack { step: Step::restore(found, None, readers), is_exact, copy: None });
    }
    let exact =
        edited.as_ref().filter(|edited| edited.untouched(&found)).and_then(|edited| edited.original().ok());
    if let Some(original) = exact {
        let copy = edited.and_then(|edited| edited.original);
        return Ok(TakenBack { step: Step::restore(found, original, readers), is_exact: true, copy });
    }
    let original = edited.as_ref().and_then(|edited| edited.original().ok().flatten());
    let text = without(original.as_deref())?;
    let was_absent = edited.is_some_and(|edited| edited.original.is_none());
    let is_empty = matches!(text.split_whitespace().collect::<String>().as_str(), "" | "{}");
    let text = Some(text).filter(|_| !(was_absent && is_empty));
    Ok(TakenBack { step: Step::restore(found, text, readers), is_exact: false, copy: None })
}

/// A settings file and its text, empty if there is no file.
pub fn read_settings(path: &Path) -> anyhow::Result<(Found, String)> {
    let found = files::find(path).with_context(|| quote_path(path))?;
    match String::from_utf8(found.bytes.clone().unwrap_or_default()) {
        Ok(text) => Ok((found, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let (line, column) = position(&String::from_utf8_lossy(&error.as_bytes()[..valid]), valid);
            Err(unreadable(path, &Unreadable { line, column, words: "not UTF-8".to_owned() }))
        }
    }
}

pub fn unreadable(path: &Path, error: &Unreadable) -> anyhow::Error {
    anyhow::anyhow!(
        "{}, {error}\nhint: the file was left as it is; make it plain JSON (no comments, no trailing \
        commas), then try again",
        quote_path(path)
    )
}

/// Our texts in their places, each with its content; refused if a foreign file has the name.
pub fn own_texts(
    texts: impl IntoIterator<Item = (PathBuf, String, Readers)>,
    receipt: &Receipt,
) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut foreign = Vec::new();
    for (path, text, readers) in texts {
        let found = files::find(&path).with_context(|| quote_path(&path))?;
        let is_other = found.bytes.as_ref().is_some_and(|bytes| bytes != text.as_bytes());
        if is_other && !receipt.placed(&path) {
            foreign.push(quote_path(&found.path));
        } else {
            steps.push(Step::write(found, text, readers));
        }
    }
    if foreign.is_empty() {
        return Ok(steps);
    }
    bail!(
        "these files are not from aops-hook and were not overwritten: {}\n\
        hint: nothing was installed; move them away, then install again",
        foreign.join(", ")
    )
}

/// Steps that remove the unchanged placed texts, and the texts that were edited.
pub fn placed_texts<'a>(
    placed: impl Iterator<Item = &'a super::receipt::Placed>,
) -> anyhow::Result<(Vec<Step>, Vec<PathBuf>)> {
    let mut ours = Vec::new();
    let mut left = Vec::new();
    for placed in placed {
        let found = files::find(&placed.path).with_context(|| quote_path(&placed.path))?;
        match &found.bytes {
            None => {}
            Some(_) if placed.untouched(&found) => ours.push(Step::remove(found)),
            Some(_) => left.push(found.path),
        }
    }
    Ok((ours, left))
}
