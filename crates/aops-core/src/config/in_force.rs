//! What is in force here and now: the policy from the configuration files, the texts, and one hash over both.
//!
//! Reads the administrator's bundle, the user's configuration folder and the project's `.aops`; `keep` writes
//! below `<config>/aops/policies`. Invariants: the same texts give the same hash on every machine; a file
//! that cannot be read or understood is a problem, never a fallback to less.

use crate::config::policy::{self, ModeLevel, Origins, Policy, Source};
use crate::config::problem::Problem;
use crate::config::texts::{self, Reading, Texts};
use crate::model::client::Ability;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files::{self, make_all};
use crate::text::stored::{canonical, digest_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const CONFIG_FILE: &str = "config.toml";

/// Everything that influences our decisions.
#[derive(Clone, Debug)]
pub struct InForce {
    pub policy: Policy,
    /// 64 hex digits, over `Form`.
    pub hash: String,
    pub origins: Origins,
    pub texts: Texts,
    /// The folder whose `.aops` counts.
    pub project: PathBuf,
}

/// What is hashed. Stored type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    pub policy: Policy,
    /// The digest of every agent, workflow, axiom and template, by its name.
    pub texts: BTreeMap<String, String>,
}

pub fn load(env: &Env, cwd: &Path) -> Result<InForce, Failure> {
    load_in(&Reading::new(env, cwd), None)
}

/// The same through this event's `Reading`, in the mode that the start of a session chose.
pub fn load_in(reading: &Reading, chosen: Option<ModeLevel>) -> Result<InForce, Failure> {
    look_in(reading, chosen).map_err(|problems| refused(&problems))
}

fn refused(problems: &[Problem]) -> Failure {
    let mut words: Vec<String> = problems.iter().take(3).map(ToString::to_string).collect();
    if problems.len() > words.len() {
        words.push(format!("and {} more", problems.len() - words.len()));
    }
    Failure::new(Code::ConfigInvalid, words.join("\n"))
}

/// Only the policy, without the texts: for programs that start before a session knows it.
pub fn policy(env: &Env, cwd: &Path) -> Result<Policy, Failure> {
    policy_in(&Reading::new(env, cwd), None)
}

/// The same through this event's `Reading`, in the mode that the start of a session chose.
pub fn policy_in(reading: &Reading, chosen: Option<ModeLevel>) -> Result<Policy, Failure> {
    in_mode(reading, chosen).map(|(policy, _)| policy).map_err(|problems| refused(&problems))
}

fn in_mode(reading: &Reading, chosen: Option<ModeLevel>) -> Result<(Policy, Origins), Vec<Problem>> {
    let (mut policy, origins) = of_files(reading).clone()?;
    if let Some(mode) = chosen {
        policy::hold_in(&mut policy, &origins, mode);
    }
    Ok((policy, origins))
}

/// The same, with every problem instead of one failure.
pub fn look(env: &Env, cwd: &Path) -> Result<InForce, Vec<Problem>> {
    look_in(&Reading::new(env, cwd), None)
}

fn look_in(reading: &Reading, chosen: Option<ModeLevel>) -> Result<InForce, Vec<Problem>> {
    let (policy, origins) = in_mode(reading, chosen)?;
    let texts = texts::in_force(reading).clone();
    if !texts.problems.is_empty() {
        return Err(texts.problems.into_iter().map(|odd| Problem { line: 0, ..odd }).collect());
    }
    let digests = reading.digests.get_or_init(|| texts.digests());
    let hash = digest_of(&Form { policy: policy.clone(), texts: digests.clone() });
    Ok(InForce { policy, hash, origins, texts, project: reading.root().to_owned() })
}

/// The policy of the configuration files and the bundle.
fn of_files<'r>(reading: &'r Reading) -> &'r Result<(Policy, Origins), Vec<Problem>> {
    let read = || {
        let user = config(reading, &reading.user_config, None)?;
        below_user(reading, user.as_ref().map(|(file, text)| Source { file, text }))
    };
    reading.policy.get_or_init(|| Box::new(read()))
}

/// The mode if nobody chose one: a client without our agents cannot plan or verify anything.
fn unchosen(env: &Env) -> ModeLevel {
    if env.host.can(Ability::StartsAgents) { ModeLevel::Loop } else { ModeLevel::Guard }
}

/// What would be in force in a project if this were the user's file.
pub fn read_policy(
    env: &Env,
    project: &Path,
    user: Option<Source>,
) -> Result<(Policy, Origins), Vec<Problem>> {
    below_user(&Reading::of_project(env, project), user)
}

fn below_user(reading: &Reading, user: Option<Source>) -> Result<(Policy, Origins), Vec<Problem>> {
    let project = reading.root();
    let own = config(reading, &project.join(".aops"), Some(project))?;
    let path = project.to_string_lossy();
    let home = reading.home.to_string_lossy();
    let own = own.as_ref().map(|(file, text)| Source { file, text });
    let managed = reading.bundle().map_err(|problem| vec![problem])?;
    let managed = managed.and_then(|bundle| Some((bundle.file(CONFIG_FILE), bundle.files.get(CONFIG_FILE)?)));
    let managed = managed.as_ref().map(|(file, packed)| Source { file, text: &packed.text });
    policy::read_for(unchosen(reading), policy::Folder { path: &path, home: &home }, managed, user, own)
}

impl InForce {
    /// The digest of what influences decisions: two machines with the same digest decide alike, wherever they
    /// report, listen and store.
    pub fn decides(&self) -> String {
        digest_of(&Form { policy: self.policy.deciding(), texts: self.texts.digests() })
    }

    pub fn form(&self) -> Form {
        Form { policy: self.policy.clone(), texts: self.texts.digests() }
    }

    /// Stores the form behind this hash, so that a later one can be compared with it.
    pub fn keep(&self, env: &Env) -> Result<(), Failure> {
        let is_kept = || kept(env, &self.hash).is_some();
        if env.dry_run || is_kept() {
            return Ok(());
        }
        let path = kept_at(env, &self.hash);
        path.parent().map_or(Ok(()), make_all)?;
        let form = canonical(&self.form());
        match files::find(&path).and_then(|file| file.replace(form.as_bytes(), 0o600)) {
            // Sessions that start together write the same file with the same bytes.
            Err(error) if !is_kept() => Err(Failure::storage(path.display(), error)),
            _ => Ok(()),
        }
    }
}

/// The form behind a hash; `None` if it was not stored or the file does not match its name.
pub fn kept(env: &Env, hash: &str) -> Option<Form> {
    let bytes = files::find(&kept_at(env, hash)).ok()?.bytes?;
    let form: Form = serde_json::from_slice(&bytes).ok()?;
    (digest_of(&form) == hash).then_some(form)
}

fn kept_at(env: &Env, hash: &str) -> PathBuf {
    env.config.join("aops/policies").join(format!("{hash}.json"))
}

/// Name and text of a folder's configuration file, if there is one.
fn config(
    reading: &Reading,
    folder: &Path,
    within: Option<&Path>,
) -> Result<Option<(String, String)>, Vec<Problem>> {
    let path = folder.join(CONFIG_FILE);
    let file = path.display().to_string();
    match reading.text(&path, within) {
        Ok(text) => Ok(text.map(|text| (file, text))),
        Err(why) => Err(vec![Problem::new(file, 0, why)]),
    }
}

#[cfg(test)]
mod tests;
