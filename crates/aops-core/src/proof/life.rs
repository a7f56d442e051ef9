//! The life of the log's key: made, rotated, lost. Each of these is an entry of the log itself.
//!
//! Writes keys and log. Invariants: a rotated key vouches for its successor by signing the checkpoint that
//! contains the rotation; a log that is given up is set aside, never removed.

use super::append::{self, EVENTS, Writer};
use super::keys::{self, AgentKey, Keys, draw};
use super::remembered;
use super::store::{self, Store};
use super::unheld;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files;
use crate::text::sha256::hex;
use aops_proof::key::PublicKey;
use serde_json::json;
use std::fs;
use std::path::PathBuf;

/// Makes the key, and the log if there is none. A log without its key continues with a new one.
pub fn begin(env: &Env, origin: Option<&str>, agent: Option<&AgentKey>) -> Result<PublicKey, Failure> {
    let store = append::lock(env)?;
    if Keys::open(env)?.is_some() {
        return Err(Failure::new(Code::InTheWay, "there is a key already"));
    }
    let before = store.checkpoint()?.map(|(checkpoint, _)| checkpoint.origin);
    let what = if before.is_some() { "lost, and made anew" } else { "made" };
    let origin = match origin.map(str::to_owned).or(before) {
        Some(origin) => origin,
        None => new_origin()?,
    };
    let keys = Keys::make(env, &origin, agent, &keys::retired(env)?)?;
    let mut words = json!({"what": what, "key": keys.note().to_string(), "ml_dsa": keys.ml_dsa().map(ToString::to_string)});
    // Logs that no longer exist, and that a person gives up with this.
    let instead: Vec<String> = remembered::by_all(env).into_keys().filter(|known| *known != origin).collect();
    if !instead.is_empty() {
        words["instead"] = json!(instead);
    }
    let public = keys.note().clone();
    let (mut writer, _) = Writer::with_any_keys(env, keys, store)?;
    writer.say("key", &words)?;
    writer.sign(None)?;
    Ok(public)
}

/// Contains no name of a person or a machine.
fn new_origin() -> Result<String, Failure> {
    Ok(format!("aops-log.local/{}", &hex(&draw()?)[..16]))
}

/// Makes a new key for the same log, with a new seal. A key found in place of the expected one vouches for
/// nothing, and the log records that the expected key is lost.
pub fn rotate(env: &Env, agent: Option<&AgentKey>) -> Result<(PublicKey, PublicKey), Failure> {
    let mut store = append::lock(env)?;
    if opened(env)?.unsettled().is_some() {
        // An interrupted rotation is finished first.
        Writer::with_any_keys(env, opened(env)?, store)?.0.sign(None)?;
        store = append::lock(env)?;
    }
    let signed = store.checkpoint()?.map(|(head, _)| head.origin);
    let public = opened(env)?.note().clone();
    let (mut writer, strays) = Writer::with_any_keys(env, opened(env)?, store)?;
    let old = opened(env)?.without(&strays);
    // A key that does not belong here may have another name.
    let origin = signed.filter(|_| old.is_none()).unwrap_or_else(|| public.name.clone());
    let before = old.as_ref().map_or_else(|| keys::retired(env), |keys| Ok(keys.known()))?;
    let keys = Keys::draw(env, &origin, agent, &before)?;
    let new = keys.note().clone();
    let ml_dsa = keys.ml_dsa().map(ToString::to_string);
    writer.take_keys(keys)?;
    let what = if old.is_some() { "rotated" } else { "lost, and made anew" };
    let mut words =
        json!({"what": what, "old": public.to_string(), "key": new.to_string(), "ml_dsa": ml_dsa});
    if !strays.is_empty() {
        words["lost"] = json!(strays.iter().map(|stray| stray.name()).collect::<Vec<_>>());
    }
    writer.announce(&words)?;
    writer.sign(old.as_ref())?;
    Ok((public, new))
}

/// Sets the log aside and begins another under a new name. Returns the path of the old one.
pub fn begin_anew(env: &Env) -> Result<(PublicKey, PathBuf), Failure> {
    let lock = append::lock(env)?;
    let here = store::path(env);
    let aside = (1..10_000).map(|n| here.with_extension(format!("old-{n}"))).find(|path| !path.exists());
    let aside = aside.unwrap_or_default();
    fs::rename(&here, &aside).map_err(|e| Failure::storage(here.display(), e))?;
    keys::give_up(env, &aside)?;
    drop(lock);
    Ok((begin(env, None, None)?, aside))
}

/// Removes key and log if no session was ever added, so that an installation leaves nothing behind.
pub fn forget_unused(env: &Env) -> Result<(), Failure> {
    let Some(store) = Store::look(env)? else { return Ok(()) };
    let own = store.text(append::EVENTS)?.unwrap_or_default().lines().count() as u64;
    if store.size()? > own {
        return Ok(());
    }
    for path in [store.path, keys::path(env)] {
        fs::remove_dir_all(&path).map_err(|e| Failure::storage(path.display(), e))?;
    }
    Ok(())
}

/// Since the keys of this machine's log were made, some command ran unconfined. Starting a session does not
/// wait for the log's lock.
pub fn is_told_unheld(env: &Env) -> bool {
    files::read_text(store::path(env).join(EVENTS)).is_ok_and(|events| unheld::is_told(&events))
}

fn opened(env: &Env) -> Result<Keys, Failure> {
    Keys::open(env)?.ok_or_else(|| Failure::new(Code::InTheWay, "there is no key yet"))
}

/// The state of the log, without reading its leaves.
#[derive(Debug)]
pub struct Standing {
    pub key: PublicKey,
    pub ml_dsa: Option<PublicKey>,
    pub old: Vec<PublicKey>,
    pub size: u64,
    pub leaves: u64,
    /// The epoch of the next seal.
    pub epoch: u64,
    /// A command of an agent may have read these keys.
    pub unheld: bool,
}

/// `None`: there is no key, or it cannot be seen from here.
pub fn standing(env: &Env) -> Result<Option<Standing>, Failure> {
    let Some(keys) = Keys::open(env)? else { return Ok(None) };
    let key = keys.note().clone();
    let ml_dsa = keys.ml_dsa().cloned();
    let old = keys.old().to_vec();
    let sealed = keys.sealed()?;
    let leaves = Store::look(env)?.map_or(Ok(0), |store| store.size())?;
    let size = sealed.as_ref().map_or(0, |sealed| sealed.frontier.size());
    let epoch = sealed.map_or(0, |sealed| sealed.key.epoch);
    let unheld = is_told_unheld(env);
    Ok(Some(Standing { key, ml_dsa, old, size, leaves, epoch, unheld }))
}
