//! Finds programs that a settings file runs under our name but that are not ours: a session would mistake
//! them for us.
//!
//! Reads settings files, the receipt of an installation, and the `stat` of each program. Invariants: our
//! program is the one that runs here, or one that `install` recorded and that was not changed since;
//! administrators answer for what they registered themselves; reporting a program that does not exist is up
//! to `doctor`.

use crate::gate::guard::Protected;
use crate::host::claude::settings::{SCRIPT, SCRIPT_COMMAND, SCRIPT_IN_SHELL, SCRIPT_PATH};
use crate::host::recorded;
use crate::observe::tampering::{self, Held};
use crate::system::env::Env;
use crate::system::files;
use crate::text::sha256::sha256;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A program that is not ours, with the settings file that runs it and the events it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impostor {
    pub file: String,
    pub program: String,
    pub events: Vec<String>,
}

impl Impostor {
    pub fn describe(&self) -> String {
        let more = self.events.len().saturating_sub(1);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let event = self.events.first().map(String::as_str).unwrap_or_default();
        format!(
            "`{}` runs `{}` for `{event}`{more}: it has our name, and is neither the program that runs here nor one that `aops-hook install` recorded",
            self.file, self.program
        )
    }

    /// The message for the person.
    pub fn words(&self) -> String {
        let what = self.describe();
        format!(
            "{what}\nhint: remove that entry if you do not know it; `aops-hook doctor` lists what is registered"
        )
    }
}

/// What the settings run under our name: our program, and impostors.
#[derive(Clone, Debug, Default)]
pub struct Registered {
    pub held: Held,
    pub impostors: Vec<Impostor>,
    /// What was protected at that time, for later checks of the same event.
    pub protected: Protected,
}

pub fn look(env: &Env, protected: Protected) -> Registered {
    let mut held = tampering::held(&protected);
    let own = std::env::current_exe().ok();
    let receipt = recorded::receipt(env, "");
    let receipt: Value =
        files::read(receipt).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let ground = Ground { env, project: &protected.project, own: own.as_deref().and_then(identity), receipt };
    let mut found = Vec::new();
    for (file, entries) in held.iter_mut().filter(|(file, _)| !tampering::is_managed(file)) {
        let mut strange: BTreeMap<String, Vec<String>> = BTreeMap::new();
        entries.retain(|entry| {
            let Some((event, program)) = entry.split_once('=') else { return true };
            let is_ours = !strange.contains_key(program) && ground.is_ours(program);
            if !is_ours {
                strange.entry(program.to_owned()).or_default().push(event.to_owned());
            }
            is_ours
        });
        found.extend(strange.into_iter().map(|(program, events)| Impostor {
            file: file.clone(),
            program,
            events,
        }));
    }
    held.retain(|_, entries| !entries.is_empty());
    Registered { held, impostors: found, protected }
}

/// Identifies the file behind all its names and links.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

struct Ground<'a> {
    env: &'a Env,
    project: &'a str,
    own: Option<(u64, u64)>,
    receipt: Value,
}

impl Ground<'_> {
    fn is_ours(&self, program: &str) -> bool {
        if [SCRIPT_COMMAND, SCRIPT_IN_SHELL].contains(&program) {
            return self.is_our_script(&Path::new(self.project).join(SCRIPT_PATH));
        }
        let path =
            if program.contains('/') { Some(PathBuf::from(program)) } else { self.env.on_path(program) };
        match path.as_deref().map(|path| (path, identity(path))) {
            Some((path, Some(found))) => self.own == Some(found) || self.is_recorded(path),
            _ => true,
        }
    }

    /// The script in a project that its settings run is ours: that of this version, or the one that was
    /// installed.
    fn is_our_script(&self, path: &Path) -> bool {
        let Ok(text) = files::read(path) else { return true };
        let placed = self.receipt["files"].as_array().into_iter().flatten();
        let is_placed =
            |file: &Value| file["path"].as_str() == path.to_str() && file["sha256"] == sha256(&[&text]);
        text == SCRIPT.as_bytes() || placed.into_iter().any(is_placed)
    }

    fn is_recorded(&self, path: &Path) -> bool {
        let recorded = path.to_str().and_then(|path| self.receipt["programs"].get(path)?.as_str());
        recorded.is_some_and(|mark| mark == program_mark(path))
    }
}

/// Recognises a program. Not even an edit in place can hide, since nobody can set a file's change time back.
pub fn program_mark(path: &Path) -> String {
    tampering::mark(&path.to_string_lossy(), false, &BTreeMap::new())
}
