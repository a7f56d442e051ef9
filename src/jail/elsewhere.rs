//! Systems without namespaces and Landlock: nothing holds, and everything says so.
//!
//! Changes nothing in this process but what it becomes.

use super::plan::Ground;
use crate::model::profile::{Hold, JailState, Profile, Proof};
use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::io;
use std::path::Path;

/// There are none here.
pub enum Layers {}

impl Layers {
    pub fn report(self, _: super::receipt::Receipt, _: Proof) {
        match self {}
    }
}

pub fn enter(hold: Hold, profile: Profile, _: &Ground, _: &Path) -> Result<Option<Layers>, String> {
    if hold == Hold::Words {
        Ok(None)
    } else {
        Err(format!("profile `{}` does not hold on this system", profile.name()))
    }
}

pub fn lock(_: Hold, _: &Path) -> Result<(), String> {
    Ok(())
}

pub fn what_holds(ground: &Ground) -> JailState {
    let project = ground.project.to_string_lossy().into_owned();
    let why = "this system has neither namespaces nor Landlock".to_owned();
    JailState { hold: Hold::Words, project, trial: false, why }
}

/// Each means by name, and whether it holds for this project.
pub fn what_each(ground: &Ground) -> Vec<(&'static str, Result<(), String>)> {
    vec![("namespaces", Err(what_holds(ground).why))]
}

pub fn close_on_exec() {}

/// This process becomes another program; returns only if that fails.
pub fn become_program(path: &CStr, words: &[CString], variables: &[CString]) -> io::Result<Infallible> {
    let ended = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
    let (words, variables): (Vec<_>, Vec<_>) = (ended(words), ended(variables));
    #[expect(unsafe_code, reason = "std would reset signals that the program must inherit")]
    // SAFETY: both lists end with a null pointer and outlive the call.
    unsafe {
        libc::execve(path.as_ptr(), words.as_ptr(), variables.as_ptr());
    }
    Err(io::Error::last_os_error())
}
